"""Examples are chosen by the very quantity that a sentence tells, and show the weights that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import twins
from attlas.capture import Subject
from attlas.corpora import read
from attlas.ids import Stream
from attlas.making.choosing import _own_number
from attlas.making.examples import LONGEST, Shown, choose, example_tables, figures_by_text, pool_of
from attlas.studies import studies
from attlas.studies.relations.passes import scored
from attlas.studies.shared.by_text import ByText, corpus_of
from attlas.studies.survey.call import survey
from attlas.text import Document

ENCODER = Stream.ENCODER


@pytest.fixture(scope="module")
def bert() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")


@pytest.fixture(scope="module")
def pool(bert: Subject) -> list[Document]:
    return pool_of(read("sample").sentences(), bert, 3)


@pytest.fixture(scope="module")
def surveyed(bert: Subject, pool: list[Document]) -> ByText:
    (found,) = figures_by_text(studies()["survey"], bert, pool, 0)
    return found


def sentence(**more: Any) -> dict[str, Any]:
    """A row of portraits."""
    row = {"stream": "encoder", "layer": 1, "head": 2, "order": 0, "part": "does", "study": "survey",
           "quantity": "previous", "value": 0.5, "chance": 0.1}  # fmt: skip
    return row | more


def by_text(*values: float) -> ByText:
    """Texts on which a head has these values, and all others nothing."""
    figures = np.full((len(values), 2, 3), np.nan)
    figures[:, 1, 2] = values
    return ByText([None] * len(values), {"previous": {ENCODER: figures}})  # type: ignore[list-item]


def chosen(row: dict[str, Any], *values: float) -> dict[str, int]:
    """Which text is which example."""
    return {each.example: each.text for each in choose([row], {"survey": [by_text(*values)]})}


def test_the_best_text_is_the_best_by_the_quantity_of_the_sentence() -> None:
    assert chosen(sentence(), 0.3, 0.9, 0.1, 0.5, 0.4) == {"best": 1, "typical": 4, "fails": 2}
    assert chosen(sentence(value=0.2, chance=1.0), 0.3, 0.9, 0.1, 0.5, 0.4) == {"best": 2, "typical": 4, "fails": 1}
    assert chosen(sentence(), 0.3, float("nan"), 0.15) == {"best": 0, "fails": 2}, "a text without a case is none"


def test_a_head_that_is_good_at_every_text_fails_on_none() -> None:
    assert chosen(sentence(), 0.99, 0.98, 1.0) == {"best": 2, "typical": 0}
    assert chosen(sentence(), 0.7) == {"best": 0}


def test_the_first_sentence_that_can_be_shown_is_shown() -> None:
    rows = [sentence(order=1), sentence(order=0, quantity="unknown"), sentence(order=0, part="rests"),
            sentence(order=0, part="without"), sentence(order=0, study="importance")]  # fmt: skip
    assert {(each.sentence["part"], each.sentence["order"]) for each in choose(rows, {"survey": [by_text(0.5)]})} == {
        ("does", 1)
    }


def test_the_pool_is_of_short_texts_and_has_relations(bert: Subject, pool: list[Document]) -> None:
    assert len(pool) == 12
    assert all(bert.pieces.length(document) <= LONGEST for document in pool)
    again, other = (pool_of(read("sample").sentences(), bert, seed) for seed in (3, 4))
    assert [document.text for document in again] == [document.text for document in pool]
    assert [document.text for document in other] != [document.text for document in pool]
    relations = [label for document in pool for _, _, label in scored(document)]
    assert len(set(relations)) > 15


def test_figures_of_single_texts_are_those_of_the_survey_run_on_each(
    bert: Subject, pool: list[Document], surveyed: ByText
) -> None:
    for text, document in list(enumerate(pool))[:3]:
        alone = survey(bert, corpus_of([document]))
        compared = 0
        for row in alone.rows("heads"):
            name = row["quantity"] + ("" if row["measure"] == "weight" else f".{row['measure']}")
            value = surveyed.values(name, ENCODER, row["layer"], row["head"])[text]
            if row["value"] is not None:
                assert value == pytest.approx(row["value"], rel=1e-5, abs=1e-6), name
                compared += 1
        assert compared > 300


def test_relations_of_single_texts_are_those_of_a_loop(bert: Subject, pool: list[Document]) -> None:
    (found,) = figures_by_text(studies()["relations"], bert, pool, 0)
    for text, document in list(enumerate(pool))[:4]:
        capture = bert.look(document)
        words = np.array(capture.source.words)
        weights = capture.weights[ENCODER].double().numpy()
        between = np.zeros((*weights.shape[:2], len(document.words), len(document.words)))
        for one in range(len(document.words)):
            for other in range(len(document.words)):
                block = weights[:, :, words == one][..., words == other]
                between[:, :, one, other] = block.sum(-1).mean(-1)
        np.einsum("lhww->lhw", between)[:] = -1
        asked = [(dependent, governor) for dependent, governor, label in scored(document) if label == "det"]
        if not asked:
            continue
        right = np.mean([between[:, :, dependent].argmax(-1) == governor for dependent, governor in asked], axis=0)
        for layer, head in ((0, 1), (2, 3)):
            assert found.values("det.to", ENCODER, layer, head)[text] == pytest.approx(right[layer, head])
        places = found.places(text, ENCODER, "det.to")
        assert places is not None
        pairs = {(int(words[query]), int(words[key])) for query, key in np.argwhere(places)}
        assert pairs == set(asked)


def test_what_a_figure_is_about_adds_up_to_it(bert: Subject, pool: list[Document], surveyed: ByText) -> None:
    for quantity in ("previous", "next", "self", "cls", "sep", "punctuation", "to_governor", "same_piece"):
        compared = 0
        for text, document in enumerate(pool):
            weights = bert.look(document).weights[ENCODER][2, 1].double().numpy()
            places = surveyed.places(text, ENCODER, quantity)
            value = surveyed.values(quantity, ENCODER, 2, 1)[text]
            if places is None or not np.isfinite(value):
                continue
            rows = _asked(quantity, places, surveyed.examples[text].source.segmentation.words)
            assert (weights * places).sum() / rows == pytest.approx(value, abs=1e-6), quantity
            compared += 1
        assert compared > 2, quantity


def _asked(quantity: str, places: NDArray[np.bool_], words: Sequence[int]) -> int:
    """How many queries a quantity is a mean over."""
    whole = quantity in ("cls", "sep", "punctuation")
    return len(places) if whole else int(places.any(1).sum())


def test_the_row_that_is_shown_has_most_of_what_is_asked(
    bert: Subject, pool: list[Document], surveyed: ByText
) -> None:
    row = sentence(quantity="previous")
    (best, *others) = choose([row], {"survey": [surveyed]})
    examples, texts = example_tables(bert, [best, *others], {"survey": "sample"}, lambda number, capture: f"{number}")
    assert examples["example"][0] == "best"
    values = surveyed.values("previous", ENCODER, 1, 2)
    assert examples["value"][0] == np.nanmax(values)
    words = texts["words"][examples["text"][0]]
    document = pool[best.text]
    assert [word for word in words if word in document.forms] == list(document.forms)
    capture = bert.look(document)
    weights = capture.weights[ENCODER][1, 2].double().numpy()
    inside = [at for at in range(1, len(weights)) if capture.source.words[at] >= 0]
    query = max(inside, key=lambda at: weights[at, at - 1])
    group = capture.source.groups[query]
    assert examples["query"][0] == group
    assert sum(examples["weights"][0]) == pytest.approx(1, abs=0.01)
    assert len(examples["weights"][0]) == len(words)


def test_heads_of_a_pruned_model_are_looked_up_by_their_own_numbers(bert: Subject) -> None:
    pruned = bert.pruned(["2-1"])
    row = sentence(layer=1, head=2)
    assert _own_number(pruned, row) == 1
    assert _own_number(bert, row) == 2
    figures = np.full((2, 2, 3), np.nan)
    figures[:, 1, 1] = 0.2, 0.9
    found = ByText([None, None], {"previous": {ENCODER: figures}})  # type: ignore[list-item]
    (best, *_) = choose([{**row, "own": 1}], {"survey": [found]})
    assert (best.text, best.value) == (1, 0.9)


def test_cross_attention_is_shown_from_the_translation_to_the_text() -> None:
    marian = Subject.of(twins.model("marian"), twins.tokenizer(False), "marian")
    translation = Document.from_words(["the", "storm", "."])
    document = Document.from_words(["an", "old", "bridge"], translation=translation)
    shown = Shown.of(marian.look(document, translation))
    assert shown.own < len(shown.words)
    query, weights = shown.row(Stream.CROSS, 0, 0, None, "best")
    assert query >= shown.own
    assert sum(weights[: shown.own]) == pytest.approx(1, abs=0.01)
    assert sum(weights[shown.own :]) == 0
