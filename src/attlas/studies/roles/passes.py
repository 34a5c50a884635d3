"""Scoring definitions at the seam: one pass over the texts of a trial, all its definitions in it.

Every call is reduced at once to a sum and a count per text, head and definition; the same functions on a head that
attends evenly give the chance level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attlas.capture.instruments import finite
from attlas.ids import Stream
from attlas.measures.rows import uniform_call
from attlas.models import AttentionCall, Batch, Example
from attlas.models.seam import mix
from attlas.stats import Bundle
from attlas.studies.roles.definition import EVEN, Definition, at_place
from attlas.studies.roles.scores import add_scores, empty_scores, streams_of
from attlas.studies.roles.seen import Pieces, Seen, Sums
from attlas.studies.shared.reducing import heads_by_site, stacked
from attlas.studies.shared.watching import Pass, Watcher

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.roles.texts import Setting


class SeamScores(Watcher):
    """Definitions that are sums over weights, or over whatever else one call shows.

    >>> from attlas.capture import load
    >>> from attlas.corpora import read
    >>> from attlas.studies.roles.definition import WITHIN
    >>> from attlas.studies.roles.texts import Setting, repeated
    >>> own = Definition("own", "itself", "nobody", "", "attlas.studies.roles.places:duplicate", streams=WITHIN)
    >>> setting = Setting(load(), read("sample"), texts=2)
    >>> study = SeamScores(setting.subject, [own], setting)
    >>> bundle = study.empty()
    >>> study.update(bundle, repeated(setting))
    >>> bundle["encoder-chance"].result().value[0].round(4).tolist()  # one of 130 pieces
    [0.0077]
    """

    name = "roles"

    def __init__(self, subject: Subject, definitions: Sequence[Definition], setting: Setting | None = None) -> None:
        self.subject = subject
        self.definitions = tuple(definitions)
        self.streams = streams_of(subject, self.definitions)
        self._probe()
        self.sums: list[Callable[[Seen], Sums]] = [at_place(definition.sums) for definition in self.definitions]

    def empty(self) -> Bundle:
        """Scores that have seen nothing."""
        return Bundle(empty_scores(self.subject, self.definitions))

    def begin(self, made: Batch, batch: Sequence[Example]) -> _Pass:
        """Open a pass over a batch."""
        self._probe()  # of a model that has just arrived on a worker
        return _Pass(self, made, batch)

    def _probe(self) -> None:
        """Have found out what definitions find by passes of their own, which would be watched in the middle of one;
        it is kept for as long as the model is there."""
        for definition in self.definitions:
            definition.why_not(self.subject)


class _Pass(Pass):
    """One forward pass: sums per text, head and definition, layer by layer."""

    def __init__(self, study: SeamScores, made: Batch, batch: Sequence[Example]) -> None:
        self.study, self.texts = study, batch
        self.units = [example.unit for example in batch]
        self.sides: dict[Stream, tuple[Pieces, Pieces]] = {}
        for stream in study.streams:
            queries, keys = made.queries(stream), made.keys(stream)
            if queries is not None and keys is not None:
                asking = Pieces.of(queries, batch)
                self.sides[stream] = (asking, asking if keys is queries else Pieces.of(keys, batch))
        self.heads = heads_by_site(study.subject)
        self.taken: dict[Stream, list[Sums]] = {stream: [] for stream in self.sides}
        self.by_chance: dict[Stream, list[Sums]] = {stream: [] for stream in self.sides}
        self._even: dict[Any, Sums] = {}
        self._masks: list[Tensor | None] = []

    def take(self, call: AttentionCall) -> None:
        """Reduce one call."""
        stream = call.site.stream
        if stream not in self.sides:
            return
        finite(call.weights()[:, : self.heads[call.site]], call.site)
        if call.fusable and call.mixed is None:  # the model need not compute them again
            call.mixed = mix(call.weights(), call.values)
        self.taken[stream].append(self._reduced(call, stream, even=False))
        self.by_chance[stream].append(self._by_chance(call, stream))

    def _reduced(self, call: AttentionCall, stream: Stream, *, even: bool) -> Sums:
        """Sums and counts of all definitions, (text, head, definition)."""
        batch, heads = call.shape[:2]
        seen = Seen(self.study.subject, call, *self.sides[stream], self.texts, even)
        sums = torch.zeros(batch, heads, len(self.study.definitions), device=call.value.device)
        counts = torch.zeros_like(sums)
        for number, (definition, function) in enumerate(zip(self.study.definitions, self.study.sums, strict=True)):
            if stream in definition.streams and (definition.chance == EVEN or not even):
                total, count = function(seen)
                sums[..., number], counts[..., number] = total, count.expand_as(total)
        return sums, counts

    def _by_chance(self, call: AttentionCall, stream: Stream) -> Sums:
        """The same of a head that attends evenly, (text, definition), once for every mask."""
        key = (stream, id(call.mask), call.causal, call.shape[-2:]) if call.given is None else None
        if key is not None and key in self._even:
            return self._even[key]
        sums, counts = self._reduced(uniform_call(call), stream, even=True)
        found = sums[:, 0], counts[:, 0]
        if key is not None:
            self._even[key] = found
            self._masks.append(call.mask)  # holding the mask keeps its id from being used again
        return found

    def land(self) -> None:
        """Nothing is put together before a bundle takes it."""

    def give(self, bundle: Bundle) -> None:
        """Stack the layers of every stream, and take them into the bundle."""
        for stream, layers in self.taken.items():
            if layers:
                sums, counts = stacked(layers, self.study.subject.grid(stream))
                add_scores(bundle, stream, sums, counts, self.units)
                even, cases = stacked(self.by_chance[stream])
                bundle[f"{stream}-chance"].update(even, cases)
