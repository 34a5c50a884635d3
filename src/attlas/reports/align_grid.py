"""Sentence pairs as grids of words: source words across, target words down, gold links as squares, others as dots.

The grid is drawn by a small script of its own, which lies in the page with the links of all pairs that are shown. The
pair and the alignment are chosen from two lists; what the grid shows is also said in words below it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from attlas.reports.findings import is_number
from attlas.reports.page import Section

LEAD = """<p>Source words stand above, target words to the left. {gold} a dot is a link that the alignment gives.
Choose another pair or another alignment (with the arrow keys too); point at a place to see which words meet
there.</p>"""
GOLD = "A filled square is a sure link of the gold alignment, an outlined one a possible link;"
FIRST = 12  # words of the pair that is shown first, or as near to that as there is
KEY = {
    "sure": '<rect class="sure" x="1.5" y="1.5" width="13" height="13" rx="2"/>',
    "possible": '<rect class="possible" x="2" y="2" width="12" height="12" rx="2"/>',
    "given by the alignment": '<circle class="found" cx="8" cy="8" r="4.5"/>',
}


def shown_pairs(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the grid's script reads: the names of alignments, and per pair its words, gold and each alignment's links.

    >>> row = {"pair": 3, "source": '["a"]', "target": '["b"]', "sure": "0-0", "possible": "", "method": "norm"}
    >>> shown_pairs([{**row, "predicted": "0-0", "aer": 0.0}])["pairs"][0]["found"]
    {'norm': ['0-0', 0.0]}
    """
    pairs: dict[int, dict[str, Any]] = {}
    for row in rows:
        pair = pairs.setdefault(
            row["pair"],
            {
                "pair": row["pair"],
                "source": json.loads(row["source"]),
                "target": json.loads(row["target"]),
                "sure": row["sure"],
                "possible": row["possible"],
                "found": {},
            },
        )
        error = row["aer"]
        pair["found"][row["method"]] = [row["predicted"], round(error, 4) if is_number(error) else None]
    kept = list(pairs.values())
    first = min(range(len(kept)), key=lambda at: abs(len(kept[at]["source"]) - FIRST), default=0)
    return {"methods": list(dict.fromkeys(row["method"] for row in rows)), "pairs": kept, "first": first}


def grid_section(shown: Mapping[str, Any]) -> Section | None:
    """The section with the two lists and the place of the grid; None where there is no pair to show.

    >>> grid_section({"methods": [], "pairs": []}) is None
    True
    """
    if not shown["pairs"]:
        return None
    gold = any(pair["sure"] is not None for pair in shown["pairs"])
    signs = {name: sign for name, sign in KEY.items() if gold or name == "given by the alignment"}
    key = "".join(
        f'<span><svg class="sign" width="16" height="16" aria-hidden="true">{sign}</svg> {escape(name)}</span>'
        for name, sign in signs.items()
    )
    body = f"""<style>{_static("alignment.css")}</style>
<div id="alignment"><div class="choose">
<label>pair <select id="alignment-pair"></select></label>
<label>alignment <select id="alignment-method"></select></label>
<span><button type="button" id="alignment-before">Pair before</button>
<button type="button" id="alignment-after">Next pair</button></span></div>
<p class="key">{key}</p>
<div class="scroll" tabindex="0" role="region" aria-label="Alignment grid"><div id="alignment-grid"></div></div>
<p id="alignment-here" class="note" aria-hidden="true">&nbsp;</p>
<div id="alignment-said" class="note" aria-live="polite"></div></div>"""
    return Section(
        "pairs", "Pair by pair", LEAD.format(gold=GOLD if gold else "Here there is no gold:"), body, (), "Pairs"
    )


def grid_script() -> str:
    """The script that draws the grid, to stand at the end of the page.

    >>> grid_script().startswith("<script>")
    True
    """
    return f"<script>\n{_static('alignment.js')}</script>"


def _static(name: str) -> str:
    return files("attlas.reports").joinpath("static").joinpath(name).read_text(encoding="utf-8")
