"""Hybrids: layers of attention and the blocks of the model that they are, wherever layers are shown."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from rich.console import Console
from torch import nn

import attlas
from attlas.capture import Subject
from attlas.cli.doctor import show
from attlas.ids import Stream
from attlas.models.sites import find_sites
from attlas.pages.markdown import markdown_page
from attlas.pages.terminal import as_json, print_page
from attlas.store import Result
from attlas.studies import studies
from attlas.views.payload import pack
from tools.sweep.building import build
from tools.sweep.families import frozen
from tools.sweep.questions import tokenizer

if TYPE_CHECKING:
    from playwright.sync_api import Page

FAMILIES = {family.kind: family for family in frozen()}
BLOCKS = {
    "jamba": (1,), "bamba": (1,), "qwen3_next": (1,), "zamba": (1, 3), "zamba2": (1, 3), "nemotron_h": (2,),
    "recurrent_gemma": (2,), "minimax": (0, 2), "lfm2_moe": (1,), "granitemoehybrid": (1,),
}  # fmt: skip
SAID = "layers 1 and 2 are its blocks 2 and 4"


def hybrid(kind: str) -> Subject:
    return Subject.of(build(FAMILIES[kind]), tokenizer(), kind)


@pytest.mark.parametrize("kind", BLOCKS)
def test_layers_of_hybrids_know_their_blocks(kind: str) -> None:
    subject = hybrid(kind)
    assert subject.blocks(Stream.DECODER) == BLOCKS[kind]
    assert subject.describe()["streams"]["decoder"]["blocks"] == list(BLOCKS[kind])
    names = {module: name for name, module in subject.model.named_modules()}
    for module, sites in subject.layout.modules.items():  # as the names of the library have it
        if len(sites) == 1:
            number = next(part for part in names[module].split(".") if part.isdigit())
            assert int(number) == subject.layout.blocks[sites[0]]


@pytest.mark.parametrize("kind", ["falcon_h1", "albert", "t5", "hrm_text", "gemma4_text", "bert"])
def test_other_models_have_no_numbers_beside_those_of_layers(kind: str) -> None:
    assert not hybrid(kind).layout.blocks


def test_the_hooks_that_find_blocks_leave_no_trace() -> None:
    model = build(FAMILIES["jamba"])
    ids = torch.arange(3, 20)[None]
    with torch.no_grad():
        before = model(ids).logits
    subject = Subject.of(model, tokenizer(), "jamba")
    inputs = {"input_ids": torch.arange(3, 10)[None]}
    find_sites(subject.model, inputs)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    with torch.no_grad():
        assert torch.equal(model(ids).logits, before)


def test_what_a_block_says_is_left_as_it_is() -> None:
    """The hook at a block's end must not change what the block says, whatever its number."""

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Identity(), nn.Linear(2, 2)])
            self.seen: list[torch.Tensor] = []

        def forward(self, input: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                input = layer(input)
            self.seen.append(input)
            return input

    model, given = Plain(), torch.ones(1, 2)
    expected = model.layers[1](given)
    with pytest.raises(attlas.errors.CapabilityError, match="no attention was found"):
        find_sites(model, {"input": given})
    assert all(torch.equal(seen, expected) for seen in model.seen)


@pytest.fixture(scope="module")
def result() -> Result:
    return attlas.survey(hybrid("zamba"), "sample", limit=2)


def test_results_tell_blocks_in_words_and_tables(result: Result) -> None:
    page = studies()["survey"].load_page()
    console = Console(file=io.StringIO(), width=120)
    print_page(page, result, console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert SAID in " ".join(console.file.getvalue().split())
    at = next(number for number, line in enumerate(lines) if line.split()[:2] == ["head", "block"])
    rows = [line.split()[:2] for line in lines[at + 1 :] if re.match(r"\s*\d+-\d+ ", line)]  # portraits may wrap
    assert len(rows) >= 8
    for label, block in rows[:8]:
        assert int(block) == {"1": 2, "2": 4}[label.split("-")[0]]
    assert SAID in markdown_page(page, [(result, "attlas survey")], title="Hybrids")
    assert as_json(page, result)["blocks"] == {"decoder": [1, 3]}
    assert "block" in result.to_latex("portraits").splitlines()[2]


def test_the_page_tells_blocks(result: Result, tmp_path: Path, open_report: Callable[[Path], Page]) -> None:
    page = open_report(result.save(tmp_path / "out"))
    assert SAID in page.locator("main p.note").first.inner_text()
    drawn = page.locator("figure[data-figure=places] svg").first
    texts = drawn.locator("text").all_text_contents()
    assert {"layer (block)", "1 (2)", "2 (4)"} <= set(texts)


def test_the_doctor_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    show(hybrid("zamba"), [])
    assert "decoder 2 x 4 (blocks 2, 4)" in capsys.readouterr().out


def test_views_are_told_them() -> None:
    capture = hybrid("zamba").look("the farmer slept", layers="2")
    (strand,) = pack([capture.scene()]).header["scenes"][0]["strands"]
    assert (strand["layers"], strand["blocks"]) == ([1], [3])
