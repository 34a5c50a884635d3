"""What the columns of a table mean: a schema, from which everything that is written of a table follows.

A :class:`Column` has a name, a title for people, and a *kind* that knows how its values are written (share, signed,
p, count ...). It says which columns hold the ends of its interval, which its chance level and its untrained twin's
figure, over which family a p was corrected, whose definition it is, and whether it is a figure of a head. Table
heads, tooltips, axes, cells of pages, terminals and Markdown, and the documentation of every table are made from it.

Numbers follow one rule: two or three significant figures, a leading zero, as many decimals down a column as its
largest number needs (rows of different quantities in one column are columns of their own), an exponent only where all
of a column is below 0.00001, and ``< 0.001`` for a p that is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MISSING = ""
MINUS = "−"
Levels = Mapping[tuple[Any, ...], float]  # by values of keys, and stream, layer and head or some of these


@dataclass(frozen=True)
class Kind:
    """How the values of a column are written, alone and in a chart.

    ``write`` takes a value and a number of decimals (None: as many as the value itself asks for); ``format`` is the
    format of numbers in charts (d3's); ``number`` tells whether the column stands to the right.

    >>> KINDS["share"].write(0.974, None)
    '0.97'
    """

    name: str
    write: Callable[[Any, int | None], str]
    format: str = ""
    number: bool = True


def decimals_for(size: float, least: int = 2) -> int:
    """How many decimals a number of this size needs: two or three significant figures, ``least`` below one.

    >>> [decimals_for(size) for size in (1234.0, 45.6, 3.2, 0.97, 0.031, 0.0042)]
    [0, 1, 2, 2, 3, 4]
    """
    if size >= 99.5:
        return 0
    if size >= 9.95:
        return 1
    if size >= 0.0995 or size == 0:
        return max(2, least)
    return min(5, 1 - math.floor(math.log10(size)))


def is_known(value: object) -> bool:
    """Whether a cell holds something: neither None nor a number that is none.

    >>> is_known(0.0), is_known(None), is_known(float("nan")), is_known("")
    (True, False, False, True)
    """
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def _number(value: float, decimals: int | None, *, sign: bool = False) -> str:
    size = abs(value)
    if decimals is None and 0 < size < 1e-4:
        mantissa, exponent = f"{size:.1e}".split("e")
        text = f"{mantissa}e{MINUS}{abs(int(exponent))}"
    else:
        text = f"{size:,.{decimals_for(size) if decimals is None else decimals}f}"
    if not text.strip("0.,"):
        return text
    return (MINUS if value < 0 else "+" if sign else "") + text


def _share(value: float, decimals: int | None) -> str:
    return _number(value, decimals)


def _signed(value: float, decimals: int | None) -> str:
    return _number(value, decimals, sign=True)


def _percent(value: float, decimals: int | None) -> str:
    text = f"{100 * abs(value):.{1 if decimals is None else decimals}f}"
    return (MINUS if value < 0 and text.strip("0.") else "") + text


def _p(value: float, decimals: int | None) -> str:
    if value < 0.001:
        return "< 0.001"
    if value > 0.99:
        return "> 0.99"
    return f"{value:.3f}" if value < 0.01 else f"{value:.2f}"


def _count(value: float, decimals: int | None) -> str:
    return f"{value:,.0f}".replace("-", MINUS)


def _seconds(value: float, decimals: int | None) -> str:
    return f"{value:,.3f}" if value < 0.1 else f"{value:,.1f}"


def _flag(value: object, decimals: int | None) -> str:
    return "yes" if value else "no"


def _text(value: object, decimals: int | None) -> str:
    return str(value)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("text", _text, number=False),
        Kind("flag", _flag, number=False),
        Kind("count", _count, ",.0f"),
        Kind("index", lambda value, decimals: f"{value + 1:d}", "d"),
        Kind("share", _share, ".3~f"),
        Kind("number", _number, ".3~r"),
        Kind("signed", _signed, "+.3~r"),
        Kind("percent", _percent, ".1%"),
        Kind("p", _p, ".3~g"),
        Kind("seconds", _seconds, ",.3~r"),
    )
}


@dataclass(frozen=True)
class Column:
    """One column of a table.

    ``ends`` are the columns that hold the two ends of its 95 % confidence interval, ``chance`` the one with its
    chance level, ``twin`` the one with the figure of the untrained twin (the random-weights baseline); ``family``
    says over what a p was corrected, ``definition`` whose definition it is, ``head`` whether it is a figure of a
    head. ``labels`` write values that are names; ``none`` is written where there is no value, and says why. An
    ``optional`` column may be missing from a table; a column that tells its cells ``apart`` has up to two decimals
    more, where different numbers would be written alike. ``was`` is the name it had in results of the first format,
    ``were`` what its values were called there.

    What a figure of a head is, beside those of other studies: ``p`` is the column with its corrected p; ``against``
    makes what it is held against where its table has no chance level, such as the best simple rule, by the values of
    the table's keys, or of keys and stream, or of keys, stream, layer and head (from a function that gives the rows
    of each table of the result); ``halves`` are the columns with the figure on the texts on which heads are chosen,
    and on those on which they are scored; ``called`` is its title, in which keys are slots, ``quantity`` its part of
    the figure's name, where that is not its own name. Of a column that is a key, ``kinds`` are the kinds of figures
    by its values, and ``authors`` says whose definitions these are.

    >>> Column("value", "accuracy", "percent", ends=("low", "high")).write(0.943)
    '94.3'
    """

    name: str
    title: str
    kind: str = "text"
    meaning: str = ""
    ends: tuple[str, str] | None = None
    chance: str = ""
    twin: str = ""
    family: str = ""
    definition: str = ""
    head: bool = False
    optional: bool = False
    apart: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    none: str = MISSING
    was: str = ""
    were: Mapping[str, str] = field(default_factory=dict)
    p: str = ""
    against: Callable[[Callable[[str], list[dict[str, Any]]]], Levels] | None = None
    halves: tuple[str, str] | None = None
    called: str = ""
    quantity: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)
    authors: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(
                f"column {self.name!r}: there is no kind {self.kind!r}; choose one of {', '.join(KINDS)}"
            )

    @property
    def number(self) -> bool:
        """Whether it holds numbers to be read, which stand to the right.

        >>> Column("n", "texts", "count").number
        True
        """
        return KINDS[self.kind].number

    def write(self, value: Any, decimals: int | None = None) -> str:
        """A value as people read it; nothing where there is none.

        >>> Column("p", "p", "p", none="too few").write(None), Column("n", "n", "count").write(None)
        ('too few', '')
        """
        if not is_known(value):
            return self.none
        return self.labels.get(value, KINDS[self.kind].write(value, decimals)) if self.labels else (
            KINDS[self.kind].write(value, decimals)
        )  # fmt: skip

    def decimals(self, values: Iterable[Any]) -> int | None:
        """How many decimals all cells of the column have: as many as its largest number needs.

        >>> Column("value", "value", "share").decimals([0.5, 0.021])
        2
        >>> Column("change", "change", "signed", apart=True).decimals([13.5, 0.21, 0.24])
        2
        """
        if self.kind not in ("share", "number", "signed"):
            return None
        numbers = [value for value in values if is_known(value) and not isinstance(value, str)]
        largest = max(map(abs, numbers), default=0.0)
        if 0 < largest < 1e-5:
            return None
        fewest = decimals_for(largest)
        if not self.apart:
            return fewest
        different = len({round(value, fewest + 2) for value in numbers})
        enough = (more for more in range(fewest, fewest + 2) if len({round(v, more) for v in numbers}) == different)
        return next(enough, fewest + 2)

    def places(self, values: Sequence[Any], groups: Sequence[Any]) -> list[int | None]:
        """How many decimals each cell has: the same in every group of rows.

        >>> Column("value", "score", "number").places([0.9, 0.02, 0.0003], ["matching", "matching", "copying"])
        [2, 2, 5]
        """
        members: dict[Any, list[Any]] = {}
        for value, group in zip(values, groups, strict=True):
            members.setdefault(group, []).append(value)
        needed = {group: self.decimals(some) for group, some in members.items()}
        return [needed[group] for group in groups]

    def written(self, values: Sequence[Any]) -> list[str]:
        """All cells of the column, with the same number of decimals.

        >>> Column("value", "value", "number").written([3.25, 0.5, 0.00004, None])
        ['3.25', '0.50', '0.00', '']
        """
        decimals = self.decimals(values)
        return [self.write(value, decimals) for value in values]


def interval(low: str, high: str) -> str:
    """Two written numbers as an interval; a dash would be lost among minus signs.

    >>> interval("3.1", "4.0"), interval("−1.2", "0.4"), interval("", "")
    ('3.1–4.0', '−1.2 to 0.4', '')
    """
    if not low or not high:
        return MISSING
    signed = low[0] in f"{MINUS}+" or high[0] in f"{MINUS}+"
    return f"{low} to {high}" if signed else f"{low}–{high}"


STREAM = Column("stream", "stream", meaning="which attention: encoder, decoder or cross")
LAYER = Column("layer", "layer", "index", meaning="counted from 0 in the table, from 1 on pages")
HEAD = Column("head", "head", "index", meaning="counted from 0 in the table, from 1 on pages")
PLACE = (STREAM, LAYER, HEAD)


class Schema:
    """A table's name, what it holds, and its columns in order; ``was`` is its name in results of the first format.

    A column whose name ends in ``*`` stands for all columns that begin so, as many as the run has made.

    ``keys`` are the columns that, beside stream, layer and head, tell its rows apart, where it has a row for every
    head: what its columns say of heads then goes into the table that holds the figures of all studies. Rows of
    untrained twins may stand in it, which a column ``who`` tells. ``each`` is a column that lists the heads (by
    label) of which a row speaks; ``pair`` are the columns of the other head, where rows are of two.

    >>> schema = Schema("heads", "One row for each head.", *PLACE, Column("value", "share", "share"))
    >>> schema["value"].title, list(schema.names)
    ('share', ['stream', 'layer', 'head', 'value'])
    """

    def __init__(
        self,
        table: str,
        meaning: str,
        *columns: Column,
        was: str = "",
        keys: tuple[str, ...] | None = None,
        who: str = "",
        each: str = "",
        pair: tuple[str, str] | None = None,
    ) -> None:
        self.table, self.meaning, self.columns, self.was = table, meaning, columns, was or table
        self.keys, self.who, self.each, self.pair = keys, who, each, pair
        self._known = {column.name: column for column in columns}
        if len(self._known) < len(columns):
            raise ValueError(f"the schema of {table!r} names a column twice")
        strange = {*(keys or ()), *(pair or ()), *filter(None, (who, each))} - set(self._known)
        if strange:
            raise ValueError(f"the schema of {table!r} has no column {min(strange)!r}, by which to tell its rows")

    @property
    def figures(self) -> tuple[Column, ...]:
        """The columns that hold figures of every head; none where the table has no keys.

        >>> value = Column("value", "share", "share", head=True)
        >>> [len(Schema("heads", "", *PLACE, value, keys=keys).figures) for keys in (None, ())]
        [0, 1]
        """
        return () if self.keys is None else tuple(column for column in self.columns if column.head)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names.

        >>> Schema("loss", "", Column("value", "loss", "number")).names
        ('value',)
        """
        return tuple(self._known)

    @property
    def by_layer(self) -> bool:
        """Whether its rows are of layers of attention, which are counted from 0.

        >>> Schema("heads", "", *PLACE).by_layer, Schema("probes", "", Column("layer", "layer", "count")).by_layer
        (True, False)
        """
        return "layer" in self._known and self._known["layer"].kind == "index"

    @property
    def mixed(self) -> str:
        """The column that says of which quantity a row is, where its rows are of several; nothing where they are not.

        >>> Schema("heads", "", Column("definition", "definition", kinds={"sink": "share"})).mixed
        'definition'
        """
        return next((column.name for column in self.columns if column.kinds), "")

    @property
    def aside(self) -> set[str]:
        """Columns that are written with another: ends, chance levels, twins.

        >>> sorted(Schema("loss", "", Column("value", "loss", "number", ends=("low", "high"))).aside)
        ['high', 'low']
        """
        ends = {end for column in self.columns if column.ends for end in column.ends}
        return ends | {name for column in self.columns for name in (column.chance, column.twin) if name}

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self.aside or self._begun(str(name)) is not None

    def _begun(self, name: str) -> Column | None:
        """The column with a star that stands for this one."""
        starred = (column for column in self.columns if column.name.endswith("*"))
        return next((column for column in starred if name.startswith(column.name[:-1])), None)

    def __getitem__(self, name: str) -> Column:
        """The column of this name; ends, chance levels and twins are written as what they belong to.

        >>> Schema("loss", "", Column("value", "loss", "number", ends=("low", "high")))["low"].kind
        'number'
        """
        if name in self._known:
            return self._known[name]
        for column in self.columns:
            named = dict(zip(column.ends or (), ("95 % interval from", "to"), strict=False))
            named |= {column.chance: "chance", column.twin: "untrained twin"}
            if name and name in named:
                return Column(name, f"{column.title}, {named[name]}", column.kind)
        if (starred := self._begun(name)) is not None:
            return Column(name, name, starred.kind)
        raise KeyError(f"the table {self.table!r} has no column {name!r}")

    def differs(self, names: Iterable[str]) -> list[str]:
        """What is wrong with a table of these columns: columns that are unknown, and ones that are missing.

        >>> Schema("loss", "", Column("value", "loss", "number")).differs(["valu"])
        ["column 'valu' is not in the schema", "column 'value' is missing"]
        """
        present = list(names)
        needed = [column.name for column in self.columns if not column.optional]
        return [f"column {name!r} is not in the schema" for name in present if name not in self] + [
            f"column {name!r} is missing" for name in needed if name not in present
        ]

    def markdown(self) -> str:
        """The documentation of the table: a row for each column.

        >>> print(Schema("loss", "The loss.", Column("value", "loss", "number", "in nats")).markdown())
        ### `loss`
        <BLANKLINE>
        The loss.
        <BLANKLINE>
        | column | title | kind | what it is |
        |---|---|---|---|
        | `value` | loss | number | in nats |
        """
        told = [*map("`{}`".format, self.keys or ())]
        each = f"a row for each head{' and each ' * bool(told)}{', '.join(told)}" if self.figures else ""
        lines = [
            f"### `{self.table}`",
            "",
            f"{self.meaning} Its figures go into the table of all heads: {each}." if each else self.meaning,
            "",
            "| column | title | kind | what it is |",
            "|---|---|---|---|",
        ]
        for column in self.columns:
            said = [column.meaning]
            said += [f"interval in `{column.ends[0]}`, `{column.ends[1]}`"] if column.ends else []
            said += [f"chance in `{column.chance}`"] if column.chance else []
            said += [f"untrained twin in `{column.twin}`"] if column.twin else []
            said += [f"corrected over {column.family}"] if column.family else []
            said += [f"corrected p in `{column.p}`"] if column.p else []
            said += [column.definition, "a figure of a head" if column.head else ""]
            said += ["may be missing"] if column.optional else []
            about = "; ".join(part for part in said if part).replace("|", "\\|")
            lines.append(
                f"| `{column.name}` | {column.title.replace('|', chr(92) + '|')} | {column.kind} | {about} |"
            )
        return "\n".join(lines)
