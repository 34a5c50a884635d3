"""What making an atlas has come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.making.state import FAILED, Outcome

if TYPE_CHECKING:
    from attlas.evidence.atlas import Atlas


@dataclass(frozen=True)
class Made:
    """An atlas that was made: its folder, its page, and what has become of each study, by model; what was
    ``left_out`` of it, models that have ``fallen`` by the way, with reasons, and further remarks.

    >>> Made(Path("out"), Path("out/index.html"), {}).failed
    []
    """

    folder: Path
    page: Path
    outcomes: Mapping[str, Sequence[Outcome]]
    left_out: Sequence[Mapping[str, str]] = ()
    fallen: Sequence[tuple[str, str]] = ()
    remarks: Sequence[str] = ()

    @property
    def failed(self) -> list[Outcome]:
        """The studies that failed.

        >>> Made(Path("out"), Path("out/index.html"), {"tiny": [Outcome("norms", FAILED)]}).failed[0].study
        'norms'
        """
        return [outcome for own in self.outcomes.values() for outcome in own if outcome.state == FAILED]

    @property
    def atlas(self) -> Atlas:
        """The atlas itself, opened from its folder."""
        from attlas.evidence.atlas import atlas

        return atlas(self.folder)

    def as_json(self) -> dict[str, Any]:
        """What ``--json`` prints.

        >>> Made(Path("out"), Path("out/index.html"), {}).as_json()["page"]
        'out/index.html'
        """
        return {
            "folder": str(self.folder),
            "page": str(self.page),
            "models": {model: [asdict(outcome) for outcome in own] for model, own in self.outcomes.items()},
            "left_out": [dict(row) for row in self.left_out],
            "failed": dict(self.fallen),
            "remarks": list(self.remarks),
        }
