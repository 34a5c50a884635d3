"""Words shaded by how much an explanation gives them: one line for each explanation, the same words in each.

The strongest word of a line has the full shade, whatever its number; a number can be read by pointing at the word.
Explanations with a sign (integrated gradients) have two shades: for the predicted label, and against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from attlas.reports.faith_findings import WORDS
from attlas.reports.findings import is_number, number

Row = Mapping[str, Any]

PLACES = ("text", "place", "word", "spelled")


def styles() -> str:
    """The styles of both pages on attention as explanation.

    >>> styles().startswith("<style>")
    True
    """
    folder = files("attlas.reports").joinpath("static")
    return f"<style>{folder.joinpath('faith.css').read_text(encoding='utf-8')}</style>"


def examples_html(examples: Sequence[Row], instances: Sequence[Row]) -> str:
    """All examples, each with its lines; what is known of an instance stands above it.

    >>> rows = [{"text": 0, "place": None, "word": k, "spelled": w, "weight": k / 2} for k, w in enumerate("a<b")]
    >>> shown = examples_html(rows, [])
    >>> shown.count("<figure"), "&lt;" in shown
    (1, True)
    """
    known = {(row["text"], row.get("place")): row for row in instances}
    grouped: dict[tuple[Any, Any], list[Row]] = {}
    for row in examples:
        grouped.setdefault((row["text"], row.get("place")), []).append(row)
    asked = any(place is not None for _, place in grouped)
    signed = any(is_number(row[name]) and row[name] < 0 for row in examples for name in _explanations([row]))
    figures = "".join(_example(place, rows, known.get(place)) for place, rows in grouped.items())
    return key(asked=asked, signed=signed) + figures


def key(*, asked: bool, signed: bool) -> str:
    """What the shades mean.

    >>> key(asked=False, signed=False).count("<span")
    1
    """
    signs = [("", "much"), ("against", "much, against the predicted label"), ("asked", "the word that is explained")]
    kept = [
        sign for sign in signs if sign[0] == "" or (sign[0] == "asked" and asked) or (sign[0] == "against" and signed)
    ]
    return (
        '<p class="key">'
        + "".join(f'<span><i class="faith-swatch {name}"></i> {text}</span>' for name, text in kept)
        + "</p>"
    )


def shades(values: Sequence[float | None]) -> list[float]:
    """Numbers from -1 to 1 in proportion to what was given, the strongest with 1; what is missing has 0.

    >>> shades([0.1, -0.2, None])
    [0.5, -1.0, 0.0]
    """
    kept = [value if value is not None and is_number(value) else 0.0 for value in values]
    top = max((abs(value) for value in kept), default=0.0)
    return [value / top if top else 0.0 for value in kept]


def _example(place: tuple[Any, Any], rows: Sequence[Row], instance: Row | None) -> str:
    rows = sorted(rows, key=lambda row: row["word"])
    lines = "".join(
        f'<tr><th scope="row">{escape(WORDS.get(name, name))}</th><td>{_line(rows, name, place[1])}</td></tr>'
        for name in _explanations(rows)
        if any(is_number(row[name]) for row in rows)
    )
    return (
        f'<figure class="faith-example"><figcaption>{_caption(place, rows, instance)}</figcaption>'
        f'<div class="faith-lines"><table><tbody>{lines}</tbody></table></div></figure>'
    )


def _caption(place: tuple[Any, Any], rows: Sequence[Row], instance: Row | None) -> str:
    said = f"Text {place[0] + 1}"
    if place[1] is not None:
        word = next((str(row["spelled"]) for row in rows if row["word"] == place[1]), "")
        said += f", the tag of “{escape(word)}”"
    if instance is None:
        return said
    right = "rightly" if instance["right"] else f"it is {escape(str(instance['label']))}"
    said += f": predicted {escape(str(instance['predicted']))} ({number(instance['confidence'])}), {right}"
    if is_number(instance.get("adversary_jsd")):
        said += (
            f" <small>adversary: JSD {number(instance['adversary_jsd'])} from the model’s own attention, "
            f"output moved "
            f"by {number(instance['adversary_tvd'])}</small>"
        )
    return said


def _line(rows: Sequence[Row], name: str, asked: Any) -> str:
    words = []
    for row, shade in zip(rows, shades([row[name] for row in rows]), strict=True):
        classes = " ".join((["against"] if shade < 0 else []) + (["asked"] if row["word"] == asked else []))
        kind = f' class="{classes}"' if classes else ""
        value = number(row[name]) if is_number(row[name]) else "none"
        words.append(
            f'<span{kind} style="--s:{abs(100 * shade):.0f}%" title="{value}">{escape(str(row["spelled"]))}</span>'
        )
    return " ".join(words)


def _explanations(rows: Sequence[Row]) -> list[str]:
    """The columns that are explanations, in the order in which they are known; own weights and the adversary's last,
    or where the model's own are the weights of the first line, the adversary's next to it."""
    names = [name for name in rows[0] if name not in PLACES and not isinstance(rows[0][name], str)]
    order = list(WORDS)
    names.sort(key=lambda name: order.index(name) if name in order else len(order))
    if {"weight", "own", "adversary"} <= set(names) and all(_close(row["weight"], row["own"]) for row in rows):
        rest = [name for name in names if name not in ("weight", "own", "adversary")]
        return ["weight", "adversary", *rest]
    return names


def _close(one: float | None, other: float | None) -> bool:
    return is_number(one) and is_number(other) and abs((one or 0.0) - (other or 0.0)) < 1e-4
