"""What is known of heads from a whole corpus: figures of a survey, by which the model view sorts them, and portraits
of a survey or an atlas, which stand beside a head's number and by whose words heads are filtered.

A survey has looked at every head over a whole corpus; a scene shows one text. Sorted by a survey's figure, heads that
do the same thing stand together. Both are read once, and stand beside the scenes of their models. Figures are arrays
(layer, head) per stream; a head for which the survey has no number gets :data:`NO_FIGURE`, far below all others,
since JSON has no NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
Portraits = dict[Stream, dict[str, str]]
_OF_SHOWN = "give the survey of the model that is shown"


@dataclass(frozen=True)
class SurveyOfHeads:
    """What a survey has found of the heads of its model: figures by name, and a sentence on each by its label.

    ``shapes`` are layers and heads of each stream, ``folder`` is where it lies.

    >>> SurveyOfHeads("out", "tiny", {}, {}, {}).is_of("owner/tiny")
    True
    """

    folder: str
    model: str
    shapes: Mapping[Stream, tuple[int, int]]
    figures: Figures
    portraits: Portraits

    def is_of(self, model: str) -> bool:
        """Whether a model of this name is the survey's.

        >>> SurveyOfHeads("out", "tiny", {}, {}, {}).is_of("another")
        False
        """
        return own_name(model) == own_name(self.model)

    @property
    def said(self) -> str:
        """What it is, and of which model.

        >>> SurveyOfHeads("out", "tiny", {}, {}, {}).said
        'survey that was given is of tiny'
        """
        return f"survey that was given is of {self.model or 'a nameless model'}"

    def require(self, models: Sequence[str]) -> None:
        """Refuse to stand beside models none of which is the survey's.

        >>> SurveyOfHeads("out", "tiny", {}, {}, {}).require(["another"])
        Traceback (most recent call last):
            ...
        attlas.errors.StoreError: out: this survey is of tiny, not of another; give the survey of the model that is
        shown
        """
        if not any(map(self.is_of, models)):
            name, shown = self.model or "a nameless model", " or ".join(dict.fromkeys(models))
            raise StoreError(f"{self.folder}: this survey is of {name}, not of {shown}; {_OF_SHOWN}")

    def beside(self, scene: Scene) -> Scene:
        """A scene of its model, with what it has found of the heads; refused where they cannot be the same.

        >>> told = {Stream.ENCODER: {"1-2": "looks at [SEP]"}}
        >>> SurveyOfHeads("out", "tiny", {}, {}, told).beside(Scene("tiny", (), ())).portraits == told
        True
        """
        self.require([scene.model])
        _require_heads(scene, self.shapes, self.folder)
        return scene.with_figures(self.figures).with_portraits(self.portraits)


@dataclass(frozen=True)
class AtlasOfHeads:
    """What an atlas says of the heads of its models, by model: what a head is called, and the strongest sentences.

    >>> AtlasOfHeads("out", {"tiny": {}}).is_of("owner/tiny")
    True
    """

    folder: str
    told: Mapping[str, Portraits]

    def is_of(self, model: str) -> bool:
        """Whether a model of this name is in the atlas.

        >>> AtlasOfHeads("out", {"tiny": {}}).is_of("another")
        False
        """
        return self._named(model) is not None

    @property
    def said(self) -> str:
        """What it is, and of which models.

        >>> AtlasOfHeads("out", {"tiny": {}, "small": {}}).said
        'atlas that was given is of tiny and small'
        """
        return f"atlas that was given is of {self._models}"

    def require(self, models: Sequence[str]) -> None:
        """Refuse to stand beside models none of which is in the atlas.

        >>> AtlasOfHeads("out", {"tiny": {}}).require(["another"])
        Traceback (most recent call last):
            ...
        attlas.errors.StoreError: out: this atlas is of tiny, not of another; give one of the model that is shown
        """
        if not any(map(self.is_of, models)):
            shown = " or ".join(dict.fromkeys(models))
            raise StoreError(
                f"{self.folder}: this atlas is of {self._models}, not of {shown}; give one of the model that is shown"
            )

    def beside(self, scene: Scene) -> Scene:
        """A scene of one of its models, with what is said of each head.

        >>> told = {Stream.ENCODER: {"1-2": "[CLS]: rests on [CLS]."}}
        >>> AtlasOfHeads("out", {"tiny": told}).beside(Scene("tiny", (), ())).portraits == told
        True
        """
        self.require([scene.model])
        return scene.with_portraits(self.told[self._named(scene.model) or ""])

    def _named(self, model: str) -> str | None:
        return next((name for name in self.told if own_name(name) == own_name(model)), None)

    @property
    def _models(self) -> str:
        return " and ".join(self.told) or "no model"


Known = SurveyOfHeads | AtlasOfHeads


def read_survey(folder: str | Path) -> SurveyOfHeads:
    """What a survey's folder has of heads.

    >>> import tempfile
    >>> from attlas.store import Manifest
    >>> rows = {"stream": ["encoder"], "layer": [0], "head": [1], "measure": ["weight"], "quantity": ["sep"]}
    >>> survey = Result(Manifest("survey", model={"name": "tiny"}), {"heads": {**rows, "value": [0.5]}})
    >>> out = survey.save(Path(tempfile.mkdtemp()) / "out")
    >>> read_survey(out).figures["weight: [SEP]"][Stream.ENCODER].tolist()
    [[-1000000000.0, 0.5]]
    """
    with told_as_damage(folder):
        result = Result.open(folder)
        model = _model(result, folder)
        shapes = _shapes(result.tables["heads"].select(["stream", "layer", "head"]).to_pylist())
        told: dict[Stream, dict[str, str]] = {}
        for row in result.tables["portraits"].to_pylist() if "portraits" in result.tables else ():
            label = paper_label(row["layer"], row["head"])
            told.setdefault(Stream(row["stream"]), {})[label] = str(row["sentence"])
        return SurveyOfHeads(str(folder), model, shapes, _figures(result, shapes), told)


def read_atlas(folder: str | Path) -> AtlasOfHeads:
    """What an atlas's folder says of heads.

    >>> import tempfile
    >>> from attlas.store import Manifest
    >>> tables = {"heads": {"model": ["tiny"]}, "models": {"model": ["tiny"]}}
    >>> read_atlas(Result(Manifest("atlas"), tables).save(Path(tempfile.mkdtemp()) / "out")).told
    {'tiny': {}}
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
        titles = {row["role"]: row["title"] for row in tables.get("roles", [])}
        heads: dict[str, dict[tuple[Stream, str], list[dict[str, Any]]]] = {}
        for row in sorted(tables.get("portraits", []), key=lambda row: row["order"]):
            place = Stream(row["stream"]), paper_label(row["layer"], row["head"])
            heads.setdefault(row["model"], {}).setdefault(place, []).append(row)
        told: dict[str, Portraits] = {}
        for model in dict.fromkeys(row["model"] for row in tables.get("models", [])):
            told[model] = {}
            for (stream, label), sentences in heads.get(model, {}).items():
                told[model].setdefault(stream, {})[label] = _portrait(sentences, titles)
        return AtlasOfHeads(str(folder), told)


def _figures(result: Result, shapes: dict[Stream, tuple[int, int]]) -> Figures:
    tables = result.tables
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


def _portrait(rows: list[dict[str, Any]], titles: Mapping[str, str]) -> str:
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


def _require_heads(scene: Scene, shapes: Mapping[Stream, tuple[int, int]], folder: str) -> None:
    """Refuse a survey of other heads than the scene's."""
    shared = [strand for strand in scene.strands if strand.stream in shapes]
    if scene.strands and not shared:
        shown, there = (" and ".join(map(str, names)) for names in ([s.stream for s in scene.strands], shapes))
        raise StoreError(
            f"{folder}: this survey is of {there or 'no'} heads, and {shown} heads are shown; {_OF_SHOWN}"
        )
    for strand in shared:
        layers, heads = shapes[strand.stream]
        if max(strand.layers) >= layers or max(strand.heads) >= heads:
            raise StoreError(
                f"{folder}: this survey has {layers} layers of {heads} {strand.stream} heads, and the scene shows "
                f"layer {max(strand.layers) + 1} and head {max(strand.heads) + 1}; {_OF_SHOWN}"
            )
