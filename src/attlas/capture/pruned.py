"""A smaller subject: heads taken out of the weights, proved against the same heads behind closed gates.

Whatever the cutting of :mod:`attlas.models.pruning` believes it has found, what counts is that the smaller model
answers as the whole one does with those heads' gates closed. That is tried here, on a batch with padding, before
anybody gets the smaller model to see.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attlas.capture.check import output_of
from attlas.capture.gating import closed
from attlas.capture.instruments import Fold
from attlas.errors import CapabilityError
from attlas.ids import HeadId, Site
from attlas.models import AttentionCall, Opened, cut
from attlas.models.adopting import adopt, probing_inputs
from attlas.models.fingerprints import fingerprint

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

TOLERANCE = 1e-5


def pruned(subject: Subject, heads: Iterable[str | HeadId]) -> Subject:
    """A copy of a subject without some heads, which are given by the papers' labels or as head ids.

    >>> from attlas.capture import load
    >>> smaller = pruned(load(), ["1-3", "6-10"])
    >>> smaller.name, sum(smaller.layout.heads.values())
    ('all-MiniLM-L6-v2 without 2 heads', 70)
    """
    gates = closed(subject, heads)
    kept = {site: [head for head, xi in enumerate(row.tolist()) if xi] for site, row in gates.xi.items()}
    return keeping(subject, kept)


def keeping(subject: Subject, kept: Mapping[Site, Sequence[int]]) -> Subject:
    """A copy of a subject with only some heads of some sites; all others keep theirs.

    >>> from attlas.capture import load
    >>> keeping(load(), {Site("encoder", 0): [0, 5]}).heads(Site("encoder", 0))
    2
    """
    subject.require_whole("cutting heads out of the weights")
    model = copy.deepcopy(subject.model)
    layout = cut(model, adopt(subject.name, model, None).layout, kept, probing_inputs(model))
    lost = sum(subject.heads(site) - len(set(heads)) for site, heads in kept.items())
    name = f"{subject.name} without {lost} head{'' if lost == 1 else 's'}"
    known = fingerprint(model, without=subject.missing)
    opened = Opened(name, model, subject.pieces.tokenizer, layout, known, subject.missing)
    smaller = type(subject)(opened)
    inputs = padded_inputs(subject.model)
    try:
        apart = difference(subject, smaller, kept, inputs)
    except (RuntimeError, ValueError, IndexError) as error:
        reason = str(error).splitlines()[0][:120]
        raise CapabilityError(
            f"{subject.name}: this family cannot run with fewer heads in some layers ({reason}); gates can close them"
        ) from error
    if apart > TOLERANCE * precision(subject.model.dtype):  # rounding, or something else?
        apart = difference(_in_double(subject), _in_double(smaller), kept, inputs)
    if apart > TOLERANCE * precision(subject.model.dtype):
        raise CapabilityError(
            f"{subject.name}: without these heads in its weights it does not answer as it does with their gates "
            f"closed (they differ by {apart:.1e}), so they cannot be taken out; gates can close them"
        )
    return smaller


def difference(
    subject: Subject, smaller: Subject, kept: Mapping[Site, Sequence[int]], inputs: Mapping[str, Tensor]
) -> float:
    """How far the outputs of a smaller subject are from those of the gated one, relative to the largest of them.

    >>> from attlas.capture import load
    >>> subject, kept = load(), {Site("encoder", 0): [0, 5]}
    >>> difference(subject, keeping(subject, kept), kept, padded_inputs(subject.model)) < 1e-5
    True
    """
    gone = [
        HeadId(site.stream, site.layer, head)
        for site, heads in kept.items()
        for head in range(subject.heads(site))
        if head not in heads
    ]
    with torch.no_grad():
        with subject.use(closed(subject, gone)):
            gated = _outputs(subject.model(**inputs), inputs)
        ours = _outputs(smaller.model(**inputs), inputs)
    return float((gated - ours).abs().max() / gated.abs().max().clamp(min=1e-30))


def padded_inputs(model: Any) -> dict[str, Tensor]:
    """Two short texts, the second with padding at its end, and for an encoder-decoder two targets.

    >>> from attlas.capture import load
    >>> padded_inputs(load().model)["attention_mask"].sum(1).tolist()
    [7, 4]
    """
    inputs = {name: torch.cat([ids, ids.flip(1)]) for name, ids in probing_inputs(model).items()}
    mask = torch.ones_like(inputs["input_ids"])
    mask[1, 4:] = 0
    return {**inputs, "attention_mask": mask}


def precision(dtype: torch.dtype) -> float:
    """How many times coarser than float32 a number format is.

    >>> precision(torch.bfloat16)
    65536.0
    """
    return max(1.0, torch.finfo(dtype).eps / torch.finfo(torch.float32).eps)


def groups(subject: Subject) -> dict[Site, tuple[tuple[int, ...], ...]]:
    """The heads of each site that share keys and values, and can only be taken out of the weights together.

    >>> from attlas.capture import load
    >>> groups(load())[Site("encoder", 0)][:3]
    ((0,), (1,), (2,))
    """
    found: dict[Site, tuple[tuple[int, ...], ...]] = {}

    def note(call: AttentionCall) -> None:
        heads, groups = call.shape[1], call.value.shape[1]
        width = heads // groups
        found[call.site] = tuple(tuple(range(g * width, (g + 1) * width)) for g in range(groups))

    with torch.no_grad(), subject.use(Fold(note)):
        subject.model(**probing_inputs(subject.model))
    return {site: found[site] for site in subject.sites}


def _in_double(subject: Subject) -> Subject:
    """A copy that computes in float64."""
    opened = adopt(subject.name, copy.deepcopy(subject.model).double(), subject.pieces.tokenizer)
    return type(subject)(opened)


def _outputs(result: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    """The first output at all real positions."""
    output = output_of(result)
    mask = inputs["attention_mask"].bool()
    return output.double()[mask] if output.shape[:2] == mask.shape else output.double()
