"""Parsing from attention as one call: capture features to disk, train the probes on them, hand back the result.

A run has four parts, each resumable: the model's features, its probes, the untrained twin's features, its probes.
The features of the model are deleted before those of the twin are written, unless they are to be kept.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import CorpusError, PlanError
from attlas.run.local import carry_out
from attlas.run.parts import parts_of
from attlas.run.progress import Progress, Silent
from attlas.run.setting import BUDGET, Setting, Texts, as_corpus, as_subject, draw
from attlas.store import Result, load_checkpoint
from attlas.store.checkpoint import checkpoint_file

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.models import Example
    from attlas.probes.files import Features, Room
    from attlas.probes.parse import Job
    from attlas.probes.training import Schedule
    from attlas.probes.trees import Part
    from attlas.probes.vectors import Vectors
    from attlas.stats import Bundle

LONGEST = 128
KEPT, HIDDEN = "features", ".features"


def parse(
    subject: Subject | str | None = None,
    treebank: Texts = "sample",
    *,
    dev: Texts | None = None,
    test: Texts | None = None,
    vectors: str | Path = "input",
    measure: str = "weight",
    max_pieces: int | None = None,
    limit: int | None = None,
    structural: bool = True,
    rank: int = 64,
    epochs: int = 30,
    patience: int = 3,
    max_disk: float = 8.0,
    keep_features: bool = False,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Train probes that read dependency trees off a model's attention, and score them beside baselines.

    ``treebank`` is trained on; without ``dev`` and ``test`` it is divided by article. ``vectors`` is a file of word
    vectors, or "input" for the model's own input embeddings. ``measure`` is what the probes on attention read: weight
    or norm. ``limit`` keeps so many sentences of each part, drawn by ``seed``. Features go to disk, at most
    ``max_disk`` GB at a time, into ``out`` or a temporary folder; they are deleted at the end unless
    ``keep_features``. ``structural`` says whether states are captured too, for the structural probe of ``rank``
    dimensions.

    >>> result = parse(limit=4, epochs=1, structural=False)
    >>> result.table.column("probe").to_pylist()[3:5]
    ['attention', 'attention + vectors']
    """
    from attlas.capture.measuring import require_measure
    from attlas.probes.parse import jobs_for
    from attlas.probes.tables import tables
    from attlas.probes.training import Schedule
    from attlas.probes.vectors import digest

    for name, value in (("epochs", epochs), ("patience", patience), ("rank", rank)):
        if value < 1:
            raise PlanError(f"{name} must be at least 1, and {value} was given")
    model = as_subject(subject)
    given = {name: as_corpus(c) for name, c in (("train", treebank), ("dev", dev), ("test", test)) if c is not None}
    for corpus in given.values():
        require_trees(corpus)
    pieces = max_pieces or min(model.pieces.window, LONGEST)
    options = {
        "vectors": "input" if vectors == "input" else Path(vectors).name, "vectors_sha256": digest(str(vectors)),
        "measure": require_measure(model, measure), "max_pieces": pieces, "limit": limit, "structural": structural,
        "rank": rank, "epochs": epochs, "patience": patience,
    }  # fmt: skip
    more = {name: corpus for name, corpus in given.items() if name != "train"}
    setting = Setting("parse", model, given["train"], options, seed, budget, None if out is None else Path(out), more)
    setting.require_free(resume=resume)
    if resume and out is None:
        raise PlanError("resuming needs the folder of the interrupted run; give it with --out")
    corpora, said = parts_of(given, seed)
    sentences = _Sentences.read(model, corpora, pieces, limit, seed)
    schedule = Schedule(epochs=epochs, patience=patience, seed=seed)
    work = _Work(setting, sentences, str(vectors), schedule, rank, resume, checkpoint_every, progress or Silent())
    if said:
        work.progress.note(said)
    with ExitStack() as stack:
        if setting.out is None:
            work.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attlas-")))
        else:
            work.folder = setting.out / HIDDEN
            if resume and not work.folder.exists() and (setting.out / KEPT).exists():
                (setting.out / KEPT).rename(work.folder)
        work.prepare(max_disk, structural=structural, keep=keep_features)
        bundles = []
        for twin in (False, True):
            bundles.append(work.train(jobs_for(twin=twin, structural=structural), twin=twin, keep=keep_features))
        stream = model.pieces.own
        found = tables(bundles, work.relations, stream.value, model.shape(stream))
        result = setting.finish(found, counts=work.counts(said), skipped=sentences.skipped)
        if setting.out is not None:
            if keep_features:
                shutil.rmtree(setting.out / KEPT, ignore_errors=True)
                work.folder.rename(setting.out / KEPT)
            else:
                shutil.rmtree(work.folder, ignore_errors=True)
    return result


def require_trees(corpus: Corpus) -> None:
    """Refuse a corpus without governors.

    >>> from attlas.text import Document
    >>> require_trees(as_corpus([Document.from_text("It rained.")]))
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: documents: it has no governors (dependency trees), which parsing needs; ...
    """
    if "governors" not in corpus.annotations:
        raise CorpusError(
            f"it has no governors (dependency trees), which parsing needs; give a treebank in CoNLL-U format "
            f"(this was read as {corpus.format})",
            file=corpus.name,
        )


@dataclass(frozen=True)
class _Sentences:
    """The sentences of all parts, cut into pieces, with their trees."""

    examples: Mapping[str, Sequence[Example]]
    parts: Sequence[Part]
    skipped: Counter[str]

    @classmethod
    def read(
        cls, model: Subject, corpora: Mapping[str, Corpus], pieces: int, limit: int | None, seed: int
    ) -> _Sentences:
        from attlas.capture.reading import read_documents
        from attlas.probes.trees import UNKNOWN, Part, tree_of

        examples: dict[str, list[Example]] = {}
        parts = []
        skipped: Counter[str] = Counter()
        for name, corpus in corpora.items():
            documents = [d for d in corpus.sentences().documents if d.governors is not None]
            reading = draw(read_documents(model, documents, limit=pieces, long="skip"), limit, seed)
            trees = [tree_of(example) for example in reading.examples]
            kept = [place for place, tree in enumerate(trees) if any(tree.scored)]
            reading.skipped["sentences without a word to score"] += len(trees) - len(kept)
            if not kept:
                raise CorpusError(f"no sentence of its {name} part has a word to score", file=corpus.name)
            reading.skipped["words whose governor is not known or has no piece"] += sum(
                governor == UNKNOWN for place in kept for governor in trees[place].governors
            )
            examples[name] = [reading.examples[place] for place in kept]
            parts.append(Part.of(name, [trees[place] for place in kept]))
            skipped += reading.skipped
        return cls(examples, parts, skipped)


@dataclass
class _Work:
    """One run on its way: what is read, where features lie, and how far it has come."""

    setting: Setting
    sentences: _Sentences
    source: str
    schedule: Schedule
    rank: int
    resume: bool
    checkpoint_every: float
    progress: Progress
    folder: Path = Path()

    def prepare(self, max_disk: float, *, structural: bool, keep: bool) -> None:
        """Find the vectors, and see that the features will have room."""
        from attlas.probes.files import check_room, size_of
        from attlas.probes.trees import number_relations
        from attlas.probes.vectors import find_vectors
        from attlas.probes.writing import room_for

        sentences, model = self.sentences, self.setting.subject
        self.vectors: Vectors = find_vectors(self.source, model, sentences.parts, sentences.examples)
        self.relations = number_relations(sentences.parts)
        self.room: Room = room_for(model, states=structural)
        times = 2 if keep else 1
        needed = {kind: times * count for kind, count in self.room.bytes(sentences.parts).items()}
        known = 100 * self.vectors.known / self.vectors.total
        self.progress.note(
            f"{self.vectors.name}: vectors of {self.vectors.size} numbers for {known:.1f} % of the words"
        )
        there = sum(file.stat().st_size for file in self.folder.rglob("*.bin"))
        check_room(self.folder, needed, max_disk, there)
        count = sum(part.sentences for part in sentences.parts)
        self.progress.note(f"features of {count:,} sentences take {size_of(sum(needed.values()))} on disk")

    def train(self, jobs: Sequence[Job], *, twin: bool, keep: bool) -> Bundle:
        """Capture the features of the model or of its twin, and train the probes on them."""
        from attlas.probes.parse import Trainer

        part = "probes-untrained" if twin else "probes"
        out, model = self.setting.out, self.setting.subject
        trained = 0
        if out is not None and self.resume and (checkpoint := load_checkpoint(out, part)):
            trained = int(checkpoint.progress["batches"])
            self.progress.note(f"{trained} of {len(jobs)} probes are trained already")
        features = self._features(twin) if trained < len(jobs) else None
        trainer = Trainer(
            jobs, {part.name: part for part in self.sentences.parts}, features, self.vectors, self.relations,
            self.schedule, model.shape(model.pieces.own), self.room.layers, self.rank, model.device,
            self.progress.note,
        )  # fmt: skip
        bundle = carry_out(
            trainer, jobs, list(range(len(jobs), 0, -1)), self.setting.plan, part=part, out=out,
            resume=self.resume and out is not None, budget=1, max_items=1, checkpoint_every=0.0,
        )  # fmt: skip
        if features is not None and not keep:
            features.delete()
        return bundle

    def _features(self, twin: bool) -> Features:
        from attlas.probes.files import Features
        from attlas.probes.writing import Writer, items_of

        setting, sentences = self.setting, self.sentences
        part = "features-untrained" if twin else "features"
        made_for = {"plan": setting.plan.to_dict(), "untrained": twin}
        features = Features(self.folder / ("untrained" if twin else "trained"), sentences.parts, self.room, made_for)
        if self.resume and features.finished:
            self.progress.note("the features of the earlier run are used again")
            return features
        if setting.out is not None and not features.kept and self.resume:  # what was written is gone: begin again
            checkpoint_file(setting.out, part).unlink(missing_ok=True)
        subject = setting.subject.twin(setting.seed) if twin else setting.subject
        items = [item for one in sentences.parts for item in items_of(one, sentences.examples[one.name])]
        carry_out(
            Writer(subject, features, measure=setting.plan.options["measure"]), items,
            [item.example.length for item in items], setting.plan, part=part,
            out=setting.out, resume=self.resume and setting.out is not None, budget=setting.budget,
            report_progress=self.progress, checkpoint_every=self.checkpoint_every,
        )  # fmt: skip
        features.finish()
        return features

    def counts(self, divided: str) -> dict[str, Any]:
        """What the manifest says of the texts."""
        sentences, vectors = self.sentences, self.vectors
        found: dict[str, Any] = {
            "passages": sum(part.sentences for part in sentences.parts),
            "pieces": sum(example.length for examples in sentences.examples.values() for example in examples),
            "parts": {
                part.name: {"sentences": part.sentences, "scored_words": part.scored} for part in sentences.parts
            },
            "vectors": {"name": vectors.name, "size": vectors.size, "known": vectors.known, "words": vectors.total},
        }
        return found | ({"divided": divided} if divided else {})
