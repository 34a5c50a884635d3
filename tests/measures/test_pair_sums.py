"""Sums over pairs of heads by the kernel, interpreted where there is no GPU, against float64 and the way of a CPU."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from attlas.errors import CapabilityError
from attlas.measures import pair_sums as kernel
from attlas.measures.divergence import divergences_of_texts, entropies, from_pair_sums, head_pairs
from attlas.measures.pair_sums import pair_sums

NO_TRITON = "Triton is not installed here"
SIZES = [(3, 5), (1, 1), (4, 2), (7, 7)]  # queries and keys of each text
HEADS = 19  # more than a tile, and no whole number of them


def packed_rows(seed: int = 0) -> torch.Tensor:
    """Rows of all heads, some weights zero, one head like another."""
    generator = torch.Generator().manual_seed(seed)
    texts = []
    for queries, keys in SIZES:
        scores = 4 * torch.randn(HEADS, queries, keys, generator=generator)
        scores[torch.rand(scores.shape, generator=generator) < 0.3] = -torch.inf
        scores[..., 0] = 0.0
        texts.append(scores.softmax(-1).reshape(HEADS, -1))
    packed = torch.cat(texts, 1)
    packed[7] = packed[2]
    return packed


def exact(packed: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Divergences and entropies in float64, pair by pair, as they are defined."""
    p = packed.double().numpy()
    ends = np.cumsum([queries * keys for queries, keys in SIZES])
    pairs, own = [], []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        text = p[:, start:end]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(text > 0, text * np.log(text), 0.0).sum(1)
            found = []
            for a, b in zip(*head_pairs(HEADS), strict=True):
                m = (text[a] + text[b]) / 2
                found.append((logs[a] + logs[b]) / 2 - np.where(m > 0, m * np.log(m), 0.0).sum())
        pairs.append(found)
        own.append(-logs)
    return np.array(pairs), np.array(own)


def check(found: object, packed: torch.Tensor, tolerance: float, *, apart: float = 0.0) -> None:
    pairs, own = exact(packed)
    assert np.abs(found.pairs.cpu().numpy() - pairs).max() < tolerance
    assert np.abs(found.entropies.cpu().numpy() - own).max() < tolerance
    alike = [place for place, pair in enumerate(zip(*head_pairs(HEADS), strict=True)) if pair == (2, 7)]
    assert float(found.pairs[:, alike].max()) <= apart
    assert found.pairs.shape == (len(SIZES), HEADS * (HEADS - 1) // 2)


def test_text_by_text_it_is_what_the_definition_says() -> None:
    packed = packed_rows()
    check(divergences_of_texts(packed, *zip(*SIZES, strict=True)), packed, 1e-5, apart=1e-6)


def test_sums_of_pairs_give_distances_and_entropies() -> None:
    packed = packed_rows(1)
    joint, mass = [], []
    for text in packed.double().split([queries * keys for queries, keys in SIZES], 1):
        s = text[:, None] + text[None]
        joint.append(torch.special.entr(s).sum(-1).neg())
        mass.append(text.sum(-1))
    check(from_pair_sums(torch.stack(joint), torch.stack(mass)), packed, 1e-10)
    text = packed[:, :15].view(HEADS, 3, 5)
    assert torch.allclose(
        divergences_of_texts(packed[:, :15], [3], [5]).entropies[0], entropies(text).double().sum(-1)
    )


def test_chunks_hold_every_number_once_and_know_their_text() -> None:
    sizes = [5, 0, 1, 8]
    starts, stops, slots, most = kernel._chunks(sizes, 3)
    assert most == 3
    held = [place for start, stop in zip(starts, stops, strict=True) for place in range(start, stop)]
    assert held == list(range(sum(sizes)))
    ends = np.cumsum(sizes)
    owners = [int(np.searchsorted(ends, start, side="right")) for start in starts]
    assert [slot // most for slot in slots] == owners
    assert len(set(slots.tolist())) == len(slots)
    assert kernel._chunk([10**8], 45) * 90 < 1.1 * 10**8  # a long text is shared by many programs


@pytest.mark.skipif(importlib.util.find_spec("triton") is not None, reason="Triton is installed here")
def test_without_triton_the_kernel_is_refused() -> None:
    with pytest.raises(CapabilityError, match="needs Triton"):
        pair_sums(torch.ones(2, 2), [2])


INTERPRETED = """
import torch
from tests_of_pair_sums import SIZES, check, packed_rows
from attlas.measures import pair_sums as kernel
from attlas.measures.divergence import from_pair_sums
kernel._chunk = lambda sizes, tile_pairs: 11
kernel.AT_ONCE = 500
packed = packed_rows(2)
check(from_pair_sums(*kernel.pair_sums(packed, [q * k for q, k in SIZES])), packed, 1e-6)
print("equal")
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason=NO_TRITON)
def test_the_kernel_interpreted_gives_the_same() -> None:
    """In a process of its own, since Triton decides on import whether it interprets."""
    loading = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('tests_of_pair_sums', {__file__!r})\n"
        "module = sys.modules['tests_of_pair_sums'] = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", loading + INTERPRETED], env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "equal", done.stderr[-2000:]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_the_kernel_on_a_gpu_gives_the_same_bits_twice() -> None:
    packed = packed_rows(3)
    first, second = (divergences_of_texts(packed.cuda(), *zip(*SIZES, strict=True)) for _ in range(2))
    check(first, packed, 1e-6)
    assert torch.equal(first.pairs, second.pairs)
