"""The host's part of studies of short texts: what is done before the model runs over a batch, and after.

    python -m benchmarks.host [PAGE.md] [--before COMMIT] [--passages 612] [--rounds 5]

On a GPU the host has to mark pieces, words, edges and copies, and to take sums into bundles, while the device works;
where that takes longer, the device waits. This measures it on a CPU, so that it can be seen without a GPU: the
passages of `benchmarks.device_studies`, encoded, in batches of 32,768 pieces. *Made ready* is from a batch of
examples to tensors and opened passes, all of the passages; *taken in* is from what has come over from the device to
the bundle, of 96 passages that have gone through a model of 12 layers x 12 narrow heads; *operations* are those of
torch within a layer's call at the seam, with the kernels of a GPU left out, on average and in a layer that is not the
first.

Times are of the processor, of one thread, the least of some rounds. With ``--before`` the same is measured with the
sources of another commit, in a process of its own that takes turns with this one's, round by round.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

import attlas
from attlas.capture import Subject
from attlas.capture.reading import read_documents
from attlas.models import Example
from attlas.run.source import Listed
from attlas.studies.clusters.passes import Clusters
from attlas.studies.relations.passes import Choice, Relations, labels_of
from attlas.studies.shared.piece_classes import tags_of, word_ranks
from attlas.studies.shared.watching import Together
from attlas.studies.survey.passes import Survey
from attlas.text import Document
from benchmarks.device_studies import PASSAGES, counted, passages, tokenizer

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "results" / "host.md"
LAYERS = HEADS = 12
TAKEN = 96  # passages that go through the model
BUDGET = 32_768


def subject_of(documents: list[Document]) -> Subject:
    """A model of as many layers and heads as BERT-base, each head four wide."""
    pieces = tokenizer(documents)
    config = transformers.BertConfig(
        vocab_size=len(pieces), hidden_size=4 * HEADS, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=8,
    )  # fmt: skip
    torch.manual_seed(0)
    return Subject.of(transformers.BertModel(config, add_pooling_layer=False).eval(), pieces, "narrow heads")


def studies_of(subject: Subject, documents: list[Document]) -> dict[str, Any]:
    """The studies; relations score heads that were drawn."""
    labels = labels_of(documents)
    generator = np.random.default_rng(0)
    heads = np.stack([generator.integers(of, size=(2, len(labels))) for of in (LAYERS, HEADS)], -1)
    survey = Survey(subject, tags=tags_of(documents), ranks=word_ranks(documents), edges=True)
    relations = Relations(subject, labels, choice=Choice(heads, generator.random((2, len(labels)))))
    clusters = Clusters(subject)
    together = Together("heads", [survey, relations, clusters])
    return {"survey": survey, "relations": relations, "clusters": clusters, "heads": together}


@dataclass
class Measured:
    """What is measured, round by round."""

    parts: dict[str, Any]
    source: Listed[Example]
    gives: dict[str, Callable[[Any], object]]

    def round(self) -> dict[str, float]:
        """Milliseconds of each part, once."""
        found = {}
        for name, part in self.parts.items():
            began = time.process_time()
            for batch in self.source.from_place():
                part.prepare(batch.items)
            found[f"{name} ready"] = 1000 * (time.process_time() - began)
            if name in self.gives:
                bundle = part.empty()
                began = time.process_time()
                self.gives[name](bundle)
                found[f"{name} taken"] = 1000 * (time.process_time() - began)
        return found


@contextmanager
def kernels_left_out() -> Iterator[None]:
    """All calls go the way of a GPU, whose kernels do nothing."""
    from attlas.measures import device, kernels, rows

    class Nothing:
        def __getitem__(self, grid: object) -> Callable[..., None]:
            return lambda *given, **more: None

    stub = types.ModuleType("attlas.measures.device_kernels")
    for name in ("attend", "add_up", "pack", "weigh", "bring"):
        setattr(stub, name, Nothing())
    import attlas.capture.subject as subjects

    changes = [
        (device, "_missing", lambda where: ""), (kernels, "way_of", lambda call: ("kernel", "")),
        (rows, "way_of", lambda call: ("kernel", "")), (subjects, "lengths", device.lengths),
        (attlas.measures, "device_kernels", stub),
    ]  # fmt: skip
    kept = [(where, name, getattr(where, name, None)) for where, name, _ in changes]
    sys.modules[stub.__name__] = stub
    for where, name, made in changes:
        setattr(where, name, made)
    try:
        yield
    finally:
        for where, name, own in kept:
            setattr(where, name, own)
        del sys.modules[stub.__name__]


def operations(part: Any, examples: list[Example]) -> tuple[float, float]:
    """How many operations a layer's call asks for, on average and in a later layer."""
    with kernels_left_out(), counted(part) as seen:
        part.launch(part.prepare(examples))
    calls = [count for count, _ in seen]
    return sum(calls) / LAYERS, calls[-1]


def worker(count: int) -> None:
    """Set up, say how many operations are asked for, and then one line of figures for each line that is read."""
    torch.set_num_threads(1)
    documents = passages(count)
    subject = subject_of(documents)
    examples = list(read_documents(subject, documents, limit=128).examples)
    parts = studies_of(subject, documents)
    asked = {name: operations(parts[name], examples[:4]) for name in ("survey", "relations")}
    gives = {}
    with torch.no_grad():
        for name in ("survey", "relations"):
            gives[name] = parts[name].launch(parts[name].prepare(examples[:TAKEN]))
    source = Listed(examples, [example.length for example in examples], budget=BUDGET)
    measured = Measured(parts, source, gives)
    print(json.dumps({"operations": asked, "pieces": source.pieces, "passages": len(examples)}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(measured.round()), flush=True)


class Process:
    """A process that measures with some sources."""

    def __init__(self, sources: Path, count: int) -> None:
        path = os.pathsep.join([str(sources), str(ROOT)])
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        self._running = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.host", "--worker", "--passages", str(count)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment,
        )  # fmt: skip
        self.about: dict[str, Any] = self._line()
        self.least: dict[str, float] = {}

    def round(self) -> None:
        """Measure once more, and keep what is least."""
        assert self._running.stdin is not None
        self._running.stdin.write("\n")
        self._running.stdin.flush()
        for name, value in self._line().items():
            self.least[name] = min(value, self.least.get(name, value))

    def end(self) -> None:
        """Let the process go."""
        self._running.communicate()

    def _line(self) -> dict[str, Any]:
        assert self._running.stdout is not None
        while not (line := self._running.stdout.readline()).startswith("{"):
            if not line:
                raise SystemExit("the process that measures has ended")
        made: dict[str, Any] = json.loads(line)
        return made


@contextmanager
def sources_of(commit: str) -> Iterator[Path]:
    """The sources as they were."""
    packed = subprocess.run(["git", "archive", commit, "src"], check=True, capture_output=True, cwd=ROOT).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
        yield Path(folder) / "src"


def page(now: Process, before: Process | None, commit: str, rounds: int) -> list[str]:
    """The page, with figures of before where there are any."""
    about = now.about
    lines = [
        "# Benchmarks: the host's part of studies of short texts",
        "",
        f"Made by `python -m benchmarks.host` on {date.today()}: {about['passages']} passages of {about['pieces']:,}",
        f"pieces in batches of {BUDGET:,}, torch {torch.__version__}, Python {platform.python_version()}, one thread",
        f"of a CPU. Milliseconds of the processor, the least of {rounds} rounds" + (
            f", beside those of the sources of {commit}, which took turns." if before else "."
        ),
        "",
        "*Made ready* is what comes before the model runs (padding, marks, edges, copies, words), of all passages;",
        f"*taken in* what comes after, of {min(TAKEN, about['passages'])} passages. No model and no device are in",
        "these figures: how much of them a GPU waits for is not known from them, and",
        "[the studies on a GPU](device_studies.md) are a benchmark of their own. What is asked of a device",
        "already then (marks as numbers, the places of clusters' rows) is in these figures, too, done by the CPU.",
        "",
        "| study | made ready, ms | before | times as fast | a passage, ms | taken in, ms | before | times as fast |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    for name in ("survey", "relations", "clusters", "heads"):
        cells = [name]
        for what in ("ready", "taken"):
            own = now.least.get(f"{name} {what}")
            old = before.least.get(f"{name} {what}") if before else None
            cells += ["" if own is None else f"{own:.1f}", "" if old is None else f"{old:.1f}"]
            cells.append("" if own is None or old is None else f"{old / own:.1f}")
            if what == "ready":
                cells.append("" if own is None else f"{own / about['passages']:.3f}")
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        "Operations of torch in a layer's call at the seam, with the kernels of a GPU left out:",
        "",
        "| study | on average | before | in a later layer | before |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, (mean, later) in about["operations"].items():
        old = before.about["operations"][name] if before else None
        cells = [name, f"{mean:.0f}", f"{old[0]:.0f}" if old else "", f"{later}", f"{old[1]}" if old else ""]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description="The host's part of studies of short texts.")
    parser.add_argument("page", type=Path, nargs="?", default=PAGE)
    parser.add_argument("--before", default="", metavar="COMMIT")
    parser.add_argument("--passages", type=int, default=PASSAGES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        worker(asked.passages)
        return
    now, before = Process(ROOT / "src", asked.passages), None
    if asked.before:
        with sources_of(asked.before) as sources:
            before = Process(sources, asked.passages)
            for _ in range(asked.rounds):
                for process in (before, now):
                    process.round()
            before.end()
    else:
        for _ in range(asked.rounds):
            now.round()
    now.end()
    lines = page(now, before, asked.before, asked.rounds)
    print("\n".join(lines))
    asked.page.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
