"""Figures to publish: caption, ground and width, and PDF from nothing but what the viewer drew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from scenes import page, scene
from serving import ask, running

from attlas.errors import TextError
from attlas.views.notebook import answer
from attlas.views.payload import pack
from attlas.views.publishing import as_pdf

if TYPE_CHECKING:
    from playwright.sync_api import Page

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40">{}</svg>'
BAD = {
    "a file": '<image href="file:///etc/hostname"/>',
    "an address": '<image href="http://127.0.0.1/"/>',
    "an old link": '<image xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="/etc/hostname"/>',
    "another svg": '<image href="data:image/svg+xml;base64,AAAA"/>',
    "a use": '<use href="#a"/>',
    "a script": "<script>1</script>",
    "a style": "<style>@import url(http://x/)</style>",
    "a foreign thing": "<foreignObject/>",
    "a fill": '<rect fill="url(http://x/#a)"/>',
    "a style of one": '<text style="font:url(file:///a)">a</text>',
    "no markup": "<",
    "html": '<p xmlns="http://www.w3.org/1999/xhtml">a</p>',
}


def test_a_figure_becomes_pdf() -> None:
    assert as_pdf(SVG.format('<text x="5" y="20" fill="#000" style="font:12px sans-serif">he</text>')).startswith(
        b"%PDF-"
    )


@pytest.mark.parametrize("what", BAD)
def test_whatever_the_viewer_does_not_draw_is_refused(what: str) -> None:
    with pytest.raises(TextError):
        as_pdf(SVG.format(BAD[what]))


@pytest.mark.parametrize(
    "before", ['<?xml version="1.0"?>', '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/hostname">]>']
)
def test_declarations_are_refused(before: str) -> None:
    with pytest.raises(TextError, match="no declarations"):
        as_pdf(before + SVG.format(""))


def test_a_notebook_makes_pdf_and_says_why_not() -> None:
    payload = pack([])
    made = answer(payload, {"want": "pdf", "svg": SVG.format(""), "ticket": "a"})
    assert made is not None
    assert made[1][0].startswith(b"%PDF-")
    refused = answer(payload, {"want": "pdf", "svg": SVG.format(BAD["a file"]), "ticket": "a"})
    assert refused is not None
    assert "lies outside of it" in refused[0]["error"]


def saved(shown: Page, button: str, folder: Path) -> Path:
    with shown.expect_download() as waiting:
        shown.locator(button).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


@pytest.mark.browser
def test_figures_have_a_caption_and_a_ground_and_the_width_of_a_column(
    open_page: Callable[..., Page], tmp_path: Path
) -> None:
    shown = open_page(page([scene()], heads=[1]), "query=2&theme=dark")

    def drawn(path: Path) -> tuple[float, list[ElementTree.Element], list[str]]:
        tree = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        words = [str(node.text) for node in tree.iter("{http://www.w3.org/2000/svg}text")]
        return float(tree.get("width", "0")), list(tree), words

    width, parts, words = drawn(saved(shown, "[data-action=svg]", tmp_path))
    assert width > 1000, "as wide as on the screen"
    assert parts[0].get("fill") == "#ffffff", "white, though the page is dark"
    caption = " ".join(words[words.index(next(word for word in words if word.startswith("a model, "))) :])
    assert caption == "a model, head 1-2: attention weight α. Text: “The farmer played.” / “She slept”"

    shown.locator("[data-action=figure]").click()
    assert "PDF is offered where Python is behind the page" in shown.locator(".attlas-figure").inner_text()
    shown.locator(".attlas-figure [name=width]").select_option("column")
    shown.locator(".attlas-figure [name=ground]").select_option("transparent")
    shown.locator(".attlas-figure [name=caption]").fill("Figure 1: <he> & she")
    width, parts, words = drawn(saved(shown, "[data-save=svg]", tmp_path))
    assert width == pytest.approx(85 / 25.4 * 96, abs=20)
    assert parts[0].tag.endswith("text"), "nothing lies under the drawing"
    assert words[-1] == "Figure 1: <he> & she"
    shown.locator(".attlas-figure [name=caption]").fill("")
    assert drawn(saved(shown, "[data-save=svg]", tmp_path))[2] == words[:-1]
    assert saved(shown, "[data-save=png]", tmp_path).read_bytes().startswith(b"\x89PNG")
    assert shown.locator("[data-save=pdf]").count() == 0


def test_the_server_makes_pdf_for_those_it_knows_alone() -> None:
    with running() as server:
        figure = SVG.format("<rect width='9' height='9'/>").encode()
        assert ask(server, "/api/pdf", method="POST", body=figure, token="").status == 403
        made = ask(server, "/api/pdf", method="POST", body=figure)
        assert (made.status, made.body[:5]) == (200, b"%PDF-")
        refused = ask(server, "/api/pdf", method="POST", body=SVG.format(BAD["a file"]).encode())
        assert refused.status == 422
        assert "lies outside of it" in json.loads(refused.body)["error"]
        assert ask(server, "/api/pdf", method="POST", body=b"\xff\xfe").status == 422
