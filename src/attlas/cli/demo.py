"""attlas demo: the main job on the bundled model and sample corpus, with no need of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attlas.cli.options import Quiet, Seed


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the result.")] = Path("attlas-demo"),
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Survey the bundled model on the sample corpus and write a report page."""
    from attlas.capture import load
    from attlas.cli.survey import finish
    from attlas.run import progress_on
    from attlas.run.survey import survey

    finish(survey(load(), "sample", out=out, seed=seed, progress=progress_on(quiet=quiet)), out)
