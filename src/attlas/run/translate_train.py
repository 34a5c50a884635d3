"""A translation model from nothing, as one call: from a bitext to a folder with a small encoder-decoder in it.

First the pieces are found (byte pair encoding over both sides of the text that is learned from), then a model with
fresh weights is trained on the pairs, and at the end its own translations of the sets held out and of the test sets
are scored by BLEU. The folder is a model folder like any other, with ``training.json`` beside the weights. Nothing is
drawn but by the seed, so a run that was killed and resumed ends with the very same weights on the CPU.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus, joined, read_bitexts, swapped
from attlas.errors import CorpusError, PlanError
from attlas.run.progress import Progress, Silent
from attlas.run.setting import Setting, Texts, as_corpus, describe
from attlas.run.training import carry_out_training, computes_in_half, done_before, fingerprint_of, save_trained
from attlas.store import plain, versions_here
from attlas.text import Document, Passage

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.models import Example
    from attlas.models.sizes import Sizes
    from attlas.tasks.training import Trainer
    from attlas.tasks.translation import Translation

HELD, MOST_HELD = 0.05, 1000  # of the pairs, where no others are given: a share, and so many at most
BATCH_PIECES = {"cuda": 8192}
_BATCH_PIECES = 4096
_WRITTEN = 24_576  # pieces of a batch that is translated, padding included
_SHOWN = 5  # translations that the record keeps
_COMPARED, _ALIKE = 50, 0.9  # sentences whose states are compared, and from when on an encoder has lost its places

Bitexts = Texts | Sequence[Texts]


@dataclass(frozen=True)
class Translator:
    """A translation model that was trained: the subject, the record of its training, its folder if it was saved.

    >>> Translator(None, {"bleu": [{"set": "dev", "name": "dev.tsv", "bleu": 31.4}]}).bleu
    {'dev.tsv': 31.4}
    """

    subject: Subject
    record: dict[str, Any]
    folder: Path | None = None

    @property
    def bleu(self) -> dict[str, float]:
        """BLEU by the name of the set.

        >>> Translator(None, {"bleu": []}).bleu
        {}
        """
        return {row["name"]: row["bleu"] for row in self.record["bleu"]}


def translate_train(
    bitext: Bitexts,
    *,
    dev: Bitexts | None = None,
    test: Bitexts | None = None,
    swap: bool = False,
    layers: int = 6,
    heads: int = 4,
    width: int = 512,
    ffn: int = 1024,
    vocabulary: int = 10_000,
    dropout: float = 0.3,
    epochs: int = 30,
    rate: float = 3e-4,
    warmup: float = 0.3,
    falling: str = "linear",
    smoothing: float = 0.1,
    decay: float = 1e-4,
    clip: float = 1.0,
    batch_pieces: int | None = None,
    patience: int = 5,
    beams: int = 1,
    max_pieces: int = 128,
    limit: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    device: str | None = None,
    dtype: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    checkpoint_every: float = 60.0,
    progress: Progress | None = None,
) -> Translator:
    """Train an encoder-decoder from nothing on a bitext, and score its translations by BLEU.

    ``bitext``, ``dev`` and ``test`` are one bitext or several: paths (``source ||| target``, or two columns with a
    tab between them), corpora (see :func:`attlas.corpora.read_bitexts` for parallel files), or documents with
    translations. Without ``dev`` a twentieth of the pairs is held out, a thousand at most. ``swap`` trains the other
    direction. ``layers`` are those of either side. Pairs with a side longer than ``max_pieces`` are left out and
    counted; ``limit`` draws so many pairs to learn from. ``batch_pieces`` is by default 8,192 on a GPU and 4,096
    elsewhere. The rate rises to its highest over a share ``warmup`` of the steps and falls in a line to nothing, or
    as one through the root of the step (``falling="root"``). ``minutes`` lets no pass begin that would end later than
    that after the start. ``beams`` is for the translations that are scored; with one they are greedy.

    >>> pairs = [Document.from_words([a, b], translation=Document.from_words([b, a])) for a in "abcd" for b in "efgh"]
    >>> sizes = {"layers": 1, "heads": 2, "width": 16, "ffn": 16, "vocabulary": 40}
    >>> made = translate_train(pairs, **sizes, epochs=2, dev=pairs[:4], batch_pieces=64)
    >>> [row["epoch"] for row in made.record["curve"]], list(made.bleu)
    ([0, 1, 2], ['documents'])
    """
    from attlas.models.sizes import Sizes
    from attlas.tasks.recipe import Recipe
    from attlas.tasks.training import Trainer
    from attlas.tasks.translation import Translation, require_sacrebleu

    started = time.monotonic()
    say = progress or Silent()
    sizes = Sizes(layers, heads, width, ffn, dropout)
    _require_sense(smoothing, vocabulary, max_pieces, beams, warmup)
    require_sacrebleu()
    learned_from, held_out, tested = _corpora(bitext, dev, test, swap, seed)
    texts = joined(learned_from)
    documents = list(texts.documents)
    if limit is not None and len(documents) > limit:
        documents = [documents[at] for at in sorted(random.Random(seed).sample(range(len(documents)), limit))]
    if not held_out:
        documents, rest = _hold_out(documents, texts, seed)
        held_out = [rest]
    say.note(f"making {vocabulary:,} pieces from {len(documents):,} pairs")
    model = _fresh(documents, vocabulary, sizes, seed, device)
    half = computes_in_half(dtype, model)
    pieces_each = batch_pieces or BATCH_PIECES.get(model.device.type, _BATCH_PIECES)
    recipe = Recipe(
        epochs=epochs, rate=rate, patience=patience, half=half, seed=seed, warmup=warmup, decay=decay, clip=clip,
        betas=(0.9, 0.98), batch_pieces=pieces_each, falling=falling,
    )  # fmt: skip
    options = {
        "sizes": asdict(sizes), "vocabulary": vocabulary, "pieces": _vocabulary_hash(model), "swap": swap,
        "smoothing": smoothing, "max_pieces": max_pieces, "limit": limit, "beams": beams, **asdict(recipe),
    }  # fmt: skip
    judged_by = [("dev", corpus) for corpus in held_out] + [("test", corpus) for corpus in tested]
    more = {f"{kind} {corpus.name}": corpus for kind, corpus in judged_by}
    where = None if out is None else Path(out)
    setting = Setting("translate-train", model, texts, options, seed, pieces_each, where, more)
    plan = setting.plan.to_dict()
    if where is not None and (done := done_before(where, plan, resume)):
        say.note(f"{where}: the training was finished already")
        return _finished(where, done)
    skipped: dict[str, int] = {}
    learned = _encoded(model, documents, texts.name, max_pieces, skipped, "learned from")
    held = [_encoded(model, corpus.documents, corpus.name, max_pieces, skipped, "held out") for corpus in held_out]
    task = Translation(model, "bleu", smoothing=smoothing, beams=beams)
    trainer = Trainer(task, learned, [example for part in held for example in part], recipe)
    carry_out_training(
        trainer, setting, resume=resume, checkpoint_every=checkpoint_every, progress=say, doing="training",
        every_pass=False, until=None if minutes is None else started + 60 * minutes,
    )  # fmt: skip
    scores = [_score(task, kind, corpus, say) for kind, corpus in judged_by]
    model.fingerprint = fingerprint_of(model)
    alike = alikeness(model, held[0][:_COMPARED])
    if alike > _ALIKE:
        say.note(
            f"the encoder's states of a sentence are all alike (mean cosine {alike:.2f}), so nothing can be aligned "
            "by it: train at a lower rate (--rate) or with a slower rise (--warmup)"
        )
    record = _record(setting, trainer, sizes, learned, held, scores, skipped)
    record |= {"encoder_alike": round(alike, 3), "plan": plan}
    if where is not None:
        save_trained(where, model, record)
    return Translator(model, record, where)


def alikeness(model: Subject, examples: Sequence[Example]) -> float:
    """How alike the encoder's last states of one sentence are: the mean cosine between its pieces, over sentences.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> 0 < alikeness(subject, subject.pieces.encode_all([Passage(Document.from_text("The farmer slept."))])) < 1
    True
    """
    import torch

    found = []
    with torch.no_grad():
        for example in examples:
            batch = model.pieces.batch([replace(example, target=None)], model.device)
            states = torch.nn.functional.normalize(model.run(batch).last_hidden_state[0].float(), dim=-1)
            pieces = len(states)
            found.append(float((states @ states.T).sum() - pieces) / max(1, pieces * (pieces - 1)))
    return sum(found) / max(1, len(found))


def _require_sense(smoothing: float, vocabulary: int, max_pieces: int, beams: int, warmup: float) -> None:
    for name, share in (("label smoothing", smoothing), ("the share of steps in which the rate rises", warmup)):
        if not 0 <= share < 1:
            raise PlanError(f"{name} is a share from 0 up to 1, not {share}")
    for name, number, least in (("pieces", vocabulary, 10), ("pieces of a side", max_pieces, 4), ("beams", beams, 1)):
        if number < least:
            raise PlanError(f"at least {least} {name} are needed, not {number}")


def _corpora(
    bitext: Bitexts, dev: Bitexts | None, test: Bitexts | None, swap: bool, seed: int
) -> tuple[list[Corpus], list[Corpus], list[Corpus]]:
    """The bitexts of each kind, turned where the other direction is asked for; none may be in two kinds."""
    kinds = [_as_bitexts(one) for one in (bitext, dev, test)]
    seen: dict[str, str] = {}
    for place, kind in enumerate(kinds):
        for corpus in kind:
            if place and corpus.sha256 in seen:
                raise PlanError(
                    f"{corpus.name} holds the very pairs of {seen[corpus.sha256]}; give others to judge by, or leave "
                    "it out"
                )
        if not place:
            seen |= {corpus.sha256: corpus.name for corpus in kind}
    learned_from, held_out, tested = ([swapped(corpus) if swap else corpus for corpus in kind] for kind in kinds)
    return learned_from, held_out, tested


def _as_bitexts(given: Bitexts | None) -> list[Corpus]:
    if given is None:
        return []
    if isinstance(given, (str, Path)):
        return read_bitexts([given])
    if isinstance(given, Corpus):
        corpus = given
    else:
        documents = [one for one in given if isinstance(one, Document)]
        others = [one for one in given if not isinstance(one, Document)]
        if others and documents:
            raise PlanError("a bitext is one corpus, or several; documents and corpora cannot be mixed in one list")
        if others:
            return [corpus for one in others for corpus in _as_bitexts(one)]
        corpus = as_corpus(documents)
    for document in corpus.documents:
        if document.translation is None or not document.translation.words:
            raise CorpusError("it has no translation, and a bitext has one for every text", file=document.name)
    return [corpus]


def _hold_out(documents: list[Document], texts: Corpus, seed: int) -> tuple[list[Document], Corpus]:
    """Pairs to learn from, and some apart from them, drawn by the seed."""
    count = min(MOST_HELD, round(HELD * len(documents)) or 1)
    if len(documents) < 2:
        raise CorpusError("a single pair cannot be learned from and held out; give more", file=texts.name)
    chosen = set(random.Random(f"{seed} held out").sample(range(len(documents)), count))
    held = tuple(document for at, document in enumerate(documents) if at in chosen)
    rest = [document for at, document in enumerate(documents) if at not in chosen]
    digest = hashlib.sha256(f"{texts.sha256} {seed}".encode()).hexdigest()
    return rest, replace(
        texts, documents=held, articles=tuple(range(count)), name=f"held out of {texts.name}", sha256=digest,
        left_out=(),
    )  # fmt: skip


def _fresh(documents: Sequence[Document], vocabulary: int, sizes: Sizes, seed: int, device: str | None) -> Subject:
    """A model with nothing learned but its pieces."""
    from attlas.capture import Subject
    from attlas.capture.check import prove
    from attlas.models.subwords import make_tokenizer
    from attlas.models.translator import make_translator

    source = [document.text for document in documents]
    target = [document.translation.text for document in documents if document.translation is not None]
    model = Subject(make_translator(make_tokenizer(source, target, vocabulary), sizes, seed=seed, device=device))
    prove(model)
    return model


def _vocabulary_hash(model: Subject) -> str:
    """What the tokenizer is, in a few characters."""
    return hashlib.sha256(model.pieces.tokenizer.backend_tokenizer.to_str().encode()).hexdigest()[:16]


def _encoded(
    model: Subject, documents: Sequence[Document], name: str, most: int, skipped: dict[str, int], kind: str
) -> list[Example]:
    """Pairs as ids; those that are too long are left out and counted."""
    most = min(most, model.pieces.window)
    made = model.pieces.encode_bare([Passage(document, document.translation) for document in documents])
    kept = [example for example in made if example.length <= most]
    if len(kept) < len(made):
        reason = f"{kind}: a side longer than {most} pieces"
        skipped[reason] = skipped.get(reason, 0) + len(made) - len(kept)
    if not kept:
        raise CorpusError(f"every pair has a side longer than {most} pieces (--max-pieces)", file=name)
    return kept


def _score(task: Translation, kind: str, corpus: Corpus, say: Progress) -> dict[str, Any]:
    """BLEU of the model's own translations of a set, all of its pairs; and what it would be if the references were
    only cut into pieces and put together again."""
    import numpy as np

    began = time.monotonic()
    examples = task.subject.pieces.encode_bare([Passage(d, d.translation) for d in corpus.documents])
    window = task.subject.pieces.window
    for example in examples:
        if example.length > window:
            raise CorpusError(f"a side of this pair has more than the {window} pieces of the model's window",
                              file=example.passage.first.name)  # fmt: skip
    written = _written(task, examples)
    marks = task.mark(examples, written).numpy()
    tokenizer = task.subject.pieces.tokenizer
    again = tokenizer.batch_decode([example.target.ids[1:] for example in examples if example.target is not None])
    possible = task.mark(examples, [text.strip() for text in again]).numpy()
    found = {
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
    say.note(f"{kind} {corpus.name}: BLEU {found['bleu']:.2f} ({found['how']}), {len(examples):,} pairs")
    return found


def _chrf(examples: Sequence[Example], written: Sequence[str]) -> float:
    import numpy as np

    from attlas.stats import METRICS
    from attlas.tasks.translation import character_grams

    references = [example.passage.second.text for example in examples if example.passage.second is not None]
    marks = [character_grams(own, reference) for own, reference in zip(written, references, strict=True)]
    return float(METRICS["chrf"].score(np.array(marks)))


def _written(task: Translation, examples: Sequence[Example]) -> list[str]:
    """The model's translations, in the order of the examples, made in large batches of like length."""
    import torch

    from attlas.tasks.recipe import Recipe, by_size, in_batches

    order = sorted(range(len(examples)), key=lambda at: by_size(examples[at]))
    found = [""] * len(examples)
    places = iter(order)
    with torch.no_grad():
        for batch in in_batches([examples[at] for at in order], Recipe(batch_pieces=_WRITTEN // task.beams)):
            for text in task.write(task.ask(batch)):
                found[next(places)] = text
    return found


def _finished(out: Path, record: dict[str, Any]) -> Translator:
    from attlas.capture import load

    return Translator(load(out, task_head="seq2seq"), record, out)


def _record(
    setting: Setting, trainer: Trainer, sizes: Sizes, learned: Sequence[Example],
    held: Sequence[Sequence[Example]], scores: Sequence[Mapping[str, Any]], skipped: Mapping[str, int],
) -> dict[str, Any]:  # fmt: skip
    """What training.json says."""
    best = trainer.best
    assert best is not None
    model = setting.subject
    once = sum(e.source.length + (0 if e.target is None else e.target.length) for e in learned)
    stopped = "all passes done" if trainer.step >= trainer.steps else "time" if trainer.halted else "patience"
    made: dict[str, Any] = plain(
        {
            "task": "translation",
            "bleu": scores,
            "held_out_loss": best.held_loss,
            "best_epoch": best.epoch,
            "stopped_by": stopped,
            "curve": [asdict(one) for one in trainer.passes],
            "texts": {"learned": len(learned), "held_out": sum(map(len, held))},
            "pieces": {
                "vocabulary": len(model.pieces.tokenizer),
                "learned": once,
                "unknown": _unknown(model, learned),
            },
            "sizes": asdict(sizes),
            "weights": sum(parameter.numel() for parameter in model.model.parameters()),
            "fingerprint": model.fingerprint,
            "data": describe(setting.corpus),
            "more_data": {name: describe(corpus) for name, corpus in setting.more.items()},
            "skipped": {**skipped, **dict.fromkeys(_left_out(setting), 1)},
            "versions": {**versions_here(), **_versions()},
            "device": _device_name(model),
            "started": setting.started.isoformat(timespec="seconds"),
            "seconds": round(trainer.seconds, 1),
            "steps": trainer.step,
            "pieces_per_second": round(once * trainer.step / trainer.steps_per_epoch / max(trainer.seconds, 1e-9)),
        },
        "record",
    )
    return made


def _unknown(model: Subject, learned: Sequence[Example]) -> int:
    unknown = model.pieces.tokenizer.unk_token_id
    sides = (side.ids for example in learned for side in (example.source, example.target) if side is not None)
    return sum(ids.count(unknown) for ids in sides)


def _left_out(setting: Setting) -> list[str]:
    return [why for corpus in (setting.corpus, *setting.more.values()) for why in corpus.left_out]


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {package: version(package) for package in ("tokenizers", "sacrebleu")}


def _device_name(model: Subject) -> str:
    import torch

    return torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else str(model.device)
