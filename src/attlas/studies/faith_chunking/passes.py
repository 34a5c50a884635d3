"""The taggers of the chunking study, trained one after the other: originals, adversaries of them, guided models.

Each training leaves a file in the folder's checkpoint as soon as it is done: its weights, which later ones are built
upon, and what was written down of every test sentence. A run that was killed goes on with the first training that
left none.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attlas.capture import Subject
from attlas.capture.check import prove
from attlas.corpora import Corpus
from attlas.errors import CorpusError, StoreError
from attlas.models import Example
from attlas.models.mixer import make_mixer
from attlas.models.tagger import TaggerSizes, make_tagger, make_word_tokenizer
from attlas.run.plan import require_resumable
from attlas.run.progress import Progress
from attlas.run.session import Run
from attlas.run.setting import drawn
from attlas.run.tuning import labels_for
from attlas.store.checkpoint import FOLDER as CHECKPOINT
from attlas.store.tensors import load_arrays, save_arrays
from attlas.studies.faith_chunking.tables import Trained
from attlas.studies.faith_chunking.taggers import read, write_down
from attlas.studies.faith_chunking.trainings import NONE_LEFT, Training
from attlas.studies.shared.faith.adversary import Adversarial, Search
from attlas.studies.shared.faith.instances import instances_of
from attlas.tasks.guided import Adversary, Guided, even_guide, guided_by, random_guide
from attlas.tasks.recipe import Recipe
from attlas.tasks.tagging import Tagging
from attlas.tasks.training import Trainer
from attlas.text import Document, Passage

TASK = "tagging:chunks"
SHOWN, SHORTEST, LONGEST = 6, 6, 14  # sentences to look at, and how many words they have
_TOGETHER = 8192  # pieces whose adversaries are looked for at once
_OTHER_SEEDS = {"original": 0, "adversary": 1_000, "guided": 2_000}  # no two kinds begin with the same weights


class Workshop:
    """What all trainings share: sentences to learn from and to test on, as words that the first of them have, the
    sizes of a tagger, how it is trained, and what its adversaries are paid for. The device is cuda where there is one
    and none was named.

    >>> from attlas.run.setting import as_corpus
    >>> from attlas.text import Chunk, Document
    >>> texts = as_corpus([Document.from_words(["the", "cat", "ran"], chunks=(Chunk(0, 2, "NP"),))])
    >>> workshop = Workshop(texts, texts, TaggerSizes(width=8, ffn=8), Recipe(), "kl", "row", device="cpu")
    >>> workshop.counts["vocabulary"], workshop.labels
    (2, ['B-NP', 'I-NP', 'O'])
    """

    def __init__(
        self,
        train: Corpus,
        test: Corpus,
        sizes: TaggerSizes,
        recipe: Recipe,
        divergence: str,
        per: str,
        *,
        limit: int | None = None,
        device: str | None = None,
    ) -> None:
        self.sizes, self.recipe, self.divergence, self.per = sizes, recipe, divergence, per
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        documents = drawn(train.documents, limit, recipe.seed)
        self.labels = labels_for(TASK, train, test)
        self.tokenizer = make_word_tokenizer(document.text for document in documents)
        self.first = Subject(make_tagger(self.tokenizer, self.labels, sizes, seed=recipe.seed, device=self.device))
        prove(self.first)
        self.train_name = train.name
        self.learned, self.tested = self._encoded(train.name, documents), self._encoded(test.name, test.documents)

    def _encoded(self, name: str, documents: Iterable[Document]) -> list[Example]:
        """Sentences of a corpus as pieces, none longer than a tagger can read."""
        pieces = self.first.pieces
        examples = pieces.encode_all([Passage(document) for document in documents])
        for example in examples:
            if example.length > pieces.window:
                raise CorpusError(
                    f"a sentence has {example.length} words, and {pieces.window} are allowed; split it",
                    file=example.passage.first.name or name,
                )
        return examples

    def fresh(self, training: Training) -> Subject:
        """The model of a training before it is trained."""
        make = make_mixer if training.form == NONE_LEFT else make_tagger
        seed = self.recipe.seed + _OTHER_SEEDS[training.kind] + training.seed
        return Subject(
            make(self.tokenizer, self.labels, self.sizes, seed=seed, device=self.device, name=training.name)
        )

    def opened(self, done: Trained) -> Subject:
        """The model of a training that is done."""
        subject = self.fresh(done.training)
        with torch.no_grad():
            for name, parameter in subject.model.named_parameters():
                parameter.copy_(torch.from_numpy(done.arrays[f"weights/{name}"]))
        return subject

    def carry(self, run: Run, training: Training, done: Mapping[Training, Trained], doing: str) -> Trained:
        """Train a model, or take what an earlier run has left of it."""
        earlier = _left(run, training)
        if earlier is not None:
            return earlier
        began = time.monotonic()
        subject = self.fresh(training)
        models = {needed: self.opened(done[needed]) for needed in training.needs}
        original = next((model for needed, model in models.items() if needed.kind == "original"), subject)
        task = self._task(training, subject, models)
        self.train(task, training, run.progress, doing)
        told = task if training.kind == "guided" else Tagging(subject, "chunks")
        rows = self._write_down(told, original)
        weights = subject.model.named_parameters()
        arrays = {f"weights/{name}": np.asarray(parameter.detach().cpu()) for name, parameter in weights}
        if training.kind != "guided" and training.seed == 0:
            arrays |= _shown(told, self.shown)
        seconds = time.monotonic() - began
        if run.out is not None:
            about = {"plan": run.plan.to_dict(), "training": training.name, "seconds": seconds}
            save_arrays(_place(run.out, training), {"rows": rows, **arrays}, about)
        return Trained(training, rows, seconds, arrays)

    def _task(self, training: Training, subject: Subject, models: Mapping[Training, Subject]) -> Tagging:
        """What a model is trained for."""
        if training.kind == "original":
            return Tagging(subject, "chunks")
        if training.kind == "adversary":
            assert training.weight is not None
            original, per_key = models[Training("original", seed=training.seed)], self.per == "key"
            return Adversary(subject, "chunks", original, training.weight, self.divergence, per_key=per_key)
        site, heads = subject.sites[0], self.sizes.heads
        if training.guide is not None:
            guide = guided_by(models[training.guide])
        elif training.attention == "uniform":
            guide = even_guide(site, heads)
        else:
            guide = random_guide(site, heads, self.recipe.seed + training.seed)
        return Guided(subject, "chunks", guide)

    def train(self, task: Tagging, training: Training, say: Progress, doing: str) -> None:
        """Train to the end; nothing is held out, so that all models have as many passes."""
        trainer = Trainer(task, self.learned, [], replace(self.recipe, seed=self.recipe.seed + training.seed))
        say.start(doing, trainer.recipe.epochs * trainer.pieces_per_epoch)
        try:
            for moment in trainer.moments():
                say.advance(moment.pieces)
        finally:
            say.finish()

    def _write_down(self, task: Tagging, original: Subject, *, ranks: bool = True) -> NDArray[np.float64]:
        """What the tables are made of, for every test sentence."""
        return write_down(task, self.tested, original, self.divergence, per_key=self.per == "key", ranks=ranks)

    @property
    def shown(self) -> list[Example]:
        """Sentences to look at: the first of the test set that are neither very short nor long."""
        fitting = [example for example in self.tested if SHORTEST <= example.length <= LONGEST]
        return (fitting or self.tested)[:SHOWN]

    def between(self, every: Sequence[Trained]) -> dict[tuple[int, int], NDArray[np.float64]]:
        """What is written down of originals beside originals of other seeds."""
        originals = {one.training.seed: self.opened(one) for one in every if one.training.kind == "original"}
        return {
            (seed, other): self._write_down(Tagging(model, "chunks"), originals[other], ranks=False)
            for seed, model in originals.items()
            for other in originals
            if other < seed
        }

    def per_instance(self, run: Run, original: Trained, number: int, bound: float) -> list[dict[str, Any]]:
        """Words of the test set, each with an adversary of its own."""
        task = Tagging(self.opened(original), "chunks")
        chosen = instances_of(task, self.tested, limit=number, seed=run.seed)
        part = Adversarial(task, len(chosen), search=Search(bound=bound, seed=run.seed))
        lengths = [instance.example.length for instance in chosen]
        bundle = run.carry(part, chosen, "per-instance", lengths=lengths, numbered=True, budget=_TOGETHER)
        figures = part.figures(bundle)
        rows = zip(figures["tvd"], figures["jsd"], figures["within"], strict=True)
        return [
            {"number": number, "tvd": tvd, "jsd": jsd, "within": bool(within), "bound": bound}
            for number, (tvd, jsd, within) in enumerate(rows)
        ]

    @property
    def counts(self) -> dict[str, Any]:
        """What the manifest says of both corpora."""
        words = Counter(piece for example in self.tested for piece in example.source.ids)
        unknown = words[self.tokenizer.unk_token_id] / max(1, words.total())
        return {
            "train": self.train_name, "sentences": len(self.learned), "test_sentences": len(self.tested),
            "words": sum(example.length for example in self.learned), "vocabulary": len(self.tokenizer),
            "unknown": round(unknown, 4), "labels": len(self.labels),
        }  # fmt: skip


def _left(run: Run, training: Training) -> Trained | None:
    """What an earlier run has left of a training, if it may be taken."""
    if run.out is None or (earlier := load_arrays(path := _place(run.out, training))) is None:
        return None
    arrays, about = earlier
    require_resumable(path, about["plan"], run.plan, resume=run.resume)
    if about.get("training") != training.name:
        raise StoreError(f"{path}: it holds another training than its name says; delete it to train again")
    rows = arrays.pop("rows")
    return Trained(training, rows, float(about["seconds"]), arrays)


def _place(out: Path, training: Training) -> Path:
    """The file of a training that is done."""
    return out / CHECKPOINT / f"{training.name}.safetensors"


def _shown(task: Tagging, examples: Sequence[Example]) -> dict[str, NDArray[Any]]:
    """Attention, (head, query, key), and tags of the sentences to be looked at."""
    kept: dict[str, NDArray[Any]] = {}
    task.subject.model.train(False)
    with torch.no_grad():
        for number, example in enumerate(examples):
            reading = read(task, task.ask([example]))
            kept[f"attention/{number}"] = np.asarray(reading.weights[task.subject.sites[0]][0].cpu())
            kept[f"tags/{number}"] = np.asarray(reading.predicted[0].argmax(-1).cpu())
    return kept
