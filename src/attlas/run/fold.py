"""A statistic of one's own over a corpus, without writing a study.

A function turns each call at the seam into one number for every text and head; :func:`fold` takes a corpus through
the model in batches and says, head by head, what the function gives on average, with a 95 % confidence interval by
text, and what it would give by *chance*: the same function on the same call with queries of zero, so that every head
attends evenly to all it may see.

>>> from attlas.corpora import read
>>> def on_itself(call, batch):
...     real = batch.queries(call.site.stream).real[:, None]  # padding does not count
...     return (call.weights().diagonal(0, 2, 3) * real).sum(-1) / real.sum(-1)
>>> result = fold(None, read("sample"), on_itself, limit=4)
>>> sorted(result.rows()[0])
['chance', 'head', 'high', 'layer', 'low', 'n', 'stream', 'value']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attlas.errors import NumberError, StatsError
from attlas.run.batches import batches
from attlas.run.progress import Progress, Silent
from attlas.run.setting import (
    BUDGET,
    Setting,
    Texts,
    as_corpus,
    as_subject,
    draw,
    longest_passage,
    reads_pairs,
    say_cutting,
    streams_of,
)
from attlas.stats import PooledMean
from attlas.store import Result
from attlas.store.columns import as_cell

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.ids import Site
    from attlas.models import AttentionCall, Batch

    Statistic = Callable[[AttentionCall, Batch], Tensor | tuple[Tensor, Tensor]]


def fold(
    subject: Subject | str | None,
    corpus: Texts,
    function: Statistic,
    *,
    names: Sequence[str] = (),
    pairs: bool | None = None,
    max_pieces: int | None = None,
    long: str = "cut",
    limit: int | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    progress: Progress | None = None,
) -> Result:
    """Average a function of attention calls over a corpus, for every head of every site.

    ``function(call, batch)`` gets an :class:`~attlas.models.AttentionCall` (``call.weights()`` is (batch, head,
    query, key); ``call.site``, ``call.values``, ``call.scores()``) and the :class:`~attlas.models.Batch` it belongs
    to, whose ``batch.queries(call.site.stream).real`` says which positions are no padding. It returns (batch, head),
    one number for each text and head, which are averaged over texts; or two tensors of that shape, a sum over the
    cases of a text and their number, for an average over all cases. A third axis holds several figures, called by
    ``names``. The rest is as in :func:`~attlas.run.survey.survey`.

    >>> from attlas.corpora import read
    >>> def entropy(call, batch):
    ...     real = batch.queries(call.site.stream).real[:, None]
    ...     rows = torch.special.entr(call.weights()).sum(-1)
    ...     return (rows * real).sum(-1), real.sum(-1).expand(rows.shape[:2])
    >>> rows = fold(None, read("sample"), entropy, limit=4).rows()
    >>> len(rows), all(row["value"] < row["chance"] for row in rows)
    (72, True)
    """
    from attlas.capture import Fold
    from attlas.capture.reading import read_documents

    model, texts = as_subject(subject), as_corpus(corpus)
    paired = reads_pairs(model, texts, pairs)
    pieces = longest_passage(model, paired, max_pieces)
    called = getattr(function, "__qualname__", type(function).__name__)
    options = {"function": called, "pairs": paired, "max_pieces": pieces, "long": long, "limit": limit}
    setting = Setting("fold", model, texts, options, seed, budget)
    say_cutting(progress, len(texts.documents))
    reading = read_documents(model, texts.documents, articles=texts.articles, limit=pieces, pairs=paired, long=long)
    reading = draw(reading, limit, seed)
    sums = _Sums(function, names)
    streams = streams_of(model, reading)
    lengths = [example.length for example in reading.examples]
    reporting = progress or Silent()
    reporting.start("fold", sum(lengths), 0)
    try:
        for numbers in batches(lengths, budget):
            batch = model.pieces.batch([reading.examples[number] for number in numbers], model.device)
            with torch.no_grad(), model.use(Fold(partial(sums.take, batch))):
                model.read(batch)
            reporting.advance(sum(lengths[number] for number in numbers))
    finally:
        reporting.finish()
    table = sums.table([site for site in model.sites if site.stream in streams])
    counts = {"documents": len(texts.documents), "passages": len(reading.examples), "pieces": reading.pieces}
    return setting.finish({"heads": table}, counts=counts, skipped=reading.skipped)


def even_call(call: AttentionCall) -> AttentionCall:
    """The same call with queries of zero: every head attends evenly to what it may see, and all else is as it was.

    >>> from attlas.models import AttentionCall
    >>> q = torch.randn(1, 2, 4, 8)
    >>> even_call(AttentionCall("site", q, q, q, None, 0.5, causal=True)).weights()[0, 1, 3].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    from attlas.capture.instruments import uniform_weights

    if call.query is None:
        return replace(call, given=uniform_weights(call))
    mask = call.mask if call.mask is None or call.mask.dtype == torch.bool else call.visible()
    return replace(call, query=torch.zeros_like(call.query), mask=mask, bias=None, softcap=None, sinks=None)


class _Sums:
    """What a function has given so far, and what it gives by chance, site by site."""

    def __init__(self, function: Statistic, names: Sequence[str]) -> None:
        self.function, self.names = function, tuple(names)
        self.figures: int | None = None  # how many a call gives; None where there is no third axis
        self.pooled: dict[Site, tuple[PooledMean, PooledMean]] = {}

    def take(self, batch: Batch, call: AttentionCall) -> None:
        """Take one call, and the same by chance."""
        for place, seen in enumerate((call, even_call(call))):
            totals, counts = self._checked(self.function(seen, batch), call)
            cells = tuple(totals.shape[1:])
            pooled = self.pooled.setdefault(call.site, (PooledMean(cells), PooledMean(cells)))[place]
            pooled.update(totals.double().cpu().numpy(), counts.double().cpu().numpy())

    def _checked(self, given: Any, call: AttentionCall) -> tuple[Tensor, Tensor]:
        """Sums and counts as (text, head, figure), after a look at whether they can be."""
        totals, counts = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        for part in (totals,) if counts is None else (totals, counts):
            if not isinstance(part, Tensor) or part.dim() not in (2, 3) or tuple(part.shape[:2]) != call.shape[:2]:
                came = f"shape {tuple(part.shape)}" if isinstance(part, Tensor) else f"the type {type(part).__name__}"
                texts, heads, *_ = call.shape
                raise StatsError(
                    f"the function gave something of {came} at {call.site}, where a tensor of shape "
                    f"({texts}, {heads}) was expected: one number for each of {texts} texts and {heads} heads, or "
                    "several of them along a third axis"
                )
        if counts is not None and counts.shape != totals.shape:
            raise StatsError(
                f"the function gave sums of shape {tuple(totals.shape)} and counts of shape {tuple(counts.shape)} at "
                f"{call.site}; give both for every text, head and figure"
            )
        figures = None if totals.dim() == 2 else int(totals.shape[2])
        if not self.pooled:
            self.figures = figures
            if self.names and len(self.names) != (figures or 1):
                raise StatsError(
                    f"there are {len(self.names)} names for the {figures or 1} figures that the function gave"
                )
        if figures != self.figures:
            raise StatsError(
                f"the function gave {figures or 1} figures at {call.site} and {self.figures or 1} before; give as "
                "many at every call"
            )
        if not bool(torch.isfinite(totals).all()):
            raise NumberError(
                f"the function gave NaN or infinity at {call.site}; where a text has no case, give its sum and its "
                "count as 0"
            )
        counts = torch.ones_like(totals) if counts is None else counts
        return (totals[..., None], counts[..., None]) if figures is None else (totals, counts)

    def table(self, sites: Sequence[Site]) -> dict[str, list[Any]]:
        """A row for each head, or for each head and figure; heads without any case are left out."""
        named = self.figures is not None or bool(self.names)
        columns = ("stream", "layer", "head", *(("figure",) if named else ()), "value", "chance", "n", "low", "high")
        table: dict[str, list[Any]] = {column: [] for column in columns}
        names = self.names or tuple(map(str, range(1, 1 + (self.figures or 1))))
        for site in (site for site in sites if site in self.pooled):
            ours, even = (pooled.result() for pooled in self.pooled[site])
            for head, figure in ((h, f) for h in range(ours.n.shape[0]) for f in range(ours.n.shape[1])):
                cell = (head, figure)
                if not ours.n[cell] > 0:
                    continue
                numbers = (ours.value, even.value, ours.n, ours.low, ours.high)
                place = (site.stream.value, site.layer, head, *((names[figure],) if named else ()))
                for column, value in zip(columns, (*place, *(as_cell(part[cell]) for part in numbers)), strict=True):
                    table[column].append(value)
        return table
