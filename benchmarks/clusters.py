"""Distances of all pairs of heads: ours beside the published script's loop, as shipped (float16) and in float32.

    python -m benchmarks.clusters

The weights are those of a model of 12 x 12 heads on segments of 128 pieces of the sample corpus. The loop takes every
head against all others, smoothed, with two quotients and two logarithms for each of the 144 x 144 pairs and every
key; it is written here anew after the published one. All take turns in one process, ours with two threads (the loop
has one).
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from bisect import bisect_right
from collections.abc import Callable
from datetime import date

import numpy as np
import torch

from attlas.capture import Recorder, Subject
from attlas.corpora import read
from attlas.measures.divergence import divergences, head_pairs
from attlas.studies.clusters.passes import Clusters
from attlas.text import Document
from benchmarks.page import put
from benchmarks.views import encoder

HEADING = "Distances of all pairs of heads"
PIECES, SEGMENTS, ROUNDS, THREADS = 128, 2, 5, 2
ASKED = {"float16": 90, "float32": 6}


def published(weights: np.ndarray, kind: type[np.floating]) -> np.ndarray:
    """Sums over queries of the divergence of all ordered pairs of heads, as the published script takes them."""
    n = weights.shape[-1]
    smooth = (kind(0.001) / kind(n) + kind(0.999) * weights.astype(kind)).astype(kind)
    found = np.zeros((len(smooth), len(smooth)))
    for number, head in enumerate(smooth):
        mean = (head[None] + smooth) / kind(2)
        one = -(head[None] * np.log(mean / head[None])).sum(-1)
        other = -(smooth * np.log(mean / smooth)).sum(-1)
        found[number] = ((one + other) / kind(2)).astype(np.float64).sum(-1)
    return found


def segments(subject: Subject, count: int) -> list[Document]:
    """Texts of exactly so many pieces, from different places of the sample; short ends are filled up with "the"."""
    words = [form for document in read("sample").documents for form in document.forms]

    def cut(begin: int) -> Document:
        def length(kept: list[str]) -> int:
            return subject.pieces.length(Document.from_words(kept))

        rest = words[begin : begin + PIECES]
        kept = rest[: bisect_right(range(1, len(rest) + 1), PIECES, key=lambda number: length(rest[:number]))]
        return Document.from_words(kept + ["the"] * (PIECES - length(kept)))

    return [cut(begin * PIECES) for begin in range(count)]


def weights_of(subject: Subject, document: Document) -> torch.Tensor:
    """The weights of all heads on one text, (head, query, key)."""
    recorder = Recorder()
    with torch.no_grad(), subject.use(recorder):
        subject.run(subject.batch([document]))
    return torch.cat([recorder.get(site)[0] for site in subject.sites])


def seconds(run: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    with torch.no_grad():
        run()
    return time.perf_counter() - began


def largest_errors(weights: torch.Tensor, ours: torch.Tensor, loops: dict[str, np.ndarray]) -> dict[str, float]:
    """Per query, how far ours and the loops are from scipy's Jensen-Shannon distance squared, on some pairs."""
    from scipy.spatial.distance import jensenshannon

    first, second = head_pairs(len(weights))
    exact = weights.double().numpy()
    worst = dict.fromkeys(("ours", *loops), 0.0)
    for pair in np.random.default_rng(0).choice(len(first), 60, replace=False):
        a, b = first[pair], second[pair]
        true = np.nansum(jensenshannon(exact[a], exact[b], axis=-1) ** 2)
        found = {"ours": ours[pair].item(), **{name: loop[a, b] for name, loop in loops.items()}}
        worst = {name: max(worst[name], abs(value - true) / PIECES) for name, value in found.items()}
    return worst


def over_forward(subject: Subject, documents: list[Document]) -> float:
    """The whole study over the plain forward, on the same texts."""
    batch = subject.batch(documents)
    examples = subject.pieces.encode_all(_passages(documents))
    study = Clusters(subject)
    ratios = []
    for _ in range(ROUNDS):
        bundle = study.empty()
        plain = seconds(lambda: subject.run(batch))
        ratios.append(seconds(lambda bundle=bundle: study.update(bundle, examples)) / plain)
    return statistics.median(ratios[1:])


def _passages(documents: list[Document]) -> list:
    from attlas.text import Passage

    return [Passage(document) for document in documents]


def section() -> list[str]:
    """Measure, and give the lines of the section."""
    subject, name = encoder()
    documents = segments(subject, SEGMENTS)
    texts = [weights_of(subject, document) for document in documents]
    divergences(texts[0])  # warms up
    ours = [seconds(lambda text=text: divergences(text)) for text in texts for _ in range(ROUNDS)]
    results: dict[str, np.ndarray] = {}
    taken: dict[str, list[float]] = {"float32": [], "float16": []}
    for kind, number in ((np.float32, SEGMENTS), (np.float16, 1)):
        for text in texts[:number]:
            plain = text.numpy()
            began = time.perf_counter()
            found = published(plain, kind)
            taken[kind.__name__].append(time.perf_counter() - began)
            results.setdefault(kind.__name__, found)
            print(f"{kind.__name__} loop: {taken[kind.__name__][-1]:.2f} s", flush=True)
    ours += [seconds(lambda text=text: divergences(text)) for text in texts for _ in range(ROUNDS)]
    typical = statistics.median(ours)
    errors = largest_errors(texts[0], divergences(texts[0]), results)
    layers, heads = subject.shape(subject.streams[0])
    count = len(head_pairs(layers * heads)[0])
    about = f"{torch.get_num_threads()} threads, torch {torch.__version__}, Python {platform.python_version()}"
    lines = [
        f"Made by `make bench` on {date.today()}: the weights of {name}, {layers} layers x {heads} heads, on",
        f"segments of {PIECES} pieces of the sample corpus; all {count:,} pairs of heads. The loop is the published",
        "script's, each head against all, smoothed, as shipped (float16) and in float32, in numpy, one thread.",
        f"Ours is the median of {len(ours)} runs before and after the loops ({about}). The error is",
        "the largest of 60 pairs, per query, against scipy's `jensenshannon` squared; the loops' comes from",
        "smoothing and, in float16, from rounding.",
        "",
        "| | ms per segment | ours is faster | asked for | error, nats |",
        "|---|---|---|---|---|",
        f"| attlas | {1000 * typical:.0f} | | | {errors['ours']:.0e} |",
    ]
    for kind, times in taken.items():
        slow = statistics.median(times)
        lines.append(
            f"| the loop in {kind} | {1000 * slow:,.0f} | {slow / typical:.0f} times | ≥ {ASKED[kind]} times "
            f"| {errors[kind]:.0e} |"
        )
    ratio = over_forward(subject, documents)
    lines += ["", f"The whole study takes {ratio:.1f} times the plain forward pass over the same segments."]
    print("\n".join(lines[-6:]), flush=True)
    return lines


def main() -> None:
    """Measure, print, and write the section; the float16 loop alone takes about a minute."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(THREADS, os.cpu_count() or 1))
    try:
        put(HEADING, section())
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    main()
