"""What is known of heads from a whole corpus: figures of a survey, by which the model view sorts them, and portraits
of a survey or an atlas, which stand beside a head's number and by whose words heads are filtered.

A survey has looked at every head over a whole corpus; a scene shows one text. Sorted by a survey's figure, heads that
do the same thing stand together. Figures are arrays (layer, head) per stream; a head for which the survey has no
number gets :data:`NO_FIGURE`, far below all others, since JSON has no NaN.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from attlas.errors import StoreError
from attlas.ids import Stream, paper_label
from attlas.measures.quantities import titles
from attlas.store import Result
from attlas.store.damage import told_as_damage
from attlas.views.card import own_name
from attlas.views.scene import Array, Scene

NO_FIGURE = -1e9
SENTENCES = 3  # of a head
CORRELATION = "rank correlation of weight and ‖f(x)‖"

Figures = dict[str, dict[Stream, Array]]


def survey_figures(folder: str | Path, scene: Scene | None = None) -> Figures:
    """The figures in a survey's folder, by name and stream; with a scene, only if they are of its model.

    >>> import tempfile
    >>> from attlas.store import Manifest
    >>> rows = {"stream": ["encoder"], "layer": [0], "head": [1], "measure": ["weight"], "quantity": ["sep"]}
    >>> survey = Result(Manifest("survey", model={"name": "tiny"}), {"heads": {**rows, "value": [0.5]}})
    >>> out = survey.save(Path(tempfile.mkdtemp()) / "out")
    >>> survey_figures(out)["weight: [SEP]"][Stream.ENCODER].tolist()
    [[-1000000000.0, 0.5]]
    """
    with told_as_damage(folder):
        return _figures(Result.open(folder), folder, scene)


def _figures(result: Result, folder: str | Path, scene: Scene | None) -> Figures:
    model = _model(result, folder)
    tables = result.tables
    shapes = _shapes(tables["heads"].select(["stream", "layer", "head"]).to_pylist())
    if scene is not None:
        _require_match(scene, model, shapes, folder)
    figures: Figures = {}
    names = titles()
    columns = ["stream", "layer", "head", "measure", "quantity", "value"]
    rows = tables["heads"].select(columns).to_pylist()
    for measure in dict.fromkeys(row["measure"] for row in rows):  # all of one measure, then all of the next
        for row in rows:
            if row["measure"] == measure:
                quantity = names.get(row["quantity"], str(row["quantity"]).replace("_", " "))
                _put(figures, f"{measure}: {quantity}", row, shapes)
    if "spearman" in tables:
        for row in tables["spearman"].to_pylist():
            _put(figures, CORRELATION, row, shapes)
    return figures


def survey_portraits(folder: str | Path) -> dict[Stream, dict[str, str]]:
    """What a survey says of each head in a sentence, by stream and label; nothing where it has no such table.

    >>> import tempfile
    >>> from attlas.store import Manifest
    >>> place = {"stream": ["encoder"], "layer": [0], "head": [1]}
    >>> told = Result(Manifest("survey"), {"portraits": {**place, "sentence": ["looks at [SEP]"]}})
    >>> survey_portraits(told.save(Path(tempfile.mkdtemp()) / "out"))
    {<Stream.ENCODER: 'encoder'>: {'1-2': 'looks at [SEP]'}}
    """
    with told_as_damage(folder):
        result = Result.open(folder)
        if "portraits" not in result.tables:
            return {}
        told: dict[Stream, dict[str, str]] = {}
        for row in result.tables["portraits"].to_pylist():
            label = paper_label(row["layer"], row["head"])
            told.setdefault(Stream(row["stream"]), {})[label] = str(row["sentence"])
        return told


def atlas_portraits(folder: str | Path, scene: Scene) -> dict[Stream, dict[str, str]]:
    """What an atlas says of each head of a scene's model: what it is called, and the strongest sentences.

    >>> import tempfile
    >>> from attlas.store import Manifest
    >>> place = {"model": ["tiny"], "stream": ["encoder"], "layer": [0], "head": [1], "order": [0]}
    >>> told = {**place, "role": ["cls"], "part": ["rests"], "sentence": ["rests on [CLS]"]}
    >>> roles = {"role": ["cls"], "title": ["[CLS]"]}
    >>> tables = {"heads": place, "models": {"model": ["tiny"]}, "roles": roles, "portraits": told}
    >>> folder = Result(Manifest("atlas"), tables).save(Path(tempfile.mkdtemp()) / "out")
    >>> atlas_portraits(folder, Scene("tiny", (), ()))
    {<Stream.ENCODER: 'encoder'>: {'1-2': '[CLS]: rests on [CLS].'}}
    """
    with told_as_damage(folder):
        result = Result.open(folder)
        if result.manifest.study != "atlas":
            raise StoreError(
                f"{folder}: an atlas is needed, and it holds a result of the study {result.manifest.study!r}; give "
                "the --out of attlas atlas"
            )
        tables = {
            name: result.tables[name].to_pylist()
            for name in ("models", "roles", "portraits")
            if name in result.tables
        }
        names = list(dict.fromkeys(row["model"] for row in tables.get("models", [])))
        model = next((name for name in names if own_name(name) == own_name(scene.model)), None)
        if model is None:
            raise StoreError(
                f"{folder}: this atlas is of {' and '.join(names) or 'no model'}, not of {scene.model}; give one of "
                "the model that is shown"
            )
        titles = {row["role"]: row["title"] for row in tables.get("roles", [])}
        rows = sorted(
            (row for row in tables.get("portraits", []) if row["model"] == model), key=lambda row: row["order"]
        )
        heads: dict[tuple[Stream, str], list[dict[str, Any]]] = {}
        for row in rows:
            heads.setdefault((Stream(row["stream"]), paper_label(row["layer"], row["head"])), []).append(row)
        told: dict[Stream, dict[str, str]] = {}
        for (stream, label), sentences in heads.items():
            told.setdefault(stream, {})[label] = _portrait(sentences, titles)
        return told


def _portrait(rows: list[dict[str, Any]], titles: dict[str, str]) -> str:
    """The sentences on a head as one text, after what it is called by the first of them that says what it does."""
    called = next((row for part in ("does", "rests") for row in rows if row["part"] == part), None)
    name = f"{titles.get(called['role'], called['role'])}: " if called else ""
    return name + "; ".join(str(row["sentence"]) for row in rows[:SENTENCES]) + "."


def _model(result: Result, folder: str | Path) -> str:
    """The name of the model that a survey is of; a refusal if it is no survey."""
    study = result.manifest.study
    if study != "survey" or "heads" not in result.manifest.tables:
        what = "no table of heads is in it" if study == "survey" else f"it holds a result of the study {study!r}"
        raise StoreError(
            f"{folder}: a survey is needed to sort heads by, and {what}; give the --out of attlas survey"
        )
    missing = {"stream", "layer", "head", "measure", "quantity", "value"} - set(result.tables["heads"].column_names)
    if missing:
        raise StoreError(f"{folder}: its table of heads has no {' or '.join(sorted(missing))}; make the survey again")
    return str(result.manifest.model.get("name", ""))


def _shapes(rows: list[dict[str, Any]]) -> dict[Stream, tuple[int, int]]:
    """Layers and heads of each stream."""
    shapes: dict[Stream, tuple[int, int]] = {}
    for row in rows:
        stream = Stream(row["stream"])
        layers, heads = shapes.get(stream, (0, 0))
        shapes[stream] = (max(layers, row["layer"] + 1), max(heads, row["head"] + 1))
    return shapes


def _put(figures: Figures, name: str, row: dict[str, Any], shapes: dict[Stream, tuple[int, int]]) -> None:
    stream, value = Stream(row["stream"]), row["value"]
    if stream not in shapes or value is None or not math.isfinite(value):
        return
    streams = figures.setdefault(name, {})
    if stream not in streams:
        streams[stream] = np.full(shapes[stream], NO_FIGURE, np.float32)
    streams[stream][row["layer"], row["head"]] = value


def _require_match(scene: Scene, model: str, shapes: dict[Stream, tuple[int, int]], folder: str | Path) -> None:
    """Refuse a survey of another model than the scene's."""
    advice = "give the survey of the model that is shown"
    if own_name(model) != own_name(scene.model):
        raise StoreError(f"{folder}: this survey is of {model or 'a nameless model'}, not of {scene.model}; {advice}")
    shared = [strand for strand in scene.strands if strand.stream in shapes]
    if scene.strands and not shared:
        shown, there = (" and ".join(map(str, names)) for names in ([s.stream for s in scene.strands], shapes))
        raise StoreError(f"{folder}: this survey is of {there or 'no'} heads, and {shown} heads are shown; {advice}")
    for strand in shared:
        layers, heads = shapes[strand.stream]
        if max(strand.layers) >= layers or max(strand.heads) >= heads:
            raise StoreError(
                f"{folder}: this survey has {layers} layers of {heads} {strand.stream} heads, and the scene shows "
                f"layer {max(strand.layers) + 1} and head {max(strand.heads) + 1}; {advice}"
            )
