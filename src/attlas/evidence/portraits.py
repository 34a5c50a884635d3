"""The portrait of a head: what each study says of it, as sentences with the claims that make them true.

:func:`said` puts the sayings of a study to all its figures at once; a head of which nothing is said gets one row
that tells so (:func:`nothing`). Of all studies together, the strongest sentence comes first.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import Formatter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.evidence.figures import Figure
from attlas.evidence.saying import Saying
from attlas.pages.findings import Claim
from attlas.pages.prose import count_of
from attlas.store.schema import KINDS, decimals_for, is_known

PLACE = ("model", "stream", "layer", "head")
OWN = (*PLACE, "study", "quantity", "corpus")  # what tells a row of the heads from all others
AMONG = ("model", "stream", "study", "quantity", "corpus")
FIGURES = ("value", "low", "high", "chance", "twin", "p", "n")
Columns = Mapping[str, NDArray[Any]]
Row = dict[str, Any]


def said(named: Sequence[Figure], columns: Columns, sayings: Iterable[Saying]) -> list[Row]:
    """The sentences that sayings make of figures, with place, role, part, strength and the figure that they tell."""
    rows: list[Row] = []
    for saying in sayings:
        own: list[Row] = []
        for at, figure in enumerate(named):
            if saying.fits(figure.table, figure.column, figure.keys):
                rows_of = np.flatnonzero(columns["figure"] == at)
                own += _told(saying, figure, columns, rows_of, _also(saying, figure, named, columns, rows_of))
        by_head: dict[Any, list[Row]] = defaultdict(list)
        for row in own:
            by_head[row["stream"], row["layer"], row["head"]].append(row)
        for own in by_head.values():
            rows += sorted(own, key=lambda row: -row["strength"])[: saying.most]
    roles: dict[Any, set[str]] = defaultdict(set)
    for row in rows:
        roles[row["stream"], row["layer"], row["head"]].add(row["role"])
    told = []
    for row in rows:
        by: Saying = row.pop("saying")
        others = roles[row["stream"], row["layer"], row["head"]]
        if not others & set(by.unless) and (not by.only_with or others & set(by.only_with)):
            told.append(row)
    return told


def _also(
    saying: Saying, figure: Figure, named: Sequence[Figure], columns: Columns, at: NDArray[np.int64]
) -> tuple[str, NDArray[Any]]:
    """The other figure of the same rows that a saying asks for: the name of its quantity, and its values."""
    if saying.also is None:
        return "", np.full(len(at), np.nan)
    for number, other in enumerate(named):
        if (other.table, other.column, other.keys) == (figure.table, saying.also[0], figure.keys):
            theirs = columns["figure"] == number
            places = zip(*(columns[name][theirs] for name in PLACE[1:]), strict=True)
            values = dict(zip(places, columns["value"][theirs], strict=True))
            own = zip(*(columns[name][at] for name in PLACE[1:]), strict=True)
            return other.quantity, np.array([values.get(place, np.nan) for place in own])
    return "", np.full(len(at), np.nan)


def _told(
    saying: Saying, figure: Figure, columns: Columns, at: NDArray[np.int64], also: tuple[str, NDArray[Any]]
) -> Iterator[Row]:
    """The sentence of one saying about each head whose figure is beyond what it is held against."""
    value, low, high, chance = (columns[name][at] for name in ("value", "low", "high", "chance"))
    level = np.full(len(at), saying.level) if saying.level is not None else chance * saying.times
    near = value if saying.exact else high if saying.below else low
    best = _best(saying, value, chance, columns["stream"][at])
    with np.errstate(invalid="ignore", divide="ignore"):
        strength = (near - level) / (best - level)
        told = (near < level) if saying.below else (near > level)
        told &= (strength >= saying.bar) & (strength > 0) & np.isfinite(strength)
        if saying.beyond is not None:
            told &= (near < saying.beyond) if saying.below else (near > saying.beyond)
        if saying.upto is not None:
            told &= (near >= saying.upto) if saying.below else (near <= saying.upto)
        if saying.p_below is not None:
            told &= columns["p"][at] < saying.p_below
        if saying.also is not None:
            told &= also[1] > saying.also[1]
    for one in np.flatnonzero(told).tolist():
        row = at[one]
        numbers = {name: _cell(columns[name][row]) for name in FIGURES} | {"also": _cell(also[1][one])}
        yield {
            "stream": str(columns["stream"][row]), "layer": int(columns["layer"][row]),
            "head": int(columns["head"][row]), "role": saying.role, "part": saying.part,
            "strength": float(min(strength[one], 1.0)), "sentence": _sentence(saying, figure, numbers),
            "quantity": figure.quantity, **{name: numbers[name] for name in ("value", "low", "high", "chance")},
            "claims": _claims(saying, numbers, also[0]), "saying": saying,
        }  # fmt: skip


def _best(saying: Saying, value: NDArray[Any], chance: NDArray[Any], streams: NDArray[Any]) -> NDArray[Any]:
    """The best that each figure could be."""
    if saying.best == "chance":
        return chance
    if saying.best is not None:
        return np.full(len(value), float(saying.best))
    best = np.empty(len(value))
    for stream in set(streams.tolist()):
        own = streams == stream
        best[own] = np.nanmin(value[own]) if saying.below else np.nanmax(value[own])
    return best


def _cell(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _claims(saying: Saying, numbers: Mapping[str, float | None], also: str) -> str:
    """What must be so of the figure's row for the sentence to be true, as JSON; see :func:`claims_of`."""
    near = "value" if saying.exact else "high" if saying.below else "low"
    claims: list[dict[str, Any]] = [{"kind": "value", "column": "value", "value": numbers["value"]}]
    chance = numbers["chance"]
    than: float | str = "chance" if saying.times == 1.0 else saying.times * (chance or 0.0)
    than = saying.level if saying.level is not None else than
    claims.append({"kind": "below" if saying.below else "above", "column": near, "than": than})
    if saying.beyond is not None:
        claims.append({"kind": "below" if saying.below else "above", "column": near, "than": saying.beyond})
    if saying.p_below is not None:
        claims.append({"kind": "below", "column": "p", "than": saying.p_below})
    if saying.also is not None:
        claims.append({"kind": "value", "column": "value", "value": numbers["also"], "quantity": also})
    return json.dumps(claims)


def claims_of(row: Mapping[str, Any]) -> list[Claim]:
    """The claims of a row of portraits or of what stands out: of the row of ``heads`` that it speaks of (or of the
    nearest head, in ``alike``), where they name no others.

    >>> told = [{"kind": "above", "column": "low", "than": "chance"}]
    >>> row = {"model": "m", "stream": "encoder", "layer": 0, "head": 1, "study": "s", "quantity": "q",
    ...        "corpus": "c", "claims": json.dumps(told)}
    >>> claims_of(row)[0].rows[0]["quantity"]
    'q'
    """
    own, among = {name: row[name] for name in OWN if name in row}, {name: row[name] for name in AMONG if name in row}
    near = {name: own[name] for name in own if name != "quantity"} | {"order": 0}
    told = []
    for claim in json.loads(row["claims"]):
        if "quantity" in claim:
            own = {**own, "quantity": claim.pop("quantity")}
        of_pair = claim.get("table") == "alike"
        usual: dict[str, Any] = {"table": "heads"}
        usual |= {} if claim["kind"] == "count" else {"rows": [near if of_pair else own]}
        usual |= {"among": among} if claim["kind"] in ("largest", "smallest") else {}
        told.append(Claim(**(usual | claim)))
    return told


def _sentence(saying: Saying, figure: Figure, numbers: Mapping[str, float | None]) -> str:
    """The sentence, its slots filled."""
    in_words = dict(figure.labels) | {key: str(told(figure.keys[key])) for key, told in saying.words.items()}
    written: dict[str, dict[str, str]] = {}
    parts = []
    for text, slot, spec, _ in Formatter().parse(saying.sentence):
        parts.append(text)
        if slot in in_words:
            parts.append(in_words[slot])
        elif slot:
            kind = spec or figure.kind
            if kind not in written:
                written[kind] = dict(zip(FIGURES, in_numbers(kind, numbers), strict=True))
            parts.append(in_numbers(kind, {"value": numbers["also"]})[0] if slot == "also" else written[kind][slot])
    return "".join(parts)


def in_numbers(kind: str, numbers: Mapping[str, float | None]) -> list[str]:
    """Value, ends, chance, twin, p and n as a sentence has them: with two or three figures, percents without decimals
    from ten on, and with as many more as tell the value from its chance level, and from nothing.

    >>> in_numbers("percent", {"value": 0.767, "chance": 0.36})[:4]
    ['77 %', '', '', '36 %']
    >>> in_numbers("share", {"value": 0.954, "chance": 0.951})[0]
    '0.954'
    """
    known = [number for name in ("value", "chance") if is_known(number := numbers.get(name)) and number is not None]
    most = max(map(abs, known), default=0.0)
    percent = kind == "percent"
    decimals = (0 if most >= 0.0995 else 1) if percent else decimals_for(most)
    unit = " %" if percent else ""

    def write(name: str, places: int) -> str:
        number = numbers.get(name)
        if number is None:
            return ""
        free = 0 < abs(number) < 1e-4 or KINDS[kind].name in ("count", "index", "seconds", "p")
        return KINDS[kind].write(number, None if free and not percent else places) + unit

    value, chance = numbers.get("value"), numbers.get("chance")
    for more in range(3 if chance is not None else 0):
        told, against = write("value", decimals + more), write("chance", decimals + more)
        if value == chance or (told != against and (not value or told.strip("0.% ") != "")):
            decimals += more
            break
    p, n = numbers.get("p"), numbers.get("n")
    return [
        *(write(name, decimals) for name in FIGURES[:5]),
        "" if p is None else KINDS["p"].write(p, None),
        "" if n is None else KINDS["count"].write(n, None),
    ]


def general(named: Sequence[Figure]) -> list[Saying]:
    """Sayings for a study that has none of its own: that a figure is surely above its chance level."""
    return [
        Saying("other", _escaped(figure.title) + ": {value} (by chance {chance})", figure.table, figure.column,
               dict(figure.keys), best=1.0 if figure.kind in ("share", "percent") else None, bar=0.05, most=1)
        for figure in named
    ]  # fmt: skip


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def nothing(place: Mapping[str, Any], count: int) -> Row:
    """The row of a head of which no sentence is made.

    >>> nothing({"model": "m", "stream": "encoder", "layer": 0, "head": 1}, 3)["sentence"]
    'shows nothing that stands out among its 3 figures'
    """
    claim = {"kind": "count", "column": "layer", "among": dict(place), "than": -1, "value": count}
    return {
        **place, "order": 0, "role": "other", "part": "none", "strength": 0.0,
        "sentence": f"shows nothing that stands out among its {count_of(count, 'figure')}", "study": "",
        "quantity": "", "corpus": "", "claims": json.dumps([claim]),
    }  # fmt: skip


def claims_as_json(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The claims of a row of portraits as they stand beside those of others: each names its row.

    >>> row = {"model": "m", "study": "s", "claims": '[{"kind": "above", "column": "low", "than": "chance"}]'}
    >>> claims_as_json(row)[0]["rows"]
    [{'model': 'm', 'study': 's'}]
    """
    told = []
    for claim in claims_of(row):
        parts = {"kind": claim.kind, "table": claim.table, "column": claim.column, "rows": claim.rows}
        parts |= {name: value for name in ("value", "than") if (value := getattr(claim, name)) is not None}
        told.append(parts | ({"among": claim.among} if claim.among else {}))
    return told


def role_of(rows: Iterable[Row]) -> str:
    """What a head is called: the role of the first sentence on what it does, else on where it rests.

    >>> role_of([{"part": "rests", "role": "cls"}, {"part": "does", "role": "syntax"}]), role_of([])
    ('syntax', 'other')
    """
    told = list(rows)
    for part in ("does", "rests"):
        for row in told:
            if row["part"] == part:
                return str(row["role"])
    return "other"
