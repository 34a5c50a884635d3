"""The experiment of roles under test: who is named, on which texts, against whom, and with what correction.

Scores are made up, text by text. Whoever chooses on the texts that are scored, takes the model for its twin, drops a
correction, turns a sign, or closes heads on the texts on which they were chosen, gets another answer here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.ids import HeadId, Stream
from attlas.run.setting import as_corpus
from attlas.stats import above_zero
from attlas.studies.roles import call as calling
from attlas.studies.roles.behaviour import BEHAVIOURS, DRAWS, Behaviour, rank_p, rival_sets
from attlas.studies.roles.concordance import agreement_table
from attlas.studies.roles.definition import Definition, Trial
from attlas.studies.roles.definitions import DEFINITIONS
from attlas.studies.roles.effects import Closed, effect_table
from attlas.studies.roles.scores import Scored, half_of
from attlas.studies.roles.tables import Outcome, chosen, head_tables
from attlas.studies.roles.texts import Setting, natural, natural_to_test, repeated, repeated_to_test
from attlas.text import Document

LAYERS, HEADS, UNITS = 3, 4, 40
PLAIN = Definition("prefix_matching", "prefix matching", "somebody", "", "x:y", frozenset(Stream))
SMALL = Definition("dormant", "dormant", "somebody", "", "x:y", frozenset(Stream), (0.0, np.inf), 1.0, below=True)


def outcome(definition: Definition, figures: np.ndarray, *twin_figures: np.ndarray, chance: float = 0.1) -> Outcome:
    """An outcome of figures, (unit, layer, head), one case each."""

    def kept(values: np.ndarray) -> Scored:
        halves = np.array([half_of(unit) for unit in range(len(values))])
        return Scored(values[..., None], np.ones((*values.shape, 1)), halves, np.full((LAYERS, 1), chance))

    trial = Trial("made up", "made up", "x:y", (definition,))
    return Outcome(trial, (definition,), Stream.ENCODER, kept(figures), [kept(each) for each in twin_figures])


@pytest.fixture(scope="module")
def model() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "made up")


def opposite() -> np.ndarray:
    """1-1 is high on the texts for choosing and low on the others, 2-2 the other way round."""
    figures = np.full((UNITS, LAYERS, HEADS), 0.1)
    first = np.array([half_of(unit) for unit in range(UNITS)]) == 1
    figures[first, 0, 0], figures[~first, 1, 1] = 0.9, 0.8
    return figures


def test_heads_are_named_on_one_half_and_scored_on_the_other(model: Subject) -> None:
    tables = head_tables(model, [outcome(PLAIN, opposite(), np.full((UNITS, LAYERS, HEADS), 0.1))])
    named = tables["named"]
    assert (named["layer"][0], named["head"][0]) == (0, 0)
    assert (named["chosen_value"][0], named["value"][0]) == (pytest.approx(0.9), pytest.approx(0.1))
    heads = dict(zip(zip(tables["heads"]["layer"], tables["heads"]["head"], strict=True),
                     zip(tables["heads"]["first_half"], tables["heads"]["second_half"], strict=True),
                     strict=True))  # fmt: skip
    assert heads[1, 1] == (pytest.approx(0.1), pytest.approx(0.8))


def test_the_twins_head_is_chosen_and_scored_in_the_same_way(model: Subject) -> None:
    twin = opposite()[:, ::-1]  # 3-1 where heads are chosen
    named = head_tables(model, [outcome(PLAIN, opposite(), twin)])["named"]
    assert (named["twin_layer"][0], named["twin_head"][0], named["twin"][0]) == (2, 0, pytest.approx(0.1))


def test_small_figures_are_named_where_these_are_meant(model: Subject) -> None:
    figures = np.ones((UNITS, LAYERS, HEADS)) + np.random.default_rng(0).normal(0, 0.05, (UNITS, LAYERS, HEADS))
    figures[:, 2, 3] = 0.2
    tables = head_tables(model, [outcome(SMALL, figures)])
    assert (tables["named"]["layer"][0], tables["named"]["head"][0]) == (2, 3)
    p = dict(zip(zip(tables["heads"]["layer"], tables["heads"]["head"], strict=True), tables["heads"]["p_corrected"],
                 strict=True))  # fmt: skip
    assert p[2, 3] < 0.01
    assert p[0, 0] > 0.05


def test_p_is_corrected_for_all_heads_and_asks_for_more_than_chance(model: Subject) -> None:
    rng = np.random.default_rng(1)
    figures = rng.normal(0.1, 0.05, (UNITS, LAYERS, HEADS))
    figures[:, 0, 0] += 0.02
    figures[:, 0, 1] -= 0.2
    tables = head_tables(model, [outcome(PLAIN, figures)])
    alone = above_zero(figures - 0.1, np.ones(figures.shape))
    found = np.array(tables["heads"]["p_corrected"]).reshape(LAYERS, HEADS)
    assert found == pytest.approx(alone.p_corrected)
    assert (found >= alone.p).all()
    assert found[0, 0] > 1.5 * alone.p[0, 0]
    assert found[0, 1] > 0.9


def test_no_head_is_closed_on_texts_on_which_heads_are_chosen(model: Subject) -> None:
    words = [Document.from_text(" ".join(twins.SENTENCES[:3] * 4) + f" {at}", name=f"t{at}") for at in range(16)]
    setting = Setting(model, as_corpus(words), texts=16)
    pieces = {text.source.ids for text in repeated(setting)}
    assert not pieces & {text.source.ids for text in repeated_to_test(setting)}
    for_choosing = [text for text in natural(setting) if half_of(text.unit) == 1]
    tested = natural_to_test(setting)
    assert tested
    assert all(half_of(text.unit) == 2 for text in tested)
    assert not {text.unit for text in for_choosing} & {text.unit for text in tested}


def test_heads_to_close_come_from_the_half_for_choosing(model: Subject) -> None:
    made = outcome(PLAIN, opposite())
    assert calling.named_heads(model, [made], "prefix_matching", 1) == (HeadId(Stream.ENCODER, 0, 0),)
    assert chosen(made.own, 0, PLAIN, 1) == [(0, 0)]


def test_others_are_as_many_disjoint_and_near() -> None:
    made = Subject.of(twins.model("bert"), twins.tokenizer(False), "made up")
    heads = [HeadId(Stream.ENCODER, 0, 0), HeadId(Stream.ENCODER, 0, 1)]
    sets = rival_sets(made, heads)
    assert len(set(sets)) == len(sets) == 45  # all pairs of the ten other heads of three layers
    assert all(len(set(some)) == 2 and not set(some) & set(heads) for some in sets)
    from attlas.capture import load

    large = load()
    heads = large.named(["1-1", "1-2", "6-1"])
    sets = rival_sets(large, heads)
    assert len(set(sets)) == len(sets) == DRAWS
    for some in sets:
        assert not set(some) & set(heads)
        layers = sorted(head.layer for head in some)
        assert len(some) == 3
        assert max(layers[:2]) <= 2  # layers from theirs
        assert layers[2] >= 5 - 2


def test_p_is_the_rank_among_other_sets() -> None:
    others = np.linspace(-1, 1, 399)
    assert rank_p(0.995, others, rises=True) == pytest.approx(2 / 400)
    assert rank_p(-2.0, others, rises=True) == 1.0
    assert rank_p(0.0, others, rises=False) == pytest.approx(2 / 400)
    assert rank_p(-2.0, others, rises=False) == 1.0  # a change for the better is a change, too
    assert np.isnan(rank_p(9.0, others[:299], rises=True))


def closed(key: str, own: float, *, rises: bool = True, sets: int = 399) -> Closed:
    rng = np.random.default_rng(0)
    whole = rng.normal(3, 0.2, 12)
    losses = np.stack([whole, whole + own, *(whole + step for step in rng.normal(0, 0.1, sets))])
    return Closed(Behaviour(key, key, key, "x:y", "loss", rises=rises), (HeadId(Stream.DECODER, 0, 0),), losses)


def test_p_of_roles_are_corrected_by_holm_and_names_hold_or_do_not() -> None:
    table = effect_table([closed("a", 2.0), closed("b", 0.25), closed("c", 0.0), closed("d", -3.0)])
    assert table["p"][0] == pytest.approx(1 / 400)
    assert table["p_corrected"][0] == pytest.approx(4 / 400)
    assert table["p_corrected"][1] == pytest.approx(min(1, 3 * table["p"][1]))
    assert table["holds"][0] is True
    assert table["holds"][2] is False
    assert table["holds"][3] is False  # closing them made the model better
    assert table["change"][3] == pytest.approx(-3)
    idle = effect_table([closed("idle", 0.0, rises=False), closed("busy", 1.0, rises=False)])
    assert idle["holds"] == [True, False]
    few = effect_table([closed("few", 2.0, sets=299)])
    assert (few["p"][0], few["holds"][0]) == (None, None)


def test_changes_are_paired_by_text() -> None:
    row = effect_table([closed("a", 2.0)])
    assert row["change_high"][0] - row["change_low"][0] < 1e-6  # whole losses differ by far more than that


def test_definitions_agree_with_their_sign_and_over_texts(model: Subject) -> None:
    rng = np.random.default_rng(2)
    skill = np.linspace(0, 1, LAYERS * HEADS).reshape(LAYERS, HEADS)
    loud = skill + rng.normal(0, 0.02, (UNITS, LAYERS, HEADS))
    quiet = 1 - skill + rng.normal(0, 0.02, (UNITS, LAYERS, HEADS))
    noisy = skill + rng.normal(0, 8.0, (UNITS, LAYERS, HEADS))
    other = Definition("duplicate", "duplicate", "somebody", "", "x:y", frozenset(Stream))
    table = agreement_table([outcome(PLAIN, loud), outcome(SMALL, quiet), outcome(other, noisy)])
    rows = {(one, two): at for at, (one, two) in enumerate(zip(table["one"], table["other"], strict=True))}
    same, rough = rows["prefix_matching", "dormant"], rows["prefix_matching", "duplicate"]
    assert table["spearman"][same] > 0.99
    assert table["shared"][same] == table["first"][same]
    width = [table["high"][at] - table["low"][at] for at in (same, rough)]
    assert width[1] > 5 * max(width[0], 0.01)  # scores that texts hardly settle
    for low, own, high in zip(table["low"], table["spearman"], table["high"], strict=True):
        assert low <= own <= high


def test_agreement_has_an_interval_that_holds_over_texts(model: Subject) -> None:
    rng = np.random.default_rng(3)
    skill = rng.normal(0, 1, (LAYERS, HEADS))
    other = Definition("duplicate", "duplicate", "somebody", "", "x:y", frozenset(Stream))
    found = []
    for _ in range(60):
        figures = [skill + rng.normal(0, 3, (UNITS, LAYERS, HEADS)) for _ in range(2)]
        table = agreement_table([outcome(PLAIN, figures[0]), outcome(other, figures[1])])
        found.append([table[name][0] for name in ("low", "spearman", "high")])
    low, own, high = np.array(found).T
    usual = np.median(own)  # what as many texts give
    assert ((low <= usual) & (usual <= high)).mean() > 0.85
    assert (high - low).mean() < 1


def test_what_is_tied_has_no_first_heads_in_common(model: Subject) -> None:
    skill = np.linspace(0, 1, LAYERS * HEADS).reshape(LAYERS, HEADS)
    other = Definition("sink", "sink rate", "somebody", "", "x:y", frozenset(Stream))
    for cut, shared in ((2.0, 3), (0.5, None)):
        figures = [np.broadcast_to(np.minimum(skill, top), (UNITS, LAYERS, HEADS)) for top in (2.0, cut)]
        table = agreement_table([outcome(PLAIN, figures[0]), outcome(other, figures[1])])
        assert (table["first"], table["shared"]) == ([3], [shared])


def test_no_definition_goes_by_its_title_alone() -> None:
    assert all(definition.by and definition.by in definition.name for definition in DEFINITIONS.values())
    names = [definition.name for definition in DEFINITIONS.values()]
    assert len(set(names)) == len(names)
    assert {behaviour.chosen_by for behaviour in BEHAVIOURS} <= set(DEFINITIONS)


def test_twins_are_scored_with_weights_of_their_own(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    from attlas.studies.roles import passes

    studied: list[Any] = []
    begin = passes.SeamScores.begin

    def noted(self: Any, made: Any, batch: Any) -> Any:
        studied.append(self.subject)
        return begin(self, made, batch)

    monkeypatch.setattr(passes.SeamScores, "begin", noted)
    words = [Document.from_text(" ".join(twins.SENTENCES[:3] * 3), name=f"t{at}") for at in range(4)]
    result = calling.roles(model, words, texts=12, max_pieces=40, twins=2)
    assert len({id(subject) for subject in studied}) == 3
    own = {id(p) for p in model.model.parameters()}
    assert all(subject is model or not own & {id(p) for p in subject.model.parameters()} for subject in studied)
    rows = [row for row in result.rows("heads") if row["definition"] == "duplicate"]
    assert any(abs(row["value"] - row["twin"]) > 1e-3 for row in rows)
    assert all(row["twin_low"] <= row["twin"] <= row["twin_high"] for row in rows)
