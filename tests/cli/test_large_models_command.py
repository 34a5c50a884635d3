"""Models larger than a device or than memory, from the command line: what works, and one sentence where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers
from command_line import attlas

import twins
from attlas.store import Result

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
    config = transformers.LlamaConfig(**sizes, vocab_size=len(twins.tokenizer(True)), max_position_embeddings=128)
    written = tmp_path_factory.mktemp("models") / "llama"
    transformers.LlamaForCausalLM(config).save_pretrained(written, max_shard_size="20KB")
    twins.tokenizer(True).save_pretrained(written)
    return written


def test_a_streamed_survey_is_the_survey(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    reading = ("survey", "sample", "--model", str(folder), "--limit", "6", "--budget", "64", "--quiet")
    assert attlas(capfd, *reading, "--out", "whole").status == 0
    assert attlas(capfd, *reading, "--out", "streamed", "--stream-layers", "--block", "200").status == 0
    whole, streamed = (Result.open(tmp_path / name) for name in ("whole", "streamed"))
    assert whole.table.equals(streamed.table)
    assert whole.manifest.plan == streamed.manifest.plan


def test_what_cannot_be_is_one_sentence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    model = ("--model", str(folder))
    attlas(capfd, "importance", "sample", "--task", "causal-lm", *model, "--stream-layers").refuses(
        "its layers are streamed"
    )
    attlas(capfd, "survey", "sample", *model, "--stream-layers", "--device-map", "auto").refuses(
        "--stream-layers and --device-map do not go together"
    )
    attlas(capfd, "survey", "sample", *model, "--quantize", "16bit").refuses("choose 8bit or 4bit")
    attlas(capfd, "survey", "sample", *model, "--adapter", "nowhere").refuses("nowhere is no adapter")
    attlas(capfd, "survey", "sample", "--model", "nowhere.gguf").refuses("there is no file nowhere.gguf")
    assert not list(tmp_path.iterdir()), "nothing was begun"
