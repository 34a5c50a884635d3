"""What a model says of a text, as the viewer shows it beside the attention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from attlas.ids import Stream

Told = tuple[str, float]  # a piece or label, and its probability or score


@dataclass(frozen=True)
class Saying:
    """What a model holds most likely: ``kind`` is next (the piece that follows), masked (the piece that stands here),
    label (of the text) or tag (of each piece). ``top`` has the likeliest of each piece of a stream, or of the whole
    text; ``actual`` the probability of the piece that really follows; ``lens``, by place and head, what heads add.

    >>> Saying("next", Stream.DECODER, ((("is", 0.5),),), (0.25,)).header()["actual"]
    [0.25]
    """

    kind: str
    stream: Stream
    top: tuple[tuple[Told, ...], ...]
    actual: tuple[float, ...] = ()
    lens: Mapping[int, Mapping[str, tuple[Told, ...]]] = field(default_factory=dict)

    def header(self) -> dict[str, Any]:
        """The same in plain lists, for the page.

        >>> Saying("label", Stream.ENCODER, ((("good", 0.98765),),)).header()["top"]
        [[['good', 0.98765]]]
        """

        def plain(row: Iterable[Told]) -> list[list[Any]]:
            return [[name, float(f"{number:.5g}")] for name, number in row]

        return {
            "kind": self.kind,
            "stream": self.stream.value,
            "top": [plain(row) for row in self.top],
            "actual": [float(f"{number:.5g}") for number in self.actual],
            "lens": {
                str(place): {head: plain(row) for head, row in told.items()} for place, told in self.lens.items()
            },
        }
