"""Studies of corpora that are read as they come, against the same texts in memory and against runs in one go."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.corpora import read, stream
from attlas.corpora.streaming import StreamedCorpus
from attlas.errors import CorpusError
from attlas.run.fold import fold
from attlas.run.portions import Merged
from attlas.run.source import Source
from attlas.run.streamed import StreamedReading
from attlas.studies.ablate.call import ablate
from attlas.studies.clusters.call import clusters
from attlas.studies.coref.call import coref
from attlas.studies.importance.call import importance
from attlas.studies.noop.call import noop
from attlas.studies.norms.call import norms
from attlas.studies.relations.call import relations
from attlas.studies.survey.call import survey
from attlas.studies.survey.passes import Survey

WORDS = ("the", "a", "cat", "dog", "farmer", "saw", "heard", "slept", "in", "on", "near", "house", "old", ".", ",")


@pytest.fixture(scope="module")
def subject() -> Subject:
    """A tiny model."""
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "tiny")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty short texts, as JSON lines."""
    drawing = random.Random(3)
    file = tmp_path_factory.mktemp("streamed") / "texts.jsonl"
    drawn = [" ".join(drawing.choices(WORDS, k=drawing.randint(3, 20))) + f" {number}." for number in range(30)]
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in drawn))
    return file


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences with dependencies, no two alike."""
    file = tmp_path_factory.mktemp("streamed") / "trees.conllu"
    nouns = ["farmer", "cat", "dog", "neighbour", "teacher", "child"]
    rows = [
        f"1\tThe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\t{noun}\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_\n"
        f"3\tslept\t_\tVERB\t_\t_\t0\troot\t_\t_\n4\t{number}\t_\tNUM\t_\t_\t3\tobl\t_\t_\n\n"
        for number, noun in enumerate(nouns * 5)
    ]
    file.write_text("".join(rows))
    return file


def numbers(result: Any, table: str, *columns: str) -> np.ndarray:
    return np.array([[row[name] for name in columns] for row in result.rows(table)], dtype=float)


def test_batches_come_again_from_every_place(subject: Subject, texts: Path) -> None:
    source = StreamedReading(subject, stream(texts, buffer=7), {"max_pieces": 12}).source(60)
    assert isinstance(source, Source)
    batches = list(source.from_place())
    assert [batch.number for batch in batches] == list(range(len(batches)))
    assert all(len(batch.items) * max(item.length for item in batch.items) <= 60 for batch in batches)
    counted = vars(source.reading.counted)
    for at, batch in enumerate(batches):
        rest = list(source.from_place(json.loads(json.dumps(batch.after))))
        assert rest == batches[at + 1 :]
        assert vars(source.reading.counted) == counted
    assert counted["documents"] == 30
    assert counted["passages"] == sum(len(batch.items) for batch in batches) > 30
    assert counted["pieces"] == sum(batch.pieces for batch in batches)
    other = StreamedReading(subject, stream(texts, buffer=7), {"max_pieces": 13}).source(60)
    assert other.fingerprint != source.fingerprint
    smaller = StreamedReading(subject, stream(texts, buffer=7), {"max_pieces": 12}).source(25)
    assert smaller.fingerprint == source.fingerprint, "one may go on with batches of another size"
    for at, batch in enumerate(batches):
        rest = [item for each in smaller.from_place(json.loads(json.dumps(batch.after))) for item in each.items]
        assert rest == [item for each in batches[at + 1 :] for item in each.items]


def test_a_survey_of_one_buffer_is_that_of_the_corpus_in_memory(subject: Subject, texts: Path) -> None:
    whole, streamed = (survey(subject, corpus) for corpus in (read(texts), stream(texts)))
    for table in ("heads", "spearman", "frequency"):
        ours, theirs = (numbers(result, table, "value", "n") for result in (streamed, whole))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9, equal_nan=True)
    known = {name: whole.manifest.corpus[name] for name in ("documents", "passages", "pieces", "units")}
    assert {name: streamed.manifest.corpus[name] for name in known} == known


def test_a_survey_of_several_buffers_differs_by_batches_alone(subject: Subject, texts: Path) -> None:
    whole, streamed = (survey(subject, corpus) for corpus in (read(texts), stream(texts, buffer=8)))
    ours, theirs = (numbers(result, "heads", "value", "n") for result in (streamed, whole))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6, equal_nan=True)
    assert streamed.manifest.corpus["streamed"]["known_beforehand"] == "the first 8 documents"


def test_an_interrupted_survey_goes_on_to_the_same_bits(
    subject: Subject, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how: dict[str, Any] = {"budget": 60, "max_pieces": 16}
    in_one_go = survey(subject, stream(texts, buffer=9), out=tmp_path / "one", **how)
    launch, calls = Survey.launch, []

    def interrupted(self: Survey, ready: Any) -> Any:
        calls.append(len(ready.made.source.encoded))
        if len(calls) in (4, 9):
            raise KeyboardInterrupt
        return launch(self, ready)

    monkeypatch.setattr(Survey, "launch", interrupted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            survey(subject, stream(texts, buffer=9), out=tmp_path / "two", resume=True, **how)
    resumed = survey(subject, stream(texts, buffer=9), out=tmp_path / "two", resume=True, **how)
    assert len(calls) > 12
    for name in in_one_go.tables:
        assert in_one_go.tables[name].equals(resumed.tables[name])
    assert in_one_go.manifest.corpus == resumed.manifest.corpus
    assert in_one_go.manifest.skipped == resumed.manifest.skipped


def test_parts_of_a_stream_take_every_so_many_th_buffer_and_merge_to_the_whole(
    subject: Subject, texts: Path, tmp_path: Path
) -> None:
    read_of: list[int] = []
    for number in (3, 1, 2):
        folder = tmp_path / f"part {number}"
        corpus = stream(texts, buffer=4)
        survey(subject, corpus, out=folder, part=f"{number}/3")
        source = StreamedReading(subject, corpus, {"max_pieces": 128}).source(4096).portion(number, 3)
        read_of.append(sum(len(batch.items) for batch in source.from_place()))
    assert sorted(read_of) == [8, 10, 12]
    parts = Merged([tmp_path / f"part {number}" for number in (2, 3, 1)])
    merged, whole = survey(subject, stream(texts, buffer=4), engine=parts), survey(subject, stream(texts, buffer=4))
    columns = ("value", "low", "high", "n")
    np.testing.assert_allclose(numbers(merged, "heads", *columns), numbers(whole, "heads", *columns), rtol=1e-12)
    assert merged.manifest.corpus == whole.manifest.corpus


def test_norms_and_clusters_stream(subject: Subject, texts: Path) -> None:
    whole, streamed = (norms(subject, corpus, twins=1) for corpus in (read(texts), stream(texts)))
    ours, theirs = (numbers(result, "norms", "weight", "norm", "n") for result in (streamed, whole))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-8)
    named = [row["key"] for row in streamed.rows("scatter")]
    assert named == [row["key"] for row in whole.rows("scatter")]
    assert all(named)
    whole, streamed = (clusters(subject, corpus, twins=1) for corpus in (read(texts), stream(texts, buffer=11)))
    ours, theirs = (numbers(result, "pairs", "value") for result in (streamed, whole))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_relations_of_a_stream_are_those_of_its_halves_in_memory(subject: Subject, treebank: Path) -> None:
    corpus = stream(treebank, buffer=9)
    chosen_on, scored_on = (
        [text for buffer in half.buffers() if buffer.corpus for text in buffer.corpus.documents]
        for half in corpus.halves(0)
    )
    streamed = relations(subject, corpus, twins=1)
    apart = relations(subject, scored_on, choose_on=chosen_on, twins=1)
    columns = ("layer", "head", "value", "n", "baseline", "chosen_value")
    np.testing.assert_allclose(numbers(streamed, "relations", *columns), numbers(apart, "relations", *columns))
    shown = [row["text"] for row in streamed.rows("examples")]  # which texts are shown may hang on a tie
    assert len(shown) == len(list(apart.rows("examples")))
    assert set(shown) <= {text.text for text in scored_on}
    counts = streamed.manifest.corpus
    assert (counts["chosen_on"], counts["scored_on"], counts["documents"]) == (len(chosen_on), len(scored_on), 30)


def test_a_statistic_of_ones_own_streams(subject: Subject, texts: Path) -> None:
    def first(call: Any, batch: Any) -> Any:
        return call.weights()[:, :, 0, 0]

    ours, theirs = (
        numbers(fold(subject, corpus, first), "heads", "value", "n") for corpus in (stream(texts), read(texts))
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_limit_draws_from_a_stream_for_every_study(subject: Subject, texts: Path) -> None:
    result = survey(subject, stream(texts), limit=5, seed=2)
    drawn = stream(texts).draw(5, 2)
    assert result.manifest.corpus["passages"] == 5
    assert result.manifest.corpus["streamed"]["drawn"] == "by reservoir, with the seed"
    assert result.rows("heads") == survey(subject, drawn, seed=2).rows("heads")
    assert survey(subject, stream(texts), first=3).manifest.corpus["documents"] == 3


def test_a_study_that_needs_all_texts_refuses_a_stream_that_is_too_large(
    subject: Subject, treebank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = StreamedCorpus.whole
    monkeypatch.setattr(StreamedCorpus, "whole", lambda self, advice, **why: whole(self, advice, most=10, **why))
    for study, told in (
        (importance, "importance keeps the score of every text beside what chance gives it"),
        (noop, "noop keeps the score of every text beside what chance gives it"),
        (ablate, "ablate keeps the loss and the score of every text under every cut"),
    ):
        why = f": {told}, so that all texts are to be kept in memory, and there are more than 0 MiB of them; "
        with pytest.raises(CorpusError, match=f"{why}{re.escape('give --limit (so many, drawn) or --first')}$"):
            study(subject, stream(treebank), "tagging:upos")
    with pytest.raises(CorpusError, match=r"coref keeps every window with its mentions, .*; give a part of them$"):
        coref(subject, stream(treebank))
