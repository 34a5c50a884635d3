"""A page as data: what it answers, which chart shows it, what was found, and what stands below.

The order of every page is declared once, in the renderers: title, the answer in one sentence, the one chart that
shows it, what was found, the sections, the words it uses, its limits, how it was made. A :class:`Page` says what
fills these places, in terms of tables, columns and sentences; it knows nothing of HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from markupsafe import Markup

from attlas.pages.charts import Chart
from attlas.pages.findings import Finding
from attlas.pages.prose import Prose, as_prose
from attlas.pages.rows import Row, Rows, Tables
from attlas.store.schema import Schema

Said = str | Callable[[Tables], "str | Prose | None"]


class Listing:
    """A table of a page: which columns of which table, in which order.

    The column ``head`` stands for layer and head together, as in "6-3"; columns that are missing are left out, and
    intervals, chance levels and twins stand beside what they belong to. ``order`` is a column to sort by, with a
    minus before it for largest first; ``most`` keeps so many rows; ``rows`` makes the rows itself, in place of
    ``where``.

    >>> from attlas.store import Manifest, Result
    >>> tables = Tables(Result(Manifest("toy"), {"heads": {"head": [0, 1], "value": [0.1, 0.9]}}))
    >>> listing = Listing("heads", "head", "value", order="-value")
    >>> listing.columns, listing.shown(tables).column("head"), listing.fits(tables)
    (('head', 'value'), [1, 0], True)
    """

    def __init__(
        self,
        table: str,
        *columns: str,
        title: str = "",
        order: str = "",
        most: int | None = None,
        where: Mapping[str, object] | None = None,
        rows: Callable[[Tables], Iterable[Row]] | None = None,
    ) -> None:
        self.table, self.columns, self.title, self.order, self.most = table, columns, title, order, most
        self.where, self.rows = where or {}, rows

    def shown(self, tables: Tables) -> Rows:
        """The rows it lists, in order."""
        rows = Rows(self.rows(tables)) if self.rows else tables[self.table].where(**dict(self.where))
        if self.order:
            rows = rows.largest(self.order[1:]) if self.order.startswith("-") else rows.smallest(self.order)
        return rows[: self.most] if self.most else rows

    def fits(self, tables: Tables) -> bool:
        """Whether there is anything to list."""
        return len(self.shown(tables)) > 0


@dataclass(frozen=True)
class Custom:
    """A part of a page that is one of a kind: a function that writes its HTML (as :class:`~markupsafe.Markup`, which
    escapes what is put into it), or None where there is nothing to show.

    ``tables`` are the tables it shows.

    >>> Custom(lambda tables: None).fits(None)
    False
    """

    html: Callable[[Tables], Markup | None]
    tables: tuple[str, ...] = ()

    def fits(self, tables: Tables) -> bool:
        """Whether there is anything to show."""
        return self.html(tables) is not None


Part = Chart | Listing | Custom


@dataclass(frozen=True)
class Section:
    """A part of the page: a heading, how to read it, and what there is to see; it falls out where nothing is.

    ``lead`` and the notes are sentences (see :mod:`attlas.pages.prose`), or functions of the tables that give some.
    ``width`` sets charts side by side: wide, half or small.

    >>> Section("map", "Head by head", "The brighter, the more.").parts
    ()
    """

    key: str
    title: str
    lead: Said = ""
    parts: tuple[Part, ...] = ()
    short: str = ""
    width: str = "wide"
    note: Said = ""

    def present(self, tables: Tables) -> tuple[Part, ...]:
        """The parts that have something to show."""
        return tuple(part for part in self.parts if part.fits(tables))


@dataclass(frozen=True)
class Page:
    """The page of a study.

    ``title`` may name {model} and {corpus}; ``answer`` gives the finding that answers the page's question in one
    sentence, ``chart`` is the chart that shows it; ``warning`` gives a line where the model does not do the task.
    ``about`` says what was done. ``findings`` are functions that give findings, in the order in which a reader would
    ask; ``words`` explain terms, ``limits`` say what the figures cannot say. ``derived`` makes tables for charts from
    the result's own; ``unshown`` names tables that no part shows, and why. ``static`` are further style sheets and
    scripts, by name in :mod:`attlas.pages`' folder ``static``. ``published`` is what others have found, for the page
    of results that :func:`~attlas.pages.markdown.markdown_page` writes.

    >>> Page("toy", "What {model} does", answer=lambda tables: None).study
    'toy'
    """

    study: str
    title: str
    answer: Callable[[Tables], Finding | None]
    chart: Chart | None = None
    about: Said = ""
    findings: tuple[Callable[[Tables], Iterable[Finding]], ...] = ()
    sections: tuple[Section, ...] = ()
    schemas: tuple[Schema, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    warning: Callable[[Tables], str | Prose | None] = lambda tables: None
    derived: Mapping[str, Callable[[Tables], Iterable[Row]]] = field(default_factory=dict)
    unshown: Mapping[str, str] = field(default_factory=dict)
    static: tuple[str, ...] = ()
    published: str = ""

    def found(self, tables: Tables) -> list[Finding]:
        """All findings that these tables give, the answer first."""
        answer = self.answer(tables)
        rest = [finding for find in self.findings for finding in find(tables)]
        return ([answer] if answer is not None else []) + rest

    def charts(self) -> list[Chart]:
        """All charts of the page."""
        own = [self.chart] if self.chart is not None else []
        return own + [part for section in self.sections for part in section.parts if isinstance(part, Chart)]


def said(text: Said, tables: Tables) -> Prose | None:
    """What a lead or a note says of these tables, if anything.

    >>> from attlas.store import Manifest, Result
    >>> tables = Tables(Result(Manifest("toy", model={"name": "tiny"}), {"heads": {"head": [0]}}))
    >>> str(said("Heads of {model}.", tables))
    'Heads of tiny.'
    """
    told = text if isinstance(text, str) else text(tables)
    return as_prose(told, **tables.names) if told else None
