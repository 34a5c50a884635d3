"""Every model proves itself: that what we see at the seam is what the model does.

:func:`prove` runs at load, on a few pieces: the model's output is the same with a recorder on; rows of weights sum
to one; the layer's output can be rebuilt from weights, values and W_O. What fails fatally is an error; W_O that
does not rebuild is forgotten, so that norms are refused later. :func:`examine` is the whole examination that
``attlas doctor`` prints, on real text, with padding and pairs, against the library's own eager attention. What has to
be asked head by head or layer by layer is asked of a few that are drawn, or of all (``full``).

A bar follows the arithmetic: weights can be no more alike than the rounding of their scores lets them be, so a model
with large scores is given more room, and a "no" means a fault.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attlas.capture.instruments import Fold, Gates, Override, Recorder
from attlas.capture.selection import Selection
from attlas.errors import AttlasError, CapabilityError
from attlas.ids import HeadId, Site, Stream
from attlas.measures.rows import fast_statistics, matrix_statistics
from attlas.models import AttentionCall, Batch
from attlas.models.opening import probing_inputs
from attlas.models.seam import HEADS_LEFT
from attlas.models.sites import output_bias, output_matrix

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

TOLERANCE = 1e-4
PACKED = ("Linear4bit", "Linear8bitLt")  # matrices whose products are of bfloat16's precision, at best
ASKED, ASKED_LAYERS = 10, 4  # heads and layers that are asked unless all are
TEXTS = (
    "The farmer offered apples to the housekeeper, because he had too many of them.",
    "Nobody noticed.",
    "An engineer repaired the old bridge near the station; the children played outside, unbelievably loud.",
)
TARGETS = (
    "Le fermier a offert des pommes à la gouvernante, parce qu'il en avait trop.",
    "Personne n'a remarqué.",
    "Un ingénieur a réparé le vieux pont près de la gare.",
)


@dataclass(frozen=True)
class Finding:
    """One question put to a model, and what came out.

    ``passed`` is None where the question does not apply or could not be asked, which is no pass; the note says why.
    ``error`` is the largest deviation that was seen.

    >>> Finding("rows sum to one", True, 1e-7).passed
    True
    """

    name: str
    passed: bool | None
    error: float | None = None
    note: str = ""


def prove(subject: Subject) -> None:
    """The cheap proof at load; raises if what we see is not what the model does.

    >>> from attlas.capture import load
    >>> prove(load())
    """
    inputs = probing_inputs(subject.model)
    recorder = Recorder(["weights"])
    with torch.no_grad():
        plain = output_of(subject.model(**inputs))
        with subject.use(recorder), _rebuilding(subject) as errors:
            watched = output_of(subject.model(**inputs))
    tolerance = TOLERANCE * _scale(subject, plain)
    if not torch.allclose(plain, watched, atol=tolerance, equal_nan=True):
        raise CapabilityError(
            f"{subject.name}: its output changes while it is watched, so nothing we measure would hold"
        )
    for site in subject.sites:
        weights = recorder.get(site)
        if not _sums_to_one(weights, subject):
            raise CapabilityError(f"{subject.name}: rows of weights at {site} do not sum to one")
        if errors.get(site, float("inf")) > tolerance:
            subject.layout.projections.pop(site, None)


def examine(
    subject: Subject, *, full: bool = False, advance: Callable[[str], object] = lambda question: None
) -> list[Finding]:
    """The whole examination, on real text. ``full`` asks every head and layer what is else asked of a few;
    ``advance`` is told of each question when it has been answered.

    >>> from attlas.capture import load
    >>> all(finding.passed is not False for finding in examine(load()))
    True
    """
    findings = []
    for question in _QUESTIONS:
        name = str(question.__doc__).strip().rstrip(".")
        try:
            findings.append(question(subject, full=full) if question in _BY_HEAD else question(subject))
        except Exception as error:
            told = (str(error).splitlines() or [""])[0][:120]
            findings.append(Finding(name, False, note=told if isinstance(error, AttlasError) else
                                    f"{type(error).__name__}: {told}"))  # fmt: skip
        advance(name)
    return findings


def output_of(result: Any) -> Tensor:
    """The main output of a forward pass: logits where there are some, else the last hidden state, or what is pooled.

    >>> from types import SimpleNamespace
    >>> output_of(SimpleNamespace(last_hidden_state=torch.ones(1))).shape
    torch.Size([1])
    """
    named = (getattr(result, name, None) for name in ("logits", "last_hidden_state", "pooler_output"))
    output: Tensor | None = next((tensor for tensor in named if tensor is not None), None)
    if output is None:
        raise CapabilityError(
            f"a {type(result).__name__} holds neither logits nor states, so that nothing can be compared"
        )
    return output


def _batch(subject: Subject, *, pad_left: bool = False) -> Batch:
    if subject.pieces.translating:
        return subject.batch(list(zip(TEXTS, TARGETS, strict=True)), pad_left=pad_left)
    return subject.batch(TEXTS, pad_left=pad_left)


def _real(output: Tensor, batch: Batch) -> Tensor:
    """Output at real positions only; what a model writes at padding is nobody's business."""
    side = batch.target if batch.target is not None else batch.source
    assert side is not None
    return output[side.real] if output.shape[:2] == side.real.shape else output


def _run(subject: Subject, batch: Batch, *instruments: Any) -> Tensor:
    with torch.no_grad(), subject.use(*instruments):
        return _real(output_of(subject.run(batch)), batch)


def _scale(subject: Subject, output: Tensor) -> float:
    """Deviations are judged against the size of the output and the precision of its number format, or that of the
    products inside where weights are packed into few bits; a tenth of the output is a fault in any format."""
    packed = any(type(module).__name__ in PACKED for module in subject.model.modules())
    unit = torch.finfo(torch.bfloat16 if packed else subject.model.dtype).eps
    precision = min(max(1.0, unit / torch.finfo(torch.float32).eps), 0.1 / TOLERANCE)
    return max(1.0, float(output.detach().abs().max())) * precision


def _finding(name: str, subject: Subject, one: Tensor, other: Tensor, note: str = "") -> Finding:
    error = float((one.float() - other.float()).abs().max())
    return Finding(name, error <= TOLERANCE * _scale(subject, other), error, note)


@contextmanager
def _library(subject: Subject, implementation: str) -> Iterator[None]:
    """The model as the library would run it, for the length of a ``with`` block."""
    configs: dict[int, Any] = {id(m.config): m.config for m in subject.model.modules() if hasattr(m, "config")}
    before = [(config, config._attn_implementation) for config in configs.values()]  # parts may have their own
    subject.model.set_attn_implementation(implementation)
    try:
        yield
    finally:
        for config, name in before:
            config._attn_implementation = name


_BOUND = "a pruned model with a position bias runs at the seam alone"


def _bound(subject: Subject) -> bool:
    """Whether the seam hands a pruned model the part of its position bias that it needs."""
    return not subject.layout.private and any(hasattr(module, HEADS_LEFT) for module in subject.seam.sites)


def _untouched(subject: Subject) -> Finding:
    """untouched output equals the plain model's."""
    if _bound(subject):
        return Finding("untouched output equals the plain model's", None, note=_BOUND)
    batch = _batch(subject)
    ours = _run(subject, batch)
    with _library(subject, "eager"):
        return _finding("untouched output equals the plain model's", subject, ours, _run(subject, batch))


def _same_with_recorder(subject: Subject) -> Finding:
    """output is the same while recording."""
    batch = _batch(subject)
    watched = _run(subject, batch, Recorder(["weights", "values", "outputs"]))
    return _finding("output is the same while recording", subject, watched, _run(subject, batch))


def eager_weights(subject: Subject, batch: Batch) -> dict[Site, Tensor]:
    """The weights that the library's own eager attention reports, by site.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> eager_weights(subject, subject.batch(["Hi."]))[subject.sites[0]].shape
    torch.Size([1, 12, 4, 4])
    """
    with _library(subject, "eager"), torch.no_grad():
        output = subject.run(batch, output_attentions=True)
    names = {"attentions": batch.own, "encoder_attentions": Stream.ENCODER}
    names |= {"decoder_attentions": Stream.DECODER, "cross_attentions": Stream.CROSS}
    found: dict[Site, Tensor] = {}
    for name, stream in names.items():
        for layer, weights in enumerate(getattr(output, name, None) or ()):
            if weights is not None:
                scores = bool((weights.isfinite() & ((weights < 0) | (weights > 1 + _one(subject)))).any())
                found[Site(stream, layer)] = weights.softmax(-1) if scores else weights  # SqueezeBERT reports scores
    return found


def _eager_weights(subject: Subject) -> Finding:
    """weights equal the eager model's."""
    name = "weights equal the eager model's"
    if _bound(subject):
        return Finding(name, None, note=_BOUND)
    batch = _batch(subject)
    recorder = Recorder(["weights"])
    _run(subject, batch, recorder)
    theirs = eager_weights(subject, batch)
    if set(theirs) != set(subject.sites):
        return Finding(name, None, note="the library reports no weights for this family")
    worst = 0.0
    for site, weights in theirs.items():
        side = batch.queries(site.stream)
        assert side is not None
        ours, known = (rows.transpose(1, 2)[side.real] for rows in (recorder.get(site), weights))
        if _has_sinks(subject):  # some families report their rows before the sink has taken its part, and some after
            read = (ours.sum(-1, keepdim=True) > 0.01) & (known.sum(-1, keepdim=True) > 0.01)  # else nothing is left
            ours, known = (torch.where(read, rows / rows.sum(-1, keepdim=True), 0.0) for rows in (ours, known))
        worst = max(worst, float((ours - known).abs().max()))
    return Finding(name, worst <= rounding(subject, batch), worst)


def rounding(subject: Subject, batch: Batch) -> float:
    """How far apart two ways to compute the same weights may be: a few units in the last place of the largest score
    that a query gives to a key it may see, which the softmax turns into as much of a weight.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> 1e-6 < rounding(subject, subject.batch(["Hi."])) < 1e-4
    True
    """
    largest = [1.0]

    def look(call: AttentionCall) -> None:
        if call.query is not None:
            scores, visible = call.scores(), call.visible()
            seen = scores if visible is None else scores.masked_fill(~visible, 0.0)
            largest.append(float(seen.abs().max()))

    _run(subject, batch, Fold(look))
    return max(1e-5, 8 * torch.finfo(subject.model.dtype).eps * max(largest))


def _recorded(subject: Subject, batch: Batch) -> dict[Site, Tensor]:
    recorder = Recorder(["weights"])
    _run(subject, batch, recorder)
    return {site: recorder.get(site) for site in recorder.kept}


def _sums_to_one(weights: Tensor, subject: Subject) -> bool:
    sums = weights.float().sum(-1)
    if _has_sinks(subject):
        return bool((sums <= 1 + _one(subject)).all())
    return bool((sums - 1).abs().max() <= _one(subject))


def _has_sinks(subject: Subject) -> bool:
    return any(hasattr(module, "sinks") for module in subject.seam.sites)


def _one(subject: Subject) -> float:
    """How far from one a row may be, in the model's number format."""
    return max(1e-3, 4 * torch.finfo(subject.model.dtype).eps)


def _rows(subject: Subject) -> Finding:
    """rows sum to one."""
    worst = max(float((w.float().sum(-1) - 1).abs().max()) for w in _recorded(subject, _batch(subject)).values())
    if _has_sinks(subject):
        return Finding("rows sum to one", None, worst, "this family has sinks, which take a part of every row")
    return Finding("rows sum to one", worst <= _one(subject), worst)


def _mask_holds(subject: Subject) -> Finding:
    """nothing is given to padding or to what comes later."""
    batch = _batch(subject)
    worst = 0.0
    for site, weights in _recorded(subject, batch).items():
        keys, queries = batch.keys(site.stream), batch.queries(site.stream)
        assert keys is not None
        assert queries is not None
        hidden = ~keys.real[:, None, None, :].expand_as(weights)
        if site.stream is Stream.DECODER:
            hidden = hidden | torch.ones_like(weights, dtype=torch.bool).triu(1)
        leaked = (weights * hidden).sum(-1).transpose(1, 2)[queries.real]
        worst = max(worst, float(leaked.max()))
    return Finding("nothing goes to padding or to what comes later", worst <= 1e-6, worst)


def _pairs(subject: Subject) -> Finding:
    """sentence pairs."""
    name = "a sentence pair equals the eager model's"
    if not subject.pieces.pairs:
        return Finding(name, None, note="this model takes no sentence pairs")
    batch = subject.batch([(TEXTS[0], TEXTS[1])])
    ours, theirs = _recorded(subject, batch), eager_weights(subject, batch)
    if not theirs:
        return Finding(name, None, note="the library reports no weights for this family")
    worst = max(float((ours[site] - theirs[site]).abs().max()) for site in theirs)
    return Finding(name, worst <= rounding(subject, batch), worst)


def _left_padding(subject: Subject) -> Finding:
    """padded on the left the output is the eager model's, too."""
    name = "padded on the left the output is the eager model's, too"
    if subject.pieces.own is not Stream.DECODER:
        return Finding(name, None, note="only decoders are padded on the left")
    if _bound(subject):
        return Finding(name, None, note=_BOUND)
    left = _batch(subject, pad_left=True)
    ours = _run(subject, left)
    with _library(subject, "eager"):
        return _finding(name, subject, ours, _run(subject, left))


def _gates(subject: Subject, *, full: bool = False) -> Finding:
    """a closed gate is a head cut out of W_O, and opening all changes nothing."""
    name = "a closed gate is a head cut out of W_O, and opening all changes nothing"
    batch = _batch(subject)
    plain = _run(subject, batch)
    room, worst = TOLERANCE * _scale(subject, plain), 0.0
    for site, head in _drawn_heads(subject, full):
        gated = _run(subject, batch, Gates.closed([HeadId(*site, head)], subject.layout.heads))
        if torch.equal(gated, plain):
            return Finding(name, False, note=f"closing head {head + 1} of {site} changes nothing")
        if site in subject.layout.projections and site not in subject.seam.shared:
            with _cut_out(subject, site, head):
                worst = max(worst, float((_run(subject, batch) - gated).abs().max()))
    opened = _run(subject, batch, Gates({site: torch.ones(subject.heads(site)) for site in subject.sites}))
    worst = max(worst, float((opened - plain).abs().max()))
    return Finding(name, worst <= room, worst)


def _drawn_heads(subject: Subject, full: bool) -> list[tuple[Site, int]]:
    """The heads to ask, all or a few that are drawn, of the first and last layer of each stream among others."""
    heads = [
        (site, head) for site, kept in subject.kept.items() if kept for head in range(subject.heads(site))
    ]  # a layer that lost all its heads is silent
    if full or len(heads) <= ASKED:
        return heads
    drawn = random.Random(0).sample(heads, ASKED)
    return sorted({*drawn, *(heads[number] for number in (0, -1))}, key=heads.index)


@contextmanager
def _cut_out(subject: Subject, site: Site, head: int) -> Iterator[None]:
    """The model with a head's part of what W_O is fed set to zero, for the length of a ``with`` block."""
    width = output_matrix(subject.layout.projections[site], subject.heads(site)).shape[1]

    def cut(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        fed = args[0].clone()
        fed[..., head * width : (head + 1) * width] = 0
        return (fed, *args[1:])

    handle = subject.layout.projections[site].register_forward_pre_hook(cut)
    try:
        yield
    finally:
        handle.remove()


def _gradient(subject: Subject) -> Finding:
    """gates get a gradient."""
    xi = {site: torch.ones(subject.heads(site), requires_grad=True) for site in subject.sites}
    batch = _batch(subject)
    with torch.enable_grad(), subject.use(Gates(xi)):
        total = _real(output_of(subject.run(batch)), batch).float().square().sum()
        slopes = torch.autograd.grad(total, list(xi.values()), allow_unused=True)
    silent = {site for site, kept in subject.kept.items() if not kept}
    missing = [
        site for site, slope in zip(xi, slopes, strict=True)
        if site not in silent and (slope is None or not bool(slope.any()))
    ]  # fmt: skip
    note = f"none reaches {missing[0]}" if missing else ""
    return Finding("gates get a gradient", not missing, note=note)


def _override(subject: Subject, *, full: bool = False) -> Finding:
    """frozen weights change nothing, uniform ones do."""
    batch = _batch(subject)
    plain = _run(subject, batch)
    frozen = _run(subject, batch, Override.frozen(_recorded(subject, batch)))
    kept = torch.allclose(frozen, plain, atol=TOLERANCE * _scale(subject, plain))
    sites = list(dict.fromkeys(site for site, _ in _drawn_heads(subject, full)))
    moved = all(
        not torch.equal(_run(subject, batch, Override.uniform(Selection(layers=site))), plain)
        for site in (sites if full else sites[:ASKED_LAYERS])
    )
    error = float((frozen - plain).abs().max())
    return Finding("frozen weights change nothing, uniform ones do", kept and moved, error)


def _projection(subject: Subject) -> Finding:
    """W_O is found."""
    name = "W_O is found: layers are rebuilt from weights, values and W_O"
    if not subject.has_norms:
        lost = sum(site not in subject.layout.projections for site in subject.sites)
        return Finding(name, None, note=f"not at {lost} of {len(subject.sites)} layers: norms will be refused")
    batch = _batch(subject)
    with torch.no_grad(), _rebuilding(subject, batch) as errors:
        output = output_of(subject.run(batch))
    worst = max(errors.values())
    return Finding(name, worst <= TOLERANCE * _scale(subject, output), worst)


def _queries(subject: Subject) -> Finding:
    """queries and keys."""
    note = "" if subject.has_queries else "its softmax is private: no neuron view, and statistics go by the matrix"
    return Finding("queries and keys can be seen", True if subject.has_queries else None, note=note)


def _fused(subject: Subject) -> Finding:
    """statistics without the matrix equal those with it."""
    name = "statistics without the matrix equal those with it"
    worst: list[float] = []

    def compare(call: AttentionCall) -> None:
        if not call.fusable:
            return
        batch, heads, _, keys = call.shape
        columns = torch.rand(batch, 1, keys, 3, device=call.value.device)
        lengths = torch.rand(batch, heads, keys, device=call.value.device) + 0.5
        fast, slow = fast_statistics(call, columns, lengths), matrix_statistics(call, columns, lengths)
        side = texts.queries(call.site.stream)
        worst.append(fast.difference(slow, None if side is None else side.real))

    texts = _batch(subject)
    _run(subject, texts, Fold(compare))
    if not worst:
        return Finding(
            name, None, note="this family's scores are more than dot products: statistics go by the matrix"
        )
    return Finding(name, max(worst) <= max(1e-4, 40 * torch.finfo(subject.model.dtype).eps), max(worst))


@contextmanager
def _rebuilding(subject: Subject, batch: Batch | None = None) -> Iterator[dict[Site, float]]:
    """Compare what each output projection gives with what weights, values and W_O give; largest error by site."""
    errors: dict[Site, float] = {}
    calls: list[tuple[Site, Tensor]] = []

    def remember(call: AttentionCall) -> None:
        calls.append((call.site, torch.matmul(call.weights(), call.values)))

    def compare(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        if not calls:
            return
        site, heads = calls.pop()
        if subject.layout.projections.get(site) is not module:
            return
        matrix = output_matrix(module, subject.heads(site))
        rebuilt = torch.einsum("bhqw,hwd->bqd", heads.float(), matrix.float())
        rebuilt = rebuilt + output_bias(module)
        side = batch.queries(site.stream) if batch is not None else None
        apart = (rebuilt - output.float()).abs() if rebuilt.shape == output.shape else torch.tensor(float("inf"))
        error = float((apart if side is None else apart[side.real]).max())
        errors[site] = max(errors.get(site, 0.0), error)

    handles = [m.register_forward_hook(compare) for m in set(subject.layout.projections.values())]
    try:
        with subject.use(Fold(remember)):
            yield errors
    finally:
        for handle in handles:
            handle.remove()


_QUESTIONS: tuple[Callable[..., Finding], ...] = (
    _untouched, _same_with_recorder, _eager_weights, _rows, _mask_holds, _pairs, _left_padding, _gates, _gradient,
    _override, _projection, _queries, _fused,
)  # fmt: skip
_BY_HEAD = (_gates, _override)
QUESTIONS = len(_QUESTIONS)
