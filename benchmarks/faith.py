"""Adversarial attention for every instance: all together, one by one, and one by one with full passes.

    python -m benchmarks.faith

Looks for the attention of the last layer that is furthest from the model's own while the prediction stays within a
TVD of .01, as ``attlas faith`` does. *Together* is batches of texts of like length; *one by one* is the same code on
one instance at a time; *full passes* runs the whole model in every step, as scripts do. All take turns, batch by
batch, in one process. Then every instance alone, without padding, is put through the whole model under the weights
that were found, which says whether its prediction is within the bound. The classifier's head is fresh, scaled so
that predictions differ from text to text: how long a search takes does not depend on what the labels mean.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Any

import torch

from attlas.capture import Subject
from attlas.corpora import Corpus, read
from attlas.errors import ModelError
from attlas.models.fresh import open_to_train
from attlas.run.batches import batches
from attlas.run.tasks import labels_of, read_for_task, task_for
from attlas.studies.shared.faith.adversary import Found, Search, adversaries
from attlas.studies.shared.faith.instances import Instance, ask, instances_of, require_labels
from attlas.studies.shared.faith.last import Reweighed
from benchmarks.page import put

HEADING = "Adversarial attention for every instance"
THREADS, BUDGET, INSTANCES = 2, 4096, 500
SPREAD = 3.0  # of the margins between a fresh head's scores


@dataclass(frozen=True)
class Case:
    """A model, a task; and of how many instances one goes alone, and with full passes."""

    model: str | None
    task: str
    alone: int
    full: int


CASES = (
    Case(None, "classification", 4, 100),
    Case(None, "tagging:upos", 20, 100),
    Case("e5-small", "classification", 50, 250),
)


def texts() -> Corpus:
    """Sentences of the sample, with labels."""
    sentences = read("sample").sentences()
    made = [replace(one, label=("even", "odd")[number % 2]) for number, one in enumerate(sentences.documents)]
    return replace(sentences, documents=tuple(made))


def posed(case: Case, corpus: Corpus) -> Any:
    """The task, with a head whose predictions differ from text to text."""
    kind = case.task.split(":")[0]
    labels = sorted({label for document in corpus.documents for label in labels_of(document, case.task)})
    torch.manual_seed(0)
    subject = Subject(open_to_train(case.model, task_head=kind, labels=labels))
    task = require_labels(task_for(subject, case.task, corpus))
    question = task.ask(read_for_task(task, corpus, limit=64).examples)
    with torch.no_grad():
        scores = task.scores(question, task.run(question)).flatten(0, 1)
        head = next(part for name, part in subject.model.named_modules() if name.split(".")[-1] == "classifier")
        head.weight *= SPREAD / scores.std(0).mean()
        head.bias -= task.scores(question, task.run(question)).flatten(0, 1).mean(0)
    return task


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call takes, and what it gives."""
    began = time.perf_counter()
    found = run()
    return time.perf_counter() - began, found


def look(model: Reweighed, instances: Sequence[Instance]) -> Found:
    """Adversaries of some instances, from their texts on."""
    return adversaries(model, model.record(ask(model.task, instances)), Search())


def outside(model: Reweighed, instances: Sequence[Instance], found: Found) -> float:
    """The largest TVD under the weights that were found, every instance alone in a full pass."""
    largest = 0.0
    for number, instance in enumerate(instances):
        own = model.record(ask(model.task, [instance]))
        (site,) = found.weights
        rows, pieces = own.weights[site].shape[2:]
        new = model.check(own, {site: found.weights[site][number : number + 1, :, :rows, :pieces]})
        largest = max(largest, float(own.moved(new)))
    return largest


def measured(case: Case) -> str:
    """One row."""
    corpus = texts()
    task = posed(case, corpus)
    every = instances_of(task, read_for_task(task, corpus).examples, limit=INSTANCES, per_text=2)
    fast, full = Reweighed(task), Reweighed(task, whole=True)
    look(fast, every[:2])  # finds its way and proves itself
    took = {"together": 0.0, "alone": 0.0, "full": 0.0}
    counts = dict.fromkeys(took, 0)
    together, single, largest, apart = [], [], 0.0, 0.0
    done = 0
    for numbers in batches([instance.example.length for instance in every], BUDGET):
        some = [every[number] for number in numbers]
        spent, found = seconds(partial(look, fast, some))
        took["together"] += spent
        counts["together"] += len(some)
        together.append(found.jsd)
        largest = max(largest, outside(full, some, found))
        for place, instance in enumerate(some):
            for way, step, model in (("alone", case.alone, fast), ("full", case.full, full)):
                if (done + place) % step == 0:
                    spent, one = seconds(partial(look, model, [instance]))
                    took[way] += spent
                    counts[way] += 1
                    if way == "alone":
                        single.append(one.jsd)
                        apart += float(one.jsd) - float(found.jsd[place])
        done += len(some)
    each = {way: took[way] / counts[way] for way in took}
    jsd = torch.cat(together)
    row = (
        f"| {task.subject.name} | {case.task} | {len(every)} | {took['together']:.1f} "
        f"| {each['alone'] * len(every):.0f} ({counts['alone']}) | **{each['alone'] / each['together']:.1f}** "
        f"| {each['full'] * len(every):.0f} ({counts['full']}) | {each['full'] / each['together']:.0f} "
        f"| {jsd.median():.2f} | {apart / len(single):+.3f} | {largest:.4f} |"
    )
    print(row, flush=True)
    return row


def section() -> list[str]:
    """Measure, and give the lines of the section."""
    about = f"{torch.get_num_threads()} threads, torch {torch.__version__}, Python {platform.python_version()}"
    search = Search()
    lines = [
        f"Made by `make bench` on {date.today()} ({about}), on sentences of the sample corpus with fresh heads: the",
        f"last layer's attention, all heads, {search.restarts} times {search.steps} steps, within a TVD of "
        f"{search.bound:g}; everything counts, from texts",
        "to the full pass that proves the result. In brackets, how many instances were measured for a figure; it is",
        "for all of them. Asked for: together at least 10 times as fast as one by one. JSD is the median over",
        "instances (at most .69), and beside it by how much more one by one finds. The last column is the largest",
        "TVD of any instance, each alone in a full pass under the weights that were found together.",
        "",
        "| model | task | instances | together, s | one by one, s | times | full passes, s | times | JSD "
        "| one by one | largest TVD |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        try:
            lines.append(measured(case))
        except ModelError:
            print(f"{case.model} is not on this machine")
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
