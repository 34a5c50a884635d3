"""One head of an atlas: its portrait, its figures, and where studies disagree about it."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attlas.errors import StoreError
from attlas.evidence.portraits import role_of
from attlas.evidence.roles import ROLES
from attlas.evidence.saying import PARTS
from attlas.evidence.schemas import PORTRAITS
from attlas.ids import paper_label, parse_head
from attlas.pages.prose import count_of, listed
from attlas.store.schema import KINDS, interval

if TYPE_CHECKING:
    import pyarrow as pa

    from attlas.evidence.atlas import Atlas

Row = dict[str, Any]
SHOWN = 12  # sentences of a portrait in a terminal


@dataclass(frozen=True)
class Head:
    """A head of an atlas, by its place; layers and heads count from 0 here, and from 1 in its label.

    >>> from attlas.evidence.example import example
    >>> head = example().head("1-2")
    >>> head.label, head.role, len(head.figures)
    ('1-2', 'previous', 3)
    """

    atlas: Atlas
    model: str
    stream: str
    layer: int
    head: int

    @property
    def label(self) -> str:
        """Its name on pages.

        >>> from attlas.evidence.example import example
        >>> example().head("2-1").label
        '2-1'
        """
        return paper_label(self.layer, self.head)

    @cached_property
    def portrait(self) -> list[Row]:
        """What is said of it, the strongest first: rows of the table ``portraits``.

        >>> from attlas.evidence.example import example
        >>> example().head("1-2").portrait[0]["study"]
        'survey'
        """
        return sorted(self._rows("portraits"), key=lambda row: row["order"])

    @cached_property
    def figures(self) -> list[Row]:
        """All figures of it: rows of the table ``heads``.

        >>> from attlas.evidence.example import example
        >>> sorted(row["quantity"] for row in example().head("1-2").figures)
        ['cls', 'obj.to', 'previous']
        """
        return self._rows("heads")

    @cached_property
    def disagreements(self) -> list[Row]:
        """Where two studies call it different things: rows of the table ``disagreements``.

        >>> from attlas.evidence.example import example
        >>> [row["one_study"] for row in example().head("1-1").disagreements]
        ['relations']
        """
        return self._rows("disagreements")

    @cached_property
    def alike(self) -> list[Row]:
        """The heads that are nearest to it: rows of the table ``alike``.

        >>> from attlas.evidence.example import example
        >>> example().head("1-1").alike
        []
        """
        return self._rows("alike")

    @property
    def role(self) -> str:
        """What it is called: the role of the strongest sentence on what it does, else on where it rests.

        >>> from attlas.evidence.example import example
        >>> example().head("1-1").role
        'syntax'
        """
        return role_of(self.portrait)

    @property
    def called(self) -> str:
        """The same for people.

        >>> from attlas.evidence.example import example
        >>> example().head("2-2").called
        '[CLS]'
        """
        return ROLES[self.role].title if self.role in ROLES else self.role

    def value(self, quantity: str, study: str = "") -> float:
        """One figure of it, by the name of its quantity.

        >>> from attlas.evidence.example import example
        >>> example().head("1-2").value("previous")
        0.93
        """
        found = [row for row in self.figures if row["quantity"] == quantity and study in ("", row["study"])]
        if len(found) != 1:
            raise StoreError(self._not_one(quantity, found))
        return float(found[0]["value"])

    def _not_one(self, quantity: str, found: Sequence[Row]) -> str:
        """Why a name of a figure is refused: there is none of it, or there are several."""
        from attlas.evidence.finding import near_names

        if found:
            of = listed([f"{row['study']} on {row['corpus']}" for row in found])
            return f"{self.label} has {len(found)} figures {quantity!r}, of {of}; see .figures"
        near = near_names(quantity, {row["quantity"] for row in self.figures})
        return f"{self.label} has no figure {quantity!r}; " + (f"near it: {listed(near)}" if near else "see .figures")

    def _told(self) -> list[Row]:
        """What is said of it as people read it: first what it does, the strongest of each part first."""
        order = {part: place for place, part in enumerate(PARTS)}
        return sorted(self.portrait, key=lambda row: order.get(row["part"], len(order)))

    def _rows(self, name: str) -> list[Row]:
        table = self.atlas.tables[name]
        rows: list[Row] = table.filter(_at(table, self.model, self.stream, self.layer, self.head)).to_pylist()
        return rows

    def __str__(self) -> str:
        where = "" if len(_streams(self.atlas, self.model)) < 2 else f", {self.stream}"
        lines = [f"{self.label} of {self.model}{where}: {self.called}"]
        titles = PORTRAITS["part"].labels
        for row in self._told()[:SHOWN]:
            lines.append(f"  {titles.get(row['part'], row['part'])}: {row['sentence']}")
        if len(self.portrait) > SHOWN:
            lines.append(f"  and {len(self.portrait) - SHOWN} further sentences in .portrait")
        lines += [f"  disagreement: {row['sentence']}" for row in self.disagreements]
        studies = listed(list(dict.fromkeys(row["study"] for row in self.figures)))
        return "\n".join([*lines, f"  {count_of(len(self.figures), 'figure')}, from {studies}: see .figures"])

    def __repr__(self) -> str:
        return f"Head({self.label} of {self.model}, {self.stream}: {self.called})"

    def _repr_html_(self) -> str:
        titles = PORTRAITS["part"].labels
        said = "".join(
            f"<li><i>{html.escape(titles.get(row['part'], row['part']))}</i> {html.escape(row['sentence'])} "
            f"<small>{html.escape(row['study'] or '')}</small></li>"
            for row in self._told()
        )
        but = "".join(f"<p>Two studies disagree: {html.escape(row['sentence'])}.</p>" for row in self.disagreements)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in figure_cells(row)) + "</tr>"
            for row in self.figures
        )
        head = "".join(f"<th>{name}</th>" for name in ("figure", "value", "95 % interval", "chance", "study"))
        return (
            f"<h4>{html.escape(f'{self.label} of {self.model}: {self.called}')}</h4><ul>{said}</ul>{but}"
            f"<details><summary>{count_of(len(self.figures), 'figure')}</summary><table><tr>{head}</tr>{rows}</table>"
            "</details>"
        )


def figure_cells(row: Mapping[str, Any]) -> Sequence[str]:
    """A row of the table of heads as people read it: what it is, its value, its interval, chance, the study.

    >>> row = {"title": "previous piece", "kind": "share", "value": 0.93, "low": 0.9, "high": 0.95, "chance": None}
    >>> figure_cells(row | {"study": "survey"})
    ('previous piece', '0.93', '0.90–0.95', '', 'survey')
    """
    kind = KINDS.get(row["kind"], KINDS["number"])
    value, low, high, chance = ("" if row[name] is None else kind.write(row[name], None)
                                for name in ("value", "low", "high", "chance"))  # fmt: skip
    return row["title"], value, interval(low, high), chance, row["study"]


def head_named(atlas: Atlas, label: str, model: str | None, stream: str | None) -> Head:
    """The head of this label; refused in a sentence where there is none, or where there are several."""
    layer, head = parse_head(label)
    if layer is None:
        raise StoreError(f"{label!r} is the head of no one layer; write layer and head, such as '3-{label}'")
    model = _only(model, atlas.models, "model", "the atlas")
    stream = _only(stream, _streams(atlas, model), "stream", model)
    table = atlas.table
    if not table.filter(_at(table, model, stream, layer, head)).num_rows:
        raise StoreError(f"{model} has no head {label} in its {stream}, or no study gave a figure of it")
    return Head(atlas, model, stream, layer, head)


def _only(asked: str | None, there: Sequence[str], what: str, where: str) -> str:
    """The one that is asked for, or the only one there is."""
    if asked is not None and str(asked) in there:
        return str(asked)
    known = f"{what}s of {where}: {', '.join(there)}"
    if asked is not None:
        raise StoreError(f"there is no {what} {str(asked)!r}; {known}")
    if len(there) != 1:
        raise StoreError(f"say which {what} is meant, by {what}=; {known}")
    return there[0]


def _streams(atlas: Atlas, model: str) -> list[str]:
    return [row["stream"] for row in atlas.tables["models"].to_pylist() if row["model"] == model]


def _at(table: pa.Table, model: str, stream: str, layer: int, head: int) -> pa.Array:
    """Which rows of a table are of a head."""
    from pyarrow import compute

    place = {"layer": layer, "head": head, "stream": stream, "model": model}
    mask = None
    for name, value in place.items():
        equal = compute.equal(table[name], value)
        mask = equal if mask is None else compute.and_(mask, equal)
    return mask
