"""Roles on single texts: every definition that is a sum over weights, on short texts and on repeated ones.

Texts of the corpus are read as the study reads them, with the beginning piece in front, but each whole and by itself;
texts of random pieces are made here, shorter than those of the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.models import Encoded, Example
from attlas.studies.roles.definition import Definition, Trial, at_place
from attlas.studies.roles.definitions import NATURAL, REPEATED
from attlas.studies.roles.passes import SeamScores
from attlas.studies.roles.scores import HALVES
from attlas.studies.roles.seen import Pieces, Seen, Sums
from attlas.studies.roles.texts import RoleText, Setting, repeated
from attlas.studies.shared.by_text import ByText, corpus_of, unit_by_unit
from attlas.text import Document, Passage, Segmentation

if TYPE_CHECKING:
    from attlas.capture import Subject

LONGEST = 40  # pieces of a text that is made
MADE = 6  # so many of them
FIRST = ("attlas.studies.roles.sinks:rests", "attlas.studies.roles.sinks:first_share")
BY_PLACE = "attlas.studies.roles.places:"


def by_text(subject: Subject, documents: Sequence[Document], seed: int = 0) -> Iterator[ByText]:
    """What the definitions of roles say of every head on each of some short documents, and on texts that are made.

    >>> from attlas.capture import load
    >>> natural, made = by_text(load(), [Document.from_text("The farmer slept.")])
    >>> natural.values("previous_text", Stream.ENCODER, 2, 10).shape, len(made.examples)
    ((1,), 6)
    """
    setting = Setting(subject, corpus_of(documents), MADE, seed, LONGEST)
    natural = [_begun(setting, document, unit) for unit, document in enumerate(documents)]
    yield from _scored(setting, NATURAL, natural)
    try:
        texts = [_spelled(subject, text) for text in repeated(setting)]
    except CapabilityError:  # its window or vocabulary is too small
        return
    yield from _scored(setting, REPEATED, texts)


def _scored(setting: Setting, trial: Trial, texts: Sequence[RoleText]) -> Iterator[ByText]:
    """The definitions of a trial on each of some texts."""
    subject = setting.subject
    kept = [known for known in trial.definitions if known.sums and not known.why_not(subject)]
    if not kept or not texts:
        return
    study = SeamScores(subject, kept, setting)
    bundle = study.empty()
    study.update(bundle, texts)
    figures: dict[str, dict[Stream, NDArray[np.float64]]] = {}
    for stream in study.streams:
        means = unit_by_unit(bundle, [f"{stream}-scores-{half}" for half in HALVES], len(texts))
        for place, definition in enumerate(kept):
            figures.setdefault(definition.key, {})[stream] = means[..., place]
    by_key = {definition.key: definition for definition in kept}
    yield ByText(texts, figures, lambda text, stream, key: _places(subject, texts[text], stream, by_key[key]))


def _places(subject: Subject, text: Example, stream: Stream, definition: Definition) -> NDArray[np.bool_] | None:
    """Which weights of a text a definition is about, (query, key); None where it is about more than weights."""
    batch = subject.pieces.batch([text], subject.device)
    asking, asked = batch.queries(stream), batch.keys(stream)
    if asking is None or asked is None:
        return None
    queries, keys = Pieces.of(asking, [text]), Pieces.of(asked, [text])
    if definition.sums in FIRST:
        made = np.zeros((queries.ids.shape[1], keys.ids.shape[1]), bool)
        made[:, 0] = True
        return made
    if not definition.sums.startswith(BY_PLACE):
        return None
    noting = _Noting(subject, None, queries, keys, [text])  # type: ignore[arg-type]
    at_place(definition.sums)(noting)
    return noting.places


class _Noting(Seen):
    """What a definition would see, which notes the weights that it asks for."""

    places: NDArray[np.bool_] | None = None

    def mass(self, keys: Tensor, queries: Tensor) -> Sums:
        """Note which keys of which queries are asked for."""
        self.places = (keys & queries[:, :, None])[0].cpu().numpy()
        return queries, queries


def _begun(setting: Setting, document: Document, unit: int) -> RoleText:
    """A document as the model reads it, with the beginning piece in front where the model has one."""
    example = setting.subject.pieces.encode(Passage(document, _translated(setting, document)))
    source, before = example.source, setting.frame.before
    if before and source.ids[: len(before)] != before:
        source = _with_pieces_before(setting, source, before)
    return RoleText(example.passage, source, example.target, unit, {"text": (0, source.length)})


def _translated(setting: Setting, document: Document) -> Document | None:
    return (document.translation or document) if setting.subject.pieces.translating else None


def _with_pieces_before(setting: Setting, source: Encoded, before: tuple[int, ...]) -> Encoded:
    segmentation, count = source.segmentation, len(before)
    shown: list[Any] = setting.subject.pieces.tokenizer.convert_ids_to_tokens(list(before))
    return Encoded(
        before + source.ids, (0,) * count + source.types, ("cls",) * count + source.roles,
        Segmentation((*map(str, shown), *segmentation.pieces), (-1,) * count + segmentation.words,
                     (-1,) * count + segmentation.documents, segmentation.word_count),
    )  # fmt: skip


def _spelled(subject: Subject, text: RoleText) -> RoleText:
    """A text of drawn pieces whose words are spelled as the pieces are read."""
    special, ids = text.source.segmentation.special, text.source.ids
    own = [int(piece) for piece, out in zip(ids, special, strict=True) if not out]
    words = [str(subject.pieces.tokenizer.decode([piece])).strip() or "?" for piece in own]
    document = Document.from_words(words, name=text.passage.first.name)
    passage = Passage(document, document) if subject.pieces.translating else Passage(document)
    return replace(text, passage=passage)
