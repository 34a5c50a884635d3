"""The survey's kernels on a GPU: equal to the matrix, and fast and small at lengths where the matrix cannot be built.

    python -m benchmarks.device PAGE.md

One causal layer of nine 64-wide heads, float32: the plain fused attention, the survey's row statistics, and entropy
and distance alone by the matrix, as far as that goes. Needs torch with CUDA and nothing beyond attlas's core path.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import torch

from attlas.ids import Site, Stream
from attlas.measures.rows import fast_statistics, matrix_statistics
from attlas.models.seam import AttentionCall

HEADS, WIDTH = 9, 64


def call_of(pieces: int, *, causal: bool = True) -> AttentionCall:
    """Random queries, keys and values of one text."""
    q, k, v = (torch.randn(1, HEADS, pieces, WIDTH, device="cuda") for _ in range(3))
    return AttentionCall(Site(Stream.DECODER, 0), q, k, v, None, WIDTH**-0.5, causal=causal)


def asked(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Five classes of keys, lengths, and 64 pairs."""
    keys = call.shape[3]
    columns = torch.nn.functional.one_hot(torch.randint(5, (1, 1, keys), device="cuda"), 5).float()
    pairs = torch.randint(keys, (1, 64, 2), device="cuda").sort(-1, descending=True).values
    return columns, torch.rand(1, HEADS, keys, device="cuda") + 0.5, pairs


def cost(run: Callable[[], object], rounds: int = 5) -> tuple[float, float]:
    """Median milliseconds and peak GiB beyond what was there."""
    run()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return sorted(times)[rounds // 2] * 1e3, (torch.cuda.max_memory_allocated() - before) / 2**30


def agreement() -> list[str]:
    """The largest difference between the fast way and the matrix, for three kinds of call."""
    lines = []
    for causal in (True, False):
        call = call_of(1000, causal=causal)
        given = asked(call)
        difference = fast_statistics(call, *given).difference(matrix_statistics(call, *given))
        lines.append(f"- 1,000 pieces, {'causal' if causal else 'both directions'}: {difference:.1e}")
    mask = torch.ones(2, 1, 333, 333, dtype=torch.bool, device="cuda")
    mask[1, ..., 300:] = False
    q = torch.randn(2, HEADS, 333, WIDTH, device="cuda")
    call = AttentionCall(Site(Stream.ENCODER, 0), q, q.roll(1, 2), q, mask, WIDTH**-0.5)
    lengths = torch.rand(2, HEADS, 333, device="cuda") + 0.5
    given = (torch.rand(2, 1, 333, 3, device="cuda"), lengths, torch.randint(300, (2, 9, 2), device="cuda"))
    difference = fast_statistics(call, *given).difference(matrix_statistics(call, *given))
    return [*lines, f"- a batch of two with padding: {difference:.1e}"]


def main(page: Path) -> None:
    """Measure, print, and write the page."""
    torch.manual_seed(0)
    lines = [
        "# Benchmarks: the survey's kernels on a GPU",
        "",
        f"Made by `python -m benchmarks.device` on {date.today()}: {torch.cuda.get_device_name()}, torch",
        f"{torch.__version__}, one causal layer of {HEADS} heads of width {WIDTH}, float32.",
        "",
        "Largest difference between the fast statistics and those of the matrix:",
        "",
        *agreement(),
        "",
        "| pieces | plain attention, ms | all row statistics, ms | ratio | GiB | "
        "entropy and distance by matrix, ms | GiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for pieces in (4096, 16384, 65536, 131072):
        call = call_of(pieces)
        given = asked(call)
        q, k, v = call.query, call.key, call.value
        plain, _ = cost(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))  # noqa: B023
        fast, room = cost(lambda: fast_statistics(call, *given))  # noqa: B023
        slow, much = cost(lambda: matrix_whole(call)) if pieces <= 16384 else (None, None)  # noqa: B023
        by_matrix = "does not fit | " if slow is None else f"{slow:.1f} | {much:.2f}"
        lines.append(f"| {pieces:,} | {plain:.1f} | {fast:.1f} | {fast / plain:.1f} | {room:.2f} | {by_matrix} |")
    page.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print("\n".join(lines))


def matrix_whole(call: AttentionCall) -> object:
    """Weights, their entropy and mean distance by the whole matrix, as the usual route has it."""
    weights = call.weights()
    i = torch.arange(call.shape[2], device="cuda")
    apart = (i[:, None] - i).abs().float()
    return -(weights * weights.clamp(min=1e-30).log()).sum(-1), (weights * apart).sum(-1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
