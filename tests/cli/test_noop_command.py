"""attlas noop from the command line: what it says when all is well, and one sentence when not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers
from command_line import attlas

import twins

PROSE = "The farmer slept.\n\nNobody noticed the old bridge.\n\nIt rained, and we stayed in.\n"
TAGGED = "\n".join(
    f"1\t{noun}\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tslept\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    for noun in ("farmer", "bridge", "station", "storm")
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    for folder, family, name in (
        ("embedder", "bert", "BertModel"),
        ("masked", "bert", "BertForMaskedLM"),
        ("causal", "llama", "LlamaForCausalLM"),
        ("translator", "bart", "BartForConditionalGeneration"),
        ("classifier", "bert", "BertForSequenceClassification"),
        ("tagger", "bert", "BertForTokenClassification"),
    ):
        config = twins.config(family)
        if folder == "tagger":
            config.id2label, config.label2id = {0: "NOUN", 1: "VERB"}, {"NOUN": 0, "VERB": 1}
        getattr(transformers, name)(config).save_pretrained(made / folder)
        twins.tokenizer(family in twins.CAUSAL).save_pretrained(made / folder)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prose.txt").write_text(PROSE, encoding="utf-8")
    (tmp_path / "tags.conllu").write_text(TAGGED, encoding="utf-8")
    (tmp_path / "labels.tsv").write_text("sentence\tlabel\nIt rained.\t0\nThe farmer slept.\t1\n", encoding="utf-8")
    (tmp_path / "pairs.txt").write_text("the cat ||| le chat\nit slept ||| il dort\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("model", "corpus", "loss"),
    [
        ("masked", "prose.txt", "masked-lm"),
        ("causal", "prose.txt", "causal-lm"),
        ("translator", "pairs.txt", "translation"),
        ("embedder", "tags.conllu", "tagging:upos"),
    ],
)
def test_auto_takes_what_the_model_offers(
    model: str, corpus: str, loss: str, place: Path, models: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = attlas(capfd, "noop", corpus, "--model", models / model, "--out", "out", "--quiet")
    assert (said.status, said.err) == (0, "")
    words = " ".join(said.out.split())
    assert f"The loss in the task {loss} is" in words
    assert f"that of {'one untrained twin' if loss.startswith('tagging') else '5 untrained twins'} is" in words
    assert ("a small linear head, trained here" in words) is (model == "embedder")
    assert said.out.splitlines()[-1] == "report: out/report.html"
    assert {file.name for file in (place / "out").iterdir()} >= {
        "noop.parquet",
        "noop_layers.parquet",
        "loss.parquet",
    }


@pytest.mark.parametrize(
    ("model", "corpus", "options", "phrases"),
    [
        ("embedder", "prose.txt", ["--task", "masked-lm"], ["offers no masked-lm loss", "cls.predictions", "--task"]),
        ("embedder", "prose.txt", [], ["offers no language-model loss", "tagging:upos"]),
        ("causal", "prose.txt", ["--task", "masked-lm"], ["no such head", "--task causal-lm"]),
        ("masked", "prose.txt", ["--task", "translation"], ["offers no translation loss", "masked-lm"]),
        ("causal", "prose.txt", ["--task", "tagging:upos"], ["prose.txt", "no upos", "CoNLL-U"]),
        ("causal", "tags.conllu", ["--task", "tagging:chunks"], ["no chunks", "CoNLL-2000"]),
        ("translator", "prose.txt", [], ["prose.txt", "no translations", "--target"]),
        ("translator", "prose.txt", ["--task", "translation"], ["no translations", "--target"]),
        ("causal", "prose.txt", ["--task", "lm"], ["there is no loss 'lm'", "tagging:chunks"]),
        ("causal", "prose.txt", ["--max-pieces", "4000"], ["window"]),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    model: str, corpus: str, options: list[str], phrases: list[str], place: Path, models: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    said: Any = attlas(capfd, "noop", corpus, "--model", models / model, "--out", "out", "--quiet", *options)
    said.refuses(*phrases)
    assert not (place / "out").exists()


def test_a_masked_model_is_no_causal_one(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Its family has a causal head, and the weights would fit it; but it reads in both directions."""
    said = attlas(capfd, "noop", "prose.txt", "--model", models / "masked", "--task", "causal-lm", "--quiet")
    said.refuses("offers no causal-lm loss", "both directions")


@pytest.mark.parametrize(
    ("model", "corpus", "loss"),
    [("classifier", "labels.tsv", "classification"), ("tagger", "tags.conllu", "tagging:upos")],
)
def test_a_trained_head_is_used_as_it_is(
    model: str, corpus: str, loss: str, place: Path, models: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = attlas(capfd, "noop", corpus, "--model", models / model, "--task", loss, "--out", "out", "--quiet")
    assert (said.status, said.err) == (0, "")
    words = " ".join(said.out.split())
    assert f"The loss in the task {loss} is" in words
    assert "trained here" not in words
