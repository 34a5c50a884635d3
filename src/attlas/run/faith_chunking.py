"""The chunking study as one call: originals, global adversaries and guided models, trained one after the other.

Each training leaves a file in the folder's checkpoint as soon as it is done: its weights, which later ones are built
upon, and what was written down of every test sentence. A run that was killed goes on with the first training that
left none. At the end the tables are made of all of them, and the first seed's original and its adversaries of the
smallest and the largest weight are kept as model folders, to be looked at with ``attlas view``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import CorpusError, PlanError
from attlas.run.plan import differences
from attlas.run.progress import Progress, Silent
from attlas.run.setting import Setting, Texts, as_corpus
from attlas.run.tasks import require_layer
from attlas.store import Result
from attlas.store.checkpoint import FOLDER as CHECKPOINT
from attlas.store.columns import as_columns
from attlas.store.tensors import load_arrays, save_arrays

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attlas.capture import Subject
    from attlas.models import Example
    from attlas.models.tagger import TaggerSizes
    from attlas.studies.faith.trainings import Training
    from attlas.tasks.guided import Guide
    from attlas.tasks.recipe import Recipe
    from attlas.tasks.tagging import Tagging

TASK = "tagging:chunks"
PER = ("row", "key")
UNSEEN = ".models"  # where models are until the result is there
SHOWN, SHORTEST, LONGEST = 6, 6, 14  # sentences to look at, and how many words they have
_TOGETHER = 8192  # pieces whose adversaries are looked for at once
_OTHER_SEEDS = {"original": 0, "adversary": 1_000, "guided": 2_000}  # no two kinds begin with the same weights


@dataclass(frozen=True)
class Trained:
    """What a training has left: rows of :data:`attlas.studies.faith.taggers.COLUMNS`, its weights, and of the
    sentences to be looked at the attention and the tags.

    >>> sorted(Trained.__dataclass_fields__)
    ['arrays', 'rows', 'seconds', 'training']
    """

    training: Training
    rows: NDArray[np.float64]
    arrays: Mapping[str, NDArray[Any]]
    seconds: float


def faith_chunking(
    train: Texts,
    test: Texts,
    *,
    weights: Sequence[float] | None = None,
    ends: Sequence[float] | None = None,
    divergence: str = "kl-reversed",
    per: str = "key",
    seeds: int = 5,
    middle: int = 2,
    guided: int = 2,
    heads: int = 4,
    width: int = 256,
    ffn: int = 512,
    dropout: float = 0.1,
    epochs: int = 20,
    rate: float = 1.5e-3,
    batch_size: int = 64,
    instances: int = 500,
    bound: float = 0.01,
    limit: int | None = None,
    seed: int = 0,
    device: str | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Train one-layer taggers, adversaries of them and models guided by their attention, and compare them on a test
    set.

    ``weights`` are the lambdas, ``ends`` those of which there are ``seeds`` adversaries and by which models are
    guided (by default .2 and 3, or else the smallest and the largest); of the other lambdas there are ``middle``
    adversaries, and of each guided model ``guided``. ``divergence`` is "kl", "kl-reversed" or "jsd", taken per row of
    attention or divided by its keys (``per``); see :func:`attlas.tasks.guided.divergence`. ``instances`` words of the
    test set get an adversary of their own, within a distance of ``bound`` from the first original's predictions.
    ``limit`` draws so many sentences to learn from.

    >>> from attlas.text import Chunk, Document
    >>> chunks = (Chunk(0, 2, "NP"),)
    >>> texts = [Document.from_words(["the", word, "ran"], chunks=chunks) for word in ("cat", "dog") * 4]
    >>> small = {"width": 8, "ffn": 8, "epochs": 1, "seeds": 1, "guided": 1, "instances": 2}
    >>> result = faith_chunking(texts, texts, weights=[0.2, 3], **small)
    >>> result.manifest.study, len(result.table)
    ('faith-chunking', 13)
    """
    from attlas.models.tagger import TaggerSizes
    from attlas.studies.faith.trainings import ENDS, WEIGHTS, trainings
    from attlas.tasks.guided import DIVERGENCES
    from attlas.tasks.recipe import Recipe

    lambdas = sorted({float(weight) for weight in (WEIGHTS if weights is None else weights)})
    if not lambdas or lambdas[0] <= 0:
        raise PlanError("adversaries need weights of the divergence above 0, such as 0.2,1,3 (--weights)")
    usual = ENDS if set(ENDS) <= set(lambdas) else (lambdas[0], lambdas[-1])
    outer = sorted({float(weight) for weight in (usual if ends is None else ends)})
    strange = [weight for weight in outer if weight not in lambdas]
    if strange:
        raise PlanError(f"{strange[0]:g} is to be an end (--ends) but is none of the weights; add it to --weights")
    if divergence not in DIVERGENCES or per not in PER:
        raise PlanError(
            f"there is no divergence {divergence!r} per {per!r}; choose {', '.join(DIVERGENCES)}, per row or key"
        )
    for name, number, least in (("seeds", seeds, 1), ("middle", middle, 1), ("guided", guided, 0)):
        if number < least:
            raise PlanError(f"the study needs {name} of at least {least}, not {number}")
    learned_from, scored_on = as_corpus(train), as_corpus(test)
    for corpus in (learned_from, scored_on):
        require_layer(corpus, TASK)
    if learned_from.sha256 == scored_on.sha256 and learned_from.name != "documents":
        raise PlanError(f"{scored_on.name} holds the very sentences that are learned from; give others to test on")
    sizes = TaggerSizes(1, heads, width, ffn, dropout)
    recipe = Recipe(epochs, rate, batch_size, seed=seed)
    job = _Job.make(learned_from, scored_on, sizes, recipe, divergence, per, limit, device)
    options = {
        "weights": lambdas, "ends": outer, "divergence": divergence, "per": per, "seeds": seeds, "middle": middle,
        "guided": guided, "instances": instances, "bound": bound, "limit": limit, **asdict(sizes), **asdict(recipe),
    }  # fmt: skip
    where = None if out is None else Path(out)
    job.setting = Setting(
        "faith-chunking", job.first, learned_from, options, seed, batch_size, where, {"test": scored_on}
    )  # fmt: skip
    job.setting.require_free(resume=resume)
    job.ends = outer
    every = trainings(lambdas, outer, seeds, middle, guided)
    say = progress or Silent()
    done: dict[Training, Trained] = {}
    for number, training in enumerate(every, start=1):
        done[training] = job.carry(training, done, say, f"{training.name} ({number} of {len(every)})", resume)
    return job.finish(list(done.values()), instances, bound, say, resume)


@dataclass
class _Job:
    """What all trainings share."""

    tokenizer: Any
    labels: list[str]
    sizes: TaggerSizes
    recipe: Recipe
    divergence: str
    per: str
    device: str | None
    learned: list[Example]
    tested: list[Example]
    corpora: tuple[Corpus, Corpus]
    first: Subject
    setting: Setting = field(init=False)
    ends: list[float] = field(init=False)

    @classmethod
    def make(
        cls, train: Corpus, test: Corpus, sizes: TaggerSizes, recipe: Recipe, divergence: str, per: str,
        limit: int | None, device: str | None,
    ) -> _Job:  # fmt: skip
        """Read both corpora as words that the training sentences have."""
        import random

        from attlas.capture import Subject
        from attlas.capture.check import prove
        from attlas.models.tagger import make_tagger, make_word_tokenizer
        from attlas.run.tuning import labels_for
        from attlas.text import Passage

        documents = list(train.documents)
        if limit is not None and len(documents) > limit:
            chosen = random.Random(recipe.seed).sample(range(len(documents)), limit)
            documents = [documents[at] for at in sorted(chosen)]
        labels = labels_for(TASK, train, test)
        tokenizer = make_word_tokenizer(document.text for document in documents)
        first = Subject(make_tagger(tokenizer, labels, sizes, seed=recipe.seed, device=device))
        prove(first)
        learned, tested = (
            first.pieces.encode_all([Passage(document) for document in some]) for some in (documents, test.documents)
        )
        for corpus, examples in ((train, learned), (test, tested)):
            long = [example for example in examples if example.length > first.pieces.window]
            if long:
                raise CorpusError(
                    f"a sentence has {long[0].length} words, and {first.pieces.window} are allowed; split it",
                    file=long[0].passage.first.name or corpus.name,
                )
        return cls(
            tokenizer, labels, sizes, recipe, divergence, per, device, learned, tested, (train, test), first
        )  # fmt: skip

    def fresh(self, training: Training) -> Subject:
        """The model of a training before it is trained."""
        from attlas.capture import Subject
        from attlas.models.mixer import make_mixer
        from attlas.models.tagger import make_tagger
        from attlas.studies.faith.trainings import NONE_LEFT

        make = make_mixer if training.form == NONE_LEFT else make_tagger
        seed = self.recipe.seed + _OTHER_SEEDS[training.kind] + training.seed
        return Subject(
            make(self.tokenizer, self.labels, self.sizes, seed=seed, device=self.device, name=training.name)
        )

    def opened(self, done: Trained) -> Subject:
        """The model of a training that is done."""
        import torch

        subject = self.fresh(done.training)
        found = {name.removeprefix("weights/"): array for name, array in done.arrays.items() if "weights/" in name}
        with torch.no_grad():
            for name, parameter in subject.model.named_parameters():
                parameter.copy_(torch.from_numpy(found[name]))
        return subject

    def carry(
        self, training: Training, done: Mapping[Training, Trained], say: Progress, doing: str, resume: bool
    ) -> Trained:
        """Train a model, or take what an earlier run has left of it."""
        import numpy as np

        from attlas.tasks.tagging import Tagging

        earlier = self.left(training, resume)
        if earlier is not None:
            return earlier
        began = time.monotonic()
        subject = self.fresh(training)
        models = {needed: self.opened(done[needed]) for needed in training.needs}
        original = next((model for needed, model in models.items() if needed.kind == "original"), subject)
        task = self.task(training, subject, models)
        self.train(task, training, say, doing)
        told = task if training.kind == "guided" else Tagging(subject, "chunks")
        rows = self.write_down(told, original)
        arrays = {f"weights/{name}": np.asarray(tensor.cpu()) for name, tensor in _weights(subject).items()}
        if training.kind != "guided" and training.seed == 0:
            arrays |= _shown(told, self.shown)
        made = Trained(training, rows, arrays, time.monotonic() - began)
        if self.setting.out is not None:
            about = {"plan": self.setting.plan.to_dict(), "seconds": made.seconds}
            save_arrays(self.place(training), {"rows": rows, **arrays}, about)
        return made

    def left(self, training: Training, resume: bool) -> Trained | None:
        """What an earlier run has left of a training, if it may be taken."""
        if self.setting.out is None:
            return None
        path = self.place(training)
        found = load_arrays(path)
        if found is None:
            return None
        if not resume:
            raise PlanError(f"{path}: an earlier run was interrupted here; go on with --resume, or delete this file")
        arrays, about = found
        changed = "; ".join(differences(about["plan"], self.setting.plan.to_dict()))
        if changed:
            raise PlanError(
                f"{path}: this checkpoint has another plan ({changed}); go back to it, or delete this file"
            )
        rows = arrays.pop("rows")
        return Trained(training, rows, arrays, float(about["seconds"]))

    def place(self, training: Training) -> Path:
        """The file of a training that is done."""
        assert self.setting.out is not None
        return self.setting.out / CHECKPOINT / f"{training.name}.safetensors"

    def task(self, training: Training, subject: Subject, models: Mapping[Training, Subject]) -> Tagging:
        """What a model is trained for."""
        from attlas.studies.faith.trainings import Training as Named
        from attlas.tasks.guided import Adversary, Guided
        from attlas.tasks.tagging import Tagging

        if training.kind == "original":
            return Tagging(subject, "chunks")
        if training.kind == "adversary":
            assert training.weight is not None
            original = models[Named("original", seed=training.seed)]
            return Adversary(
                subject, "chunks", original, training.weight, self.divergence, per_key=self.per == "key"
            )  # fmt: skip
        return Guided(subject, "chunks", self.guide(training, subject, models))

    def guide(self, training: Training, subject: Subject, models: Mapping[Training, Subject]) -> Guide:
        """The attention that a guided model is given."""
        from attlas.tasks.guided import even_guide, guided_by, random_guide

        if training.guide is not None:
            return guided_by(models[training.guide])
        site, heads = subject.sites[0], self.sizes.heads
        if training.attention == "uniform":
            return even_guide(site, heads)
        return random_guide(site, heads, self.recipe.seed + training.seed)

    def train(self, task: Tagging, training: Training, say: Progress, doing: str) -> None:
        """Train to the end; nothing is held out, so that all models have as many passes."""
        from dataclasses import replace

        from attlas.tasks.training import Trainer

        trainer = Trainer(task, self.learned, [], replace(self.recipe, seed=self.recipe.seed + training.seed))
        say.start(doing, trainer.recipe.epochs * trainer.pieces_per_epoch)
        try:
            for moment in trainer.moments():
                say.advance(moment.pieces)
        finally:
            say.finish()

    def write_down(self, task: Tagging, original: Subject, *, ranks: bool = True) -> NDArray[np.float64]:
        """What the tables are made of, for every test sentence."""
        from attlas.studies.faith.taggers import write_down

        return write_down(task, self.tested, original, self.divergence, per_key=self.per == "key", ranks=ranks)

    @property
    def shown(self) -> list[Example]:
        """Sentences to look at: the first of the test set that are neither very short nor long."""
        fitting = [example for example in self.tested if SHORTEST <= example.length <= LONGEST]
        return (fitting or self.tested)[:SHOWN]

    def finish(self, every: list[Trained], instances: int, bound: float, say: Progress, resume: bool) -> Result:
        """All tables, and the models to be looked at."""
        from attlas.studies.faith.chunking_tables import Told, tables_of, tables_to_look_at
        from attlas.tasks.tagging import Tagging

        originals = {one.training.seed: self.opened(one) for one in every if one.training.kind == "original"}
        between = {
            (seed, other): self.write_down(Tagging(model, "chunks"), originals[other], ranks=False)
            for seed, model in originals.items()
            for other in originals
            if other < seed
        }
        points = self.per_instance(originals[0], instances, bound, say, resume) if instances else []
        told = [Told(one.training, one.rows, one.seconds) for one in every]
        tables: dict[str, Any] = tables_of(told, between, self.recipe.epochs, self.setting.seed)
        tables["per_instance"] = as_columns(points)
        looked_at = {one.training: one.arrays for one in every if "tags/0" in one.arrays}
        tables |= tables_to_look_at(looked_at, self.shown, self.labels)
        words = Counter(piece for example in self.tested for piece in example.source.ids)
        unknown = words[self.tokenizer.unk_token_id] / max(1, words.total())
        counts = {
            "train": self.corpora[0].name, "sentences": len(self.learned), "test_sentences": len(self.tested),
            "words": sum(example.length for example in self.learned), "vocabulary": len(self.tokenizer),
            "unknown": round(unknown, 4), "labels": len(self.labels),
        }  # fmt: skip
        return self.keep(every, {name: columns for name, columns in tables.items() if columns}, counts)

    def keep(self, every: Sequence[Trained], tables: Mapping[str, Any], counts: Mapping[str, Any]) -> Result:
        """Write the result and, beside it, the models that are worth a look."""
        import shutil

        from attlas.studies.faith.trainings import Training

        out, worked = self.setting.out, sum(one.seconds for one in every)
        if out is None:
            return self.setting.finish(tables, counts=counts, seconds=worked)
        kept = [Training("original"), *(Training("adversary", weight=weight) for weight in self.ends)]
        for one in every:
            if one.training in kept:
                self.opened(one).save(out / UNSEEN / one.training.name)
        result = self.setting.finish(tables, counts=counts, seconds=worked)
        (out / UNSEEN).replace(out / "models")
        shutil.rmtree(out / CHECKPOINT, ignore_errors=True)
        return result

    def per_instance(
        self, original: Subject, number: int, bound: float, say: Progress, resume: bool
    ) -> list[dict[str, Any]]:
        """Words of the test set, each with an adversary of its own."""
        from attlas.run.local import carry_out
        from attlas.studies.faith.adversary import Adversarial, Search
        from attlas.studies.faith.instances import instances_of
        from attlas.tasks.tagging import Tagging

        task = Tagging(original, "chunks")
        chosen = instances_of(task, self.tested, limit=number, seed=self.setting.seed)
        study = Adversarial(task, len(chosen), search=Search(bound=bound, seed=self.setting.seed))
        lengths = [instance.example.length for instance in chosen]
        bundle = carry_out(
            study, list(enumerate(chosen)), lengths, self.setting.plan, part="per-instance", budget=_TOGETHER,
            out=self.setting.out, resume=resume, report_progress=say,
        )  # fmt: skip
        found = study.figures(bundle)
        return [
            {
                "number": place, "tvd": float(found["tvd"][place]), "jsd": float(found["jsd"][place]),
                "within": bool(found["within"][place]), "bound": bound,
            }
            for place in range(len(chosen))
        ]  # fmt: skip


def _weights(subject: Subject) -> dict[str, Any]:
    return {name: parameter.detach() for name, parameter in subject.model.named_parameters()}


def _shown(task: Tagging, examples: Sequence[Example]) -> dict[str, NDArray[Any]]:
    """Attention, (head, query, key), and tags of the sentences to be looked at."""
    import numpy as np
    import torch

    from attlas.studies.faith.taggers import read

    found: dict[str, NDArray[Any]] = {}
    task.subject.model.train(False)
    with torch.no_grad():
        for number, example in enumerate(examples):
            reading = read(task, task.ask([example]))
            found[f"attention/{number}"] = np.asarray(reading.weights[task.subject.sites[0]][0].cpu())
            found[f"tags/{number}"] = np.asarray(reading.predicted[0].argmax(-1).cpu())
    return found
