"""The survey on a GPU beside the plain model: how much longer it takes, how much memory, and whether it is right.

    python -m benchmarks.device PAGE.md [--part agreement|layer|models ...] [--tiny]

Three parts. *Agreement*: random calls of every kind that the kernels cover, against the matrix in float64. *Layer*:
one causal layer of nine 64-wide heads in bfloat16 against torch's own attention, up to a million pieces. *Models*:
whole models of known shapes with random weights, one text each, the survey against the plain forward pass (the base
model on both sides, no logits), measured in turns in one process. Needs torch with CUDA, Triton and the model
library, and nothing beyond attlas's core path: no tables are written. ``--tiny`` tries the models' part on a CPU.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.nn.functional import one_hot

from attlas.capture.subject import Subject
from attlas.ids import Site, Stream
from attlas.measures import device
from attlas.measures.kernels import WINDOW, Attended
from attlas.models import Encoded, Example
from attlas.models.adopting import adopt
from attlas.models.seam import AttentionCall
from attlas.studies.survey.passes import Survey
from attlas.text import Document, Passage, Segmentation

KINDS = ("plain", "causal", "padded right", "padded left", "window", "chunk", "both ways within 30")
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 1e-3, torch.float16: 1e-3}
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "smollm2": ("Llama", {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
                          "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152}),
    "qwen3-8b": ("Qwen3", {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
                           "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
                           "vocab_size": 151936}),
}  # fmt: skip
ASKED = {("smollm2", 8192): 3.0, ("smollm2", 32768): 2.5, ("smollm2", 131072): 2.5, ("qwen3-8b", 16384): 1.8}


def random_call(
    kind: str, dtype: torch.dtype, *, pieces: int = 300, texts: int = 2, heads: int = 4, groups: int = 2,
    width: int = 64, value: int = 64, softcap: float | None = None, bias: str = "", sinks: bool = False,
) -> AttentionCall:  # fmt: skip
    """Random queries, keys and values of some texts, under a mask of a kind."""
    where = "cuda" if torch.cuda.is_available() else "cpu"
    query = torch.randn(texts, heads, pieces, width, device=where)
    key = torch.randn(texts, groups, pieces, width, device=where)
    values = torch.randn(texts, groups, pieces, value, device=where)
    mask = None if kind in ("plain", "causal") else masked(kind, texts, pieces, where)
    ahead = None
    if bias:
        i = torch.arange(pieces, device=where)
        ahead = (i[None] - i[:, None])[None, None]
    slopes = 4.0 ** -torch.arange(1, heads + 1, device=where)
    added = None if ahead is None else slopes[:, None, None] * ahead if bias == "ALiBi" else _buckets(heads, ahead)
    return AttentionCall(
        Site(Stream.DECODER, 0), query.to(dtype), key.to(dtype), values.to(dtype), mask, width**-0.5,
        causal=kind == "causal", bias=added, softcap=softcap,
        sinks=torch.randn(heads, device=where) if sinks else None,
    )  # fmt: skip


def masked(kind: str, texts: int, pieces: int, where: str) -> torch.Tensor:
    """What may be seen, (text, 1, query, key)."""
    i = torch.arange(pieces, device=where)
    ahead = i[None] - i[:, None]
    kinds = {
        "padded right": torch.ones_like(ahead, dtype=torch.bool), "padded left": ahead <= 0,
        "window": (ahead <= 0) & (ahead > -40), "chunk": (ahead <= 0) & (i[None] // 48 == i[:, None] // 48),
        "both ways within 30": ahead.abs() <= 30,
    }  # fmt: skip
    mask = kinds[kind].repeat(texts, 1, 1, 1)
    if kind == "padded right":
        mask[1:, ..., pieces - pieces // 4 :] = False
    if kind == "padded left":
        mask[1:, ..., : pieces // 7] = False
    return mask


def _buckets(heads: int, ahead: torch.Tensor) -> torch.Tensor:
    """A number per head for every distance, of which the larger share one."""
    table = torch.randn(heads, 33, device=ahead.device)
    return table[:, ahead[0, 0].clamp(-16, 16) + 16][None]


def by_matrix(
    call: AttentionCall, columns: torch.Tensor, lengths: torch.Tensor, readers: torch.Tensor
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """All sums from the weights in float64; and the sums of what is added, all taken as positive, which is what a
    sum of terms of either sign is held to."""
    held = {name: getattr(call, name) for name in ("query", "key", "value", "bias", "sinks")}
    query, key, value, bias, sinks = (None if part is None else part.double() for part in held.values())
    assert query is not None
    assert key is not None
    assert value is not None
    double = AttentionCall(
        call.site, query, key, value, call.mask, call.scaling, causal=call.causal, bias=bias, softcap=call.softcap,
        sinks=sinks,
    )  # fmt: skip
    visible = double.visible()
    weights, scores = double.weights(), double.scores()
    if visible is not None:
        weights = weights * visible
        scores = scores.masked_fill(~visible, -torch.inf)
    i = torch.arange(weights.shape[-1], device=weights.device)
    apart = i[None] - i[:, None]
    nu, gap, near = lengths.double()[:, :, None], apart.abs().double(), (apart.abs() <= WINDOW).double()
    norms, logs = weights * nu, torch.xlogy(weights, weights)
    c = columns.double()
    sums = {
        "top": scores.amax(-1), "weight": weights @ c, "norm": norms @ c, "total": weights.sum(-1),
        "length": norms.sum(-1), "weight_log": logs.sum(-1), "norm_log": (logs * nu).sum(-1),
        "length_log": (norms * nu.log()).sum(-1), "weight_distance": (weights * gap).sum(-1),
        "norm_distance": (norms * gap).sum(-1),
        "within": torch.stack([(weights * near).sum(-1), (norms * near).sum(-1)], -1),
        "near": torch.stack([(weights * (apart == offset)).sum(-1) for offset in (-1, 0, 1)], -1),
        "received": (weights * readers.double()).sum(2), "mixed": weights @ double.values,
    }  # fmt: skip
    sizes = {name: total.abs() for name, total in sums.items()}
    sizes["length_log"] = (norms * nu.log().abs()).sum(-1)
    sizes["top"] = scores.abs().nan_to_num(posinf=0.0).amax(-1)
    sizes["mixed"] = weights @ double.values.abs()
    return {name: (sums[name], sizes[name]) for name in sums}


def worst(call: AttentionCall, *, norms: bool = True) -> tuple[float, str]:
    """The largest error of any sum as a share of what is allowed, tolerance x value + 1e-6, and of which sum. The
    model's own outputs are allowed two units of their precision."""
    texts, heads, pieces, _ = call.shape
    where = call.value.device
    columns = one_hot(torch.randint(5, (texts, 1, pieces), device=where), 5).float()
    lengths = torch.rand(texts, heads, pieces, device=where) * 3 + 0.1 if norms else None
    readers = torch.rand(texts, 1, pieces, 1, device=where)
    got = Attended(*(*device.attend(call, columns, lengths, readers, WINDOW), columns[..., 0]))
    ones = torch.ones(texts, heads, pieces, device=where)
    expected = by_matrix(call, columns, ones if lengths is None else lengths, readers)
    shares = {}
    for name, (value, size) in expected.items():
        ours = getattr(got, name).double()
        least = 2 * torch.finfo(call.value.dtype).eps if name == "mixed" else 0.0
        told = value.isfinite()
        assert bool((ours[~told] == value[~told]).all()), name
        allowed = max(TOLERANCE[call.value.dtype], least) * size + 1e-6
        shares[name] = float(((ours - value).abs() / allowed)[told].max())
    name = max(shares, key=lambda key: shares[key])
    return shares[name], name


def agreement() -> Iterator[str]:
    """One line for every kind of call."""
    yield "| call | float32 | bfloat16 | float16 |"
    yield "|---|--:|--:|--:|"
    more: dict[str, dict[str, Any]] = {
        "soft cap": {"softcap": 5.0}, "ALiBi": {"bias": "ALiBi"}, "T5 buckets": {"bias": "T5 buckets"},
        "learned sinks": {"sinks": True}, "queries 192 wide, values 128": {"width": 192, "value": 128},
        "256 wide": {"width": 256, "value": 256}, "24 wide": {"width": 24, "value": 24},
        "no lengths": {"norms": False}, "one head for all": {"groups": 1}, "2,000 pieces": {"pieces": 2000},
    }  # fmt: skip
    calls: list[tuple[str, str, dict[str, Any]]] = [(kind, kind, {}) for kind in KINDS]
    calls += [(f"causal, {name}", "causal", options) for name, options in more.items()]
    for name, kind, options in calls:
        norms, cells = options.pop("norms", True), []
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            share, which = worst(random_call(kind, dtype, **options), norms=norms)
            cells.append(f"{share:.2f} ({which})")
        yield f"| {name} | {' | '.join(cells)} |"


def layer() -> Iterator[str]:
    """One line for every length: torch's attention and all sums of the seam."""
    yield "| pieces | torch's attention, ms | attention and all sums, ms | ratio | GiB more |"
    yield "|--:|--:|--:|--:|--:|"
    for pieces in (8192, 32768, 131072, 1_048_576):
        call = random_call("causal", torch.bfloat16, pieces=pieces, texts=1, heads=9, groups=9)
        columns = one_hot(torch.randint(4, (1, 1, pieces), device="cuda"), 4).float()
        lengths = torch.rand(1, 9, pieces, device="cuda") + 0.5
        readers = torch.ones(1, 1, pieces, 1, device="cuda")
        query, key, value = call.query, call.key, call.value

        def plain() -> object:
            return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)  # noqa: B023

        def ours() -> object:
            return device.attend(call, columns, lengths, readers, WINDOW)  # noqa: B023

        times = side_by_side({"plain": plain, "ours": ours}, rounds=1 if pieces > 200_000 else 5)
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        got = Attended(*(*device.attend(call, columns, lengths, readers, WINDOW), columns[..., 0]))
        room = (torch.cuda.max_memory_allocated() - before) / 2**30
        ratio = statistics.median(b / a for a, b in zip(times["plain"], times["ours"], strict=True))
        yield (
            f"| {pieces:,} | {median(times['plain']) * 1e3:.1f} | {median(times['ours']) * 1e3:.1f} | {ratio:.2f} | "
            f"{room:.2f} |"
        )
        if pieces == 1_048_576:
            yield ""
            yield f"64 rows of the last, drawn, against float64: {drawn_rows(call, got, columns, lengths)}"


def drawn_rows(call: AttentionCall, got: Attended, columns: torch.Tensor, lengths: torch.Tensor) -> str:
    """The largest error of 64 rows as a share of what is allowed."""
    assert call.query is not None
    rows = torch.randint(call.shape[2], (64,), device="cuda")
    largest: dict[str, float] = {}
    for head in range(call.shape[1]):
        scores = call.query[0, head, rows].double() @ call.keys[0, head].double().T * call.scaling
        place = torch.arange(call.shape[3], device="cuda")
        weights = scores.masked_fill(place > rows[:, None], -torch.inf).softmax(-1)
        gap, nu = (rows[:, None] - place).abs().double(), lengths[0, head].double()
        expected = {
            "weight": weights @ columns[0, 0].double(), "norm": (weights * nu) @ columns[0, 0].double(),
            "weight_log": torch.xlogy(weights, weights).sum(-1), "weight_distance": (weights * gap).sum(-1),
        }  # fmt: skip
        for name, value in expected.items():
            error = (getattr(got, name)[0, head, rows].double() - value).abs() / (1e-3 * value.abs() + 1e-6)
            largest[name] = max(largest.get(name, 0.0), float(error.max()))
    return ", ".join(f"{name} {share:.2f}" for name, share in largest.items()) + " of what is allowed."


def subject_of(family: str, shape: dict[str, Any], *, where: str = "cuda") -> Subject:
    """A base model of a shape with random weights in bfloat16, on the seam; its tokenizer knows one word."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    kind, config = (getattr(transformers, family + part) for part in ("Model", "Config"))
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16 if where == "cuda" else torch.float32)
    try:
        with torch.device(where):
            model = kind(config(**shape, max_position_embeddings=1 << 20)).eval()
    finally:
        torch.set_default_dtype(before)
    words = Tokenizer(models.WordLevel({"<s>": 0, "a": 1}, unk_token="a"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", pad_token="<s>")
    return Subject(adopt(family, model, tokenizer))


def text_of(pieces: int, vocabulary: int) -> Example:
    """One text of random pieces, each a word."""
    places, nothing = tuple(range(pieces)), (0,) * pieces
    forms = ("a",) * pieces
    encoded = Encoded(
        tuple(torch.randint(vocabulary, (pieces,)).tolist()), nothing, ("",) * pieces,
        Segmentation(forms, places, nothing, pieces),
    )  # fmt: skip
    return Example(Passage(Document.from_words(list(forms))), encoded)


def median(times: list[float]) -> float:
    """The middle one."""
    return statistics.median(times)


def side_by_side(runs: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, list[float]]:
    """Seconds of several things in turns, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn, (name, run) in itertools.product(range(rounds + 1), runs.items()):
        _wait()
        began = time.perf_counter()
        run()
        _wait()
        if turn:
            times[name].append(time.perf_counter() - began)
    return times


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def whole_models(cases: list[tuple[str, int]], *, where: str = "cuda", rounds: int = 5) -> Iterator[str]:
    """One line for every model and length."""
    yield "| model | pieces | plain, s | survey, s | ratio | asked | plain, GiB | survey, GiB |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for name, same in itertools.groupby(cases, key=lambda case: case[0]):
        family, shape = SHAPES[name]
        subject = subject_of(family, shape, where=where)
        for _, pieces in same:
            example = text_of(pieces, shape["vocab_size"])
            study = Survey(subject)
            ids = torch.tensor([example.source.ids], device=where)

            def plain() -> object:
                with torch.inference_mode():
                    return subject.model(input_ids=ids, use_cache=False)  # noqa: B023

            def survey() -> object:
                study.update(bundle, [example])  # noqa: B023
                return None

            bundle = study.empty()
            times = side_by_side({"plain": plain, "survey": survey}, rounds)
            ratio = statistics.median(b / a for a, b in zip(times["plain"], times["survey"], strict=True))
            room = [peak(run) for run in (plain, survey)]
            yield (
                f"| {name} | {pieces:,} | {median(times['plain']):.3f} | {median(times['survey']):.3f} | "
                f"{ratio:.2f} | {ASKED.get((name, pieces), float('nan'))} | {room[0]:.2f} | {room[1]:.2f} |"
            )
        gc.collect()
        if where == "cuda":
            torch.cuda.empty_cache()


def peak(run: Callable[[], object]) -> float:
    """The most memory that something takes, GiB, with what lies there already."""
    if not torch.cuda.is_available():
        return float("nan")
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() / 2**30


PARTS = ("agreement", "layer", "models")


def main() -> None:
    """Measure, print as it comes, and write the page."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks.device")
    asked.add_argument("page", type=Path)
    asked.add_argument("--part", action="append", choices=PARTS)
    asked.add_argument("--tiny", action="store_true")
    given = asked.parse_args()
    torch.manual_seed(0)
    if given.tiny:
        SHAPES["smollm2"] = ("Llama", {**SHAPES["smollm2"][1], "num_hidden_layers": 2, "vocab_size": 100})
        for line in whole_models([("smollm2", 256)], where="cpu", rounds=1):
            print(line)
        return
    parts: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
        "agreement": (
            "## Agreement\n\nThe largest error of any sum over random calls, as a share of what is allowed: 1e-5 of "
            "the value in\nfloat32 (no TF32), 1e-3 in half precision, and 1e-6; and of which sum.\n", agreement,
        ),
        "layer": ("## One layer of nine 64-wide heads, causal, bfloat16\n", layer),
        "models": ("## Whole models, one text, bfloat16\n", lambda: whole_models(list(ASKED))),
    }  # fmt: skip
    lines = [
        "# Benchmarks: the survey on a GPU",
        "",
        f"Made by `python -m benchmarks.device` on {date.today()}: {torch.cuda.get_device_name()}, torch "
        f"{torch.__version__},\ntransformers {transformers.__version__}. Beside each figure stands the time of plain "
        "attention or of the plain model, which\nis the limit.",
    ]
    for part in given.part or PARTS:
        title, rows = parts[part]
        lines += ["", title]
        print(title, flush=True)
        for line in rows():
            print(line, flush=True)
            lines.append(line)
        given.page.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(json.dumps({"page": str(given.page)}))


if __name__ == "__main__":
    main()
