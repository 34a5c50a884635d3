"""Sentences under the original's attention and an adversary's, for the head view inside the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from attlas.ids import Stream
from attlas.pages import Prose, Row, Tables, listed, say
from attlas.studies.shared.faith.pairs import Matrix, Pair, Shown, most_apart, pairs_html
from attlas.views import scene


def sentences(tables: Tables) -> Markup | None:
    """The sentences, with the tags that each adversary gives otherwise.

    >>> from attlas.store import Manifest, Result
    >>> sentences(Tables(Result(Manifest("faith-chunking"), {"models": {"kind": ["original"]}}))) is None
    True
    """
    words: dict[Any, list[Row]] = {}
    for row in tables["sentences"]:
        words.setdefault(row["sentence"], []).append(row)
    attention = _matrices(tables["examples"], {name: len(rows) for name, rows in words.items()})
    return pairs_html(
        [
            _sentence(sorted(rows, key=lambda row: int(row["word"])), attention[name])
            for name, rows in words.items()
            if 0.0 in attention.get(name, {})
        ]
    )


def _matrices(rows: Sequence[Row], lengths: Mapping[Any, int]) -> dict[Any, dict[float, Matrix]]:
    """Attention (head, query, key) by sentence and weight of the adversary; 0 is the original."""
    heads = 1 + max((row["head"] for row in rows), default=0)
    attention: dict[Any, dict[float, Matrix]] = {}
    for row in rows:
        size = lengths.get(row["sentence"], 0)
        matrices = attention.setdefault(row["sentence"], {})
        matrix = matrices.setdefault(float(row["weight"] or 0), np.zeros((heads, size, size), np.float32))
        if max(row["query"], row["key"]) < size:
            matrix[row["head"], row["query"], row["key"]] = row["value"]
    return attention


def _sentence(words: Sequence[Row], attention: Mapping[float, Matrix]) -> Shown:
    spelled = tuple(str(row["spelled"]) for row in words)
    count = len(spelled)
    reading = scene.Sequence(spelled, tuple(range(count)), (0,) * count, spelled)
    text = " ".join(spelled)
    own = attention[0.0]

    def shown(title: str, weights: Matrix) -> scene.Scene:
        return scene.Scene(title, (text,), (scene.Strand(Stream.ENCODER, reading, reading, weights[None]),))

    pairs, notes = [], []
    for weight in sorted(key for key in attention if key):
        other = attention[weight]
        label = f"λ = {weight:g}"
        selection = {"view": "head", "unit": "word", "layer": 0, "query": most_apart(own, other)}
        pairs.append(Pair(label, (shown("original", own), shown(f"adversary, {label}", other)), selection))
        column = f"adversary {weight:g}"
        if column in words[0]:
            differing = [row for row in words if row[column] != row["original"]]
            notes.append(say("{label}: {tags}", label=label, tags=_tags(differing, column, count)).html())
    return Shown(Markup.escape(text), Markup("<br>").join(notes), tuple(pairs))


def _tags(differing: Sequence[Row], column: str, count: int) -> Prose:
    """Which tags are others than the original's, in words."""
    if not differing:
        return say("all {count} tags as the original’s", count=count)
    told = [
        say("{spelled} *{tag}* (original {original}{gold})", spelled=row["spelled"], tag=row[column],
            original=row["original"], gold="" if row["gold"] == row["original"] else f", gold {row['gold']}")
        for row in differing
    ]  # fmt: skip
    said = "{many} of {count} tags are others: {told}"
    return say(said, many=len(differing), count=count, told=listed(told, between="; "))
