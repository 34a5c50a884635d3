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
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Unpack

from attlas.corpora import Corpus, joined, read_bitexts, swapped
from attlas.errors import CorpusError, PlanError
from attlas.run.parameters import Help, Reading, study_call
from attlas.run.progress import Silent
from attlas.run.session import Run, folder_of
from attlas.run.setting import Opening, Texts, as_corpus, drawn
from attlas.run.training import Trained
from attlas.text import Document

HELD, MOST_HELD = 0.05, 1000  # of the pairs, where no others are given: a share, and so many at most
BATCH_PIECES = {"cuda": 8192}
_BATCH_PIECES = 4096
_COMPARED, _ALIKE = 50, 0.9  # sentences whose states are compared, and from when on an encoder has lost its places
_STOPPED = {
    "patience": "stopped early, as the validation loss no longer fell",
    "time": "stopped by the time that was given, before all passes were done",
}

Bitexts = Texts | Sequence[Texts]


class Translator(Trained):
    """A translation model that was trained.

    >>> Translator(None, {"bleu": [{"set": "dev", "name": "dev.tsv", "bleu": 31.4}]}).bleu
    {'dev.tsv': 31.4}
    """

    @property
    def bleu(self) -> dict[str, float]:
        """BLEU by the name of the set."""
        return {row["name"]: row["bleu"] for row in self.record["bleu"]}


class Architecture(Reading, total=False):
    """The size of the model."""

    layers: Annotated[int, Help("Layers of the encoder, and of the decoder.", least=1, most=1_000)]
    heads: Annotated[int, Help("Heads of a layer.", least=1, most=1_024)]
    width: Annotated[int, Help("Width of a layer.", least=2, most=16_384)]
    ffn: Annotated[int, Help("Width of its feed-forward part.", least=1, most=65_536)]
    vocabulary: Annotated[int, Help("Pieces (subword tokens), for both sides together.", least=10, most=1_000_000)]
    dropout: Annotated[float, Help("0.3 is good for small texts.")]


class Training(Architecture, total=False):
    """How it is trained, for how long, and on what."""

    epochs: Annotated[int, Help("Passes over the pairs, at most.", least=1)]
    learning_rate: Annotated[float, Help("The highest learning rate.")]
    warmup: Annotated[float, Help("The share of steps in which the learning rate rises.")]
    schedule: Annotated[str, Help("How the learning rate falls then: linear (to nothing), or root (of the step).")]
    smoothing: Annotated[float, Help("Label smoothing.")]
    weight_decay: Annotated[float, Help("Decoupled weight decay.", least=0)]
    clip: Annotated[float, Help("The largest norm of gradients; 0 for any.", least=0)]
    batch_pieces: Annotated[
        int | None, Help("Pieces in a step, padding included; 8192 on a GPU, else 4096.", least=1)
    ]
    patience: Annotated[int, Help("Stop after so many passes without a lower validation loss.", least=1)]
    minutes: Annotated[float | None, Help("Begin no pass that would end later than that.", least=0)]
    device: Annotated[str | None, Help("cpu, cuda, cuda:1 ...; cuda where there is one.")]
    dtype: Annotated[str | None, Help("float32, or bfloat16 on a GPU that knows it (the default there).")]


@study_call(
    alone="it trains a model, step after step",
    without=("long", "budget"), max_pieces=128, checkpoint_every=60.0, layers=6, heads=4, width=512, ffn=1024,
    vocabulary=10_000, dropout=0.3, epochs=30, learning_rate=3e-4, warmup=0.3, schedule="linear", smoothing=0.1,
    weight_decay=1e-4, clip=1.0, batch_pieces=None, patience=5, minutes=None, device=None,
    dtype=None,
)  # fmt: skip
def translate_train(
    corpus: Annotated[
        Bitexts,
        Help(
            "Bitexts, which are joined: two columns with a tab between them, source ||| target, or sentences whose "
            "translations are in --target; .gz and .xz too.",
            argument=True,
            kind=list[str],
        ),
    ],
    *,
    target: Annotated[
        Sequence[Path | str],
        Help("The translations, line by line, of a bitext without; may be repeated.", kind=list[str]),
    ] = (),
    validation: Annotated[
        Bitexts | None,
        Help(
            "Pairs to judge each pass by; may be repeated. Else a twentieth of the bitext is, 1000 at most.",
            kind=list[str] | None,
        ),
    ] = None,
    validation_target: Annotated[Sequence[Path | str], Help("As --target, for --validation.", kind=list[str])] = (),
    test: Annotated[
        Bitexts | None, Help("Pairs that take no part, for BLEU at the end; may be repeated.", kind=list[str] | None)
    ] = None,
    test_target: Annotated[Sequence[Path | str], Help("As --target, for --test.", kind=list[str])] = (),
    format: Annotated[str | None, Help("tsv, bitext or parallel, where it cannot be told.")] = None,
    skip_broken: Annotated[bool, Help("Leave out lines that are no pair, and count them.")] = False,
    swap: Annotated[bool, Help("Translate from the second side into the first.")] = False,
    beams: Annotated[int, Help("Beams of the translations that are scored; 1 is greedy.", least=1)] = 1,
    **training: Unpack[Training],
) -> Translator:
    """Train a small encoder-decoder from nothing on a bitext, and score its translations by BLEU.

    Writes a model folder (safetensors) that any program can load, with the record of its training beside it. Pairs
    with a side longer than max_pieces are left out of the training and counted; limit draws so many pairs to learn
    from. In Python a bitext may also be a corpus, or documents with translations.

    >>> pairs = [Document.from_words([a, b], translation=Document.from_words([b, a])) for a in "abcd" for b in "efgh"]
    >>> sizes = {"layers": 1, "heads": 2, "width": 16, "ffn": 16, "vocabulary": 40}
    >>> translator = translate_train(pairs, **sizes, epochs=2, validation=pairs[:4], batch_pieces=64)
    >>> [row["epoch"] for row in translator.record["curve"]], list(translator.bleu)
    ([0, 1, 2], ['documents'])
    """
    from attlas.capture import load
    from attlas.models.sizes import Sizes
    from attlas.run.training import carry_out_training, computes_in_half, done_before, fingerprint_of, save_trained
    from attlas.studies.translate_train.passes import alikeness, encoded, fresh, recorded, score, vocabulary_hash
    from attlas.tasks.recipe import Recipe
    from attlas.tasks.training import Trainer
    from attlas.tasks.translation import Translation, require_sacrebleu

    started = time.monotonic()
    progress, seed, max_pieces = training["progress"] or Silent(), training["seed"], training["max_pieces"] or 128
    sizes = Sizes(training["layers"], training["heads"], training["width"], training["ffn"], training["dropout"])
    smoothing, vocabulary = training["smoothing"], training["vocabulary"]
    _require_sense(smoothing, vocabulary, max_pieces, beams, training["warmup"])
    require_sacrebleu()
    sources = [
        _as_bitexts(texts, targets, option, format=format, skip=skip_broken)
        for texts, targets, option in (
            (corpus, target, ""), (validation, validation_target, "validation"), (test, test_target, "test"),
        )
    ]  # fmt: skip
    learned_from, held_out, tested = _kinds(sources, swap)
    texts = joined(learned_from)
    documents = list(texts.documents)
    limit = training["limit"]
    if limit is not None and len(documents) > limit:
        documents = drawn(documents, limit, seed)
    if not held_out:
        documents, rest = _hold_out(documents, texts, seed)
        held_out = [rest]
    progress.note(f"making {vocabulary:,} pieces from {len(documents):,} pairs")
    model = fresh(documents, vocabulary, sizes, seed, Opening(device=training["device"]).options["device"])
    pieces_each = training["batch_pieces"] or BATCH_PIECES.get(model.device.type, _BATCH_PIECES)
    recipe = Recipe(
        epochs=training["epochs"], rate=training["learning_rate"], patience=training["patience"],
        half=computes_in_half(training["dtype"], model), seed=seed, warmup=training["warmup"],
        decay=training["weight_decay"], clip=training["clip"], betas=(0.9, 0.98), batch_pieces=pieces_each,
        falling=training["schedule"],
    )  # fmt: skip
    options = {
        "sizes": asdict(sizes), "vocabulary": vocabulary, "pieces": vocabulary_hash(model), "swap": swap,
        "smoothing": smoothing, "max_pieces": max_pieces, "limit": limit, "beams": beams, **asdict(recipe),
    }  # fmt: skip
    judged_by = [("validation", each) for each in held_out] + [("test", each) for each in tested]
    names = ("translator", learned_from[0].name, *(["swapped"] if swap else []), f"seed{seed}")
    run = Run(
        "translate-train", model, texts, options, seed, pieces_each, folder_of(training["out"], *names),
        training["resume"], training["checkpoint_every"], progress,
        {f"{kind} {each.name}": each for kind, each in judged_by},
    )  # fmt: skip
    with run.held():
        plan = run.plan.to_dict()
        if run.out is not None and (done := done_before(run.out, plan, run.resume)):
            progress.note(f"{run.out}: the training was finished already")
            return Translator(load(run.out, task_head="seq2seq"), done, run.out)
        run.note_plan()
        skipped: dict[str, int] = {}
        learned = encoded(model, documents, texts.name, max_pieces, skipped, "learned from")
        held = [encoded(model, each.documents, each.name, max_pieces, skipped, "held out") for each in held_out]
        task = Translation(model, "bleu", smoothing=smoothing, beams=beams)
        trainer = Trainer(task, learned, [example for part in held for example in part], recipe)
        minutes = training["minutes"]
        carry_out_training(
            trainer,
            run,
            doing="training",
            every_pass=False,
            until=None if minutes is None else started + 60 * minutes,
        )
        scores = [score(task, kind, each, progress) for kind, each in judged_by]
        model.fingerprint = fingerprint_of(model)
        alike = alikeness(model, held[0][:_COMPARED])
        if alike > _ALIKE:
            progress.note(
                f"the encoder's states of a sentence are all alike (mean cosine {alike:.2f}), so nothing can be "
                "aligned by it: train at a lower learning rate (--learning-rate) or with a slower rise (--warmup)"
            )
        about = {"sizes": asdict(sizes), "bleu": scores, "encoder_alike": round(alike, 3)}
        record = {**recorded(run, trainer, learned, held, skipped, about), "plan": plan}
        if run.out is not None:
            save_trained(run.out, model, record)
        return Translator(model, record, run.out)


def show(translator: Translator) -> None:
    """Print what was seen after each pass, how good the translations are, and where the model lies."""
    from attlas.pages.prose import count_of

    record = translator.record
    sizes = record["sizes"]
    about = (
        f"{sizes['layers']}+{sizes['layers']} layers, {sizes['heads']} heads, width {sizes['width']}, "
        f"{record['weights']:,} weights, {record['pieces']['vocabulary']:,} pieces: learned from "
        f"{count_of(record['texts']['learned'], 'pair')} of {record['data']['name']} in {record['seconds']:.0f} s on "
        f"{record['device']} ({record['pieces_per_second']:,} pieces/s)"
    )
    notes = [_STOPPED[record["stopped_by"]]] if record["stopped_by"] in _STOPPED else []
    for row in record["bleu"]:
        pairs = count_of(row["pairs"], "pair")
        notes.append(f"{row['set']} {row['name']}: BLEU {row['bleu']:.2f} ({row['how']}), {pairs}")
    translator.show(about, {"loss": "loss", "held_loss": "validation loss"}, notes, "align BITEXT")


def _require_sense(smoothing: float, vocabulary: int, max_pieces: int, beams: int, warmup: float) -> None:
    shares = {"label smoothing": smoothing, "the share of steps in which the learning rate rises": warmup}
    for name, share in shares.items():
        if not 0 <= share < 1:
            raise PlanError(f"{name} is a share from 0 up to 1, not {share}")
    for name, number, least in (("pieces", vocabulary, 10), ("pieces of a side", max_pieces, 4), ("beams", beams, 1)):
        if number < least:
            raise PlanError(f"at least {least} {name} are needed, not {number}")


def _kinds(sources: Sequence[list[Corpus]], swap: bool) -> list[list[Corpus]]:
    """The bitexts of each kind, turned for the other direction; none to judge by may be learned from."""
    learned = {corpus.sha256: corpus.name for corpus in sources[0]}
    for corpus in (*sources[1], *sources[2]):
        if corpus.sha256 in learned:
            raise PlanError(
                f"{corpus.name} holds the very pairs of {learned[corpus.sha256]}; give others to judge by, or leave "
                "it out"
            )
    return [[swapped(corpus) if swap else corpus for corpus in kind] for kind in sources]


def _as_bitexts(
    given: Bitexts | None, targets: Sequence[Path | str], option: str, *, format: str | None, skip: bool
) -> list[Corpus]:
    """The bitexts of one kind: files with their translations, corpora, or documents."""
    if given is None:
        if targets:
            raise PlanError(f"--{option}-target is for the translations of --{option}, which is not given")
        return []
    several = [given] if isinstance(given, str | Path | Corpus) else list(given)
    files = [part for part in several if isinstance(part, str | Path)]
    if files and len(files) == len(several):
        named = [targets] if isinstance(targets, str | Path) else targets
        return read_bitexts(files, named, format=format, skip=skip)
    if targets:
        raise PlanError("files of translations (--target) go with files of sentences, and these are read already")
    documents = [part for part in several if isinstance(part, Document)]
    if documents and len(documents) < len(several):
        raise PlanError("a bitext is one corpus, or several; documents and corpora cannot be mixed in one list")
    if documents:
        return [_whole(as_corpus(documents))]
    parts: list[Corpus] = []
    for part in several:
        read_already = isinstance(part, Corpus)
        parts += [_whole(part)] if read_already else _as_bitexts(part, (), option, format=format, skip=skip)  # type: ignore[arg-type]
    return parts


def _whole(corpus: Corpus) -> Corpus:
    for document in corpus.documents:
        if document.translation is None or not document.translation.words:
            raise CorpusError("it has no translation, and a bitext has one for every text", file=document.name)
    return corpus


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
