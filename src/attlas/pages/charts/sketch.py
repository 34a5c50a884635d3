"""A chart on its way: the columns shown, what the schema says of them, and the parts that all shapes draw alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from attlas.pages.charts.base import (
    BLUE,
    HEAD_LABEL,
    PALETTE,
    SHAPES,
    Style,
    choice,
    head_label,
    quoted,
    rows_of_page,
    switch,
)
from attlas.pages.rows import Rows, Tables
from attlas.store.schema import KINDS, Column, Schema


@dataclass
class Sketch:
    """The rows of a table, of which some columns are shown, one at a time where there are several.

    >>> from attlas.store import Manifest, Result
    >>> from attlas.store.schema import Column, Schema
    >>> tables = Tables(Result(Manifest("toy"), {"h": {"v": [1]}}), [Schema("h", "", Column("v", "share", "share"))])
    >>> sketch = Sketch.of(tables, "h", tables["h"], ["v", "w"], Style())
    >>> sketch.show, sketch.title, sketch.has("w")
    (('v',), 'share', False)
    """

    schema: Schema
    rows: Rows
    show: tuple[str, ...]
    style: Style
    head_label: str = HEAD_LABEL
    blocks: Sequence[int] = ()
    bare: bool = False

    @classmethod
    def of(cls, tables: Tables, table: str, rows: Rows, show: Sequence[str], style: Style) -> Sketch:
        """The sketch of a chart over a table; columns that the rows lack are not offered."""
        sketch = cls(
            tables.schema(table), rows, (), style, head_label(tables), tables.only_blocks, not tables.baseline
        )
        sketch.show = tuple(name for name in show if sketch.has(name))
        return sketch

    def has(self, *columns: str) -> bool:
        """Whether the rows have all of these columns; those of twins are empty where there are none (``bare``)."""
        if self.bare and any(column.startswith("twin") for column in columns):
            return False
        return len(self.rows) > 0 and all(column and column in self.rows[0] for column in columns)

    @property
    def columns(self) -> list[Column]:
        """The columns shown."""
        return [self.schema[name] for name in self.show]

    @property
    def title(self) -> str:
        """What the axis of values is called."""
        return self.style.axis or (self.columns[0].title if len(self.show) == 1 else "shown")

    @property
    def format(self) -> str:
        """How numbers are written."""
        return KINDS[self.columns[0].kind].format or ".3~r"

    @property
    def intervals(self) -> bool:
        """Whether anything shown has an interval."""
        return any(column.ends is not None and self.has(*column.ends) for column in self.columns)

    def belongs(self, kind: str) -> bool:
        """Whether anything shown has a chance level, or a twin."""
        return any(self.has(getattr(column, kind)) for column in self.columns)

    def params(self) -> list[Any]:
        """The lists to choose from: which column, and a value of each column that is picked."""
        return self.choices(show=self.show)

    def choices(self, **several: Sequence[str]) -> list[Any]:
        """The same for charts that show no column, or two, each of which may be chosen."""
        picked = [
            choice(name, values, [self.written(name, value) for value in values], self.called(name))
            for name in self.style.pick
            if (values := self.rows.values(name))
        ]
        return [*(self._choice(name, columns) for name, columns in several.items()), *picked]

    def _choice(self, name: str, columns: Sequence[str]) -> Any:
        if len(columns) < 2:
            return alt.param(name=name, value=columns[0] if columns else "")
        return choice(name, list(columns), [self.schema[column].title for column in columns], name)

    def base(self) -> Any:
        """The rows of what is picked."""
        base = rows_of_page()
        for name in self.style.pick:
            if self.rows.values(name):
                base = base.transform_filter(f"datum['{name}'] == {name}")
        read = {f"{name}_read": self.labelled(name) for name in self._counted}
        if self.has("layer", "head"):
            read["name"] = self.head_label
        return base.transform_calculate(**read) if read else base

    @property
    def _counted(self) -> list[str]:
        """The columns that count from 0, which people read from 1."""
        return [column.name for column in self.schema.columns if column.kind == "index" and self.has(column.name)]

    def shown(self) -> Any:
        """The same with what is shown, and what belongs to it: low, high, chance and twin."""
        belonging: dict[str, dict[str, str]] = {
            "shown": {column.name: column.name for column in self.columns},
            "low_shown": {column.name: column.ends[0] for column in self.columns if column.ends},
            "high_shown": {column.name: column.ends[1] for column in self.columns if column.ends},
            "chance_shown": {column.name: column.chance for column in self.columns if column.chance},
            "twin_shown": {column.name: column.twin for column in self.columns if column.twin},
        }
        return self.base().transform_calculate(
            **{name: switch({of: f"datum['{other}']" for of, other in columns.items()})
               for name, columns in belonging.items()}
        )  # fmt: skip

    def tooltip(self, *extra: str) -> list[alt.Tooltip]:
        """What is told of a mark: the head, further columns, the value and what belongs to it."""
        told = [alt.Tooltip("name:N", title="head")] if self.has("layer", "head") else []
        told += [self.tip(name) for name in extra if name]
        told.append(alt.Tooltip("shown:Q", title=self.title, format=self.format))
        if self.intervals:
            told.append(alt.Tooltip("low_shown:Q", title="95 % interval from", format=self.format))
            told.append(alt.Tooltip("high_shown:Q", title="to", format=self.format))
        for kind, title in (("chance", "chance"), ("twin", "untrained twin")):
            if self.belongs(kind):
                told.append(alt.Tooltip(f"{kind}_shown:Q", title=title, format=self.format))
        return told + self.told()

    def told(self) -> list[alt.Tooltip]:
        """Further columns of a tooltip: those asked for, and how many cases there were."""
        tell = [*self.style.tell, *(["n"] if "n" in self.schema and "n" not in self.style.tell else [])]
        return [self.tip(name) for name in tell if self.has(name)]

    def tip(self, name: str) -> alt.Tooltip:
        """A column in a tooltip."""
        column = self.schema[name]
        if name in self._counted:
            return alt.Tooltip(f"{name}_read:N", title=self.called(name))
        if not column.number or column.kind == "index":
            return alt.Tooltip(f"{name}:N", title=column.title)
        return alt.Tooltip(f"{name}:Q", title=column.title, format=KINDS[column.kind].format)

    def y(self) -> alt.Y:
        """The axis of values, upright."""
        axis = alt.Axis(tickCount=5, grid=True, format=self.format)
        return alt.Y("shown:Q", title=self.title, scale=self.style.scale(), axis=axis)

    def codes(self, colour: str, *, shapes: bool = False) -> dict[str, Any]:
        """Colours (and shapes) for the values of a column; one colour where there is none."""
        if not colour:
            return {"color": alt.value(BLUE)}
        groups, labels = self.rows.values(colour), self.schema[colour].labels
        named = switch({str(value): quoted(text) for value, text in labels.items()}, "datum.label", "datum.label")
        return coded(colour, groups, labels=named if labels else None, shapes=shapes)

    def labelled(self, name: str) -> str:
        """An expression that writes a column as people read it."""
        column, here = self.schema[name], f"datum['{name}']"
        if self._has_blocks(name):
            return f"({here} + 1) + ' (' + {[block + 1 for block in self.blocks]}[{here}] + ')'"
        if column.kind == "index":
            return f"{here} + 1"
        return switch({value: quoted(text) for value, text in column.labels.items()}, here, here)

    def called(self, name: str) -> str:
        """The title of a column; of layers with their blocks, where these have other numbers."""
        return f"{self.schema[name].title} (block)" if self._has_blocks(name) else self.schema[name].title

    def written(self, name: str, value: Any) -> str:
        """A value of a column as people read it; of a layer with its block."""
        block = f" ({self.blocks[value] + 1})" if self._has_blocks(name) else ""
        return self.schema[name].write(value) + block

    def _has_blocks(self, name: str) -> bool:
        return bool(self.blocks) and self.schema[name].kind == "index" and name in ("layer", "layer_b")

    def values(self, name: str) -> list[Any]:
        """The different values of a column, as people read them, in order."""
        values, column = self.rows.values(name), self.schema[name]
        if self._has_blocks(name):
            return [self.written(name, value) for value in sorted(values)]
        if column.kind == "index":
            return [value + 1 for value in sorted(values)]
        return [column.labels.get(value, value) for value in values]


def coded(field: str, groups: Sequence[Any], *, labels: str | None = None, shapes: bool = False) -> dict[str, Any]:
    """Colours, and shapes, for groups; a legend where there are several.

    >>> sorted(coded("who", ["model", "twin"], shapes=True))
    ['color', 'shape']
    """
    legend = None
    if len(groups) > 1:
        legend = alt.Legend(symbolOpacity=1) if labels is None else alt.Legend(symbolOpacity=1, labelExpr=labels)
    codes: dict[str, Any] = {}
    for channel, encode, values in (("color", alt.Color, PALETTE), ("shape", alt.Shape, SHAPES)):
        if channel == "color" or shapes:
            scale = alt.Scale(domain=list(groups), range=[values[at % len(values)] for at in range(len(groups))])
            codes[channel] = encode(f"{field}:N", title=None, sort=list(groups), scale=scale, legend=legend)
    return codes
