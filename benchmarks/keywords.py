"""Key phrases from attention beside KeyBERT with the same model, and memory for one very long document.

    python -m benchmarks.keywords

*attlas* is the whole way of ``attlas keywords``, from raw texts to ten phrases of each: words are found, the model
runs, every word is weighed, phrases are ranked. *KeyBERT* is the package, from the same texts to ten phrases of one
to three words each, all texts in one call, which is its fastest way; once with its usual vectors
(sentence-transformers, mean of the last states) and once with vectors from the same running model that attlas reads.
All take turns, round by round, in one process. Memory is how much the peak of a process of its own grows over what
it has with the model open and one window read, while it goes through one document of so many words.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import torch

from attlas.capture import Subject, load
from attlas.corpora import read
from attlas.errors import ModelError
from attlas.studies.keywords_compare.baselines.packages import GRAMS, installed, keybert_on
from attlas.studies.shared.keywords.extraction import extract
from attlas.text import Document
from benchmarks.page import put
from benchmarks.survey import status

HEADING = "Key phrases of many texts, and of a long one"
THREADS, ROUNDS, TEXTS, TOP = 2, 3, 48, 10
MODELS = (None, "e5-small")
SIZES = (30_000, 120_000)
ABSTRACTS = Path(__file__).resolve().parents[2] / "shared/data/keyphrase/inspec_hulth2003/test.jsonl.gz"


def texts() -> tuple[list[str], str]:
    """Abstracts where they are at hand, else texts of the sample, three in one."""
    if ABSTRACTS.exists():
        return [document.text for document in read(ABSTRACTS).documents[:TEXTS]], "abstracts of Inspec"
    every = [document.text for document in read("sample").documents]
    joined = ["\n\n".join(every[at : at + 3]) for at in range(0, len(every), 3)]
    return joined[:TEXTS], "texts of the sample corpus, three in one"


def long_text(words: int) -> Document:
    """One document of so many words: the same texts again and again."""
    some = "\n\n".join(texts()[0])
    once = len(Document.from_text(some).words)
    return Document.from_text("\n\n".join([some] * (words // once + 1))).slice(0, words)


def by_attention(subject: Subject, given: Sequence[str]) -> None:
    """Ten phrases of each text."""
    for _ in extract(subject, (Document.from_text(text) for text in given), top=TOP):
        pass


def by_keybert(model: Any, given: Sequence[str]) -> None:
    """Ten phrases of each text."""
    model.extract_keywords(list(given), keyphrase_ngram_range=GRAMS, stop_words="english", top_n=TOP)


def usual_keybert(subject: Subject, folder: str) -> Any:
    """KeyBERT with sentence-transformers, on the weights of a model; None where that is not installed."""
    if not installed("sentence_transformers"):
        return None
    from keybert import KeyBERT
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    subject.save(folder)
    reader = Transformer(folder, max_seq_length=subject.pieces.window)
    pooling = Pooling(int(subject.model.config.hidden_size), "mean")
    return KeyBERT(SentenceTransformer(modules=[reader, pooling], device=subject.device.type))


def seconds(run: Callable[[], None]) -> float:
    """How long a call takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def measured(name: str | None, given: Sequence[str]) -> list[str]:
    """One row for each way to have KeyBERT."""
    subject = load(name)
    with tempfile.TemporaryDirectory() as folder:
        others = {"the same model": keybert_on(subject), "sentence-transformers": usual_keybert(subject, folder)}
        ways = {way: model for way, model in others.items() if model is not None}
        by_attention(subject, given[:4])
        for model in ways.values():
            by_keybert(model, given[:2])
        own: list[float] = []
        took: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            own.append(seconds(lambda: by_attention(subject, given)))
            for way, model in ways.items():
                took[way].append(seconds(lambda model=model: by_keybert(model, given)))  # type: ignore[misc]
    rows = []
    for way, times in took.items():
        ratios = sorted(other / one for one, other in zip(own, times, strict=True))
        rows.append(
            f"| {subject.name} | {way} | {len(given) / statistics.median(own):.1f} "
            f"| {len(given) / statistics.median(times):.1f} | **{statistics.median(ratios):.1f}** "
            f"| {ratios[0]:.1f} to {ratios[-1]:.1f} |"
        )
        print(rows[-1], flush=True)
    return rows


def memory(words: int) -> str:
    """One row: a process of its own goes through one document."""
    call = [sys.executable, "-c", f"from benchmarks.keywords import grow; grow({words})"]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=Path(__file__).resolve().parents[1])
    row = f"| {words:,} | {done.stdout.strip()} |"
    print(row, flush=True)
    return row


def grow(words: int) -> None:
    """Print windows, seconds, and by how many MiB the peak grows."""
    torch.set_num_threads(min(THREADS, os.cpu_count() or 1))
    subject, document = load(), long_text(words)
    for _ in extract(subject, [document.slice(0, 1000)]):
        pass
    before = status("VmHWM")
    began = time.perf_counter()
    one = next(extract(subject, [document]))
    spent = time.perf_counter() - began
    print(f"{one.windows} | {spent:.0f} | {status('VmHWM') - before:.0f}")


def section() -> list[str]:
    """Measure, and give the lines of the section."""
    given, what = texts()
    words = sum(len(Document.from_text(text).words) for text in given)
    about = f"{torch.get_num_threads()} threads, torch {torch.__version__}, Python {platform.python_version()}"
    lines = [
        f"Made by `make bench` on {date.today()} ({about}), on {len(given)} {what}",
        f"({words / len(given):.0f} words on average), {ROUNDS} rounds in turns, {TOP} phrases of each text.",
        "*attlas* is `attlas keywords` from raw texts to phrases; *KeyBERT* is the package on the same texts,",
        "n-grams of one to three words, all texts in one call; with vectors of the same running model, and its own.",
        "Asked for: at least 2 times KeyBERT's documents per second. The ratio is the median over rounds, with the",
        "least and the largest.",
        "",
        "| model | KeyBERT's vectors | attlas, documents/s | KeyBERT, documents/s | times | rounds |",
        "|---|---|---|---|---|---|",
    ]
    for name in MODELS if installed("keybert") else ():
        try:
            lines += measured(name, given)
        except ModelError:
            print(f"{name} is not on this machine")
    if not installed("keybert"):
        lines.append("| (the package keybert is not installed) | | | | | |")
    lines += [
        "",
        "One document of so many words, and by how much the peak of memory grows beyond that of a short one, with",
        "the text and its words in memory before. Asked for: more than 100,000 words, in bounded memory.",
        "",
        "| words | windows | s | MiB more |",
        "|---|---|---|---|",
        *map(memory, SIZES),
    ]
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
