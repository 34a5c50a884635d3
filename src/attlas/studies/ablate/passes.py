"""What becomes of a task when heads are cut (Michel et al. 2019).

Each head is cut in turn, or all heads of a layer but one: the *survivor*, which is chosen on other texts than it is
scored on. Of every text the loss and the marks of the task's score are written down, under the whole model and under
every cut, so that whole and cut can be compared text by text. Losses come from replays
(:mod:`attlas.capture.replay`); where a score is of what the model writes, it writes anew under every cut, many copies
at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Gates, Subject
from attlas.capture.bypass import bypassed, giving
from attlas.capture.replay import Kept, Replay
from attlas.errors import NumberError
from attlas.ids import HeadId, Site, Stream
from attlas.models import AttentionCall, Batch, Example, Instrument
from attlas.stats import METRICS, Bundle, Ledger, Metric, PooledMean
from attlas.tasks import Question, Scored, Task

Numbers = NDArray[np.float64]
Numbered = tuple[int, Example]


class Cut(NamedTuple):
    """A pattern of gates at one site: one head off, or all off but that one.

    >>> Cut(Site(Stream.ENCODER, 0), 1, alone=True).gates(3).tolist()
    [0.0, 1.0, 0.0]
    """

    site: Site
    head: int
    alone: bool = False

    def gates(self, heads: int) -> Tensor:
        """Its gates."""
        only = torch.zeros(heads)
        only[self.head] = 1.0
        return only if self.alone else 1 - only

    @property
    def id(self) -> HeadId:
        """The head that is off, or is left."""
        return HeadId(self.site.stream, self.site.layer, self.head)


def every_head(subject: Subject, streams: Sequence[Stream], *, alone: bool = False) -> list[Cut]:
    """A cut for each head of some streams; alone, only in layers that have more than one."""
    heads = {stream: subject.grid(stream).sum(1) for stream in streams}
    sites = [site for site in subject.sites if site.stream in streams and heads[site.stream][site.layer] > int(alone)]
    return [Cut(site, head, alone) for site in sites for head in range(heads[site.stream][site.layer])]


class Ablation:
    """The study: of each of ``texts`` texts the loss and the marks, under the whole model and under every cut.

    ``means`` are what a cut head gives instead of nothing, by site. ``writing`` lets the model write, where the
    task's score needs that; ``by_loss`` scores by the loss alone."""

    name = "ablate"

    def __init__(
        self,
        task: Task,
        cuts: Sequence[Cut],
        texts: int,
        *,
        means: Mapping[Site, Tensor] | None = None,
        writing: bool = True,
        by_loss: bool = False,
    ) -> None:
        self.task, self.subject, self.cuts, self.texts = task, task.subject, tuple(cuts), texts
        self.means = dict(means or {})
        self.writing = writing and task.writes and not by_loss
        self.by_loss = by_loss or (task.writes and not writing)
        self.metric: Metric = METRICS["loss"] if self.by_loss else task.metric
        self.replay = Replay(self.subject, task.options)
        self._sites = {
            site: [(number, cut) for number, cut in enumerate(self.cuts, start=1) if cut.site == site]
            for site in dict.fromkeys(cut.site for cut in self.cuts)
        }

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""
        columns = len(self.metric.columns)
        if self.metric is METRICS["matthews"]:
            columns = len(self.subject.labels) ** 2
        count = 1 + len(self.cuts)
        return Bundle({"loss": Ledger(self.texts, (count,)), "marks": Ledger(self.texts, (count, columns))})

    def update(self, bundle: Bundle, batch: Sequence[Numbered]) -> None:
        """Put a batch of numbered texts to the whole model and to every cut one."""
        exactly = self.subject.device.type == "cpu" and not self.writing
        for group in alike(batch, self.replay.pieces, self._widest, exactly=exactly):
            numbers = [number for number, _ in group]
            question = self.task.ask([example for _, example in group])
            kept = self.replay.record(question.batch)
            losses, marks = self._read(question, kept)
            if self.writing:
                marks = self._write(question, kept)
            bundle["loss"].update(numbers, losses)
            bundle["marks"].update(numbers, marks)

    @property
    def _widest(self) -> int:
        """The most cuts at one site."""
        return max((len(cuts) for cuts in self._sites.values()), default=1)

    def _read(self, question: Question, kept: Kept) -> tuple[Numbers, Numbers]:
        """Losses (text, 1 + cut) and marks (text, 1 + cut, column), from replays."""
        size = len(question.labels)
        judged: list[tuple[int, Numbers, Numbers]] = []

        def note(numbers: Sequence[int], scored: Scored) -> None:
            loss = scored.mean.detach().double().cpu().numpy().reshape(len(numbers), size)
            if not np.isfinite(loss).all():
                raise NumberError(
                    "NaN or infinity in the loss; the number format may be too narrow (try --dtype float32)"
                )
            marks = np.stack([loss, np.ones_like(loss)], -1)
            if not self.by_loss and not self.writing:
                marks = scored.marks.double().cpu().numpy().reshape(len(numbers), size, -1)
            judged.extend(zip(numbers, loss, marks, strict=True))

        note([0], self.task.judge(question, kept.output))
        for site, cuts in self._sites.items():
            xi = torch.stack([cut.gates(self.subject.heads(site)) for _, cut in cuts])
            for part, output in self.replay.cut(kept, site, xi, self.means.get(site)):
                some = cuts[part]
                note([number for number, _ in some], self.task.judge(question.repeated(len(some)), output))
        judged.sort(key=lambda row: row[0])
        return np.stack([loss for _, loss, _ in judged], 1), np.stack([marks for _, _, marks in judged], 1)

    def _write(self, question: Question, kept: Kept) -> Numbers:
        """Marks (text, 1 + cut, column) of what the model writes; the encoder rests where the cut is not in it."""
        size = len(question.labels)
        written = {0: self.task.answer(question).double().cpu().numpy()}
        for site, cuts in self._sites.items():
            xi = torch.stack([cut.gates(self.subject.heads(site)) for _, cut in cuts])
            for part in self.replay.parts(kept.batch, len(cuts)):
                some = cuts[part]
                gates = Gates(
                    {site: xi[part].repeat_interleave(size, 0)},
                    {site: self.means[site]} if site in self.means else {},
                )
                with ExitStack() as stack:
                    stack.enter_context(self.subject.use(gates))
                    encoder = self.subject.model.get_encoder()
                    if site.stream is not Stream.ENCODER and encoder in kept.given:
                        stack.enter_context(bypassed({encoder: giving(kept.given[encoder], size, len(some))}))
                    marks = self.task.answer(question.repeated(len(some))).double().cpu().numpy()
                for (number, _), own in zip(some, marks.reshape(len(some), size, -1), strict=True):
                    written[number] = own
        return np.stack([written[number] for number in range(1 + len(self.cuts))], 1)


@dataclass
class _Sums(Instrument):
    """Adds up the heads' outputs of each text over its real places."""

    batch: Batch
    sums: dict[Site, tuple[Tensor, Tensor]]

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        """Add."""
        side = self.batch.queries(call.site.stream)
        assert side is not None
        real = side.real[:, :, None, None].to(output.device)
        self.sums[call.site] = (output.detach().float() * real).sum(1), side.real.sum(1)
        return output


class Means:
    """A study: the mean output of every head over all places of some texts, which stands in for it when it is cut."""

    name = "ablate"

    def __init__(self, task: Task) -> None:
        self.task, self.subject = task, task.subject
        self.sites = [site for site in self.subject.sites if site.stream in task.streams]

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""
        widths = {site: self.subject.output_matrix(site).shape[1] for site in self.sites}
        return Bundle(
            {_key(site): PooledMean((self.subject.heads(site), widths[site]), blocks=1) for site in self.sites}
        )

    def update(self, bundle: Bundle, batch: Sequence[Numbered]) -> None:
        """Run a batch, and take in the heads' outputs."""
        question = self.task.ask([example for _, example in batch])
        seen = _Sums(question.batch, {})
        with torch.no_grad(), self.subject.use(seen):
            self.task.run(question)
        for site in self.sites:
            sums, counts = seen.sums[site]
            bundle[_key(site)].update(sums.cpu().numpy(), counts.cpu().numpy())

    def result(self, bundle: Bundle) -> dict[Site, Tensor]:
        """The means by site, (head, width)."""
        return {site: torch.from_numpy(bundle[_key(site)].result().value).float() for site in self.sites}


def alike(batch: Sequence[Numbered], pieces: int, copies: int, *, exactly: bool) -> Iterator[list[Numbered]]:
    """Groups of texts that go through together, so many copies of each within a number of pieces.

    On a processor, where larger batches gain nothing, a group has texts of one length alone: nothing is spent on
    padding, which every copy would have again.

    >>> from types import SimpleNamespace as Text
    >>> texts = [(number, Text(source=Text(length=size), target=None)) for number, size in enumerate([3, 5, 3, 3])]
    >>> [[number for number, _ in group] for group in alike(texts, 12, 2, exactly=True)]
    [[0, 2], [3], [1]]
    """

    def lengths(item: Numbered) -> tuple[int, int]:
        source, target = item[1].source, item[1].target
        return source.length, 0 if target is None else target.length

    ordered = sorted(batch, key=lambda item: (lengths(item), item[0]))
    for _, same in groupby(ordered, key=lengths if exactly else lambda item: True):
        group: list[Numbered] = []
        for item in same:
            if group and (len(group) + 1) * copies * max(lengths(item)) > pieces:
                yield group
                group = []
            group.append(item)
        yield group


def _key(site: Site) -> str:
    return f"{site.stream}-{site.layer}"
