"""What every chart has: a table, columns, a way to be drawn; and what a reader can choose beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

import altair as alt
from altair.utils.schemapi import debug_mode

from attlas.pages.rows import Rows, Tables

Spec = dict[str, Any]
Draw = Callable[[Tables, Rows], Spec]

BLUE, ORANGE, GREEN, PURPLE, PINK, GREY = "#3a80c2", "#cb7a1c", "#2f8f6b", "#7d6bc4", "#c23b6b", "#8f9299"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, PINK, GREY, "#5b9fb5", "#a4893a")
SHAPES = ("circle", "diamond", "triangle-up", "square", "cross", "triangle-down", "triangle-right", "triangle-left")
WORSE, BETTER = "#b2182b", "#2166ac"
LABELS = "max(120, min(420, containerSize()[0] * 0.45))"  # pixels for names: on a phone marks have more than half
HEAD_LABEL = "(datum.layer + 1) + '-' + (datum.head + 1)"

_INK = {"labelColor": "currentColor", "titleColor": "currentColor", "labelOpacity": 0.8, "titleOpacity": 0.8}
_LETTERS = {"titleFontWeight": "normal", "labelFontSize": 11.5, "titleFontSize": 12}
CONFIG: Spec = {
    "background": None,
    "font": "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif",
    "padding": 2,
    "view": {"stroke": None},
    "axis": {
        **_INK, **_LETTERS, "gridColor": "rgba(128, 128, 128, 0.22)", "domain": False, "ticks": False,
        "labelPadding": 5, "titlePadding": 8,
    },
    "legend": {
        **_INK, **_LETTERS, "orient": "top", "gradientLength": 160, "gradientThickness": 9, "offset": 10,
        "columns": {"expr": "max(2, floor(width / 150))"}, "labelLimit": 260,
    },
    "scale": {"bandPaddingInner": 0.04},
}  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """A chart over a table: what it needs, and how it is drawn once the tables are known.

    ``where`` keeps the rows whose columns have one of these values; ``label`` says what is seen, for those who cannot
    see it; ``drives`` names choices of this chart that others follow, ``picks`` a column whose value a click hands to
    another chart.

    >>> from attlas.store import Manifest, Result
    >>> chart = custom("map", "Every head", "heads", ["layer"], lambda tables, rows: {"mark": "point"})
    >>> tables = Tables(Result(Manifest("toy"), {"heads": {"layer": [0]}}))
    >>> len(chart.rows(tables)), chart.spec(tables), chart.having(columns=("value",)).fits(tables)
    (1, {'mark': 'point'}, False)
    """

    key: str
    title: str
    table: str
    columns: tuple[str, ...]
    draw: Draw
    where: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    label: str = ""
    note: str = ""
    drives: Mapping[str, Sequence[str]] = field(default_factory=dict)
    picks: Mapping[str, str] = field(default_factory=dict)

    def rows(self, tables: Tables) -> Rows:
        """The rows that the chart shows."""
        return tables[self.table].where(**{name: list(values) for name, values in self.where.items()})

    def fits(self, tables: Tables) -> bool:
        """Whether there is anything to show: rows, with all columns; those of twins are empty without any."""
        if not tables.baseline and any(column.startswith("twin") for column in self.columns):
            return False
        return tables.has(self.table, *self.columns) and len(self.rows(tables)) > 0

    def spec(self, tables: Tables) -> Spec:
        """The specification, for these tables.

        Whether it is one that Vega-Lite knows is a law of pages (:mod:`attlas.pages.laws`) and not asked here, where
        asking took as long as drawing."""
        with debug_mode(False):
            return self.draw(tables, self.rows(tables))

    def having(self, **changes: Any) -> Chart:
        """The same chart with another key, title, note or where."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Style:
    """What most shapes understand beside their columns.

    ``pick`` are columns a value of which is chosen beside the chart; ``tell`` are further columns for the tooltip;
    ``height`` is in pixels; ``domain`` fixes the axis of values; ``log`` and ``root`` change its scale; ``zero``
    draws a line at zero; ``axis`` is what it is called, where that is not the title of what is shown.

    >>> Style(log=True).scale().type
    'log'
    """

    pick: tuple[str, ...] = ()
    tell: tuple[str, ...] = ()
    height: int = 300
    domain: tuple[float, float] | None = None
    log: bool = False
    root: bool = False
    zero: bool = False
    tight: bool = False
    axis: str = ""

    def scale(self, *, zero: bool = True) -> alt.Scale:
        """The scale of the axis of values; it begins at zero where nothing else is said."""
        if self.log:
            return alt.Scale(type="log", nice=False, padding=8)
        if self.domain:
            return alt.Scale(domain=list(self.domain), nice=False)
        return alt.Scale(type="sqrt") if self.root else alt.Scale(zero=zero and not self.tight, nice=True)


PLAIN = Style()


class About(TypedDict, total=False):
    """What can be said of every chart.

    >>> sorted(About.__annotations__)
    ['key', 'label', 'note', 'title', 'where']
    """

    key: str
    title: str
    label: str
    note: str
    where: Mapping[str, Sequence[Any]]


def shaped(table: str, columns: Sequence[str], draw: Draw, about: About, seen: str, **defaults: Any) -> Chart:
    """A chart of some shape: ``seen`` is what one sees, for those who cannot, where nothing else is said.

    >>> shaped("heads", ["value", ""], lambda tables, rows: {}, {"key": "a", "title": "A"}, "dots").label
    'A: dots'
    """
    told: dict[str, Any] = {**defaults, **about}
    told.setdefault("label", f"{told['title']}: {seen}")
    return Chart(table=table, columns=tuple(filter(None, columns)), draw=draw, **told)


def custom(key: str, title: str, table: str, columns: Sequence[str], draw: Draw, **about: Any) -> Chart:
    """A chart that is one of a kind: ``draw`` makes its specification from the tables and the rows it shows.

    >>> custom("tree", "The tree", "tree", ["x"], lambda tables, rows: {}).table
    'tree'
    """
    return Chart(key, title, table, tuple(columns), draw, **about)


def rows_of_page() -> alt.Chart:
    """A chart of the rows that the page will hand to it.

    >>> rows_of_page().data.name
    'rows'
    """
    return alt.Chart(alt.NamedData(name="rows"))


def finished(chart: Any) -> Spec:
    """A chart as the page takes it.

    >>> "config" in finished(alt.layer(rows_of_page().mark_point()))
    False
    """
    spec: Spec = chart.to_dict(validate=False)
    spec.pop("config", None)
    return spec


def drawn(layers: Sequence[Any], params: Sequence[Any], height: int) -> Spec:
    """Layers of marks as one chart, as wide as its place, with lists to choose from.

    >>> drawn([rows_of_page().mark_point()], [], 200)["height"]
    200
    """
    first, *others = layers  # every change of layered charts copies all of them, so theirs come before and after
    layered = alt.layer(first.add_params(*params), *others)
    return {**finished(layered), "width": "container", "height": height}


def map_size(rows: int) -> Spec:
    """A map as wide as its place and as high as it has rows.

    >>> map_size(12)["height"]
    312
    """
    return {"width": "container", "height": max(rows, 2) * (26 if rows <= 16 else 22 if rows <= 24 else 17)}


def choice(name: str, options: Sequence[Any], labels: Sequence[str] | None = None, label: str = "") -> alt.Parameter:
    """A list to choose from beside a chart; its first option is chosen at first.

    >>> choice("measure", ["weight", "norm"]).param.value
    'weight'
    """
    written = [str(text) for text in labels or options]
    bind = alt.binding_select(options=list(options), labels=written, name=label or name)
    return alt.param(name=name, value=options[0] if options else "", bind=bind)


def layer_axis(tables: Tables, **axis: Any) -> Spec:
    """What an axis of layers is called, and the axis; with the block of the model that each layer is, where these
    have other numbers.

    >>> from attlas.store import Manifest, Result
    >>> layer_axis(Tables(Result(Manifest("toy"), {"heads": {"layer": [0]}})))["title"]
    'layer'
    """
    if not tables.only_blocks:
        return {"title": "layer", "axis": alt.Axis(**axis)}
    numbers = [block + 1 for block in tables.only_blocks]
    labels = f"datum.label + ' (' + {numbers}[datum.value - 1] + ')'"
    return {"title": "layer (block)", "axis": alt.Axis(labelExpr=labels, **axis)}


def head_label(tables: Tables) -> str:
    """An expression that names a head in a tooltip, with the block of its layer where that has another number.

    >>> from attlas.store import Manifest, Result
    >>> head_label(Tables(Result(Manifest("toy"), {"heads": {"layer": [0]}}))) == HEAD_LABEL
    True
    """
    numbers = [block + 1 for block in tables.only_blocks]
    return f"{HEAD_LABEL} + ' (block ' + {numbers}[datum.layer] + ')'" if numbers else HEAD_LABEL


def switch(cases: Mapping[str, str], on: str = "show", otherwise: str = "null") -> str:
    """An expression that has one of several values.

    >>> switch({"a": "1"})
    "show == 'a' ? 1 : null"
    """
    return "".join(f"{on} == {quoted(name)} ? {value} : " for name, value in cases.items()) + otherwise


def quoted(text: object) -> str:
    """Text inside an expression.

    >>> quoted("it's")
    "'it\\\\'s'"
    """
    return "'" + str(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


def rule(*, x: float | None = None, y: float | None = None) -> alt.Chart:
    """A dashed line at a value of an axis.

    >>> rule(y=0).mark.type
    'rule'
    """
    mark = rows_of_page().mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.5)
    lined: alt.Chart = mark.encode(x=alt.XDatum(x)) if x is not None else mark.encode(y=alt.YDatum(y))
    return lined
