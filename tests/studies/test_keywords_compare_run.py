"""The comparison of methods as one call: figures by hand, what is left out, and what is kept when it is stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.errors import PlanError
from attlas.run.progress import Silent
from attlas.run.setting import as_corpus
from attlas.studies.keywords_compare.baselines import packages
from attlas.studies.keywords_compare.baselines.named import Named
from attlas.studies.keywords_compare.call import keywords_compare, scorable
from attlas.studies.keywords_compare.tables import Told, example_rows, given_rows, length_rows, method_rows
from attlas.studies.shared.keywords.scoring import Given
from attlas.text import Document
from attlas.text.stems import stemmer

LETTERS = "abcdefghij"


class Stopping(Silent):
    """Stops the run in the middle of a method."""

    def __init__(self, method: str) -> None:
        self.method, self.notes, self.started = method, [], []

    def start(self, description: str, total: int, done: int = 0) -> None:
        self.started.append(description)

    def advance(self, pieces: int) -> None:
        if self.method and self.method in self.started[-1]:
            raise KeyboardInterrupt

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(scope="module")
def model() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "twin")


def texts() -> list[Document]:
    made = [Document.from_text(text, name=f"text {at}") for at, text in enumerate(twins.SENTENCES[:4] * 3)]
    given = [("housekeepers", "moon"), ("designer",), (), ("old bridge", "Old bridges")]
    return [replace(one, keyphrases=given[at % 4]) for at, one in enumerate(made)]


def test_rows_by_hand() -> None:
    """Micro F1, its change against the first method, and p: the same as a naive loop says."""
    rng = np.random.default_rng(0)
    given = [Given(tuple((letter,) for letter in rng.permutation(list(LETTERS))[:4]), ()) for _ in range(30)]
    lists = {
        "attention": [[Named(*(one[0], one)) for one in (*gold.all[:3], ("x",), ("y",))] for gold in given],
        "first": [[Named(*(one[0], one)) for one in (("x",), ("y",), *gold.all[:1])] for gold in given],
    }
    told = [Told(name, "", "model", found, 1.0) for name, found in lists.items()]
    rows = {(row["method"], row["at"]): row for row in method_rows(told, given) if row["gold"] == "all"}
    assert len(rows) == 2 * 3
    assert rows["attention", "5"]["f1"] == pytest.approx(2 * 3 / (5 + 4))
    assert rows["first", "5"]["f1"] == pytest.approx(2 * 1 / (3 + 4))
    assert rows["first", "5"]["change"] == pytest.approx(2 / 7 - 2 / 3)
    assert rows["first", "5"]["change_p"] == pytest.approx(1 / 10_001)
    assert rows["first", "5"]["change_p_corrected"] == rows["first", "5"]["change_p"]  # one comparison
    assert [rows["attention", at]["change"] for at in ("5", "10", "M")] == [None] * 3


def test_lengths_by_hand() -> None:
    """Of two single words one is among the first ten, of three longer phrases one; the eleventh does not count."""
    given = [Given((("a",), ("b",), ("c", "d"), ("e", "f")), ()), Given((("g", "h"),), ())]
    rest = [("x", str(number)) for number in range(8)]
    lists = [[("a",), ("c", "d"), ("a",), *rest, ("b",)], [("y",)]]
    told = [Told("first", "", "nothing", [[Named("", one) for one in some] for some in lists], 1.0)]
    single, several = length_rows(told, given)
    assert (single["length"], single["recall"], single["n"]) == ("single", 0.5, 2)
    assert (several["length"], several["recall"], several["n"]) == ("several", pytest.approx(1 / 3), 3)
    assert (single["shown"], several["shown"]) == (pytest.approx(2 / 11), pytest.approx(9 / 11))


def test_examples_say_what_is_right() -> None:
    documents = [replace(texts()[0], keyphrases=("old bridge", "Moons")), texts()[1]]
    given = [Given((("old", "bridg"), ("moon",)), (("old", "bridg"),)), Given((("design",),), (("design",),))]
    found = [
        [Named("Old bridges", ("old", "bridg")), Named("old bridge", ("old", "bridg"))],
        [Named("what", ("what",))],
    ]
    told = [Told("yake", "", "nothing", found, 1.0), Told("yake", "other", "nothing", [[], []], 1.0)]
    rows = example_rows(told, documents, given)
    assert [(row["document"], row["rank"], row["phrase"], row["right"]) for row in rows] == [
        (0, 1, "Old bridges", True), (1, 1, "what", False),
    ]  # fmt: skip
    assert [(row["phrase"], row["present"]) for row in given_rows(documents, given, stemmer())] == [
        ("old bridge", True), ("Moons", False), ("designer", True),
    ]  # fmt: skip


def test_texts_without_phrases_are_left_out() -> None:
    documents, given, skipped = scorable(as_corpus(texts()), 5, 0, stemmer())
    assert skipped == {"texts without a key phrase": 3, "texts not drawn": 4}
    assert len(documents) == len(given) == 5
    assert given[[one.name for one in documents].index("text 3")].all == (("old", "bridg"),)


def test_the_whole_way(model: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that can be had without packages; what cannot is said, and counted."""
    monkeypatch.setattr(packages, "installed", lambda package: False)
    said = Stopping("")
    result = keywords_compare(model, texts(), progress=said)
    rows = result.table.to_pylist()
    forms = list(dict.fromkeys((row["method"], row["form"]) for row in rows))
    assert len(rows) == 6 * len(forms)
    assert forms[0] == ("attention", "last layer")
    assert {name for name, _ in forms} == {
        "attention", "attention weights", "embedding", "tf-idf", "textrank", "first", "random",
    }  # fmt: skip
    assert sum("pip install 'attlas[keywords]'" in note for note in said.notes) == 2
    assert any("the package yake is not installed" in reason for reason in result.manifest.skipped)
    whole = result.tables["whole"].to_pylist()[0]
    assert (whole["documents"], whole["given"], whole["present"], whole["heads"]) == (9, 12, 9, 4)
    assert whole["names"] == "3-1, 3-2, 3-3, 3-4"
    assert all(row["low"] <= row["f1"] <= row["high"] for row in rows)


def test_a_run_that_was_stopped_goes_on(model: Subject, tmp_path: Path) -> None:
    """What was done is not done again, what was begun is; the tables are those of a run that was left alone."""
    asked = {"methods": ["tf-idf", "first"], "out": tmp_path / "out"}
    said = Stopping("n-grams")
    with pytest.raises(KeyboardInterrupt):
        keywords_compare(model, texts(), progress=said, **asked)
    assert "go on with --resume" in said.notes[-1]
    with pytest.raises(PlanError, match="an earlier run was interrupted here"):
        keywords_compare(model, texts(), **asked)
    with pytest.raises(PlanError, match=r"another plan .*language"):
        keywords_compare(model, texts(), resume=True, language="german", **asked)
    said = Stopping("")
    result = keywords_compare(model, texts(), resume=True, progress=said, **asked)
    assert not any(done in what for what in said.started for done in ("attention, last layer", "word weights"))
    alone = keywords_compare(model, texts(), methods=["tf-idf", "first"])
    for name, table in alone.tables.items():
        kept = [column for column in table.column_names if column != "seconds"]
        assert result.tables[name].select(kept).equals(table.select(kept)), name
    assert not (tmp_path / "out" / "checkpoint").exists()
