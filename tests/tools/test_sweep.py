"""The sweep: it builds families by rules, calls a fault of the seam wrong, and tells refusals from tracebacks."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attlas.models import seam
from tools.sweep.answers import EXACT, NOT_ASKED, REFUSED, TRACEBACK, WRONG, Answer, answered, distance, worst_of
from tools.sweep.building import build, tiny_config, twin_of
from tools.sweep.families import Family, frozen
from tools.sweep.page import PAGE, REAL, TABLE, page, rows_of
from tools.sweep.questions import ask
from tools.sweep.truth import cases_for, truth_of

FAMILIES = {family.kind: family for family in frozen()}
NAMED = (
    "deepseek_v32", "glm_moe_dsa", "minimax_m3_vl_text", "diffllama", "t5gemma2", "big_bird", "longt5",
    "pegasus_x", "led", "longformer", "prophetnet", "xlnet", "funnel", "reformer", "mra", "yoso", "bloom", "xglm",
    "fsmt", "mvp", "trocr", "deberta-v2", "llama4", "qwen3_5", "qwen3_5_moe", "gemma3n", "emu3", "blt", "gemma4",
)  # fmt: skip


def test_the_list_is_frozen_and_holds_the_families_that_were_named() -> None:
    assert len(FAMILIES) == len(frozen()) == 282
    assert set(NAMED) <= set(FAMILIES)


def test_the_page_is_that_of_the_tables_and_nothing_is_wrong_in_them() -> None:
    families = rows_of(TABLE)
    assert PAGE.read_text(encoding="utf-8") == page(families, rows_of(REAL))
    assert [row["family"] for row in families] == list(FAMILIES)
    assert [row["family"] for row in families if row["class"] in ("wrong", "traceback")] == []
    seen = [row for row in families if row["class"] in ("exact", "fallback")]
    assert len(seen) >= 240
    assert all(f"| {row['family']} | {row['model']} |" in PAGE.read_text(encoding="utf-8") for row in families)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "qwen3_next", "t5", "gemma4_text"])
def test_a_family_is_built_tiny_and_far_from_uniform(kind: str) -> None:
    model = build(FAMILIES[kind])
    assert sum(parameter.numel() for parameter in model.parameters()) < 200_000
    case = cases_for(model)[0]
    weights = truth_of(twin_of(model, "eager"), case).weights
    assert weights
    for layers in weights.values():
        assert all(float(layer[0, :, -1].max(-1).values.mean()) > 2 / layer.shape[-1] for layer in layers)


def test_texts_are_longer_than_windows_and_every_kind_of_layer_stays() -> None:
    config = tiny_config(FAMILIES["gemma3_text"])
    assert set(config.layer_types) == {"sliding_attention", "full_attention"}
    longest = cases_for(build(FAMILIES["gemma3_text"]))[0].own.shape[1]
    assert config.sliding_window < longest / 2
    assert tiny_config(FAMILIES["deepseek_v32"]).index_topk < longest / 2


def test_a_model_and_its_twin_have_the_same_weights() -> None:
    model = build(FAMILIES["bert"])
    assert all(
        torch.equal(a, b) for a, b in zip(model.parameters(), twin_of(model, "eager").parameters(), strict=True)
    )


def test_a_sound_family_is_exact_in_all_it_is_asked() -> None:
    sheet = ask(FAMILIES["llama"])
    assert {name: answer for name, answer in sheet.answers.items() if answer.verdict != EXACT} == {}
    assert (sheet.kind, sheet.way) == ("exact", "seam")
    assert set(sheet.answers) >= {"untouched", "watched", "weights", "gates", "norms", "generation", "doctor", "load"}


def test_a_fault_that_is_planted_in_the_seam_is_called_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = seam.AttentionCall.scores

    def blunter(call: Any, rows: slice = slice(None)) -> torch.Tensor:
        return scores(call, rows).mul(0.9)

    monkeypatch.setattr(seam.AttentionCall, "scores", blunter)
    sheet = ask(FAMILIES["bert"])
    assert sheet.kind == "wrong"
    assert sheet.answers["weights"].verdict == WRONG
    assert sheet.answers["weights"].number is not None
    assert sheet.answers["weights"].number > 1e-3
    assert sheet.answers["untouched"].verdict == EXACT


def test_a_family_without_attention_is_refused_and_left_as_it_was() -> None:
    sheet = ask(FAMILIES["fnet"])
    assert sheet.kind == "refused"
    assert "no attention was found" in sheet.answers["adopt"].note
    assert sheet.answers["untouched"].verdict == EXACT


def test_what_cannot_be_built_says_why() -> None:
    sheet = ask(Family("bert", "NoSuchModel"))
    assert sheet.kind == "not built"
    assert "NoSuchModel" in sheet.reason


def test_a_mistake_of_our_own_is_a_traceback_and_a_sentence_is_none() -> None:
    from attlas.errors import CapabilityError

    def mistake() -> Answer:
        raise KeyError("site")

    def sentence() -> Answer:
        raise CapabilityError("it has no decoder")

    assert answered(mistake).verdict == TRACEBACK
    assert answered(sentence) == Answer(REFUSED, None, "it has no decoder")


def test_the_worst_answer_is_told() -> None:
    given = [Answer(EXACT, 1e-7), Answer(WRONG, 0.1), Answer(NOT_ASKED), Answer(WRONG, 0.3)]
    assert worst_of(given).number == 0.3
    assert worst_of([Answer(EXACT, 1e-7), Answer(NOT_ASKED)]).verdict == NOT_ASKED
    assert distance(torch.ones(2), torch.ones(3)) == float("inf")
    assert distance(torch.tensor([float("nan")]), torch.ones(1)) == float("inf")
