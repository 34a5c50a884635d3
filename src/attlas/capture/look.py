"""Looking at one text: everything that stands at the seam while a model reads it.

A :class:`Capture` holds, per stream, weights and norms as (layer, head, query, key) and queries, keys and values
as (layer, head, piece, width), together with the pieces and words they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture.instruments import Recorder
from attlas.errors import CapabilityError, TextError
from attlas.ids import Site, Stream
from attlas.measures.norms import gram, value_norms
from attlas.models import Batch
from attlas.text import Document, Passage, Segmentation, regroup

if TYPE_CHECKING:
    from attlas.capture.subject import Subject


@dataclass(frozen=True)
class Capture:
    """What was seen while a model read one passage.

    >>> from attlas.capture import load
    >>> capture = load().look("The farmer slept.")
    >>> capture.queries_of(Stream.ENCODER).pieces
    ('[CLS]', 'The', 'farmer', 'slept', '.', '[SEP]')
    >>> capture.words(Stream.ENCODER).shape
    (6, 12, 6, 6)
    """

    model: str
    passage: Passage
    source: Segmentation
    target: Segmentation | None
    weights: dict[Stream, Tensor]
    values: dict[Stream, Tensor]
    norms: dict[Stream, Tensor] = field(default_factory=dict)
    queries: dict[Stream, Tensor] = field(default_factory=dict)
    keys: dict[Stream, Tensor] = field(default_factory=dict)
    hidden_states: dict[Stream, Tensor] = field(default_factory=dict)
    own: Stream = Stream.ENCODER

    def queries_of(self, stream: Stream) -> Segmentation:
        """The pieces that attend in a stream.

        >>> from attlas.capture import load
        >>> load().look("Hi.").queries_of(Stream.ENCODER).words
        (-1, 0, 1, -1)
        """
        side = self.source if stream is self.own else self.target
        if side is None or stream not in self.weights:
            raise CapabilityError(
                f"nothing was captured of the {stream} of {self.model}; give a target for it to read"
            )
        return side

    def keys_of(self, stream: Stream) -> Segmentation:
        """The pieces that are attended to in a stream.

        >>> from attlas.capture import load
        >>> load().look("Hi.").keys_of(Stream.ENCODER).pieces
        ('[CLS]', 'Hi', '.', '[SEP]')
        """
        return self.source if stream is Stream.CROSS else self.queries_of(stream)

    def words(self, stream: Stream, measure: str = "weight") -> NDArray[np.floating]:
        """Attention between words and special pieces: summed over the pieces of a key, averaged over those of a
        query.

        >>> from attlas.capture import load
        >>> bool(np.allclose(load().look("Unbelievable!").words(Stream.ENCODER).sum(-1), 1, atol=1e-5))
        True
        """
        if measure not in ("weight", "norm"):
            raise CapabilityError(f"no measure {measure!r}; choose weight or norm")
        held = self.weights if measure == "weight" else self.norms
        if stream not in held:
            raise CapabilityError(f"no {measure} was captured of the {stream} of {self.model}")
        return regroup(held[stream].detach().double().cpu().numpy(), self.queries_of(stream), self.keys_of(stream))


def as_passage(text: Any, target: Any = None) -> Passage:
    """Make a passage of whatever a person may hand in: a text, two texts, a list of words, a document.

    >>> as_passage(("a b", "c")).second.text
    'c'
    >>> as_passage(["a", "b"]).first.text
    'a b'
    """
    if isinstance(text, Passage):
        return text
    if isinstance(text, tuple):
        if len(text) != 2 or target is not None:
            raise TextError(f"a tuple must hold two texts, and this has {len(text)}; for words give a list")
        text, target = text
    return Passage(_as_document(text), None if target is None else _as_document(target))


def _as_document(text: Any) -> Document:
    if isinstance(text, Document):
        return text
    if isinstance(text, str):
        if not text.strip():
            raise TextError("the text is empty; give at least one word")
        return Document.from_text(text)
    if isinstance(text, Sequence) and all(isinstance(word, str) for word in text):
        if not text:
            raise TextError("the list of words is empty; give at least one word")
        return Document.from_words(list(text))
    raise TextError(f"cannot look at {type(text).__name__}; give a text, two texts, or a list of words")


def look(subject: Subject, text: Any, target: Any = None, *, hidden_states: bool = False) -> Capture:
    """Run a passage through a subject with a recorder on.

    >>> from attlas.capture import load
    >>> look(load(), "Hi.").norms[Stream.ENCODER].shape
    torch.Size([6, 12, 4, 4])
    """
    example = subject.pieces.encode(as_passage(text, target))
    if example.length > subject.pieces.window:
        raise TextError(
            f"the text has {example.length} pieces and the window of {subject.name} holds {subject.pieces.window}; "
            "shorten it, or look at its parts"
        )
    batch = subject.pieces.batch([example], subject.device)
    kinds = ["weights", "values"] + (["queries", "keys"] if subject.has_queries else [])
    recorder = Recorder(kinds)
    with torch.no_grad(), subject.use(recorder):
        output = subject.run(batch, **({"output_hidden_states": True} if hidden_states else {}))
    stacks = {kind: _stack(recorder, kind) for kind in kinds}
    return Capture(
        subject.name,
        example.passage,
        example.source.segmentation,
        None if example.target is None else example.target.segmentation,
        **stacks,
        norms=norms_of(subject, stacks["weights"], stacks["values"]) if subject.has_norms else {},
        hidden_states=_hidden(output, batch) if hidden_states else {},
        own=subject.pieces.own,
    )


def norms_of(subject: Subject, weights: dict[Stream, Tensor], values: dict[Stream, Tensor]) -> dict[Stream, Tensor]:
    """Norms ||alpha f(x)|| from recorded weights and values, per stream as (layer, head, query, key).

    >>> from attlas.capture import load
    >>> norms_of(load(), {}, {})
    {}
    """
    norms = {}
    for stream, held in weights.items():
        grams = [gram(subject.output_matrix(Site(stream, layer)).detach()) for layer in range(held.shape[0])]
        lengths = [value_norms(v[None], g)[0] for v, g in zip(values[stream], grams, strict=True)]
        norms[stream] = held * torch.stack(lengths)[:, :, None, :]
    return norms


def _stack(recorder: Recorder, kind: str) -> dict[Stream, Tensor]:
    found: dict[Stream, list[Tensor]] = {}
    for site in sorted(recorder.kept, key=lambda site: site.layer):
        found.setdefault(site.stream, []).append(recorder.get(site, kind)[0])
    return {stream: torch.stack(layers) for stream, layers in found.items()}


def _hidden(output: Any, batch: Batch) -> dict[Stream, Tensor]:
    """Hidden states as (layer + 1, piece, hidden), from the names the library gives them."""
    names = {
        "hidden_states": batch.own,
        "encoder_hidden_states": Stream.ENCODER,
        "decoder_hidden_states": Stream.DECODER,
    }
    found: dict[Stream, Tensor] = {}
    for name, stream in names.items():
        states = getattr(output, name, None)
        if states:
            found[stream] = torch.stack([state[0] for state in states])
    return found
