"""attlas ablate from the command line: what it says when all is well, and one sentence when not."""

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
        ("causal", "llama", "LlamaForCausalLM"),
        ("classifier", "bert", "BertForSequenceClassification"),
    ):
        config = twins.config(family)
        if folder == "classifier":
            config.id2label, config.label2id = {0: "0", 1: "1"}, {"0": 0, "1": 1}
        model = getattr(transformers, name)(config)
        twins.spread(model)
        model.save_pretrained(made / folder)
        twins.tokenizer(family in twins.CAUSAL).save_pretrained(made / folder)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.tsv").write_text("sentence\tlabel\n" + ROWS, encoding="utf-8")
    (tmp_path / "strange.tsv").write_text("sentence\tlabel\nIt rained.\tweather\n", encoding="utf-8")
    (tmp_path / "prose.txt").write_text("It rained.\n\nWe stayed in.\n\nNobody came.\n", encoding="utf-8")
    return tmp_path


def test_it_writes_its_page_and_says_that_random_weights_show_nothing(models: Path, place: Path, capfd) -> None:
    said = attlas(
        capfd,
        "ablate",
        "labels.tsv",
        "--task",
        "classification",
        "--model",
        models / "classifier",
        "--out",
        "out",
        "-q",
    )
    assert said.status == 0, said
    told = " ".join(said.out.split())
    assert "has not shown that it can do this task: its accuracy" in told  # random weights, and few texts
    assert "heads matter" not in told
    assert "Every head, the worst cut first:" in told
    result = Result.open(Path("out"))
    assert list(result.tables) == ["ablation", "survivors", "whole", "correlation"]
    assert (Path("out") / "report.html").stat().st_size > 100_000
    assert not list(Path("out").glob("*checkpoint*"))


def test_a_causal_model_and_named_heads(models: Path, place: Path, capfd) -> None:
    said = attlas(
        capfd, "ablate", "prose.txt", "--task", "causal-lm", "--model", models / "causal", "--out", "out", "-q",
        "--heads",
        "1-2, 3-4", "--no-survivors", "--no-importance", "--score", "loss",
    )  # fmt: skip
    assert said.status == 0, said
    rows = Result.open(Path("out")).table.to_pylist()
    assert [(row["layer"], row["head"], row["n"]) for row in rows] == [(0, 1, 3), (2, 3, 3)]


def test_what_does_not_fit_is_refused_in_one_sentence(models: Path, place: Path, capfd) -> None:
    classifier = ["--model", models / "classifier", "--out", "out", "-q"]
    run = ["ablate", "labels.tsv", "--task", "classification", *classifier]
    attlas(capfd, *run, "--heads", "4-1").refuses("4-1", "3 layers")
    attlas(capfd, *run, "--heads", "one").refuses("one")
    attlas(capfd, *run, "--heads", " ").refuses("no head was named")
    attlas(capfd, *run, "--other", "prose.txt").refuses("prose.txt", "it has no labels of whole texts")
    attlas(capfd, *run, "--choose-on", "labels.tsv").refuses("the very texts that are scored")
    attlas(capfd, *run, "--score", "bleu").refuses("cannot be scored by 'bleu'")
    attlas(capfd, "ablate", "strange.tsv", "--task", "classification", *classifier).refuses("weather", "0, 1")
    attlas(capfd, "ablate", "prose.txt", "--task", "classification", *classifier).refuses(
        "it has no labels of whole texts"
    )
    attlas(capfd, "ablate", "labels.tsv", "--task", "sentiment", *classifier).refuses("there is no task 'sentiment'")
    attlas(capfd, "ablate", "prose.txt", "--task", "causal-lm", "--model", models / "embedder", "-q").refuses(
        "causal-lm"
    )
