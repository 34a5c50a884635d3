"""What a no-op test found, in sentences: where heads rest, and whether the loss cares.

The resting place of a stream is whichever of [SEP], [CLS] and the first piece has the most weight in any layer.
Gradients are compared within a layer only, as a ratio to those of other keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from attlas.reports.findings import CLARK, Finding, figure, is_number, layers_in_words, longest_run

Row = Mapping[str, Any]

NAMES = {
    "first": "the first piece",
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": "periods and commas",
    "other": "other keys",
    "self": "the query itself",
    "previous": "the previous piece",
    "next": "the next piece",
}
RESTS = ("sep", "cls", "first")
STREAMS = ("encoder", "decoder", "cross")
SMALL = {0.5: "half", 0.25: "a quarter", 0.1: "a tenth"}
PARKED = 0.5


class Layers:
    """The table of layers, found by stream and class of key.

    >>> row = {"stream": "encoder", "layer": 0, "class": "sep", "weight": 0.6, "relative": 0.2}
    >>> layers = Layers([row])
    >>> layers.streams, layers.resting("encoder"), len(layers.of("encoder", "sep"))
    (['encoder'], 'sep', 1)
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[tuple[str, str], list[Row]] = {}
        for row in sorted(rows, key=lambda row: int(row["layer"])):
            self._rows.setdefault((row["stream"], row["class"]), []).append(row)

    @property
    def streams(self) -> list[str]:
        """The streams there are, encoder first.

        >>> Layers([]).streams
        []
        """
        return [stream for stream in STREAMS if any(known == stream for known, _ in self._rows)]

    def of(self, stream: str, key: str) -> list[Row]:
        """The rows of a class of keys, layer by layer.

        >>> Layers([]).of("encoder", "sep")
        []
        """
        return self._rows.get((stream, key), [])

    def resting(self, stream: str) -> str:
        """The class on which attention rests in a stream; "" where there is none of them.

        >>> Layers([]).resting("encoder")
        ''
        """
        most = {key: max((_number(row["weight"]) for row in self.of(stream, key)), default=-1.0) for key in RESTS}
        best = max(RESTS, key=lambda key: most[key])
        return best if most[best] >= 0 else ""


def findings(layers: Layers, heads: Sequence[Row], stream: str) -> list[Finding]:
    """The findings about one stream.

    >>> findings(Layers([]), [], "encoder")
    []
    """
    rest = layers.resting(stream)
    if not rest:
        return []
    found = [_rests(layers, stream, rest), _from_where(layers, stream, rest), _heads(heads, stream, rest)]
    found += [_rides(layers, stream, rest), _others(layers, stream, rest)]
    return [finding for finding in found if finding is not None]


def small_from(rows: Sequence[Row], bar: float, column: str = "relative") -> int | None:
    """The layer from which on a ratio stays below a bar to the end; None where it does not.

    >>> rows = [{"layer": layer, "relative": ratio} for layer, ratio in enumerate([2.0, 0.3, 0.6, 0.4, 0.2])]
    >>> small_from(rows, 0.5), small_from(rows, 0.1)
    (3, None)
    """
    start: int | None = None
    for row in rows:
        if is_number(row[column]) and row[column] < bar:
            start = int(row["layer"]) if start is None else start
        else:
            start = None
    return start


def _rests(layers: Layers, stream: str, rest: str) -> Finding | None:
    rows = [row for row in layers.of(stream, rest) if is_number(row["relative"])]
    if not rows:
        return None
    run = longest_run(int(row["layer"]) for row in rows if row["weight"] > PARKED)
    kept = [row for row in rows if row["layer"] in run] or [max(rows, key=lambda row: float(row["weight"]))]
    there = [int(row["layer"]) for row in kept]
    at_most = "" if run else "at most "
    ratio, twin = _mean(kept, "relative"), _mean(kept, "twin_relative")
    verdict = (
        "so the loss hardly depends on it" if ratio < 0.25
        else "so the loss depends less on it" if ratio < 0.8
        else "so the loss depends on it as on any other key" if ratio < 1.25
        else "so the loss depends <i>more</i> on it than on other keys"
    )  # fmt: skip
    text = (
        f"Heads rest on {NAMES[rest]}: it takes {at_most}<b>{figure(_mean(kept, 'weight'))}</b> of the weight in "
        f"{layers_in_words(there)}. There |dL/dα| is <b>{figure(ratio)}</b> times that for other keys, {verdict}. "
        f"In the untrained twin, which puts {figure(_mean(kept, 'twin_weight'))} there, the ratio is {figure(twin)}."
    )
    return Finding(text)


def _from_where(layers: Layers, stream: str, rest: str) -> Finding | None:
    rows = layers.of(stream, rest)
    published = "from layer 5 on, gradients for [SEP] become very small" if stream == "encoder" else ""
    published = published and f"{CLARK}: {published}"
    known = [row for row in rows if is_number(row["relative"])]
    if not known:
        return None
    starts = {bar: start for bar in SMALL if (start := small_from(rows, bar)) is not None}
    if starts:
        told = {start: bar for bar, start in sorted(starts.items(), reverse=True)}  # the smallest bar of each start
        last = int(rows[-1]["layer"])
        parts = [f"under <b>{SMALL[bar]}</b> {_from(start, last)}" for start, bar in told.items()]
        twin = small_from(rows, max(starts), "twin_relative")
        also = "never stays under half" if twin is None else f"stays under half {_from(twin, last)}"
        return Finding(
            f"The gradient for {NAMES[rest]}, against that for other keys, stays {', '.join(parts)}; the untrained "
            f"twin's {also}.",
            published,
        )
    low = min(known, key=lambda row: float(row["relative"]))
    return Finding(
        f"There is no layer from which on the gradient for {NAMES[rest]} stays under half of that for other keys; it "
        f"is smallest in layer {low['layer'] + 1}, at {figure(low['relative'])} of it.",
        published,
    )


def _from(start: int, last: int) -> str:
    return "in all layers" if not start else "in the last layer" if start == last else f"from layer {start + 1} on"


def _heads(heads: Sequence[Row], stream: str, rest: str) -> Finding | None:
    own = [row for row in heads if row["stream"] == stream and row["class"] == rest and is_number(row["relative"])]
    parked = [float(row["relative"]) for row in own if row["weight"] > PARKED]
    free = [float(row["relative"]) for row in own if row["weight"] <= PARKED]
    if not own:
        return None
    if not parked:
        return Finding(f"No head of {len(own)} puts more than half of its weight on {NAMES[rest]}.")
    low = sum(ratio < 0.5 for ratio in parked)
    count = "head puts" if len(parked) == 1 else "heads put"
    text = (
        f"<b>{len(parked)}</b> of {len(own)} {count} more than half of the weight on {NAMES[rest]}; in <b>{low}</b> "
        f"of them the gradient there is less than half of that for other keys of the same head (median ratio "
        f"{figure(median(parked))}"
    )
    return Finding(text + (f"; in the heads that rest less, {figure(median(free))})." if free else ")."))


def _rides(layers: Layers, stream: str, rest: str) -> Finding | None:
    rows = [row for row in layers.of(stream, rest) if is_number(row["paid_share"])]
    if not rows:
        return None
    names = ["weight", "norm", "paid_share"] if is_number(rows[0].get("norm")) else ["weight", "paid_share"]
    own, twin = ([figure(_mean(rows, f"{prefix}{name}")) for name in names] for prefix in ("", "twin_"))
    norm = f", <b>{own[1]}</b> of the norm ‖αf(x)‖" if len(names) > 2 else ""
    return Finding(
        f"Over all layers {NAMES[rest]} takes {own[0]} of the weight{norm} and <b>{own[-1]}</b> of what rides on the "
        f"weight, α·|dL/dα| (untrained twin: {', '.join(twin[:-1])} and {twin[-1]})."
    )


def _others(layers: Layers, stream: str, rest: str) -> Finding | None:
    parts = []
    for key in ("sep", "cls", "first", "punctuation", "self", "previous", "next"):
        rows = [row for row in layers.of(stream, key) if is_number(row["relative"])]
        if key != rest and rows:
            parts.append(f"{NAMES[key]} {figure(_mean(rows, 'relative'))} ({figure(_mean(rows, 'twin_relative'))})")
    if not parts:
        return None
    return Finding(
        "The rest, as times the gradient for other keys (mean of the layers; in brackets, the untrained twin's): "
        f"{', '.join(parts)}."
    )


def _mean(rows: Sequence[Row], column: str) -> float:
    known = [float(row[column]) for row in rows if is_number(row[column])]
    return fmean(known) if known else float("nan")


def _number(value: object) -> float:
    return float(value) if is_number(value) else -1.0  # type: ignore[arg-type]
