"""Whether the words of a finding are those of its claims.

:func:`~attlas.pages.findings.holds` asks tables whether a claim is true; that the sentence says what its claims say
is asked here, by :func:`faults`. Every number and every head that fills a slot of a sentence must be a fact of its
claims: a value that is claimed, a cell of a row that is claimed, or how many rows there are. What the template itself
writes ("p < 0.01") is no figure of the table. Words that compare ("best", "more") need a claim that does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from string import Formatter
from typing import Any

from attlas.ids import paper_label
from attlas.pages.findings import Claim, Finding
from attlas.pages.prose import Prose
from attlas.pages.rows import Row, Tables
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
