"""Looking at a model that writes: the attention of all steps of ``generate()``, stitched into one causal map.

Generation calls the model once for the prompt and then once per new piece, with earlier keys out of a cache. Each
step gives a strip of the map; laid under one another they make the square that a single pass over the whole text
would have given. The last piece written was never read, so it has no row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attlas.capture.instruments import Recorder
from attlas.capture.look import Capture, as_passage, gather
from attlas.capture.room import require_room, require_window, within_memory
from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.text import Document, Passage, Segmentation

if TYPE_CHECKING:
    from attlas.capture.subject import Subject


def look_generating(
    subject: Subject, prompt: Any, *, max_new_pieces: int = 20, most_weights: int | None = None, **options: Any
) -> Capture:
    """Generate from a prompt and return the stitched attention; ``options`` go to the model's ``generate``. What does
    not fit into the window, or is more than ``most_weights``, is refused.

    >>> from attlas.capture import load
    >>> look_generating(load(), "Hello")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2: this model has no decoder
    """
    subject.require("decoder")
    if not (hasattr(subject.model, "generate") and subject.model.can_generate()):
        head = "seq2seq" if subject.pieces.translating else "causal-lm"
        raise CapabilityError(
            f"{subject.name} was opened without a head that writes; load it with task_head={head!r} if its "
            "checkpoint holds one"
        )
    if subject.missing:
        raise CapabilityError(
            f"{subject.name} cannot write: its checkpoint does not hold the weights of its language-model head "
            f"({subject.missing[0]}), and random ones write nothing that means anything; choose another model"
        )
    passage = as_passage(prompt)
    example = subject.pieces.encode(Passage(passage.first))
    require_room(subject, require_window(subject, example.length, max_new_pieces), most=most_weights)
    batch = subject.pieces.batch([example], subject.device)
    recorder = Recorder(["weights", "values"] + (["scores", "queries", "keys"] if subject.has_queries else []))
    settings = {"do_sample": False, "num_beams": 1, **options, "max_new_tokens": max_new_pieces, "max_length": None}
    with within_memory(subject), torch.no_grad(), subject.use(recorder):
        written = subject.model.generate(**batch.inputs, **settings)[0].tolist()  # type: ignore[operator]
    found = gather(subject, recorder, _join)
    ids = written if subject.pieces.translating else [*example.source.ids, *written[example.source.length :]]
    text = _segmentation(subject, ids[: found["weights"][Stream.DECODER].shape[-2]])
    said = Document.from_text(subject.pieces.tokenizer.decode(written, skip_special_tokens=True))
    return Capture(
        subject.name,
        Passage(passage.first, said) if subject.pieces.translating else Passage(said),
        example.source.segmentation if subject.pieces.translating else text,
        text if subject.pieces.translating else None,
        **found,
        own=subject.pieces.own,
    )


def _join(steps: dict[str, list[Tensor]], kind: str, stream: Stream) -> Tensor:
    """One tensor of all steps at a site: strips of weights stitched, queries and what is new of keys and values."""
    if kind in ("weights", "scores"):
        return _stitch([step[0] for step in steps[kind]], stream)
    if stream is Stream.ENCODER or (stream is Stream.CROSS and kind != "queries"):
        return steps[kind][-1][0]
    if kind == "queries":
        return torch.cat([step[0] for step in steps["queries"]], dim=1)
    fresh = [weights.shape[2] for weights in steps["weights"]]  # whatever a cache drops later
    return torch.cat([step[0][:, step.shape[2] - n :] for n, step in zip(fresh, steps[kind], strict=True)], dim=1)


def _stitch(strips: list[Tensor], stream: Stream) -> Tensor:
    """Lay strips of (head, queries, keys) under one another; keys of a strip end where its queries end."""
    if stream is Stream.ENCODER:
        return strips[-1]
    if stream is Stream.CROSS:
        return torch.cat(strips, dim=1)
    total = sum(strip.shape[1] for strip in strips)
    whole = strips[0].new_zeros(strips[0].shape[0], total, total)
    row = 0
    for strip in strips:
        stop = row + strip.shape[1]
        seen = min(stop, strip.shape[2])  # a sliding cache keeps the latest keys only
        whole[:, row:stop, stop - seen : stop] = strip[:, :, strip.shape[2] - seen :]
        row = stop
    return whole


def _segmentation(subject: Subject, ids: list[int]) -> Segmentation:
    """Pieces of what was written, each piece of text a word that starts at a space, as far as the pieces tell."""
    tokenizer = subject.pieces.tokenizer
    special = set(tokenizer.all_special_ids) | {subject.pieces.start_id}
    raw = tokenizer.convert_ids_to_tokens(ids)
    words, count = [], -1
    for piece, index in zip(raw, ids, strict=True):
        if index in special:
            words.append(-1)
            continue
        fresh = count < 0 or piece[:1] in "Ġ▁" or not (piece.startswith("##") or piece[:1].isalnum())
        count += fresh
        words.append(count)
    shown = tuple(
        piece if index in special or piece.startswith("##") else _readable(tokenizer, piece)
        for piece, index in zip(raw, ids, strict=True)
    )
    return Segmentation(shown, tuple(words), tuple(-1 if i in special else 0 for i in ids), count + 1)


def _readable(tokenizer: Any, piece: str) -> str:
    text: str = tokenizer.convert_tokens_to_string([piece])
    return text.strip() or "␣"
