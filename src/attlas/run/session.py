"""A run: who is studied, on what, with which options, written where; and all that a study asks for on its way.

:func:`begin` opens a run and refuses a folder that is not free before any work is done. A :class:`Run` then reads and
draws texts, carries parts out on an engine with a checkpoint each, keeps the outcome of single steps so that a
resumed run does not repeat them, lends room on disk, and writes the result with its manifest. A study says what it
sums and what tables it makes of that; everything about running is here.
"""

from __future__ import annotations

import math
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attlas.corpora import Corpus
from attlas.errors import PlanError
from attlas.run.baseline import AFTER, BESIDE, NONE, require_one_process, without_twins
from attlas.run.blocks import Blocks, InBlocks
from attlas.run.course import Keeping
from attlas.run.engine import Engine, Part
from attlas.run.given import NAMED
from attlas.run.journal import item_by_item, journal_file
from attlas.run.local import LOCAL
from attlas.run.memory import is_out_of_memory, no_memory
from attlas.run.parameters import Running
from attlas.run.plan import Plan, require_resumable
from attlas.run.portions import Merged, PartOf, Unmerged
from attlas.run.progress import Progress, Silent
from attlas.run.setting import as_corpus, as_subject, describe, usual_budget
from attlas.run.source import Listed, Source
from attlas.run.spreading import Ended, engine_for
from attlas.store import Manifest, Result, require_free, seconds_worked, versions_here
from attlas.store.checkpoint import (
    FOLDER,
    checkpoint_file,
    checkpoint_parts,
    clear_leftovers,
    forget_plan,
    keep_plan,
    kept_plan,
    load_checkpoint,
    save_checkpoint,
)
from attlas.store.folder import MANIFEST, finish_up, locate
from attlas.store.lock import holding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.corpora.streaming import StreamedCorpus
    from attlas.run.streamed import StreamedReading
    from attlas.stats import Bundle

Made = TypeVar("Made")
Passages = TypeVar("Passages", bound="Reading | StreamedReading")
_Kept = tuple["Mapping[str, NDArray[Any]]", Mapping[str, Any]]  # what a checkpoint keeps of a step


@dataclass
class Run:
    """One run of one study, on its way.

    ``more`` are further corpora that decide the numbers (say, the one heads are chosen on); ``out`` is the folder of
    the result, None where it stays in memory; ``skipped`` counts what was left out and why, ``counts`` what was read.

    >>> with begin("toy", _bundled(), _sample(), {"depth": 2}, {"seed": 7}) as run:
    ...     run.plan.seed, run.plan.options["depth"]
    (7, 2)
    """

    study: str
    subject: Subject
    corpus: Corpus | StreamedCorpus
    options: Mapping[str, Any]
    seed: int
    budget: int
    out: Path | None
    resume: bool
    checkpoint_every: float
    progress: Progress
    more: Mapping[str, Corpus | StreamedCorpus] = field(default_factory=dict)
    engine: Engine = LOCAL
    skipped: Counter[str] = field(default_factory=Counter)
    counts: dict[str, Any] = field(default_factory=dict)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0.0
    twin: str = BESIDE
    _room: ExitStack = field(default_factory=ExitStack)
    _streamed: list[tuple[StreamedReading, str]] = field(default_factory=list)
    _elsewhere: float = 0.0
    _unmerged: bool = False
    item_by_item = item_by_item

    @contextmanager
    def held(self) -> Iterator[None]:
        """The run's folder for itself, locked against other runs; going on from another plan is refused.

        >>> with begin("toy", _bundled(), _sample(), {}) as run, run.held():
        ...     run.out is None
        True
        """
        if self.out is None:
            yield
            return
        with holding(self.out) as stale:
            if stale is not None:
                self.progress.note(stale)
            earlier = kept_plan(self.out) if self.resume else None
            if earlier is not None:
                require_resumable(self.out / FOLDER, earlier, self.plan, resume=True, other_budget=True)
            try:
                yield
            finally:
                with suppress(OSError):
                    forget_plan(self.out)

    def note_plan(self) -> None:
        """Write down what is begun here, once it is known that the folder is free, and remove what killed runs have
        left of files that they were writing.

        >>> with begin("toy", _bundled(), _sample(), {}) as run:
        ...     run.note_plan()
        """
        if self.out is not None:
            clear_leftovers(self.out)
            keep_plan(self.out, self.plan.to_dict())

    @property
    def plan(self) -> Plan:
        """All that decides the numbers."""
        corpora = describe(self.corpus) | {name: describe(corpus) for name, corpus in self.more.items()}
        version = versions_here()["attlas"]
        batching = {"budget": self.budget} | (
            {"part": str(self.engine.share)} if isinstance(self.engine, PartOf) else {}
        )
        return Plan(self.study, self.options, self.subject.describe(), corpora, batching, self.seed, version)

    def twins(self, count: int = 1) -> Iterator[tuple[str, Subject]]:
        """The model and so many untrained twins of other random weights each, with what their parts are called by.

        >>> with begin("toy", _bundled(), _sample(), {}) as run:
        ...     [name for name, _ in run.twins(2)]
        ['', 'untrained ', 'untrained 2 ']
        """
        yield "", self.subject
        with self.baseline(count) as twins:
            for number in twins:
                with self.untrained(number) as twin:
                    yield "untrained " if number == 0 else f"untrained {number + 1} ", twin
        if self._unmerged:
            raise Unmerged

    @contextmanager
    def baseline(self, count: int, of: Subject | None = None) -> Iterator[range]:
        """The numbers of so many twins, for a ``with`` block in which they are made one by one (:meth:`untrained`);
        none where none are asked for. Where they come after the model, its weights (or those ``of`` another) are let
        go of for that long.

        >>> with begin("toy", _bundled(), _sample(), {}, twin="none") as run, run.baseline(3) as twins:
        ...     list(twins)
        []
        """
        model = of or self.subject
        if self.twin == NONE or not count:
            yield range(0)
        elif self.twin == BESIDE or model.block is not None:  # of a model whose layers are streamed little is there
            yield range(count)
        else:
            from attlas.models.letting_go import let_go, require_loose

            require_loose(model.name, model.model)
            self.progress.note(f"the weights of {model.name} are let go of; its untrained twins come next")
            with model.seam.alone(), let_go(model.name, model.model, self.out):
                yield range(count)

    @contextmanager
    def untrained(self, number: int, of: Subject | None = None) -> Iterator[Subject]:
        """One of the twins, for a ``with`` block; where they come after the model, it is let go of at its end.

        >>> with begin("toy", _bundled(), _sample(), {}) as run, run.untrained(0) as twin:
        ...     twin.name
        'untrained all-MiniLM-L6-v2'
        """
        twin = (of or self.subject).twin(self.seed + number)
        try:
            yield twin
        finally:
            if self.twin == AFTER and twin.block is None:
                from attlas.models.letting_go import drop

                drop(twin.model)

    @contextmanager
    def as_far_as_known(self) -> Iterator[None]:
        """For the work on one of the :meth:`twins`, which does not depend on that on the others: where the run is one
        of several parts, whatever builds on all parts is left for later, and the next twin has its turn.

        >>> with begin("toy", _bundled(), _sample(), {}) as run:
        ...     with run.as_far_as_known():
        ...         1 + 1
        2
        """
        try:
            yield
        except Unmerged:
            self._unmerged = True

    def finished_before(self) -> Result | None:
        """What this very run has left already, where it is resumed although it was finished; what a kill has cut off
        at its very end is done.

        >>> with begin("toy", _bundled(), _sample(), {}) as run:
        ...     run.finished_before() is None
        True
        """
        if self.out is None or not self.resume or not locate(self.out, MANIFEST).exists():
            return None
        require_free(self.out, self.plan.to_dict())
        finish_up(self.out)
        self.progress.note(f"{self.out}: this run was finished already")
        return Result.open(self.out)

    def read(self, reading: Passages, *, into: str = "passages") -> Passages:
        """Take note of texts that were read: how many, how many pieces, and what was left out. What streams is
        counted as it is read, and noted when the run is finished.

        >>> from attlas.capture.reading import read_documents
        >>> with begin("toy", _bundled(), _sample(), {}) as run:
        ...     reading = run.read(read_documents(run.subject, run.corpus.documents[:2]))
        ...     run.counts["passages"] == len(reading.examples)
        True
        """
        from attlas.run.streamed import StreamedReading

        if isinstance(reading, StreamedReading):
            self._streamed.append((reading, into))
            return reading
        self.counts[into] = self.counts.get(into, 0) + len(reading.examples)
        if into == "passages":
            self.counts["pieces"] = self.counts.get("pieces", 0) + reading.pieces
            self.counts |= {"units": reading.units, "unit": reading.unit}  # of what was scored last
        self.skipped.update(reading.skipped)
        return reading

    def carry(
        self,
        part: Part[Any],
        items: Sequence[Any] | Reading | StreamedReading | Source[Any],
        name: str = "",
        *,
        lengths: Sequence[int] | None = None,
        numbered: bool = False,
        budget: int | None = None,
        max_items: int | None = None,
    ) -> Bundle:
        """Take items (the examples of a reading, or others with their lengths) through a part, and give its bundle.

        ``name`` tells the parts of a run apart, each of which has a checkpoint of its own. With ``numbered`` every
        item comes with its number, from 0, for parts that write something down of each. A source of batches is taken
        as it is: what is numbered, and what goes together, it has decided itself.

        >>> from attlas.stats import Bundle, PooledMean
        >>> class Lengths:
        ...     name = "lengths"
        ...     def empty(self):
        ...         return Bundle({"length": PooledMean(shape=(), blocks=1)})
        ...     def update(self, bundle, batch):
        ...         bundle["length"].update([len(text) for text in batch], 1)
        >>> with begin("toy", _bundled(), _sample(), {}) as run:
        ...     bundle = run.carry(Lengths(), ["a", "abc"], lengths=[1, 3])
        >>> bundle["length"].result().value.item()
        2.0
        """
        began = time.monotonic()
        from attlas.run.streamed import StreamedReading

        if isinstance(items, StreamedReading):
            source: Source[Any] = items.source(budget or self.budget, max_items)
        elif isinstance(items, Source):
            source = items
        else:
            examples: Sequence[Any] = getattr(items, "examples", items)  # type: ignore[arg-type]
            lengths = [item.length for item in examples] if lengths is None else lengths
            examples = list(enumerate(examples)) if numbered else examples
            source = Listed(examples, lengths, budget=budget or self.budget, max_items=max_items)
        keeping = Keeping(self.plan, name, self.out, self.resume, self.checkpoint_every, self.progress)
        if self.subject.block is not None:
            part, source = InBlocks(part), Blocks(source, self.subject.block)
        bundle = self.engine.carry_out(part, source, keeping)
        if keeping.halved:
            self.counts["batches_halved"] = self.counts.get("batches_halved", 0) + keeping.halved.total()
        self._elsewhere += time.monotonic() - began
        return bundle

    def once(self, step: str, make: Callable[[], Made]) -> Made:
        """What a step gives (something that JSON can hold): from an earlier run, or made now and kept.

        >>> with begin("toy", _bundled(), _sample(), {}) as run:
        ...     run.once("counting", lambda: {"n": 3})
        {'n': 3}
        """
        kept: Made = self._once(step, lambda: ({}, {"made": make()}))[1]["made"]
        return kept

    def once_arrays(self, step: str, make: Callable[[], Mapping[str, NDArray[Any]]]) -> Mapping[str, NDArray[Any]]:
        """The arrays that a step gives: from an earlier run, or made now and kept, as :meth:`once` does.

        >>> with begin("toy", _bundled(), _sample(), {}) as run:
        ...     run.once_arrays("weighing", dict)
        {}
        """
        return self._once(step, lambda: (make(), {}))[0]

    def _once(self, step: str, make: Callable[[], _Kept]) -> _Kept:
        """What a step gives: what an earlier run has left, unless that had another plan, or made now and kept; parts
        that are carried out meanwhile keep count of their own time."""
        if self.out is None:
            return make()
        earlier = load_checkpoint(self.out, step) if self.resume else None
        if earlier is not None:
            require_resumable(
                checkpoint_file(self.out, step), earlier.plan, self.plan, resume=True, other_budget=True
            )
            return earlier.state, earlier.progress
        began = time.monotonic() - self._elsewhere
        arrays, made = make()
        seconds = time.monotonic() - self._elsewhere - began
        save_checkpoint(self.out, self.plan.to_dict(), arrays, {**made, "seconds": seconds}, step)
        return arrays, made

    def scratch(
        self,
        name: str,
        needed: Mapping[str, int] | None = None,
        *,
        most: float = math.inf,
        what: str = "files",
        less: str = "--limit",
    ) -> Path:
        """A folder for files that are needed on the way: within the run's own, where a resumed run finds them again,
        or a temporary one; given back when the run is finished.

        Where the bytes that are ``needed`` are more than ``most`` GB, or more than the disk has, that is refused
        before anything is written; ``what`` they are and the options that make them ``less`` are said.

        >>> with begin("toy", _bundled(), _sample(), {}) as run:
        ...     room = run.scratch("states")
        ...     room.is_dir()
        True
        """
        if self.out is None:
            folder = Path(self._room.enter_context(tempfile.TemporaryDirectory(prefix="attlas-"))) / name
        else:
            folder = self.out / name
        if needed is not None:
            from attlas.probes.files import check_room, size_of_file

            present = sum(size_of_file(file) or 0 for file in folder.rglob("*.bin"))
            check_room(folder, needed, most, present, what=what, less=less)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def give_back(self, folder: Path) -> None:
        """Remove a scratch folder."""
        shutil.rmtree(folder, ignore_errors=True)

    def note_cutting(self, texts: int | Corpus | StreamedCorpus, what: str = "documents", *, many: int = 500) -> None:
        """Say that a corpus, or so many texts, are being cut into pieces, where that takes a while."""
        if not isinstance(texts, int | Corpus):
            self.progress.note(f"{texts.name} is read as it comes, {texts.buffer.told()} at a time")
            return
        count = texts if isinstance(texts, int) else len(texts.documents)
        if count > many:
            self.progress.note(f"cutting {count:,} {what} into pieces")

    def finish(self, tables: Mapping[str, Any], *, seconds: float = 0.0) -> Result:
        """The result: tables that have rows, with a manifest; saved where the run was to be written.

        ``seconds`` is how long the work has taken at least, where its parts know that better than checkpoints do.

        >>> with begin("toy", _bundled(), _sample(), {}) as run:
        ...     run.finish({"heads": {"layer": [0]}, "pos": {"layer": []}})
        Result(toy: heads with 1 rows)
        """
        if isinstance(self.engine, PartOf):
            raise Unmerged
        here = (datetime.now(UTC) - self.started).total_seconds()
        seconds = max(here, seconds, 0.0 if self.out is None else seconds_worked(self.out))
        if self._streamed:
            from attlas.run.streamed import totals

            counts, passed_over = totals(self._streamed)
            self.counts |= counts
            self.skipped += passed_over
        corpora = (self.corpus, *self.more.values())
        for drawn in (corpus.drawn for corpus in corpora if isinstance(corpus, Corpus)):
            self.skipped.update((drawn or {}).get("left_out", {}))
        left_out = [why for corpus in corpora for why in corpus.left_out]
        skipped = {f"file left out: {why}": 1 for why in left_out} | +self.skipped
        model = {**self.subject.describe(), "device": self.subject.device.type}
        documents = {"documents": len(self.corpus.documents)} if isinstance(self.corpus, Corpus) else {}
        corpus = {**self.plan.corpus, **documents, **self.counts}
        corpus["annotations"] = self.corpus.annotations
        began, plan = self.started.isoformat(timespec="seconds"), self.plan.to_dict()
        manifest = Manifest(
            self.study, plan, versions_here(), model, corpus, self.seed, skipped, began, round(seconds, 1)
        )
        filled = {name: columns for name, columns in tables.items() if next(iter(columns.values()), ())}
        result = Result(manifest, filled)
        if self.out is not None:
            result.save(self.out)
            journal_file(self.out, self.study).unlink(missing_ok=True)
        return result


@contextmanager
def begin(
    study: str,
    subject: Subject,
    corpus: Corpus | StreamedCorpus,
    options: Mapping[str, Any],
    running: Running | None = None,
    *,
    more: Mapping[str, Corpus | StreamedCorpus | None] | None = None,
    name: str = "",
    twin: str = BESIDE,
) -> Iterator[Run]:
    """Open a run; a folder that holds anything but this very run is refused at once.

    ``options`` are all options that decide the numbers, ``running`` what the call took as its bundle. A folder that
    names itself is called after the study, the model and the corpus, or ``name``. ``more`` are further corpora, by
    what they are for; those that are None were not given. ``twin`` says where untrained twins are: beside the model,
    after it, or none.

    >>> with begin("toy", _bundled(), _sample(), {}, {"resume": True}) as run:
    ...     pass
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: resuming needs the folder of the interrupted run; give it with --out
    """
    given: dict[str, Any] = {"seed": 0, "resume": False, "budget": None, "checkpoint_every": 20.0, **(running or {})}
    folder = folder_of(given.get("out"), study, subject.name, name or corpus.name)
    if given["resume"] and folder is None:
        raise PlanError("resuming needs the folder of the interrupted run; give it with --out")
    if twin == AFTER:
        require_one_process(given)
        from attlas.models.letting_go import require_loose

        require_loose(subject.name, subject.model)
    further = {each: texts for each, texts in (more or {}).items() if texts is not None}
    run = Run(
        study, subject, corpus, without_twins(options, twin), given["seed"], given["budget"] or usual_budget(subject),
        folder, given["resume"], given["checkpoint_every"], given.get("progress") or Silent(), further, twin=twin,
    )  # fmt: skip
    with engine_for(given) as run.engine, run.held(), run._room:
        if folder is not None and not run.resume:
            require_free(folder, run.plan.to_dict())
            for part in checkpoint_parts(folder):
                require_resumable(checkpoint_file(folder, part), {}, run.plan, resume=False)
        if isinstance(run.engine, PartOf | Merged):
            run.engine.require_plan(run)
        run.note_plan()
        try:
            yield run
        except Unmerged:
            assert isinstance(run.engine, PartOf | Merged)
            raise Ended(run.engine.leave(run)) from None
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise no_memory(study, run.budget, resumable=run.out is not None, twin=twin, options=options) from error


def folder_of(out: Path | str | None, *names: str) -> Path | None:
    """The folder of a result; one that names itself is called after the study, the model and the corpus.

    >>> folder_of(NAMED, "survey", "org/tiny", "a book.txt"), folder_of(None)
    (PosixPath('survey-tiny-a-book.txt'), None)
    """
    if out == NAMED:
        return Path("-".join(slug(name) for name in names))
    return None if out is None else Path(out)


def slug(name: str) -> str:
    """A name that can be part of a file's.

    >>> slug("sentence-transformers/all-MiniLM-L6-v2"), slug("wiki.txt.gz")
    ('all-MiniLM-L6-v2', 'wiki.txt')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).name).strip("-.").removesuffix(".gz") or "unnamed"


def _bundled() -> Subject:
    return as_subject(None)


def _sample() -> Corpus:
    return as_corpus("sample")
