"""Drawn pairs to look at: weight against length, as many as a page can hold, with the pieces they belong to.

Of every layer some pairs of each class are shown, each of another head, and of some heads more of them. The twin
shows the same pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from attlas.ids import Stream, paper_label
from attlas.measures.quantities import CLASSES
from attlas.stats import Cases
from attlas.tasks import text_seed

if TYPE_CHECKING:
    import numpy as np

    from attlas.models import Encoded, Example

OF_HEAD = 120
OF_LAYERS, FEWEST, MOST = 900, 24, 90  # pairs of a class in all layers; in one


def scatter(
    stream: Stream,
    grid: NDArray[np.bool_],
    ours: Sequence[Cases],
    theirs: Sequence[Cases],
    examples: Sequence[Example],
    seed: int,
    heads: Sequence[tuple[int, int]] = (),
) -> list[dict[str, Any]]:
    """Rows of pairs: whose (``who``), what they are shown as ("layer 3", "head 3-1"), weight, length, pieces.
    ``grid`` says which heads there are.

    >>> import numpy as np
    >>> scatter(Stream.ENCODER, np.ones((2, 4), bool), [], [], [], 0)
    []
    """
    layers, counts = len(grid), grid.sum(1).tolist()
    texts = {text_seed(example.passage, seed) >> 1: example for example in examples}
    of_layer = max(FEWEST, min(MOST, OF_LAYERS // max(1, layers)))
    rows: list[dict[str, Any]] = []
    for who, cells in (("model", ours), ("twin", theirs)):
        for kind, cases in zip(CLASSES, cells, strict=False):
            values = cases.values.reshape(-1, *grid.shape, 2)
            named = [_pieces(texts, place, stream) for place in cases.places[:OF_HEAD].tolist()]
            wanted: list[tuple[int, int | None, int]] = [
                (layer, None, min(of_layer, len(named))) for layer in range(layers) if counts[layer]
            ]
            if who == "model":
                wanted += [(layer, head, len(named)) for layer, head in heads]
            for layer, chosen, many in wanted:
                shown = f"layer {layer + 1}" if chosen is None else f"head {paper_label(layer, chosen)}"
                for pair in range(many):
                    head = (pair + layer) % counts[layer] if chosen is None else chosen
                    weight, length = values[pair, layer, head].tolist()
                    if weight > 0:  # a window may hide what other layers see
                        query, key = named[pair]
                        rows.append(
                            {"stream": stream.value, "layer": layer, "head": head, "who": who, "shown": shown,
                             "keys": kind, "weight": weight, "length": length, "query": query, "key": key}
                        )  # fmt: skip
    return rows


def _pieces(texts: dict[int, Example], place: Sequence[int], stream: Stream) -> tuple[str, str]:
    """The two pieces of a pair, to read."""
    example = texts.get(place[0])
    if example is None:
        return "", ""
    asked, met = _sides(example, stream)
    return asked.segmentation.pieces[place[1]], met.segmentation.pieces[place[2]]


def _sides(example: Example, stream: Stream) -> tuple[Encoded, Encoded]:
    """What attends and what is attended to."""
    target = example.target or example.source
    if stream is Stream.ENCODER:
        return example.source, example.source
    return target, example.source if stream is Stream.CROSS else target
