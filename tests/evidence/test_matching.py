"""Heads of two models, matched by what they do: a permutation is found again, models without behaviour stay without
matches, noise is not counted, and heads of a pruned model keep the numbers that they had."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import twins
from attlas.capture import Subject
from attlas.corpora import read
from attlas.errors import StoreError
from attlas.evidence.gathering import Part, Told, part_of
from attlas.evidence.matching import MOST, NEARER, Match, match, match_rows, matches, profiles
from attlas.evidence.uniting import joined
from attlas.store import Result
from attlas.studies import studies
from attlas.studies.survey.call import survey
from attlas.text import Document

LAYERS, HEADS, FIGURES = 4, 6, 30
PLACES = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]


def table_of(model: str, values: np.ndarray, error: float | np.ndarray, **more: Any) -> pa.Table:
    """A table of heads with these figures, (head, figure), and intervals of this half width."""
    half = 1.96 * np.broadcast_to(error, values.shape)
    rows = [
        {"model": model, "stream": "encoder", "layer": layer, "head": head, "study": "survey",
         "quantity": f"q{figure}", "value": values[at, figure], "low": values[at, figure] - half[at, figure],
         "high": values[at, figure] + half[at, figure], "source": 0, **more}
        for at, (layer, head) in enumerate(PLACES)
        for figure in range(values.shape[1])
    ]  # fmt: skip
    return pa.Table.from_pylist(rows)


def behaviours(seed: int, spread: float = 0.3) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, spread, (len(PLACES), FIGURES))


def seen(behaviour: np.ndarray, error: float, seed: int) -> np.ndarray:
    """What some texts show of it."""
    return behaviour + error * np.random.default_rng(seed).standard_normal(behaviour.shape)


def share_matched(pairs: list[dict[str, Any]]) -> float:
    return float(np.mean([pair["matched"] for pair in pairs]))


def test_heads_that_were_shuffled_are_found_again_on_other_texts() -> None:
    behaviour, error = behaviours(0), 0.02
    order = np.random.default_rng(1).permutation(len(PLACES))
    tables = [
        table_of("one", seen(behaviour, error, 2), error),
        table_of("two", seen(behaviour, error, 3)[order], error),
    ]
    pairs = match_rows(pa.concat_tables(tables), "one", "two")
    assert len(pairs) == len(PLACES)
    for pair in pairs:
        assert PLACES[order[PLACES.index((pair["other_layer"], pair["other_head"]))]] == (pair["layer"], pair["head"])
    assert share_matched(pairs) == 1
    assert all(pair["distance"] < NEARER * pair["runner_up"] for pair in pairs)


def test_figures_that_are_noise_do_not_drown_those_that_tell_heads_apart() -> None:
    """Two figures of three are noise as wide as the spread of the others; their intervals say so."""
    behaviour, rng = behaviours(0), np.random.default_rng(4)
    wide = np.where(np.arange(3 * FIGURES) < FIGURES, 0.01, 0.3)
    tables = []
    for name, seed in (("one", 2), ("two", 3)):
        figures = np.hstack([seen(behaviour, 0.01, seed), 0.3 * rng.standard_normal((len(PLACES), 2 * FIGURES))])
        tables.append((name, figures))
    both = pa.concat_tables([table_of(name, figures, wide) for name, figures in tables])
    ours, theirs = next((ours, theirs) for _, ours, theirs in profiles(both, "one", "two"))
    pairs = match(ours, theirs)
    assert all(pair.head == pair.other for pair in pairs)
    blind = match(*(side._replace(errors=np.full_like(side.errors, 0.01)) for side in (ours, theirs)))
    assert np.mean([_right(pair) for pair in blind]) < np.mean([_right(pair) for pair in pairs]) - 0.2


def _right(pair: Match) -> bool:
    return pair.matched and pair.head == pair.other


def test_heads_of_models_that_do_nothing_in_particular_are_not_matched() -> None:
    """Untrained models: heads differ by less than figures are sure of, or by next to nothing."""
    for spread, error in ((0.0, 0.01), (0.002, 0.0001)):
        tables = [
            table_of(name, seen(behaviours(seed, spread), error, seed), error)
            for seed, name in enumerate(("one", "two"))
        ]
        assert share_matched(match_rows(pa.concat_tables(tables), "one", "two")) <= 0.1


def test_a_head_of_which_there_are_two_is_not_matched() -> None:
    behaviour = behaviours(0)
    behaviour[1] = behaviour[0]
    tables = [table_of(name, seen(behaviour, 0.01, seed), 0.01) for seed, name in enumerate(("one", "two"))]
    pairs = match_rows(pa.concat_tables(tables), "one", "two")
    assert {(pair["layer"], pair["head"]) for pair in pairs if not pair["matched"]} == {PLACES[0], PLACES[1]}


def test_by_number_says_which_still_do_what_they_did() -> None:
    behaviour = behaviours(0)
    trained = behaviour.copy()
    trained[[3, 7]] = trained[[7, 3]]
    tables = [table_of("one", seen(behaviour, 0.01, 2), 0.01), table_of("two", seen(trained, 0.01, 3), 0.01)]
    pairs = match_rows(pa.concat_tables(tables), "one", "two", by_number=True)
    assert all((pair["layer"], pair["head"]) == (pair["other_layer"], pair["other_head"]) for pair in pairs)
    assert [number for number, pair in enumerate(pairs) if not pair["matched"]] == [3, 7]


def test_figures_without_intervals_or_of_other_studies_do_not_count() -> None:
    behaviour = behaviours(0)
    one = table_of("one", seen(behaviour, 0.01, 2), 0.01)
    strange = table_of("one", 9 * behaviours(5), 0.0, study="roles")
    bare = table_of("one", 9 * behaviours(6), 0.01, quantity="bare")
    bare = bare.set_column(bare.column_names.index("low"), "low", pa.nulls(bare.num_rows, pa.float64()))
    two = table_of("two", seen(behaviour, 0.01, 3), 0.01)
    alone = match_rows(pa.concat_tables([one, two]), "one", "two")
    assert match_rows(pa.concat_tables([one, strange, bare, two]), "one", "two") == alone


def test_of_many_models_none_are_compared() -> None:
    names = [f"model {number}" for number in range(MOST + 1)]
    heads = pa.concat_tables([table_of(name, behaviours(0), 0.01) for name in names])
    shape = {"family": "bert", "stream": "encoder", "layers": LAYERS, "heads": HEADS}
    models = pa.Table.from_pylist([{"model": name, **shape} for name in names])
    assert matches(heads, models) == []
    few = matches(heads.filter(pa.compute.is_in(heads["model"], pa.array(names[:2]))), models)
    assert {row["by"] for row in few} == {"behaviour", "number"}


def test_a_model_is_not_matched_with_itself() -> None:
    with pytest.raises(StoreError, match="cannot be matched with itself; name two models"):
        match_rows(table_of("one", behaviours(0), 0.01), "one", "one")


def part(result: Result) -> Part:
    study = studies()[result.manifest.study]
    found = part_of(result, Told(study.load_page()))
    assert found is not None
    return found


def test_heads_of_a_pruned_model_keep_the_numbers_they_had() -> None:
    whole = Subject.of(twins.model("bert"), twins.tokenizer(False), "whole")
    smaller = whole.pruned(["1-1", "2-2", "2-3"])
    smaller.name = "smaller"
    texts = [
        Document.from_text(f"The farmer near the bridge offered {number} apples to the designer.")
        for number in range(8)
    ]
    tables = joined([part(survey(subject, texts)) for subject in (whole, smaller)])
    heads = tables["heads"].to_pylist()
    of = {
        name: {(row["layer"], row["head"]): row["value"] for row in heads
               if row["model"] == name and row["quantity"] == "entropy"}
        for name in ("whole", "smaller")
    }  # fmt: skip
    assert of["whole"].keys() - of["smaller"].keys() == {(0, 0), (1, 1), (1, 2)}
    first = [place for place in of["smaller"] if place[0] == 0]
    assert first == [place for place in of["whole"] if place[0] == 0 and place != (0, 0)]
    for place in first:  # above the first layer other states arrive
        assert of["smaller"][place] == pytest.approx(of["whole"][place], abs=1e-6)


@pytest.mark.real
def test_a_real_model_is_matched_with_itself_on_other_texts() -> None:
    """The bundled model, on one half of the sample and on the other; a twin has no head that does what one does."""
    from attlas.capture import load

    subject = load()
    documents = read("sample").documents
    results = []
    for name, model, half in (("one", subject, 0), ("two", subject, 1), ("twin", subject.twin(3), 1)):
        result = survey(model, documents[half::2], limit=30)
        named = replace(result.manifest, model={**result.manifest.model, "name": name})
        results.append(Result(named, result.tables))
    heads = joined([part(result) for result in results])["heads"]
    pairs = match_rows(heads, "one", "two")
    right = [(pair["layer"], pair["head"]) == (pair["other_layer"], pair["other_head"]) for pair in pairs]
    assert np.mean(right) >= 0.95
    assert share_matched(pairs) >= 0.8
    assert all(same for same, pair in zip(right, pairs, strict=True) if pair["matched"])
    assert share_matched(match_rows(heads, "one", "twin")) <= 0.05
