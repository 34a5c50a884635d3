"""Long texts with a label, and which texts a limit keeps: what is read, and what is counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.errors import PlanError, TextError
from attlas.run.parameters import First
from attlas.run.setting import as_corpus
from attlas.run.tasks import read_for_task, task_for
from attlas.run.tuning import tune
from attlas.studies.ablate.call import ablate
from attlas.studies.reporting import command_line
from attlas.studies.survey.call import survey
from attlas.text import Document

LIMIT = 16


@pytest.fixture(scope="module")
def model() -> Subject:
    config = twins.config("bert")
    config.id2label, config.label2id = {0: "bad", 1: "good"}, {"bad": 0, "good": 1}
    torch.manual_seed(0)
    opened = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    return Subject.of(opened, twins.tokenizer(False), "made up")


def texts(*, pairs: bool = False, count: int = 6) -> list[Document]:
    """Every second text is three times as long as the window."""
    made = []
    for at in range(count):
        words = ["storm"] * (2 + at % 5 if at % 2 == 0 else 3 * LIMIT)
        pair = Document.from_words(["bridge"] * (3 * LIMIT if at % 4 == 1 else 2)) if pairs else None
        made.append(replace(Document.from_words(words, name=f"text {at}"), label=("bad", "good")[at % 2], pair=pair))
    return made


def read(model: Subject, documents: list[Document], **how: Any) -> Any:
    corpus = as_corpus(documents)
    return read_for_task(task_for(model, "classification", corpus), corpus, max_pieces=LIMIT, **how)


def test_cut_keeps_the_beginning_with_its_label(model: Subject) -> None:
    reading = read(model, texts())
    assert [example.passage.first.label for example in reading.examples] == ["bad", "good"] * 3
    assert reading.skipped == {f"longer than {LIMIT} pieces, of which the beginning was kept": 3}
    lengths = [example.length for example in reading.examples]
    assert max(lengths) <= LIMIT
    assert all(length > LIMIT - 3 for length in lengths[1::2])  # as much as fits
    assert len({example.unit for example in reading.examples}) == 6


def test_of_a_pair_both_texts_keep_their_beginnings(model: Subject) -> None:
    reading = read(model, texts(pairs=True))
    assert reading.skipped == {f"longer than {LIMIT} pieces, of which the beginning was kept": 3}
    for example in reading.examples:
        first, pair = example.passage.first, example.passage.second
        assert pair is not None
        assert example.length <= LIMIT
        assert first.words
        assert pair.words
    both_long = reading.examples[1]
    assert abs(len(both_long.passage.first.words) - len(both_long.passage.second.words)) <= 1
    one_long = reading.examples[3].passage
    assert len(one_long.first.words) > len(one_long.second.words) == 2


def test_skip_leaves_them_out_and_refuse_refuses(model: Subject) -> None:
    reading = read(model, texts(), long="skip")
    assert [example.passage.first.name for example in reading.examples] == ["text 0", "text 2", "text 4"]
    assert reading.skipped == {f"longer than {LIMIT} pieces": 3}
    with pytest.raises(TextError, match=f"text 1 has .* pieces and {LIMIT} are allowed"):
        read(model, texts(), long="refuse")
    with pytest.raises(TextError, match="choose one of cut, refuse, skip"):
        read(model, texts(), long="shorten")


@pytest.mark.parametrize(("long", "learned"), [("cut", 18), ("skip", 9)])
def test_tune_is_told_what_to_do_with_long_texts(model: Subject, long: str, learned: int) -> None:
    tuned = tune(
        model, texts(count=18), "classification", validation=texts(count=8), epochs=1, max_pieces=LIMIT, long=long
    )
    assert tuned.record["texts"]["learned"] == learned
    assert any("longer than 16 pieces" in reason for reason in tuned.record["skipped"])
    assert tuned.record["plan"]["options"]["long"] == long


def test_the_first_texts_are_the_first_and_a_limit_draws() -> None:
    documents = [
        Document.from_text(f"It rained {word}.") for word in ["once", "twice", "thrice", "often", "seldom", "never"]
    ]
    result = survey(None, documents, first=2)
    assert result.manifest.corpus["passages"] == 2
    assert result.manifest.skipped == {"passages after the first 2": 4}
    assert result.manifest.plan is not None
    assert (result.manifest.plan["options"]["limit"], result.manifest.plan["options"]["first"]) == (None, 2)
    assert "--first 2" in command_line(result.manifest)
    again = survey(None, documents[:2])
    assert [row["value"] for row in result.rows()] == pytest.approx(
        [row["value"] for row in again.rows()], nan_ok=True
    )
    drawn = survey(None, documents, limit=2, seed=1)
    assert drawn.manifest.skipped == {"passages not drawn (a limit draws by the seed)": 4}
    assert "--limit 2" in command_line(drawn.manifest)


def test_both_together_are_refused(model: Subject) -> None:
    with pytest.raises(PlanError, match=r"--limit for texts that are drawn, or --first .* but not both"):
        survey(None, "sample", limit=2, first=2)
    with pytest.raises(PlanError, match="give at least 1"):
        survey(None, "sample", first=0)
    reading = read(model, texts(), limit=First(3))
    assert [example.passage.first.name for example in reading.examples] == ["text 0", "text 1", "text 2"]


def test_a_resumed_run_does_not_take_the_first_texts_for_drawn_ones(model: Subject, tmp_path: Path) -> None:
    from attlas.errors import StoreError

    some = texts(count=12)
    ablate(model, some, "classification", heads="1-1", first=3, out=tmp_path / "out")
    with pytest.raises(StoreError, match="result of another plan"):
        ablate(model, some, "classification", heads="1-1", limit=3, out=tmp_path / "out", resume=True)
