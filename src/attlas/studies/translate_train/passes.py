"""What a translation model from nothing is made of: its pieces and fresh weights, its translations and their scores,
and the record of its training.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from attlas.run.training import record_of
from attlas.stats import METRICS
from attlas.store import versions_here
from attlas.tasks.recipe import Recipe, by_size, in_batches
from attlas.tasks.training import Trainer
from attlas.tasks.translation import Translation, character_grams
from attlas.text import Document, Passage

_WRITTEN = 24_576  # pieces of a batch that is translated, padding included
_SHOWN = 5  # translations that the record keeps


def alikeness(model: Subject, examples: Sequence[Example]) -> float:
    """How alike the encoder's last states of one sentence are: the mean cosine between its pieces, over sentences."""
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
    references = [example.passage.second.text for example in examples if example.passage.second is not None]
    grams = [character_grams(own, reference) for own, reference in zip(written, references, strict=True)]
    marks = task.mark(examples, written).numpy()
    tokenizer = task.subject.pieces.tokenizer
    again = tokenizer.batch_decode([example.target.ids[1:] for example in examples if example.target is not None])
    possible = task.mark(examples, [text.strip() for text in again]).numpy()
    row = {
        "set": kind, "name": corpus.name, "pairs": len(examples), "bleu": float(task.metric.score(marks)),
        "chrf": float(METRICS["chrf"].score(np.array(grams))),
        "how": "greedy" if task.beams == 1 else f"beam of {task.beams}", "tokenize": "13a",
        "references_cut_and_joined": float(task.metric.score(possible)),
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


def recorded(
    run: Run, trainer: Trainer, learned: Sequence[Example], held: Sequence[Sequence[Example]],
    skipped: Mapping[str, int], about: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """What training.json says."""
    assert trainer.best is not None
    model, tokenizer = run.subject, run.subject.pieces.tokenizer
    sides = [side.ids for example in learned for side in (example.source, example.target) if side is not None]
    once = sum(map(len, sides))
    left_out = [why for corpus in (run.corpus, *run.more.values()) for why in corpus.left_out]
    on_gpu = model.device.type == "cuda"
    return record_of(
        run, trainer, task="translation", **about, held_out_loss=trainer.best.held_loss, steps=trainer.step,
        stopped_by="all passes done" if trainer.step >= trainer.steps else "time" if trainer.halted else "patience",
        texts={"learned": len(learned), "held_out": sum(map(len, held))},
        pieces={
            "vocabulary": len(tokenizer), "learned": once,
            "unknown": sum(ids.count(tokenizer.unk_token_id) for ids in sides),
        },
        weights=sum(parameter.numel() for parameter in model.model.parameters()),
        more_data={name: describe(corpus) for name, corpus in run.more.items()},
        skipped={**skipped, **dict.fromkeys(left_out, 1)},
        versions={**versions_here(), **{package: version(package) for package in ("tokenizers", "sacrebleu")}},
        device=torch.cuda.get_device_name(model.device) if on_gpu else str(model.device),
        pieces_per_second=round(once * trainer.step / trainer.steps_per_epoch / max(trainer.seconds, 1e-9)),
    )  # fmt: skip
