"""Does attention explain what a model predicts? As one call, for any classifier or tagger.

A run has several parts, each with a checkpoint of its own: all explanations of every instance, what erasing the words
they name does, what becomes of predictions when attention is changed (made uniform, shuffled, replaced by frozen
weights or another model's), and the adversary of every instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import CapabilityError, CorpusError, PlanError
from attlas.run.local import carry_out
from attlas.run.progress import Progress
from attlas.run.setting import Setting, Texts, as_corpus, say_cutting
from attlas.run.tasks import open_for_task, read_for_task, task_for
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.frozen import Frozen
    from attlas.capture.reading import Reading
    from attlas.corpora import Corpus
    from attlas.stats import Bundle
    from attlas.studies.faith.instances import Instance, Labelling

BUDGET = 1024  # pieces of the instances between two checkpoints; each is read again for every word that is left out
LIMIT = 500
BOUND, ADVERSARY_STEPS, PERMUTATIONS, STEPS = 0.01, 60, 100, 20


@dataclass
class _Job:
    """What all parts of a run need."""

    instances: list[Instance]
    setting: Setting
    running: Mapping[str, Any]
    progress: Progress | None

    def carry(self, study: Any, part: str) -> Bundle:
        """Take numbered instances through a study."""
        items = list(enumerate(self.instances))
        lengths = [instance.example.length for instance in self.instances]
        bundle = carry_out(
            study, items, lengths, self.setting.plan, part=part, budget=self.setting.budget, **self.running
        )
        why = getattr(getattr(study, "model", None), "why_full", "")
        if why and self.progress is not None:
            self.progress.note(why)
        return bundle


def faith(
    subject: Subject | str | None,
    corpus: Texts,
    task: str = "classification",
    *,
    layers: str = "last",
    head: int | None = None,
    bound: float = BOUND,
    adversary_steps: int = ADVERSARY_STEPS,
    permutations: int = PERMUTATIONS,
    erase: str = "delete",
    steps: int = STEPS,
    frozen: Iterable[Path | str] | Path | str = (),
    others: Iterable[Subject | str] = (),
    evened: Subject | str | None = None,
    score: str | None = None,
    per_text: int = 1,
    max_pieces: int | None = None,
    limit: int | None = LIMIT,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Hold attention against other explanations of what a model predicts, and change it to see what becomes of that.

    ``layers`` ("last", "all", or one by its number from 0) and ``head`` (its number from 0; None: the mean of all)
    say which attention the card speaks of, and where adversaries are looked for, in ``adversary_steps`` and within a
    ``bound`` of total variation distance; the last layer and all layers stand beside it in every table. Attention of
    the last layer is shuffled in ``permutations`` ways. ``erase`` words by "delete" or "mask"; ``steps`` are those of
    integrated gradients. ``frozen`` are files of attention from other runs, ``others`` further models of the task,
    and ``evened`` one that was trained with uniform attention, and is run so. Of every text that is tagged
    ``per_text`` words are explained, and ``limit`` instances in all.

    >>> from attlas.text import Document
    >>> faith(None, [Document.from_words(["It", "rained"], label="good")])
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 cannot be put to the task classification: its checkpoint ...
    """
    from attlas.capture import Override
    from attlas.run.faith_tables import Made, faith_tables
    from attlas.studies.faith.adversary import Adversarial, Search
    from attlas.studies.faith.erasing import Eraser, Erasing
    from attlas.studies.faith.explaining import Explaining
    from attlas.studies.faith.explanations import chosen_attention, names_of
    from attlas.studies.faith.instances import require_labels, texts_of
    from attlas.studies.faith.interventions import Intervention, Interventions, joined

    texts = as_corpus(corpus)
    require_explainable(task)
    model = open_for_task(subject, task, texts)

    def posed(one: Subject | str | None) -> Labelling:
        opened = model if one is model else open_for_task(one, task, texts)
        return require_labels(task_for(opened, task, texts, seed=seed, score=score))

    made = posed(model)
    chosen = chosen_attention(made, layers, head)
    Eraser.of(model.pieces.tokenizer, erase)
    if min(steps, adversary_steps) < 1 or permutations < 0:
        raise PlanError("integrated gradients and adversaries need a step at least, and permutations none at least")
    search = Search(bound=bound, steps=adversary_steps, head=head, seed=seed)
    kept = _frozen([frozen] if isinstance(frozen, (str, Path)) else frozen)
    beside = _by_name(posed(one) for one in others)
    even = None if evened is None else posed(evened)
    if even is not None:
        even.instruments = (Override.uniform(),)
    options = {
        "task": task, "score": score, "layers": layers, "head": head, "bound": bound,
        "adversary_steps": adversary_steps, "permutations": permutations, "erase": erase, "steps": steps,
        "per_text": per_text, "max_pieces": max_pieces, "limit": limit,
        "frozen": {name: [one.model, one.fingerprint, len(one)] for name, one in kept.items()},
        "others": {name: one.subject.describe() for name, one in beside.items()},
        "evened": None if even is None else even.subject.describe(),
    }  # fmt: skip
    setting = Setting("faith", model, texts, options, seed, budget, None if out is None else Path(out))
    setting.require_free(resume=resume)
    say_cutting(progress, len(texts.documents))
    reading = read_for_task(made, texts, max_pieces=max_pieces, seed=seed)
    instances = _drawn(made, reading, texts, per_text=per_text, limit=limit, seed=seed)
    changing = Interventions(
        made, len(instances), permutations=permutations, frozen=kept, others=beside, evened=even, seed=seed
    )  # fmt: skip
    changing.require(instances)
    running = {
        "out": setting.out, "resume": resume, "report_progress": progress, "checkpoint_every": checkpoint_every
    }  # fmt: skip
    job = _Job(instances, setting, running, progress)

    explaining = Explaining(made, instances, names_of(made, chosen), steps=steps, way=erase, seed=seed)
    explained = explaining.result(job.carry(explaining, "explaining"))
    lost = job.carry(Erasing(made, explained.values, way=erase), "erasing")["lost"].result()
    changed = changing.result(job.carry(changing, "changing"))
    adversary = Adversarial(made, len(instances), layers=layers, search=search)
    bundle = job.carry(adversary, "adversary")
    figures = adversary.figures(bundle)
    changed = joined(changed, Intervention("adversary", layers), figures, bundle["marks"].result())
    numbers = texts_of(instances)
    tables = faith_tables(
        Made(made, instances, numbers, chosen, seed, explained, lost, changed, adversary, figures)
    )  # fmt: skip
    counts = {
        "documents": len(texts.documents), "passages": len(set(numbers)), "instances": len(instances),
        "pieces": sum(instance.example.length for instance in instances),
    }  # fmt: skip
    return setting.finish(tables, counts=counts, skipped=reading.skipped)


def require_explainable(task: str) -> None:
    """Refuse a task without labels before a model is opened for it.

    >>> require_explainable("masked-lm")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: the task masked-lm gives no labels whose reasons could be asked for; choose ...
    """
    from attlas.tasks import require_task

    require_task(task)
    if task != "classification" and not task.startswith("tagging:"):
        raise CapabilityError(
            f"the task {task} gives no labels whose reasons could be asked for; choose classification, "
            "tagging:upos, tagging:xpos, tagging:chunks or tagging:keyphrases"
        )


def _frozen(files: Iterable[Path | str]) -> dict[str, Frozen]:
    """Frozen attention by the names of its files."""
    from attlas.capture.frozen import Frozen

    found: dict[str, Frozen] = {}
    for file in files:
        found[_unlike(Path(file).name, found)] = Frozen.load(file)
    return found


def _by_name(tasks: Iterable[Labelling]) -> dict[str, Labelling]:
    """Tasks by the names of their models."""
    found: dict[str, Labelling] = {}
    for task in tasks:
        found[_unlike(Path(task.subject.name).name, found)] = task
    return found


def _unlike(name: str, taken: Mapping[str, Any]) -> str:
    """A name that is not taken yet.

    >>> _unlike("minilm", {"minilm": 1})
    'minilm (2)'
    """
    number = 2
    wanted = name
    while wanted in taken:
        wanted, number = f"{name} ({number})", number + 1
    return wanted


def _drawn(
    task: Labelling, reading: Reading, corpus: Corpus, *, per_text: int, limit: int | None, seed: int
) -> list[Instance]:
    """The instances; what is left out is counted."""
    from attlas.studies.faith.instances import FEWEST, instances_of, words_of

    if per_text < 1 or (limit is not None and limit < 1):
        raise PlanError("nothing would be explained; give at least 1 for the limit, and for the words of a text")
    every = instances_of(task, reading.examples, limit=None, per_text=per_text, seed=seed)
    short = sum(len(words_of(example)) < FEWEST for example in reading.examples)
    reading.skipped["of a single word, so that nothing can be ranked"] += short
    if not every:
        raise CorpusError("it has no text of two words or more, so that nothing can be ranked", file=corpus.name)
    drawn = instances_of(task, reading.examples, limit=limit, per_text=per_text, seed=seed)
    reading.skipped["instances not drawn"] += len(every) - len(drawn)
    return drawn
