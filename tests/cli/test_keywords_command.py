"""attlas keywords as a person meets it: texts, files, lines of JSON, bad input, and a run that was stopped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import attlas

import attlas as package
from attlas.errors import PlanError
from attlas.run.journal import journal_file
from attlas.run.texts import as_texts
from attlas.store import Manifest, Result
from attlas.studies.keywords import tables
from attlas.studies.keywords.call import keywords
from attlas.studies.reporting import command_line

SOLAR = "Solar cells age. The ageing of solar cells in the desert is slow, and the desert is large."
TEXTS = [SOLAR, "A hurricane draws its energy from warm sea water.", "Neural networks learn from examples."]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"id": f"d{at}", "text": text}) for at, text in enumerate(TEXTS)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "solar.txt").write_text(SOLAR.replace(". ", ".\n\n"), encoding="utf-8")
    return tmp_path


def test_a_text_gets_phrases_and_a_page(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "keywords", SOLAR, "--quiet", "--top", 3)
    assert (said.status, said.err) == (0, ""), said
    assert "12 heads (shipped with attlas for this model)" in " ".join(said.out.split())
    assert "1 document" in said.out
    assert "Solar cells" in said.out
    result = Result.open("keywords-all-MiniLM-L6-v2-Solar-cells-age.-The")
    phrases = result.rows("phrases")
    assert [row["rank"] for row in phrases] == [1, 2, 3]
    assert "solar cells" in {row["phrase"].lower() for row in phrases}
    assert [row["score"] for row in phrases] == sorted((row["score"] for row in phrases), reverse=True)
    words = result.rows("words")
    assert [row["spelled"] for row in words][:4] == ["Solar", "cells", "age", "."]
    assert np.mean([row["weight"] for row in words]) == pytest.approx(1, abs=1e-4)
    for row in phrases:
        inside = [word["weight"] for a, b in zip(row["starts"], row["stops"], strict=True) for word in words[a:b]]
        assert row["score"] == pytest.approx(sum(inside), abs=1e-3)
    assert "Solar" in Path("keywords-all-MiniLM-L6-v2-Solar-cells-age.-The/report.html").read_text(encoding="utf-8")


def test_lines_of_json_have_a_weight_for_every_word(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "keywords", "texts.jsonl", "--json", "--top", 2)
    assert (said.status, said.err) == (0, ""), said
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line["id"] for line in lines] == ["texts.jsonl, d0", "texts.jsonl, d1", "texts.jsonl, d2"]
    for line, text in zip(lines, TEXTS, strict=True):
        assert all(text[word["start"] : word["stop"]] == word["word"] for word in line["words"])
        for phrase in line["phrases"]:
            start, stop = phrase["places"][0]
            assert text[start:stop] == phrase["phrase"]
    assert sorted(path.name for path in place.iterdir()) == ["solar.txt", "texts.jsonl"]


def test_a_file_of_plain_text_is_one_document_unless_told(place: Path) -> None:
    assert len(keywords(None, "solar.txt").rows("documents")) == 1
    assert len(as_texts("solar.txt", unit="paragraph").documents) == 2
    assert package.keywords(None, ["One text.", "Another text."]).manifest.corpus["documents"] == 2


def test_heads_are_named_by_label_in_a_list_or_a_line(place: Path) -> None:
    named = keywords(None, SOLAR, heads="6-3, 6-11")
    assert named.rows("words") == keywords(None, SOLAR, heads=["6-3", "6-11"]).rows("words")
    assert command_line(named.manifest).startswith("attlas keywords TEXT --model all-MiniLM-L6-v2 --heads 6-3,6-11")
    with pytest.raises(PlanError, match="5 does not name a head"):
        keywords(None, SOLAR, heads=[5])  # type: ignore[list-item]


def test_a_long_text_goes_by_windows_each_of_mean_one(place: Path) -> None:
    result = keywords(None, " ".join([SOLAR] * 6), max_pieces=30)
    (document,) = result.rows("documents")
    assert document["windows"] > 3
    assert document["words"] == 6 * 21
    assert np.mean([row["weight"] for row in result.rows("words")]) == pytest.approx(1, abs=1e-4)


def test_a_text_without_letters_has_no_phrases_and_still_a_page(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = attlas(capfd, "keywords", "12 34 !?", "--quiet", "--out", "out")
    assert (said.status, said.err) == (0, ""), said
    assert "No phrase was found" in said.out
    assert "34" in Path("out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        ([""], ["text is empty", "at least one word"]),
        (["   "], ["text is empty"]),
        (["no_such_file.txt"], ["no_such_file.txt: there is no such file"]),
        (["empty.jsonl"], ["empty.jsonl, line 2", "this text has no words; leave it out"]),
        ([SOLAR, "--heads", "9-1"], ["there is no head 9-1"]),
        ([SOLAR, "--heads", ","], ["no head was named"]),
        ([SOLAR, "--language", "klingon"], ["there is no stemmer for 'klingon'"]),
        ([SOLAR, "--measure", "size"], ["size"]),
        ([SOLAR, "--over", "median"], ["choose one of mean, max"]),
        ([SOLAR, "--top", "0"], ["at least one phrase must be asked for"]),
        ([SOLAR, "--bar", "-1"], ["0 or more"]),
        ([SOLAR, "--longest", "0", "--json"], ["at least one word"]),
        ([SOLAR, "--json", "--out", "x"], ["--json prints and writes no folder"]),
        ([SOLAR, "--max-pieces", "9999"], ["the window of all-MiniLM-L6-v2 holds 512"]),
        ([SOLAR, "--study", "survey"], ["results of attlas survey", "attlas keywords study"]),
        ([SOLAR, "--study", "other"], ["were chosen for another", "give a study of this model"]),
        ([SOLAR, "--study", "other", "--heads", "6-1"], ["leave out --heads and --measure"]),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    place: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], phrases: list[str]
) -> None:
    (place / "empty.jsonl").write_text('{"text": "It rained."}\n{"text": "  "}\n', encoding="utf-8")
    Result(Manifest("survey"), {"heads": {"layer": [0]}}).save(place / "survey")
    chosen = {"stream": ["encoder"], "layer": [0], "head": [0], "measure": ["norm"], "over": ["mean"]}
    about = Manifest("keywords-study", model={"name": "another", "fingerprint": "none"})
    Result(about, {"choice": chosen}).save(place / "other")
    before = sorted(path.name for path in place.iterdir())
    attlas(capfd, "keywords", *arguments).refuses(*phrases)
    assert sorted(path.name for path in place.iterdir()) == before


def test_a_run_that_was_stopped_goes_on(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = keywords(None, "texts.jsonl")
    real, made = tables.row_of, []

    def stop(one: object) -> dict[str, object]:
        made.append(one)
        if len(made) == 3:
            raise KeyboardInterrupt
        return real(one)  # type: ignore[arg-type]

    monkeypatch.setattr(tables, "row_of", stop)
    with pytest.raises(KeyboardInterrupt):
        keywords(None, "texts.jsonl", out="out")
    monkeypatch.undo()
    monkeypatch.chdir(place)
    journal = journal_file(place / "out", "keywords")
    journal.write_text(journal.read_text(encoding="utf-8") + '{"weights": [1.0, ', encoding="utf-8")  # half a line
    attlas(capfd, "keywords", "texts.jsonl", "--out", "out").refuses("an earlier run was interrupted", "--resume")
    attlas(capfd, "keywords", "texts.jsonl", "--out", "out", "--resume", "--top", 3).refuses("another plan", "top")
    said = attlas(capfd, "keywords", "texts.jsonl", "--out", "out", "--resume")
    assert "resuming after 2 of 3 documents" in said.err
    result = Result.open("out")
    assert [row["phrase"] for row in result.rows("phrases")] == [row["phrase"] for row in expected.rows("phrases")]
    weights, others = ([row["weight"] for row in made.rows("words")] for made in (result, expected))
    assert weights == pytest.approx(others, rel=1e-4)  # texts that are read together may differ in the last digits
    assert not journal.exists()


def test_a_study_of_this_model_chooses_the_heads(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = package.load().describe()
    chosen = {"stream": ["encoder"], "layer": [5], "head": [10], "measure": ["weight"], "over": ["max"]}
    Result(Manifest("keywords-study", model=model), {"choice": chosen}).save(place / "study")
    said = attlas(capfd, "keywords", SOLAR, "--study", "study", "--out", "by-study", "--quiet")
    assert "1 head (chosen by a study)" in " ".join(said.out.split()), said
    by_hand = keywords(None, SOLAR, heads=["6-11"], measure="weight", over="max")
    assert Result.open("by-study").rows("words") == by_hand.rows("words")
