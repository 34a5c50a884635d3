"""From the results of studies to an atlas: each study's page, the tables of all heads, and the site."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attlas.errors import AttlasError
from attlas.making.places import models_in, results_in
from attlas.making.state import FAILED, Outcome, State
from attlas.run.progress import Progress
from attlas.studies.reporting import write_report


@dataclass(frozen=True)
class Made:
    """An atlas that was made: its folder, its page, and what has become of each study.

    >>> Made(Path("out"), Path("out/index.html"), ()).failed
    []
    """

    folder: Path
    page: Path
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> list[Outcome]:
        """The studies that failed.

        >>> Made(Path("out"), Path("out/index.html"), ()).failed
        []
        """
        return [outcome for outcome in self.outcomes if outcome.state == FAILED]

    def as_json(self) -> dict[str, Any]:
        """What ``--json`` prints.

        >>> Made(Path("out"), Path("out/index.html"), ()).as_json()["page"]
        'out/index.html'
        """
        return {
            "folder": str(self.folder),
            "page": str(self.page),
            "steps": [asdict(outcome) for outcome in self.outcomes],
        }


def finish(folder: Path, progress: Progress) -> Made:
    """Write the page of every result."""
    outcomes = []
    for model in models_in(folder):
        state = State.of(model)
        outcomes += list(state.outcomes.values()) if state else []
    for place in results_in(folder):
        try:
            write_report(place)
        except AttlasError as error:
            progress.note(f"no page for {place}: {error}")
    return Made(folder, folder / "index.html", tuple(outcomes))
