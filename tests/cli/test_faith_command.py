"""attlas faith from the command line: a model for its first word, further commands, and one sentence when it errs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers
from command_line import attlas

import twins
from attlas.store import Result

ROWS = "".join(f"{text}\t{label}\n" for text, label in zip(twins.SENTENCES * 2, "0101010101", strict=True))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    for folder, family, name in (
        ("embedder", "bert", "BertModel"),
        ("classifier", "bert", "BertForSequenceClassification"),
        ("number", "bert", "BertForSequenceClassification"),
    ):
        config = twins.config(family)
        labels = {0: "0"} if folder == "number" else {0: "0", 1: "1"}
        config.id2label, config.label2id = labels, {label: number for number, label in labels.items()}
        model = getattr(transformers, name)(config)
        twins.spread(model)
        model.save_pretrained(made / folder)
        twins.tokenizer(causal=False).save_pretrained(made / folder)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.tsv").write_text("sentence\tlabel\n" + ROWS, encoding="utf-8")
    (tmp_path / "strange.tsv").write_text("sentence\tlabel\nIt rained.\tweather\n", encoding="utf-8")
    (tmp_path / "prose.txt").write_text("It rained.\n\nWe stayed in.\n\nNobody came.\n", encoding="utf-8")
    return tmp_path


def test_it_prints_its_card_and_writes_its_page(models: Path, place: Path, capfd) -> None:
    said = attlas(
        capfd, "faith", models / "classifier", "classification", "labels.tsv", "--out", "out", "-q", "--steps", "2",
        "--limit", "6", "--adversary-steps", "2", "--permutations", "4",
    )  # fmt: skip
    assert said.status == 0, said
    out = " ".join(said.out.split())
    assert "on 6 texts, 6 instances; weights, the mean over all heads of layer 3 of 3" in out
    assert "agreement with gradients" in out
    assert "A picture of this attention" in out
    assert "permuted, all" in out
    result = Result.open(Path("out"))
    assert {"agreement", "erasure", "instances", "examples", "card", "whole"} <= set(result.tables)
    assert (Path("out") / "report.html").stat().st_size > 100_000
    assert not list(Path("out").glob("*checkpoint*"))


def test_help_shows_the_plain_form_and_the_commands(capfd) -> None:
    said = attlas(capfd, "faith", "--help")
    assert said.status == 0
    assert "MODEL TASK DATA" in said.out
    assert "model " in said.out
    assert "MODEL TASK DATA" in "".join(attlas(capfd, "faith")[1:])
    own = attlas(capfd, "faith", "model", "--help")
    assert "--layers" in own.out
    assert attlas(capfd, "faith", "no-such-model", "--help").out == own.out


def test_what_does_not_fit_is_refused_in_one_sentence(models: Path, place: Path, capfd) -> None:
    model, more = models / "classifier", ["--out", "out", "-q"]
    attlas(capfd, "faith", models / "embedder", "classification", "labels.tsv", *more).refuses(
        "cannot be put to the task classification", "attlas tune"
    )
    attlas(capfd, "faith", models / "number", "classification", "labels.tsv", *more).refuses("labels")
    attlas(capfd, "faith", model, "similarity", "labels.tsv", *more).refuses(
        "the task similarity gives no labels", "tagging:chunks"
    )
    attlas(capfd, "faith", model, "sentiment", "labels.tsv", *more).refuses("there is no task 'sentiment'")
    attlas(capfd, "faith", model, "classification", "prose.txt", *more).refuses("it has no labels of whole texts")
    attlas(capfd, "faith", model, "tagging:chunks", "labels.tsv", *more).refuses("it has no chunks")
    attlas(capfd, "faith", model, "classification", "strange.tsv", *more).refuses("weather", "0, 1")
    attlas(capfd, "faith", "no-such-model", "classification", "labels.tsv", *more).refuses("no-such-model")
    attlas(capfd, "faith", model, "classification", "no.tsv", *more).refuses("no.tsv")
    attlas(capfd, "faith", "freeze", model, "classification", "labels.tsv", "--out", "own.safetensors")
    run = ["faith", model, "classification", "strange.tsv", *more, "--frozen", "own.safetensors"]
    Path("strange.tsv").write_text("sentence\tlabel\nIt rained.\t1\n", encoding="utf-8")
    attlas(capfd, *run).refuses("'It rained.' is not among the 5 texts")
    attlas(capfd, *run[:-1], "labels.tsv").refuses("labels.tsv", "not a file of frozen attention")
    run = ["faith", model, "classification", "labels.tsv", *more]
    attlas(capfd, *run, "--layers", "seven").refuses("has no layer seven")
    attlas(capfd, *run, "--head", "9").refuses("has no head 9")
    attlas(capfd, *run, "--bound", "0").refuses("bound between 0 and 1")
    attlas(capfd, *run, "--other", models / "embedder").refuses("cannot be put to the task")
    attlas(capfd, *run, "--erase", "burn").refuses("choose delete or mask")
    attlas(capfd, *run, "--score", "bleu").refuses("cannot be scored by 'bleu'")
    assert not Path("out").exists()
