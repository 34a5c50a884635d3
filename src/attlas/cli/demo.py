"""attlas demo: the atlas of the bundled model on the sample corpus, with no need of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attlas.cli.commands import with_shared_options
from attlas.run.given import check_given
from attlas.run.parameters import Help

SENTENCE = "The farmer offered apples to the housekeeper, because he had too many of them."
STUDIES = "survey,relations,clusters,coref,norms,roles"  # noop would train a small head, and another for the twin
TWINS = 1  # which leaves little of the time to random weights


@with_shared_options
def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the atlas.")] = Path("attlas-demo"),
    seed: Annotated[int, Help("Decides every draw.")] = 0,
    only: Annotated[str, Help("These studies, by name, with commas between.")] = STUDIES,
    limit: Annotated[int | None, Help("So many texts for each study, drawn by the seed.", least=1)] = None,
    quiet: bool = False,
) -> None:
    """Make the atlas of the bundled model on the sample corpus, and a view of one sentence; goes on after a kill."""
    from attlas.capture import load
    from attlas.cli.atlas import show
    from attlas.making import make_atlas
    from attlas.making.planning import wanted
    from attlas.run import progress_on
    from attlas.run.parameters import names_of
    from attlas.views import write_page
    from attlas.views.figures import read_survey

    check_given({"out": out, "resume": False})
    wanted(names_of(only))  # what is no study is refused before the model is opened
    subject = load()
    made = make_atlas(
        subject, "sample", out=out, only=only, limit=limit, seed=seed, twins=TWINS, resume=True,
        progress=progress_on(quiet=quiet),
    )  # fmt: skip
    scene = subject.look(SENTENCE).scene()
    survey = next((place for place in out.glob("*/survey") if place.is_dir()), None)
    page = write_page(out / "view.html", [scene if survey is None else read_survey(survey).beside(scene)])
    typer.echo(f"view: {page}")
    show(made)
