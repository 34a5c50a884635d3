"""The examples on the page of relations: sentences in which a head was surest, each to be opened in the viewer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from attlas.ids import Stream
from attlas.pages import Row, Tables, label_of
from attlas.pages.html import tag
from attlas.store.schema import KINDS
from attlas.views.gallery import gallery, open_button

if TYPE_CHECKING:
    from attlas.views.scene import Scene

AROUND = 12  # words to each side of those that matter
OPEN = 3  # relations whose examples are unfolded at first


def examples(tables: Tables) -> Markup | None:
    """The examples of the relations that are charted, relation by relation, with what the viewer needs."""
    shown = tables["examples"].where(relation=tables["lines"].values("relation"))
    if not shown:
        return None
    measure = str(tables.options.get("measure", "weight"))
    items: dict[str, list[Markup]] = {}
    for number, row in enumerate(shown):
        title = f"{row['relation']}: head {label_of(row)}, {row['direction']}"
        items.setdefault(title, []).append(_item(row, number, measure))
    folded = [
        tag("details", tag("summary", title), tag("ul", *own), class_="examples", open=place < OPEN)
        for place, (title, own) in enumerate(items.items())
    ]
    return Markup("").join([*folded, Markup(gallery([_scene(row, tables.model) for row in shown]))])


def _scene(row: Row, model: str) -> Scene:
    """The scene of an example: one head on one sentence."""
    import numpy as np

    from attlas.views.scene import Scene, Sequence, Strand

    names = ("pieces", "piece_words", "piece_documents", "words")
    reading = Sequence(*(tuple(row[name]) for name in names))
    n = reading.length
    weights = np.frombuffer(row["weights"], "<f4").reshape(1, 1, n, n)
    lengths = None if row["lengths"] is None else np.frombuffer(row["lengths"], "<f4").reshape(1, 1, n)
    strand = Strand(
        Stream(row["stream"]), reading, reading, weights, layers=(row["layer"],), heads=(row["head"],),
        lengths=lengths,
    )  # fmt: skip
    return Scene(model, (row["text"],), (strand,))


def _item(row: Row, number: int, measure: str) -> Markup:
    query = row["piece_words"].index(row["dependent"])
    look = open_button(
        number, "look", view="head", unit="word", stream=row["stream"], layer=row["layer"], head=row["head"],
        heads=[row["head"]], measure=measure, **{"query" if row["direction"] == "to" else "key": query},
    )  # fmt: skip
    verdict = tag("span", "✓" if row["verdict"] == "right" else "✗", title=row["verdict"])
    paid = tag("small", KINDS["share"].write(row["value"], 2))
    return tag("li", verdict, " ", _sentence(row), " ", paid, " ", Markup(look), class_=row["verdict"])


def _sentence(row: Row) -> Markup:
    """The words about an example, with the three that matter marked."""
    marks = {row["predicted"]: "s"} if row["verdict"] == "wrong" else {}
    marks |= {row["governor"]: "b", row["dependent"]: "mark"}
    first, last = max(0, min(marks) - AROUND), max(marks) + AROUND + 1
    words = [
        tag(marks[place], word) if place in marks else Markup.escape(word)
        for place, word in list(enumerate(row["words"]))[first:last]
    ]
    ends = ("… " if first else "", " …" if last < len(row["words"]) else "")
    return tag("span", ends[0], Markup(" ").join(words), ends[1], dir="auto")
