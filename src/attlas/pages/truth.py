"""Whether the words of a finding are those of its claims.

:func:`~attlas.pages.findings.holds` asks tables whether a claim is true; that the sentence says what its claims say
is asked here, by :func:`faults`. Every number and every head that fills a slot of a sentence must be a fact of its
claims: a value that is claimed, a cell of a row that is claimed, or how many rows there are. What the template itself
writes ("p < 0.01") is no figure of the table. Words that compare ("best", "more") need a claim that does.

Captions (titles, leads and notes of sections, charts and tables) say how to read what is shown, and make no claims;
:func:`caption_faults` asks two things of them. What fills a slot must be a figure of the result: a cell of a table,
how many rows one has, a count or an option of the manifest. And what is said to come in an order ("the worst cut
first", "the best heads", "from early to late") must do so, by some column, in the chart or table that it stands over.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from string import Formatter
from typing import Any

from attlas.ids import paper_label
from attlas.pages.charts import Chart
from attlas.pages.findings import Claim, Finding
from attlas.pages.page import Custom, Listing, Page, Part, said
from attlas.pages.prose import Prose, as_prose
from attlas.pages.rows import Row, Rows, Tables
from attlas.store.schema import KINDS, is_known

_NUMBER = re.compile(r"(?<![\w@.\-/])[+−]?\d+(?:-\d+|(?:,\d{3})*(?:\.\d+)?(?:e−?\d+)?)(?![\w@/])")
_WORDS = {
    "largest or smallest": (
        r"best|most|largest|highest|broadest|farthest|furthest|strongest|earliest|latest|least|smallest|lowest|worst|"
        r"nearest|closest",
        ("largest", "smallest"),
    ),
    "above or below": (
        r"better|worse|more|less|fewer|higher|lower|above|below|longer|shorter|beats?|rises?|gains?|costs?|suffers?|"
        r"missed",
        ("above", "below", "count", "difference", "largest", "smallest"),
    ),
}
_IDIOMS = re.compile(  # what compares nothing, is a name, was chosen on other texts, or is denied
    r"at (?:most|least|best)|most (?:frequent|likely|of|possible|attended)|to which most|the most there is|"
    r"and more|or more|more about as much|for less than|"
    r"best single head|best offset|nearest mention|"
    r"best on (?:other texts|other documents|one half)|best there|best layer alone, chosen on validation|"
    r"no more|never rises|surely better|not shown to be better|not shown to know more or less"
)
_ORDERED = re.compile(
    r"\b(?:best|worst|most|nearest|largest|smallest|frequent|important)\b[^.;:]*\bfirst\b|\bmost come first\b|"
    r"from (?:early to late|the best to the worst|the worst cut to the best)|^The (?:best|most \w+|nearest) \w+$",
    re.IGNORECASE,
)
_WRITTEN = ("share", "number", "signed", "percent", "p", "count", "seconds")


def slots_of(prose: Prose) -> Iterator[tuple[Any, str]]:
    """Everything that fills the slots of a sentence, and of the sentences in them, with how it is written.

    >>> from attlas.pages.prose import say
    >>> list(slots_of(say("{a:percent} % {b}", a=0.5, b=say("({c})", c=3))))
    [(0.5, '50.0'), (3, '3')]
    """
    for _, name, spec, _ in Formatter().parse(prose.template):
        if name is not None:
            value = prose.values[name]
            if isinstance(value, Prose):
                yield from slots_of(value)
            else:
                yield value, str(Prose(f"{{value{':' + spec if spec else ''}}}", {"value": value}))


def faults(findings: Iterable[Finding], tables: Tables) -> list[str]:
    """What is wrong with the words of some findings, a line each: a number that no claim tells, a word that compares
    where no claim does, a figure that is not known.

    >>> from attlas.pages.findings import finding
    >>> from attlas.store import Manifest, Result
    >>> tables = Tables(Result(Manifest("toy"), {"heads": {"head": [4]}}))
    >>> faults([finding("{n} heads are better.", n=5), finding("It is {p:p}.", p=None)], tables)
    ['no claim tells 5: 5 heads are better.', 'no claim shows better: 5 heads are better.', 'not known: It is ...']
    """
    names = names_in(tables)
    lines = []
    for finding in findings:
        lines += [f"no claim tells {number}: {finding.text}" for number in unclaimed(finding, tables, names)]
        lines += [f"no claim shows {word}: {finding.text}" for word in unshown(finding, names)]
        lines += [f"not known: {finding.text}"] * any(not is_known(value) for value, _ in slots_of(finding.text))
    return lines


def unclaimed(finding: Finding, tables: Tables, names: Collection[str] = ()) -> list[str]:
    """The numbers and heads of a sentence that none of its claims tells.

    >>> from attlas.pages.findings import finding, value_claim
    >>> from attlas.store import Manifest, Result
    >>> tables = Tables(Result(Manifest("toy"), {"heads": {"layer": [0], "head": [4], "value": [0.5], "low": [0.4]}}))
    >>> row = tables["heads"][0]
    >>> said = {"head": "1-5", "value": 0.5, "low": 0.4, "most": 0.9}
    >>> claim = value_claim("heads", "value", row, "layer", "head")
    >>> text = "Head {head} has {value:share} (from {low:share}), not {most:share}."
    >>> unclaimed(finding(text, claim, **said), tables)
    ['0.90']
    """
    written = {text for claim in finding.claims for text in _facts(claim, tables)}
    written |= {text for number in _counted(tables) for text in _written(number)}
    return [
        number
        for value, text in slots_of(finding.text)
        if not (isinstance(value, str) and value in names)
        for number in _NUMBER.findall(text)
        if number not in written
    ]


def unshown(finding: Finding, names: Collection[str] = ()) -> list[str]:
    """The words of a sentence that compare, where none of its claims does.

    >>> from attlas.pages.findings import finding
    >>> unshown(finding("Head {head} is the best.", Claim("value", "heads", "value", value=0.5), head="1-5"))
    ['best']
    >>> unshown(finding("Head {head} is the best.", Claim("largest", "heads", "value"), head="1-5"))
    []
    """
    kinds = {claim.kind for claim in finding.claims}
    told = _IDIOMS.sub("", _own_words(finding.text, names))
    return [
        word
        for words, needed in _WORDS.values()
        if not kinds & set(needed)
        for word in re.findall(rf"\b(?:{words})\b", told, re.IGNORECASE)
    ]


def caption_faults(page: Page, tables: Tables) -> list[str]:
    """What is wrong with the captions of a page, a line each: a number that is none of the result's, an order that is
    not kept.

    >>> from attlas.pages.page import Section
    >>> from attlas.store import Manifest, Result
    >>> tables = Tables(Result(Manifest("toy"), {"heads": {"head": [1, 2, 3], "value": [0.3, 0.9, 0.5]}}))
    >>> def page(**how):
    ...     listing = Listing("heads", "head", "value", title="Heads, the best first", **how)
    ...     return Page("toy", "", answer=lambda tables: None, sections=(Section("all", "All", parts=(listing,)),))
    >>> caption_faults(page(order="-value"), tables)
    []
    >>> caption_faults(page(order="head", where={"head": [2, 3, 1]}), tables)  # the numbers of heads are no figures
    ['not in this order: Heads, the best first']
    """
    lines = []
    names = names_in(tables)
    for caption, parts in _captions(page, tables):
        slots = [text for value, text in slots_of(caption) if not (isinstance(value, str) and value in names)]
        numbers = {number for text in slots for number in _NUMBER.findall(text)}
        if numbers:
            numbers -= {text for number in _figures(tables) for text in _written(number)}
        lines += [f"no figure of the result is {number}: {caption}" for number in sorted(numbers)]
        if _ORDERED.search(str(caption)):
            shown = [_shown(part, tables) for part in parts if part.fits(tables) and not isinstance(part, Custom)]
            kept = [any(map(_in_order, columns)) for columns in map(_varying, shown) if columns]
            lines += [f"not in this order: {caption}"] * (kept != [] and not any(kept))
    return lines


def _captions(page: Page, tables: Tables) -> Iterator[tuple[Prose, Sequence[Part]]]:
    """Every caption of a page, with what it stands over."""
    for chart in page.charts():
        for text in (chart.title, chart.label, chart.note):
            if text:
                yield as_prose(text, **tables.names), (chart,)
    for section in page.sections:
        for said_of in (section.title, section.lead, section.note):
            caption = said(said_of, tables)
            if caption is not None:
                yield caption, section.parts
        for part in section.parts:
            if isinstance(part, Listing) and part.title:
                yield as_prose(part.title, **tables.names), (part,)


def _shown(part: Part, tables: Tables) -> list[list[list[float]]]:
    """The figures that a part shows, column by column and within it stream by stream, in its order; none of a chart
    that does not say in which order its lines stand."""
    assert not isinstance(part, Custom)
    rows = part.shown(tables) if isinstance(part, Listing) else part.rows(tables)
    schema = tables.schemas.get(part.table)
    if isinstance(part, Chart):
        lines = _lines(part.spec(tables))
        if not lines:
            return []
        named = part.columns[0]
        labels = schema[named].labels if schema is not None and named in schema else {}
        place = {name: at for at, name in enumerate(lines)}
        rows = Rows(sorted(rows, key=lambda row: place.get(labels.get(row[named], row[named]), len(place))))
    numbers = {
        name
        for row in rows[:1]
        for name, value in row.items()
        if name not in ("layer", "head") and isinstance(value, int | float)
    }
    streams = [stream for _, stream in rows.by("stream")] if rows and "stream" in rows[0] else [rows]
    return [
        [[row[name] for row in stream if is_known(row.get(name))] for stream in streams] for name in sorted(numbers)
    ]


def _varying(columns: list[list[list[float]]]) -> list[list[list[float]]]:
    """Columns that have different figures: what is the same in all rows is in any order."""
    return [streams for streams in columns if len({value for values in streams for value in values}) > 1]


def _lines(spec: Any) -> list[Any]:
    """The names of a chart's lines, from the top down, where it says in which order they stand."""
    if isinstance(spec, Mapping):
        if isinstance(spec.get("y"), Mapping) and isinstance(spec["y"].get("sort"), list):
            return list(spec["y"]["sort"])
        return next((lines for value in spec.values() if (lines := _lines(value))), [])
    return next((lines for value in spec if (lines := _lines(value))), []) if isinstance(spec, list) else []


def _in_order(streams: Sequence[Sequence[float]]) -> bool:
    """Whether figures rise or fall, in every stream alike."""
    pairs = [pair for values in streams for pair in pairwise(values)]
    return all(a <= b for a, b in pairs) or all(a >= b for a, b in pairs)


def _figures(tables: Tables) -> Iterator[float]:
    """All figures that a caption may write: of the manifest, and of every table."""
    yield from _counted(tables)
    yield from (value for value in _plain(tables.options) if isinstance(value, int | float))
    for name, schema in tables.schemas.items():
        rows = tables[name]
        yield len(rows)
        for column in schema.columns:
            yield from {value for value in rows.column(column.name) if isinstance(value, int | float)}


def _plain(value: Any) -> Iterator[Any]:
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else None
    if parts is None:
        yield value
    else:
        for part in parts:
            yield from _plain(part)


def _own_words(prose: Prose, names: Collection[str]) -> str:
    """What a sentence says, without the names that fill its slots."""
    parts = []
    for text, name, _, _ in Formatter().parse(prose.template):
        value = prose.values[name] if name else ""
        parts += [text, _own_words(value, names) if isinstance(value, Prose) else str(value) * (value not in names)]
    return "".join(parts)


def _facts(claim: Claim, tables: Tables) -> Iterator[str]:
    """What a sentence may write of a claim: its value, its bar, how many rows it is about, the rows it names."""
    rows = tables[claim.table].where(**dict(claim.among))
    named = [row for key in claim.rows for row in rows.where(**dict(key))]
    rest = [len(rows) - claim.value] if claim.kind == "count" and claim.value is not None else []
    if claim.kind == "difference" and claim.value is not None:
        rest.append(abs(claim.value))  # by how many points more, or less
    if claim.kind in ("value", "mean", "median", "total") and claim.than and claim.value is not None:
        rest.append(claim.value / float(claim.than))
    numbers = [claim.value, claim.than, len(rows), *rest, *(cell for row in named for cell in row.values())]
    for number in numbers:
        if isinstance(number, int | float) and is_known(number):
            yield from _written(number)
    for row in named:
        yield from _labels(row)
    layers = claim.among.get("layer")
    for layer in layers if isinstance(layers, list) else [layers]:
        yield from _labels({**claim.among, "layer": layer})


def _counted(tables: Tables) -> Iterator[float]:
    """What the manifest counts: texts, pieces, and on how many something was chosen."""
    about = tables.manifest.corpus
    parts = about.get("choose_on")
    for value in (*about.values(), *(parts.values() if isinstance(parts, Mapping) else ())):
        if isinstance(value, int | float):
            yield value


def _written(number: float) -> Iterator[str]:
    yield from (f"{number:,}" if isinstance(number, int) else str(number), f"{100 * number:.0f}")
    for kind in _WRITTEN:
        yield from _NUMBER.findall(KINDS[kind].write(number, None))
    yield from _NUMBER.findall(KINDS["signed"].write(100 * number, None))  # points


def _labels(row: Row) -> Iterator[str]:
    for layer, head in (("layer", "head"), ("layer_b", "head_b"), ("nearest_layer", "nearest_head")):
        if isinstance(row.get(layer), int):
            yield str(row[layer] + 1)
            if isinstance(row.get(head), int):
                yield paper_label(row[layer], row[head])


def names_in(tables: Tables) -> set[str]:
    """Names, which may have digits in them: of the model and the corpus, and what text columns hold or are called.

    >>> from attlas.store import Manifest, Result
    >>> manifest = Manifest("toy", model={"name": "bert-2"}, corpus={"name": "a book"})
    >>> sorted(names_in(Tables(Result(manifest, {"heads": {"head": [4]}}))))
    ['a book', 'bert-2']
    """
    names = {str(name) for name in tables.names.values()}
    for name, schema in tables.schemas.items():
        for column in schema.columns:
            names |= {*column.labels.values(), column.title}
            if not column.number:
                names |= {value for value in tables[name].column(column.name) if isinstance(value, str)}
    return names
