"""attlas demo: the main job on the bundled model and sample corpus, with no need of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attlas.cli.commands import with_shared_options
from attlas.run.given import check_given
from attlas.run.parameters import Help

SENTENCE = "The farmer offered apples to the housekeeper, because he had too many of them."


@with_shared_options
def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the result.")] = Path("attlas-demo"),
    seed: Annotated[int, Help("Decides every draw.")] = 0,
    quiet: bool = False,
) -> None:
    """Survey the bundled model on the sample corpus, and write a report page and a view of one sentence."""
    from attlas.capture import load
    from attlas.cli.finishing import finish
    from attlas.run import progress_on
    from attlas.studies import studies
    from attlas.studies.survey.call import survey
    from attlas.views import write_page
    from attlas.views.figures import survey_figures

    check_given({"out": out, "resume": False})
    subject = load()
    result = survey(subject, "sample", out=out, seed=seed, progress=progress_on(quiet=quiet))
    scene = subject.look(SENTENCE).scene()
    page = write_page(out / "view.html", [scene.with_figures(survey_figures(out, scene))])
    typer.echo(f"view: {page}")
    finish(result, studies()["survey"])
