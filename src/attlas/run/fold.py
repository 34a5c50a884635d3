"""A statistic of one's own over a corpus, without writing a study.

A function turns each call at the seam into one number for every text and head; :func:`fold` takes a corpus through
the model in batches and says, head by head, what the function gives on average, with a 95 % confidence interval by
document (by text where there are few), and what it would give by *chance*: the same function on the same call with
queries of zero, so that every head attends evenly to all it may see. :class:`HeadStatistic` is the same as a part of
a run, for a study of one's own.

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
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import numpy as np
import torch
from torch import Tensor

from attlas.errors import NumberError, StatsError
from attlas.run.parameters import Help, Model, Reading, Texts, study_call
from attlas.run.session import begin
from attlas.run.setting import as_subject, as_texts_or_stream, passage_options, read_passages, streams_of
from attlas.stats import Bundle, PooledMean
from attlas.stats.pooled import BLOCKS
from attlas.store import Result
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.ids import Site, Stream
    from attlas.models import AttentionCall, Batch, Example

Statistic = Callable[[Any, Any], Any]


@study_call(streams=True)
def fold(
    subject: Model,
    corpus: Texts,
    function: Annotated[Statistic, Help("What to make of an attention call and its batch.")],
    *,
    names: Annotated[Sequence[str], Help("What several figures of a function are called.")] = (),
    within: Annotated[
        tuple[float, float] | None,
        Help("The range of the figures, which no interval leaves: (0, 1) of shares, (0, inf) of lengths."),
    ] = None,
    pairs: Annotated[bool | None, Help("Read neighbouring segments as pairs.")] = None,
    **running: Unpack[Reading],
) -> Result:
    """Average a function of attention calls over a corpus, for every head of every site.

    ``function(call, batch)`` gets an :class:`~attlas.models.AttentionCall` (``call.weights()`` is (batch, head,
    query, key); ``call.site``, ``call.values``, ``call.scores()``) and the :class:`~attlas.models.Batch` it belongs
    to, whose ``batch.queries(call.site.stream).real`` says which positions are no padding. It returns (batch, head),
    one number for each text and head, which are averaged over texts; or two tensors of that shape, a sum over the
    cases of a text and their number, for an average over all cases. A third axis holds several figures, called by
    ``names``.

    >>> from attlas.corpora import read
    >>> def entropy(call, batch):
    ...     real = batch.queries(call.site.stream).real[:, None]
    ...     rows = torch.special.entr(call.weights()).sum(-1)
    ...     return (rows * real).sum(-1), real.sum(-1).expand(rows.shape[:2])
    >>> rows = fold(None, read("sample"), entropy, limit=4).rows()
    >>> len(rows), all(row["value"] < row["chance"] for row in rows)
    (72, True)
    """
    model, texts = as_subject(subject), as_texts_or_stream(corpus)
    called = getattr(function, "__qualname__", type(function).__name__)
    options = {"function": called, "within": within, **passage_options(model, texts, pairs, running)}
    with begin("fold", model, texts, options, running) as run:
        run.note_cutting(texts)
        reading = run.read(read_passages(model, texts, options, run.seed))
        part = HeadStatistic(model, function, names, streams_of(model, reading), within)
        return run.finish({"heads": part.table(run.carry(part, reading))})


class HeadStatistic:
    """A function of attention calls as a part of a run: what it gives for every head, and by chance.

    >>> from attlas.capture import load
    >>> part = HeadStatistic(load(), lambda call, batch: call.weights()[:, :, 0, 0])
    >>> len(part.empty()), part.table(part.empty())["value"]
    (12, [])
    """

    name = "fold"

    def __init__(
        self,
        subject: Subject,
        function: Statistic,
        names: Sequence[str] = (),
        streams: Sequence[Stream] | None = None,
        within: tuple[float, float] | None = None,
    ) -> None:
        self.subject, self.function, self.names, self.within = subject, function, tuple(names), within
        self.sites = [site for site in subject.sites if streams is None or site.stream in streams]

    def empty(self) -> Bundle:
        """Sums of every site, and those by chance.

        >>> from attlas.capture import load
        >>> HeadStatistic(load(), lambda call, batch: call.weights(), ["a", "b"]).empty()["encoder 1"].shape
        (12, 2)
        """
        figures = max(1, len(self.names))
        return Bundle(
            {
                key: PooledMean((self.subject.heads(site), figures), blocks=blocks)
                for site in self.sites
                for key, blocks in ((_key(site), BLOCKS), (f"{_key(site)} by chance", 1))
            }
        )

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Take one batch through the model."""
        from attlas.capture import Fold

        tensors = self.subject.pieces.batch(batch, self.subject.device)
        with (
            torch.no_grad(),
            self.subject.use(Fold(partial(self._take, bundle, tensors, [example.unit for example in batch]))),
        ):
            self.subject.read(tensors)

    def table(self, bundle: Bundle) -> dict[str, list[Any]]:
        """A row for each head, or for each head and figure; heads without any case are left out.

        >>> from attlas.capture import load
        >>> part = HeadStatistic(load(), lambda call, batch: call.weights(), ["a"])
        >>> list(part.table(part.empty()))
        ['stream', 'layer', 'head', 'figure', 'value', 'chance', 'n', 'low', 'high']
        """
        rows = []
        for site in self.sites:
            ours, even = bundle.pooled(_key(site)).result(self.within), bundle[f"{_key(site)} by chance"].result()
            numbers = {"value": ours.value, "chance": even.value, "n": ours.n, "low": ours.low, "high": ours.high}
            for head, figure in np.argwhere(ours.n > 0).tolist():
                place = {"stream": site.stream.value, "layer": site.layer, "head": head}
                place |= {"figure": self.names[figure]} if self.names else {}
                rows.append({**place, **{name: values[head, figure] for name, values in numbers.items()}})
        named = ["figure"] if self.names else []
        return as_columns(rows, ["stream", "layer", "head", *named, "value", "chance", "n", "low", "high"])

    def _take(self, bundle: Bundle, batch: Batch, units: Sequence[int], call: AttentionCall) -> None:
        """Take one call, and the same by chance."""
        if call.site not in self.sites:
            return
        for key, seen in ((_key(call.site), call), (f"{_key(call.site)} by chance", even_call(call))):
            totals, counts = self._checked(self.function(seen, batch), call)
            bundle[key].update(totals.double().cpu().numpy(), counts.double().cpu().numpy(), units)

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
        totals = totals if totals.dim() == 3 else totals[..., None]
        if totals.shape[2] != max(1, len(self.names)):
            raise StatsError(
                f"there are {len(self.names)} names for the {totals.shape[2]} figures that the function gave at "
                f"{call.site}; name each of them"
            )
        if not bool(torch.isfinite(totals).all()):
            raise NumberError(
                f"the function gave NaN or infinity at {call.site}; where a text has no case, give its sum and its "
                "count as 0"
            )
        counts = torch.ones_like(totals) if counts is None else counts.reshape(totals.shape)
        return totals, counts


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


def _key(site: Site) -> str:
    return f"{site.stream} {site.layer + 1}"
