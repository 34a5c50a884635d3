"""attlas faith from the command line: a corpus first, further commands, and one sentence when it errs."""

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
        capfd, "faith", "labels.tsv", "--model", models / "classifier", "--out", "out", "-q", "--steps", "2",
        "--limit", "6", "--adversary-steps", "2", "--permutations", "4", "--other", models / "classifier",
    )  # fmt: skip
    assert said.status == 0, said
    out = " ".join(said.out.split())
    assert "6 passages" in out
    assert "classifier does no better here than always giving the most frequent label" in out
    assert (
        "there is nothing to explain, and no test is judged. Attention (weights, last layer) ranks the words" in out
    )
    assert "agreement with gradients" in out
    assert "tests hold" not in out
    assert "it has given no answer whose reasons a picture of its attention could show" in out
    assert "Shuffled in all layers" in out
    result = Result.open(Path("out"))
    assert {"agreement", "erasure", "instances", "examples", "card", "whole"} <= set(result.tables)
    assert (Path("out") / "report.html").stat().st_size > 100_000
    assert not list(Path("out").glob("*checkpoint*"))


def test_help_shows_the_plain_form_and_the_commands(capfd) -> None:
    said = attlas(capfd, "faith", "--help")
    assert said.status == 0
    for command in ("faith", "chunking", "freeze"):
        assert f" {command} " in said.out
    own = attlas(capfd, "faith", "texts.tsv", "--help")
    assert "--layer" in own.out
    assert "--adversary-steps" in own.out
    chunking = attlas(capfd, "faith", "chunking", "--help").out
    assert "--test" in chunking
    assert "--learning-rate" in chunking


def test_what_does_not_fit_is_refused_in_one_sentence(models: Path, place: Path, capfd) -> None:
    def faith(
        corpus: str = "labels.tsv", *more: object, model: object = models / "classifier", task: str = "classification"
    ):
        return attlas(capfd, "faith", corpus, "--model", model, "--task", task, "--out", "out", "-q", *more)

    faith(model=models / "embedder").refuses("cannot be put to the task classification", "attlas tune")
    faith(model=models / "number").refuses("labels")
    faith(task="similarity").refuses("the task similarity gives no labels", "tagging:chunks")
    faith(task="sentiment").refuses("there is no task 'sentiment'")
    faith("prose.txt").refuses("it has no labels of whole texts")
    faith(task="tagging:chunks").refuses("it has no chunks")
    faith("strange.tsv").refuses("weather", "0, 1")
    faith(model="no-such-model").refuses("no-such-model")
    faith("no.tsv").refuses("no.tsv")
    attlas(capfd, "faith", "freeze", "labels.tsv", "--model", models / "classifier", "--out", "own.safetensors")
    Path("strange.tsv").write_text("sentence\tlabel\nIt rained.\t1\n", encoding="utf-8")
    faith("strange.tsv", "--frozen", "own.safetensors").refuses("'It rained.' is not among the 5 texts")
    faith("strange.tsv", "--frozen", "labels.tsv").refuses("labels.tsv", "not a file of frozen attention")
    faith("labels.tsv", "--layer", "seven").refuses("'seven' does not name a layer")
    faith("labels.tsv", "--layer", "7").refuses("has no layer 7")
    faith("labels.tsv", "--head", "9").refuses("has no head 9")
    faith("labels.tsv", "--layer", "1", "--head", "2-3").refuses("head 2-3 is not in layer 1")
    faith("labels.tsv", "--bound", "0").refuses("bound between 0 and 1")
    faith("labels.tsv", "--other", models / "embedder").refuses("cannot be put to the task")
    faith("labels.tsv", "--erase", "burn").refuses("choose delete or mask")
    faith("labels.tsv", "--score", "bleu").refuses("cannot be scored by 'bleu'")
    assert not Path("out").exists()


def test_a_chunker_is_trained_and_looked_at(place: Path, capfd) -> None:
    lines = ["the DT B-NP", "cat NN I-NP", "saw VBD B-VP", "a DT B-NP", "dog NN I-NP", ""]
    for name, times in (("train.txt", 6), ("test.txt", 3)):
        Path(name).write_text("\n".join(lines * times), encoding="utf-8")
    said = attlas(
        capfd, "faith", "chunking", "train.txt", "--test", "test.txt", "--weights", "0.2,3", "--seeds", "1",
        "--guided", "1", "--epochs", "1", "--width", "8", "--ffn", "8", "--instances", "2", "--device", "cpu",
        "--out", "out", "-q",
    )  # fmt: skip
    assert said.status == 0, said
    assert "F1" in said.out
    assert Result.open(Path("out")).manifest.plan["options"]["weights"] == [0.2, 3.0]
    assert (Path("out") / "report.html").is_file()
    attlas(capfd, "faith", "chunking", "train.txt", "--test", "test.txt", "--weights", "much").refuses(
        "--weights 'much'"
    )
    attlas(capfd, "faith", "chunking", "train.txt", "--test", "train.txt").refuses("the very sentences")
