"""From arrays to bytes, and what the browser must know to read them.

A payload is a header (plain JSON: texts, shapes, where things are) and numbered blocks of bytes. There is a block for
each head of each layer, so that the browser unpacks only what it shows. Norms are not sent at all: they are weights
times one length per key, and those lengths are. Keys that several heads share are sent once.

Two codes, chosen by size. Small scenes keep every number as it is (``f32``: the four bytes of each number in
planes, which compresses better). Large ones keep weights in one byte each (``u8``): the row's largest, and of each
weight its share x of that as round(192 x^(2/3)), so that small weights are finer than large ones and the error
is under 1/255 of the row's largest; queries and keys become one signed byte per neuron (``i8``), beside the vector's
largest.
All blocks are deflated, which every browser can undo.
"""

from __future__ import annotations

import os
import zlib
from collections import abc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.views.card import Card, beside
from attlas.views.pairing import pairs_of
from attlas.views.scene import Array, Scene, Sequence, Strand
from attlas.views.telling import start_of

EXACT_CELLS = 2_000_000  # numbers of one kind up to which a scene is sent as it is: 8 MB before compression
STEPS = 192
_CURVE = np.rint((np.arange(65536) / 65535) ** (2 / 3) * STEPS).astype(np.uint8)


@dataclass(frozen=True)
class Payload:
    """A header, and blocks that are made when they are asked for.

    >>> reading = Sequence(("a",), (0,), (0,), ("a",))
    >>> weights = np.ones((1, 2, 1, 1), np.float32)
    >>> payload = pack([Scene("a model", ("a",), (Strand(Stream.ENCODER, reading, reading, weights),))])
    >>> payload.size, payload.header["scenes"][0]["strands"][0]["weights"]["code"]
    (2, 'f32')
    """

    header: dict[str, Any]
    scenes: tuple[Scene, ...]
    makers: tuple[Callable[[], bytes], ...]

    @property
    def size(self) -> int:
        """How many blocks there are.

        >>> pack([]).size
        0
        """
        return len(self.makers)

    def block(self, index: int) -> bytes:
        """One block.

        >>> pack([]).block(0)
        Traceback (most recent call last):
            ...
        IndexError: tuple index out of range
        """
        return self.makers[index]()

    def blocks(self) -> Iterator[bytes]:
        """All blocks in order, made by several threads.

        >>> list(pack([]).blocks())
        []
        """
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            yield from pool.map(lambda make: make(), self.makers)

    def row(self, scene: int, strand: int, layer: int, head: int, query: int) -> bytes:
        """Exact weights of one row as float32, for hosts that can be asked; places, not numbers, of layer and head.

        >>> reading = Sequence(("a", "b"), (0, 1), (0, 0), ("a", "b"))
        >>> weights = np.full((1, 1, 2, 2), 0.5, np.float32)
        >>> payload = pack([Scene("a model", ("a b",), (Strand(Stream.ENCODER, reading, reading, weights),))])
        >>> np.frombuffer(payload.row(0, 0, 0, 0, 1), "<f4").tolist()
        [0.5, 0.5]
        """
        found = self.scenes[scene].strands[strand].rows(layer, head, np.array([query]))[0]
        return np.ascontiguousarray(found, dtype="<f4").tobytes()


def pack(
    scenes: abc.Sequence[Scene], *, exact_cells: int = EXACT_CELLS, card: Card | str | Path | None = None
) -> Payload:
    """Make the payload of one scene, or of two to compare; beyond ``exact_cells`` numbers they are rounded. ``card``,
    or the folder it lies in, is to stand beside them.

    >>> pack([]).header
    {'version': 1, 'scenes': []}
    """
    makers: list[Callable[[], bytes]] = []
    described = [_describe(scene, makers, exact_cells) for scene in scenes]
    beside_them = beside(card, scenes)
    header: dict[str, Any] = {"version": 1, "scenes": described, **({"card": beside_them} if beside_them else {})}
    if scenes and (start := start_of(scenes[0])):
        header["start"] = start
    if len(scenes) == 2 and (pairs := pairs_of(*scenes)):
        header["pairs"] = pairs
    return Payload(header, tuple(scenes), tuple(makers))


def encode(matrix: NDArray[np.floating], code: str) -> bytes:
    """One matrix as a block in one of the codes f32, u8, i8, f16.

    >>> len(zlib.decompress(encode(np.ones((2, 3)), "u8")))
    14
    """
    made, strategy = _CODES[code]
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    return packer.compress(made(np.ascontiguousarray(matrix, dtype="<f4"))) + packer.flush()


def decode(block: bytes, code: str, columns: int) -> Array:
    """The matrix of a block, as the browser reads it: the twin of :func:`encode` in the tests.

    >>> decode(encode(np.array([[0.5, 0.25]]), "f32"), "f32", 2).tolist()
    [[0.5, 0.25]]
    """
    raw = np.frombuffer(zlib.decompress(block), np.uint8)
    if code == "f32":
        return np.ascontiguousarray(raw.reshape(4, -1).T).view("<f4").reshape(-1, columns)
    if code == "f16":
        return np.ascontiguousarray(raw.reshape(2, -1).T).view("<f2").reshape(-1, columns).astype(np.float32)
    rows = len(raw) // (columns + 4)
    largest = raw[: 4 * rows].view("<f4")[:, None]
    codes = raw[4 * rows :].reshape(rows, columns)
    if code == "u8":
        return np.asarray((codes / np.float32(STEPS)) ** 1.5 * largest, np.float32)
    return np.asarray(codes.view(np.int8) / np.float32(127) * largest, np.float32)


def _planes(matrix: Array) -> bytes:
    return np.ascontiguousarray(matrix.reshape(-1).view(np.uint8).reshape(-1, 4).T).tobytes()


def _halves(matrix: Array) -> bytes:
    halves = np.ascontiguousarray(matrix.astype("<f2"))
    return np.ascontiguousarray(halves.reshape(-1).view(np.uint8).reshape(-1, 2).T).tobytes()


def _bytes(matrix: Array) -> bytes:
    largest = matrix.max(axis=-1, keepdims=True)
    scale = np.float32(65535) / np.maximum(largest, np.float32(1e-30))
    codes = _CURVE[(matrix * scale + np.float32(0.5)).astype(np.uint16)]
    return bytes(largest.tobytes() + codes.tobytes())


def _signed_bytes(matrix: Array) -> bytes:
    largest = np.abs(matrix).max(axis=-1, keepdims=True)
    codes = np.rint(matrix * (np.float32(127) / np.maximum(largest, np.float32(1e-30)))).astype(np.int8)
    return bytes(largest.tobytes() + codes.tobytes())


# Bytes of weights repeat only themselves: looking for runs alone is faster than for strings, and packs better.
_CODES: dict[str, tuple[Callable[[Array], bytes], int]] = {
    "f32": (_planes, zlib.Z_DEFAULT_STRATEGY),
    "u8": (_bytes, zlib.Z_RLE),
    "i8": (_signed_bytes, zlib.Z_RLE),
    "f16": (_halves, zlib.Z_HUFFMAN_ONLY),
}


def _describe(scene: Scene, makers: list[Callable[[], bytes]], exact_cells: int) -> dict[str, Any]:
    small = sum(strand.weights.size for strand in scene.strands) <= exact_cells
    portraits = {stream.value: dict(told) for stream, told in scene.portraits.items()}
    return {
        "model": scene.model,
        "texts": list(scene.texts),
        "strands": [_strand(strand, makers, small, exact_cells) for strand in scene.strands],
        "figures": {
            name: {stream.value: np.round(values, 5).tolist() for stream, values in streams.items()}
            for name, streams in scene.figures.items()
        },
        **({} if scene.saying is None else {"saying": scene.saying.header()}),
        **({"portraits": portraits} if portraits else {}),
    }


def _strand(
    strand: Strand, makers: list[Callable[[], bytes]], small: bool, exact_cells: int
) -> dict[str, Any]:  # fmt: skip
    def place(array: Array, code: str) -> dict[str, Any]:
        """Blocks for (layer, head, row, column): the first one's number, and how to read them."""
        first, (layers, heads, _, columns) = len(makers), array.shape
        for layer in range(layers):
            for head in range(heads):
                makers.append(lambda part=array[layer, head]: encode(np.nan_to_num(part), code))  # type: ignore[misc]
        return {"first": first, "heads": heads, "columns": columns, "code": code}

    found: dict[str, Any] = {
        "stream": strand.stream.value,
        "queries": _reading(strand.queries),
        "keys": None if strand.keys is strand.queries else _reading(strand.keys),
        "layers": list(strand.layers),
        "heads": list(strand.heads),
        "causal": strand.stream is Stream.DECODER,
    }
    if strand.sums is None:
        found["weights"] = place(strand.weights, "f32" if small else "u8")
    else:
        return found | _reckoned(strand, place)
    own = [list(heads) for heads in strand.heads_of]
    if any(heads != found["heads"] for heads in own):
        found["own"] = own
    if strand.blocks:
        found["blocks"] = list(strand.blocks)
    if strand.joint:
        found["joint"] = strand.joint
    if strand.lengths is not None:
        found["lengths"] = place(strand.lengths[:, None], "f32")
    if strand.query_vectors is not None and strand.key_vectors is not None:
        keys = _ungrouped(np.nan_to_num(strand.key_vectors))
        code = "f32" if strand.query_vectors.size + keys.size <= exact_cells else "i8"
        found["query_vectors"] = place(strand.query_vectors, code)
        found["key_vectors"] = place(keys, code)
        found["scaling"] = list(strand.scaling)
        if len(set(strand.widths)) > 1:
            found["widths"] = list(strand.widths)
    found["adjusted"] = strand.scores is not None
    if strand.scores is not None and small:
        found["scores"] = place(strand.scores, "f32")
    return found


def _reckoned(strand: Strand, place: Callable[[Array, str], dict[str, Any]]) -> dict[str, Any]:
    """What rows are reckoned from, where there are no weights."""
    assert strand.query_vectors is not None
    assert strand.key_vectors is not None
    assert strand.sums is not None
    assert strand.seen is not None
    assert strand.coarse is not None
    assert strand.received is not None
    assert strand.links is not None
    return {
        "query_vectors": place(strand.query_vectors, "f16"),
        "key_vectors": place(_ungrouped(strand.key_vectors), "f16"),
        "scaling": list(strand.scaling),
        "sums": place(strand.sums[:, :, None], "f32"),
        "seen": place(strand.seen[:, None].astype(np.float32), "f32"),
        "coarse": place(strand.coarse, "u8"),
        "received": place(strand.received[:, :, None], "f32"),
        "adjusted": False,
        "links": strand.links.tolist(),
        **({"looked": [list(span) for span in strand.looked]} if strand.looked else {}),
        **({"blocks": list(strand.blocks)} if strand.blocks else {}),
    }


def _reading(reading: Sequence) -> dict[str, Any]:
    regions = [{"name": name, "from": start} for name, start in reading.regions]
    return {
        "pieces": list(reading.pieces),
        "words": list(reading.words),
        "documents": list(reading.documents),
        "spelled": list(reading.spelled),
        **({"regions": regions} if regions else {}),
        **({} if reading.written is None else {"written": reading.written}),
    }


def _ungrouped(keys: Array) -> Array:
    """Keys without the copies that several heads share: one for each group of equal neighbours."""
    heads = keys.shape[1]
    for group in range(heads, 1, -1):
        if heads % group == 0:
            first = keys[:, ::group]
            if all(np.array_equal(keys[:, offset::group], first) for offset in range(1, group)):
                return first
    return keys
