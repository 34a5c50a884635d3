"""Attention by either measure: what a study is handed at the seam, as weights or as norms.

A study that has a choice of measure asks here, so that all refuse the same things with the same words, and mean the
same by a norm: weights times the lengths ||f(x)|| of the keys. What goes to a sink is a weight without a vector; it
has no norm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attlas.capture.instruments import Finite, finite
from attlas.measures.names import check_measure
from attlas.models import AttentionCall

if TYPE_CHECKING:
    from attlas.capture.subject import Subject


def require_measure(subject: Subject, measure: str) -> str:
    """Refuse a measure that does not exist, or that this model cannot give.

    >>> from attlas.capture import load
    >>> require_measure(load(), "norm")
    'norm'
    """
    if check_measure(measure) == "norm":
        subject.require("norms")
    return measure


def measured(subject: Subject, call: AttentionCall, measure: str, asked: Finite | None = None) -> Tensor:
    """The attention of a call by a measure, (batch, head, query, key); refused where there is a NaN in it: at once,
    or when what is ``asked`` of all calls together is settled.

    >>> from attlas.capture import Fold, load
    >>> subject, seen = load(), []
    >>> with subject.use(Fold(lambda call: seen.append(measured(subject, call, "norm").shape))):
    ...     _ = subject.run(subject.batch(["Hello there."]))
    >>> seen[0]
    torch.Size([1, 12, 5, 5])
    """
    weights = finite(call.weights(), call.site) if asked is None else asked.note(call.weights(), call.site)
    return weights if measure == "weight" else weights * subject.lengths(call)[:, :, None]


def row_shares(norms: Tensor) -> Tensor:
    """Norms, every row divided by its sum, so that they stand beside weights; rows of nothing stay so.

    >>> row_shares(torch.tensor([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    return norms / norms.sum(-1, keepdim=True).clamp(min=torch.finfo(norms.dtype).tiny)
