"""Whole studies over the plain forward pass, on short texts: survey, relations, clusters, and all three in one pass.

    python -m benchmarks.device_studies PAGE.md [--tiny] [--dtype bfloat16] [--budget 8192 32768] [--rounds 3]

A model of BERT-base's shape with random weights reads 612 passages that are put together from sentences of the
sample. Everything that a run does between the texts in memory and the filled sums is timed: batches, marks, the
forward pass, the sums; the plain forward has its batches ready on the device. Plain and studies take turns in one
process, and the page has the medians of their ratios. Beside each stands what one pass asked of the host: operations
in each layer's call at the seam, and how often anything waited for the device there. Needs torch and the model
library alone; ``--tiny`` is a trial on a CPU.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch.utils._python_dispatch import TorchDispatchMode

from attlas.capture import Subject
from attlas.capture.reading import read_documents
from attlas.corpora import read
from attlas.models import Example
from attlas.run.course import Keeping
from attlas.run.local import LOCAL
from attlas.run.plan import Plan
from attlas.run.source import Listed
from attlas.studies.clusters.passes import Clusters
from attlas.studies.relations.passes import Relations, labels_of
from attlas.studies.shared.piece_classes import tags_of, word_ranks
from attlas.studies.shared.watching import Together, Watcher
from attlas.studies.survey.passes import Survey
from attlas.text import ROOT, Document

PASSAGES, SHORTEST, LONGEST = 612, 38, 126  # words; 84 pieces on average
MOST = {"survey": 3.0, "relations": 4.0, "clusters": 20.0, "heads": 25.0}
WAITING = ("_local_scalar_dense", "nonzero", "is_nonzero", "equal", "_unique2", "masked_select")
VIEWS = frozenset({
    "view", "_unsafe_view", "expand", "slice", "select", "transpose", "unsqueeze", "permute", "t", "detach",
    "squeeze", "diagonal", "alias", "split", "unbind", "as_strided", "reshape",
})  # fmt: skip
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def passages(count: int, seed: int = 0) -> list[Document]:
    """Texts of some length each, made of whole sentences of the sample, with parts of speech and trees."""
    sentences = read("sample").sentences().documents
    generator = np.random.default_rng(seed)
    made = []
    for number in range(count):
        wanted = int(generator.integers(SHORTEST, LONGEST + 1))
        words: list[str] = []
        upos: list[str] = []
        governors: list[int] = []
        relations: list[str] = []
        while len(words) < wanted:
            sentence = sentences[int(generator.integers(len(sentences)))]
            shift = len(words)
            words += sentence.forms
            upos += sentence.upos or ()
            governors += [at if at == ROOT or at is None else at + shift for at in sentence.governors or ()]
            relations += sentence.relations or ()
        cut = min(len(words), LONGEST)
        whole = Document.from_words(
            words, upos=upos, governors=governors, relations=relations, name=f"passage {number}"
        )  # fmt: skip
        made.append(whole.slice(0, cut))
    return made


def tokenizer(documents: Sequence[Document]) -> Any:
    """One piece for every word of these texts, with BERT's special pieces."""
    forms = sorted({form.lower() for document in documents for form in document.forms})
    made = Tokenizer(models.WordLevel({piece: n for n, piece in enumerate([*SPECIAL, *forms])}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=512, **named)


def subject_of(documents: Sequence[Document], device: str, dtype: str, *, tiny: bool) -> Subject:
    """A model of BERT-base's shape, or a tiny one, with random weights."""
    small = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128}
    pieces = tokenizer(documents)
    config = transformers.BertConfig(vocab_size=max(30_522, len(pieces)), **(small if tiny else {}))
    torch.manual_seed(0)
    model = transformers.BertModel(config, add_pooling_layer=False).eval().to(device, getattr(torch, dtype))
    return Subject.of(model, pieces, "BERT-base's shape")


def studies_of(subject: Subject, documents: Sequence[Document], examples: Sequence[Example]) -> dict[str, Any]:
    """The studies, each as a part of a run; relations score the heads that were chosen on the same texts."""
    survey = Survey(subject, tags=tags_of(documents), ranks=word_ranks(documents), edges=True)
    relations = Relations(subject, labels_of(documents))
    clusters = Clusters(subject)
    bundle = relations.empty()
    relations.update(bundle, list(examples[:32]))
    relations.choice = relations.choose(bundle)
    together = Together("heads", [survey, relations, clusters])
    return {"survey": survey, "relations": relations, "clusters": clusters, "heads": together}


def settled(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def seconds(work: Callable[[], object], device: str) -> float:
    """How long one call takes, the device's work included."""
    settled(device)
    began = time.perf_counter()
    work()
    settled(device)
    return time.perf_counter() - began


def plain_of(subject: Subject, source: Listed[Example]) -> Callable[[], None]:
    """The forward pass alone, over batches that lie on the device."""
    made = [subject.pieces.batch(batch.items, subject.device) for batch in source.from_place()]

    def plain() -> None:
        with torch.no_grad():
            for batch in made:
                subject.read(batch)

    return plain


class Counting(TorchDispatchMode):
    """Counts the operations of a block, and those that wait for a device."""

    def __init__(self) -> None:
        super().__init__()
        self.all, self.waiting = 0, Counter[str]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name not in VIEWS:
            self.all += 1
        if name in WAITING:
            self.waiting[name] += 1
        return func(*args, **(kwargs or {}))


@contextmanager
def counted(part: Any) -> Iterator[list[tuple[int, int]]]:
    """What every call at the seam asks while a part is carried out: operations, and waits for the device."""
    seen: list[tuple[int, int]] = []
    studies: list[Watcher] = list(part.studies.values()) if isinstance(part, Together) else [part]
    kept = [study.begin for study in studies]

    def begin(opened: Callable[..., Any]) -> Callable[..., Any]:
        def again(*given: Any) -> Any:
            pass_ = opened(*given)
            take = pass_.take

            def counting(call: Any) -> None:
                with Counting() as mode:
                    take(call)
                seen.append((mode.all, mode.waiting.total()))

            pass_.take = counting
            return pass_

        return again

    for study, own in zip(studies, kept, strict=True):
        study.begin = begin(own)  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        for study in studies:
            del study.begin  # type: ignore[misc]


def measure(subject: Subject, documents: list[Document], budget: int, rounds: int) -> list[str]:
    """The rows of the table for one size of batches."""
    examples = read_documents(subject, documents, limit=128).examples
    source = Listed(examples, [example.length for example in examples], budget=budget)
    parts, device = studies_of(subject, documents, examples), subject.device.type
    plain = plain_of(subject, source)

    def study(part: Any) -> Callable[[], object]:
        return lambda: LOCAL.carry_out(part, source, Keeping(Plan("benchmark")))

    asked = {}
    for name, part in parts.items():  # warms up, too
        with counted(part) as seen:
            study(part)()
        layers = len(subject.sites) * (source.batches or 1)
        asked[name] = sum(count for count, _ in seen) / layers, sum(waits for _, waits in seen)
        study(part)()
    times: dict[str, list[float]] = {name: [] for name in ("plain", *parts)}
    plain()
    for _ in range(rounds):
        times["plain"].append(seconds(plain, device))
        for name, part in parts.items():
            times[name].append(seconds(study(part), device))
    rows = []
    for name in parts:
        ratios = [own / base for own, base in zip(times[name], times["plain"], strict=True)]
        base, own = (statistics.median(times[which]) for which in ("plain", name))
        operations, waits = asked[name]
        rows.append(
            f"| {name} | {budget:,} | {base:.4f} | {own:.4f} | {statistics.median(ratios):.1f} | {MOST[name]:.0f} | "
            f"{operations:.0f} | {waits} |"
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description="Whole studies over the plain forward pass, on short texts.")
    parser.add_argument("page", type=Path)
    parser.add_argument("--tiny", action="store_true", help="a tiny model and a few texts, on a CPU")
    parser.add_argument("--dtype", default="")
    parser.add_argument("--budget", type=int, nargs="+", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() and not asked.tiny else "cpu"
    dtype = asked.dtype or ("bfloat16" if device == "cuda" else "float32")
    began = time.perf_counter()
    documents = passages(24 if asked.tiny else PASSAGES)
    subject = subject_of(documents, device, dtype, tiny=asked.tiny)
    pieces = sum(len(document.words) + 2 for document in documents)
    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or "CPU"
    lines = [
        "# Benchmarks: studies of short texts over the plain forward",
        "",
        f"Made by `python -m benchmarks.device_studies` on {date.today()}: {name}, torch {torch.__version__}, model",
        f"library {transformers.__version__}, Python {platform.python_version()}; {len(documents)} passages of",
        f"{pieces:,} pieces, a model of {len(subject.sites)} layers x {subject.heads(subject.sites[0])} heads with",
        f"random weights in {dtype}. Medians of {asked.rounds} rounds, in which the plain forward and studies take",
        "turns.",
        "",
        "| study | batches of pieces | plain forward, s | study, s | ratio | at most | operations a layer | waits |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines[-2:]))
    for budget in asked.budget or ([512] if asked.tiny else [8192, 32768]):
        lines += measure(subject, documents, budget, asked.rounds)
    asked.page.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"{asked.page}: {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
