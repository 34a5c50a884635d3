"""The experiment of the survey under test: heads that are told what they do, half by half.

Head 1-1 is the broadest in the first half of the documents and the narrowest in the second, head 2-2 the other way
round. Whoever chooses the best of all heads on the documents it is told from, or lets one document be in both halves,
gets another answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.corpora import Corpus
from attlas.measures.quantities import QUANTITIES
from attlas.pages import Tables
from attlas.stats import Bundle
from attlas.studies.shared.piece_classes import half_of
from attlas.studies.survey import passes
from attlas.studies.survey.call import survey
from attlas.studies.survey.findings import breadth, lengths
from attlas.studies.survey.page import PAGE
from attlas.text import Document

LAYERS, HEADS = 3, 4
ENTROPY = [quantity.name for quantity in QUANTITIES].index("entropy")
TEXTS = tuple(Document.from_text(f"The farmer offered {number} apples.") for number in range(40))
BY_DOCUMENT = Corpus(TEXTS, "documents", "corpus", "", tuple(number // 2 for number in range(40)))


@pytest.fixture
def model() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "made up")


def plant(monkeypatch: pytest.MonkeyPatch, rho: float = -0.5, level: float = 2.0) -> list[tuple[int, int]]:
    """Let the heads of every text be as broad as they are told to be; what comes back are units with their halves."""
    seen: list[tuple[int, int]] = []

    def give(self: Any, bundle: Bundle) -> None:
        for half, unit in zip(self.halves.tolist(), self.units.tolist(), strict=True):
            seen.append((unit, half))
            figures = np.full((1, LAYERS, HEADS, 2, len(QUANTITIES)), 0.1)
            figures[..., ENTROPY] = level
            figures[0, 0, 0, :, ENTROPY], figures[0, 1, 1, :, ENTROPY] = (4, 1) if half == 1 else (1, 4)
            bundle[f"encoder-figures-{half}"].update(figures, 1, [unit])
            bundle["encoder-chance"].update(np.full((1, LAYERS, len(QUANTITIES)), 3.0), 1, [unit])
            bundle["encoder-spearman"].update(np.full((1, LAYERS, HEADS), rho), 1, [unit])

    monkeypatch.setattr(passes._Pass, "take", lambda self, call: None)
    monkeypatch.setattr(passes._Pass, "give", give)
    return seen


def tables_of(model: Subject, corpus: Any) -> Tables:
    return Tables(survey(model, corpus), PAGE.schemas)


def test_the_best_head_is_told_from_documents_it_was_not_chosen_on(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    plant(monkeypatch)
    (finding,) = breadth(tables_of(model, TEXTS))
    text = str(finding.text)
    assert "The broadest head is 1-1 (1" in text.replace("**", "")
    assert "the most focused 2-2 (4" in text.replace("**", "")


def test_windows_of_a_document_are_all_in_one_half(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    seen = plant(monkeypatch)
    survey(model, BY_DOCUMENT)
    assert len(seen) == 40
    assert len(set(seen)) == 20
    assert sorted(half for _, half in set(seen)) == [1] * 10 + [2] * 10
    assert {half_of(unit, 0) == half for unit, half in seen} == {True}
    other = {unit: half_of(unit, 1) for unit, _ in seen}
    assert any(other[unit] != half for unit, half in seen), "the seed decides"


def test_documents_are_the_units_of_intervals(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    """Two windows of a document, which agree wholly, are one case: as wide as half as many texts."""
    plant(monkeypatch)
    halves = [half_of(number, 0) for number in range(20)]
    twice, once = (survey(model, corpus) for corpus in (BY_DOCUMENT, TEXTS[:20]))
    assert halves.count(1) == 10
    for table in ("heads", "spearman"):
        wide, same = (
            [row["high"] - row["low"] for row in result.rows(table) if row["low"] is not None]
            for result in (twice, once)
        )
        assert wide == pytest.approx(same, abs=1e-9)
    assert (twice.manifest.corpus["unit"], twice.manifest.corpus["units"]) == ("document", 20)
    assert (once.manifest.corpus["unit"], once.manifest.corpus["units"]) == ("text", 20)


@pytest.mark.parametrize(("rho", "said"), [(-0.5, "tends to have a short vector"), (0.5, "does not go with short")])
def test_a_turned_sign_turns_the_sentence(
    monkeypatch: pytest.MonkeyPatch, model: Subject, rho: float, said: str
) -> None:
    plant(monkeypatch, rho)
    (finding,) = lengths(tables_of(model, TEXTS))
    assert said in str(finding.text)


def test_chance_is_of_even_attention_and_not_of_the_model(model: Subject) -> None:
    """Another model of the same shape has other figures and the same chance."""
    other = Subject.of(twins.model("bert"), twins.tokenizer(False), "another").twin(5)
    ours, theirs = (survey(subject, TEXTS[:8]).rows("heads") for subject in (model, other))
    known = [(row, twin) for row, twin in zip(ours, theirs, strict=True) if row["measure"] == "weight"]
    assert [row["chance"] for row, _ in known] == pytest.approx([twin["chance"] for _, twin in known], nan_ok=True)
    assert any(abs(row["value"] - row["chance"]) > 0.05 for row, _ in known)
    assert any(abs(row["value"] - twin["value"]) > 0.05 for row, twin in known)
