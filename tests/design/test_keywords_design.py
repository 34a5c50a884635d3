"""The experiments on key words under test: made-up attention that does other things on other texts.

What words receive is given in place of a forward pass. Head 1-1 tells key words from others in the texts to choose on
and turns them round in those that are scored; head 2-2 does the opposite. Whoever chooses on the scored texts, swaps
the two parts or forgets a correction gets another answer than the one asked for here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.run.setting import as_corpus
from attlas.stats import Bundle
from attlas.studies.keywords.call import keywords
from attlas.studies.keywords_compare.baselines.named import Named
from attlas.studies.keywords_compare.tables import Told, method_rows
from attlas.studies.keywords_study.call import keywords_study, split
from attlas.studies.keywords_study.heads import Seen, head_columns, signed_rank
from attlas.studies.keywords_study.passes import Item, Writer
from attlas.studies.shared.keywords.choice import choose_heads
from attlas.studies.shared.keywords.scoring import Given
from attlas.text import Document

HEADS = 12
Gives = Callable[[Document, np.ndarray], np.ndarray]  # what words receive of each head, from which are key words


def text(name: str, key: str = "bridge") -> Document:
    words = ["the", "old", "bridge", "near", "the", "station", "slept"]
    return Document.from_words(words, name=name, keyphrases=[key])


@pytest.fixture
def model() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "made up")


def plant(monkeypatch: pytest.MonkeyPatch, gives: Gives) -> None:
    """Let heads give what they are told to: (word, head), the same by every kind of attention."""

    def update(self: Any, bundle: Bundle, batch: list[Item]) -> None:
        for item in batch:
            document = item.example.passage.first
            values = gives(document, np.array([word == "bridge" for word in document.forms]))
            kinds = len(self.received.kinds)
            self.received.write(item.part, item.first, np.stack([values.T.astype(np.float32)] * kinds))

    monkeypatch.setattr(Writer, "update", update)


def opposite(document: Document, key: np.ndarray) -> np.ndarray:
    """Head 1 knows key words where heads are chosen, head 6 where they are scored."""
    values = np.ones((len(key), HEADS))
    knows, errs = (0, 5) if document.name.startswith("choose") else (5, 0)
    values[:, knows] = np.where(key, 4.0, 1.0)
    values[:, errs] = np.where(key, 0.25, 1.0)
    return values


def test_heads_are_chosen_on_the_texts_that_are_not_scored(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    plant(monkeypatch, opposite)
    chosen_on, scored_on = (
        [text(f"{name} {at}") for at in range(count)] for name, count in (("choose", 20), ("", 18))
    )
    result = keywords_study(model, chosen_on, test=scored_on, folds=2, steps=[1], twin="none")
    best = max(result.rows("heads"), key=lambda row: row["choosing_auc"])
    assert (best["layer"], best["head"]) == (0, 0)
    assert (best["choosing_auc"], best["auc"]) == (1.0, 0.0)
    assert best["relative"] < 0 < best["choosing_relative"]
    first = min(result.rows("choice"), key=lambda row: row["rank"])
    assert (first["layer"], first["head"]) == (0, 0)
    predictors = {row["predictor"]: row for row in result.rows("predictors")}
    assert predictors["best head"]["auc"] == 0.0
    assert predictors["all heads"]["auc"] == 0.0
    assert [(row["part"], row["documents"]) for row in result.rows("whole")] == [("chosen on", 20), ("scored on", 18)]
    (f1,) = {row["f1"] for row in result.rows("regression") if row["part"] == "cross-validated"}
    assert f1 == 1.0


def test_several_twins_are_other_draws_and_have_their_lowest_and_highest(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    draw, seeds = Subject.twin, []

    def drawing(self: Subject, seed: int = 0) -> Subject:
        seeds.append(seed)
        return draw(self, seed)

    def figures(result: Any) -> tuple[list[float], dict[str, Any]]:
        (row,) = [row for row in result.rows("predictors") if row["twins"]]
        return [row["twin_auc"] for row in result.rows("heads")], row

    shuffled = [Document.from_words(np.random.default_rng(number).permutation(text("").forms).tolist(),
                                    name=str(number), keyphrases=["bridge"]) for number in range(16)]  # fmt: skip
    how: dict[str, Any] = {"test": shuffled[8:], "folds": 2, "steps": [1]}
    monkeypatch.setattr(Subject, "twin", drawing)
    both = keywords_study(model, shuffled[:8], **how, twins=2)
    assert seeds == [0, 1]
    singles = []
    for number in range(2):
        monkeypatch.setattr(Subject, "twin", lambda self, seed=0, number=number: draw(self, number))
        singles.append(figures(keywords_study(model, shuffled[:8], **how)))
    for place, row in enumerate(both.rows("heads")):
        drawn = [auc[place] for auc, _ in singles]
        told = [row[name] for name in ("twin_auc", "twin_auc_low", "twin_auc_high")]
        assert told == pytest.approx([sum(drawn) / 2, min(drawn), max(drawn)])
        assert row["twins"] == 2
    f1 = [row["f1"] for _, row in singles]
    row = figures(both)[1]
    assert [row[name] for name in ("f1", "twins_low", "twins_high")] == pytest.approx([sum(f1) / 2, min(f1), max(f1)])
    assert row["low"] is None, "a mean of twins has no interval over texts"
    assert singles[0][0] != singles[1][0]


def test_the_first_texts_are_to_choose_on_and_the_others_to_score_on() -> None:
    train, test = (as_corpus([text(f"{name} {at}") for at in range(6)]) for name in ("choose", "score"))
    assert split(train, test, 0) == (train, test)
    one, other = split(train, None, 0)
    names = [{document.name for document in part.documents} for part in (one, other)]
    assert names[0] | names[1] == {document.name for document in train.documents}
    assert not names[0] & names[1]


def newspaper(name: str, keys: tuple[str, ...]) -> Document:
    words = ["the", "old", "bridge", "near", "the", "station", "slept", "as", "the", "children", "asked"]
    return Document.from_words(words, name=name, keyphrases=keys)


@pytest.mark.parametrize(
    ("keys", "longest"), [(("bridge", "station", "old bridge"), 1), (("old bridge", "children asked", "station"), 5)]
)
def test_single_words_are_sought_where_most_phrases_to_choose_on_are_such(
    monkeypatch: pytest.MonkeyPatch, model: Subject, keys: tuple[str, ...], longest: int
) -> None:
    """What the texts that are scored were given does not matter, and the tool goes by what the study saw."""
    other = ("old bridge", "children asked") if longest == 1 else ("bridge", "station")
    plant(monkeypatch, lambda document, key: np.ones((len(key), HEADS)) + key[:, None])
    result = keywords_study(
        model, [newspaper(f"choose {at}", keys) for at in range(8)], folds=2, steps=[1], twin="none",
        test=[newspaper(f"score {at}", other) for at in range(8)],
    )  # fmt: skip
    assert {row["longest"] for row in result.rows("choice")} == {longest}
    choice = choose_heads(model, result)
    assert choice.longest == longest
    text = " ".join(newspaper("", keys).forms)
    phrases = keywords(model, text, study=result, bar=0).rows("phrases")
    assert (max(len(row["phrase"].split()) for row in phrases) == 1) == (longest == 1)
    named = keywords(model, text, study=result, bar=0, longest=2).rows("phrases")
    assert max(len(row["phrase"].split()) for row in named) == 2


def seen(differences: np.ndarray) -> Seen:
    nothing = np.zeros_like(differences)
    return Seen(differences, nothing, nothing, nothing + 0.5, np.ones(len(differences)))


def test_p_of_heads_is_corrected_for_all_of_them() -> None:
    """Heads that all are a little better: each p is small, and not after so many looks."""
    differences = np.random.default_rng(3).normal(0.55, 1.0, (20, HEADS))
    columns = head_columns(seen(differences))
    p, corrected = np.array(columns["p"]), np.array(columns["p_corrected"])
    np.testing.assert_allclose(p, signed_rank(differences))
    order = np.argsort(p)
    by_hand = np.maximum.accumulate([min(1.0, p[head] * (HEADS - place)) for place, head in enumerate(order)])
    np.testing.assert_allclose(corrected[order], by_hand)
    assert (p < 0.05).sum() > (corrected < 0.05).sum()
    assert corrected[order[0]] == pytest.approx(HEADS * p.min())
    assert head_columns(seen(differences[:15]))["p_corrected"] == [None] * HEADS


def found(given: list[Given], right: Callable[[int], int]) -> list[list[Named]]:
    """Lists of five phrases, so many of them right."""
    lists = []
    for at, gold in enumerate(given):
        phrases = [*gold.all[: right(at)], *((f"wrong {number}",) for number in range(5))][:5]
        lists.append([Named(phrase[0], phrase) for phrase in phrases])
    return lists


def test_p_of_methods_is_corrected_and_changes_have_their_sign() -> None:
    """Seven methods a little worse than attention, which is the first, and one better."""
    given = [Given(tuple((f"{at} {number}",) for number in range(5)), ()) for at in range(40)]
    rng = np.random.default_rng(0)
    losses = [set(rng.permutation(40)[:9].tolist()) for _ in range(7)]
    gains = [set(rng.permutation(40)[:3].tolist()) for _ in range(7)]
    told = [Told("attention", "", "model", found(given, lambda at: 3), 1.0)]
    for lost, won in zip(losses, gains, strict=True):
        told.append(
            Told("worse", "", "", found(given, lambda at, lost=lost, won=won: 3 - (at in lost) + (at in won)), 1.0)
        )
    told.append(Told("better", "", "", found(given, lambda at: 4 if at % 2 else 3), 1.0))
    rows = [row for row in method_rows(told, given) if (row["at"], row["gold"]) == ("5", "all")]
    first, *others = rows
    assert (first["method"], first["change"], first["change_p"]) == ("attention", None, None)
    assert [row["change"] > 0 for row in others] == [row["method"] == "better" for row in others]
    p = np.array([row["change_p"] for row in others])
    corrected = np.array([row["change_p_corrected"] for row in others])
    order = np.argsort(p, kind="stable")
    by_hand = np.maximum.accumulate([min(1.0, p[at] * (len(p) - place)) for place, at in enumerate(order)])
    np.testing.assert_allclose(corrected[order], by_hand)
    assert corrected[order[0]] == pytest.approx(8 * p.min())
    assert (p < 0.2).sum() > (corrected < 0.2).sum()
