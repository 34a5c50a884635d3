"""Every model proves itself: that what we see at the seam is what the model does.

:func:`prove` runs at load, on a few pieces: the model's output is the same with a recorder on; rows of weights sum
to one; the layer's output can be rebuilt from weights, values and W_O. What fails fatally is an error; W_O that
does not rebuild is forgotten, so that norms are refused later. :func:`examine` is the whole examination that
``attlas doctor`` prints: the questions of :mod:`attlas.capture.asking` to the model itself, on real text, and to a
tiny twin of its class (:mod:`attlas.capture.tiny`), whose windows are shorter than the texts. The twin costs as much
as a small model's load, so it is the doctor's, and not asked at load.

A bar follows the arithmetic: weights can be no more alike than the rounding of their scores lets them be, so a model
with large scores is given more room, and a "no" means a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attlas.capture.instruments import Fold, Recorder
from attlas.errors import CapabilityError
from attlas.ids import Site, Stream
from attlas.models import AttentionCall, Batch
from attlas.models.adopting import attentions, probing_inputs
from attlas.models.hooks import Hooks
from attlas.models.sites import output_bias, output_matrix

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

TOLERANCE = 1e-4
PACKED = ("Linear4bit", "Linear8bitLt")  # matrices whose products are of bfloat16's precision, at best
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
BRIEF = (("Nobody noticed.", "Nobody."), ("Personne n'a remarqué.", "Personne."))  # and their translations


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
    outputs: dict[str, Tensor] = {}
    errors: dict[Site, float] = {}

    def run_plainly() -> None:
        outputs["plain"] = output_of(subject.model(**inputs))

    def run_watched() -> None:
        with subject.use(recorder), rebuilding(subject) as rebuilt:
            outputs["watched"] = output_of(subject.model(**inputs))
        errors.update(rebuilt)

    with torch.no_grad():
        subject.together([run_plainly, run_watched])
    plain, watched = outputs["plain"], outputs["watched"]
    tolerance = TOLERANCE * scale_of(subject, plain)
    if not torch.allclose(plain, watched, atol=tolerance, equal_nan=True):
        raise CapabilityError(
            f"{subject.name}: its output changes while it is watched, so nothing we measure would hold"
        )
    for site in subject.sites:
        weights = recorder.get(site)
        if not _sums_to_one(weights, subject):
            raise CapabilityError(f"{subject.name}: rows of weights at {site} do not sum to one")
        if errors.get(site, float("inf")) > tolerance and site in subject.layout.projections:
            subject.layout.unproven[site] = errors.get(site, float("inf"))
            del subject.layout.projections[site]


def examine(
    subject: Subject, *, full: bool = False, advance: Callable[[str], object] = lambda question: None
) -> list[Finding]:
    """The whole examination: of the model itself on real text, and of a tiny twin of its class. ``full`` asks every
    head and layer what is else asked by lot; ``advance`` is told of each question when it has been answered.

    >>> from attlas.capture import load
    >>> all(finding.passed is not False for finding in examine(load()))
    True
    """
    from attlas.capture.asking import answers
    from attlas.capture.patient import Patient
    from attlas.capture.tiny import examine_twin

    findings = answers(Patient(subject), full=full, advance=advance)
    return [*findings, *examine_twin(subject, advance=advance)]


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


def texts_for(subject: Subject, *, brief: bool = False, pad_left: bool = False) -> Batch:
    """The texts that a model is asked by, with translations where it translates; ``brief`` ones are of a few pieces.

    >>> from attlas.capture import load
    >>> texts_for(load(), brief=True).size
    2
    """
    texts, targets = BRIEF if brief else (TEXTS, TARGETS)
    if subject.pieces.translating:
        return subject.batch(list(zip(texts, targets, strict=True)), pad_left=pad_left)
    return subject.batch(texts, pad_left=pad_left)


def at_real_pieces(output: Tensor, batch: Batch) -> Tensor:
    """Output at real pieces only; what a model writes at padding is nobody's business.

    >>> from attlas.capture import load
    >>> batch = texts_for(load(), brief=True)
    >>> batch.inputs["input_ids"].shape, at_real_pieces(torch.ones(2, 5, 3), batch).shape
    (torch.Size([2, 5]), torch.Size([9, 3]))
    """
    side = batch.target if batch.target is not None else batch.source
    assert side is not None
    return output[side.real] if output.shape[:2] == side.real.shape else output


def scale_of(subject: Subject, output: Tensor) -> float:
    """Deviations are judged against the size of the output and the precision of its number format, or that of the
    products inside where weights are packed into few bits; a tenth of the output is a fault in any format.

    >>> from attlas.capture import load
    >>> scale_of(load(), torch.tensor([3.0, -4.0]))
    4.0
    """
    precision = min(max(1.0, _unit(subject) / torch.finfo(torch.float32).eps), 0.1 / TOLERANCE)
    return max(1.0, float(output.detach().abs().max())) * precision


def _unit(subject: Subject) -> float:
    """The precision of a model's number format, or that of the products inside where weights are packed."""
    packed = any(type(module).__name__ in PACKED for module in subject.model.modules())
    return float(torch.finfo(torch.bfloat16 if packed else subject.model.dtype).eps)


@contextmanager
def as_library(model: Any, implementation: str) -> Iterator[None]:
    """A model as the library would run it, for the length of a ``with`` block.

    >>> from attlas.capture import load
    >>> model = load().model
    >>> with as_library(model, "eager"):
    ...     model.config._attn_implementation
    'eager'
    >>> model.config._attn_implementation
    'attlas'
    """
    before = attentions(model)
    try:
        model.set_attn_implementation(implementation)
        yield
    finally:
        for config, name in before:
            config._attn_implementation = name


def eager_weights(subject: Subject, batch: Batch) -> dict[Site, Tensor]:
    """The weights that the library's own eager attention reports, by site.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> eager_weights(subject, subject.batch(["Hi."]))[subject.sites[0]].shape
    torch.Size([1, 12, 4, 4])
    """
    with subject.seam.alone(), as_library(subject.model, "eager"), torch.no_grad():
        return reported(subject.run(batch, output_attentions=True), batch, room_of_one(subject))


def reported(result: Any, batch: Batch, room: float = 1e-3) -> dict[Site, Tensor]:
    """The weights that a pass of the library reports, by site. What linear attention reports are none; where a family
    reports scores (SqueezeBERT), their softmax is taken.

    >>> from types import SimpleNamespace
    >>> batch = SimpleNamespace(own=Stream.ENCODER)
    >>> list(reported(SimpleNamespace(attentions=(None, torch.ones(1, 2, 1, 1))), batch))
    [Site(stream=<Stream.ENCODER: 'encoder'>, layer=0)]
    """
    names = {"attentions": batch.own, "encoder_attentions": Stream.ENCODER}
    names |= {"decoder_attentions": Stream.DECODER, "cross_attentions": Stream.CROSS}
    weights: dict[Site, Tensor] = {}
    for name, stream in names.items():
        layers = [layer for layer in getattr(result, name, None) or () if isinstance(layer, Tensor)]
        plain = [layer for layer in layers if _are_weights(layer, room)]
        if not plain:  # all of them are scores
            plain = [layer.softmax(-1) for layer in layers]
        weights |= {Site(stream, number): layer for number, layer in enumerate(plain)}
    return weights


def _are_weights(layer: Tensor, room: float) -> bool:
    seen = layer[layer.isfinite()]
    within = not seen.numel() or bool(seen.min() >= -room)
    return within and bool(layer.float().nan_to_num(0.0).sum(-1).max() <= 1 + room)


class LargestScore:
    """The largest score that a query gives to a key it may see, over all calls of a pass.

    >>> LargestScore().score
    1.0
    """

    def __init__(self) -> None:
        self.score = 1.0

    def look(self, call: AttentionCall) -> None:
        """Take a call into account.

        >>> q, largest = torch.ones(1, 1, 2, 4), LargestScore()
        >>> largest.look(AttentionCall(Site("encoder", 0), q, q, q, None, 0.5))
        >>> largest.score
        2.0
        """
        if call.query is not None:
            scores, visible = call.scores(), call.visible()
            seen = scores if visible is None else scores.masked_fill(~visible, 0.0)
            self.score = max(self.score, float(seen.abs().max()))

    def room(self, subject: Subject) -> float:
        """How far apart two ways to compute the same weights may be: a few units in the last place of that score,
        which the softmax turns into as much of a weight.

        >>> from attlas.capture import load
        >>> LargestScore().room(load())
        1e-05
        """
        return max(1e-5, 8 * _unit(subject) * self.score)


def _sums_to_one(weights: Tensor, subject: Subject) -> bool:
    sums = weights.float().sum(-1)
    if has_sinks(subject):
        return bool((sums <= 1 + room_of_one(subject)).all())
    return bool((sums - 1).abs().max() <= room_of_one(subject))


def has_sinks(subject: Subject) -> bool:
    """Whether a model has learned sinks, which take their part of every row.

    >>> from attlas.capture import load
    >>> has_sinks(load())
    False
    """
    return any(hasattr(module, "sinks") for module in subject.seam.sites)


def room_of_one(subject: Subject) -> float:
    """How far from one a row of weights may be, in the model's number format.

    >>> from attlas.capture import load
    >>> room_of_one(load())
    0.001
    """
    return max(1e-3, 4 * torch.finfo(subject.model.dtype).eps)


@contextmanager
def rebuilding(
    subject: Subject, batch: Batch | None = None, guarded: Callable[[Any], Any] = lambda do: do
) -> Iterator[dict[Site, float]]:
    """Compare what each output projection gives with what weights, values and W_O give; largest error by site.
    ``guarded`` is put around what is done during the pass.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> with torch.no_grad(), rebuilding(subject) as errors:
    ...     _ = subject.run(texts_for(subject, brief=True))
    >>> len(errors), max(errors.values()) < 1e-4
    (6, True)
    """
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
        rebuilt = torch.einsum("bhqw,hwd->bqd", heads.to(matrix.device).float(), matrix.float())
        rebuilt = rebuilt + output_bias(module)
        side = batch.queries(site.stream) if batch is not None else None
        apart = (rebuilt - output.float()).abs() if rebuilt.shape == output.shape else torch.tensor(float("inf"))
        error = float((apart if side is None else apart[side.real]).max())
        errors[site] = max(errors.get(site, 0.0), error)

    with Hooks() as hooks, subject.use(Fold(guarded(remember))):
        for module in set(subject.layout.projections.values()):
            hooks.after(module, guarded(compare))
        yield errors
