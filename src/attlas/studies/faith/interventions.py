"""Attention changed by hand, and what becomes of predictions: uniform, shuffled, frozen, or another model's.

For every instance each intervention gives the total variation distance (TVD) of the prediction from the model's own,
the Jensen-Shannon divergence (JSD) of the attention, whether the label changed, and the marks of the task's score for
its text. JSD is the mean over heads and layers; in the last layer over the reading rows, below it over all rows of
real pieces, and where the last layer alone is changed, it is of that layer alone.

*Uniform* attention is even over all keys that a query may see. *Permuted* attention is the model's own, shuffled
among these keys, each head and row by itself, many times over; its TVD is the median of the draws (Jain & Wallace
2019). At the last layer only the reading rows are shuffled, at all layers all rows, which takes full passes and is
drawn less often. *Frozen* attention comes from another run. Another model, or one that was trained with uniform
attention (*evened*), runs as it is, on the same pieces; its heads are compared with those of the same number, and
where it has other layers or heads, nothing is said of their divergence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Override, Selection
from attlas.capture.frozen import Frozen, self_attention
from attlas.errors import CapabilityError
from attlas.ids import Site
from attlas.measures.distances import js
from attlas.models import AttentionCall, Instrument
from attlas.stats import Bundle, Ledger, Metric, compare, holm
from attlas.stats.flips import FEWEST_UNITS
from attlas.store.columns import as_columns
from attlas.studies.faith.middles import by_unit, over_units
from attlas.studies.shared.faith.adversary import instance_seed
from attlas.studies.shared.faith.instances import Instance, Labelling, ask, predicted, sites_of
from attlas.studies.shared.faith.last import Own, Reweighed
from attlas.tasks import mark_count

Numbers = NDArray[np.float64]
PERMUTATIONS = 100
RARER = 10  # shuffling all layers takes full passes, so it is done so many times less often
PIECES = {"last": 16_384, "all": 4096}  # in one pass of shuffled copies
FIGURES = ("tvd", "jsd", "flipped")
SCORES = {  # columns of the table by the names that a comparison has for them
    "score": "score", "score_low": "score_low", "score_high": "score_high",
    "change": "change", "change_low": "low", "change_high": "high", "p": "p",
}  # fmt: skip


class Intervention(NamedTuple):
    """What is done to attention, at which layers ("last" or "all"), and the name of what comes from elsewhere."""

    kind: str
    layers: str
    name: str = ""


class Intervened(NamedTuple):
    """What interventions did to every instance: figures (instance, intervention), and the marks of its text under the
    model as it is (first) and under each, (instance, 1 + intervention, column)."""

    done: tuple[Intervention, ...]
    tvd: Numbers
    jsd: Numbers
    flipped: Numbers
    marks: Numbers

    def column(self, kind: str, layers: str = "last") -> Numbers | None:
        """The TVD of every instance under one intervention, if it was made."""
        wanted = Intervention(kind, layers)
        return self.tvd[:, self.done.index(wanted)] if wanted in self.done else None

    def with_one_more(self, kind: Intervention, figures: Mapping[str, Numbers], marks: Numbers) -> Intervened:
        """Interventions with another, such as adversaries: its figures by name, (instance,), and marks (instance,
        column)."""
        added = (*(figures[name] for name in FIGURES), marks)
        columns = (np.concatenate([old, new[:, None]], 1) for old, new in zip(self[1:], added, strict=True))
        return Intervened((*self.done, kind), *columns)


class Interventions:
    """The study: ``count`` instances of a task under interventions.

    ``frozen`` are weights from other runs, and ``others`` tasks of other models on the same texts, both by name;
    ``evened`` is the task of a model that was trained with uniform attention. ``permutations`` says how often the
    last layer is shuffled.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> study = Interventions(task, len(asked.instances), permutations=4)
    >>> bundle = study.empty()
    >>> study.update(bundle, list(enumerate(asked.instances)))
    >>> [one.kind for one in study.done], study.result(bundle).tvd.shape
    (['uniform', 'uniform', 'permuted', 'permuted'], (2, 4))
    """

    name = "faith"

    def __init__(
        self,
        task: Labelling,
        count: int,
        *,
        permutations: int = PERMUTATIONS,
        frozen: Mapping[str, Frozen] | None = None,
        others: Mapping[str, Labelling] | None = None,
        evened: Labelling | None = None,
        seed: int = 0,
    ) -> None:
        self.task, self.subject, self.count = task, task.subject, count
        self.frozen, self.seed = dict(frozen or {}), seed
        self.models: dict[Intervention, Labelling] = {
            Intervention("other model", "all", name): other for name, other in (others or {}).items()
        }
        if evened is not None:
            self.models[Intervention("evened model", "all", evened.subject.name)] = evened
        for other in self.models.values():
            _require_same_labels(task, other)
        for weights in self.frozen.values():
            weights.require_fit(self.subject)
        self.sites = sites_of(task)
        self.draws = {"last": permutations, "all": -(-permutations // RARER)}
        where = {name: weights.sites == (self.sites[-1],) for name, weights in self.frozen.items()}
        places = ("last", "all") if len(self.sites) > 1 else ("last",)
        permuted = [Intervention("permuted", layers) for layers in places] if permutations else []
        self.done = (
            *[Intervention("uniform", layers) for layers in places],
            *permuted,
            *[Intervention("frozen", "last" if last else "all", name) for name, last in where.items()],
            *self.models,
        )
        self.narrow, self.wide = Reweighed(task), Reweighed(task, self.sites, whole=True)

    def require(self, instances: Sequence[Instance]) -> None:
        """Refuse, before any work is done, texts that were not frozen or that another model cuts otherwise."""
        for weights in self.frozen.values():
            weights.require_texts(instance.example for instance in instances)
        for other in self.models.values():
            _require_same_pieces(self.task, other, instances)

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""
        figures = {name: Ledger(self.count, (len(self.done),)) for name in FIGURES}
        return Bundle({**figures, "marks": Ledger(self.count, (1 + len(self.done), mark_count(self.task)))})

    def update(self, bundle: Bundle, batch: Sequence[tuple[int, Instance]]) -> None:
        """Put a batch of numbered instances to the model as it is and under every intervention."""
        numbers = [number for number, _ in batch]
        asked = ask(self.task, [instance for _, instance in batch])
        own = self.wide.record(asked)
        made = [self._under(one, own) for one in self.done]
        for place, name in enumerate(FIGURES):
            bundle[name].update(numbers, np.stack([found[place] for found in made], 1))
        plain = _numbers(self.task.judge(asked.question, own.output).marks)
        bundle["marks"].update(numbers, np.stack([plain, *[found[-1] for found in made]], 1))

    def result(self, bundle: Bundle) -> Intervened:
        """What became of every instance."""
        return Intervened(self.done, *(bundle[name].result() for name in (*FIGURES, "marks")))

    def _under(self, intervention: Intervention, own: Own) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """TVD, JSD, share of changed labels, and marks, of every instance under an intervention."""
        if intervention.kind == "permuted":
            return self._shuffled(intervention.layers, own)
        if intervention in self.models:
            return self._with(own, self.models[intervention], self.sites)
        sites = self.sites[-1:] if intervention.layers == "last" else self.sites
        if intervention.kind == "uniform":
            override = Override.uniform(Selection({sites[0].stream}, sites))
        else:
            examples = [instance.example for instance in own.asked.instances]
            override = self.frozen[intervention.name].override(examples, own.asked.rows.shape[1])
        return self._with(own, self.task, sites, override)

    def _with(
        self, own: Own, task: Labelling, sites: Sequence[Site], *instruments: Instrument
    ) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """One full pass, of this model or another."""
        like = self_attention(task.subject) == self_attention(self.subject)
        watch = _Apart(own, tuple(sites) if like else ())
        asked = own.asked
        if task is not self.task:
            asked = asked._replace(question=task.ask(asked.question.examples))
        with torch.no_grad(), task.subject.use(*instruments, watch):
            output = task.run(asked.question)
            new = predicted(task, asked, output)
        flipped = new.argmax(-1) != own.predicted.argmax(-1)
        marks = task.judge(asked.question, output).marks
        return _numbers(own.moved(new)), watch.mean(), _numbers(flipped), _numbers(marks)

    def _shuffled(self, layers: str, own: Own) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Many draws: the median TVD, and the means of the rest."""
        model = self.narrow if layers == "last" else self.wide
        if layers == "last":
            own = self.narrow.record(own.asked)
        size, pieces = own.asked.rows.shape
        at_once = max(1, PIECES[layers] // (size * pieces))
        every, parts = range(self.draws[layers]), []
        with torch.no_grad():
            for start in every[::at_once]:
                draws = every[start : start + at_once]
                weights = {site: shuffled(own, site, draws, self.seed) for site in own.weights}
                times = len(draws)
                asked, output = model.run(own, weights, times)
                new = predicted(self.task, asked, output)
                flipped = new.argmax(-1) != own.predicted.argmax(-1).repeat(times)
                judged = self.task.judge(asked.question, output).marks
                columns = (own.moved(new, times), own.divergence(weights, times=times), flipped, judged)
                parts.append([_numbers(column.reshape(times, size, *column.shape[1:])) for column in columns])
        tvd, jsd, flips, marks = (np.concatenate(column) for column in zip(*parts, strict=True))
        if layers == "last" and self.task.name.startswith("tagging:"):  # only one word was tampered with
            marks = np.full_like(marks, np.nan)
        return np.median(tvd, 0), jsd.mean(0), flips.mean(0), marks.mean(0)


def shuffled(own: Own, site: Site, draws: Sequence[int], seed: int = 0) -> Tensor:
    """The model's own weights at a site, shuffled among the keys that each row may see, (draws x instance, head, row,
    key), copy-major. What is drawn depends on the instance, the number of the draw and the seed alone.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> own, (site,) = Reweighed(task).record(asked), sites_of(task, "last")
    >>> new = shuffled(own, site, range(2))
    >>> new.shape, bool(torch.allclose(new[:2].sort(-1).values, own.weights[site].sort(-1).values))
    (torch.Size([4, 12, 1, 6]), True)
    """
    weights, hidden = own.weights[site], (~own.visible[site]).float()
    heads = weights.shape[1]
    noise = torch.zeros(len(draws), *weights.shape)
    counts = own.rows[site].there.sum(-1).tolist()
    for number, (instance, rows) in enumerate(zip(own.asked.instances, counts, strict=True)):
        length = instance.example.source.length
        for turn, draw in enumerate(draws):
            generator = torch.Generator().manual_seed(instance_seed(instance, f"{seed} {site} shuffle {draw}"))
            noise[turn, number, :, :rows, :length] = torch.rand(heads, rows, length, generator=generator)
    hidden = hidden.expand_as(weights)
    places = torch.argsort(hidden, dim=-1, stable=True)  # keys that may be seen first, in order
    order = torch.argsort(noise.to(weights.device) + 2 * hidden, dim=-1)  # the same in random order
    picked = weights.expand_as(order).gather(-1, order)
    return torch.zeros_like(picked).scatter(-1, places.expand_as(order), picked).reshape(-1, heads, *order.shape[3:])


def _require_same_labels(task: Labelling, other: Labelling) -> None:
    """Refuse another model that cannot be compared: it gives other labels."""
    one, two = (getattr(each, "tags", None) or each.subject.labels for each in (task, other))
    if tuple(one) != tuple(two):
        shown = [", ".join(labels[:4]) + (" ..." if len(labels) > 4 else "") for labels in (one, two)]
        raise CapabilityError(
            f"{other.subject.name} gives other labels ({shown[1]}) than {task.subject.name} ({shown[0]}), so that "
            "their predictions cannot be compared"
        )


def _require_same_pieces(task: Labelling, other: Labelling, instances: Sequence[Instance]) -> None:
    """Refuse another model that cuts these texts into other pieces."""
    passages = [instance.example.passage for instance in instances]
    for instance, example in zip(instances, other.subject.pieces.encode_all(passages), strict=True):
        if example.source.ids != instance.example.source.ids:
            raise CapabilityError(
                f"{other.subject.name} cuts texts into other pieces than {task.subject.name}, so that their "
                "attention cannot be compared; choose a model with the same tokenizer"
            )


def intervention_rows(
    metric: Metric, intervened: Intervened, texts: Sequence[int], units: Sequence[int], *, seed: int = 0
) -> dict[str, list[Any]]:  # fmt: skip
    """One row for each intervention: the score under it and how it changed, tested unit by unit and corrected over
    all interventions (none with few units); means over instances of TVD and JSD with intervals over units, and how
    many labels changed. ``texts`` and ``units`` are those of the instances. A score that was not measured is left
    empty.

    >>> from attlas.stats import METRICS
    >>> marks, figures = np.ones((4, 2, 2)), np.full((4, 1), 0.5)
    >>> made = Intervened((Intervention("uniform", "last"),), figures, figures, figures, marks)
    >>> rows = intervention_rows(METRICS["accuracy"], made, [0, 1, 2, 3], [0, 1, 2, 3])
    >>> rows["score"], rows["tvd_median"], rows["n"]
    ([1.0], [0.5], [4])
    """
    rows = []
    for number, intervention in enumerate(intervened.done):
        marks = marks_by_unit(intervened.marks[:, [0, number + 1]], texts, units)
        score: dict[str, Any] = dict.fromkeys(SCORES)
        if len(marks):
            compared = compare(metric, marks[:, 0], marks[:, 1], seed=seed)
            score = {column: float(getattr(compared, name)) for column, name in SCORES.items()}
        if len(marks) < FEWEST_UNITS:
            score["p"] = None
        tvd, jsd = intervened.tvd[:, number], intervened.jsd[:, number]
        rows.append(
            {
                "intervention": intervention.kind, "layers": intervention.layers, "name": intervention.name, **score,
                **over_units(tvd, units, (0.0, 1.0)).columns("tvd"), "tvd_median": np.median(tvd),
                **over_units(jsd, units, (0.0, math.log(2))).columns("jsd"),
                "flipped": intervened.flipped[:, number].mean(), "n": len(tvd),
            }
        )  # fmt: skip
    p = holm([np.nan if row["p"] is None else row["p"] for row in rows])
    return as_columns([{**row, "p_corrected": corrected} for row, corrected in zip(rows, p, strict=True)])


def marks_by_unit(marks: Numbers, texts: Sequence[int], units: Sequence[int]) -> Numbers:
    """The marks of texts, (instance, ...), added up over the texts of each unit; every text counts once, and those
    whose marks are not all known are left out.

    >>> marks_by_unit(np.array([[1.0], [1.0], [0.0], [np.nan]]), [0, 0, 1, 2], [5, 5, 5, 6]).tolist()
    [[1.0]]
    """
    first = np.unique(np.asarray(texts), return_index=True)[1]
    known = first[np.isfinite(marks[first]).all(tuple(range(1, marks.ndim)))]
    return by_unit(marks[known], np.asarray(units)[known].tolist())[0]


class _Apart(Instrument):
    """Sums up how far the weights of a pass are from the model's own, at some sites."""

    def __init__(self, own: Own, sites: tuple[Site, ...]) -> None:
        self.own, self.sites = own, sites
        self.found: dict[Site, Tensor] = {}

    def wants(self, site: Site) -> bool:
        """Whether a site is asked about."""
        return site in self.sites

    def observe(self, call: AttentionCall) -> None:
        """Compare."""
        rows = self.own.rows[call.site]
        apart = js(self.own.weights[call.site], rows.take(call.weights(), 2).float()).mean(1)
        there = rows.there.to(apart.dtype)
        self.found[call.site] = (apart * there).sum(-1) / there.sum(-1).clamp(min=1)

    def mean(self) -> Numbers:
        """The mean over sites; NaN where nothing can be compared."""
        if not self.found:
            return np.full(len(self.own.asked.instances), np.nan)
        return _numbers(torch.stack(list(self.found.values())).mean(0))


def _numbers(values: Tensor) -> Numbers:
    found: Numbers = values.detach().double().cpu().numpy()
    return found
