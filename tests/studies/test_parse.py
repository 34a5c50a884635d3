"""The study of parsing probes as one call: all rows, the twin's too; resumed as if nothing had happened."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "probes"))
import planted

from attlas.corpora import Corpus
from attlas.errors import CapabilityError, CorpusError, PlanError, StoreError
from attlas.pages.laws import check_page
from attlas.probes.parse import JOBS, Trainer
from attlas.probes.writing import Writer
from attlas.run.parts import parts_of
from attlas.store import Result
from attlas.studies.parse.call import parse
from attlas.studies.parse.page import PAGE

SMALL: dict[str, Any] = {"epochs": 2, "rank": 8, "seed": 3, "budget": 100}


def texts() -> dict[str, Any]:
    return {"corpus": planted.treebank(40), "validation": planted.treebank(20, 1), "test": planted.treebank(20, 2)}


def numbers(result: Result) -> dict[str, list[dict[str, Any]]]:
    found = {name: table.to_pylist() for name, table in result.tables.items()}
    for row in found["parse"]:
        del row["seconds"]
    return found


@pytest.fixture(scope="module")
def whole() -> Result:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return parse(planted.subject(), **texts(), **SMALL)
    finally:
        torch.set_num_threads(threads)


def test_every_probe_has_its_row(whole: Result) -> None:
    check_page(PAGE, whole)
    rows = {row["probe"]: row for row in whole.table.to_pylist()}
    assert list(rows) == [job.name for job in JOBS]
    assert {row["metric"] for row in rows.values()} == {"UAS", "UUAS"}
    assert rows["best fixed offset"]["chosen"] == "offset -1"
    assert rows["best fixed offset"]["value"] == 1.0  # it is how the treebank was made
    assert rows["distances + vectors"]["value"] > rows["right-branching"]["value"]
    for row in rows.values():
        assert 0 <= row["low"] <= row["value"] <= row["high"] <= 1
    assert rows["attention"]["parameters"] == 4 * 12 + 1
    counts = whole.manifest.corpus["parts"]["test"]
    assert counts["sentences"] == 20
    assert rows["attention"]["n"] == counts["scored_words"] == sum(len(d.words) - 1 for d in planted.treebank(20, 2))
    apart = {(row["probe"], row["other"]): row for row in whole.tables["differences"].to_pylist()}
    assert len(apart) == 7 * 6 // 2 + 1
    more = apart["distances + vectors", "right-branching"]
    assert more["value"] == pytest.approx(rows["distances + vectors"]["value"] - rows["right-branching"]["value"])
    assert more["low"] <= more["value"] <= more["high"]
    assert apart["best fixed offset", "right-branching"]["low"] > 0
    weights = whole.tables["head_weights"].to_pylist()
    assert len(weights) == 2 * 2 * 3 * 4  # trained and untrained, both directions
    assert {row["who"] for row in whole.tables["structural_layers"].to_pylist()} == {"model", "twin"}
    assert len(whole.tables["structural_layers"].to_pylist()) == 2 * 4
    relations = {row["relation"] for row in whole.tables["by_relation"].to_pylist()}
    assert relations == {"root", "obj"}


@pytest.mark.parametrize("stop", ["features", "probes", "untrained"])
def test_a_run_that_is_cut_off_is_resumed(
    tmp_path: Path, whole: Result, stop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(1)
    calls = {"written": 0, "trained": 0}
    write, train = Writer.update, Trainer.update

    class Cut(Exception):
        """A kill, for our purposes."""

    def writing(self: Writer, bundle: Any, batch: Any) -> None:
        if (stop == "features" and calls["written"] == 3) or (
            stop == "untrained" and self.subject.name.startswith("untrained")
        ):
            raise Cut
        calls["written"] += 1
        write(self, bundle, batch)

    def training(self: Trainer, bundle: Any, batch: Any) -> None:
        if stop == "probes" and calls["trained"] == 4:
            raise Cut
        calls["trained"] += 1
        train(self, bundle, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "update", writing)
        patch.setattr(Trainer, "update", training)
        with pytest.raises(Cut):
            parse(planted.subject(), **texts(), **SMALL, out=tmp_path / "out", checkpoint_every=0)
    with pytest.raises(PlanError, match="go on with --resume"):
        parse(planted.subject(), **texts(), **SMALL, out=tmp_path / "out")
    again = {"written": 0, "trained": 0}

    def count_writing(self: Writer, bundle: Any, batch: Any) -> None:
        again["written"] += 1
        write(self, bundle, batch)

    def count_training(self: Trainer, bundle: Any, batch: Any) -> None:
        again["trained"] += 1
        train(self, bundle, batch)

    monkeypatch.setattr(Writer, "update", count_writing)
    monkeypatch.setattr(Trainer, "update", count_training)
    found = parse(planted.subject(), **texts(), **SMALL, out=tmp_path / "out", resume=True)
    assert numbers(found) == numbers(whole)
    assert again["trained"] + calls["trained"] == len(JOBS)
    if stop == "probes":  # the features of the model were whole, only the twin's are made
        assert again["written"] == calls["written"]
    assert not list((tmp_path / "out").glob(".*"))
    assert not (tmp_path / "out" / "features").exists()


def test_kept_features_are_used_again(tmp_path: Path, whole: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    out = tmp_path / "out"
    parse(planted.subject(), **texts(), **SMALL, out=out, keep_features=True)
    kept = sorted(path.relative_to(out).as_posix() for path in out.glob("features/*/*"))
    assert "features/trained/test-states.bin" in kept
    assert "features/untrained/index.json" in kept
    monkeypatch.setattr(Writer, "update", None)
    found = parse(planted.subject(), **texts(), **SMALL, out=out, resume=True)
    assert numbers(found) == numbers(whole)
    assert not (out / "features").exists()


def test_norms_are_other_features_of_the_same_probes(whole: Result) -> None:
    torch.set_num_threads(1)
    found = parse(planted.subject(), **texts(), **SMALL, measure="norm")
    assert found.manifest.plan["options"]["measure"] == "norm"
    ours, theirs = ({row["probe"]: row for row in numbers(result)["parse"]} for result in (found, whole))
    changed = {name for name, row in ours.items() if row != theirs[name]}
    assert changed == {name for name in ours if "attention" in name}


@pytest.mark.parametrize("family", ["llama", "marian", "mpnet"])
def test_other_families(family: str) -> None:
    documents = planted.treebank(30)
    result = parse(planted.subject(family), documents, epochs=1, rank=4)
    assert [row["probe"] for row in result.table.to_pylist()] == [job.name for job in JOBS]
    parts = {name: part["sentences"] for name, part in result.manifest.corpus["parts"].items()}
    assert (
        f"{100 * parts['train'] / sum(parts.values()):.0f} % of its sentences train"
        in (result.manifest.corpus["divided"])
    )
    assert result.manifest.corpus["parts"]["test"]["unit"] == "sentence"


def test_parts_that_were_not_given_come_from_the_treebank_by_article() -> None:
    documents = tuple(planted.treebank(40))
    corpus = Corpus(documents, "conllu", "a.conllu", "", tuple(number // 2 for number in range(40)))
    parts, said = parts_of({"train": corpus, "test": corpus}, seed=0)
    assert parts["test"] is corpus
    shares = [len(parts[name].documents) / 40 for name in ("train", "dev")]
    assert (
        said
        == f"a.conllu was divided by article: {shares[0]:.0%} of its sentences train, {shares[1]:.0%} dev".replace(
            "%", " %"
        )
    )
    assert not set(parts["train"].articles) & set(parts["dev"].articles)
    assert len(parts["train"].documents) + len(parts["dev"].documents) == 40


def test_what_came_out_of_dividing_is_said_and_where_it_is_far_from_what_was_asked() -> None:
    documents = tuple(planted.treebank(50))
    sizes = (20, 19, 1, 1, 1, 8)
    owners = tuple(article for article, size in enumerate(sizes) for _ in range(size))
    parts, said = parts_of({"train": Corpus(documents, "conllu", "a.conllu", "", owners)}, seed=0)
    shares = {name: round(100 * len(part.documents) / 50) for name, part in parts.items()}
    assert any(share not in (80, 10) for share in shares.values())
    assert f"{shares['train']} % of its sentences train, {shares['dev']} % dev, {shares['test']} % test" in said
    assert "far from 80 % train, 10 % dev, 10 % test, as was asked for, since there are only 6 articles" in said


def test_intervals_are_by_document_where_there_are_enough(whole: Result) -> None:
    torch.set_num_threads(1)
    given = texts()
    corpora = {}
    for name, documents in given.items():
        owners = tuple(place % 16 for place in range(len(documents)))
        corpora[name] = Corpus(tuple(documents), "conllu", f"{name}.conllu", "", owners)
    found = parse(planted.subject(), **corpora, **SMALL)
    part = found.manifest.corpus["parts"]["test"]
    assert (part["unit"], part["units"]) == ("document", 16)
    ours, theirs = ({row["probe"]: row for row in numbers(result)["parse"]} for result in (found, whole))
    assert ours["right-branching"]["value"] == theirs["right-branching"]["value"]
    assert ours["attention"]["high"] != theirs["attention"]["high"]


def test_bad_input_is_refused() -> None:
    subject, good = planted.subject(), planted.treebank(9)
    bare = [type(good[0]).from_words(["it", "rained"])] * 5
    with pytest.raises(CorpusError, match="no governors"):
        parse(subject, bare)
    with pytest.raises(CorpusError, match="no governors"):
        parse(subject, good, validation=bare)
    with pytest.raises(CorpusError, match="cannot be divided into 3 parts: it has 2 documents"):
        parse(subject, good[:2])
    with pytest.raises(CapabilityError, match="there is no measure 'weights'; choose weight or norm"):
        parse(subject, good, measure="weights")
    with pytest.raises(StoreError, match=r"--max-disk allows 1e-06 GB"):
        parse(subject, good, max_disk=1e-6)
    with pytest.raises(CorpusError, match="no such file of word vectors"):
        parse(subject, good, vectors="none.txt")
    with pytest.raises(PlanError, match="give it with --out"):
        parse(subject, good, resume=True)
    dots = [type(good[0]).from_words(["."], governors=[-1], upos=["PUNCT"])] * 4
    with pytest.raises(CorpusError, match="no sentence has a word with a governor"):
        parse(subject, good, test=dots)
