"""What layers know, as one call: capture states to disk, train the series of probes on them, hand back the result.

A run goes through the model and then through its untrained twin: states first, then one series of probes for each
seed. Each of these is a part that is not repeated when the run is resumed, and a training goes on after its last
epoch. The states of the model are deleted before those of the twin are written.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.corpora import Corpus
from attlas.errors import CorpusError, PlanError
from attlas.run.local import carry_out
from attlas.run.parts import SHARES, parts_of
from attlas.run.plan import differences
from attlas.run.progress import Progress, Silent
from attlas.run.setting import BUDGET, Setting, Texts, as_corpus, as_subject, draw
from attlas.store import Result, load_checkpoint, save_checkpoint
from attlas.store.checkpoint import FOLDER as CHECKPOINT
from attlas.store.checkpoint import checkpoint_file, checkpoint_parts
from attlas.store.tensors import clear_arrays, load_arrays, save_arrays

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.models import Example
    from attlas.probes.edges.layout import Layout, Vocabulary
    from attlas.probes.edges.series import Series, Spec, Trained
    from attlas.probes.edges.states import Mixable, States
    from attlas.probes.edges.training import Training

LONGEST = 128
STATES, PROBES = ".states", ".probes.safetensors"
FORGIVEN = 0.1  # a larger share of edges with labels that training has never seen is refused
_ARRAYS = ("marks", "label_marks", "weights", "gammas", "dev")


def layers(
    task: str,
    data: Texts | Mapping[str, Corpus],
    subject: Subject | str | None = None,
    *,
    dev: Texts | None = None,
    test: Texts | None = None,
    over: str = "layers",
    lengths: str | None = None,
    singles: bool = True,
    control: bool = True,
    twin: bool = True,
    seeds: int = 1,
    epochs: int | None = None,
    rate: float = 1e-3,
    mixing_rate: float = 2e-2,
    step_pieces: int = 128,
    max_pieces: int | None = None,
    limit: int | None = None,
    max_disk: float = 8.0,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Probe every layer of a model for what it knows of labelled spans.

    ``task`` is one of the eight of the paper, or "spans" for a file of one's own; ``data`` is the training part (or
    all parts, see :func:`edge_parts`), ``dev`` the part that epochs are chosen by and ``test`` the one that is scored
    on; parts that are not given are taken from ``data``. ``over`` says what is mixed, states of layers or outputs of
    heads; ``lengths`` by which length they are divided before, the usual one of their layer or their own (None: their
    own where norms come before layers). ``singles`` adds probes of one layer each, ``control`` probes on control
    labels, ``twin`` the untrained twin (with the first seed). ``seeds`` series are trained, with this seed and the
    next ones, for ``epochs`` passes over the training part (None: as many as make about 1500 steps of ``step_pieces``
    pieces, 5 to 30).

    >>> from attlas.corpora import read
    >>> result = layers("pos", read("sample"), limit=20, epochs=1, control=False, twin=False)
    >>> sorted(result.tables)
    ['labels', 'scores', 'tasks', 'weights']
    """
    from attlas.probes.edges.states import LENGTHS, OVER, lengths_for

    if over not in OVER:
        raise PlanError(f"{over!r} cannot be mixed; choose one of {', '.join(OVER)}")
    if lengths not in (None, *LENGTHS):
        raise PlanError(f"states cannot be divided by {lengths!r} lengths; choose one of {', '.join(LENGTHS)}")
    for name, value in (("epochs", 1 if epochs is None else epochs), ("seeds", seeds), ("step pieces", step_pieces)):
        if value < 1:
            raise PlanError(f"{name} must be at least 1, and {value} was given")
    for name, speed in (("rate", rate), ("mixing rate", mixing_rate)):
        if not speed > 0:
            raise PlanError(f"the {name} must be above 0, and {speed:g} was given")
    given = data if isinstance(data, Mapping) else edge_parts(task, data, dev=dev, test=test, seed=seed)
    model = as_subject(subject)
    pieces = max_pieces or min(model.pieces.window, LONGEST)
    options = {
        "task": task, "over": over, "lengths": lengths or lengths_for(model, over), "singles": singles,
        "control": control, "twin": twin, "seeds": seeds,
        "epochs": epochs, "rate": rate, "mixing_rate": mixing_rate, "step_pieces": step_pieces, "max_pieces": pieces,
        "limit": limit,
    }  # fmt: skip
    more = {name: corpus for name, corpus in given.items() if name != "train"}
    setting = Setting(
        "layers", model, given["train"], options, seed, budget, None if out is None else Path(out), more
    )
    setting.require_free(resume=resume)
    if resume and out is None:
        raise PlanError("resuming needs the folder of the interrupted run; give it with --out")
    corpora, said = parts_of(given, seed)
    with ExitStack() as stack:
        if setting.out is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attlas-")))
        else:
            folder = setting.out
        if not resume and (parts := checkpoint_parts(folder)):
            raise PlanError(
                f"{checkpoint_file(folder, parts[0])}: an earlier run was interrupted here; go on with --resume, or "
                "delete this file"
            )
        work = _Work(setting, folder, resume, checkpoint_every, progress or Silent())
        if said:
            work.progress.note(said)
        work.read(corpora, pieces, limit)
        work.make_room(max_disk)
        trained = [work.train("trained", seed + k) for k in range(seeds)]
        work.leave("trained")
        if twin:
            trained.append(work.train("untrained", seed))
            work.leave("untrained")
        result = setting.finish(work.tables(trained), counts=work.counts(said), skipped=work.skipped)
        if setting.out is not None:
            from attlas.probes.edges.kept import FILE

            (setting.out / PROBES).replace(setting.out / FILE)
            clear_arrays(work.checkpoint)
            shutil.rmtree(setting.out / STATES, ignore_errors=True)
    return result


def edge_parts(
    task: str,
    data: Texts,
    *,
    dev: Texts | None = None,
    test: Texts | None = None,
    splits: Path | str | None = None,
    seed: int = 0,
) -> dict[str, Corpus]:
    """The parts of a task's data that are known, with their edges: "train", and "dev" and "test" where they are given
    or ``data`` comes divided, by its files' names or by a file of ``splits``.

    >>> list(edge_parts("pos", "sample"))
    ['train']
    """
    from attlas.corpora import edges_in, read_edge_parts, read_edges

    if isinstance(data, (str, Path)):
        parts = read_edge_parts(task, data, splits=splits, seed=seed)
    else:
        parts = {"train": edges_in(task, as_corpus(data), seed)}
    for name, texts in (("dev", dev), ("test", test)):
        if isinstance(texts, (str, Path)):
            parts[name] = read_edges(task, texts, seed=seed)
        elif texts is not None:
            parts[name] = edges_in(task, as_corpus(texts), seed)
    if "train" not in parts:
        raise CorpusError(f"there is no part to train on here, only {', '.join(parts)}", file=str(data))
    return {name: parts[name] for name in SHARES if name in parts}


@dataclass
class _Work:
    """One run on its way: what is read, where states lie, and how far it has come."""

    setting: Setting
    folder: Path
    resume: bool
    checkpoint_every: float
    progress: Progress
    captured: dict[str, tuple[States, NDArray[np.float64], Mixable]] = field(default_factory=dict)

    @property
    def checkpoint(self) -> Path:
        """Where a training that is not finished leaves its state."""
        return self.folder / CHECKPOINT / "training.safetensors"

    def read(self, corpora: Mapping[str, Corpus], pieces: int, limit: int | None) -> None:
        """Cut all parts into pieces and place their edges."""
        from attlas.capture.reading import read_documents
        from attlas.probes.edges.layout import lay_out, vocabulary_of
        from attlas.probes.edges.states import Mixable
        from attlas.probes.edges.training import epochs_for

        model, options = self.setting.subject, self.setting.options
        self.skipped: Counter[str] = Counter()
        examples: dict[str, Sequence[Example]] = {}
        for name, corpus in corpora.items():
            documents = [document for document in corpus.documents if document.edges]
            self.skipped["texts without an edge"] += len(corpus.documents) - len(documents)
            if not documents:
                raise CorpusError(f"no text of its {name} part has an edge to probe", file=corpus.name)
            reading = draw(read_documents(model, documents, limit=pieces, long="skip"), limit, self.setting.seed)
            examples[name] = reading.examples
            self.skipped += reading.skipped
        self.known: Vocabulary = vocabulary_of(examples["train"], corpora["train"].name)
        self.layouts: dict[str, Layout] = {name: lay_out(name, found, self.known) for name, found in examples.items()}
        for layout in self.layouts.values():
            self.skipped += layout.skipped
        if len({layout.paired for layout in self.layouts.values()}) > 1:
            raise CorpusError("some parts have single spans and others pairs; give parts of one kind")
        self.unseen = {name: self._unseen(name) for name in ("dev", "test")}
        self.mixable: Mixable = Mixable(model, options["over"])
        pieces_to_learn = int(self.layouts["train"].rows[-1])
        self.epochs = options["epochs"] or epochs_for(pieces_to_learn, options["step_pieces"])

    def _unseen(self, part: str) -> dict[str, int]:
        """Labels that training never saw, counted; refused where there are many."""
        layout = self.layouts[part]
        counts = Counter(
            label
            for example in layout.examples
            for edge in example.passage.first.edges or ()
            for label in edge.labels
            if label not in self.known.numbers
        )
        if not counts:
            return {}
        named = ", ".join(repr(label) for label, _ in counts.most_common(3)) + (" ..." if len(counts) > 3 else "")
        edges, touched = len(layout.labels), int((self.known.unknown()[layout.labels] > 0).sum())
        if touched > FORGIVEN * edges:
            raise CorpusError(
                f"{touched:,} of the {edges:,} edges of the {part} part have labels that training has never seen "
                f"({named}); give parts of one data set, or more to train on"
            )
        self.progress.note(
            f"{touched:,} of {edges:,} edges of the {part} part have labels that training has never seen ({named}); "
            "they count as missed"
        )
        return dict(counts.most_common())

    def make_room(self, most: float) -> None:
        """See that the states will fit, and say how large they are, before the model runs."""
        from attlas.probes.files import check_room, size_of

        needed = {name: self.mixable.room.bytes(int(layout.rows[-1])) for name, layout in self.layouts.items()}
        there = sum(file.stat().st_size for file in (self.folder / STATES).rglob("*.bin"))
        check_room(self.folder, needed, most, there, what="states", less="--limit, --max-pieces")
        self.bytes = sum(needed.values())
        edges = sum(len(layout.spans) for layout in self.layouts.values())
        self.progress.note(
            f"{edges:,} edges with {len(self.known.names)} labels; states take {size_of(self.bytes)} on disk"
        )

    def train(self, model: str, seed: int) -> Trained:
        """The series of one model and seed: from an earlier run, or trained now."""
        from attlas.probes.edges.series import Trained, specs_for

        options, plan = self.setting.options, self.setting.plan
        part = f"series-{model}-{seed}"
        specs = specs_for(self.mixable.origins, singles=options["singles"], control=options["control"])
        if self.resume and (earlier := load_checkpoint(self.folder, part)):
            changed = "; ".join(differences(earlier.plan, plan))
            if changed:
                raise PlanError(
                    f"{checkpoint_file(self.folder, part)}: this checkpoint has another plan ({changed}); go back to "
                    "it, or delete this file"
                )
            self.progress.note(f"the probes of the {model} model with seed {seed} are trained already")
            return Trained(model, seed, specs, **{name: earlier.state[name] for name in _ARRAYS})
        began = time.monotonic()
        training = self._training(model, seed, specs)
        marks, label_marks = training.marks("test")
        series = training.series
        trained = Trained(
            model, seed, specs, marks, label_marks, series.mixing().detach().double().cpu().numpy(),
            series.gamma.detach().double().cpu().numpy(), training.best,
        )  # fmt: skip
        if self.setting.out is not None:
            if model == "trained" and seed == self.setting.seed:
                self._keep(series, specs)
            state: dict[str, NDArray[Any]] = {name: getattr(trained, name) for name in _ARRAYS}
            save_checkpoint(self.folder, plan.to_dict(), state, {"seconds": time.monotonic() - began}, part)
            clear_arrays(self.checkpoint)
        return trained

    def leave(self, model: str) -> None:
        """Give back the room that a model's states take."""
        self.captured.pop(model, None)
        shutil.rmtree(self.folder / STATES / model, ignore_errors=True)

    def _training(self, model: str, seed: int, specs: tuple[Spec, ...]) -> Training:
        from attlas.probes.edges.layout import Answers
        from attlas.probes.edges.reading import Reader
        from attlas.probes.edges.series import Series, allowed_for
        from attlas.probes.edges.training import Schedule, Training

        states, scales, mixable = self._states(model)
        options, device, plan = self.setting.options, self.setting.subject.device, self.setting.plan.to_dict()
        self.scales = scales
        kinds = tuple(dict.fromkeys(spec.labels for spec in specs))
        reader = Reader(
            self.layouts, Answers(self.layouts, self.known, seed), states, mixable, scales.tolist(),
            pieces=options["step_pieces"], lengths=options["lengths"], kinds=kinds, device=device,
        )  # fmt: skip
        series = Series(
            allowed_for(specs, mixable.origins),
            mixable.size,
            len(self.known.names),
            paired=self.layouts["train"].paired,
            seed=seed,
        ).to(device)
        schedule = Schedule(self.epochs, options["rate"], options["mixing_rate"], seed)
        training = Training(series, specs, reader, schedule)
        whose = {"plan": plan, "model": model, "seed": seed}
        if self.resume and (earlier := load_arrays(self.checkpoint)) and earlier[1]["whose"] == whose:
            training.restore(earlier[0], earlier[1]["numbers"])
            self.progress.note(f"resuming after {training.epoch} of {schedule.epochs} epochs")
        pieces = int(self.layouts["train"].rows[-1])
        self.progress.start(
            f"{len(specs)} probes, {model} model, seed {seed}", pieces * schedule.epochs, pieces * training.epoch
        )
        saved = time.monotonic()
        try:
            while not training.finished:
                losses, scores = training.run_epoch(self.progress.advance)
                best = 100 * max(score for score, spec in zip(scores, specs, strict=True) if spec.labels == "gold")
                self.progress.note(
                    f"epoch {training.epoch} of {schedule.epochs}: loss {losses.mean():.3f}, best dev F1 {best:.1f}"
                )
                if self.setting.out is not None and time.monotonic() - saved >= self.checkpoint_every:
                    arrays, numbers = training.state()
                    save_arrays(self.checkpoint, arrays, {"whose": whose, "numbers": numbers})
                    saved = time.monotonic()
        finally:
            self.progress.finish()
        training.take_best()
        return training

    def _states(self, model: str) -> tuple[States, NDArray[np.float64], Mixable]:
        """The states of the model or of its twin, captured unless they are there, and how long they usually are."""
        from attlas.probes.edges.states import Mixable, States, Writer, items_of, scales_of

        if model in self.captured:
            return self.captured[model]
        setting, part = self.setting, f"states-{model}"
        if model == "untrained":
            mixable = Mixable(setting.subject.twin(setting.seed), self.mixable.over)
        else:
            mixable = self.mixable
        made_for = {"plan": setting.plan.to_dict(), "model": model}
        states = States(self.folder / STATES / model, self.layouts, mixable.room, made_for)
        if setting.out is not None and not states.kept:  # what was written is gone: begin again
            checkpoint_file(setting.out, part).unlink(missing_ok=True)
        items = items_of(self.layouts)
        bundle = carry_out(
            Writer(mixable, states), items, [item.example.length for item in items], setting.plan, part=part,
            out=setting.out, resume=self.resume and setting.out is not None, budget=setting.budget,
            report_progress=self.progress, checkpoint_every=self.checkpoint_every,
        )  # fmt: skip
        states.finish()
        self.captured[model] = states, scales_of(bundle), mixable
        return self.captured[model]

    def _keep(self, series: Series, specs: Sequence[Spec]) -> None:
        from attlas.probes.edges.kept import keep

        described = self.setting.subject.describe()
        about = {
            "task": self.setting.options["task"], "labels": list(self.known.names), "model": described,
            "over": self.mixable.over, "lengths": self.setting.options["lengths"],
        }  # fmt: skip
        keep(self.folder / PROBES, series, specs, self.mixable.origins, self.scales.tolist(), about)

    def tables(self, trained: Sequence[Trained]) -> dict[str, dict[str, list[Any]]]:
        """What the result consists of."""
        from attlas.probes.edges.layout import majority
        from attlas.probes.edges.tables import tables_of

        table = self.known.table()
        counts = {name: table[layout.labels].sum(0).tolist() for name, layout in self.layouts.items()}
        return tables_of(
            self.setting.options["task"], trained, self.mixable.origins, self.known.names, counts["train"],
            counts["test"], majority(self.layouts, self.known), self.setting.seed,
        )  # fmt: skip

    def counts(self, divided: str) -> dict[str, Any]:
        """What the manifest says of the texts."""
        from attlas.probes.edges.layout import known_types

        task = self.setting.options["task"]
        about = {
            "name": self.setting.corpus.name,
            "parts": {
                name: {"sentences": layout.sentences, "edges": len(layout.spans)}
                for name, layout in self.layouts.items()
            },
            "labels": len(self.known.names),
            "unseen": self.unseen,
            "types_known": known_types(self.layouts),
            "store_bytes": self.bytes,
            "epochs": self.epochs,
        }
        return {
            "passages": sum(layout.sentences for layout in self.layouts.values()),
            "pieces": sum(example.length for layout in self.layouts.values() for example in layout.examples),
            "tasks": {task: about | ({"divided": divided} if divided else {})},
        }
