"""Families that were once shown wrongly: exact now, seen through their softmax, or refused with the true reason.

Each is built tiny and held against the library alone, as ``make sweep`` does for all: a text longer than any window
and any choice of keys, padded batches, closed heads, what is written, the doctor, and a saved folder.
"""

from __future__ import annotations

import pytest

from tools.sweep.families import frozen
from tools.sweep.questions import ask, asked

FAMILIES = {family.kind: family for family in frozen()}
EXACT = ("nllb-moe", "splinter", "got_ocr2", "dpr")
FALLBACK = ("bloom", "xglm", "mpt", "openai-gpt", "deberta-v2", "xlnet")
REFUSED = {
    "longt5": "the attention of encoder was not found",
    "t5gemma2": "source and target in one softmax",
    "prophetnet": "it writes in several streams at once",
    "cpmant": "its attention cannot be laid over the text",
    "funnel": "its attention cannot be laid over the text",
    "bros": "cannot read a text by itself",
}


@pytest.mark.parametrize("kind", EXACT)
def test_what_is_seen_at_the_seam_is_what_the_library_has(kind: str) -> None:
    assert asked(FAMILIES[kind]).kind == "exact"


@pytest.mark.parametrize("kind", FALLBACK)
def test_what_is_seen_through_the_softmax_is_what_the_library_has(kind: str) -> None:
    assert asked(FAMILIES[kind]).kind == "fallback"


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_shown_is_refused_with_the_reason(kind: str) -> None:
    sheet = ask(FAMILIES[kind])
    assert sheet.kind == "refused"
    assert REFUSED[kind] in sheet.answers["adopt"].note


@pytest.mark.parametrize("kind", ["deepseek_v32", "glm_moe_dsa", "minimax_m3_vl_text", "diffllama"])
def test_weights_are_those_of_the_eager_model(kind: str) -> None:
    answers = ask(FAMILIES[kind]).answers
    assert {name: answers[name].verdict for name in ("untouched", "watched", "weights")} == dict.fromkeys(
        ("untouched", "watched", "weights"), "exact"
    )


@pytest.mark.parametrize("kind", ["glmasr", "qwen2_audio"])
def test_a_checkpoint_that_leaves_embeddings_random_is_refused(kind: str) -> None:
    sheet = ask(FAMILIES[kind])
    assert sheet.answers["load"].verdict == "refused"
    assert "which would be random" in sheet.answers["load"].note
