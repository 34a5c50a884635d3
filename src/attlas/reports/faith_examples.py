"""The same sentence under two kinds of attention, side by side in the head view, inside a report.

A result of ``attlas faith`` has instances with their adversaries in the table ``shown``; one of ``attlas faith
chunking`` has sentences (``sentences``) and the attention of several models on them (``examples``). Either becomes a
list of sentences, each with a button for every adversary, above a place where the viewer shows both and their
difference; the first pair is there at once.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.reports.findings import is_number, number
from attlas.views.gallery import gallery, open_button, showcase
from attlas.views.scene import Scene, Sequence, Strand

if TYPE_CHECKING:
    from attlas.store import Result

Row = Mapping[str, Any]
Matrix = NDArray[np.float32]

_READ = """Lines run from a query on the left to its keys on the right, coloured by head; to the right stands the
difference (blue: more in A, orange: more in B). Press <kbd>?</kbd> in the picture for all keys."""
LEADS = {
    "faith": f"""A is the model’s own attention, B what was found that gives the same answer. {_READ} Picked out is
    the query that the answer is read from: in the last layer only such rows were free, its others are the
    same in A and B.""",
    "faith-chunking": f"""A is the attention of the original model, B that of a whole model trained to agree with it
    in its tags and not in its attention; the larger λ, the more. {_READ} Picked out is the word whose rows are
    farthest apart; click another word to see its own.""",
}
_PLACE = "same-sentence"
_KNOWN = ("sentence", "word", "spelled", "gold", "original")


class Pair(NamedTuple):
    """Two scenes to compare, what the button says that shows them, and where the viewer starts.

    >>> Pair._fields
    ('label', 'scenes', 'selection')
    """

    label: str
    scenes: tuple[Scene, Scene]
    selection: dict[str, Any]


class Shown(NamedTuple):
    """A sentence: itself as HTML, what is known of it as HTML, and its pairs.

    >>> Shown("a", "", ()).pairs
    ()
    """

    sentence: str
    note: str
    pairs: tuple[Pair, ...]


def gallery_html(result: Result) -> str:
    """The list, the place for pictures and all they need, as HTML; nothing where the result has no such examples.

    >>> from attlas.store import Manifest, Result
    >>> gallery_html(Result(Manifest("faith"), {"whole": {"task": ["classification"]}}))
    ''
    """
    made = _of_chunking if result.manifest.study == "faith-chunking" else _of_instances
    shown = [one for one in made(result) if one.pairs]
    if not shown:
        return ""
    items: list[str] = []
    scenes: list[tuple[Scene, Scene]] = []
    for place, one in enumerate(shown):
        buttons, about = [], f"{_PLACE}-{place}"
        for pair in one.pairs:
            buttons.append(open_button(len(scenes), pair.label, into=_PLACE, about=about, **pair.selection))
            scenes.append(pair.scenes)
        note = f"<small>{one.note}</small>" if one.note else ""
        items.append(f'<li><p dir="auto" id="{about}">{one.sentence}</p><span>{" ".join(buttons)}</span>{note}</li>')
    style = files("attlas.reports").joinpath("static").joinpath("faith_examples.css").read_text(encoding="utf-8")
    label = "Attention of a model and of its adversary on the same sentence, and their difference"
    parts = [
        f"<style>{style}</style>",
        f'<ol class="faith-pairs">{"".join(items)}</ol>',
        showcase(_PLACE, label),
        gallery(scenes),
    ]
    return "\n".join(parts)


def most_apart(one: Matrix, other: Matrix) -> int:
    """The query whose rows are most apart in two attentions (head, query, key), by JSD summed over heads.

    >>> even = np.full((1, 2, 2), 0.5, np.float32)
    >>> most_apart(even, np.array([[[0.5, 0.5], [1.0, 0.0]]], np.float32))
    1
    """
    middle = (one + other) / 2
    apart = [
        np.where(each > 0, each * np.log(np.maximum(each, 1e-30) / np.maximum(middle, 1e-30)), 0)
        for each in (one, other)
    ]
    return int(sum(apart).sum((0, 2)).argmax())  # type: ignore[union-attr]


def _of_instances(result: Result) -> list[Shown]:
    tables = result.tables
    if "shown" not in tables:
        return []
    known = (
        {(row["text"], row["place"]): row for row in tables["instances"].to_pylist()} if "instances" in tables else {}
    )
    name = str(result.manifest.model.get("name", "the model"))
    return [_instance(row, known.get((row["text"], row["place"])), name) for row in tables["shown"].to_pylist()]


def _instance(row: Row, about: Row | None, name: str) -> Shown:
    reading = Sequence(
        tuple(row["pieces"]), tuple(row["piece_words"]), tuple(row["piece_documents"]), tuple(row["spelled"])
    )
    layers, pieces = tuple(row["layers"]), reading.length
    text = " ".join(row["spelled"])
    scenes = []
    for column, title in (("own", f"{name}, its own attention"), ("adversary", "adversary")):
        weights = np.frombuffer(row[column], "<f4").reshape(len(layers), row["heads"], pieces, pieces)
        strand = Strand(Stream(row["stream"]), reading, reading, weights, layers=layers)
        scenes.append(Scene(title, (text,), (strand,)))
    selection = {
        "view": "head", "unit": "word", "stream": row["stream"], "layer": layers[-1], "query": row["rows"][0],
    }  # fmt: skip
    words = [
        f"<mark>{escape(word)}</mark>" if place == row["place"] else escape(word)
        for place, word in enumerate(row["spelled"])
    ]
    answer = "predicted" if about is None else f"predicted <b>{escape(str(about['predicted']))}</b>"
    right = "" if about is None or about.get("right") in (None, True) else f", it is {escape(str(about['label']))}"
    note = (
        f"{answer} ({number(row['confidence'])}; under the adversary {number(row['adversary_confidence'])}{right}); "
        f"attention moved by JSD {number(row['jsd'])}, the output by TVD {number(row['tvd'])}"
    )
    return Shown(" ".join(words), note, (Pair("show", (scenes[0], scenes[1]), selection),))


def _of_chunking(result: Result) -> list[Shown]:
    tables = result.tables
    if not {"examples", "sentences"} <= set(tables):
        return []
    words: dict[Any, list[Row]] = {}
    for row in tables["sentences"].to_pylist():
        words.setdefault(row["sentence"], []).append(row)
    attention = _matrices(tables["examples"].to_pylist(), {name: len(rows) for name, rows in words.items()})
    return [
        _sentence(sorted(rows, key=lambda row: int(row["word"])), attention[name])
        for name, rows in words.items()
        if 0.0 in attention.get(name, {})
    ]


def _matrices(rows: abc.Sequence[Row], lengths: Mapping[Any, int]) -> dict[Any, dict[float, Matrix]]:
    """Attention (head, query, key) by sentence and weight of the adversary; 0 is the original."""
    heads = 1 + max((row["head"] for row in rows), default=0)
    found: dict[Any, dict[float, Matrix]] = {}
    for row in rows:
        size = lengths.get(row["sentence"], 0)
        of = found.setdefault(row["sentence"], {})
        matrix = of.setdefault(float(row["weight"] or 0), np.zeros((heads, size, size), np.float32))
        if max(row["query"], row["key"]) < size:
            matrix[row["head"], row["query"], row["key"]] = row["value"]
    return found


def _sentence(words: abc.Sequence[Row], attention: Mapping[float, Matrix]) -> Shown:
    spelled = tuple(str(row["spelled"]) for row in words)
    count = len(spelled)
    reading = Sequence(spelled, tuple(range(count)), (0,) * count, spelled)
    text = " ".join(spelled)
    own = attention[0.0]

    def scene(title: str, weights: Matrix) -> Scene:
        return Scene(title, (text,), (Strand(Stream.ENCODER, reading, reading, weights[None]),))

    pairs, notes = [], []
    for weight in sorted(key for key in attention if key):
        other = attention[weight]
        title = f"adversary, λ = {_plain(weight)}"
        selection = {"view": "head", "unit": "word", "layer": 0, "query": most_apart(own, other)}
        pairs.append(Pair(f"λ = {_plain(weight)}", (scene("original", own), scene(title, other)), selection))
        column = _column(words[0], weight)
        if column is not None:
            differing = [row for row in words if row[column] != row["original"]]
            notes.append(f"λ = {_plain(weight)}: {_tags(differing, column, count)}")
    return Shown(escape(text), "<br>".join(notes), tuple(pairs))


def _tags(differing: abc.Sequence[Row], column: str, count: int) -> str:
    """Which tags are others than the original's, in words."""
    if not differing:
        return f"all {count} tags as the original’s"
    named = "; ".join(
        f"{escape(str(row['spelled']))} <i>{escape(str(row[column]))}</i> (original {escape(str(row['original']))}"
        + ("" if row["gold"] == row["original"] else f", gold {escape(str(row['gold']))}")
        + ")"
        for row in differing
    )
    return f"{len(differing)} of {count} tags are others: {named}"


def _column(row: Row, weight: float) -> str | None:
    """The column with the tags of the adversary of this weight, whose name ends in it."""
    for name in row:
        ending = name.replace("_", " ").split(" ")[-1]
        try:
            if name not in _KNOWN and float(ending) == weight:
                return name
        except ValueError:
            continue
    return None


def _plain(weight: float) -> str:
    return f"{weight:g}".removeprefix("0") if is_number(weight) else ""
