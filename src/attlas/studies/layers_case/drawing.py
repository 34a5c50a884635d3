"""The panels of a case as HTML: labels as rows, layers from left to right, a bar as high as the probability.

They follow Figure 3 of Tenney et al. (2019). Bars are cells of plain tables: they are drawn without a script, and can
be read without seeing them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from attlas.pages import Prose, Row, Tables, say
from attlas.pages.html import tag
from attlas.store.schema import KINDS, is_known
from attlas.studies.layers_case.panels import NOTICED, Panel, panels_of, told
from attlas.studies.shared.layer_runs import TASKS

SIDES = {  # what the two spans of a pair are to a task
    "dependencies": ("dependent", "governor"),
    "roles": ("predicate", "argument"),
    "coreference": ("later mention", "earlier one"),
    "proto-roles": ("predicate", "argument"),
    "relations": ("e1", "e2"),
}
KEY = {
    "end": "leads or is given, here and at the last layer",
    "gone": "leads or is given here, but not at the last layer",
    "": "neither",
    "half": "one half",
    "settled": "from here on it stays",
}
WINDOW, LONG = 24, 70  # words on either side of the spans, where a text is longer than so many
NUMBERS = 15  # labels of a table of numbers


def name_of(tables: Tables, panel: Panel) -> str:
    """The name of a task, with that of its run where several runs are of it.

    >>> from attlas.store import Manifest, Result
    >>> tables = Tables(Result(Manifest("layers-case"), {"runs": {"run": ["a", "b"], "task": ["pos", "pos"]}}))
    >>> name_of(tables, Panel(0, "a", "pos", (0,), ("NN",), ((0.5,),)))
    'part of speech (a)'
    """
    name = TASKS.get(panel.task, panel.task)
    return f"{name} ({panel.run})" if len(tables["runs"].where(task=panel.task)) > 1 else name


def words_of(row: Row, most: int = 48) -> str:
    """The words of an edge, as a heading.

    >>> words_of({"first_words": "he", "second_words": "toronto"})
    '“he” and “toronto”'
    """
    first = f"“{_clipped(row['first_words'], most)}”"
    return first if row["second_words"] is None else f"{first} and “{_clipped(row['second_words'], most)}”"


def draw(tables: Tables) -> Markup | None:
    """All edges: the sentence with each marked, and a panel for each task that was asked.

    >>> from attlas.store import Manifest, Result
    >>> draw(Tables(Result(Manifest("layers-case"), {"runs": {"run": []}}))) is None
    True
    """
    panels = panels_of(tables["probabilities"])
    if not panels:
        return None
    signs = (tag("span", tag("i", class_=f"swatch {kind}".strip()), f" {name}") for kind, name in KEY.items())
    parts = [tag("p", *signs, class_="key")]
    for number, rows in sorted(tables["probabilities"].by("edge"), key=lambda pair: int(pair[0])):
        asked = (_panel(tables, panel, rows[0]) for panel in panels if panel.edge == number)
        parts.append(tag("div", tag("h3", words_of(rows[0])), *_sentence(tables, rows[0]),
                         tag("div", *asked, class_="case-panels"), id=f"edge-{number}"))  # fmt: skip
    return Markup("\n").join(parts)


def numbered(tables: Tables) -> Markup | None:
    """The sentence with the numbers of its words.

    >>> from attlas.store import Manifest, Result
    >>> numbered(Tables(Result(Manifest("layers-case"), {"words": {"form": ["He"], "after": [""]}})))
    Markup('<p class="case-sentence numbered"><span>He<sub>0</sub></span></p>')
    """
    if "words" not in tables:
        return None
    words = [tag("span", row["form"], tag("sub", number)) + ("" if row["after"] == "" else " ")
             for number, row in enumerate(tables["words"])]  # fmt: skip
    return tag("p", *words, class_="case-sentence numbered")


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _share(value: float) -> str:
    return KINDS["share"].write(value, 2)


def _sentence(tables: Tables, row: Row) -> list[Markup]:
    """The sentence with the spans of an edge marked; of a long text, what stands around them."""
    spans = [tuple(map(int, row[name].split(":"))) for name in ("first", "second") if row[name] is not None]
    words = tables["words"]
    start, stop = 0, len(words)
    if stop > LONG:
        start = max(0, min(span[0] for span in spans) - WINDOW)
        stop = min(stop, max(span[1] for span in spans) + WINDOW)
    parts: list[tuple[str, str]] = [("", "… ")] if start else []
    for number in range(start, stop):
        inside = [place for place, span in enumerate(spans) if span[0] <= number < span[1]]
        going_on = [place for place in inside if number + 1 < spans[place][1]]
        after = words[number]["after"]
        parts += [(_marks(inside), words[number]["form"]), (_marks(going_on), " " if after.isspace() else after)]
    parts += [("", " …")] if stop < len(words) else []
    marked = [
        tag("mark", text, class_=kind) if kind and text else text
        for kind, group in groupby(parts, lambda part: part[0])
        for text in ["".join(text for _, text in group)]
    ]
    sentence = tag("p", *marked, class_="case-sentence")
    if row["second"] is None:
        return [sentence]
    named = [tag("span", tag("mark", name, class_=f"span-{at}"), f" {row[name]} ")
             for at, name in enumerate(("first", "second"), start=1)]  # fmt: skip
    return [sentence, tag("p", *named, class_="note")]


def _marks(places: Sequence[int]) -> str:
    return " ".join(f"span-{place + 1}" for place in places)


def _panel(tables: Tables, panel: Panel, row: Row) -> Markup:
    title = name_of(tables, panel)
    parts = [tag("figcaption", title[:1].upper() + title[1:], *_quality(tables, panel))]
    if row["second_words"] is not None and panel.task in SIDES:
        first, second = (_clipped(row[f"{place}_words"], 30) for place in ("first", "second"))
        roles = dict(zip(("one", "other"), SIDES[panel.task], strict=True))
        sides = say("*{first}* as {one}, *{second}* as {other}", first=first, second=second, **roles)
        parts.append(tag("p", sides.html(), class_="note sides"))
    parts += [tag("p", told(panel).html(), class_="told"), _strips(panel, title)]
    if panel.left_out:
        reach = "label that reaches" if panel.left_out == 1 else "labels that reach"
        parts.append(tag("p", f"{panel.left_out} more {reach} {_share(NOTICED)} at some layer not drawn.",
                         class_="note"))  # fmt: skip
    return tag("figure", *parts, _numbers(tables, panel), class_="case-panel")


def _quality(tables: Tables, panel: Panel) -> list[Any]:
    """How good the probes of the run are on its test set."""
    about: Mapping[str, Any] = next(iter(tables["runs"].where(run=panel.run)), {})
    said: list[Prose] = [say("mixes heads")] if about.get("over") == "heads" else []
    if is_known(about.get("score")):
        said.append(say("F1 {score:percent} on its test set", score=about["score"]))
        if is_known(about.get("score_at_0")):
            said.append(say("{score:percent} at layer 0", score=about["score_at_0"]))
    return [" ", tag("small", "; ".join(map(str, said)))] if said else []


def _strips(panel: Panel, title: str) -> Markup:
    """The bars: a table with a row for each label and a column for each layer."""
    first, last = panel.layers[0], panel.layers[-1]
    step = 1 if len(panel.layers) <= 16 else 5

    def written(layer: int) -> bool:
        return layer == last or (layer % step == 0 and (step == 1 or last - layer > 2))

    def kinds(*names: str, layer: int) -> str | None:
        return " ".join((*names, *(["settled"] if layer == panel.settled > first else []))) or None

    def cell(label: str, place: int, value: float) -> Markup:
        layer = panel.layers[place]
        chosen = ["end" if label in panel.chosen(-1) else "gone"] if label in panel.chosen(place) else []
        tip = tag("span", _share(value), data_said=f"{label}, layer {layer}: {_share(value)}")
        return tag("td", tip, class_=kinds("step", *chosen, layer=layer), style=f"--p:{value:.3f}")

    head = [
        tag("th", tag("span", layer, class_=None if written(layer) else "quiet"), scope="col",
            class_=kinds(layer=layer))
        for layer in panel.layers
    ]  # fmt: skip
    lines = [
        tag("tr", tag("th", label, scope="row", title=label),
            *(cell(label, place, value) for place, value in enumerate(panel.row(label))),
            tag("td", _share(panel.row(label)[-1]), class_="last"))
        for label in panel.shown
    ]  # fmt: skip
    room = min(max(7, *(1.2 * len(label) + 2 for label in panel.shown)), 27 if len(panel.layers) <= 16 else 20)
    top = tag("tr", tag("th", "layer", scope="col"), *head, tag("th", "last", scope="col", class_="last"))
    table = tag("table", tag("thead", top), tag("tbody", *lines),
                aria_label=f"{title}: probability by label and layer")  # fmt: skip
    return tag("div", table, class_="strips", style=f"--label:{room:.0f}ch")


def _numbers(tables: Tables, panel: Panel) -> Markup:
    """The probabilities as numbers, with how well the probe knows each label."""
    order = sorted(panel.labels, key=lambda label: (label not in panel.shown, -max(panel.row(label))))[:NUMBERS]
    known, schema = {row["label"]: row for row in tables["labels"].where(run=panel.run)}, tables.schema("labels")
    head = tag("tr", *(tag("th", text, scope="col") for text in ("label", "in training", "F1", *panel.layers)))
    lines = []
    for label in order:
        own = (schema[name].write(known.get(label, {}).get(name)) for name in ("train", "value"))
        lines.append(tag("tr", *(tag("td", text) for text in (label, *own, *map(_share, panel.row(label))))))
    which = "all labels" if len(order) == len(panel.labels) else f"{len(order)} largest of {len(panel.labels)} labels"
    table = tag("table", tag("thead", head), tag("tbody", *lines))
    return tag("details", tag("summary", f"In numbers, {which}"), tag("div", table, class_="scroll"))
