"""Sentence pairs as grids of words: source words across, target words down, gold links as squares, others as dots.

The grid is drawn by a small script of its own, which reads the links of all pairs that are shown from the page. The
pair and the alignment are chosen from two lists; what the grid shows is also said in words below it.
"""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from attlas.pages import Rows, Tables
from attlas.pages.html import drawable, tag
from attlas.store.schema import is_known
from attlas.views.page import script_json

STATIC = ("alignment.css", "alignment.js")
FIRST = 12  # words of the pair that is shown first, or as near to that as there is
_SIGNS = {
    "sure": tag("rect", class_="sure", x=1.5, y=1.5, width=13, height=13, rx=2),
    "possible": tag("rect", class_="possible", x=2, y=2, width=12, height=12, rx=2),
    "given by the alignment": tag("circle", class_="found", cx=8, cy=8, r=4.5),
}


def _shown_pairs(rows: Rows) -> dict[str, Any]:
    """What the grid's script reads: names of alignments, and per pair its words, gold and each alignment's links."""
    pairs = []
    for number, alignments in rows.by("pair"):
        row = alignments[0]
        links = {
            each["method"]: [each["predicted"], round(each["aer"], 4) if is_known(each["aer"]) else None]
            for each in alignments
        }
        words = {"source": json.loads(row["source"]), "target": json.loads(row["target"])}
        pairs.append({"pair": number, **words, "sure": row["sure"], "possible": row["possible"], "found": links})
    first = min(range(len(pairs)), key=lambda at: abs(len(pairs[at]["source"]) - FIRST), default=0)
    return {"methods": rows.values("method"), "pairs": pairs, "first": first}


def grid(tables: Tables) -> Markup | None:
    """The two lists, the place of the grid, and the data that its script draws; None without a pair to show."""
    if "pairs" not in tables:
        return None
    gold = any(row["sure"] is not None for row in tables["pairs"])
    signs = [name for name in _SIGNS if gold or name.startswith("given")]
    key = [
        tag("span", tag("svg", _SIGNS[name], class_="sign", width=16, height=16, aria_hidden="true"), " ", name)
        for name in signs
    ]
    shown = Markup(script_json(drawable(_shown_pairs(tables["pairs"]))))
    steps = [("before", "Pair before"), ("after", "Next pair")]
    buttons = [tag("button", name, type="button", id=f"alignment-{step}") for step, name in steps]
    lists = [tag("label", f"{what} ", tag("select", id=f"alignment-{key_}"))
             for key_, what in (("pair", "pair"), ("method", "alignment"))]  # fmt: skip
    return tag(
        "div",
        tag("div", *lists, tag("span", *buttons), class_="choose"),
        tag("p", *key, class_="key"),
        tag("div", tag("div", id="alignment-grid"), class_="scroll", tabindex="0", role="region",
            aria_label="Alignment grid"),
        tag("p", "\u00a0", id="alignment-here", class_="note", aria_hidden="true"),
        tag("div", id="alignment-said", class_="note", aria_live="polite"),
        tag("script", shown, type="application/json", id="alignment-data"),
        id="alignment",
    )  # fmt: skip
