"""The families that people use most, and those that were once shown wrongly: exact, seen through their softmax, or
refused with the true reason.

Each is built tiny and held against the library alone, as ``make sweep`` does for all: a text longer than any window
and any choice of keys, padded batches, closed heads, what is written, the doctor, and a saved folder.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from attlas.capture import load
from attlas.errors import ModelError
from tools.sweep.building import build
from tools.sweep.families import frozen
from tools.sweep.questions import ask, asked, tokenizer

FAMILIES = {family.kind: family for family in frozen()}
MOST_USED = (
    "albert", "bart", "bert", "bloom", "cohere2", "deberta-v2", "deepseek_v3", "distilbert", "electra", "falcon",
    "gemma2", "gemma3_text", "gemma4_text", "glm4", "gpt2", "gpt_neox", "gpt_oss", "gptj", "granite", "jamba",
    "llama", "llama4_text", "marian", "mbart", "mistral", "mixtral", "modernbert", "mpnet", "olmo2", "opt",
    "pegasus", "phi3", "qwen2", "qwen3", "qwen3_5", "qwen3_moe", "qwen3_next", "roberta", "t5", "xlm-roberta",
)  # fmt: skip
ONCE_WRONG = (
    "deepseek_v32", "diffllama", "glm_moe_dsa", "glmasr", "got_ocr2", "granite_swa", "mpt", "nllb-moe", "openai-gpt",
    "qwen2_audio", "splinter", "xglm", "xlnet",
)  # fmt: skip
THROUGH_SOFTMAX = {"bloom", "deberta-v2", "falcon", "gptj", "mpnet", "mpt", "openai-gpt", "xglm", "xlnet"}
REFUSED = {
    "longt5": "the attention of encoder was not found",
    "t5gemma2": "source and target in one softmax",
    "prophetnet": "it writes in several streams at once",
    "cpmant": "its attention cannot be laid over the text",
    "funnel": "its attention cannot be laid over the text",
    "bros": "cannot read a text by itself",
}


@pytest.mark.parametrize("kind", [*MOST_USED, *ONCE_WRONG])
def test_what_is_seen_is_what_the_library_has(kind: str) -> None:
    sheet = asked(FAMILIES[kind])
    assert sheet.kind == ("fallback" if kind in THROUGH_SOFTMAX else "exact"), sheet
    assert sheet.answers["doctor"].verdict == "exact"


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_shown_is_refused_with_the_reason(kind: str) -> None:
    sheet = ask(FAMILIES[kind])
    assert sheet.kind == "refused"
    assert REFUSED[kind] in sheet.answers["adopt"].note


def test_a_checkpoint_that_leaves_embeddings_random_is_refused(tmp_path: Path) -> None:
    build(FAMILIES["bert"]).save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["embeddings.word_embeddings.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"holds no weights for 1 tensors .* which would be random"):
        load(tmp_path)
