"""What the study of relations costs beside the plain forward pass over the same sentences.

All sentences of the EWT dev set (of the sample, where that treebank does not lie beside the checkout), in the batches
of a real run. Plain forward and study take turns, batch by batch, in one process: the study's time counts everything
it does, from padding the batch to adding up the counts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import torch

from attlas.capture import Subject, load
from attlas.corpora import read
from attlas.models.bundled import models_folder
from attlas.run import batches
from attlas.run.setting import BUDGET
from attlas.studies.relations.call import read_sentences
from attlas.studies.relations.passes import Relations, labels_of
from benchmarks.page import put

TREEBANK = Path(__file__).resolve().parents[2] / "shared" / "data" / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz"
ROUNDS = 3
HEADING = "Relations, as a multiple of the plain sdpa forward over the same sentences"


def seconds(run: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    with torch.no_grad():
        run()
    return time.perf_counter() - began


def ratio(subject: Subject, measure: str, scoring: bool) -> tuple[float, int]:
    """The study's time over that of the plain forward, over the whole treebank; the median of some rounds."""
    corpus = read(TREEBANK if TREEBANK.exists() else "sample").sentences()
    examples = read_sentences(subject, corpus, min(512, subject.pieces.window), None, 0).examples
    study = Relations(subject, labels_of(corpus.documents), measure=measure)
    order = batches([example.length for example in examples], BUDGET)
    if scoring:
        study.choice = study.choose(study.empty())
        study.choice.heads[:] = 0  # some head for every relation, so that nothing is left out
    found = []
    for _ in range(ROUNDS):
        bundle = study.empty()
        plain = own = 0.0
        for batch in order:
            texts = [examples[index] for index in batch]
            made = subject.pieces.batch(texts)
            plain += seconds(lambda made=made: subject.run(made))
            own += seconds(lambda texts=texts, bundle=bundle: study.update(bundle, texts))
        found.append(own / plain)
    return statistics.median(found), len(examples)


def main() -> None:
    """Measure, print, and write the section."""
    subject = load("e5-small" if (models_folder() / "e5-small").is_dir() else None)
    rows = []
    for measure in ("weight", "norm"):
        for part in ("choosing", "scoring"):
            value, count = ratio(subject, measure, part == "scoring")
            rows.append(f"| {measure} | {part} | {value:.2f} | ≤ 1.5 |")
            print(rows[-1], flush=True)
    where = "the EWT dev set" if TREEBANK.exists() else "the sample"
    lines = [
        f"Made by `make bench` on {date.today()}: {subject.name} on {where} ({count:,} sentences), median of",
        f"{ROUNDS} rounds, {torch.get_num_threads()} threads.",
        "",
        "| measure | part | time over plain | asked for |",
        "|---|---|---|---|",
        *rows,
    ]
    put(HEADING, lines)


if __name__ == "__main__":
    main()
