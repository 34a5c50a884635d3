"""Cutting passages into a model's pieces, and pieces into batches.

:class:`Pieces` wraps a tokenizer: it gives, for every document, ids and a :class:`~attlas.text.Segmentation` that
ties each piece to its word by characters. Truncation and padding that a tokenizer file may prescribe are undone: an
analysis sees the whole text or says that it does not. An :class:`Example` is one passage ready for the model; a
:class:`Batch` is several of them, padded.

Every piece has a *role*: ``cls`` (a [CLS] or start piece), ``sep`` (a [SEP] or end piece), ``special`` (any other
piece that the tokenizer added) or ``""`` for text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attlas.errors import CapabilityError, ModelError, TextError
from attlas.ids import Stream
from attlas.models.devices import onto
from attlas.models.inputs import takes
from attlas.models.laid import Laid
from attlas.models.spm import encode_spm, has_spm
from attlas.text import Document, Passage, Segmentation, named_blank, segment

UNLIMITED = 1 << 20


@dataclass(frozen=True)
class Encoded:
    """One sequence of pieces: ids, types (first or second text), roles, and the segmentation.

    >>> Encoded((5,), (0,), ("",), Segmentation(("a",), (0,), (0,), 1)).length
    1
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    roles: tuple[str, ...]
    segmentation: Segmentation

    @property
    def length(self) -> int:
        """How many pieces.

        >>> Encoded((), (), (), Segmentation((), (), (), 0)).length
        0
        """
        return len(self.ids)


@dataclass(frozen=True)
class Example:
    """One passage, cut into pieces; ``target`` is what a decoder beside an encoder reads, ``unit`` the number of what
    it was drawn from: passages of one document are not independent of each other.

    >>> e = Encoded((5,), (0,), ("",), Segmentation(("a",), (0,), (0,), 1))
    >>> Example(Passage(Document.from_text("a")), e).length
    1
    """

    passage: Passage
    source: Encoded
    target: Encoded | None = None
    unit: int = 0

    @property
    def length(self) -> int:
        """Pieces of the longer side, which is what an example costs in a batch.

        >>> e = Encoded((5,), (0,), ("",), Segmentation(("a",), (0,), (0,), 1))
        >>> Example(Passage(Document.from_text("a")), e, e).length
        1
        """
        return max(self.source.length, 0 if self.target is None else self.target.length)


@dataclass(frozen=True)
class Side:
    """One side of a batch: the sequences of its examples, and which positions of the padded tensor are real.

    >>> e = Encoded((5,), (0,), ("",), Segmentation(("a",), (0,), (0,), 1))
    >>> import torch
    >>> Side((e,), torch.tensor([[True, False]])).starts
    (0,)
    """

    encoded: tuple[Encoded, ...]
    real: Tensor
    known: tuple[int, ...] | None = field(default=None, repr=False, compare=False)  # starts, where no device is asked

    @cached_property
    def laid(self) -> Laid:
        """Its pieces, one text behind the other, in arrays on the host.

        >>> e = Encoded((5, 6), (0, 0), ("", ""), Segmentation(("a", "b"), (0, 1), (0, 0), 2))
        >>> import torch
        >>> Side((e, e), torch.ones(2, 2, dtype=torch.bool)).laid.word.tolist()
        [0, 1, 2, 3]
        """
        return Laid.of([encoded.segmentation for encoded in self.encoded], self.starts)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first real position of each sequence: 0 unless padding is on the left.

        >>> e = Encoded((5,), (0,), ("",), Segmentation(("a",), (0,), (0,), 1))
        >>> import torch
        >>> Side((e,), torch.tensor([[False, True]])).starts
        (1,)
        """
        if self.known is not None:
            return self.known
        return tuple(self.real.int().argmax(1).tolist()) if self.real.numel() else (0,) * len(self.real)


@dataclass(frozen=True)
class Batch:
    """Several examples as the model takes them, and what each side of them is.

    >>> Batch({}, None, None, Stream.ENCODER).size
    0
    """

    inputs: dict[str, Tensor]
    source: Side | None
    target: Side | None
    own: Stream

    @property
    def size(self) -> int:
        """How many examples.

        >>> Batch({}, None, None, Stream.ENCODER).size
        0
        """
        return 0 if self.source is None else len(self.source.encoded)

    def queries(self, stream: Stream) -> Side | None:
        """The side that attends in a stream, if the batch has it.

        >>> Batch({}, None, None, Stream.ENCODER).queries(Stream.CROSS) is None
        True
        """
        if self.own is Stream.DECODER:
            return self.source if stream is Stream.DECODER else None
        return self.source if stream is Stream.ENCODER else self.target

    def keys(self, stream: Stream) -> Side | None:
        """The side that is attended to in a stream.

        >>> Batch({}, None, None, Stream.ENCODER).keys(Stream.ENCODER) is None
        True
        """
        if stream is Stream.CROSS:
            return self.source if self.target is not None else None
        return self.queries(stream)


class Pieces:
    """A tokenizer, as the rest of attlas sees it.

    Made by :func:`attlas.load`; refuses tokenizers that cannot say which characters a piece stands for.
    """

    def __init__(self, name: str, tokenizer: Any, model: Any, own: Stream) -> None:
        config = model.config
        if not getattr(tokenizer, "is_fast", False) and not has_spm(tokenizer):
            raise CapabilityError(
                f"{name} has only a slow tokenizer ({type(tokenizer).__name__}), which cannot say which characters "
                "a piece stands for; use a model with a fast tokenizer (tokenizer.json)"
            )
        if getattr(tokenizer, "is_fast", False):
            tokenizer.backend_tokenizer.no_truncation()
            tokenizer.backend_tokenizer.no_padding()
        self.name, self.tokenizer, self.own = name, tokenizer, own
        self.translating = bool(config.is_encoder_decoder)
        self.start_id: int | None = None
        if self.translating:
            self.start_id = getattr(config, "decoder_start_token_id", None)
            if self.start_id is None:
                self.start_id = getattr(config, "bos_token_id", None)
            if self.start_id is None:
                raise ModelError(f"{name} does not say which piece starts its decoder (decoder_start_token_id)")
        self.padding_id = next(
            (i for i in (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.sep_token_id) if i is not None), 0
        )
        self.window = _window(tokenizer, config)
        self.pairs = self._knows_pairs()
        # A tokenizer may speak of types that the model does not read, as no decoder does.
        self._types = "token_type_ids" in tokenizer.model_input_names and takes(model, "token_type_ids")

    def encode(self, passage: Passage) -> Example:
        """Cut one passage into pieces."""
        return self.encode_all([passage])[0]

    def encode_all(self, passages: Sequence[Passage]) -> list[Example]:
        """Cut many passages into pieces, which is much faster than one by one."""
        for passage in passages:
            for document in passage.documents:
                if not document.words:
                    raise TextError(f"{document.name or 'the text'} has no words; leave it out")
        if self.translating:
            sources = self._encode_all([(p.first, None) for p in passages])
            targets = [p.second for p in passages if p.second is not None]
            made = iter(self._encode_targets(targets))
            return [
                Example(p, s, None if p.second is None else next(made))
                for p, s in zip(passages, sources, strict=True)
            ]
        encoded = self._encode_all([(p.first, p.second) for p in passages])
        return [Example(p, e) for p, e in zip(passages, encoded, strict=True)]

    def encode_bare(self, passages: Sequence[Passage]) -> list[Example]:
        """Cut many passages of an encoder-decoder into ids alone, many times as fast; enough to train and to
        translate, but without roles and words."""
        if not self.translating or has_spm(self.tokenizer):
            return self.encode_all(passages)
        sources = self.tokenizer([p.first.text for p in passages], verbose=False)["input_ids"]
        texts = [p.second.text for p in passages if p.second is not None]
        targets = iter(self.tokenizer(texts, verbose=False)["input_ids"] if texts else [])
        return [
            Example(p, _bare(ids), None if p.second is None else _bare(self._started(next(targets))))
            for p, ids in zip(passages, sources, strict=True)
        ]

    def encode_texts(self, texts: Sequence[str]) -> list[Example]:
        """Cut raw texts into ids alone, without roles, words or a passage: enough to run a model on many of them."""
        if has_spm(self.tokenizer):
            return [Example(_UNREAD, _bare(encode_spm(self.tokenizer, text, target=False)[0])) for text in texts]
        made = self.tokenizer(list(texts), verbose=False)["input_ids"] if texts else []
        return [Example(_UNREAD, _bare(ids)) for ids in made]

    def _started(self, ids: list[int]) -> list[int]:
        """Ids with the start piece in front and without the end piece."""
        assert self.start_id is not None
        return [self.start_id, *(ids[:-1] if ids and self._role(ids[-1]) == "sep" else ids)]

    def length(self, *documents: Document) -> int:
        """How many pieces a passage of these documents has, special pieces included."""
        if has_spm(self.tokenizer):
            return len(encode_spm(self.tokenizer, documents[0].text, target=False)[0])
        return len(self.tokenizer(*(d.text for d in documents), verbose=False)["input_ids"])

    def batch(self, examples: Sequence[Example], device: Any = "cpu", *, pad_left: bool = False) -> Batch:
        """Pad examples to a batch; on the left only where that is wanted for its own sake."""
        source, ids = self._side([e.source for e in examples], pad_left, device)
        inputs = {"input_ids": ids, "attention_mask": source.real.long()}
        if self._types and not self.translating:
            types = padded([e.source.types for e in examples], 0, pad_left, ids.shape[1])
            inputs["token_type_ids"] = onto(types, device)
        if pad_left and self.own is Stream.DECODER:
            inputs["position_ids"] = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        target = None
        targets = [e.target for e in examples if e.target is not None]
        if targets and len(targets) == len(examples):
            target, ids = self._side(targets, False, device)
            inputs["decoder_input_ids"], inputs["decoder_attention_mask"] = ids, target.real.long()
        return Batch(inputs, source, target, self.own)

    def _knows_pairs(self) -> bool:
        """Whether two texts are kept apart by a separator, as in BERT."""
        if self.translating or self.own is Stream.DECODER or not getattr(self.tokenizer, "is_fast", False):
            return False
        ids = self.tokenizer("a", "b")["input_ids"]
        separator = self.tokenizer.sep_token_id
        return separator is not None and ids.count(separator) >= 2

    def _encode_all(self, pairs: Sequence[tuple[Document, Document | None]]) -> list[Encoded]:
        if not pairs:
            return []
        if has_spm(self.tokenizer):
            return [self._from_spm(first, target=False) for first, _ in pairs]
        first = [a.text for a, _ in pairs]
        second = [b.text for _, b in pairs if b is not None]
        if second and len(second) != len(first):
            return [self._encode_all([pair])[0] for pair in pairs]
        made = self.tokenizer(
            first, second or None, return_offsets_mapping=True, return_token_type_ids=True, verbose=False
        )  # fmt: skip
        encoded = []
        for index, (a, b) in enumerate(pairs):
            documents = [-1 if s is None else s for s in made.sequence_ids(index)]
            offsets = made["offset_mapping"][index]
            words = _words(offsets, documents, [d for d in (a, b) if d is not None])
            count = len(a.words) + (0 if b is None else len(b.words))
            ids = made["input_ids"][index]
            texts = [a.text] + ([b.text] if b is not None else [])
            encoded.append(
                self._encoded(ids, self.tokenizer.convert_ids_to_tokens(ids), offsets, documents, words, count, texts,
                              made["token_type_ids"][index])
            )  # fmt: skip
        return encoded

    def _encode_targets(self, targets: Sequence[Document]) -> list[Encoded]:
        """Targets as a decoder reads them: a start piece in front, the end piece only to be predicted."""
        if has_spm(self.tokenizer):
            made = [self._from_spm(target, target=True) for target in targets]
        else:
            made = self._encode_all([(target, None) for target in targets])
        return [self._shift_right(encoded) for encoded in made]

    def _shift_right(self, encoded: Encoded) -> Encoded:
        assert self.start_id is not None
        kept = slice(0, -1) if encoded.roles and encoded.roles[-1] == "sep" else slice(None)
        old = encoded.segmentation
        start = self.tokenizer.convert_ids_to_tokens([self.start_id])[0]
        segmentation = Segmentation(
            (start, *old.pieces[kept]), (-1, *old.words[kept]), (-1, *old.documents[kept]), old.word_count
        )
        ids, types = (self.start_id, *encoded.ids[kept]), (0, *encoded.types[kept])
        return Encoded(ids, types, ("cls", *encoded.roles[kept]), segmentation)

    def _from_spm(self, document: Document, *, target: bool) -> Encoded:
        ids, pieces, offsets = encode_spm(self.tokenizer, document.text, target=target)
        special = [
            i == len(ids) - 1 or (b - a == 0 and p.startswith(">>"))
            for i, (p, (a, b)) in enumerate(zip(pieces, offsets, strict=True))
        ]
        documents = [-1 if s else 0 for s in special]
        words = _words(offsets, documents, [document])
        return self._encoded(
            ids, pieces, offsets, documents, words, len(document.words), [document.text], [0] * len(ids)
        )

    def _encoded(
        self, ids: list[int], pieces: list[str], offsets: Sequence[tuple[int, int]], documents: list[int],
        words: list[int], count: int, texts: list[str], types: list[int],
    ) -> Encoded:  # fmt: skip
        shown = tuple(
            piece if document < 0 else _readable(piece, texts[document][start:stop])
            for piece, document, (start, stop) in zip(pieces, documents, offsets, strict=True)
        )
        shown = _numbered(shown, offsets)
        roles = tuple("" if d >= 0 else self._role(i) for i, d in zip(ids, documents, strict=True))
        return Encoded(tuple(ids), tuple(types), roles, Segmentation(shown, tuple(words), tuple(documents), count))

    def _role(self, piece_id: int) -> str:
        if piece_id in (self.tokenizer.cls_token_id, self.tokenizer.bos_token_id):
            return "cls"
        if piece_id in (self.tokenizer.sep_token_id, self.tokenizer.eos_token_id):
            return "sep"
        return "special"

    def _side(self, encoded: Sequence[Encoded], pad_left: bool, device: Any) -> tuple[Side, Tensor]:
        ids = padded([e.ids for e in encoded], self.padding_id, pad_left)
        width, lengths = ids.shape[1], np.array([e.length for e in encoded])
        starts = width - lengths if pad_left else np.zeros_like(lengths)
        real = np.arange(width) >= starts[:, None]
        real &= np.arange(width) < (starts + lengths)[:, None]
        return Side(tuple(encoded), onto(real, device), tuple(starts.tolist())), onto(ids, device)


def padded(
    rows: Sequence[Sequence[int]], filler: int, left: bool = False, width: int | None = None
) -> NDArray[np.int64]:
    """Rows of numbers in one array as wide as the longest, or as is asked, filled up on the right, or on the left.

    >>> padded([(1, 2), (3,)], 0, left=True).tolist()
    [[1, 2], [0, 3]]
    """
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    width = int(lengths.max(initial=0)) if width is None else width
    made = np.full((len(rows), width), filler, dtype=np.int64)
    place = np.arange(width)
    there = place >= (width - lengths)[:, None] if left else place < lengths[:, None]
    made[there] = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))
    return made


def _bare(ids: Sequence[int]) -> Encoded:
    return Encoded(tuple(ids), (), (), _NOTHING_KNOWN)


_NOTHING_KNOWN = Segmentation((), (), (), 0)
_UNREAD = Passage(Document("", ()))


def _words(offsets: Sequence[tuple[int, int]], documents: Sequence[int], texts: Sequence[Document]) -> list[int]:
    """Words of all pieces; those of a second document count on from the first."""
    words = [-1] * len(offsets)
    shift = 0
    for index, document in enumerate(texts):
        places = [p for p, owner in enumerate(documents) if owner == index]
        for place, word in zip(places, segment([offsets[p] for p in places], document.words), strict=True):
            words[place] = -1 if word < 0 else word + shift
        shift += len(document.words)
    return words


def _readable(piece: str, surface: str) -> str:
    """A piece as a person would write it: the characters it stands for, with BERT's ## kept."""
    if piece.startswith("##"):
        return piece
    if surface:
        return surface.strip() or named_blank(surface)
    return piece.replace("▁", " ").replace("Ġ", " ").strip() or "␣"


def _numbered(shown: tuple[str, ...], offsets: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Tell the bytes of one character apart, where they are pieces of their own: 日 in three becomes 日₁ 日₂ 日₃."""
    named = [(text, stop) if stop > start else None for text, (start, stop) in zip(shown, offsets, strict=True)]
    parts: list[str] = []
    at = 0
    for index, (text, name) in enumerate(zip(shown, named, strict=True)):
        at = at + 1 if index and name is not None and name == named[index - 1] else 1
        more = index + 1 < len(named) and name is not None and name == named[index + 1]
        parts.append(text + str(at).translate(_SUBSCRIPTS) if at > 1 or more else text)
    return tuple(parts)


_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def _window(tokenizer: Any, config: Any) -> int:
    """How many pieces the model can take: the least of what its parts say."""
    text = config.get_text_config()
    limits = [tokenizer.model_max_length]
    positions = getattr(text, "max_position_embeddings", None) or getattr(text, "n_positions", None)
    if (
        positions and positions > 0 and text.model_type not in ("t5", "mt5", "longt5")
    ):  # relative positions have no end
        reserved = (text.pad_token_id or 0) + 1 if text.model_type in _OFFSET_POSITIONS else 0
        limits.append(positions - reserved)
    window = min(limits)
    return window if window < UNLIMITED else UNLIMITED


# Families whose first position comes after the padding's: two of their positions hold no piece.
_OFFSET_POSITIONS = {
    "roberta",
    "xlm-roberta",
    "camembert",
    "mpnet",
    "xlm-roberta-xl",
    "data2vec-text",
    "roberta-prelayernorm",
}
