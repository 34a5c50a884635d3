"""What the norms study found, in sentences, and claim by claim beside what was published of BERT.

A claim about a class of keys holds in a layer if the class gets clearly more weight there than even attention would
give it, and its share of the norm is below its share of the weight, both beyond their intervals. A claim holds *as
published* if it does so in two thirds of the layers (or heads), *not* if in one third or fewer, and else in part; in
part, too, if it is clearly the other way round in more than a tenth of the layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from attlas.reports.findings import KOBAYASHI, Finding, figure, is_number, longest_run

if TYPE_CHECKING:
    import pyarrow

Row = Mapping[str, Any]

NAMES = {
    "first": "the first piece",
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": "periods and commas",
    "other": "other keys",
}
STREAMS = ("encoder", "decoder", "cross")
VERDICTS = {"yes": "as published", "part": "in part", "no": "not so here"}
MUCH = 1.25
TOGETHER = 0.1
_MEASURES = ("weight", "norm", "joint", "chance", "relative")


class Claim(NamedTuple):
    """A claim, what is seen here and in the untrained twin (HTML), and whether it holds: yes, part or no.

    It is ``published``, unless it is asked here on the model of one that was.

    >>> Claim("rare words have longer vectors", "they have", "they have not", "yes").verdict
    'as published'
    """

    claim: str
    here: str
    twin: str
    holds: str
    published: bool = True

    @property
    def verdict(self) -> str:
        """Whether it holds, in words.

        >>> Claim("the first piece: much weight, little norm", "", "", "yes", published=False).verdict
        'so here'
        """
        return "so here" if self.holds == "yes" and not self.published else VERDICTS[self.holds]


class Picture:
    """The tables of a result, found by stream, class of key and layer.

    >>> Picture({}).streams
    []
    """

    def __init__(self, tables: Mapping[str, pyarrow.Table]) -> None:
        self._tables = tables
        self._rows: dict[str, list[Row]] = {}

    def rows(self, table: str, **where: Any) -> list[Row]:
        """The rows of a table that have these values.

        >>> Picture({}).rows("norms", stream="encoder")
        []
        """
        if table not in self._rows:
            self._rows[table] = self._tables[table].to_pylist() if table in self._tables else []
        return [row for row in self._rows[table] if all(row[name] == value for name, value in where.items())]

    @property
    def streams(self) -> list[str]:
        """The streams there are, encoder first.

        >>> Picture({}).streams
        []
        """
        present = {row["stream"] for row in self.rows("norms_layers")}
        return [stream for stream in STREAMS if stream in present]

    def classes(self, stream: str) -> list[str]:
        """The classes of keys there are in a stream.

        >>> Picture({}).classes("encoder")
        []
        """
        present = {row["class"] for row in self.rows("norms_layers", stream=stream)}
        return [kind for kind in NAMES if kind in present]

    def layers(self, stream: str, kind: str) -> list[Row]:
        """The rows of a class of keys, layer by layer.

        >>> Picture({}).layers("encoder", "sep")
        []
        """
        found = [row for row in self.rows("norms_layers", stream=stream) if row["class"] == kind]
        return sorted(found, key=lambda row: int(row["layer"]))

    def mean(self, stream: str, kind: str) -> dict[str, float]:
        """The means over layers of a class of keys, ours and the twin's.

        >>> import math
        >>> math.isnan(Picture({}).mean("encoder", "sep")["weight"])
        True
        """
        rows = self.layers(stream, kind)
        return {name: mean_of(rows, name) for name in (*_MEASURES, *(f"twin_{name}" for name in _MEASURES[:3]),
                                                        "twin_relative")}  # fmt: skip

    def negative(self, stream: str, keys: str = "all", who: str = "value") -> tuple[int, int, float]:
        """In how many heads, of how many, weight and length are negatively related within texts; and the median.

        >>> Picture({}).negative("encoder")[:2]
        (0, 0)
        """
        rows = self.rows("spearman", stream=stream, keys=keys, over="texts")
        known = [float(row[who]) for row in rows if is_number(row[who])]
        return sum(value < 0 for value in known), len(known), median(known) if known else float("nan")


def claims(picture: Picture, stream: str) -> list[Claim]:
    """What was published of BERT, as it is in this stream.

    >>> claims(Picture({}), "encoder")
    []
    """
    kinds = ("first", "cls", "sep", "punctuation") if stream == "decoder" else ("cls", "sep", "punctuation")
    found = [_parked(picture, stream, kind) for kind in kinds]
    found += [_related(picture, stream), _frequency(picture, stream)]
    return [claim for claim in found if claim is not None]


def _parked(picture: Picture, stream: str, kind: str) -> Claim | None:
    rows = picture.layers(stream, kind)
    if not rows:
        return None
    mean = picture.mean(stream, kind)
    much = {row["layer"] for row in rows if is_number(row["weight_low"]) and row["weight_low"] > MUCH * row["chance"]}
    little = {row["layer"] for row in rows if is_number(row["weight_low"]) and row["norm_high"] < row["weight_low"]}
    holds = _holds(len(much & little), len(rows))
    here = (
        f"weight <b>{figure(mean['weight'])}</b> (even attention {figure(mean['chance'])}), norm "
        f"<b>{figure(mean['norm'])}</b>, all heads together {figure(mean['joint'])}; ‖f(x)‖ is "
        f"{figure(mean['relative'])} of other keys'. "
    )
    if holds == "yes":
        here += f"Much weight and less norm in {_of(len(much & little), len(rows))} layers."
    elif len(much) * 3 <= len(rows):
        more = "" if not much else f", except in {_in_layers(sorted(much))}"
        here += f"It gets no more weight than its number of keys explains{more}"
        over = {row["layer"] for row in rows if is_number(row["norm_low"]) and row["norm_low"] > row["weight_high"]}
        here += f"; its norm is <i>above</i> its weight in {_of(len(over), len(rows))} layers." if over else "."
    else:
        here += (
            f"Much weight in {_of(len(much), len(rows))} layers, less norm than weight in "
            f"{_of(len(little), len(rows))}."
        )
    twin = f"weight {figure(mean['twin_weight'])}, norm {figure(mean['twin_norm'])}"
    claim = f"{NAMES[kind]}: much weight, little norm"
    if kind == "first":
        return Claim(f"{claim}? (BERT has [CLS] in its place)", here, twin, holds, published=False)
    return Claim(claim, here, twin, holds)


def _related(picture: Picture, stream: str) -> Claim | None:
    below, heads, middle = picture.negative(stream)
    if not heads:
        return None
    twin_below, twin_heads, twin_middle = picture.negative(stream, who="twin")
    rows = picture.rows("spearman_layers", stream=stream, keys="all", over="texts")
    above = [int(row["layer"]) for row in rows if is_number(row["low"]) and row["low"] > 0]
    own = picture.rows("spearman", stream=stream, keys="all", over="texts")
    sure = sum(row["high"] < 0 for row in own if is_number(row["high"]))
    here = (
        f"negative in <b>{_of(below, heads)}</b> heads ({sure} beyond their interval), median <b>{figure(middle)}</b>"
    )
    here += f"; the mean is <i>positive</i> in {_in_layers(above)}" if above else ""
    twin = f"negative in {_of(twin_below, twin_heads)}, median {figure(twin_middle)}" if twin_heads else ""
    return Claim(
        "α and ‖f(x)‖ are negatively related", f"{here}.", twin, _holds(sure, heads, 10 * len(above) > len(rows))
    )


def _frequency(picture: Picture, stream: str) -> Claim | None:
    rows = picture.rows("frequency_layers", stream=stream, words="plain")
    known = sorted((row for row in rows if is_number(row["low"])), key=lambda row: int(row["layer"]))
    if not known:
        return None
    up = [int(row["layer"]) for row in known if row["low"] > 0]
    down = [int(row["layer"]) for row in known if row["high"] < 0]
    heads = picture.rows("frequency", stream=stream, words="plain")
    above = sum(float(row["value"]) > 0 for row in heads if is_number(row["value"]))
    here = (
        f"the rarer, the longer, in <b>{_of(len(up), len(known))}</b> layers and {_of(above, len(heads))} heads "
        f"(mean rank correlation of rarity and ‖f(x)‖ <b>{figure(mean_of(known, 'value'))}</b>, most in "
        f"{_top(known)})"
    )
    here += f"; the other way round in {_in_layers(down)}." if down else "."
    twin = f"mean rank correlation {figure(mean_of(known, 'twin'))}"
    return Claim(
        "rare words have longer f(x) than frequent ones",
        here,
        twin,
        _holds(len(up), len(known), 10 * len(down) > len(known)),
    )


def findings(picture: Picture, stream: str) -> list[Finding]:
    """The findings about one stream that no claim covers.

    >>> findings(Picture({}), "encoder")
    []
    """
    found = [_widest(picture, stream), _among_words(picture, stream), _together(picture, stream)]
    found += [_mixing(picture, stream)]
    return [finding for finding in found if finding is not None]


def _widest(picture: Picture, stream: str) -> Finding | None:
    """The class and layers in which weight and norm are farthest apart."""
    rows = [row for row in picture.rows("norms_layers", stream=stream) if row["class"] != "other"]
    if not rows:
        return None
    row = max(rows, key=lambda row: float(row["weight"]) - float(row["norm"]))
    if row["weight"] <= row["norm"]:
        return Finding("In no layer does a special piece or punctuation take more of the weight than of the norm.")
    return Finding(
        f"Weight and norm are farthest apart for {NAMES[row['class']]} in layer {row['layer'] + 1}: "
        f"<b>{figure(row['weight'])}</b> of the weight, <b>{figure(row['norm'])}</b> of the norm, "
        f"{figure(row['joint'])} with all heads together, since its vectors are {figure(row['relative'])} times as "
        f"long as those of other keys. The untrained twin has {figure(row['twin_weight'])} and "
        f"{figure(row['twin_norm'])}.",
        f"{KOBAYASHI}: [CLS], [SEP] and punctuation take much weight and little norm" if stream == "encoder" else "",
    )


def _among_words(picture: Picture, stream: str) -> Finding | None:
    """Whether weight and length still go against each other where special pieces and punctuation are left out."""
    below, heads, middle = picture.negative(stream)
    others, count, middle_other = picture.negative(stream, "other")
    if not heads or not count:
        return None
    if middle < 0 and middle_other > middle / 2:
        verdict = "so it is mostly the special pieces and punctuation that make the relation, not words"
    elif middle < 0:
        verdict = "so the relation holds among words, too"
    else:
        verdict = "so it is no relation of special pieces only"
    return Finding(
        f"Weight and ‖f(x)‖ go against each other in {_of(below, heads)} heads (median {figure(middle)}) over all "
        f"keys, and in {_of(others, count)} (median {figure(middle_other)}) over other keys alone, {verdict}."
    )


def _together(picture: Picture, stream: str) -> Finding | None:
    """Layers in which long vectors get more weight, special pieces and punctuation left out."""
    rows = picture.rows("spearman_layers", stream=stream, keys="other", over="texts")
    there = [row for row in rows if is_number(row["low"]) and row["low"] > TOGETHER]
    if not there:
        return None
    layers = sorted(int(row["layer"]) for row in there)
    rare = [row for row in picture.rows("frequency_layers", stream=stream, words="plain") if row["layer"] in layers]
    return Finding(
        f"In {_in_layers(layers)} weight and length go <i>together</i> among other keys (mean rank correlation "
        f"<b>{figure(mean_of(there, 'value'))}</b>, untrained twin {figure(mean_of(there, 'twin'))}): what is "
        f"attended to has the longer vectors. There rarity of the word and ‖f(x)‖ correlate by "
        f"{figure(mean_of(rare, 'value'))}.",
        f"{KOBAYASHI}: negatively related" if stream == "encoder" else "",
    )


def _mixing(picture: Picture, stream: str) -> Finding | None:
    steps = {
        step: picture.rows("mixing", stream=stream, step=step, queries="all")
        for step in ("attention", "residual", "normalised")
    }
    if not steps["residual"]:
        return None
    means = {step: mean_of(rows, "value") for step, rows in steps.items() if rows}
    twins = {step: mean_of(rows, "twin") for step, rows in steps.items() if rows}
    whom = "all source pieces" if stream == "cross" else "other pieces"
    text = f"What a piece takes in from {whom}, against what it keeps of itself: "
    text += f"<b>{figure(means['attention'])}</b> by attention alone, " if "attention" in means else ""
    text += (
        f"<b>{figure(means['residual'])}</b> with the residual, <b>{figure(means['normalised'])}</b> with the norm "
        f"after it (mean of the layers; untrained twin "
    )
    text += ", ".join(figure(twins[step]) for step in twins) + ")."
    apart = []
    for kind in NAMES:
        if stream == "decoder" and kind in ("first", "cls"):  # it sees nobody but itself
            continue
        rows = picture.rows("mixing", stream=stream, step="normalised", queries=kind)
        if rows:
            apart.append(f"{NAMES[kind].replace('other keys', 'other pieces')} {figure(mean_of(rows, 'value'))}")
    return Finding(f"{text} By what the piece is: {', '.join(apart)}.")


def mean_of(rows: Sequence[Row], column: str) -> float:
    """The mean of a column, of the rows that have it.

    >>> mean_of([{"value": 1.0}, {"value": None}], "value")
    1.0
    """
    known = [float(row[column]) for row in rows if is_number(row[column])]
    return fmean(known) if known else float("nan")


def _holds(held: int, of: int, against: bool = False) -> str:
    return "no" if 3 * held <= of else "yes" if 3 * held >= 2 * of and not against else "part"


def _of(count: int, total: int) -> str:
    return f"all {total}" if count == total and total > 1 else f"{count} of {total}"


def _in_layers(layers: Sequence[int]) -> str:
    """Layers counted from one, runs of them joined.

    >>> _in_layers([0, 4, 5, 6, 9])
    'layers 1, 5–7, 10'
    """
    left, runs = sorted(layers), []
    while left:
        run = longest_run(left)
        runs.append(run)
        left = [layer for layer in left if layer not in run]
    runs.sort()
    parts = [str(run[0] + 1) if len(run) == 1 else f"{run[0] + 1}–{run[-1] + 1}" for run in runs]
    return f"layer{'s' if len(layers) > 1 else ''} {', '.join(parts)}"


def _top(rows: Sequence[Row]) -> str:
    best = max(rows, key=lambda row: float(row["value"]))
    return f"layer {best['layer'] + 1}: {figure(best['value'])}"
