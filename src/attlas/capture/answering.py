"""From a question to what the viewer shows: models that stay open, what is read or written, and how long it may take;
``attlas view`` and ``attlas serve`` share it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.models import bundled
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.capture import Capture, Subject
    from attlas.models import AttentionCall
    from attlas.views.card import Card
    from attlas.views.question import Question
    from attlas.views.scene import Scene
    from attlas.views.writing import Writing

ROOM = 2  # models that stay open
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))
BEGINNING = 300  # letters by which the time of a look is told
WRITING = 3  # passes over one new piece take as long as one over so many letters
PER_WEIGHT = 8e-9  # seconds that keeping a weight takes
TRANSLATED = 200  # pieces that a translation may have where nobody has said it


class Shelf:
    """Models that stay open: the ones used last, opened by a function such as :func:`attlas.load`.

    >>> shelf = Shelf(lambda name, task_head: name.upper(), room=1)
    >>> shelf.get("a"), shelf.get("b"), list(shelf.held)
    ('A', 'B', ['b'])
    """

    def __init__(self, load: Callable[..., Any], room: int = ROOM) -> None:
        self._load, self._room = load, room
        self.held: dict[str, tuple[str | None, Any]] = {}

    def get(self, name: str, task_head: str | None = None) -> Any:
        """The model of this name, opened if need be: with a task head where one is asked for, else as it is held.

        >>> shelf = Shelf(lambda name, task_head: (name, task_head))
        >>> shelf.get("a"), shelf.get("a", "causal-lm"), shelf.get("a")
        (('a', None), ('a', 'causal-lm'), ('a', 'causal-lm'))
        """
        held = self.held.pop(name, None)
        if held is None or task_head not in (None, held[0]):
            held = None  # old models go before new ones come, so that they never need room at once
            while len(self.held) >= self._room:
                del self.held[next(iter(self.held))]
            usual = bundled.resolve(None)[0]
            held = (task_head, self._load(None if name == usual else name, task_head=task_head))
        self.held[name] = held
        return held[1]


def look(
    shelf: Shelf,
    question: Question,
    *,
    layers: str | None = None,
    heads: str | None = None,
    joint: str | None = None,
    writing: Writing | None = None,
) -> Capture:
    """Answer a question: open the model, let it read or write, and hand over what was seen; ``writing`` is told of
    every piece that is written, and may stop it.

    A translation that is not given is written. What is being written is captured whole; for joint norms at the step
    ``joint`` it is then read as well.

    >>> from attlas.capture import load
    >>> from attlas.views.question import Question
    >>> shelf = Shelf(lambda name, task_head: load(task_head=task_head))
    >>> look(shelf, Question("any", "The farmer slept."), layers="6").weights[Stream.ENCODER].shape
    torch.Size([1, 12, 6, 6])
    """
    subject: Subject = shelf.get(question.model, _likely_head(question))
    translating = subject.pieces.translating
    write = question.write
    if translating:
        write = 0 if question.second else min(write or TRANSLATED, subject.pieces.window - 1)
    _check(subject, question, write, layers, heads)
    steps = () if joint is None else (joint,)
    text = chat_prompt(subject, question.text, question.system) if question.chat else question.text
    if not write:
        return subject.look(text, question.second or None, layers=layers, heads=heads, joint=steps)
    if translating:
        del subject  # which is opened again if it was opened without a head that writes
        subject = shelf.get(question.model, "seq2seq")
    with _drawn(question.seed) as options, _told(subject, writing, translating=translating) as more:
        captured = subject.look_generating(text, max_new_pieces=write, **options, **more)
    return captured if joint is None else subject.look(*captured.passage.documents, joint=steps)


def chat_prompt(subject: Subject, text: str, system: str = "") -> str:
    """What a model with a chat template reads when a person says something to it.

    >>> from attlas.capture import load
    >>> chat_prompt(load(), "Hi.")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 has no chat template; give the whole text as it is to be read
    """
    tokenizer = subject.pieces.tokenizer
    if not getattr(tokenizer, "chat_template", None):
        raise CapabilityError(f"{subject.name} has no chat template; give the whole text as it is to be read")
    said = [{"role": "system", "content": system}] if system else []
    said.append({"role": "user", "content": text})
    try:
        prompt: str = tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # a template is a program of the model's, which may refuse in any way
        reason = " ".join(str(error).split())[:120]
        raise CapabilityError(
            f"{subject.name}: its chat template refuses this ({reason}); leave out the system text"
        ) from None
    return prompt


def room_told(shelf: Shelf, question: Question) -> str:
    """How much a look at a text will take, in memory and in time, before it is taken.

    >>> from attlas.capture import load
    >>> from attlas.views.question import Question
    >>> room_told(Shelf(lambda name, task_head: load()), Question("any", "The farmer slept."))
    'Reading 6 pieces with 72 heads: 2,592 weights (10 kB), in about 1 s.'
    """
    from attlas.capture import as_passage

    subject: Subject = shelf.get(question.model, _likely_head(question))
    text = chat_prompt(subject, question.text, question.system) if question.chat else question.text
    source = subject.pieces.encode(as_passage(text, question.second or None))
    pieces = source.length + question.write
    heads = sum(subject.heads(site) for site in subject.sites)
    cells = pieces**2 * heads
    size = next(f"{4 * cells / one:,.0f} {name}" for one, name in UNITS if 4 * cells >= one)
    seconds = _seconds(subject, text, source.length, question.write, cells)
    return f"Reading {pieces:,} pieces with {heads} heads: {cells:,} weights ({size}), in about {seconds}."


def _seconds(subject: Subject, text: str, read: int, write: int, cells: int) -> str:
    """How long a look may take here and now, by one at the beginning of the text; where the model says something, it
    reads once more for that. Writing a piece is one more pass, of which most does not depend on how much it reads."""
    from attlas.capture.saying import saying

    shorter = text[:BEGINNING]
    began = time.perf_counter()
    capture = subject.look(shorter, shorter if subject.pieces.translating else None)
    looked = time.perf_counter() - began
    passes = 1 if saying(subject, capture) is None else 2
    said = time.perf_counter() - began - looked
    begun = subject.pieces.length(Document.from_text(shorter))
    expected = looked * (passes * read / begun + write / WRITING) + said + cells * PER_WEIGHT
    figures = max(1.0, float(f"{expected:.1g}"))
    return f"{figures / 60:.0f} min" if figures > 100 else f"{figures:.0f} s"


@contextmanager
def _drawn(seed: int | None) -> Iterator[dict[str, Any]]:
    """The options of a generation that draws its pieces by a seed, and leaves everybody else's draws alone."""
    if seed is None:
        yield {}
        return
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield {"do_sample": True}


@contextmanager
def _told(subject: Subject, writing: Writing | None, *, translating: bool) -> Iterator[dict[str, Any]]:
    """The options of a generation that tells of every piece and of where it looked, and stops when that is wished."""
    if writing is None:
        yield {}
        return
    import torch

    from attlas.capture import Fold, Selection

    begun: list[int] = []
    step: list[torch.Tensor] = []  # what the last query looked at, in each layer that was run since the last piece

    def watch(ids: torch.Tensor, _scores: Any, **_more: Any) -> torch.Tensor:
        begun.append(ids.shape[1])
        written = ids[0, begun[0] - 1 :]
        text = subject.pieces.tokenizer.decode(written, skip_special_tokens=True)
        looked = torch.stack(step).mean(0).numpy() if step and len({len(row) for row in step}) == 1 else None
        step.clear()
        stopped = not writing.grow(text, len(written), looked)
        return torch.full((len(ids),), stopped, dtype=torch.bool, device=ids.device)

    def take(call: AttentionCall) -> None:
        step.append(call.weights()[0, :, -1].float().mean(0).cpu())

    writing.begin()
    try:
        with subject.use(Fold(take, Selection(streams={Stream.CROSS if translating else Stream.DECODER}))):
            yield {"stopping_criteria": [watch]}
    finally:
        writing.end()


def scene_of(
    shelf: Shelf, question: Question, capture: Capture, *, joint: str | None = None, markers: Sequence[str] = ()
) -> Scene:
    """What the viewer shows of an answer: the attention, the regions of the text, and what the model says of it.

    >>> from attlas.capture import load
    >>> from attlas.views.question import Question
    >>> shelf, question = Shelf(lambda name, task_head: load(task_head=task_head)), Question("any", "Hi.")
    >>> scene_of(shelf, question, look(shelf, question)).saying is None
    True
    """
    from attlas.capture.saying import saying
    from attlas.views.regions import with_regions

    scene = capture.scene(joint)
    if markers:
        scene = with_regions(scene, markers)
    if joint is not None:
        return scene
    return replace(scene, saying=saying(shelf.get(question.model), capture))


def reckoned_scene(
    shelf: Shelf,
    question: Question,
    layers: str | None,
    heads: str | None,
    markers: Sequence[str] = (),
    rows: str | None = None,
) -> Scene:
    """What the viewer shows of a text that is too long for its weights.

    >>> from attlas.capture import load
    >>> from attlas.views.question import Question
    >>> shelf = Shelf(lambda name, task_head: load(task_head=task_head))
    >>> reckoned_scene(shelf, Question("any", "Hi."), "6", "1").strands[0].weights.size
    0
    """
    from attlas.capture.reckoned import look_reckoned
    from attlas.views.regions import with_regions

    scene = look_reckoned(shelf.get(question.model), question.text, layers=layers, heads=heads, rows=rows)
    return with_regions(scene, markers) if markers else scene


def check_card(shelf: Shelf, card: Card, names: Sequence[str]) -> None:
    """Refuse a card that is of none of these models, or of one that has other weights now.

    A model is opened with the head of the card's task, as it was when the card was made.

    >>> from attlas.views.card import Card
    >>> shelf = Shelf(lambda name, task_head: name)
    >>> check_card(shelf, Card("tiny", "classification", "reviews", (), ""), ["another"])
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: this card is of tiny, not of another; give the card of the model that is shown
    """
    from attlas.models.classes import HEADS

    card.require([bundled.resolve(name)[0] for name in names])
    for name in names:
        if card.is_of(bundled.resolve(name)[0]) and (head := card.task.partition(":")[0]) in HEADS:
            subject: Subject = shelf.get(name, head)
            card.require_weights(subject.fingerprint, str(subject.describe()["dtype"]))


def _likely_head(question: Question) -> str | None:
    """The task head that a question needs, as far as the model's own folder tells: it saves opening it twice."""
    folder = bundled.resolve(question.model)[1]
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8")) if folder else {}
        return "seq2seq" if config.get("is_encoder_decoder") and not question.second else None
    except (OSError, ValueError, AttributeError, TypeError):
        return None  # whoever opens the model says what is wrong with it


def _check(subject: Subject, question: Question, write: int, *chosen: str | None) -> None:
    """Refuse what this model cannot read or write."""
    if write and any(part is not None for part in chosen):
        raise CapabilityError("what is being written is captured whole; leave out the layers and heads")
    if write and Stream.DECODER not in subject.streams:
        raise CapabilityError(f"{subject.name} cannot write; continue by 0 pieces")
    if question.second and not (subject.pieces.pairs or subject.pieces.translating):
        raise CapabilityError(f"{subject.name} reads one text, not pairs; leave out the second text")
