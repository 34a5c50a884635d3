"""Instances to look at: words shaded by each explanation, and whole texts under the model's own attention and the
adversary's.

The strongest word of a line has the full shade, whatever its number; a number can be read by pointing at the word.
Explanations with a sign (integrated gradients) have two shades: for the predicted label, and against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from attlas.ids import Stream
from attlas.pages import Row, Tables, say
from attlas.pages.html import tag
from attlas.store.schema import KINDS, is_known
from attlas.studies.shared.faith.pairs import Pair, Shown, pairs_html
from attlas.views import scene

WORDS = {
    "weight": "weights", "norm": "norms", "rollout": "rollout", "gradient": "gradients",
    "integrated gradients": "integrated gradients", "leave-one-out": "leave-one-out", "position": "position",
    "random": "random order", "own": "own weights", "adversary": "adversary’s weights",
}  # fmt: skip
PLACES = ("text", "place", "word", "spelled")


def shaded(tables: Tables) -> Markup | None:
    """All examples, each with its lines; what is known of an instance stands above it.

    >>> from attlas.store import Manifest, Result
    >>> rows = {"text": [0] * 3, "place": [None] * 3, "word": [0, 1, 2], "spelled": [*"a<b"], "weight": [0.1, 0.5, 1]}
    >>> html = shaded(Tables(Result(Manifest("faith"), {"examples": rows})))
    >>> html.count("<figure"), "&lt;" in html
    (1, True)
    """
    examples = tables["examples"]
    if not examples:
        return None
    known = {(row["text"], row.get("place")): row for row in tables["instances"]}
    grouped: dict[tuple[Any, Any], list[Row]] = {}
    for row in examples:
        grouped.setdefault((row["text"], row.get("place")), []).append(row)
    signed = any(is_known(row[name]) and row[name] < 0 for row in examples for name in _explanations([row]))
    signs = [("", "much")] + ([("against", "much, against the predicted label")] if signed else [])
    signs += [("asked", "the word that is explained")] if any(place is not None for _, place in grouped) else []
    key = [tag("span", tag("i", class_=f"faith-swatch {name}"), " ", text) for name, text in signs]
    figures = [_example(place, rows, known.get(place)) for place, rows in grouped.items()]
    return Markup("").join([tag("p", *key, class_="key"), *figures])


def shades(values: Sequence[float | None]) -> list[float]:
    """Numbers from -1 to 1 in proportion to what was given, the strongest with 1; what is missing has 0."""
    kept = [value if value is not None and is_known(value) else 0.0 for value in values]
    top = max((abs(value) for value in kept), default=0.0)
    return [value / top if top else 0.0 for value in kept]


def pictures(tables: Tables) -> Markup | None:
    """The texts whose whole attention was kept, the model's own beside the adversary's."""
    known = {(row["text"], row["place"]): row for row in tables["instances"]}
    return pairs_html(
        [_picture(row, known.get((row["text"], row["place"]), {}), tables.model) for row in tables["shown"]]
    )


def _example(place: tuple[Any, Any], rows: Sequence[Row], instance: Row | None) -> Markup:
    ordered = sorted(rows, key=lambda row: row["word"])
    lines = [
        tag("tr", tag("th", WORDS.get(name, name), scope="row"), tag("td", _line(ordered, name, place[1])))
        for name in _explanations(ordered)
        if any(is_known(row[name]) for row in ordered)
    ]
    table = tag("div", tag("table", tag("tbody", *lines)), class_="faith-lines")
    return tag("figure", tag("figcaption", _caption(place, ordered, instance)), table, class_="faith-example")


def _caption(place: tuple[Any, Any], rows: Sequence[Row], instance: Row | None) -> Markup:
    word = next((str(row["spelled"]) for row in rows if row["word"] == place[1]), "")
    caption = Markup.escape(f"Text {place[0] + 1}" + (f", the tag of “{word}”" if place[1] is not None else ""))
    if instance is None:
        return caption
    right = "rightly" if instance["right"] else f"it is {instance['label']}"
    caption += str(say(": predicted {predicted} ({confidence:share}), {right}", **{**instance, "right": right}))
    if is_known(instance.get("adversary_jsd")):
        said = "adversary: JSD {adversary_jsd:number} from the model’s own attention, TVD {adversary_tvd:number}"
        caption += Markup(" ") + tag("small", say(said, **instance).html())
    return caption


def _line(rows: Sequence[Row], name: str, asked: Any) -> Markup:
    words = []
    for row, shade in zip(rows, shades([row[name] for row in rows]), strict=True):
        classes = " ".join((["against"] if shade < 0 else []) + (["asked"] if row["word"] == asked else []))
        value = KINDS["number"].write(row[name], None) if is_known(row[name]) else "none"
        style = f"--s:{abs(100 * shade):.0f}%"
        words.append(tag("span", str(row["spelled"]), class_=classes or None, style=style, title=value))
    return Markup(" ").join(words)


def _explanations(rows: Sequence[Row]) -> list[str]:
    """The columns that are explanations, in the order in which they are known; own weights and the adversary's last,
    or where the model's own are the weights of the first line, the adversary's next to it."""
    given = [name for name in rows[0] if name not in PLACES and not isinstance(rows[0][name], str)]
    names = [*(name for name in WORDS if name in given), *(name for name in given if name not in WORDS)]
    if {"weight", "own", "adversary"} <= set(names) and all(
        is_known(row["weight"]) and is_known(row["own"]) and abs(row["weight"] - row["own"]) < 1e-4 for row in rows
    ):
        return ["weight", "adversary", *(name for name in names if name not in ("weight", "own", "adversary"))]
    return names


def _picture(row: Row, told: Row, name: str) -> Shown:
    reading = scene.Sequence(
        tuple(row["pieces"]), tuple(row["piece_words"]), tuple(row["piece_documents"]), tuple(row["spelled"])
    )
    layers, pieces = tuple(row["layers"]), reading.length
    scenes = []
    for column, title in (("own", f"{name}, its own attention"), ("adversary", "adversary")):
        weights = np.frombuffer(row[column], "<f4").reshape(len(layers), row["heads"], pieces, pieces)
        strand = scene.Strand(Stream(row["stream"]), reading, reading, weights, layers=layers)
        scenes.append(scene.Scene(title, (" ".join(row["spelled"]),), (strand,)))
    selection = {
        "view": "head", "unit": "word", "stream": row["stream"], "layer": layers[-1], "query": row["rows"][0],
    }  # fmt: skip
    words = [tag("mark", word) if at == row["place"] else word for at, word in enumerate(row["spelled"])]
    note = say(
        "predicted{label} ({confidence:share}; under the adversary {adversary_confidence:share}{right}); attention "
        "moved by JSD {jsd:number}, the output by TVD {tvd:number}",
        **{**row, "label": say(" **{predicted}**", **told) if told else "",
           "right": "" if told.get("right") in (None, True) else say(", it is {label}", **told)},
    )  # fmt: skip
    return Shown(Markup(" ").join(words), note.html(), (Pair("show", (scenes[0], scenes[1]), selection),))
