"""Looking at a model that writes: the attention of all steps of ``generate()``, stitched into one causal map.

Generation calls the model once for the prompt and then once per new piece, with earlier keys out of a cache. Each
step gives a strip of the map; laid under one another they make the square that a single pass over the whole text
would have given. The last piece written was never read, so it has no row. A model that keeps no cache reads all
anew at every step, and its last square is the map; a cache of fixed size has room for what is not written yet, which
is cut off. Of several beams those rows are taken that lead to the text which was chosen. Ways to write that read in
another order (an assistant, look-ups in the prompt, several texts at once, caches that are packed) are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attlas.capture.instruments import Recorder
from attlas.capture.look import Capture, as_passage, gather
from attlas.capture.room import require_room, require_window, within_memory
from attlas.corpora.limits import in_force
from attlas.errors import CapabilityError, TextError
from attlas.ids import Site, Stream
from attlas.models import AttentionCall
from attlas.text import Document, Passage, Segmentation, named_blank

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

BLOCK = 2**21  # numbers that are taken at once for what is kept of steps: 8 MB
CACHES = (None, "dynamic", "static")
OTHER_ORDERS = {  # options of generate() under which strips would be put together wrongly, and what they do
    "assistant_model": "an assistant writes ahead",
    "assistant_early_exit": "the model's own early layers write ahead",
    "prompt_lookup_num_tokens": "pieces are looked up in the prompt",
    "use_mtp": "several pieces are written in one step",
    "custom_generate": "the order of steps is not known",
    "prefill_chunk_size": "the prompt is read in parts",
}


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
    subject.require_whole("writing")
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
    _refuse_other_orders(subject, options)
    passage = as_passage(prompt)
    example = subject.pieces.encode(Passage(passage.first))
    settings = {"do_sample": False, "num_beams": 1, **options, "max_new_tokens": max_new_pieces, "max_length": None}
    length, beams = require_window(subject, example.length, max_new_pieces), settings["num_beams"] or 1
    require_room(subject, length, most=most_weights, times=beams, written=True)
    batch = subject.pieces.batch([example], subject.device)
    kinds = ["weights", "values"] + (["scores", "queries", "keys"] if subject.has_queries else [])
    recorder = StepRecorder(kinds, alone=beams == 1, most=most_weights)
    settings |= {"return_dict_in_generate": True, "output_scores": True}
    with within_memory(subject), torch.no_grad(), subject.use(recorder):
        said = subject.model.generate(**batch.inputs, **settings)  # type: ignore[operator]
    if said.sequences.dim() != 2:
        raise CapabilityError(f"{subject.name} writes codes of sound and no text, which attlas does not show")
    written, rows = said.sequences[0].tolist(), getattr(said, "beam_indices", None)
    path = None if rows is None else [row for row in rows[0].tolist() if row >= 0]
    found = gather(subject, recorder, partial(_join, path=path))
    ids = written if subject.pieces.translating else [*example.source.ids, *written[example.source.length :]]
    text = _segmentation(subject, ids[: found["weights"][Stream.DECODER].shape[-2]])
    name = "decoder_input_ids" if subject.pieces.translating else "input_ids"
    text_said = Document.from_text(subject.pieces.tokenizer.decode(written, skip_special_tokens=True))
    return Capture(
        subject.name,
        Passage(passage.first, text_said) if subject.pieces.translating else Passage(text_said),
        example.source.segmentation if subject.pieces.translating else text,
        text if subject.pieces.translating else None,
        **found,
        own=subject.pieces.own,
        inputs={
            **{name: given.cpu() for name, given in batch.inputs.items() if subject.pieces.translating},
            name: torch.tensor([ids[: len(text.pieces)]]),
        },
        written=1 if subject.pieces.translating else example.source.length,
    )


@dataclass
class StepRecorder(Recorder):
    """Keeps of every step what is new in it: strips of weights, and of keys and values those of the latest pieces,
    since each step has all earlier ones again. Where a step reads all anew, and there is one text alone (``alone``)
    and no beams, the steps before it are forgotten. What becomes more than ``most`` on the way is refused.

    >>> recorder = StepRecorder(["weights", "values"])
    >>> value = torch.arange(3.0).reshape(1, 1, 3, 1)
    >>> for known in (2, 3):
    ...     query = value[:, :, : 1 if known > 2 else 2]
    ...     recorder.observe(AttentionCall(Site(Stream.DECODER, 0), query, *[value[:, :, :known]] * 2, None, 1.0))
    >>> [step.flatten().tolist() for step in recorder.kept[Site(Stream.DECODER, 0)]["values"]]
    [[0.0, 1.0], [2.0]]
    """

    alone: bool = True
    most: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._read: dict[Site, int] = {}  # pieces, up to and with this step
        self._weights: dict[Site, int] = {}  # how many are kept
        self._blocks: dict[tuple[torch.dtype, torch.device], Tensor] = {}  # what is left of those begun last

    def observe(self, call: AttentionCall) -> None:
        """Keep what is new."""
        site, queries = call.site, call.shape[2]
        again = site in self.kept and queries > 1
        if site.stream is Stream.ENCODER or (again and self.alone):
            self.kept.pop(site, None)
            self._weights.pop(site, None)
        self._read[site] = queries if again else self._read.get(site, 0) + queries
        super().observe(call)
        most = in_force().weights if self.most is None else self.most
        if sum(self._weights.values()) > most:
            raise TextError(
                f"every step reads all anew, which is more than the limit of {most:,} weights; write "
                f"less, or allow more (most_weights={2 * most}, --limits weights={2 * most})"
            )

    def _keep(self, site: Site, kind: str, tensor: Tensor) -> None:
        if kind == "weights":
            self._weights[site] = self._weights.get(site, 0) + tensor.numel()
        if kind in ("keys", "values"):
            if site.stream is Stream.CROSS:
                self.kept.get(site, {}).pop(kind, None)  # the source again
            elif site.stream is Stream.DECODER:
                fresh = self.kept[site]["weights"][-1].shape[2]
                last = min(self._read[site], tensor.shape[2])  # a cache may drop some, or have room for more
                tensor = tensor[:, :, last - fresh : last]
        super()._keep(site, kind, self._packed(tensor))

    def _packed(self, tensor: Tensor) -> Tensor:
        """A copy that lies beside the others: thousands of small ones between what the model's cache frees and takes
        anew would leave holes that nothing fits into, as large as all caches of all steps."""
        if tensor.numel() > BLOCK:
            return tensor.contiguous()
        of = (tensor.dtype, tensor.device)
        block = self._blocks.get(of)
        if block is None or len(block) < tensor.numel():
            block = tensor.new_empty(BLOCK)
        mine, self._blocks[of] = block[: tensor.numel()], block[tensor.numel() :]
        return mine.view(tensor.shape).copy_(tensor)


def _refuse_other_orders(subject: Subject, options: dict[str, Any]) -> None:
    for name, why in OTHER_ORDERS.items():
        if options.get(name):
            raise CapabilityError(f"{subject.name}: {name} cannot be looked at, since {why}; leave it out")
    if options.get("num_return_sequences", 1) != 1:
        raise CapabilityError(
            f"{subject.name}: one text is looked at, and num_return_sequences asks for more; leave it out"
        )
    usual = getattr(subject.model.generation_config, "cache_implementation", None)
    cache = options.get("cache_implementation", usual)
    if cache not in CACHES:
        known = ", ".join(repr(name) for name in CACHES if name)
        raise CapabilityError(
            f"{subject.name}: a cache of the kind {cache!r} cannot be looked at; choose one of {known}"
        )
    if options.get("past_key_values") is not None:
        raise CapabilityError(f"{subject.name}: what was read into past_key_values was not seen; give the whole text")


def _join(steps: dict[str, list[Tensor]], kind: str, stream: Stream, *, path: list[int] | None = None) -> Tensor:
    """One tensor of all steps at a site: strips of weights stitched, queries and what is new of keys and values. Of
    several beams ``path`` says which row of each step leads to the text that was chosen."""
    rows = {name: _rows(given, path, stream) for name, given in steps.items()}
    if stream is Stream.ENCODER:
        return rows[kind][-1]
    shapes = [(strip.shape[1], strip.shape[2]) for strip in rows["weights"]]
    if len(shapes) > 1 and all(queries > 1 for queries, _ in shapes[1:]):  # no cache: each step reads all anew
        return rows[kind][-1]
    if kind in ("weights", "scores"):
        return _stitch(rows[kind], stream)
    if stream is Stream.CROSS and kind != "queries":
        return rows[kind][-1]
    if kind == "queries":
        return torch.cat(rows["queries"], dim=1)
    return torch.cat(rows[kind], dim=1)


def _rows(steps: list[Tensor], path: list[int] | None, stream: Stream) -> list[Tensor]:
    """The row of every step that belongs to the text; an encoder has read before there are beams."""
    if path is None or stream is Stream.ENCODER:
        return [step[0] for step in steps]
    return [step[row] for row, step in zip(path, steps, strict=False)]


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
        seen = min(stop, strip.shape[2])  # a sliding cache keeps the latest keys only, a fixed one has room for more
        whole[:, row:stop, stop - seen : stop] = strip[:, :, :seen]
        row = stop
    return whole


def _segmentation(subject: Subject, ids: list[int]) -> Segmentation:
    """Pieces of what was written, each piece of text a word that starts at a space, as far as the pieces tell."""
    tokenizer = subject.pieces.tokenizer
    special = set(tokenizer.all_special_ids) | {subject.pieces.start_id}
    named = tokenizer.convert_ids_to_tokens(ids)
    # a model may have room for more pieces than its tokenizer knows
    special |= {index for piece, index in zip(named, ids, strict=True) if piece is None}
    raw = [f"[{index}]" if piece is None else piece for piece, index in zip(named, ids, strict=True)]
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
    return text.strip() or named_blank(text)
