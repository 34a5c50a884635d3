"""What a translation model from nothing is made of: its pieces and fresh weights, its translations and their scores,
and the record of its training.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from attlas.capture import Subject
from attlas.capture.check import prove
from attlas.corpora import Corpus
from attlas.errors import CorpusError
from attlas.models import Example
from attlas.models.sizes import Sizes
from attlas.models.subwords import make_tokenizer
from attlas.models.translator import make_translator
from attlas.run.progress import Progress
from attlas.run.session import Run
from attlas.run.setting import describe
from attlas.stats import METRICS
from attlas.store import plain, versions_here
from attlas.tasks.recipe import Recipe, by_size, in_batches
from attlas.tasks.training import Trainer
from attlas.tasks.translation import Translation, character_grams
from attlas.text import Document, Passage

_WRITTEN = 24_576  # pieces of a batch that is translated, padding included
_SHOWN = 5  # translations that the record keeps


def alikeness(model: Subject, examples: Sequence[Example]) -> float:
    """How alike the encoder's last states of one sentence are: the mean cosine between its pieces, over sentences.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> 0 < alikeness(subject, subject.pieces.encode_all([Passage(Document.from_text("The farmer slept."))])) < 1
    True
    """
    cosines = []
    with torch.no_grad():
        for example in examples:
            batch = model.pieces.batch([replace(example, target=None)], model.device)
            states = torch.nn.functional.normalize(model.run(batch).last_hidden_state[0].float(), dim=-1)
            pieces = len(states)
            cosines.append(float((states @ states.T).sum() - pieces) / max(1, pieces * (pieces - 1)))
    return sum(cosines) / max(1, len(cosines))


def fresh(documents: Sequence[Document], vocabulary: int, sizes: Sizes, seed: int, device: str | None) -> Subject:
    """A model with nothing learned but its pieces."""
    source = [document.text for document in documents]
    target = [document.translation.text for document in documents if document.translation is not None]
    model = Subject(make_translator(make_tokenizer(source, target, vocabulary), sizes, seed=seed, device=device))
    prove(model)
    return model


def vocabulary_hash(model: Subject) -> str:
    """What the tokenizer is, in a few characters."""
    return hashlib.sha256(model.pieces.tokenizer.backend_tokenizer.to_str().encode()).hexdigest()[:16]


def encoded(
    model: Subject, documents: Sequence[Document], name: str, most: int, skipped: dict[str, int], kind: str
) -> list[Example]:
    """Pairs as ids; those that are too long are left out and counted."""
    most = min(most, model.pieces.window)
    examples = model.pieces.encode_bare([Passage(document, document.translation) for document in documents])
    kept = [example for example in examples if example.length <= most]
    if len(kept) < len(examples):
        reason = f"{kind}: a side longer than {most} pieces"
        skipped[reason] = skipped.get(reason, 0) + len(examples) - len(kept)
    if not kept:
        raise CorpusError(f"every pair has a side longer than {most} pieces (--max-pieces)", file=name)
    return kept


def score(task: Translation, kind: str, corpus: Corpus, say: Progress) -> dict[str, Any]:
    """BLEU of the model's own translations of a set, all of its pairs; and what it would be if the references were
    only cut into pieces and put together again."""

    began = time.monotonic()
    examples = task.subject.pieces.encode_bare([Passage(d, d.translation) for d in corpus.documents])
    window = task.subject.pieces.window
    for example in examples:
        if example.length > window:
            raise CorpusError(f"a side of this pair has more than the {window} pieces of the model's window",
                              file=example.passage.first.name)  # fmt: skip
    written = translations(task, examples)
    marks = task.mark(examples, written).numpy()
    tokenizer = task.subject.pieces.tokenizer
    again = tokenizer.batch_decode([example.target.ids[1:] for example in examples if example.target is not None])
    possible = task.mark(examples, [text.strip() for text in again]).numpy()
    row = {
        "set": kind, "name": corpus.name, "pairs": len(examples), "bleu": float(task.metric.score(marks)),
        "chrf": _chrf(examples, written), "how": "greedy" if task.beams == 1 else f"beam of {task.beams}",
        "tokenize": "13a", "references_cut_and_joined": float(task.metric.score(possible)),
        "length_ratio": float(np.sum(marks[:, -2]) / max(1.0, np.sum(marks[:, -1]))),
        "seconds": round(time.monotonic() - began, 1),
        "examples": [
            {"source": e.passage.first.text, "written": own, "reference": e.passage.second.text}
            for e, own in list(zip(examples, written, strict=True))[:_SHOWN]
            if e.passage.second is not None
        ],
    }  # fmt: skip
    say.note(f"{kind} {corpus.name}: BLEU {row['bleu']:.2f} ({row['how']}), {len(examples):,} pairs")
    return row


def _chrf(examples: Sequence[Example], written: Sequence[str]) -> float:

    references = [example.passage.second.text for example in examples if example.passage.second is not None]
    marks = [character_grams(own, reference) for own, reference in zip(written, references, strict=True)]
    return float(METRICS["chrf"].score(np.array(marks)))


def translations(task: Translation, examples: Sequence[Example]) -> list[str]:
    """The model's translations, in the order of the examples, made in large batches of like length."""
    order = sorted(range(len(examples)), key=lambda at: by_size(examples[at]))
    texts = [""] * len(examples)
    places = iter(order)
    with torch.no_grad():
        for batch in in_batches([examples[at] for at in order], Recipe(batch_pieces=_WRITTEN // task.beams)):
            for text in task.write(task.ask(batch)):
                texts[next(places)] = text
    return texts


def record_of(
    run: Run, trainer: Trainer, sizes: Sizes, learned: Sequence[Example],
    held: Sequence[Sequence[Example]], scores: Sequence[Mapping[str, Any]], skipped: Mapping[str, int],
) -> dict[str, Any]:  # fmt: skip
    """What training.json says."""
    best = trainer.best
    assert best is not None
    model = run.subject
    once = sum(e.source.length + (0 if e.target is None else e.target.length) for e in learned)
    stopped = "all passes done" if trainer.step >= trainer.steps else "time" if trainer.halted else "patience"
    record: dict[str, Any] = plain(
        {
            "task": "translation",
            "bleu": scores,
            "held_out_loss": best.held_loss,
            "best_epoch": best.epoch,
            "stopped_by": stopped,
            "curve": [asdict(seen) for seen in trainer.passes],
            "texts": {"learned": len(learned), "held_out": sum(map(len, held))},
            "pieces": {
                "vocabulary": len(model.pieces.tokenizer),
                "learned": once,
                "unknown": _unknown(model, learned),
            },
            "sizes": asdict(sizes),
            "weights": sum(parameter.numel() for parameter in model.model.parameters()),
            "fingerprint": model.fingerprint,
            "data": describe(run.corpus),
            "more_data": {name: describe(corpus) for name, corpus in run.more.items()},
            "skipped": {**skipped, **dict.fromkeys(_left_out(run), 1)},
            "versions": {**versions_here(), **_versions()},
            "device": _device_name(model),
            "started": run.started.isoformat(timespec="seconds"),
            "seconds": round(trainer.seconds, 1),
            "steps": trainer.step,
            "pieces_per_second": round(once * trainer.step / trainer.steps_per_epoch / max(trainer.seconds, 1e-9)),
        },
        "record",
    )
    return record


def _unknown(model: Subject, learned: Sequence[Example]) -> int:
    unknown = model.pieces.tokenizer.unk_token_id
    sides = (side.ids for example in learned for side in (example.source, example.target) if side is not None)
    return sum(ids.count(unknown) for ids in sides)


def _left_out(run: Run) -> list[str]:
    return [why for corpus in (run.corpus, *run.more.values()) for why in corpus.left_out]


def _versions() -> dict[str, str]:

    return {package: version(package) for package in ("tokenizers", "sacrebleu")}


def _device_name(model: Subject) -> str:

    return torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else str(model.device)
