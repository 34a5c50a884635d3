"""Marks and edges of whole batches by arrays, against loops over every piece."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import twins
from attlas.capture import Subject
from attlas.measures.quantities import CLASSES, NEAREST, RANKS, SINK_PIECES
from attlas.models import Batch, Encoded, Side
from attlas.models.pieces import padded as padded_ids
from attlas.studies.shared import piece_classes
from attlas.studies.shared.piece_classes import (
    PUNCTUATION,
    draw_pairs,
    mark,
    mark_copies,
    mark_edges,
    padded,
    texts_of,
    word_ranks,
)
from attlas.tasks import text_seed
from attlas.text import ROOT, Document, Passage, Segmentation

TAGS = ("NOUN", "VERB", "X")
ROLES = ("", "", "", "cls", "sep", "special")


def loop_marks(side: Side, passages: Sequence[Sequence[Document]], ranks: dict[str, int]) -> dict[str, np.ndarray]:
    """What every piece is, one by one."""
    size, width = side.real.shape
    classes, words = np.zeros((size, width, len(CLASSES))), np.zeros((size, width), bool)
    tagged, bands = np.zeros((size, width, len(TAGS))), np.zeros((size, width, len(RANKS)))
    for row, (encoded, documents, start) in enumerate(zip(side.encoded, passages, side.starts, strict=True)):
        forms = [form for document in documents for form in document.forms]
        labels = [tag for d in documents for tag in (d.upos or d.xpos or ("",) * len(d.words))]
        given = zip(encoded.segmentation.pieces, encoded.segmentation.words, encoded.roles, strict=True)
        for piece, (text, word, role) in enumerate(given):
            kind = "punctuation" if not role and text.strip() and text.strip() in PUNCTUATION else "other"
            kind = role if role in ("cls", "sep") else "first" if piece == 0 else kind
            classes[row, start + piece, CLASSES.index(kind)] = 1
            if word < 0:
                continue
            rank = ranks.get(forms[word].lower(), len(ranks) + 1)
            band = next(at for at, (_, last) in enumerate(RANKS) if last is None or rank <= last)
            bands[row, start + piece, band] = 1
            if piece:
                words[row, start + piece] = True
                if labels[word] in TAGS:
                    tagged[row, start + piece, TAGS.index(labels[word])] = 1
    return {"classes": classes, "words": words, "tags": tagged, "bands": bands}


def loop_edges(side: Side, passages: Sequence[Sequence[Document]]) -> tuple[list, np.ndarray, np.ndarray]:
    """Pairs of pieces on edges of each text with their way (1 to the governor), and which pieces have either end."""
    governed, governing = (np.zeros(tuple(side.real.shape), bool) for _ in range(2))
    found = []
    for row, (encoded, documents, start) in enumerate(zip(side.encoded, passages, side.starts, strict=True)):
        pieces: dict[int, list[int]] = {}
        for piece, word in enumerate(encoded.segmentation.words):
            if word >= 0:
                pieces.setdefault(word, []).append(start + piece)
        pairs, shift = [], 0
        for document in documents:
            for dependent, governor in enumerate(document.governors or ()):
                down = pieces.get(dependent + shift, [])
                up = pieces.get(governor + shift, []) if governor not in (None, ROOT) else []
                if down and up:
                    governed[row, down] = governing[row, up] = True
                pairs += [(i, j, 1) for i in down for j in up if j != start]
                pairs += [(j, i, 2) for i in down for j in up if i != start]
            shift += len(document.words)
        found.append(pairs)
    return found, governed, governing


def check(side: Side, passages: Sequence[Sequence[Document]], ranks: dict[str, int]) -> None:
    marks, slow = mark(side, passages, TAGS, ranks), loop_marks(side, passages, ranks)
    for name, expected in slow.items():
        assert np.array_equal(getattr(marks, name).numpy(), expected), name
    assert np.array_equal(marks.kinds >= 0, slow["classes"].any(-1))
    assert np.array_equal(marks.present, slow["classes"].any((0, 1)))
    edges, (pairs, governed, governing) = mark_edges(side, passages), loop_edges(side, passages)
    assert np.array_equal(edges.governed.numpy(), governed)
    assert np.array_equal(edges.governing.numpy(), governing)
    assert edges.pairs.shape[1] == max(map(len, pairs), default=0)
    for row, expected in enumerate(pairs):
        way = (edges.to_governor[row] + 2 * edges.to_dependent[row]).int().tolist()
        ours = [(i, j, w) for (i, j), w in zip(edges.pairs[row].tolist(), way, strict=True) if w]
        assert ours == expected


@st.composite
def texts(draw: st.DrawFn) -> tuple[Encoded, list[Document]]:
    """A text of one or two documents, possibly without any word, cut into pieces at random; words may have no piece,
    or their pieces apart."""
    documents = []
    for _ in range(draw(st.integers(1, 2))):
        count = draw(st.integers(0, 5))
        governors = [draw(st.sampled_from([None, ROOT, *range(word)])) for word in range(count)]
        layers = {"governors": governors} if draw(st.booleans()) else {}
        if draw(st.booleans()):
            layers["upos"] = [draw(st.sampled_from([*TAGS, "OTHER"])) for _ in range(count)]
        forms = [draw(st.sampled_from(["the", "The", "cat", ".", "zzz"])) for _ in range(count)]
        documents.append(Document.from_words(forms, **layers))
    words = sum(len(document.words) for document in documents)
    pieces = draw(st.integers(1, 7))
    owners = tuple(draw(st.integers(-1, words - 1)) for _ in range(pieces))
    roles = tuple("" if owner >= 0 else draw(st.sampled_from(ROLES)) for owner in owners)
    shown = tuple(draw(st.sampled_from([".", ",", " .", "cat", "", "。"])) for _ in range(pieces))
    segmentation = Segmentation(shown, owners, tuple(0 if owner >= 0 else -1 for owner in owners), words)
    return Encoded((7,) * pieces, (0,) * pieces, roles, segmentation), documents


@given(st.lists(texts(), min_size=1, max_size=4), st.booleans(), st.integers(0, 2))
def test_marks_and_edges_equal_those_of_loops(
    made: list[tuple[Encoded, list[Document]]], left: bool, more: int
) -> None:
    width = more + max(encoded.length for encoded, _ in made)
    real = torch.zeros(len(made), width, dtype=torch.bool)
    for row, (encoded, _) in enumerate(made):
        real[row, width - encoded.length if left else 0 :][: encoded.length] = True
    side = Side(tuple(encoded for encoded, _ in made), real)
    check(side, [documents for _, documents in made], {"the": 1, "cat": 11, ".": 1001})


@pytest.mark.parametrize(("family", "left"), [("bert", False), ("gpt2", False), ("gpt2", True), ("marian", False)])
def test_marks_of_models_pieces_equal_those_of_loops(family: str, left: bool) -> None:
    subject = Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)
    trees = [
        Document.from_words(["Nobody", "noticed", "."], upos=["X", "VERB", "OTHER"], governors=[1, ROOT, 1]),
        Document.from_words(["unbelievable"], governors=[ROOT]),
        Document.from_words(["He", "slept", ",", "he", "said", "."], governors=[1, 4, 1, 4, ROOT, 4]),
    ]
    passages = [Passage(trees[0]), Passage(trees[1]), Passage(trees[2])]
    if family == "bert":
        passages.append(Passage(trees[2], trees[0]))
    if family == "marian":
        passages = [Passage(one, other) for one, other in zip(trees, trees[::-1], strict=True)]
    examples = subject.pieces.encode_all(passages)
    batch = subject.pieces.batch(examples, pad_left=left)
    for side in (batch.source, batch.target):
        if side is not None:
            assert side.starts == tuple(int(row.int().argmax()) for row in side.real)
            check(side, texts_of(batch, side, examples, subject.pieces.translating), word_ranks(trees))


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=4), st.booleans())
def test_padding_equals_that_of_lists(rows: list[list[int]], left: bool) -> None:
    width = max(map(len, rows))
    filled = [[8] * (width - len(row)) + row if left else row + [8] * (width - len(row)) for row in rows]
    assert padded_ids(rows, 8, left).tolist() == filled
    arrays = [np.array(row, np.int64).reshape(-1, 1) for row in rows]
    assert padded(arrays)[..., 0].tolist() == [row + [0] * (width - len(row)) for row in rows]


def test_a_batch_of_texts_without_words_can_be_made() -> None:
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")
    batch: Batch = subject.pieces.batch(subject.pieces.encode_texts(["the farmer", "apples"]))
    assert batch.inputs["attention_mask"].sum(1).tolist() == [len(one.ids) for one in batch.source.encoded]


def loop_copies(encoded: Encoded, start: int) -> tuple[list[tuple[int, ...]], list[int]]:
    """Earlier occurrences of every piece of one text, piece by piece: query, key, and which kinds of pair it is; and
    how many queries have any of the first three."""
    places: dict[int, list[int]] = {}
    found: list[tuple[int, ...]] = []
    special, ids, cases = encoded.segmentation.special, encoded.ids, [0, 0, 0]
    step = -(-len(ids) // piece_classes.MOST_COPIES)
    for place, piece in enumerate(ids):
        if special[place]:
            continue
        before = places.setdefault(piece, [])
        nearest = before[-NEAREST:] if place % step == 0 else []
        followed = [at + 1 for at in nearest if at + 1 < place]
        paired = {at for at in followed if at > 1 and ids[at - 2] == ids[place - 1]}
        found += [(start + place, start + at, 1, 0, 0, 0) for at in nearest]
        found += [(start + place, start + at, 0, 1, int(at in paired), 0) for at in followed]
        cases = [many + bool(some) for many, some in zip(cases, (nearest, followed, paired), strict=True)]
        before.append(place)
    if len(ids) >= SINK_PIECES:
        found += [(start + place, start, 0, 0, 0, 1) for place in range(SINK_PIECES)]
    return found, cases


@st.composite
def repeating(draw: st.DrawFn) -> Encoded:
    """A text of few kinds of pieces, so that most came before, some of them special."""
    count = draw(st.sampled_from([1, 2, 9, 63, 64, 150]))
    generator = np.random.default_rng(draw(st.integers(0, 2**31)))
    ids = tuple(generator.integers(draw(st.sampled_from([1, 3, 40])), size=count).tolist())
    documents = tuple((-(generator.random(count) < draw(st.sampled_from([0.0, 0.2, 1.0]))).astype(int)).tolist())
    return Encoded(ids, (0,) * count, ("",) * count, Segmentation(("x",) * count, (-1,) * count, documents, 0))


@given(st.lists(repeating(), min_size=1, max_size=4), st.booleans(), st.sampled_from([2048, 20]))
def test_copies_equal_those_of_loops(made: list[Encoded], left: bool, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(piece_classes, "MOST_COPIES", most)
        width = max(encoded.length for encoded in made) + 1
        starts = tuple(width - encoded.length if left else 0 for encoded in made)
        copies = mark_copies(Side(tuple(made), torch.ones(len(made), width, dtype=torch.bool), starts))
        slow = [loop_copies(encoded, start) for encoded, start in zip(made, starts, strict=True)]
    assert copies.pairs.shape[1] == max(len(found) for found, _ in slow)
    for row, (found, cases) in enumerate(slow):
        ours = torch.cat([copies.pairs[row], copies.kinds[row].long()], 1)
        assert ours[: len(found)].tolist() == [list(one) for one in found]
        assert not ours[len(found) :].any()
        assert copies.cases[row].tolist() == cases


@pytest.mark.parametrize("causal", [False, True])
def test_draws_are_those_of_a_generator_of_each_text(causal: bool) -> None:
    words = ["the", "farmer", "offered", "apples"]
    passages = [Passage(Document.from_words((words * 30)[:count])) for count in (3, 100, 1)]
    encoded = tuple(
        Encoded((7,) * n, (0,) * n, ("",) * n, Segmentation(("x",) * n, (-1,) * n, (0,) * n, 0)) for n in (3, 100, 1)
    )
    side = Side(encoded, torch.ones(3, 102, dtype=torch.bool), (0, 2, 1))
    pairs, real = draw_pairs(side, side, passages, causal=causal, seed=5)
    assert real.sum(1).tolist() == [3, 64, 1]
    for row, (one, passage, start) in enumerate(zip(encoded, passages, side.starts, strict=True)):
        generator = np.random.default_rng(text_seed(passage, 5))
        j = generator.permutation(one.length)[:64]
        i = generator.integers(j if causal else 0, one.length, size=len(j))
        assert pairs[row][real[row]].tolist() == np.stack([i + start, j + start], 1).tolist()
        assert not pairs[row][~real[row]].any()


def test_words_are_compared_in_small_letters_of_any_script() -> None:
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")
    document = Document.from_words(["The", "ÉTÉ", "İstanbul", "ΣΟΦΟΣ", "the"])
    examples = subject.pieces.encode_all([Passage(document)])
    batch = subject.pieces.batch(examples)
    ranks = {form.lower(): 11 for form in document.forms}
    assert batch.source is not None
    check(batch.source, [(document,)], ranks)
