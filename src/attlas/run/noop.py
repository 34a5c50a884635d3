"""The no-op test as one call: find the loss, train a small head if it needs one, measure gradients, and the same of
the untrained twin.

Its parts (training, gradients; the same again for the twin) have a checkpoint each, so that a killed run goes on
where it was.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import CorpusError
from attlas.run.batches import batches
from attlas.run.local import carry_out
from attlas.run.losses import checked, open_for_loss
from attlas.run.progress import Progress
from attlas.run.setting import Setting, Texts, as_corpus, reads_pairs, say_cutting
from attlas.run.tasks import labels_of, longest_window, read_for_task, task_for
from attlas.store import Result
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.models import Example
    from attlas.stats import Bundle
    from attlas.studies.tagging import Lesson
    from attlas.tasks import Tagging

BUDGET = 1024  # pieces of a batch: the graph of all layers is kept until the way back
LESSON, HELD = 256, 10
EPOCHS, STEPS, MOST = 8, 240, 40  # passes; more of them where they are short


def noop(
    subject: Subject | str | None = None,
    corpus: Texts = "sample",
    *,
    loss: str = "auto",
    pairs: bool | None = None,
    max_pieces: int | None = None,
    long: str = "cut",
    limit: int | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Measure, head by head, how much a loss depends on the attention to each class of key.

    ``loss`` is causal-lm, masked-lm, translation or classification, which need a model whose checkpoint holds that
    head, or tagging:upos, :xpos, :chunks or :keyphrases, for which a model without such a head gets a small one,
    trained on one half of the documents, and gradients are measured on the other; "auto" takes what the model offers,
    or else the corpus's tags. ``pairs``, ``long`` and ``limit`` are as in :func:`attlas.survey`; ``limit`` holds for
    each half. ``max_pieces`` defaults to 128, for key phrases to 512.

    >>> from attlas.text import Document
    >>> nouns = ("Cats", "Dogs", "Men", "Cows")
    >>> texts = [Document.from_words([noun, "slept"], upos=["NOUN", "VERB"]) for noun in nouns]
    >>> result = noop(None, texts, loss="tagging:upos")
    >>> result.manifest.study, list(result.tables)
    ('noop', ['noop', 'noop_layers', 'loss'])
    """
    texts = as_corpus(corpus)
    if subject is None or isinstance(subject, str):
        model, loss = open_for_loss(subject, loss, texts)
    else:
        model, loss = checked(subject, loss, texts)
    paired = loss in ("causal-lm", "masked-lm") and reads_pairs(model, texts, pairs)
    pieces = longest_window(model, loss, max_pieces)
    options = {"loss": loss, "pairs": paired, "max_pieces": pieces, "long": long, "limit": limit}
    setting = Setting("noop", model, texts, options, seed, budget, None if out is None else Path(out))
    setting.require_free(resume=resume)
    say_cutting(progress, len(texts.documents))
    trained_on, measured_on = readings(model, texts, loss, paired, pieces, long, limit, seed)

    def carry(study: Any, items: Sequence[Any], lengths: Sequence[int], part: str, budget: int) -> Bundle:
        return carry_out(
            study, items, lengths, setting.plan, part=part, out=setting.out, resume=resume, budget=budget,
            report_progress=progress, checkpoint_every=checkpoint_every,
        )  # fmt: skip

    from attlas.studies.noop import NoOp
    from attlas.studies.noop_tables import tables
    from attlas.tasks import READ_SCORES, make_task

    found: dict[str, tuple[NoOp, Bundle, float | None]] = {}
    for who, studied in (("", model), ("untrained ", model.twin(seed))):
        passes = None
        if trained_on is None:
            measured: Any = make_task(studied, loss, seed=seed, score=READ_SCORES.get(loss))
        else:
            measured = tagging_task(studied, loss, trained_on)
            passes = _train(measured, trained_on, f"{who}training", seed, carry)
        study = NoOp(studied, measured, seed=seed)
        lengths = [example.length for example in measured_on.examples]
        found[who] = (study, carry(study, measured_on.examples, lengths, f"{who}gradients", budget), passes)
    (study, bundle, passes), (_, twin, _) = found.values()
    made = tables(study, bundle, twin)
    made["loss"] = _loss_table(loss, study.task, bundle, twin, trained_on, measured_on, passes)
    skipped = measured_on.skipped if trained_on is None else measured_on.skipped + trained_on.skipped
    return setting.finish(made, counts=_counts(texts, trained_on, measured_on), skipped=skipped)


def readings(
    model: Subject,
    texts: Corpus,
    loss: str,
    paired: bool,
    pieces: int,
    long: str,
    limit: int | None,
    seed: int,
) -> tuple[Reading | None, Reading]:
    """The texts that a small head is trained on, where the model has none, and those that gradients are measured on.

    >>> from attlas.run.setting import as_subject
    >>> one, other = readings(as_subject(None), as_corpus("sample"), "tagging:upos", False, 64, "cut", 5, 0)
    >>> len(one.examples), len(other.examples)
    (5, 5)
    """
    from attlas.tasks import READ_SCORES, Tagging

    options: dict[str, Any] = {"max_pieces": pieces, "long": long, "pairs": paired, "limit": limit, "seed": seed}
    if not loss.startswith("tagging:") or model.task_head == "tagging":
        return None, read_for_task(task_for(model, loss, texts, score=READ_SCORES.get(loss)), texts, **options)
    tags = sorted({tag for document in texts.documents for tag in labels_of(document, loss)})
    task = Tagging(model, loss.split(":")[1], tags=tags)
    trained_on, measured_on = (read_for_task(task, half, **options) for half in texts.halves(seed))
    if len(trained_on.examples) < 2:
        raise CorpusError("a head cannot be trained on a single text; give more texts", file=texts.name)
    return trained_on, measured_on


def tagging_task(subject: Subject, loss: str, trained_on: Reading) -> Tagging:
    """The task of tagging with the tags that are in the training texts; it has yet to be trained.

    >>> from attlas.run.setting import as_subject
    >>> model = as_subject(None)
    >>> reading, _ = readings(model, as_corpus("sample"), "tagging:upos", False, 64, "cut", 5, 0)
    >>> "NOUN" in tagging_task(model, "tagging:upos", reading).tags
    True
    """
    from attlas.tasks import Tagging

    layer = loss.split(":")[1]
    return Tagging(subject, layer, tags=sorted(_tag_counts(trained_on, layer)))


def lessons(reading: Reading, seed: int) -> list[Lesson]:
    """All lessons of all passes: groups of texts of like length in an order drawn anew for each pass, then the tenth
    of the texts that is held out.

    >>> from attlas.run.setting import as_subject
    >>> reading, _ = readings(as_subject(None), as_corpus("sample"), "tagging:upos", False, 64, "cut", 20, 0)
    >>> EPOCHS <= [lesson.last for lesson in lessons(reading, 0)].count(True) <= MOST
    True
    """
    from attlas.studies.tagging import Lesson

    shuffled = list(reading.examples)
    random.Random(seed).shuffle(shuffled)
    cut = max(1, len(shuffled) // HELD)
    held, learned = _groups(shuffled[:cut]), _groups(shuffled[cut:])
    made = []
    for epoch in range(min(MOST, max(EPOCHS, math.ceil(STEPS / len(learned))))):
        order = list(learned)
        random.Random(f"{seed} {epoch}").shuffle(order)
        made += [Lesson(group, False, False) for group in order]
        made += [Lesson(group, True, number == len(held) - 1) for number, group in enumerate(held)]
    return made


def _groups(examples: Sequence[Example]) -> list[tuple[Example, ...]]:
    lengths = [example.source.length for example in examples]
    return [tuple(examples[index] for index in group) for group in batches(lengths, LESSON)]


def _train(task: Tagging, reading: Reading, part: str, seed: int, carry: Any) -> float:
    """Train the head of a task; gives the number of passes it took to the best one."""
    from attlas.studies.tagging import Training

    training, plan = Training(task), lessons(reading, seed)
    pieces = sum(example.source.length for lesson in plan for example in lesson.examples)
    alike = [max(1, pieces // len(plan))] * len(plan)  # all of one length, so that they are taken in their order
    learner = training.learner(carry(training, plan, alike, part, 1))
    task.head = learner.linear()
    return learner.numbers["best_epoch"]


def _tag_counts(reading: Reading, layer: str) -> Counter[str]:
    from attlas.tasks.tagging import wordwise

    return Counter(tag for example in reading.examples for tag in wordwise(example, layer) if tag)


def _loss_table(
    name: str,
    loss: Any,
    bundle: Bundle,
    twin: Bundle,
    trained_on: Reading | None,
    measured_on: Reading,
    passes: float | None,
) -> dict[str, list[Any]]:
    row: dict[str, Any] = {"loss": name}
    for prefix, part in (("", bundle), ("twin_", twin)):
        value, right = part["loss"].result(), part["right"].result()
        row |= {f"{prefix}value": value.value, f"{prefix}low": value.low, f"{prefix}high": value.high}
        row |= {f"{prefix}accuracy": right.value, f"{prefix}accuracy_low": right.low, "n": value.n}
        row |= {f"{prefix}accuracy_high": right.high}
    row |= {"even": math.log(loss.choices), "majority": math.nan, "majority_tag": None, "passes": passes}
    if trained_on is not None:
        layer = name.split(":")[1]
        known = set(loss.tags)
        there = Counter({tag: n for tag, n in _tag_counts(measured_on, layer).items() if tag in known})
        often = _tag_counts(trained_on, layer).most_common(1)[0][0]
        row |= {"majority": there[often] / max(1, there.total()), "majority_tag": often}
    return as_columns([row])


def _counts(texts: Corpus, trained_on: Reading | None, measured_on: Reading) -> dict[str, int]:
    found = {
        "documents": len(texts.documents), "passages": len(measured_on.examples), "pieces": measured_on.pieces,
    }  # fmt: skip
    return found if trained_on is None else found | {"training passages": len(trained_on.examples)}
