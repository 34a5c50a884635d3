"""attlas faith freeze: attention to be put elsewhere; and one sentence where it does not fit model or texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers
from command_line import attlas

import twins
from attlas.capture.frozen import Frozen
from attlas.studies.faith.call import faith

TEXTS = [*twins.SENTENCES[:4], "Nobody noticed the storm.", "The children repaired the bridge."]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    for seed, (folder, layers) in enumerate({"one": 3, "two": 3, "smaller": 2, "plain": 3}.items()):
        config = twins.config("bert")
        config.num_hidden_layers = layers
        config.id2label, config.label2id = {0: "0", 1: "1"}, {"0": 0, "1": 1}
        torch.manual_seed(seed)
        kind = transformers.BertModel if folder == "plain" else transformers.BertForSequenceClassification
        model = kind(config)
        twins.spread(model)
        model.save_pretrained(made / folder)
        twins.tokenizer(causal=False).save_pretrained(made / folder)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"{text}\t{number % 2}" for number, text in enumerate(TEXTS)]
    (tmp_path / "texts.tsv").write_text("sentence\tlabel\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "others.tsv").write_text("sentence\tlabel\nAn old farmer slept.\t0\n", encoding="utf-8")
    return tmp_path


def test_frozen_attention_goes_into_another_model(models: Path, place: Path, capfd) -> None:
    said = attlas(capfd, "faith", "freeze", "texts.tsv", "--model", models / "two", "--out", "two.safetensors")
    assert said.status == 0, said
    assert "two: 6 texts, 3 layers" in said.out
    assert len(Frozen.load(place / "two.safetensors").sites) == 3
    result = faith(str(models / "one"), "texts.tsv", frozen="two.safetensors", steps=1, permutations=1)
    (row,) = [row for row in result.tables["interventions"].to_pylist() if row["intervention"] == "frozen"]
    assert row["jsd"] > 0.01
    assert row["tvd"] > 0
    again = attlas(
        capfd, "faith", "freeze", "texts.tsv", "--model", models / "two", "--last", "--out", "last.safetensors"
    )  # fmt: skip
    assert "1 layer\n" in again.out
    told = attlas(capfd, "faith", "freeze", "texts.tsv", "--model", models / "two", "--out", "3.st", "--json")
    assert json.loads(told.out) == {
        "model": "two", "texts": 6, "layers": 3, "skipped": {}, "file": "3.st",
    }  # fmt: skip


def test_what_does_not_fit_is_refused_and_nothing_is_written(models: Path, place: Path, capfd) -> None:
    def freeze(model: str, data: str, out: str) -> None:
        said = attlas(capfd, "faith", "freeze", data, "--model", models / model, "--out", out)
        assert said.status == 0, said

    freeze("smaller", "texts.tsv", "smaller.safetensors")
    freeze("one", "others.tsv", "others.safetensors")
    (place / "prose.safetensors").write_text("It rained.", encoding="utf-8")
    plain = ("faith", "texts.tsv", "--model", models / "one", "--out", "out", "-q", "--frozen")
    attlas(capfd, *plain, "smaller.safetensors").refuses(
        "smaller.safetensors: frozen attention of the wrong shape: smaller has 2 layers of 4 heads, and one 3 layers"
    )
    attlas(capfd, *plain, "others.safetensors").refuses(
        "others.safetensors: the text '", "is not among the one text whose attention was frozen"
    )
    attlas(capfd, *plain, "prose.safetensors").refuses("this is not a file of frozen attention")
    attlas(capfd, *plain, "nothing.safetensors").refuses("there is no such file")
    command = ("faith", "freeze", "texts.tsv", "--model", models / "plain", "--out")
    attlas(capfd, *command, "new.safetensors").refuses("cannot be put to the task classification")
    attlas(capfd, *command, "others.safetensors").refuses("this is there already")
    attlas(capfd, *command, "nowhere/new.safetensors").refuses("there is no folder nowhere")
    assert not (place / "out").exists()
    assert not (place / "new.safetensors").exists()
