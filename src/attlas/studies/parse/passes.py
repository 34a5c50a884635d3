"""What a run of parsing probes does: sentences with their trees, features on disk, probes trained on them.

A run has resumable parts: the model's features, its probes, and the same of each untrained twin. The features of the
model are deleted before those of a twin are written, unless they are to be kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attlas.capture import Subject
from attlas.capture.reading import read_documents
from attlas.corpora import Corpus
from attlas.errors import CorpusError
from attlas.models import Example
from attlas.probes.files import Features, Room, size_of
from attlas.probes.parse import Trainer, jobs_for
from attlas.probes.training import Schedule
from attlas.probes.trees import UNKNOWN, Part, number_relations, tree_of
from attlas.probes.vectors import Vectors, find_vectors
from attlas.probes.writing import Writer, as_written, items_of, room_for
from attlas.run.progress import Silent
from attlas.run.session import Run
from attlas.run.setting import draw
from attlas.stats import Bundle
from attlas.store import load_checkpoint
from attlas.store.checkpoint import checkpoint_file, without_budget

KEPT, HIDDEN = "features", ".features"


@dataclass(frozen=True)
class _Sentences:
    """The sentences of all parts, cut into pieces, with their trees."""

    examples: Mapping[str, Sequence[Example]]
    parts: Sequence[Part]


def read_sentences(run: Run, corpora: Mapping[str, Corpus], pieces: int, limit: int | None) -> _Sentences:
    """The sentences of all parts that have a word to score; what is left out is counted.

    >>> from attlas.run.session import begin
    >>> from attlas.run.setting import as_corpus, as_subject
    >>> with begin("parse", as_subject(None), as_corpus("sample"), {}) as run:
    ...     [part.sentences for part in read_sentences(run, {"train": run.corpus}, 64, 3).parts]
    [3]
    """
    examples: dict[str, list[Example]] = {}
    parts = []
    units: dict[str, dict[str, str | int]] = {}
    for name, corpus in corpora.items():
        whole = corpus.sentences()
        known = [place for place, document in enumerate(whole.documents) if document.governors is not None]
        articles = [whole.articles[place] for place in known]
        documents = [whole.documents[place] for place in known]
        reading = read_documents(run.subject, documents, articles=articles, limit=pieces, long="skip")
        reading = draw(reading, limit, run.seed)
        trees = [tree_of(example) for example in reading.examples]
        kept = [place for place, tree in enumerate(trees) if any(tree.scored)]
        reading.skipped["sentences without a word to score"] += len(trees) - len(kept)
        if not kept:
            raise CorpusError(f"no sentence of its {name} part has a word to score", file=corpus.name)
        reading.skipped["words whose governor is not known or has no piece"] += sum(
            governor == UNKNOWN for place in kept for governor in trees[place].governors
        )
        reading.keep(reading.examples[place] for place in kept)
        examples[name] = reading.examples
        parts.append(Part.of(name, [trees[place] for place in kept], [example.unit for example in reading.examples]))
        units[name] = {"unit": "sentence" if reading.unit == "text" else reading.unit, "units": reading.units}
        run.skipped += reading.skipped
    run.counts |= {
        "passages": sum(part.sentences for part in parts),
        "pieces": sum(example.length for part in examples.values() for example in part),
        "parts": {
            part.name: {"sentences": part.sentences, "scored_words": part.scored, **units[part.name]}
            for part in parts
        },
    }
    return _Sentences(examples, parts)


@dataclass(frozen=True)
class Work:
    """One run on its way: what is read, where features lie, and what the probes know of words.

    >>> Work.__dataclass_params__.frozen
    True
    """

    run: Run
    sentences: _Sentences
    vectors: Vectors
    relations: Mapping[str, int]
    room: Room
    folder: Path
    keep: bool

    @classmethod
    def prepare(cls, run: Run, sentences: _Sentences, source: str, max_disk: float, keep: bool) -> Work:
        """Find the vectors, and see that the features will have room, before the model runs."""
        vectors = find_vectors(source, run.subject, sentences.parts, sentences.examples)
        run.counts["vectors"] = {
            "name": vectors.name, "size": vectors.size, "known": vectors.known, "words": vectors.total
        }  # fmt: skip
        known = 100 * vectors.known / vectors.total
        run.progress.note(f"{vectors.name}: vectors of {vectors.size} numbers for {known:.1f} % of the words")
        room = room_for(run.subject, states=run.options["structural"])
        times = 1 + run.options["twins"] if keep else 1
        needed = {kind: count * times for kind, count in room.bytes(sentences.parts).items()}
        if run.out is not None and run.resume and not (run.out / HIDDEN).exists() and (run.out / KEPT).exists():
            (run.out / KEPT).rename(run.out / HIDDEN)
        less = "--limit, --max-pieces, --no-structural"
        folder = run.scratch(HIDDEN, needed, most=max_disk, what="features", less=less)
        count = sum(part.sentences for part in sentences.parts)
        run.progress.note(f"features of {count:,} sentences take {size_of(sum(needed.values()))} on disk")
        return cls(run, sentences, vectors, number_relations(sentences.parts), room, folder, keep)

    def train(self, who: str, subject: Subject) -> Bundle:
        """Capture the features of the model (whose parts are called by no name) or of a twin, and train the probes on
        them."""
        options = self.run.options
        named = "".join(f"-{word}" for word in who.split())
        jobs = jobs_for(twin=bool(who), structural=options["structural"])
        schedule = Schedule(epochs=options["epochs"], patience=options["patience"], seed=self.run.seed)
        part = f"probes{named}"
        run, trained = self.run, 0
        if run.out is not None and run.resume and (checkpoint := load_checkpoint(run.out, part)):
            trained = int(checkpoint.progress["batches"])
            run.progress.note(f"{trained} of {len(jobs)} probes are trained already")
        features = self._features(named, subject) if trained < len(jobs) else None
        model = run.subject
        trainer = Trainer(
            jobs, {part.name: part for part in self.sentences.parts}, features, self.vectors, self.relations,
            schedule, model.shape(model.pieces.own), self.room.layers, options["rank"], model.device,
            run.progress.note,
        )  # fmt: skip
        step_by_step = replace(run, checkpoint_every=0.0, progress=Silent())  # each probe tells of itself
        bundle = step_by_step.carry(
            trainer, jobs, part, lengths=range(len(jobs), 0, -1), budget=1, max_items=1
        )  # fmt: skip
        if features is not None and not self.keep:
            features.delete()
        return bundle

    def leave(self) -> None:
        """Give back the room on disk, or leave the features where they are found by their name."""
        if self.run.out is not None and self.keep:
            shutil.rmtree(self.run.out / KEPT, ignore_errors=True)
            self.folder.rename(self.run.out / KEPT)
        else:
            self.run.give_back(self.folder)

    def _features(self, named: str, subject: Subject) -> Features:
        run, parts = self.run, self.sentences.parts
        part, whose = f"features{named}", named.removeprefix("-") or "trained"
        made_for = {"plan": without_budget(run.plan.to_dict()), "whose": whose}
        features = Features(self.folder / whose, parts, self.room, made_for)
        items = items_of(parts, self.sentences.examples)
        if features.kept and not as_written(features, items):
            run.progress.note("the features of the earlier run have changed on the disk, and are made again")
            features.begin_again()
        if run.resume and features.finished:
            run.progress.note("the features of the earlier run are used again")
            return features
        if run.out is not None and not features.kept and run.resume:  # what was written is gone: begin again
            checkpoint_file(run.out, part).unlink(missing_ok=True)
        writer = Writer(subject, features, measure=run.options["measure"])
        run.carry(writer, items, part, lengths=[item.example.length for item in items])
        features.finish()
        return features
