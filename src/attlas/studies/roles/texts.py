"""The texts on which roles are scored: pieces drawn at random, the same drawn text twice, and texts of a corpus.

What comes first in a text decides where idle heads rest, so it is never left to the tokenizer: the beginning piece is
put in explicitly where a model has one, and its absence is shown. Pieces are drawn from the middle of the vocabulary,
whose order stands for frequency (as it does in vocabularies made by joining pairs, and nearly so in others): the
first and the last tenth are left out, and whatever is special, unused or no whole character. Places that a
definition asks about are named *spans* of a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.models import Encoded, Example
from attlas.text import Document, Passage, Segmentation

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.corpora import Corpus

COPY = 64  # pieces of a text that is repeated, where the window holds twice as many
SHORTEST = 8  # pieces of such a text, below which nothing is asked
SINK = 64  # pieces of a text on which sinks are scored (Gu et al.)
TEST_COPY = 16  # pieces of a repeated text on which heads are closed, which is done many times
TESTED, FEWEST_TESTED = 12, 6  # texts on which named heads are closed
CLOSED_ALONE = 16  # texts on which every head is closed by itself
_EDGE = 0.1  # of the vocabulary at either end, which is left out


@dataclass(frozen=True)
class RoleText(Example):
    """A text with named places: each span is (from, to) in the pieces of its source.

    >>> e = Encoded((5,), (0,), ("",), Segmentation(("a",), (0,), (0,), 1))
    >>> RoleText(Passage(Document.from_text("a")), e, spans={"needle": (0, 1)}).spans["needle"]
    (0, 1)
    """

    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Frame:
    """What stands before and after the pieces of a text; ``begun`` says whether a beginning piece is among them.

    >>> Frame((1,), (), True).room
    1
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    begun: bool

    @property
    def room(self) -> int:
        """How many pieces it takes.

        >>> Frame((101,), (102,), True).room
        2
        """
        return len(self.before) + len(self.after)


@dataclass(frozen=True)
class Setting:
    """What texts are made for: a model, a corpus, how many texts of each kind, and the seed of all draws;
    whether gates are trained. What took long to make and serves several kinds is ``kept`` (what the model wrote).

    >>> from attlas.capture import load
    >>> from attlas.corpora import read
    >>> setting = Setting(load(), read("sample"))
    >>> setting.frame.before, setting.frame.begun
    ((101,), True)
    """

    subject: Subject
    corpus: Corpus
    texts: int = 48
    seed: int = 0
    max_pieces: int | None = None
    gates: bool = False
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def window(self) -> int:
        """The most pieces that a text may have.

        >>> from attlas.capture import load
        >>> Setting(load(), None).window
        512
        """
        window = int(self.subject.pieces.window)
        return window if self.max_pieces is None else min(window, self.max_pieces)

    @property
    def tested(self) -> int:
        """On how many texts named heads are closed: a third as many as they are named by, within limits.

        >>> from attlas.capture import load
        >>> Setting(load(), None, 40).tested, Setting(load(), None, 24).tested, Setting(load(), None, 12).tested
        (12, 8, 6)
        """
        return min(TESTED, max(FEWEST_TESTED, self.texts // 3))

    @cached_property
    def frame(self) -> Frame:
        """What the model's own texts begin and end with, its beginning piece put in where it has one."""
        return frame_of(self.subject)

    def draw(self, *key: Any) -> np.random.Generator:
        """A generator of its own for every use.

        >>> from attlas.capture import load
        >>> Setting(load(), None).draw("a").random() != Setting(load(), None).draw("b").random()
        True
        """
        return np.random.default_rng([self.seed, *"\0".join(map(str, key)).encode()])

    def example(
        self, pieces: Sequence[int], unit: int, spans: Mapping[str, tuple[int, int]] | None = None, *,
        begun: bool = True,
    ) -> RoleText:  # fmt: skip
        """A text of these pieces in its frame; spans are given in places of the pieces, before the frame is put on.
        Without ``begun`` a decoder's beginning piece is left out. A translation model reads it on both sides.

        >>> from attlas.capture import load
        >>> text = Setting(load(), None).example([2000, 2001], 0, {"first": (0, 1)})
        >>> text.source.ids, text.spans["first"], text.source.roles
        ((101, 2000, 2001, 102), (1, 2), ('cls', '', '', 'sep'))
        """
        frame = self.frame if begun else replace(self.frame, before=(), begun=False)
        source = self._encoded(pieces, frame.before, frame.after)
        target = None
        if self.subject.pieces.translating:
            start = self.subject.pieces.start_id
            target = self._encoded(pieces, () if start is None else (start,), ())
        shift = len(frame.before)
        placed = {name: (first + shift, last + shift) for name, (first, last) in (spans or {}).items()}
        words = Document.from_words([f"p{piece}" for piece in pieces], name=f"text {unit + 1}")
        return RoleText(Passage(words), source, target, unit, placed)

    def _encoded(self, pieces: Sequence[int], before: Sequence[int], after: Sequence[int]) -> Encoded:
        tokenizer = self.subject.pieces.tokenizer
        ids = (*before, *map(int, pieces), *after)
        inside = [len(before) <= place < len(before) + len(pieces) for place in range(len(ids))]
        words = tuple(place - len(before) if own else -1 for place, own in enumerate(inside))
        roles = ("cls",) * len(before) + ("",) * len(pieces) + ("sep",) * len(after)
        shown = tuple(map(str, tokenizer.convert_ids_to_tokens(list(ids))))
        documents = tuple(0 if own else -1 for own in inside)
        return Encoded(ids, (0,) * len(ids), roles, Segmentation(shown, words, documents, len(pieces)))


def frame_of(subject: Subject) -> Frame:
    """What surrounds a text: as the model's tokenizer has it, and in front of a decoder's text its beginning piece,
    where its tokenizer knows one.

    >>> from attlas.capture import load
    >>> frame_of(load())
    Frame(before=(101,), after=(102,), begun=True)
    """
    pieces = subject.pieces
    encoded = pieces.encode(Passage(Document.from_words(["a"]))).source
    own = [place for place, special in enumerate(encoded.segmentation.special) if not special]
    before, after = encoded.ids[: own[0]], encoded.ids[own[-1] + 1 :]
    if pieces.own is Stream.ENCODER:
        return Frame(before, after, bool(before))
    begin = pieces.tokenizer.bos_token_id
    if begin is None or not 0 <= int(begin) < _vocabulary(subject):
        return Frame((), (), False)
    return Frame((int(begin),), (), True)


def _vocabulary(subject: Subject) -> int:
    return int(subject.model.config.get_text_config().vocab_size)


def ordinary_pieces(
    setting: Setting, generator: np.random.Generator, count: int, fewest: int | None = None
) -> list[int]:
    """So many different pieces from the middle of the vocabulary, none of them special; where there are no more,
    ``fewest`` are enough.

    >>> from attlas.capture import load
    >>> setting = Setting(load(), None)
    >>> drawn = ordinary_pieces(setting, setting.draw("example"), 40)
    >>> len(set(drawn)), min(drawn) > 3000
    (40, True)
    """
    subject = setting.subject
    tokenizer = subject.pieces.tokenizer
    size = min(_vocabulary(subject), len(tokenizer))
    special = {*tokenizer.all_special_ids, *getattr(tokenizer, "added_tokens_decoder", {})}
    middle = np.arange(round(_EDGE * size), round((1 - _EDGE) * size))
    drawn: list[int] = []
    for piece in generator.permutation(middle).tolist():
        if piece not in special and _is_text(str(tokenizer.decode([piece]))):
            drawn.append(piece)
            if len(drawn) == count:
                return drawn
    if fewest is not None and len(drawn) >= fewest:
        return drawn
    raise CapabilityError(
        f"{subject.name}: its vocabulary has {len(drawn)} ordinary pieces, and a text of random pieces needs {count} "
        "different ones"
    )


def _is_text(piece: str) -> bool:
    """Whether a piece stands for whole characters that a text may hold."""
    shown = piece.strip()
    return bool(shown) and "\ufffd" not in shown and not (shown[0] in "<[" and shown[-1] in ">]")


def repeated(setting: Setting, copies: int = 2) -> list[RoleText]:
    """Texts of random pieces, all different, that are said twice: [begin] r r. Spans are "first" and "again", all
    copies after the first.

    >>> from attlas.capture import load
    >>> texts = repeated(Setting(load(), None, texts=2))
    >>> texts[0].source.ids[1:65] == texts[0].source.ids[65:129], texts[0].spans["again"], len(texts)
    (True, (65, 129), 2)
    """
    size = _copy(setting, COPY, copies)
    spans = {"first": (0, size), "again": (size, copies * size)}
    return [
        setting.example(ordinary_pieces(setting, setting.draw("repeated", unit), size) * copies, unit, spans)
        for unit in range(setting.texts)
    ]


def repeated_to_test(setting: Setting) -> list[RoleText]:
    """Other and shorter texts of random pieces that are said twice, on which no head is chosen; asked for is all of
    the second copy but its first piece, which nothing tells.

    >>> from attlas.capture import load
    >>> texts = repeated_to_test(Setting(load(), None))
    >>> texts[0].spans["asked"], len(texts)
    ((18, 33), 12)
    """
    return _short_repeated(setting, "to test", setting.tested)


def repeated_to_close(setting: Setting) -> list[RoleText]:
    """The same, drawn anew: texts on which every head is closed by itself.

    >>> from attlas.capture import load
    >>> setting = Setting(load(), None)
    >>> texts = repeated_to_close(setting)
    >>> len(texts), texts[0].source.ids == repeated_to_test(setting)[0].source.ids
    (16, False)
    """
    return _short_repeated(setting, "to close", CLOSED_ALONE)


def _short_repeated(setting: Setting, draw: str, count: int) -> list[RoleText]:
    size = _copy(setting, TEST_COPY)
    spans = {"first": (0, size), "again": (size, 2 * size), "asked": (size + 1, 2 * size)}
    return [
        setting.example(ordinary_pieces(setting, setting.draw(draw, unit), size) * 2, unit, spans)
        for unit in range(count)
    ]


def _copy(setting: Setting, most: int, copies: int = 2) -> int:
    """How many pieces a text has that is said so often; refused where the window holds too few."""
    size = min(most, (setting.window - setting.frame.room) // copies)
    if size < SHORTEST:
        raise CapabilityError(
            f"a window of {setting.window} pieces is too short for a text that is repeated, which has at least "
            f"{copies * SHORTEST + setting.frame.room}"
        )
    return size


def natural_to_test(setting: Setting) -> list[RoleText]:
    """Beginnings of the corpus's texts on which no head is chosen: those of odd numbers; asked for is every piece but
    the first.

    >>> from attlas.capture import load
    >>> from attlas.corpora import read
    >>> texts = natural_to_test(Setting(load(), read("sample")))
    >>> texts[0].spans["asked"], len(texts), texts[0].unit
    ((2, 33), 12, 1)
    """
    kept = [text for text in natural(setting) if text.unit % 2][: setting.tested]
    if not kept:
        raise CapabilityError(f"{setting.corpus.name} has no text that heads were not chosen on")
    room = 2 * TEST_COPY
    return [
        setting.example(_inside(text)[:room], text.unit, {"asked": (1, min(room, len(_inside(text))))})
        for text in kept
    ]


def _inside(text: RoleText) -> tuple[int, ...]:
    """A text's pieces without its frame."""
    first, last = text.spans["text"]
    return text.source.ids[first:last]


def natural(setting: Setting) -> list[RoleText]:
    """The beginnings of a corpus's texts, of the same length each; texts that are shorter are joined with those that
    follow. Fewer where the corpus has no more.

    >>> from attlas.capture import load
    >>> from attlas.corpora import read
    >>> texts = natural(Setting(load(), read("sample"), texts=6))
    >>> len(texts), {text.source.length for text in texts}
    (6, {64})
    """
    return _natural(setting, begun=True)


def natural_without_beginning(setting: Setting) -> list[RoleText]:
    """The same texts without a beginning piece, where a model has one and can do without.

    >>> from attlas.capture import load
    >>> natural_without_beginning(Setting(load(), None))
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: the texts of all-MiniLM-L6-v2 cannot be read without the pieces that begin and ...
    """
    if setting.subject.pieces.own is Stream.ENCODER:
        raise CapabilityError(
            f"the texts of {setting.subject.name} cannot be read without the pieces that begin and end them"
        )
    if not setting.frame.begun:
        raise CapabilityError(
            f"{setting.subject.name} has no beginning piece, so that its texts are read without one anyway"
        )
    return _natural(setting, begun=False)


def _natural(setting: Setting, *, begun: bool) -> list[RoleText]:
    length = min(SINK, setting.window)
    room = length - (setting.frame.room if begun else len(setting.frame.after))
    texts = list(runs_of(setting, room))
    if len(texts) < 2:
        raise CapabilityError(
            f"{setting.corpus.name} has too little text: two texts of {length} pieces are needed at least"
        )
    order = sorted(setting.draw("natural").permutation(len(texts))[: setting.texts].tolist())
    return [setting.example(texts[at], unit, {"text": (0, room)}, begun=begun) for unit, at in enumerate(order)]


def runs_of(setting: Setting, room: int) -> Iterator[list[int]]:
    """Runs of so many pieces from the beginning of each text, those that are too short joined with the next."""
    pieces = setting.subject.pieces
    kept: list[int] = []
    for document in setting.corpus.documents:
        encoded = pieces.encode(Passage(document)).source
        special = encoded.segmentation.special
        kept += [piece for piece, out in zip(encoded.ids, special, strict=True) if not out]
        if len(kept) >= room:
            yield kept[:room]
            kept = []
