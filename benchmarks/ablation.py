"""Every head off in turn: replays beside the naive loop of full passes; and what importance by gradients costs.

    python -m benchmarks.ablation

The naive loop closes one gate at a time and runs the whole model on batches of 32 texts: as they come, as scripts
mostly do, and, for its best, sorted by length. ``attlas ablate`` runs each text once and goes on from the cut, all
heads of a layer at once. All judge the same texts by the same task, in turns, batch by batch, in one process; losses
of all texts under all cuts are compared. Heads for classifying and tagging are fresh: what a label costs to find does
not depend on whether it is right.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import zip_longest

import numpy as np
import torch

from attlas.capture import Gates, Subject, load
from attlas.corpora import Corpus, read
from attlas.errors import ModelError
from attlas.models import Example
from attlas.models.fresh import open_to_train
from attlas.run.batches import batches
from attlas.run.setting import BUDGET
from attlas.run.tasks import labels_of, read_for_task, task_for
from attlas.studies.ablate.passes import Ablation, every_head
from attlas.studies.shared.cutting.importance import Importance
from attlas.tasks import READ_SCORES, Task
from attlas.text import Document
from benchmarks.page import put

HEADING = "Every head off in turn, and importance"
THREADS, ROUNDS, TEXTS = 2, 3, 32
Numbered = tuple[int, Example]


@dataclass(frozen=True)
class Case:
    """A model, a task, so many texts, and a word on what decides the ratio."""

    model: str | None
    task: str
    texts: int
    note: str


CASES = (
    Case("e5-small", "classification", 64, "the last layer runs at one place"),
    Case("e5-small", "tagging:upos", 64, "every place is read"),
    Case(None, "classification", 96, "the last layer runs at one place"),
    Case(None, "tagging:upos", 96, "every place is read"),
    Case("smollm2", "causal-lm", 4, "its language-model head, a fifth of a pass, runs under every cut"),
    Case("opus-mt-en-fr", "translation", 16, "so does its own, near a half"),
)


def subject_for(case: Case, corpus: Corpus) -> Subject:
    """The model, with a fresh head where the task needs labels."""
    kind = case.task.split(":")[0]
    if kind in ("classification", "tagging"):
        labels = sorted({label for document in corpus.documents for label in labels_of(document, case.task)})
        return Subject(open_to_train(case.model, task_head=kind, labels=labels))
    return load(case.model, task_head={"causal-lm": "causal-lm", "translation": "seq2seq"}[case.task])


def texts_for(task: str) -> Corpus:
    """Sentences of the sample; a translator is given each as its own translation, and a classifier a label."""
    sentences = read("sample").sentences()
    made = []
    for number, document in enumerate(sentences.documents):
        if task == "translation":
            document = replace(document, translation=Document.from_text(document.text))
        made.append(replace(document, label=("even", "odd")[number % 2]))
    return replace(sentences, documents=tuple(made))


def naive(task: Task, batch: Sequence[Numbered]) -> np.ndarray:
    """Losses (text, head), by a full pass for each head."""
    subject, question = task.subject, task.ask([example for _, example in batch])
    found = []
    for cut in every_head(subject, task.streams):
        gates = Gates.closed([cut.id], subject.layout.heads)
        with torch.no_grad(), subject.use(gates):
            scored = task.judge(question, subject.run(question.batch, **task.options))
        found.append(scored.mean.double().numpy())
    return np.stack(found, 1)


def seconds(run: Callable[[], object]) -> tuple[float, object]:
    """How long a call takes, and what it gives."""
    began = time.perf_counter()
    found = run()
    return time.perf_counter() - began, found


def heads_off(case: Case) -> str:
    """One row: both ways on the same texts."""
    corpus = texts_for(case.task)
    subject = subject_for(case, corpus)
    task = task_for(subject, case.task, corpus, score=READ_SCORES.get(case.task))
    items = list(enumerate(read_for_task(task, corpus, limit=case.texts).examples))
    study = Ablation(task, every_head(subject, task.streams), len(items))
    study.update(study.empty(), items[:1])  # finds its routes and proves itself
    bundle = study.empty()
    lengths = [example.length for _, example in items]
    orders = {
        "as they come": [list(range(at, min(at + TEXTS, len(items)))) for at in range(0, len(items), TEXTS)],
        "of like length": batches(lengths, BUDGET, TEXTS),
    }
    slow, losses = dict.fromkeys(orders, 0.0), np.zeros((len(items), len(study.cuts)))
    fast = 0.0
    for batch_of_each in zip_longest(*orders.values(), fillvalue=[]):  # in turns
        for name, numbers in zip(orders, batch_of_each, strict=True):
            if numbers:
                took, losses[numbers] = seconds(lambda numbers=numbers: naive(task, [items[n] for n in numbers]))
                slow[name] += took
        fast += seconds(lambda numbers=numbers: study.update(bundle, [items[n] for n in numbers]))[0]
    error = float(np.abs(bundle["loss"].result()[:, 1:] - losses).max())
    cells = [
        f"{slow[name]:.1f} ({_padding(lengths, order):.0f} %) | **{fast / slow[name]:.2f}**"
        for name, order in orders.items()
    ]
    name = subject.name if case.model is None else case.model
    row = (
        f"| {name} | {case.task} | {len(study.cuts)} | {len(items)} ({sum(lengths):,}) | {fast:.1f} "
        f"| {' | '.join(cells)} | {error:.0e} | {case.note} |"
    )
    print(row, flush=True)
    return row


def _padding(lengths: Sequence[int], order: Sequence[Sequence[int]]) -> float:
    """How much of some batches is padding, in per cent."""
    places = sum(len(numbers) * max(lengths[number] for number in numbers) for numbers in order)
    return 100 * (1 - sum(lengths) / places)


def gradients(case: Case) -> str:
    """One row: importance of all heads over a plain pass forward and back, on the same batches."""
    corpus = texts_for(case.task)
    subject = subject_for(case, corpus)
    task = task_for(subject, case.task, corpus, score=READ_SCORES.get(case.task))
    examples = read_for_task(task, corpus, limit=min(40, case.texts)).examples
    order = batches([example.length for example in examples], 1024)
    study = Importance(task)

    def plain(batch: Sequence[Example]) -> None:
        question = task.ask(batch)
        task.judge(question, subject.run(question.batch, **task.options)).mean.sum().backward()
        subject.model.zero_grad()

    ratios = []
    for _ in range(ROUNDS):
        slow = fast = 0.0
        for numbers in order:
            batch = [examples[number] for number in numbers]
            slow += seconds(lambda batch=batch: plain(batch))[0]
            fast += seconds(lambda batch=batch: study.update(study.empty(), batch))[0]
        ratios.append(fast / slow)
    name = subject.name if case.model is None else case.model
    row = f"| {name} | {case.task} | {len(examples)} | **{statistics.median(ratios):.2f}** | < 4 |"
    print(row, flush=True)
    return row


def section() -> list[str]:
    """Measure, and give the lines of the section."""
    about = f"{torch.get_num_threads()} threads, torch {torch.__version__}, Python {platform.python_version()}"
    lines = [
        f"Made by `make bench` on {date.today()} ({about}), on sentences of the sample corpus. The naive loop makes",
        f"one full pass for each head, on batches of {TEXTS} texts, as they come or sorted by length; in brackets,",
        "how much of them is padding, which ours has none of. Ours is the study of `attlas ablate`, which goes on",
        "from the cut. All take turns in one process. The difference is the largest of any text's loss under any",
        "cut. Asked for: at most half of the naive loop. Without any padding, and with every place read, what",
        "is saved is the layers below the cut and the attention at it, which for 12 layers leaves .51.",
        "",
        "| model | task | heads | texts (pieces) | attlas, s | naive loop, s | ratio | sorted, s | ratio "
        "| difference, nats | |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        try:
            lines.append(heads_off(case))
        except ModelError:
            print(f"{case.model} is not on this machine")
    lines += [
        "",
        "Importance of all heads by gradients, over one pass forward and back of the plain model on the same batches",
        f"(median of {ROUNDS} rounds; the plain pass has gradients of all parameters, importance of gates alone):",
        "",
        "| model | task | texts | ratio | asked for |",
        "|---|---|---|---|---|",
    ]
    for case in CASES:
        try:
            lines.append(gradients(case))
        except ModelError:
            continue
    return lines


def main() -> None:
    """Measure, print, and write the section; it takes some minutes."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(THREADS, os.cpu_count() or 1))
    try:
        put(HEADING, section())
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    main()
