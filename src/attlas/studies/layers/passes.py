"""What a run of edge probing does: edges of all parts, states on disk, series of probes trained on them.

A run goes through the model and then through untrained twins of it: states first, then one series of probes for each
seed, which is also what draws a twin. Each of these is a part that is not repeated when the run is resumed, and a
training goes on after its last epoch. The states of one model are deleted before those of the next are written.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.capture.reading import read_documents
from attlas.corpora import Corpus
from attlas.errors import CorpusError
from attlas.models import Example
from attlas.probes.edges import kept, linear
from attlas.probes.edges.layout import Answers, Layout, Vocabulary, known_types, lay_out, majority, vocabulary_of
from attlas.probes.edges.reading import Reader
from attlas.probes.edges.series import Series, Spec, Trained, allowed_for, specs_for
from attlas.probes.edges.states import Mixable, States, Writer, items_of, scales_of
from attlas.probes.edges.tables import tables_of
from attlas.probes.edges.training import Schedule, Training, epochs_for
from attlas.probes.files import size_of
from attlas.run.session import Run
from attlas.run.setting import draw
from attlas.stats.metrics import METRICS
from attlas.store.checkpoint import FOLDER as CHECKPOINT
from attlas.store.checkpoint import checkpoint_file, without_budget
from attlas.store.tensors import clear_arrays, load_arrays, save_arrays

STATES, PROBES = ".states", ".probes.safetensors"
FORGIVEN = 0.1  # a larger share of edges with labels that training has never seen is refused
SAID = {"model": "the model", "twin": "an untrained twin"}
_ARRAYS = ("marks", "label_marks", "weights", "gammas", "dev", "forced")


@dataclass(frozen=True)
class _Edges:
    """The edges of all parts, each placed among the pieces of its text, and the labels that training knows."""

    layouts: dict[str, Layout]
    known: Vocabulary
    unseen: Mapping[str, Mapping[str, int]]
    unit: str


def read_edges_of(run: Run, corpora: Mapping[str, Corpus], pieces: int, limit: int | None) -> _Edges:
    """Cut all parts into pieces and place their edges; what is left out is counted.

    >>> from attlas.run.session import begin
    >>> from attlas.run.setting import as_subject
    >>> from attlas.studies.layers.call import edge_parts
    >>> texts = edge_parts("pos", "sample")["train"]
    >>> with begin("layers", as_subject(None), texts, {}) as run:
    ...     edges = read_edges_of(run, dict.fromkeys(("train", "dev", "test"), texts), 64, 3)
    >>> edges.layouts["test"].sentences
    3
    """
    examples: dict[str, Sequence[Example]] = {}
    unit = ""
    for name, corpus in corpora.items():
        labelled = [place for place, document in enumerate(corpus.documents) if document.edges]
        documents = [corpus.documents[place] for place in labelled]
        run.skipped["texts without an edge"] += len(corpus.documents) - len(documents)
        if not documents:
            raise CorpusError(f"no text of its {name} part has an edge to probe", file=corpus.name)
        articles = [corpus.articles[place] for place in labelled]
        reading = read_documents(run.subject, documents, articles=articles, limit=pieces, long="skip")
        reading = draw(reading, limit, run.seed)
        examples[name], unit = reading.examples, reading.unit
        run.skipped += reading.skipped
    known = vocabulary_of(examples["train"], corpora["train"].name)
    layouts = {name: lay_out(name, texts, known) for name, texts in examples.items()}
    for layout in layouts.values():
        run.skipped += layout.skipped
    if len({layout.paired for layout in layouts.values()}) > 1:
        raise CorpusError("some parts have single spans and others pairs; give parts of one kind")
    unseen = {name: _unseen(run, name, layouts[name], known) for name in ("dev", "test")}
    return _Edges(layouts, known, unseen, unit)  # that of the last part, which is test


def _unseen(run: Run, part: str, layout: Layout, known: Vocabulary) -> dict[str, int]:
    """Labels that training never saw, counted; refused where there are many."""
    counts = Counter(
        label
        for example in layout.examples
        for edge in example.passage.first.edges or ()
        for label in edge.labels
        if label not in known.numbers
    )
    if not counts:
        return {}
    named = ", ".join(repr(label) for label, _ in counts.most_common(3)) + (" ..." if len(counts) > 3 else "")
    edges, touched = len(layout.labels), int((known.unknown()[layout.labels] > 0).sum())
    if touched > FORGIVEN * edges:
        raise CorpusError(
            f"{touched:,} of the {edges:,} edges of the {part} part have labels that training has never seen "
            f"({named}); give parts of one data set, or more to train on"
        )
    run.progress.note(
        f"{touched:,} of {edges:,} edges of the {part} part have labels that training has never seen ({named}); "
        "they count as missed"
    )
    return dict(counts.most_common())


@dataclass
class Work:
    """One run on its way: where states lie, and how far it has come.

    >>> list(Work.__dataclass_fields__)[:2]
    ['run', 'edges']
    """

    run: Run
    edges: _Edges
    mixable: Mixable
    folder: Path
    bytes: int
    epochs: int
    scales: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    captured: dict[str, tuple[States, NDArray[np.float64], Mixable]] = field(default_factory=dict)
    lent: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def prepare(cls, run: Run, edges: _Edges, max_disk: float) -> Work:
        """See that the states will fit, and say how large they are, before the model runs."""
        mixable = Mixable(run.subject, run.options["over"])
        needed = {name: mixable.room.bytes(int(layout.rows[-1])) for name, layout in edges.layouts.items()}
        folder = run.scratch(STATES, needed, most=max_disk, what="states", less="--limit, --max-pieces")
        total = sum(needed.values())
        count = sum(len(layout.spans) for layout in edges.layouts.values())
        run.progress.note(
            f"{count:,} edges with {len(edges.known.names)} labels; states take {size_of(total)} on disk"
        )
        pieces = int(edges.layouts["train"].rows[-1])
        epochs = run.options["epochs"] or epochs_for(pieces, run.options["step_pieces"])
        return cls(run, edges, mixable, folder, total, epochs)

    @property
    def checkpoint(self) -> Path:
        """Where a training that is not finished leaves its state."""
        return (self.run.out or self.folder) / CHECKPOINT / "training.safetensors"

    def train(self, who: str, seed: int) -> Trained:
        """The series of the model, or of the twin of this seed: from an earlier run, or trained now."""
        options = self.run.options
        specs = specs_for(self.mixable.origins, singles=options["singles"], control=options["control"])
        trained_now = False

        def train() -> dict[str, NDArray[Any]]:
            nonlocal trained_now
            trained_now = True
            training = self._training(who, seed, specs)
            series = training.series
            marks, label_marks, forced = training.marks("test")
            if self.run.out is not None and who == "model" and seed == self.run.seed:
                self._keep(series, specs)
            return {
                "marks": marks, "label_marks": label_marks,
                "weights": series.mixing().detach().double().cpu().numpy(),
                "gammas": series.gamma.detach().double().cpu().numpy(), "dev": training.best, "forced": forced,
            }  # fmt: skip

        arrays = self.run.once_arrays(f"series-{who}-{seed}", train)
        if not trained_now:
            self.run.progress.note(f"the probes of {SAID[who]} with seed {seed} are trained already")
        if self.run.out is not None and trained_now:
            clear_arrays(self.checkpoint)
        if options["singles"]:
            more = self.run.once_arrays(f"linear-{who}-{seed}", lambda: self._train_linear(who, seed))
            arrays = {name: np.concatenate([arrays[name], more[name]]) for name in _ARRAYS}
            specs += tuple(dict.fromkeys(linear.linear_specs(self.mixable.origins)))
        if self.run.out is not None:
            clear_arrays(self.checkpoint)
        trained = Trained(who, seed, specs, **{name: arrays[name] for name in _ARRAYS})
        return trained if self._one_label() else trained._replace(forced=None)

    def _train_linear(self, who: str, seed: int) -> dict[str, NDArray[Any]]:
        """A linear probe of each layer, of the strength that is best on the validation part."""
        specs, train = linear.linear_specs(self.mixable.origins), self.edges.layouts["train"]
        reader, mixable = self._reader(who, seed, ("gold",))
        allowed, labels = allowed_for(specs, mixable.origins), len(self.edges.known.names)
        series = linear.LinearSeries(allowed, mixable.size, labels, paired=train.paired).to(self.run.subject.device)
        progress, pieces = self.run.progress, int(train.rows[-1])
        progress.start(f"{len(specs)} linear probes, {SAID[who]}, seed {seed}", pieces * len(set(specs)))
        try:
            linear.solve(series, reader, seed, lambda layers: progress.advance(layers * pieces))
        finally:
            progress.finish()
        training = Training(series, specs, reader, Schedule(seed=seed))
        dev = METRICS["f1"].score(training.marks("dev").by_sentence)
        chosen = linear.best_of(specs, dev)
        seen = allowed_for(specs, self.mixable.origins).double().numpy()[chosen]
        marks = training.marks("test")
        return {
            "marks": marks.by_sentence[chosen], "label_marks": marks.by_label[chosen], "forced": marks.forced[chosen],
            "weights": seen / seen.sum(1, keepdims=True), "gammas": np.ones(len(chosen)),
            "dev": dev[chosen],
        }  # fmt: skip

    def _one_label(self) -> bool:
        """Whether every edge to train on has one label out of all."""
        train, table = self.edges.layouts["train"], self.edges.known.table()
        return bool((table[train.labels].sum(1) == 1).all() and table[train.among].all())

    def _reader(self, who: str, seed: int, kinds: Sequence[str]) -> tuple[Reader, Mixable]:
        """What reads the states of the model or a twin, which are captured unless they are there."""
        run, layouts = self.run, self.edges.layouts
        states, self.scales, mixable = self._states(who, seed)
        answers = Answers(layouts, self.edges.known, seed)
        reader = Reader(
            layouts, answers, states, mixable, self.scales.tolist(), pieces=run.options["step_pieces"],
            lengths=run.options["lengths"], kinds=kinds, device=run.subject.device,
        )  # fmt: skip
        return reader, mixable

    def leave(self) -> None:
        """Give back the room that captured states take, and the twin that they are of."""
        for named in self.captured:
            self.run.give_back(self.folder / named)
        self.captured.clear()
        self.lent.close()

    def put_away(self) -> None:
        """Put the probes where they are found by their name, and give back all room on disk."""
        if self.run.out is not None:
            (self.run.out / PROBES).replace(self.run.out / kept.FILE)
            clear_arrays(self.checkpoint)
        self.run.give_back(self.folder)

    def tables(self, trained: Sequence[Trained]) -> dict[str, dict[str, list[Any]]]:
        """What the result consists of."""
        known, layouts = self.edges.known, self.edges.layouts
        table = known.table()
        counts = {name: table[layout.labels].sum(0).tolist() for name, layout in layouts.items()}
        return tables_of(
            self.run.options["task"], trained, self.mixable.origins, known.names, counts["train"], counts["test"],
            majority(layouts, known), self.run.seed, layouts["test"].units,
        )  # fmt: skip

    def count(self, divided: str) -> None:
        """Tell the manifest of the texts."""
        layouts = self.edges.layouts
        about = {
            "name": self.run.corpus.name,
            "parts": {
                name: {"sentences": layout.sentences, "edges": len(layout.spans)} for name, layout in layouts.items()
            },
            "unit": self.edges.unit,
            "units": len(set(layouts["test"].units)),
            "labels": len(self.edges.known.names),
            "unseen": self.edges.unseen,
            "types_known": known_types(layouts),
            "store_bytes": self.bytes,
            "epochs": self.epochs,
        }
        self.run.counts |= {
            "passages": sum(layout.sentences for layout in layouts.values()),
            "pieces": sum(example.length for layout in layouts.values() for example in layout.examples),
            "tasks": {self.run.options["task"]: about | ({"divided": divided} if divided else {})},
        }

    def _training(self, who: str, seed: int, specs: tuple[Spec, ...]) -> Training[Series]:
        run, layouts, options = self.run, self.edges.layouts, self.run.options
        reader, mixable = self._reader(who, seed, tuple(dict.fromkeys(spec.labels for spec in specs)))
        series = Series(
            allowed_for(specs, mixable.origins), mixable.size, len(self.edges.known.names),
            paired=layouts["train"].paired, seed=seed,
        ).to(run.subject.device)  # fmt: skip
        schedule = Schedule(self.epochs, options["learning_rate"], options["mixing_rate"], seed)
        training = Training(series, specs, reader, schedule)
        whose = {"plan": run.plan.to_dict(), "who": who, "seed": seed}
        if run.resume and (earlier := load_arrays(self.checkpoint)) and earlier[1]["whose"] == whose:
            training.restore(earlier[0], earlier[1]["numbers"])
            run.progress.note(f"resuming after {training.epoch} of {schedule.epochs} epochs")
        pieces = int(layouts["train"].rows[-1])
        name = f"{len(specs)} probes, {SAID[who]}, seed {seed}"
        run.progress.start(name, pieces * schedule.epochs, pieces * training.epoch)
        saved = time.monotonic()
        try:
            while not training.finished:
                losses, scores = training.run_epoch(run.progress.advance)
                best = 100 * max(score for score, spec in zip(scores, specs, strict=True) if spec.labels == "gold")
                run.progress.note(
                    f"epoch {training.epoch} of {schedule.epochs}: loss {losses.mean():.3f}, best validation F1 "
                    f"{best:.1f}"
                )
                if run.out is not None and time.monotonic() - saved >= run.checkpoint_every:
                    arrays, numbers = training.state()
                    save_arrays(self.checkpoint, arrays, {"whose": whose, "numbers": numbers})
                    saved = time.monotonic()
        finally:
            run.progress.finish()
        training.take_best()
        return training

    def _states(self, who: str, seed: int) -> tuple[States, NDArray[np.float64], Mixable]:
        """The states of the model or of the twin of a seed, captured unless they are there, and how long they usually
        are."""
        run = self.run
        named = who if who == "model" or seed == run.seed else f"{who}-{seed - run.seed + 1}"
        if named in self.captured:
            return self.captured[named]
        part = f"states-{named}"
        mixable = self.mixable
        if who == "twin":
            mixable = Mixable(self.lent.enter_context(run.untrained(seed - run.seed)), self.mixable.over)
        made_for = {"plan": without_budget(run.plan.to_dict()), "who": named}
        states = States(self.folder / named, self.edges.layouts, mixable.room, made_for)
        items = items_of(self.edges.layouts)
        if states.kept and not states.as_written(items):
            run.progress.note("the states of the earlier run have changed on the disk, and are made again")
            states.begin_again()
        if run.out is not None and not states.kept:  # what was written is gone: begin again
            checkpoint_file(run.out, part).unlink(missing_ok=True)
        bundle = run.carry(Writer(mixable, states), items, part, lengths=[item.example.length for item in items])
        states.finish()
        self.captured[named] = states, scales_of(bundle), mixable
        return self.captured[named]

    def _keep(self, series: Series, specs: Sequence[Spec]) -> None:
        run = self.run
        about = {
            "task": run.options["task"], "labels": list(self.edges.known.names), "model": run.subject.describe(),
            "over": self.mixable.over, "lengths": run.options["lengths"],
        }  # fmt: skip
        assert run.out is not None
        kept.keep(run.out / PROBES, series, specs, self.mixable.origins, self.scales.tolist(), about)
