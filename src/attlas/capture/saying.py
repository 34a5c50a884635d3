"""What a model says of a text it has read: the pieces or labels that it holds most likely, and what each head adds.

The first comes from one more pass, through the model's own head: the piece that follows each piece (causal models and
translations), the piece that could stand in its place (masked ones), a label for the text or for each piece. The
second is the *logit lens* of a head at a place: what the head writes there, read by the last norm's gain and the
unembedding as if nothing came after it. The scale of the norm is left out, so that these numbers can be compared with
one another and are no probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.ids import Site, Stream, paper_label
from attlas.models.adopting import probing_inputs
from attlas.models.circuits import Circuits, find_circuits
from attlas.text import named_blank
from attlas.views.saying import Saying, Told

if TYPE_CHECKING:
    from attlas.capture.look import Capture
    from attlas.capture.subject import Subject

TOP = 5  # pieces or labels that are told at each place
LENS = 3  # pieces that are told of each head
MOST_LOGITS = 200_000_000  # numbers of a pass with the head; of longer texts nothing is told
BUDGET = 10_000_000_000  # products that the lens of a whole look may take
ROWS = 256  # places whose probabilities are made at once
KINDS = {"causal-lm": "next", "seq2seq": "next", "masked-lm": "masked", "classification": "label", "tagging": "tag"}


def saying(subject: Subject, capture: Capture) -> Saying | None:
    """What the model says of a text that was captured; None where it has no head to say anything with, or where the
    text is too long for it to be told.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> saying(subject, subject.look("Hi.")) is None
    True
    """
    kind = KINDS.get(subject.task_head or "")
    if kind is None or not capture.inputs:
        return None
    stream = Stream.DECODER if kind == "next" else capture.own
    text = capture.queries_of(stream)
    words = len(subject.labels) if kind in ("label", "tag") else _vocabulary(subject)
    if len(text.pieces) * words > MOST_LOGITS:
        return None
    options = {"use_cache": False} if kind == "next" else {}
    inputs = {name: given.to(subject.device) for name, given in capture.inputs.items()}
    with torch.no_grad():
        logits = subject.model(**inputs, **options).logits[0]
    if kind == "label":
        return Saying(kind, stream, (_told(subject, kind, logits[None].float().softmax(-1))[0],))
    told: list[tuple[Told, ...]] = []
    actual: list[float] = []
    ids = inputs["decoder_input_ids" if "decoder_input_ids" in inputs else "input_ids"][0]
    for start in range(0, len(logits), ROWS):
        shares = logits[start : start + ROWS].float().softmax(-1)
        told += _told(subject, kind, shares)
        if kind == "next":
            following = ids[start + 1 : start + 1 + ROWS]
            actual += shares[: len(following)].gather(-1, following[:, None])[:, 0].tolist()
    lens = _lenses(subject, capture, stream) if kind == "next" else {}
    return Saying(kind, stream, tuple(told[: len(text.pieces)]), tuple(actual[: len(text.pieces)]), lens)


def lens(
    subject: Subject, capture: Capture, place: int, circuits: Circuits | None = None
) -> dict[str, tuple[Told, ...]]:
    """What each head of a language model adds at a place to the pieces that it adds most to, by the head's label.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> lens(subject, subject.look("Hi."), 0)
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 has no language-model head, so nothing can be told of what its ...
    """
    found = circuits or find_circuits(subject.model, subject.layout, subject.seam, probing_inputs(subject.model))
    if isinstance(found, str):
        raise CapabilityError(
            f"{subject.name} has no language-model head, so nothing can be told of what its heads write ({found})"
        )
    told: dict[str, tuple[Told, ...]] = {}
    for stream in (Stream.DECODER, Stream.CROSS):
        if stream not in capture.weights or stream not in capture.values:
            continue
        for at, layer in enumerate(capture.layers[stream]):
            matrix = subject.output_matrix(Site(stream, layer)).float()
            heads = list(capture.heads_of(stream)[at])
            places = [capture.heads[stream].index(head) for head in heads]
            weights = capture.weights[stream][at, places, place].float()
            values = capture.values[stream][at, places, :, : matrix.shape[1]].float()
            mixed = torch.einsum("hk,hkw->hw", weights, values).to(matrix.device)
            written = torch.einsum("hw,hwd->hd", mixed, matrix[heads])
            scores = found.logits(written)
            best, pieces = scores.topk(min(LENS, scores.shape[-1]), dim=-1)
            for head, row, numbers in zip(heads, pieces.tolist(), best.tolist(), strict=True):
                names = _names(subject, row)
                told[f"{stream.value} {paper_label(layer, head)}"] = tuple(zip(names, numbers, strict=True))
    return told


def _lenses(subject: Subject, capture: Capture, stream: Stream) -> dict[int, dict[str, tuple[Told, ...]]]:
    """The lens at the last places of a text, as many as there is time for."""
    if not subject.has_norms:
        return {}
    found = find_circuits(subject.model, subject.layout, subject.seam, probing_inputs(subject.model))
    if isinstance(found, str):
        return {}
    heads = sum(
        len(row)
        for each in (Stream.DECODER, Stream.CROSS)
        if each in capture.weights
        for row in capture.heads_of(each)
    )
    each = heads * found.unembedding.numel()
    length = len(capture.queries_of(stream).pieces)
    places = range(max(0, length - max(1, BUDGET // max(1, each))), length)
    with torch.no_grad():
        return {place: lens(subject, capture, place, found) for place in places}


def _told(subject: Subject, kind: str, shares: Tensor) -> list[tuple[Told, ...]]:
    """The most likely of each row, by name."""
    best, places = shares.topk(min(TOP, shares.shape[-1]), dim=-1)
    names = (
        (lambda row: [subject.labels[at] for at in row])
        if kind in ("label", "tag")
        else (lambda row: _names(subject, row))
    )
    return [
        tuple(zip(names(row), numbers, strict=True))
        for row, numbers in zip(places.tolist(), best.tolist(), strict=True)
    ]


def _names(subject: Subject, ids: list[int]) -> list[str]:
    """Pieces as a person reads them, with the blank that they begin with."""
    tokenizer = subject.pieces.tokenizer
    shown = []
    for index, piece in zip(ids, tokenizer.convert_ids_to_tokens(ids), strict=True):
        if piece is None:
            shown.append(f"[{index}]")
        elif index in tokenizer.all_special_ids or piece.startswith("##"):
            shown.append(piece)
        else:
            text = tokenizer.convert_tokens_to_string([piece])
            shown.append(text.strip() or named_blank(text))
    return shown


def _vocabulary(subject: Subject) -> int:
    head: Any = subject.model.get_output_embeddings()  # type: ignore[no-untyped-call]
    weight = getattr(head, "weight", None)
    return len(weight) if isinstance(weight, Tensor) else int(subject.model.config.get_text_config().vocab_size)
