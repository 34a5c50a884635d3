"""A subject: a model under study, with its tokenizer, its sites and what it has proved it can do.

:func:`load` opens a model, finds its attention and lets it prove itself on seven pieces of text before anybody
relies on it. A subject runs batches, takes instruments, and looks at single texts.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.ids import HeadId, Site, Stream, labels_of
from attlas.measures.kernels import lengths
from attlas.measures.norms import gram, joint_norms, key_grams
from attlas.models import (
    AttentionCall,
    Batch,
    Instrument,
    Opened,
    Pieces,
    Placed,
    Placing,
    Residual,
    Seam,
    find_residuals,
    head_of,
    is_compiled,
    open_model,
    output_matrix,
    place_of,
    probing_inputs,
    streamed_in,
    take_turns,
    without_turns,
)
from attlas.models.arriving import settle
from attlas.models.opening import number_format

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from attlas.capture.look import Capture
    from attlas.capture.selection import Heads, Layers

MISSING = {
    "queries and keys": (
        "this family keeps its softmax private, so queries and keys cannot be seen; "
        "weights, norms, gates and overrides can be had"
    ),
    "norms": (
        "no matrix W_O takes the heads as they leave attention (a gate, a norm, a convolution or a router comes "
        "between, or it is no linear layer), so the norms of what they bring are not defined"
    ),
    "decoder": "this model has no decoder",
    "residuals": "what its attention is added to was not found",
}


class Subject:
    """A model under study. Made by :func:`load`, or from a model in memory with :meth:`of`.

    >>> subject = load()
    >>> subject.streams, len(subject.sites), subject.heads(subject.sites[0])
    ((<Stream.ENCODER: 'encoder'>,), 6, 12)
    """

    def __init__(self, opened: Opened) -> None:
        self.name = opened.name
        self.fingerprint = opened.fingerprint
        self.missing = opened.missing
        self.model: PreTrainedModel = opened.model
        self.layout = opened.layout
        layout = opened.layout
        self.seam = Seam(opened.model, layout.modules, private=layout.private, repeats=layout.repeats)
        self._freezing, self._frozen = Lock(), 0
        self._block: int | None = None
        self._again: tuple[Callable[..., Subject], tuple[Any, ...]] | None = None
        self._asked: list[torch.nn.Parameter] = []
        own = Stream.ENCODER if Stream.ENCODER in opened.layout.streams else Stream.DECODER
        self.pieces = Pieces(opened.name, opened.tokenizer, opened.model, own)

    def __deepcopy__(self, memo: dict[int, Any]) -> Subject:
        """Another subject with a model of its own; the tokenizer, which is only read, is shared."""
        self.require_whole("a copy")
        opened = self._opened
        model, layout = copy.deepcopy((opened.model, opened.layout), memo)
        return Subject(replace(opened, model=model, layout=layout))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled, as for a worker on another machine, it comes back on a seam of its own, and knows what was found
        out about the model. Where layers are streamed, what is pickled is how to open the model, or draw the twin,
        once more."""
        if self._again is not None:
            return self._again
        known = {name: value for name, value in vars(self).items() if name == "_looked_for_residuals"}
        return _on_a_seam, (type(self), self._opened), known

    @property
    def _opened(self) -> Opened:
        if self.seam.instruments:
            raise CapabilityError(f"{self.name} has instruments on; copy it outside of their block")
        return Opened(self.name, self.model, self.pieces.tokenizer, self.layout, self.fingerprint, self.missing)

    @classmethod
    def of(cls, model: PreTrainedModel, tokenizer: Any, name: str | None = None) -> Subject:
        """Take a model that is in memory already onto the seam, and let it prove itself; a model that cannot is
        left as it was.

        >>> other = load().twin()
        >>> Subject.of(other.model, other.pieces.tokenizer, "mine").name
        'mine'
        """
        from attlas.capture.check import prove
        from attlas.models import adopted

        with adopted(name or type(model).__name__, model, tokenizer) as opened:
            subject = cls(opened)
            prove(subject)
        return subject

    def twin(self, seed: int = 0) -> Subject:
        """The same architecture before any training, with random weights drawn by the seed: one draw.

        >>> load().twin().name
        'untrained all-MiniLM-L6-v2'
        """
        from attlas.models import untrained

        twin = type(self)(untrained(self.name, self.model, self.pieces.tokenizer, seed))
        twin._block = self._block
        twin._again = None if self._again is None else (_draw_again, (self._again, seed))
        return twin

    @property
    def sites(self) -> tuple[Site, ...]:
        """All sites, encoder first.

        >>> [str(site) for site in load().sites][:2]
        ['encoder layer 0', 'encoder layer 1']
        """
        return tuple(self.layout.heads)

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams of the model.

        >>> load().streams
        (<Stream.ENCODER: 'encoder'>,)
        """
        return self.layout.streams

    def heads(self, site: Site) -> int:
        """How many heads a site has.

        >>> load().heads(Site(Stream.ENCODER, 0))
        12
        """
        return self.layout.heads[site]

    def grid(self, stream: Stream) -> NDArray[np.bool_]:
        """Which heads a stream has, (layer, head): as wide as the layer that has most. Layers may differ in their
        heads, and a layer of a pruned model may have none.

        >>> load().grid(Stream.ENCODER).shape, load().pruned(["1-3"]).grid(Stream.ENCODER).sum(1).tolist()
        ((6, 12), [11, 12, 12, 12, 12, 12])
        """
        counts = {site: count for site, count in self.layout.heads.items() if site.stream == stream}
        if not counts:
            raise CapabilityError(f"{self.name} has no {stream}; it has {', '.join(s.value for s in self.streams)}")
        kept = self.kept
        heads = np.array([count if kept[site] else 0 for site, count in counts.items()])
        return np.arange(max(counts.values())) < heads[:, None]

    def shape(self, stream: Stream) -> tuple[int, int]:
        """Layers and heads of a stream; refused where layers differ in their heads (see :meth:`grid`).

        >>> load().shape(Stream.ENCODER)
        (6, 12)
        """
        grid = self.grid(stream)
        if not grid.all():
            counts = sorted(set(grid.sum(1).tolist()))
            raise CapabilityError(
                f"{self.name}: its {stream} layers differ in their number of heads ({', '.join(map(str, counts))}), "
                "and this needs equally many in each; look, survey, heads, relations, coref, clusters, norms, noop, "
                "ablate, importance and prune do not"
            )
        return grid.shape[0], grid.shape[1]

    def blocks(self, stream: Stream) -> tuple[int, ...]:
        """The blocks of the model, counted from 0, that the layers of a stream are; none where the two have the same
        numbers. In a hybrid, most blocks have something else than attention.

        >>> load().blocks(Stream.ENCODER)
        ()
        """
        return tuple(block for site, block in self.layout.blocks.items() if site.stream == stream)

    @property
    def kept(self) -> dict[Site, tuple[int, ...]]:
        """The heads of each site, in the numbers that they had before any was pruned; none where all were.

        >>> load().pruned(["1-3"]).kept[Site("encoder", 0)]
        (0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11)
        """
        from attlas.models import kept_heads

        whole = {site: tuple(range(count)) for site, count in self.layout.heads.items()}
        return kept_heads(self.model.config) or whole

    @property
    def task_head(self) -> str | None:
        """The task head that is on the model (see :func:`load`); None where there is none, or where its checkpoint
        does not hold that head's weights, which are random then.

        >>> load().task_head is None, load(task_head="masked-lm").missing[0]
        (True, 'cls.predictions.bias')
        """
        return None if self.missing else head_of(self.model)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the model's head tells apart, in the order of its outputs.

        >>> load().labels
        ('LABEL_0', 'LABEL_1')
        """
        known = {int(number): str(label) for number, label in (self.model.config.id2label or {}).items()}
        return tuple(known[number] for number in sorted(known))

    @property
    def device(self) -> torch.device:
        """Where the model is.

        >>> load().device.type
        'cpu'
        """
        return place_of(self.model)

    @property
    def has_queries(self) -> bool:
        """Whether queries and keys can be seen (not in families with a private softmax).

        >>> load().has_queries
        True
        """
        return not self.layout.private

    @property
    def has_norms(self) -> bool:
        """Whether W_O is known at every site, so that norms can be computed.

        >>> load().has_norms
        True
        """
        return set(self.layout.projections) == set(self.layout.heads)

    @property
    def has_residuals(self) -> bool:
        """Whether it is known at every site what attention is added to and which norm follows, so that mixing can be
        looked at.

        >>> load().has_residuals
        True
        """
        return self.has_norms and not self._looked_for_residuals[1]

    @property
    def residuals(self) -> dict[Site, Residual]:
        """What the attention of each site is added to; see :mod:`attlas.capture.mixing`.

        >>> load().residuals[Site("encoder", 0)].first
        False
        """
        return self._looked_for_residuals[0]

    @cached_property
    def _looked_for_residuals(self) -> tuple[dict[Site, Residual], dict[Site, str]]:
        # Who asks may be in the middle of a pass: no instrument of theirs sees this one, and nobody waits for a turn.
        with without_turns():
            return Context().run(find_residuals, self.model, self.layout, self.seam, probing_inputs(self.model))

    @property
    def _odd_residual(self) -> str:
        """The first site without a residual, and why."""
        if not self.has_norms:
            return MISSING["norms"]
        site, reason = next(iter(self._looked_for_residuals[1].items()))
        return f"{site}: {reason}"

    def require(self, what: str) -> None:
        """Refuse, with the reason, what this model cannot give: "queries and keys", "norms", "decoder" or
        "residuals".

        >>> load().require("decoder")
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: all-MiniLM-L6-v2: this model has no decoder
        """
        has = {
            "queries and keys": self.has_queries,
            "norms": self.has_norms,
            "decoder": Stream.DECODER in self.streams,
            "residuals": self.has_residuals if what == "residuals" else True,
        }
        if not has[what]:
            why = f" ({self._odd_residual})" if what == "residuals" else ""
            raise CapabilityError(f"{self.name}: {MISSING[what]}{why}")

    def output_matrix(self, site: Site) -> Tensor:
        """W_O of a site as (head, width, hidden).

        >>> load().output_matrix(Site(Stream.ENCODER, 0)).shape
        torch.Size([12, 32, 384])
        """
        self.require("norms")
        return output_matrix(self.layout.projections[site], self.heads(site)).to(self.device)

    def lengths(self, call: AttentionCall, grams: Tensor | None = None) -> Tensor:
        """||f(x)|| of every head and key of a call at the seam, (batch, head, key): what turns weights into norms.
        Who asks for many batches may keep the site's :meth:`gram` and hand it in.

        >>> from attlas.capture import Fold
        >>> subject, seen = load(), []
        >>> with subject.use(Fold(lambda call: seen.append(subject.lengths(call).shape))):
        ...     _ = subject.run(subject.batch(["Hello there."]))
        >>> seen[0]
        torch.Size([1, 12, 5])
        """
        return lengths(call, self.gram(call.site) if grams is None else grams)

    def gram(self, site: Site) -> Tensor:
        """W_O W_O^T of every head of a site, (head, width, width): with it a key's ||f(x)|| is had from its value.

        >>> load().gram(Site(Stream.ENCODER, 0)).shape
        torch.Size([12, 32, 32])
        """
        return gram(self.output_matrix(site).detach().float())

    def joint(self, call: AttentionCall) -> Tensor:
        """Joint norms ||sum_h alpha^h f^h(x)|| of a call at the seam, (batch, query, key): what each key brings, all
        heads of the layer together.

        >>> from attlas.capture import Fold
        >>> subject, seen = load(), []
        >>> with subject.use(Fold(lambda call: seen.append(subject.joint(call).shape))):
        ...     _ = subject.run(subject.batch(["Hello there."]))
        >>> seen[0]
        torch.Size([1, 5, 5])
        """
        matrix = self.output_matrix(call.site).detach().float()
        return joint_norms(call.weights().float(), key_grams(call.values.float(), matrix))

    @contextmanager
    def use(self, *instruments: Instrument) -> Iterator[None]:
        """Have instruments on for the length of a ``with`` block; the model is as it was afterwards, whatever
        happens.

        >>> from attlas.capture import Recorder
        >>> subject, recorder = load(), Recorder()
        >>> with subject.use(recorder):
        ...     _ = subject.run(subject.batch(["Hello there."]))
        >>> recorder.get(subject.sites[0]).shape
        torch.Size([1, 12, 5, 5])
        """
        if is_compiled(self.model):
            raise CapabilityError(
                f"{self.name} was compiled since it was opened, and a compiled model does not come by the seam; look "
                "at it before model.compile()"
            )
        with self.seam.put_on(*instruments):
            yield

    def named(self, labels: str | HeadId | Iterable[str | HeadId]) -> list[HeadId]:
        """Heads by the labels of the papers, which count from one: "8-10", or "cross 6-3" where a model has more
        streams than one.

        >>> [str(head) for head in load().named(["6-10"])]
        ['encoder layer 5, head 9']
        >>> load().named(["8-10"])
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: there is no head 8-10 in all-MiniLM-L6-v2; its encoder has 6 layers of 12 heads
        """
        from attlas.capture.naming import head_named

        return [head_named(self, label) for label in labels_of(labels)]

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Ask for no gradients of the model's own parameters for the length of a ``with`` block, which saves keeping
        what they would need.

        >>> subject = load()
        >>> with subject.frozen():
        ...     any(parameter.requires_grad for parameter in subject.model.parameters())
        False
        """
        self.require_gradients()
        with self._freezing:
            if not self._frozen:
                self._asked = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
                for parameter in self._asked:
                    parameter.requires_grad_(False)
            self._frozen += 1
        try:
            yield
        finally:
            with self._freezing:
                self._frozen -= 1
                if not self._frozen:  # the last to leave, in whichever thread
                    for parameter in self._asked:
                        parameter.requires_grad_(True)

    @contextmanager
    def gated(self, gates: Any) -> Iterator[None]:
        """Close heads for the length of a ``with`` block. ``gates`` are heads to close, by label or as
        :class:`~attlas.ids.HeadId`, or numbers by which heads' outputs are multiplied: a tensor (layer, head) such as
        the model library's old ``head_mask``, or one for each stream.

        >>> subject = load()
        >>> batch = subject.batch(["Hello there."])
        >>> with subject.gated(["1-3", "6-10"]):
        ...     cut = subject.run(batch).last_hidden_state
        >>> mask = torch.ones(6, 12)
        >>> mask[0, 2] = mask[5, 9] = 0
        >>> with subject.gated(mask):
        ...     bool(torch.equal(subject.run(batch).last_hidden_state, cut))
        True
        """
        from attlas.capture.gating import gates_for

        with self.use(gates_for(self, gates)):
            yield

    def pruned(self, heads: Iterable[str | HeadId]) -> Subject:
        """A smaller copy, with heads gone from its weights; it answers as this one does with their gates closed.

        >>> subject = load()
        >>> smaller = subject.pruned(["1-3", "6-10"])
        >>> subject.describe()["parameters"] - smaller.describe()["parameters"]
        98496
        """
        from attlas.capture.pruned import pruned

        return pruned(self, heads)

    def save(self, folder: str | Path) -> None:
        """Write model and tokenizer as a folder that :func:`load` opens again.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     load().pruned(["1-3"]).save(folder)
        ...     load(folder).heads(Site("encoder", 0))
        11
        """
        from attlas.models import save_model

        self.require_whole("writing it down")
        save_model(self.model, self.pieces.tokenizer, Path(folder))

    def batch(self, texts: Iterable[Any], *, pad_left: bool = False) -> Batch:
        """Make a batch from texts, pairs, word lists, documents or passages.

        >>> load().batch(["One.", "And another."]).inputs["input_ids"].shape
        torch.Size([2, 5])
        """
        from attlas.capture.look import as_passage

        examples = self.pieces.encode_all([as_passage(text) for text in texts])
        return self.pieces.batch(examples, self.device, pad_left=pad_left)

    def run(self, batch: Batch, **options: Any) -> Any:
        """One forward pass; of the encoder alone where an encoder-decoder was given no target.

        >>> subject = load()
        >>> subject.run(subject.batch(["Hello there."])).last_hidden_state.shape
        torch.Size([1, 5, 384])
        """
        if self.model.config.is_encoder_decoder and batch.target is None:
            return self.model.get_encoder()(**batch.inputs, **options)
        if (
            batch.target is not None
        ):  # it is read whole; FSMT takes a cache for a sign that it is not, and looks ahead
            options = {"use_cache": False, **options}
        return self.model(**batch.inputs, **options)

    def read(self, batch: Batch, **options: Any) -> Any:
        """One forward pass for what happens at the seam, and for the states of the layers: as :meth:`run`, but a
        decoder's language-model head, which gives a number for every piece of the vocabulary, is left out of it, and
        so is the cache of keys and values, which only writing needs.

        >>> subject = load()
        >>> subject.read(subject.batch(["Hello there."])).last_hidden_state.shape
        torch.Size([1, 5, 384])
        """
        whole = head_of(self.model) != "causal-lm"
        model = self.model if whole else self.model.base_model
        if self.pieces.own is Stream.DECODER and "use_cache" in inspect.signature(model.forward).parameters:
            options = {"use_cache": False, **options}
        return self.run(batch, **options) if whole else model(**batch.inputs, **options)

    @property
    def block(self) -> int | None:
        """How many pieces go through a layer while it is in memory, where layers are streamed: as asked for, or as
        many as have states of the size of a layer. None where all layers are in memory.

        >>> load().block is None
        True
        """
        weights = streamed_in(self.model)
        if weights is None:
            return None
        return self._block or weights.pieces_for(int(self.model.config.get_text_config().hidden_size))

    def require_whole(self, what: str) -> None:
        """Refuse, for a model whose layers are streamed, what needs more of it than one pass forward.

        >>> load().require_whole("training")
        """
        if self.block is not None:
            raise CapabilityError(
                f"{self.name}: its layers are streamed, one in memory at a time, and {what} needs all of them; open "
                "it without --stream-layers"
            )

    def require_gradients(self) -> None:
        """Refuse a model through which no gradients go back.

        >>> load().require_gradients()
        """
        self.require_whole("the way back of gradients")
        if any(type(m).__name__ == "Linear4bit" and m.weight.device.type == "cpu" for m in self.model.modules()):
            raise CapabilityError(
                f"{self.name}: no gradients go back through weights in 4 bits on a CPU (bitsandbytes has them on a "
                "GPU alone); take 8bit, or leave out --quantize"
            )

    def together(self, works: Sequence[Callable[[], None]]) -> None:
        """Do several things with the model. Where its layers are streamed, they take turns at every layer, whose
        weights are read once for all of them; else they are done one after the other.

        >>> said = []
        >>> load().together([lambda: said.append("one"), lambda: said.append("two")])
        >>> said
        ['one', 'two']
        """
        if self.block is not None:
            take_turns(works)
            return
        for work in works:
            work()

    def look(
        self,
        text: Any,
        target: Any = None,
        *,
        layers: Layers | None = None,
        heads: Heads | None = None,
        joint: str | Collection[str] = (),
        hidden_states: bool = False,
        most_weights: int | None = None,
    ) -> Capture:
        """Look at the attention on one text, pair of texts, or list of words; for a translation model also its
        target. A long text may need only some ``layers`` and ``heads`` to fit in memory, by label: layers "2" or
        ["2", "6"] or "2..6", heads "3" of each layer or "6-3" alone. ``joint`` names steps (attention, residual,
        normalised) whose joint norms, of all heads together, are wanted too. What would keep more than
        ``most_weights`` weights (None: 600 million, 2.4 GB, or what ``attlas.corpora.limited`` says) is refused.

        >>> load().look("The farmer slept.").weights[Stream.ENCODER].shape
        torch.Size([6, 12, 6, 6])
        >>> load().look("The farmer slept.", heads="6-3").weights[Stream.ENCODER].shape
        torch.Size([1, 1, 6, 6])
        """
        from attlas.capture.look import look

        return look(
            self, text, target, layers=layers, heads=heads, joint=joint, hidden_states=hidden_states,
            most_weights=most_weights,
        )  # fmt: skip

    def look_generating(
        self, prompt: Any, *, max_new_pieces: int = 20, most_weights: int | None = None, **options: Any
    ) -> Capture:
        """Let the model write, and look at the attention of all steps as one map, of all layers and heads.
        ``most_weights`` is as in :meth:`look`; ``options`` go to the model's ``generate``.

        >>> load().look_generating("Hello")
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: all-MiniLM-L6-v2: this model has no decoder
        """
        from attlas.capture.generation import look_generating

        return look_generating(self, prompt, max_new_pieces=max_new_pieces, most_weights=most_weights, **options)

    def describe(self) -> dict[str, Any]:
        """What a manifest says of the model.

        >>> load().describe()["class"]
        'BertModel'
        """
        return {
            "name": self.name,
            "class": type(self.model).__name__,
            "fingerprint": self.fingerprint,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "streams": {stream.value: self._counts(stream) for stream in self.streams},
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "way": "softmax" if self.layout.private else "seam",
        }

    def _counts(self, stream: Stream) -> dict[str, Any]:
        """Layers and heads of a stream; where layers differ, the heads of each; where not every block of the model
        has attention, the block that each layer is, counted from 0; and of a pruned model the numbers, from 0, that
        its heads had before."""
        heads = self.grid(stream).sum(1).tolist()
        blocks = self.blocks(stream)
        kept = [list(numbers) for site, numbers in self.kept.items() if site.stream == stream]
        pruned = any(numbers != list(range(count)) for numbers, count in zip(kept, heads, strict=True))
        return {
            "layers": len(heads),
            "heads": heads[0] if len(set(heads)) == 1 else heads,
            **({"blocks": list(blocks)} if blocks else {}),
            **({"kept": kept} if pruned else {}),
        }


def load(
    name: str | Path | None = None,
    *,
    task_head: str | None = None,
    device: str | None = None,
    dtype: torch.dtype | str | None = None,
    remote_code: bool = False,
    allow_pickle: bool = False,
    **placing: Unpack[Placed],
) -> Subject:
    """Open a model by hub name, folder, gguf file or short name (None: the bundled one), and let it prove itself.

    ``task_head`` puts a head on for a task: masked-lm, causal-lm, seq2seq, classification or tagging. A decoder whose
    checkpoint holds a language-model head comes with it without being asked; "none" leaves it out.

    What is larger than one device, or than memory (docs/large-models.md): ``device_map`` spreads it over devices, the
    host and the folder ``offload`` ("auto", a dict, or a JSON file); ``quantize`` packs it ("8bit" or "4bit");
    ``stream_layers`` keeps one layer of weights in memory at a time, and runs a ``block`` of so many pieces through
    it before the next. ``adapter`` is the folder of an adapter to put on it.

    >>> load().name
    'all-MiniLM-L6-v2'
    """
    from attlas.capture.check import prove

    dtype = number_format(dtype)
    opened = open_model(
        name, task_head=task_head, device=device, dtype=dtype, remote_code=remote_code, allow_pickle=allow_pickle,
        placing=Placing(**placing),
    )  # fmt: skip
    subject = Subject(opened)
    subject._block = placing.get("block")
    if placing.get("stream_layers"):
        how = {"task_head": task_head, "device": device, "dtype": dtype, "remote_code": remote_code, **placing}
        named = Path(name).absolute() if name is not None and Path(name).is_dir() else name
        subject._again = _open_again, (named, how)
    prove(subject)
    return subject


def _on_a_seam(kind: type[Subject], opened: Opened) -> Subject:
    """A subject of a model that came from another process."""
    settle(opened.model)
    return kind(opened)


def _open_again(name: str | Path | None, how: dict[str, Any]) -> Subject:
    """A model whose layers are streamed, in another process."""
    return load(name, **how)


def _draw_again(of: tuple[Callable[..., Subject], tuple[Any, ...]], seed: int) -> Subject:
    """The untrained twin of such a model, in another process."""
    make, named = of
    return make(*named).twin(seed)
