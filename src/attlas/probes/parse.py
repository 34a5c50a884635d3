"""Parsing from attention (Clark et al.): how much of a dependency tree can be read off a model's heads.

Every probe is trained on one part of a treebank, stopped by a second and scored on a third: the two probes on
attention, the same on the untrained twin, one that knows distances in place of attention, the structural probe on
states, and two rules that are not trained at all. To the engine this is a study whose items are the probes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from attlas.probes.attention import AttentionProbe, VectorProbe, cross_entropy
from attlas.probes.files import Features
from attlas.probes.reading import Reader
from attlas.probes.structural import StructuralProbe, distance_loss, gold_edges, spanning_edges
from attlas.probes.training import Epoch, Schedule, fit
from attlas.probes.trees import Part
from attlas.probes.vectors import Vectors
from attlas.stats import Bundle, PooledMean

OFFSETS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
CPU = torch.device("cpu")
FACTS = ("dev", "epochs", "seconds", "parameters", "chosen")
RATES = {"attention": 0.003, "vectors": 0.001, "offsets": 0.01, "structural": 0.0003}


class Job(NamedTuple):
    """One row of the answer: its name, what kind of probe it is, and the figure published for it.

    >>> JOBS[0].name, JOBS[0].published
    ('right-branching', 0.26)
    """

    name: str
    kind: str
    reads: str
    published: float | None = None
    twin: bool = False

    @property
    def undirected(self) -> bool:
        """Whether edges are scored without their direction (UUAS)."""
        return self.kind == "structural"


JOBS = (
    Job("right-branching", "right", "position", 0.26),
    Job("best fixed offset", "offset", "position"),
    Job("distances + vectors", "vectors", "offsets", 0.58),
    Job("attention", "attention", "attention", 0.61),
    Job("attention + vectors", "vectors", "attention", 0.77),
    Job("structural probe", "structural", "states", 0.80),
    Job("untrained: attention", "attention", "attention", None, True),
    Job("untrained: attention + vectors", "vectors", "attention", 0.30, True),
    Job("untrained: structural probe", "structural", "states", None, True),
)


def jobs_for(*, twin: bool, structural: bool) -> list[Job]:
    """The probes of the model (with the rules), or those of its twin.

    >>> [job.name for job in jobs_for(twin=True, structural=False)]
    ['untrained: attention', 'untrained: attention + vectors']
    """
    return [job for job in JOBS if job.twin == twin and (structural or not job.undirected)]


class Answer(NamedTuple):
    """What a probe says of the words of one part: per sentence, how many count and how many are right, by relation
    (all first), and whether exactly one word was given to ROOT.

    >>> Answer(np.array([[3.0]]), np.array([[4.0]]), np.array([1.0])).uas
    0.75
    """

    right: NDArray[np.float64]
    total: NDArray[np.float64]
    one_root: NDArray[np.float64] | None = None

    @property
    def uas(self) -> float:
        """The share of all words that are right."""
        return float(self.right[:, 0].sum() / max(1.0, self.total[:, 0].sum()))


_Trained = tuple[Answer, float, list[Epoch], int, int]  # on test; score on dev; epochs; parameters; what was chosen


@dataclass
class Trainer:
    """The study: its items are jobs; each is trained, scored on test, and its numbers go into the bundle.

    >>> schedule = Schedule(epochs=2)
    >>> trainer = Trainer([JOBS[0]], {}, None, None, {}, schedule, heads=(1, 2), layers=0)
    >>> list(trainer.empty())
    ['right-branching']
    """

    jobs: Sequence[Job]
    parts: dict[str, Part]
    features: Features | None
    vectors: Vectors | None
    relations: Mapping[str, int]
    schedule: Schedule
    heads: tuple[int, int]
    layers: int
    rank: int = 64
    device: torch.device = CPU
    say: Callable[[str], None] = lambda text: None
    name: str = "parse"
    stepwise: ClassVar[bool] = True

    def empty(self) -> Bundle:
        """Per probe: its score, its history, what is to be said of it, and what it has learned of heads or layers."""
        return Bundle({job.name: self._empty(job) for job in self.jobs})

    def _empty(self, job: Job) -> Bundle:
        parts: dict[str, Any] = {
            "test": PooledMean((1 + len(self.relations),)),
            "one_root": PooledMean((), blocks=1),
            "facts": PooledMean((len(FACTS),), blocks=1),
            "history": PooledMean((self.schedule.epochs, 3), blocks=1),
        }
        if job.kind == "attention":
            parts["weights"] = PooledMean((2, 2, self.heads[0] * self.heads[1]), blocks=1)
        if job.kind == "structural":
            parts["layers"] = PooledMean((self.layers,), blocks=1)
        return Bundle(parts)

    def update(self, bundle: Bundle, batch: Sequence[Job]) -> None:
        """Train the probes of a batch, one after the other."""
        for job in batch:
            began = time.monotonic()
            part = bundle[job.name]
            assert isinstance(part, Bundle)
            torch.manual_seed(self.schedule.seed)
            runs = {"right": self._rule, "offset": self._rule, "structural": self._structural}
            run = runs.get(job.kind, self._parser)
            answer, dev, history, parameters, chosen = run(job, part)
            part["test"].update(answer.right, answer.total, self.parts["test"].units)
            if answer.one_root is not None:
                part["one_root"].update(answer.one_root, 1)
            seconds = time.monotonic() - began
            part["facts"].update([[dev, len(history), seconds, parameters, chosen]], 1)
            brought = np.zeros((1, self.schedule.epochs, 3))
            known = np.zeros_like(brought)
            for place, epoch in enumerate(history):
                seen = epoch.score == epoch.score
                brought[0, place] = epoch.train, epoch.dev, epoch.score if seen else 0.0
                known[0, place] = 1, 1, seen
            part["history"].update(brought, known)
            metric = "UUAS" if job.undirected else "UAS"
            self.say(f"{job.name}: {metric} {100 * answer.uas:.1f} on test ({seconds:.0f} s)")

    def _rule(self, job: Job, bundle: Bundle) -> _Trained:
        def answer(part: str, offset: int) -> Answer:
            return self._answer(part, lambda words: follow(words, offset))

        best = 1 if job.kind == "right" else max(OFFSETS, key=lambda offset: answer("train", offset).uas)
        return answer("test", best), answer("dev", best).uas, [], int(job.kind == "offset"), best

    def _parser(self, job: Job, bundle: Bundle) -> _Trained:
        reader = self._reader(job)
        probe: nn.Module
        size, mixing = reader.measure()
        if job.kind == "attention":
            probe = AttentionProbe(mixing)
        else:
            assert self.vectors is not None
            generator = torch.Generator().manual_seed(self.schedule.seed)
            probe = VectorProbe(mixing, torch.from_numpy(self.vectors.table), generator)
        probe.to(self.device)

        seen = [0.0, 0.0]  # words of the dev part that were right, and all

        def losses(part: str, shuffled: bool) -> Any:
            seen[:] = 0.0, 0.0
            for batch in reader.batches(part, shuffled):
                scores = probe(batch.given, batch.ids)
                if part == "dev":
                    hit = (scores.argmax(1) == batch.governors) & batch.scored
                    seen[:] = seen[0] + float(hit.sum()), seen[1] + float(batch.scored.sum())
                yield cross_entropy(scores, batch.governors, batch.scored)[None], max(1.0, float(batch.scored.sum()))

        def predicted(part: str) -> Answer:
            chosen: list[NDArray[np.int64]] = [np.zeros(0, np.int64)] * self.parts[part].sentences
            with torch.no_grad():
                for batch in reader.batches(part):
                    best = probe(batch.given, batch.ids).argmax(1).cpu().numpy()
                    for member, governors in zip(batch.members, best, strict=True):
                        chosen[member] = governors
            return self._score(part, chosen)

        rate = RATES["offsets" if job.reads == "offsets" else job.kind]
        history = fit(
            probe, losses, lambda: seen[0] / max(1.0, seen[1]), self.schedule, rate=rate,
            say=lambda text: self.say(f"{job.name}, {text}"),
        )  # fmt: skip
        if isinstance(probe, AttentionProbe):
            weights = probe.learned().cpu()
            bundle["weights"].update(torch.stack([weights, weights * size])[None].numpy(), 1)
        count = sum(parameter.numel() for parameter in probe.parameters())
        return predicted("test"), predicted("dev").uas, history, count, 0

    def _structural(self, job: Job, bundle: Bundle) -> _Trained:
        assert self.features is not None
        reader = self._reader(job)
        generator = torch.Generator().manual_seed(self.schedule.seed)
        rank = min(self.rank, self.features.room.size)
        probe = StructuralProbe(reader.scale().cpu(), rank, generator).to(self.device)

        def losses(part: str, shuffled: bool) -> Any:
            for batch in reader.batches(part, shuffled):
                if (words := batch.governors.shape[1]) > 1:
                    wanted = reader.distances(part, words, batch.members)
                    yield distance_loss(probe(batch.given), wanted), float(len(batch.members))

        def edges(part: str, layers: Sequence[int]) -> list[Answer]:
            count = self.parts[part].sentences
            right, total = np.zeros((len(layers), count, 1 + len(self.relations))), np.zeros((count, 1))
            with torch.no_grad():
                for batch in reader.batches(part):
                    found = probe(batch.given)[list(layers)].cpu().numpy()
                    for row, member in enumerate(batch.members):
                        tree = self.parts[part].trees[member]
                        gold = gold_edges(tree.governors, tree.scored)
                        total[member, 0] = len(gold)
                        kept = [word for word, scored in enumerate(tree.scored) if scored]
                        for place in range(len(layers) if gold else 0):
                            right[place, member, 0] = len(gold & spanning_edges(found[place, row], kept))
            spread = np.concatenate([total, np.zeros((count, len(self.relations)))], axis=1)
            return [Answer(one, spread) for one in right]

        history = fit(
            probe, losses, lambda: float("nan"), self.schedule, rate=RATES[job.kind],
            say=lambda text: self.say(f"{job.name}, {text}"),
        )  # fmt: skip
        dev = [answer.uas for answer in edges("dev", range(self.layers))]
        bundle["layers"].update([dev], 1)
        best = int(np.argmax(dev))
        parameters = probe.projection[0].numel()
        return edges("test", [best])[0], dev[best], history, parameters, best

    def _reader(self, job: Job) -> Reader:
        vectors = self.vectors if job.kind == "vectors" else None
        return Reader(
            self.features, self.parts, vectors, job.reads, self.schedule.words, self.device, self.schedule.seed
        )

    def _answer(self, part: str, rule: Callable[[int], NDArray[np.int64]]) -> Answer:
        return self._score(part, [rule(len(tree.kept)) for tree in self.parts[part].trees])

    def _score(self, part: str, chosen: Sequence[NDArray[np.int64]]) -> Answer:
        """Count what is right, sentence by sentence."""
        trees = self.parts[part].trees
        right, count = (np.zeros((len(trees), 1 + len(self.relations))) for _ in range(2))
        one_root = np.zeros(len(trees))
        for place, (tree, governors) in enumerate(zip(trees, chosen, strict=True)):
            scored = np.asarray(tree.scored)
            hit = (governors == np.asarray(tree.governors)) & scored
            right[place, 0], count[place, 0] = hit.sum(), scored.sum()
            numbers = np.array([1 + self.relations.get(relation, -1) for relation in tree.relations])
            np.add.at(right[place], numbers[hit & (numbers > 0)], 1)
            np.add.at(count[place], numbers[scored & (numbers > 0)], 1)
            one_root[place] = (governors[scored] == len(tree.kept)).sum() == 1
        return Answer(right, count, one_root)


def follow(words: int, offset: int) -> NDArray[np.int64]:
    """The governor that lies so many words away; ROOT where the sentence ends before that.

    >>> follow(4, 1).tolist(), follow(4, -2).tolist()
    ([1, 2, 3, 4], [4, 4, 0, 1])
    """
    places = np.arange(words) + offset
    return np.where((places >= 0) & (places < words), places, words)
