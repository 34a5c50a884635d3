"""Looking at one text: everything that stands at the seam while a model reads it.

A :class:`Capture` holds, per stream, weights and norms as (layer, head, query, key) and queries, keys and values
as (layer, head, piece, width), together with the pieces and words they belong to. It can hold all layers and heads
or only some: one layer of a long text is what fits where all of them do not. Joint norms, (layer, query, key), are
taken where they are asked for.

Layers of one model may differ in the number of their heads and in their width. A head that a layer does not have is
NaN in all arrays, so that it gets into no mean; vectors that are narrower than those of other layers end in zeros,
which no product and no norm sees.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture.instruments import Recorder
from attlas.capture.joint import joints, said
from attlas.capture.mixing import check_step
from attlas.capture.room import require_room, within_memory
from attlas.capture.selection import Heads, Layers, Selection
from attlas.errors import CapabilityError, TextError
from attlas.ids import Stream
from attlas.measures.names import check_measure
from attlas.measures.norms import gram, value_norms
from attlas.models import Batch, Example
from attlas.text import Document, Passage, Segmentation, regroup

if TYPE_CHECKING:
    from attlas.capture.subject import Subject
    from attlas.views import Scene, Sequence, Strand


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
    layers: dict[Stream, tuple[int, ...]]
    heads: dict[Stream, tuple[int, ...]]
    lengths: dict[Stream, Tensor] = field(default_factory=dict)
    queries: dict[Stream, Tensor] = field(default_factory=dict)
    keys: dict[Stream, Tensor] = field(default_factory=dict)
    scores: dict[Stream, Tensor] = field(default_factory=dict)
    scaling: dict[Stream, tuple[float, ...]] = field(default_factory=dict)
    hidden_states: dict[Stream, Tensor] = field(default_factory=dict)
    own: Stream = Stream.ENCODER
    joints: dict[str, dict[Stream, Tensor]] = field(default_factory=dict)
    widths: dict[Stream, tuple[int, ...]] = field(default_factory=dict)
    blocks: dict[Stream, tuple[int, ...]] = field(default_factory=dict)
    inputs: dict[str, Tensor] = field(default_factory=dict, repr=False)
    written: int | None = None

    def heads_of(self, stream: Stream) -> tuple[tuple[int, ...], ...]:
        """The heads of each layer that was captured, by their numbers: not the same where layers differ in them.

        >>> from attlas.capture import load
        >>> load().pruned(["1-3"]).look("Hi.", layers="1..2", heads="1,12").heads_of(Stream.ENCODER)
        ((0,), (0, 11))
        """
        present = ~self.weights[stream][:, :, :1, :1].isnan().flatten(2).any(-1)
        return tuple(
            tuple(head for head, there in zip(self.heads[stream], row, strict=True) if there)
            for row in present.tolist()
        )

    @cached_property
    def norms(self) -> dict[Stream, Tensor]:
        """Norms ||alpha f(x)||, as (layer, head, query, key): weights times the lengths ||f(x)|| of the keys.

        >>> from attlas.capture import load
        >>> load().look("Hi.").norms[Stream.ENCODER].shape
        torch.Size([6, 12, 4, 4])
        """
        return {stream: self.weights[stream] * lengths[:, :, None, :] for stream, lengths in self.lengths.items()}

    def joint(self, step: str = "attention") -> dict[Stream, Tensor]:
        """Joint norms, what each key brings with all heads of a layer together, as (layer, query, key), at a step
        that was looked at: attention, residual or normalised.

        >>> from attlas.capture import load
        >>> load().look("Hi.", joint="residual").joint("residual")[Stream.ENCODER].shape
        torch.Size([6, 4, 4])
        """
        if check_step(step) not in self.joints:
            raise CapabilityError(
                f"no joint norms of the step {step} were captured of {self.model}; read the text with "
                f"look(..., joint={step!r})"
            )
        return self.joints[step]

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

    def words(self, stream: Stream, measure: str = "weight", *, joint: str | None = None) -> NDArray[np.floating]:
        """Attention between words and special pieces: summed over the pieces of a key, averaged over those of a
        query; with ``joint``, the joint norms of that step, (layer, query, key).

        >>> from attlas.capture import load
        >>> bool(np.allclose(load().look("Unbelievable!").words(Stream.ENCODER).sum(-1), 1, atol=1e-5))
        True
        """
        if joint is not None:
            held, measure = self.joint(joint), "joint norm"
        else:
            held = self.weights if check_measure(measure) == "weight" else self.norms
        if stream not in held:
            raise CapabilityError(f"no {measure} was captured of the {stream} of {self.model}")
        return regroup(held[stream].detach().double().cpu().numpy(), self.queries_of(stream), self.keys_of(stream))

    def scene(self, joint: str | None = None) -> Scene:
        """What views show of this capture, as numpy arrays: its heads or, with ``joint``, one map for each layer of
        the joint norms of that step.

        >>> from attlas.capture import load
        >>> load().look("Hi.").scene().strands[0].weights.shape
        (6, 12, 4, 4)
        """
        from attlas.views import Scene
        from attlas.views.regions import with_regions

        texts = tuple(document.text for document in self.passage.documents)
        strand = self._strand if joint is None else partial(self._joint_strand, step=joint)
        strands = tuple(strand(stream) for stream in Stream if stream in self.weights)
        return with_regions(Scene(self.model, texts, strands))

    def view(
        self,
        kind: str = "head",
        *,
        against: Capture | None = None,
        joint: str | None = None,
        card: str | Path | None = None,
        **options: Any,
    ) -> Any:
        """Show this capture in a notebook: as a widget where anywidget is installed, else as a page in a frame.

        ``kind`` is one of the views, such as head or matrix; ``against`` another capture to compare with, of another
        text or another model; ``joint`` a step whose joint norms are shown instead of heads; ``card`` the folder of
        ``attlas faith`` whose card is to stand above the picture; ``options`` are those of
        :func:`attlas.views.show`, with layers and heads by label.

        >>> from attlas.capture import load
        >>> type(load().look("Hi.").view("head", widget=False)).__name__
        'Frame'
        """
        from attlas.views import show

        captures = [self] if against is None else [self, against]
        return show([capture.scene(joint) for capture in captures], kind=kind, card=card, **options)

    def _strand(self, stream: Stream) -> Strand:
        from attlas.views import Strand

        def array(held: dict[Stream, Tensor]) -> NDArray[np.float32] | None:
            return held[stream].detach().float().cpu().numpy() if stream in held else None

        return Strand(
            stream,
            *self._sides(stream),
            self.weights[stream].detach().float().cpu().numpy(),
            self.layers[stream],
            self.heads[stream],
            array(self.lengths),
            array(self.queries),
            array(self.keys),
            array(self.scores),
            self.scaling.get(stream, ()),
            widths=self.widths.get(stream, ()),
            blocks=self.blocks.get(stream, ()),
        )

    def _joint_strand(self, stream: Stream, step: str) -> Strand:
        from attlas.views import Strand

        norms = self.joint(step)[stream].float().cpu().numpy()[:, None]
        blocks = self.blocks.get(stream, ())
        return Strand(
            stream, *self._sides(stream), norms, self.layers[stream], joint=said(step, stream), blocks=blocks
        )  # fmt: skip

    def _sides(self, stream: Stream) -> tuple[Sequence, Sequence]:
        queries = self._reading(self.queries_of(stream))
        return queries, self._reading(self.keys_of(stream)) if stream is Stream.CROSS else queries

    def _reading(self, segmentation: Segmentation) -> Sequence:
        from attlas.views import Sequence

        documents = self.passage.documents
        if self.target is not None:
            documents = documents[:1] if segmentation is self.source else documents[1:]
        made = Sequence.of(segmentation, [d.word(at) for d in documents for at in range(len(d.words))])
        wrote = segmentation is (self.source if self.target is None else self.target)
        return replace(made, written=self.written if wrote else None)


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
    if isinstance(text, abc.Sequence) and all(isinstance(word, str) for word in text):
        if not text:
            raise TextError("the list of words is empty; give at least one word")
        return Document.from_words(list(text))
    raise TextError(f"cannot look at {type(text).__name__}; give a text, two texts, or a list of words")


def look(
    subject: Subject,
    text: Any,
    target: Any = None,
    *,
    layers: Layers | None = None,
    heads: Heads | None = None,
    joint: str | Collection[str] = (),
    hidden_states: bool = False,
    most_weights: int | None = None,
) -> Capture:
    """Run a passage through a subject with a recorder on, at all layers and heads or at those asked for; with the
    joint norms of the steps in ``joint``, which are always those of all heads. More weights than ``most_weights``
    (None: the limit in force, see :class:`attlas.corpora.Limits`) are refused before any memory is taken for them.

    >>> from attlas.capture import load
    >>> look(load(), "Hi.", layers="6", heads=["1", "4"]).weights[Stream.ENCODER].shape
    torch.Size([1, 2, 4, 4])
    """
    example = subject.pieces.encode(as_passage(text, target))
    return look_at(
        subject, example, layers=layers, heads=heads, joint=joint, hidden_states=hidden_states,
        most_weights=most_weights,
    )  # fmt: skip


def look_at(
    subject: Subject,
    example: Example,
    *,
    layers: Layers | None = None,
    heads: Heads | None = None,
    joint: str | Collection[str] = (),
    hidden_states: bool = False,
    most_weights: int | None = None,
) -> Capture:
    """Look at a passage that is cut into pieces already, whatever stands before and after them.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> example = subject.pieces.encode(as_passage("Hi."))
    >>> look_at(subject, example).weights[Stream.ENCODER].shape
    torch.Size([6, 12, 4, 4])
    """
    if example.length > subject.pieces.window:
        raise TextError(
            f"the text has {example.length} pieces and the window of {subject.name} holds {subject.pieces.window}; "
            "shorten it, or look at its parts"
        )
    selection = chosen(subject, layers, heads)
    steps = (joint,) if isinstance(joint, str) else joint
    require_room(subject, example.length, selection, most_weights, joint=steps, hidden_states=hidden_states)
    batch = subject.pieces.batch([example], subject.device)
    kinds = ["weights", "values"] + (["scores", "queries", "keys"] if subject.has_queries else [])
    recorder = Recorder(kinds, selection)
    with within_memory(subject):
        with torch.no_grad(), subject.use(recorder), joints(subject, steps, recorder.selection) as kept:
            output = subject.read(batch, **({"output_hidden_states": True} if hidden_states else {}))
        return Capture(
            subject.name,
            example.passage,
            example.source.segmentation,
            None if example.target is None else example.target.segmentation,
            **gather(subject, recorder, lambda steps, kind, stream: steps[kind][-1][0]),
            hidden_states=_hidden(output, batch) if hidden_states else {},
            own=subject.pieces.own,
            joints=kept.stacked(),
            inputs={name: given.cpu() for name, given in batch.inputs.items()},
        )


def chosen(subject: Subject, layers: Layers | None, heads: Heads | None) -> Selection:
    """The layers and heads asked for by label, refused where the model has none of that name.

    >>> from attlas.capture import load
    >>> chosen(load(), ["7"], None)
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 has no layer 7; its layers are 1 to 6
    """
    selection = Selection(layers=layers, heads=heads)
    for stream in selection.streams or ():
        if stream not in subject.streams:
            raise CapabilityError(f"{subject.name} has no {stream}; it has {', '.join(subject.streams)}")
    sites = [site for site in subject.sites if selection.streams is None or site.stream in selection.streams]
    kept = subject.kept
    counts = {site: subject.heads(site) if kept[site] else 0 for site in sites}
    here = [count for site, count in counts.items() if selection.layers is None or site.layer in selection.layers]
    for what, asked, most in (
        ("layer", selection.layers, 1 + max(site.layer for site in sites)),
        ("head", selection.heads, max(here, default=0)),
    ):
        for number in sorted(asked or ()):
            if number >= most:
                elsewhere = what == "head" and number < max(counts.values())
                where = " in the layers asked for" if elsewhere else ""
                raise CapabilityError(
                    f"{subject.name} has no {what} {number + 1}{where}; its {what}s are 1 to {most}"
                )
        if asked is not None and not asked:
            raise CapabilityError(f"no {what} was asked for; give at least one, or leave it out for all")
    return selection


def gather(
    subject: Subject, recorder: Recorder, join: Callable[[dict[str, list[Tensor]], str, Stream], Tensor]
) -> dict[str, Any]:
    """What a recorder has kept, and gives away, as the fields of a capture: ``join`` makes one tensor of the steps at
    a site.

    >>> from attlas.capture import load
    >>> gather(load(), Recorder(), lambda steps, kind, stream: steps[kind][-1][0])["weights"]
    {}
    """
    sites = sorted(recorder.kept, key=lambda site: (list(Stream).index(site.stream), site.layer))
    silent = {site for site, heads in subject.kept.items() if not heads}
    found: dict[str, dict[Stream, list[Tensor]]] = {}
    layers: dict[Stream, tuple[int, ...]] = {}
    scaling: dict[Stream, tuple[float, ...]] = {}
    adjusted = {site.stream for site in sites if "scores" in recorder.kept[site]}
    for site in sites:
        stream, steps = site.stream, recorder.kept.pop(site)  # so that no step is there twice for long
        layers[stream] = (*layers.get(stream, ()), site.layer)
        scaling[stream] = (*scaling.get(stream, ()), recorder.scaling[site])
        joined = {kind: join(steps, kind, stream) for kind in steps}
        if stream in adjusted and "scores" not in joined:  # those of other layers are more than products
            joined["scores"] = joined["queries"] @ joined["keys"].transpose(-1, -2) * recorder.scaling[site]
        if subject.has_norms:
            grams = gram(subject.output_matrix(site).detach())
            if recorder.selection.heads is not None:
                grams = grams[[head for head in sorted(recorder.selection.heads) if head < len(grams)]]
            joined["lengths"] = value_norms(joined["values"][None], grams)[0]
        for kind, tensor in joined.items():
            found.setdefault(kind, {}).setdefault(stream, []).append(tensor[:0] if site in silent else tensor)
    stacks: dict[str, Any] = {kind: {s: _stack(held) for s, held in of.items()} for kind, of in found.items()}
    weights = stacks.setdefault("weights", {})
    stacks.setdefault("values", {})
    asked = recorder.selection.heads
    numbers = {s: range(w.shape[1]) if asked is None else sorted(asked)[: w.shape[1]] for s, w in weights.items()}
    return {
        **stacks,
        "layers": layers,
        "heads": {stream: tuple(heads) for stream, heads in numbers.items()},
        "scaling": scaling if subject.has_queries else {},
        "widths": {s: tuple(vectors.shape[-1] for vectors in of) for s, of in found.get("queries", {}).items()},
        "blocks": {
            stream: tuple(subject.blocks(stream)[layer] for layer in of)
            for stream, of in layers.items()
            if subject.blocks(stream)
        },
    }


def _stack(layers: list[Tensor]) -> Tensor:
    """Layers on top of one another: heads that a layer does not have are NaN, and vectors that are narrower than
    those of other layers end in zeros."""
    shape = [max(sizes) for sizes in zip(*(layer.shape for layer in layers), strict=True)]
    stacked = layers[0].new_full((len(layers), *shape), float("nan"))
    for number, layer in enumerate(layers):
        part = stacked[number, : len(layer)].zero_()
        for axis, size in enumerate(layer.shape):
            part = part.narrow(axis, 0, size)
        part.copy_(layer)
    return stacked


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
