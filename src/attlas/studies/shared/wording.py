"""Words that pages about attention share: kinds of keys, streams, runs of layers, terms that all of them explain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attlas.pages import Claim, Finding, Prose, Row, Rows, Tables, say, value_claim
from attlas.store.schema import is_known

CLARK = "bert-base-uncased, Clark et al. 2019"
KOBAYASHI = "BERT-base, Kobayashi et al. 2020"
KEY_TITLES = {
    "first": "first piece",
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": ". and ,",
    "other": "other keys",
    "self": "itself",
    "previous": "previous",
    "next": "next",
}
KEY_NAMES = KEY_TITLES | {
    "first": "the first piece",
    "punctuation": "periods and commas",
    "self": "the query itself",
    "previous": "the previous piece",
    "next": "the next piece",
}
MEASURES = {"weight": "weight", "norm": "norm"}
WORDS = {
    "piece": "a subword token: what the tokenizer cuts text into, a word or a part of one. A *query* piece attends "
    "to *key* pieces.",
    "α, weight": "the share of its attention that a query gives to a key; the weights of a query sum to one.",
    "f(x)": "the vector that a head has to offer of a key: its state through the head's value and output matrices. "
    "‖f(x)‖ is its length.",
    "norm": "‖αf(x)‖, the length of what a key really brings in: weight times length, as a share of the sum over all "
    "keys of the query. Much weight on a short vector moves little.",
    "chance": "what uniform attention, the same to every key it may see, would give; dashed or dotted in charts.",
    "untrained twin": "the random-weights baseline: the same architecture with random weights, on the same texts; "
    "what it shows is owed to the architecture and the text, not to training. Beside a line it is dashed.",
    "[CLS], [SEP]": "the pieces that open and close a text, whatever the model calls them (BOS, EOS).",
    "head 8-10": "the tenth head of the eighth layer. Layers and heads count from 1 on pages, as in the papers, and "
    "from 0 in tables and in code.",
}


def words(*terms: str) -> dict[str, str]:
    """Some of the terms, in this order.

    >>> list(words("piece", "norm"))
    ['piece', 'norm']
    """
    return {term: WORDS[term] for term in terms}


def first(find: Callable[[Tables], Iterable[Finding]]) -> Callable[[Tables], Finding | None]:
    """The first of what is found, stream by stream: the answer of a page; the others are for :func:`further`.

    >>> first(lambda tables: [])(None) is None
    True
    """
    return lambda tables: next(iter(find(tables)), None)


def further(find: Callable[[Tables], Iterable[Finding]]) -> Callable[[Tables], Iterable[Finding]]:
    """What is found of further streams.

    >>> further(lambda tables: [])(None)
    []
    """
    return lambda tables: list(find(tables))[1:]


def untrained(rows: Iterable[Row]) -> str:
    """How many untrained twins stand beside rows, in words: a single one is a draw, and called one.

    >>> untrained([{"twins": 1}]), untrained([{"twins": 5}]), untrained([])
    ('one untrained twin', '5 untrained twins', 'one untrained twin')
    """
    count = max((row.get("twins") or 1 for row in rows), default=1)
    return "one untrained twin" if count == 1 else f"{count} untrained twins"


def where_known(template: str, /, **values: Any) -> Prose:
    """A part of a sentence about untrained twins, with their figures; nothing where not one of these is known, as in
    a run without twins.

    >>> str(where_known(" (untrained twins {twin:share})", twin=0.5)), str(where_known(" ({twin:share})", twin=None))
    (' (untrained twins 0.50)', '')
    """
    figures = [value for value in values.values() if value is None or isinstance(value, int | float)]
    return say(template, **values) if any(map(is_known, figures)) else say("")


def drawn(table: str, rows: Iterable[Row], *keys: str) -> tuple[Claim, ...]:
    """The claim that so many untrained twins stand beside rows, as :func:`untrained` has it; of a single one there is
    no number to claim.

    >>> drawn("heads", [{"head": 0, "twins": 5}, {"head": 1, "twins": None}], "head")[0].value
    5
    >>> drawn("heads", [{"head": 0, "twins": 1}], "head")
    ()
    """
    several = [row for row in rows if (row.get("twins") or 1) > 1]
    most = max(several, key=lambda row: int(row["twins"]), default=None)
    return () if most is None else (value_claim(table, "twins", most, *keys),)


def of_stream(tables: Tables, stream: str) -> str:
    """ " of the decoder", where a page speaks of several streams.

    >>> from attlas.store import Manifest, Result
    >>> of_stream(Tables(Result(Manifest("toy"), {"heads": {"stream": ["encoder", "cross"]}})), "cross")
    ' of the cross attention'
    """
    if len(tables.streams) < 2:
        return ""
    return " of the cross attention" if stream == "cross" else f" of the {stream}"


def published(stream: str, text: str) -> str:
    """What was published of BERT, to stand beside findings about encoders only.

    >>> published("encoder", "it was so"), published("decoder", "it was so")
    ('it was so', '')
    """
    return text if stream == "encoder" else ""


def mostly_in(means: Mapping[int, float], bar: float) -> tuple[list[int], str]:
    """The longest run of layers whose means are over a bar, or else the layer with the most; and the same in words.

    >>> mostly_in({0: 0.2, 1: 0.6, 2: 0.7}, 0.5), mostly_in({0: 0.2, 1: 0.3}, 0.5)
    (([1, 2], 'layers 2–3'), ([1], 'layer 2, the most of any layer'))
    """
    run = max(_runs_of(layer for layer, mean in means.items() if mean > bar), key=len, default=[])
    layers = run or [max(means, key=lambda layer: means[layer])]
    return layers, in_layers(layers) + ("" if run else ", the most of any layer")


def _runs_of(layers: Iterable[int]) -> list[list[int]]:
    """Layers in runs of those that follow each other."""
    runs: list[list[int]] = []
    for layer in sorted(layers):
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return runs


def in_layers(layers: Sequence[int]) -> str:
    """Layers in words, counted from one, runs of them joined.

    >>> in_layers([0, 4, 5, 6, 9]), in_layers([2])
    ('layers 1, 5–7, 10', 'layer 3')
    """
    parts = [str(run[0] + 1) if len(run) == 1 else f"{run[0] + 1}–{run[-1] + 1}" for run in _runs_of(layers)]
    return f"layer{'s' if len(layers) > 1 else ''} {', '.join(parts)}"


def measure_of(tables: Tables) -> str:
    """What heads were asked by, in words.

    >>> from attlas.store import Manifest, Result
    >>> measure_of(Tables(Result(Manifest("toy"), {"heads": {"head": [0]}})))
    'weight α'
    """
    return "norm ‖αf(x)‖" if tables.options.get("measure") == "norm" else "weight α"


def of_all(count: int, total: int) -> str:
    """So many of so many.

    >>> of_all(3, 6), of_all(6, 6)
    ('3 of 6', 'all 6')
    """
    return f"all {total:,}" if count == total and total > 1 else f"{count:,} of {total:,}"


def layer_means(rows: Rows, column: str = "value") -> dict[int, float]:
    """The mean over heads, layer by layer.

    >>> layer_means(Rows([{"layer": 0, "value": 1.0}, {"layer": 0, "value": 2.0}]))
    {0: 1.5}
    """
    means = {layer: own.mean(column) for layer, own in rows.known(column).by("layer")}
    return {layer: mean for layer, mean in sorted(means.items()) if mean is not None}


def layer_by_layer(tables: Tables, rows: Rows) -> Rows:
    """Rows of layers as a table lists them: stream by stream, the first layers first, without what nothing tells.

    >>> from attlas.store import Manifest, Result
    >>> tables = Tables(Result(Manifest("toy"), {"layers": {"stream": ["encoder"] * 2, "layer": [1, 0]}}))
    >>> layer_by_layer(tables, tables["layers"]).column("layer")
    [0, 1]
    """
    return told(tables, Rows(sorted(rows, key=lambda row: (tables.streams.index(row["stream"]), row["layer"]))))


def told(tables: Tables, rows: Rows) -> Rows:
    """Rows without columns of which nothing is known, and without the stream where there is but one.

    >>> from attlas.store import Manifest, Result
    >>> tables = Tables(Result(Manifest("toy"), {"layers": {"stream": ["encoder"], "layer": [0], "norm": [None]}}))
    >>> dict(told(tables, tables["layers"])[0])
    {'layer': 0}
    """
    known = {name for row in rows for name, value in row.items() if is_known(value)}
    dropped = {"stream"} if len(tables.streams) < 2 else set()
    return Rows({name: row[name] for name in row if name in known - dropped} for row in rows)


def band_of(row: Row) -> str:
    """A frequency band in words.

    >>> band_of({"rank_from": 1, "rank_to": 10}), band_of({"rank_from": 10_001, "rank_to": None})
    ('1–10', '10,001 and on')
    """
    first, last = row["rank_from"], row["rank_to"]
    return f"{first:,} and on" if last is None else f"{first:,}–{last:,}"


def side_by_side(
    rows: Rows, keys: Sequence[str], column: str, named: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """A row for each value of the keys, with a column, and its interval, of further rows that are so and so.

    >>> rows = Rows([{"who": "a", "at": 5, "f1": 0.3, "low": 0.2, "high": 0.4}])
    >>> list(side_by_side(rows, ["who"], "f1", {"five": {"at": 5}, "ten": {"at": 10}}))
    [{'who': 'a', 'five': 0.3, 'five_low': 0.2, 'five_high': 0.4}]
    """
    for values in dict.fromkeys(tuple(row[key] for key in keys) for row in rows):
        line = own = dict(zip(keys, values, strict=True))
        for name, which in named.items():
            for row in rows.where(**own, **which)[:1]:
                line = line | {name: row[column], f"{name}_low": row["low"], f"{name}_high": row["high"]}
        yield line
