"""Where a viewer opens when nobody has chosen anything: at the head with the most to show on this text.

What a head does everywhere is seen on any text: the mass that each key gets from all queries, and a row that is even.
What it shows on this text is what goes beyond both. So of each weight we take what is above twice its chance, the
larger of an even share of the row and the mean of what the key gets; special pieces do not count, nor do a piece and
its neighbours, for a head that looks at the piece before says little of a text. The head whose queries have most of
that, on average, is where the viewer opens: of cross attention, where there is any.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.views.scene import Scene, Sequence, Strand

SAMPLE = 64  # queries of which a head is judged
FEWEST = 3  # keys that a query must see to be asked
TIMES = 2.0  # chance above which a weight counts


def start_of(scene: Scene) -> dict[str, Any]:
    """The stream, layer and head at which a scene opens, in numbers from 0; nothing where no head stands out.

    >>> text = Sequence(tuple("abcdef"), tuple(range(6)), (0,) * 6, tuple("abcdef"))
    >>> weights = np.full((2, 3, 6, 6), 1 / 6, np.float32)
    >>> weights[1, 2, 5] = [0, 0, 1, 0, 0, 0]
    >>> start_of(Scene("a model", ("a b c d e f",), (Strand(Stream.ENCODER, text, text, weights),)))
    {'stream': 'encoder', 'layer': 1, 'head': 2, 'heads': [2]}
    """
    strands = sorted(scene.strands, key=lambda strand: strand.stream is not Stream.CROSS)
    strand = strands[0] if strands else None
    if strand is None or strand.joint:
        return {}
    shown = surplus(strand)
    if not shown.size or not np.nanmax(shown, initial=0) > 0:
        return {"stream": strand.stream.value} if strand.stream is Stream.CROSS else {}
    layer, head = np.unravel_index(int(np.nanargmax(shown)), shown.shape)
    number = strand.heads[int(head)]
    return {"stream": strand.stream.value, "layer": strand.layers[int(layer)], "head": number, "heads": [number]}


def surplus(strand: Strand) -> NDArray[np.floating]:
    """How much of the attention of each head, (layer, head), is beyond chance on this text, from 0 to 1.

    >>> text = Sequence(tuple("abcdef"), tuple(range(6)), (0,) * 6, tuple("abcdef"))
    >>> even = np.full((1, 1, 6, 6), 1 / 6, np.float32)
    >>> surplus(Strand(Stream.ENCODER, text, text, even)).tolist()
    [[0.0]]
    """
    queries, keys = _real(strand.queries), _real(strand.keys)
    rows = strand.asked[queries[strand.asked]]
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(SAMPLE, len(rows))).astype(int))] if len(rows) else rows
    shape = (len(strand.layers), len(strand.heads))
    if not len(rows) or not keys.any():
        return np.zeros(shape)
    seen = np.ones((len(rows), len(keys)), bool)
    if strand.stream is Stream.DECODER:
        seen = np.arange(len(keys)) <= rows[:, None]
    counted = seen & keys
    if strand.stream is not Stream.CROSS:
        counted &= np.abs(np.arange(len(keys)) - rows[:, None]) > 1
    readers = seen.sum(1)
    asked = readers >= FEWEST
    if not asked.any():
        return np.zeros(shape)
    even = 1 / np.maximum(1, readers)
    found = np.zeros(shape)
    for layer, head in np.ndindex(shape):
        weights = np.nan_to_num(strand.rows(layer, head, rows))
        usual = (weights * seen).sum(0) / np.maximum(1, seen.sum(0))
        beyond = np.where(counted, np.maximum(0, weights - TIMES * np.maximum(even[:, None], usual)), 0).sum(1)
        found[layer, head] = beyond[asked].mean()
    return found


def _real(text: Sequence) -> NDArray[np.bool_]:
    """The pieces that are not special."""
    return np.asarray(text.documents) >= 0
