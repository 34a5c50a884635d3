"""The seam: one function through which the attention of a model passes, and a place for instruments on it.

The model library routes the attention of most of its families through a function that anybody may register. We
register :func:`attend` there, under the name ``attlas``, together with the mask function that belongs to it
(without which masks are silently dropped). In every layer of every stream it is handed queries, keys and
values of all heads, after rotary positions and caches, with mask, scaling and position bias: an
:class:`AttentionCall`.

A model that was opened by us has a :class:`Seam`, which knows the site of each of its attention modules and holds the
instruments that are on at the moment. With none on, the call goes straight to the library's own fused
attention and the model is exactly the plain one. An :class:`Instrument` may observe a call, replace its weights, or
change its output; the four that there are live in :mod:`attlas.capture`.

Instruments belong to the thread (and the asynchronous task) that put them on: others may run the same model at the
same time, with instruments of their own or without.

A model may hand the function more than we know. What says nothing about who attends to what is on a written list
(:data:`HARMLESS`, which ``make sweep`` keeps); any other argument is refused by its name, since to ignore it would be
to compute another model's attention.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from threading import Condition, get_ident, local
from typing import Any
from weakref import WeakKeyDictionary, ref

import torch
from torch import Tensor, nn

from attlas.errors import CapabilityError
from attlas.ids import Site, Stream
from attlas.models.devices import place_of
from attlas.models.hooks import Hooks

NAME, STRICT_NAME, ADDITIVE_NAME = "attlas", "attlas_strict", "attlas_additive"
ADDITIVE = frozenset(
    {"nllb-moe"}
)  # families whose own code, and not only their attention, reads the eager kind of mask
HEADS_LEFT = "attlas_heads_left"  # on a pruned module: for how many heads a position bias is made, which are left
HARMLESS = frozenset({  # what models pass on that the mask, or the model itself, has taken care of
    "cache_position", "cu_seq_lens_k", "cu_seq_lens_q", "deterministic", "input_ids", "logits_to_keep",
    "max_length_k", "max_length_q", "num_items_in_batch", "output_attentions", "output_hidden_states", "position_ids",
    "return_dict", "sliding_window", "use_cache",
})  # fmt: skip


@dataclass(eq=False)
class AttentionCall:
    """What stands at the seam in one layer: queries, keys and values of all heads, and how they are to meet.

    Axes are (batch, head, query or key, width). Keys and values may have fewer heads than queries (grouped keys);
    ``keys`` and ``values`` give them one per head. ``mask`` is the library's: boolean (True may be seen) or
    additive. Families with a private softmax have no queries and keys here, only ``given`` weights. An observer
    that has computed the heads' outputs anyway may leave them in ``mixed``, (batch, query, head, width), and saves
    the model doing so. A layer that calls its attention twice (differential attention: the same weights on two halves
    of the values) makes a second call that is the first one ``again``.

    >>> q = torch.zeros(1, 2, 3, 4)
    >>> call = AttentionCall(Site("encoder", 0), q, q, q, None, 0.5)
    >>> call.weights().shape, float(call.weights()[0, 0, 0, 0])
    (torch.Size([1, 2, 3, 3]), 0.333...)
    """

    site: Site
    query: Tensor | None
    key: Tensor | None
    value: Tensor
    mask: Tensor | None
    scaling: float
    causal: bool = False
    bias: Tensor | None = None
    softcap: float | None = None
    sinks: Tensor | None = None
    given: Tensor | None = None
    module: nn.Module | None = None
    again: bool = False
    replaced: Tensor | None = field(default=None, init=False)
    mixed: Tensor | None = field(default=None, init=False)
    _weights: Tensor | None = field(default=None, init=False)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(batch, heads, queries, keys).

        >>> q = torch.zeros(1, 2, 3, 4)
        >>> AttentionCall(Site("encoder", 0), q, q, q, None, 0.5).shape
        (1, 2, 3, 3)
        """
        if self.query is None:
            assert self.given is not None
            batch, heads, queries, keys = self.given.shape
        else:
            assert self.key is not None
            batch, heads, queries, _ = self.query.shape
            keys = self.key.shape[2]
        return batch, heads, queries, keys

    @property
    def keys(self) -> Tensor:
        """Keys with one set per head.

        >>> q, k = torch.zeros(1, 4, 3, 8), torch.zeros(1, 2, 3, 8)
        >>> AttentionCall(Site("decoder", 0), q, k, k, None, 1.0).keys.shape
        torch.Size([1, 4, 3, 8])
        """
        assert self.key is not None
        return _ungroup(self.key, self.shape[1])

    @property
    def values(self) -> Tensor:
        """Values with one set per head.

        >>> q, k = torch.zeros(1, 4, 3, 8), torch.zeros(1, 2, 3, 8)
        >>> AttentionCall(Site("decoder", 0), q, k, k, None, 1.0).values.shape
        torch.Size([1, 4, 3, 8])
        """
        return _ungroup(self.value, self.shape[1])

    @property
    def unreadable(self) -> str:
        """Why weights cannot be had but as a matrix; nothing where queries and keys tell them, row by row.

        >>> q = torch.zeros(1, 2, 3, 4)
        >>> AttentionCall(Site("encoder", 0), q, q, q, torch.zeros(1, 1, 3, 3), 0.5).unreadable
        'a mask that is added to the scores'
        """
        if self.query is None:
            return "a softmax of its own"
        if self.replaced is not None:
            return "weights that were replaced"
        return "a mask that is added to the scores" if self.mask is not None and self.mask.dtype != torch.bool else ""

    @property
    def fusable(self) -> bool:
        """Whether fused kernels can stand in for the matrix: plain dot products under a boolean mask.

        >>> q = torch.zeros(1, 2, 3, 4)
        >>> AttentionCall(Site("encoder", 0), q, q, q, None, 0.5, softcap=30.0).fusable
        False
        """
        return not self.unreadable and self.bias is None and self.softcap is None and self.sinks is None

    @property
    def adjusted(self) -> bool:
        """Whether scores are more than scaled products of queries and keys: a position bias, a soft cap.

        >>> q = torch.zeros(1, 2, 3, 4)
        >>> AttentionCall(Site("encoder", 0), q, q, q, None, 0.5, softcap=30.0).adjusted
        True
        """
        if self.bias is not None or self.softcap is not None:
            return True
        if self.mask is None or self.mask.dtype == torch.bool:
            return False
        return bool(((self.mask != 0) & (self.mask > torch.finfo(self.mask.dtype).min / 2)).any())

    def on(self, device: torch.device) -> AttentionCall:
        """The same call on another device.

        >>> q = torch.zeros(1, 2, 3, 4)
        >>> AttentionCall(Site("encoder", 0), q, q, q, None, 0.5).on(torch.device("cpu")).value.device.type
        'cpu'
        """
        held = {field.name: getattr(self, field.name) for field in fields(self) if field.init}
        moved: dict[str, Any] = {name: value.to(device) for name, value in held.items() if isinstance(value, Tensor)}
        return replace(self, **moved)

    def visible(self, rows: slice = slice(None)) -> Tensor | None:
        """Which keys each query may see, (batch or 1, 1, query, key), or None when that is all of them.

        >>> q = torch.zeros(1, 1, 2, 4)
        >>> AttentionCall(Site("decoder", 0), q, q, q, None, 0.5, causal=True).visible()[0, 0].tolist()
        [[True, False], [True, True]]
        """
        if self.given is not None:
            return self.given[:, :, rows] > 0
        if self.mask is not None:
            mask = self.mask[:, :, rows]
            return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
        if self.causal:
            _, _, queries, keys = self.shape
            i = torch.arange(queries, device=self.value.device)[rows]
            return (torch.arange(keys, device=self.value.device) <= i[:, None])[None, None]
        return None

    def scores(self, rows: slice = slice(None)) -> Tensor:
        """Scores before the softmax, masked, for the given rows of queries.

        >>> q = torch.ones(1, 1, 2, 4)
        >>> AttentionCall(Site("encoder", 0), q, q, q, None, 0.5).scores()[0, 0].tolist()
        [[2.0, 2.0], [2.0, 2.0]]
        """
        assert self.query is not None
        scores = torch.matmul(self.query[:, :, rows], self.keys.transpose(2, 3)) * self.scaling
        if self.softcap is not None:
            scores = torch.tanh(scores / self.softcap) * self.softcap
        if self.bias is not None:
            scores = scores + self.bias[:, :, rows]
        visible = self.visible(rows)
        if visible is not None:
            additive = self.mask is not None and self.mask.dtype != torch.bool
            if additive:
                assert self.mask is not None
                scores = scores + self.mask[:, :, rows]
            scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
        return scores

    def scores_at(self, pairs: Tensor) -> Tensor:
        """Scores of single pairs of query and key, whether or not these may be seen: (batch, P, head) of float32,
        from pairs (batch, P, 2).

        >>> q = torch.ones(1, 2, 3, 4)
        >>> AttentionCall(Site("encoder", 0), q, q, q, None, 0.5).scores_at(torch.tensor([[[0, 2]]])).tolist()
        [[[2.0, 2.0]]]
        """
        assert self.query is not None
        assert self.key is not None
        i, j = pairs[..., 0], pairs[..., 1]
        b = torch.arange(len(pairs), device=pairs.device)[:, None]
        # Indexing by two arrays around a slice puts their axes first: (batch, P, head, width).
        query, key = self.query[b, :, i].float(), self.key[b, :, j].float()
        key = key if key.shape[2] == query.shape[2] else key.repeat_interleave(query.shape[2] // key.shape[2], 2)
        scores = (query * key).sum(-1) * self.scaling
        if self.softcap is not None:
            scores = torch.tanh(scores / self.softcap) * self.softcap
        if self.bias is not None:
            scores = scores + self.bias.expand(self.shape)[b, :, i, j]
        return scores

    def weights(self, rows: slice | None = None) -> Tensor:
        """The attention weights, (batch, head, query, key), or only those of some rows of queries.

        >>> q = torch.randn(1, 2, 5, 4)
        >>> call = AttentionCall(Site("encoder", 0), q, q, q, None, 0.5)
        >>> bool(torch.allclose(call.weights().sum(-1), torch.ones(1, 2, 5)))
        True
        """
        whole = self.replaced if self.replaced is not None else self.given
        if whole is not None:
            return whole if rows is None else whole[:, :, rows]
        if rows is not None:
            return self._softmax(self.scores(rows))
        if self._weights is None:
            self._weights = self._softmax(self.scores())
        return self._weights

    def _softmax(self, scores: Tensor) -> Tensor:
        if self.sinks is not None:
            sinks = self.sinks.reshape(1, -1, 1, 1).expand(scores.shape[0], -1, scores.shape[2], 1)
            scores = torch.cat([scores, sinks.to(scores.dtype)], dim=-1)
        finest = torch.promote_types(scores.dtype, torch.float32)
        weights = torch.softmax(scores, dim=-1, dtype=finest).to(scores.dtype)
        return weights[..., :-1] if self.sinks is not None else weights


class Instrument:
    """Something to put on the seam. It may observe a call, replace its weights, or change its output.

    ``wants`` says whether an instrument cares about a site; where no instrument does, the model runs untouched.

    >>> Instrument().wants(Site("encoder", 0))
    True
    """

    def wants(self, site: Site) -> bool:
        """Whether this instrument acts at a site; all by default.

        >>> Instrument().wants(Site("encoder", 3))
        True
        """
        return True

    def replace(self, call: AttentionCall) -> Tensor | None:
        """Give other weights for this call, or None to leave them.

        >>> q = torch.zeros(1, 2, 3, 4)
        >>> Instrument().replace(AttentionCall(Site("encoder", 0), q, q, q, None, 0.5)) is None
        True
        """
        return None

    def observe(self, call: AttentionCall) -> None:
        """Look at a call, after all replacements.

        >>> q = torch.zeros(1, 2, 3, 4)
        >>> Instrument().observe(AttentionCall(Site("encoder", 0), q, q, q, None, 0.5))
        """

    def finish(self, call: AttentionCall, output: Tensor) -> Tensor:
        """Change the heads' outputs, (batch, query, head, width), before they are mixed by W_O.

        >>> q = torch.zeros(1, 2, 3, 4)
        >>> call = AttentionCall(Site("encoder", 0), q, q, q, None, 0.5)
        >>> Instrument().finish(call, torch.ones(1, 3, 2, 4)).shape
        torch.Size([1, 3, 2, 4])
        """
        return output


class Seam:
    """The sites of one model, and the instruments that are on it.

    A module may serve several layers (ALBERT shares one among all); its sites are then counted off in the order of
    its calls within one forward pass. One that calls its attention several times for one layer is in ``repeats``:
    instruments observe the first of these calls alone, and act on all.

    >>> seam = Seam(nn.Identity(), {}, private=False)
    >>> with seam.put_on(Instrument()):
    ...     len(seam.instruments)
    1
    >>> seam.instruments
    []
    """

    def __init__(
        self,
        model: nn.Module,
        sites: dict[nn.Module, list[Site]],
        *,
        private: bool,
        repeats: Mapping[nn.Module, int] | None = None,
    ) -> None:
        self.model = model
        self.sites = sites
        self.private = private
        self.repeats = dict(repeats or {})
        self._here = _Here()
        self._users = Condition()
        self._threads: Counter[int] = Counter()  # how many blocks each thread has open
        self._alone: int | None = None
        for module in sites:
            _SEAMS[module] = ref(self)

    @property
    def instruments(self) -> list[Instrument]:
        """The instruments that are on for whoever asks, in the order in which they were put on.

        >>> Seam(nn.Identity(), {}, private=False).instruments
        []
        """
        blocks, thread = _BLOCKS.get(), get_ident()
        return [i for b in blocks if b.seam is self and b.on and b.thread == thread for i in b.instruments]

    def close(self) -> None:
        """Take the seam off its model for good.

        >>> Seam(nn.Identity(), {}, private=False).close()
        """
        for module in self.sites:
            _SEAMS.pop(module, None)

    @property
    def shared(self) -> frozenset[Site]:
        """The sites whose module serves other layers, too.

        >>> layer = nn.Identity()
        >>> len(Seam(layer, {layer: [Site("encoder", 0), Site("encoder", 1)]}, private=False).shared)
        2
        """
        return frozenset(site for sites in self.sites.values() if len(sites) > 1 for site in sites)

    def site(self, module: nn.Module) -> tuple[Site, bool]:
        """The site at which a module is being called now, and whether it was called there before in this pass.

        >>> layer = nn.Identity()
        >>> seam = Seam(layer, {layer: [Site("encoder", 4)]}, private=False, repeats={layer: 2})
        >>> [(str(site), again) for site, again in (seam.site(layer), seam.site(layer))]
        [('encoder layer 4', False), ('encoder layer 4', True)]
        """
        sites, repeats = self.sites[module], self.repeats.get(module, 1)
        if len(sites) == repeats == 1:
            return sites[0], False
        calls = self._here.calls
        count = calls.get(module, 0)
        calls[module] = count + 1
        return sites[count // repeats % len(sites)], count % repeats > 0

    @contextmanager
    def put_on(self, *instruments: Instrument) -> Iterator[None]:
        """Have instruments on for the length of a ``with`` block, and off again whatever happens in it.

        They act on the passes of the thread, and of the asynchronous task, that opened the block. Blocks may be left
        in any order.

        >>> seam = Seam(nn.Identity(), {}, private=False)
        >>> with seam.put_on(Instrument()):
        ...     pass
        """
        block = _Block(self, instruments)
        with self._in_use():
            _BLOCKS.set((*_BLOCKS.get(), block))
            self._listen()
            try:
                yield
            finally:
                block.on = False
                _BLOCKS.set(tuple(other for other in _BLOCKS.get() if other is not block))
                self._listen(-1)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """For a ``with`` block in which the model itself is changed: no other thread may have instruments on, and
        who wants to put some on waits.

        >>> seam = Seam(nn.Identity(), {}, private=False)
        >>> with seam.alone(), seam.put_on(Instrument()):
        ...     len(seam.instruments)
        1
        """
        me = get_ident()
        with self._users:
            self._users.wait_for(lambda: self._alone in (None, me))
            if any(count for thread, count in self._threads.items() if thread != me):
                raise CapabilityError(
                    "another thread has instruments on this model, which has to be changed for a moment; examine it "
                    "when it is not in use, or a copy"
                )
            before, self._alone = self._alone, me
        try:
            yield
        finally:
            with self._users:
                self._alone = before
                self._users.notify_all()

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Wait until nobody else has the model alone, and be known to use it."""
        me = get_ident()
        with self._users:
            self._users.wait_for(lambda: self._alone in (None, me))
            self._threads[me] += 1
        try:
            yield
        finally:
            with self._users:
                self._threads[me] -= 1
                if not self._threads[me]:
                    del self._threads[me]

    def _listen(self, change: int = 1) -> None:
        """From the first block of a thread to its last: count layers anew in every pass, and listen if we must."""
        from attlas.models.private import intercept

        here = self._here
        if change > 0 and not here.depth:
            hooks = here.listening.enter_context(Hooks())
            hooks.before(self.model, lambda *_: here.calls.clear())
            here.calls.clear()
            if self.private:
                here.listening.enter_context(intercept(self))
        here.depth += change
        if not here.depth:
            here.listening.close()

    def carry(self, call: AttentionCall, plain: Callable[[], Tensor]) -> Tensor:
        """Let all instruments act on a call; ``plain`` computes the untouched output when it is needed. Of a model
        that is spread over devices, instruments see all calls on the one that its inputs come from."""
        wanting = [instrument for instrument in self.instruments if instrument.wants(call.site)]
        home, away = place_of(self.model), call.value.device
        call = call if home == away else call.on(home)
        for instrument in wanting:
            weights = instrument.replace(call)
            if weights is not None:
                call.replaced = weights
        for instrument in wanting if not call.again else ():
            instrument.observe(call)
        if call.mixed is not None:
            output = call.mixed
        elif call.replaced is None:
            output = plain().to(home)
        else:
            output = mix(call.replaced, call.values)
        for instrument in wanting:
            output = instrument.finish(call, output)
        return output.to(away)


class _Here(local):
    """What belongs to one thread: its place in a pass, how many blocks it has open, and what listens for them."""

    def __init__(self) -> None:
        self.calls: dict[nn.Module, int] = {}
        self.depth = 0
        self.listening = ExitStack()


@dataclass(eq=False)
class _Block:
    """The instruments of one ``with`` block, and whose they are."""

    seam: Seam
    instruments: tuple[Instrument, ...]
    thread: int = field(default_factory=get_ident)
    on: bool = True


_BLOCKS: ContextVar[tuple[_Block, ...]] = ContextVar("blocks", default=())
# Weak both ways, so that a model that nobody holds any more can go.
_SEAMS: WeakKeyDictionary[nn.Module, ref[Seam]] = WeakKeyDictionary()


def mix(weights: Tensor, values: Tensor) -> Tensor:
    """Weights times values, in the layout that models expect: (batch, query, head, width).

    >>> mix(torch.ones(1, 2, 3, 3), torch.ones(1, 2, 3, 4)).shape
    torch.Size([1, 3, 2, 4])
    """
    return torch.matmul(weights.to(values.dtype), values).transpose(1, 2).contiguous()


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    position_bias: Tensor | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    indices: Tensor | None = None,
    block_indices: Tensor | None = None,
    **rest: Any,
) -> tuple[Tensor, None]:
    """The registered function: attention as the model wants it, with whatever instruments are on. ``indices`` are the
    keys that a sparse model has chosen for each query, ``block_indices`` the blocks of keys.

    >>> attend(nn.Identity(), *[torch.ones(1, 2, 3, 4)] * 3, None, is_causal=False)[0].shape
    torch.Size([1, 3, 2, 4])
    >>> attend(nn.Identity(), *[torch.ones(1, 2, 3, 4)] * 3, None, landmarks=torch.ones(2))
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: Identity hands its attention an argument that attlas does not know (landmarks), ...
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    _refuse_unknown(module, rest)
    eager = getattr(getattr(module, "config", None), "_attn_implementation", NAME) in (STRICT_NAME, ADDITIVE_NAME)
    is_causal = False if eager else is_causal  # the mask says it all
    if indices is not None:
        attention_mask = _of_chosen(attention_mask, indices, key.shape[2])
    if block_indices is not None:
        attention_mask = _of_blocks(module, query, key, attention_mask, block_indices, rest.get("position_ids"))

    def fused() -> Tensor:
        output: Tensor = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, is_causal=is_causal,
            position_bias=position_bias,
        )[0]  # fmt: skip
        return output

    total, left = getattr(module, HEADS_LEFT, (0, ()))
    if position_bias is not None and left and position_bias.shape[1] == total:
        position_bias = position_bias[:, left]
    odd = softcap is not None or s_aux is not None or eager  # what the library does not run fused, we do not
    known = _SEAMS.get(module)
    seam = None if known is None else known()
    instruments = [] if seam is None else seam.instruments
    site, again = seam.site(module) if seam is not None and instruments else (None, False)
    watched = site is not None and any(instrument.wants(site) for instrument in instruments)
    if not (odd or watched):
        return fused(), None
    causal = is_causal if is_causal is not None else bool(getattr(module, "is_causal", True))
    causal = causal and query.shape[2] > 1 and attention_mask is None
    if causal and key.shape[2] > query.shape[2]:  # an empty static cache: what follows is not written yet
        key, value = key[:, :, : query.shape[2]], value[:, :, : query.shape[2]]
        position_bias = None if position_bias is None else position_bias[..., : query.shape[2]]
    call = AttentionCall(
        site=site if site is not None else Site(Stream.DECODER, -1),
        query=query,
        key=key,
        value=value,
        mask=attention_mask,
        scaling=query.shape[-1] ** -0.5 if scaling is None else scaling,
        causal=causal,
        bias=position_bias,
        softcap=softcap,
        sinks=s_aux,
        module=module,
        again=again,
    )

    def plain() -> Tensor:
        if not odd:
            return fused()
        own = None if watched or left or not eager else _own_function(module)
        if own is not None:  # the same bits as without attlas
            mask = _additive(attention_mask, query.dtype)
            more = {"position_bias": position_bias, "softcap": softcap, "s_aux": s_aux}
            given = {name: value for name, value in more.items() if value is not None}
            output: Tensor = own(module, query, key, value, mask, scaling=call.scaling, dropout=dropout, **given)[0]
            return output
        weights = torch.nn.functional.dropout(call.weights(), p=dropout, training=module.training)
        return mix(weights, call.values)

    return (seam.carry(call, plain) if seam is not None and watched else plain()), None


def register() -> None:
    """Make the seam known to the model library, with the mask function that belongs to it: boolean, or additive.

    >>> register()
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask, sdpa_mask

    def always(*args: Any, **options: Any) -> Any:
        """A mask in every case: a family that never ran fused does not say whether it is causal."""
        return sdpa_mask(*args, **{**options, "allow_is_causal_skip": False, "allow_is_bidirectional_skip": False})

    for name, mask in ((NAME, sdpa_mask), (STRICT_NAME, always), (ADDITIVE_NAME, eager_mask)):
        AttentionInterface.register(name, attend)
        AttentionMaskInterface.register(name, mask)


def name_for(kind: Any, config: Any) -> str:
    """The name under which a model of this class and configuration is opened on the seam.

    >>> from types import SimpleNamespace
    >>> fused, plain = SimpleNamespace(_supports_sdpa=True), SimpleNamespace(_supports_sdpa=False)
    >>> bert, nllb = SimpleNamespace(model_type="bert"), SimpleNamespace(model_type="nllb-moe")
    >>> name_for(fused, bert), name_for(plain, bert), name_for(plain, nllb)
    ('attlas', 'attlas_strict', 'attlas_additive')
    """
    if getattr(config, "model_type", "") in ADDITIVE:
        return ADDITIVE_NAME
    return NAME if getattr(kind, "_supports_sdpa", True) else STRICT_NAME


def _refuse_unknown(module: nn.Module, rest: dict[str, Any]) -> None:
    unknown = [
        name for name, value in rest.items() if name not in HARMLESS and value is not None and value is not False
    ]
    if unknown:
        raise CapabilityError(
            f"{type(module).__name__} hands its attention an argument that attlas does not know "
            f"({', '.join(sorted(unknown))}), and without it the attention would be another; leave it out "
            "of the call, or choose another model"
        )


def _own_function(module: nn.Module) -> Callable[..., Any] | None:
    """The eager attention that stands in the same file as a module, where there is one."""
    return getattr(sys.modules.get(type(module).__module__), "eager_attention_forward", None)


def _additive(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """A boolean mask as eager functions want it."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, torch.finfo(dtype).min)


def _of_chosen(mask: Tensor | None, indices: Tensor, keys: int) -> Tensor:
    """The mask of a model that lets each query see the keys of its own choice, (batch, query, chosen)."""
    shape = (*indices.shape[:-1], keys)
    seen = torch.zeros(shape, dtype=torch.bool, device=indices.device).scatter(-1, indices.long(), True).unsqueeze(1)
    if mask is None:
        return seen
    return mask & seen if mask.dtype == torch.bool else mask.masked_fill(~seen, torch.finfo(mask.dtype).min)


def _of_blocks(
    module: nn.Module, query: Tensor, key: Tensor, mask: Tensor | None, blocks: Tensor, positions: Tensor | None
) -> Tensor:
    """The mask of a model that lets each query see blocks of keys; the model's own indexer knows their size."""
    build = getattr(getattr(module, "indexer", None), "build_block_mask", None)
    if build is None:
        raise CapabilityError(
            f"{type(module).__name__} attends to blocks of keys, and does not say how large they are; choose another "
            "model"
        )
    keys, queries = key.shape[2], query.shape[2]
    if positions is None:
        positions = torch.arange(keys - queries, keys, device=query.device)
    positions = (positions if positions.dim() > 1 else positions[None]).expand(len(query), -1)
    built: Tensor = build(blocks, mask, keys, query.dtype, query.device, positions)
    return built


def _ungroup(states: Tensor, heads: int) -> Tensor:
    repeats = heads // states.shape[1]
    return states if repeats == 1 else states.repeat_interleave(repeats, dim=1)
