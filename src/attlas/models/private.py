"""A way in for families that keep their softmax to themselves.

About ninety families (MPNet, GPT-J, Bloom ...) compute attention inside their own modules and never reach the seam.
What they all do is a softmax over keys and, next, a matrix product of its result with the values. While instruments
are on, we watch for these two calls inside the attention modules that were found at load: the softmax gives the
weights, the product gives the values, and together they make an :class:`AttentionCall` like any other, only without
queries and keys. Weights can be recorded and replaced, heads gated, norms computed; what needs queries and keys is
reported as missing.

The interception is torch's own (``TorchFunctionMode``): nothing in the model is patched, and it ends with the
``with`` block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attlas.models.hooks import Hooks
from attlas.models.seam import AttentionCall, Seam

_SOFTMAX = {torch.softmax, torch.nn.functional.softmax, Tensor.softmax}
_PRODUCT = {torch.matmul, torch.bmm, Tensor.matmul, Tensor.bmm, Tensor.__matmul__}
_HEADS = ("num_heads", "num_attention_heads", "n_heads", "n_head")  # where a module says how many heads it has


class ModuleStack:
    """Keeps track of which modules are running, innermost last.

    >>> outer = nn.Sequential(nn.Identity())
    >>> stack = ModuleStack()
    >>> with stack.follow(list(outer.modules())):
    ...     _ = outer(torch.ones(1))
    >>> stack.running
    []
    """

    def __init__(self) -> None:
        self.running: list[nn.Module] = []

    @contextmanager
    def follow(self, modules: list[nn.Module]) -> Iterator[None]:
        """Follow these modules for the length of a ``with`` block.

        >>> with ModuleStack().follow([]):
        ...     pass
        """
        with Hooks() as hooks:
            for module in modules:
                hooks.before(module, lambda m, _: self.running.append(m))
                hooks.after(module, lambda *_: self.running.pop() and None, always_call=True)
            yield


class Interception(TorchFunctionMode):
    """Watches for a softmax over keys and for the product of its result with values.

    ``meet(module, weights, values, product)`` is called for each such pair and returns the product to go on with. All
    three have the axes (batch, head, ...), however the family lays them out: heads as an axis, heads folded into the
    batch (Bloom, XGLM), or a product that is written as an einsum (XLNet).

    >>> def meet(module, weights, values, product):
    ...     print(tuple(weights.shape), tuple(values.shape), tuple(product(weights).shape))
    ...     return product(weights)
    >>> stack = ModuleStack()
    >>> stack.running = [nn.Identity()]
    >>> with Interception(stack, meet):
    ...     weights = torch.softmax(torch.ones(1, 2, 3, 3), -1)
    ...     _ = weights @ torch.ones(1, 2, 3, 4)
    (1, 2, 3, 3) (1, 2, 3, 4) (1, 2, 3, 4)
    >>> with Interception(stack, meet):
    ...     weights = torch.softmax(torch.ones(1, 2, 3, 3), -1)
    ...     _ = torch.bmm(weights.view(2, 3, 3), torch.ones(2, 3, 4))
    (1, 2, 3, 3) (1, 2, 3, 4) (1, 2, 3, 4)
    >>> with Interception(stack, meet):
    ...     weights = torch.softmax(torch.ones(1, 2, 3, 3), -1)
    ...     print(tuple(torch.einsum("bnij,jbnd->ibnd", weights, torch.ones(3, 1, 2, 4)).shape))
    (1, 2, 3, 3) (1, 2, 3, 4) (1, 2, 3, 4)
    (3, 1, 2, 4)
    """

    def __init__(
        self, stack: ModuleStack, meet: Callable[[nn.Module, Tensor, Tensor, Callable[[Tensor], Tensor]], Tensor]
    ) -> None:
        super().__init__()
        self.stack = stack
        self.meet = meet
        self.pending: tuple[int, ...] | None = None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Pass every call on, except the product that follows a softmax inside a followed module."""
        kwargs = kwargs or {}
        if not self.stack.running:
            return func(*args, **kwargs)
        if func in _SOFTMAX:
            result = func(*args, **kwargs)
            self.pending = _with_heads(result, self.stack.running[-1]) or self.pending
            return result
        if self.pending is not None:
            pair = _pair(func, args, self.pending)
            if pair is not None:
                self.pending = None
                output = self.meet(self.stack.running[-1], pair.weights, pair.values, pair.product)
                return pair.laid_out(output)
        return func(*args, **kwargs)


class _Pair(NamedTuple):
    """Weights and values with the axes (batch, head, ...), their product, and the way back to the family's layout."""

    weights: Tensor
    values: Tensor
    product: Callable[[Tensor], Tensor]
    laid_out: Callable[[Tensor], Tensor]


def _with_heads(weights: Tensor, module: nn.Module) -> tuple[int, ...] | None:
    """The shape of weights as (batch, head, query, key); where heads are folded into the batch, the module knows how
    many there are."""
    if weights.dim() == 4:
        return tuple(weights.shape)
    heads = next((getattr(module, name) for name in _HEADS if isinstance(getattr(module, name, None), int)), 0)
    if weights.dim() == 3 and heads and weights.shape[0] % heads == 0:
        return (weights.shape[0] // heads, heads, *weights.shape[1:])
    return None


def _pair(func: Any, args: tuple[Any, ...], pending: tuple[int, ...]) -> _Pair | None:
    """The call as a product of the weights that are awaited with values, or None if it is another."""
    if func is torch.einsum and len(args) == 3 and isinstance(args[0], str):
        return _einsum(*args, pending)
    if func not in _PRODUCT or len(args) != 2:
        return None
    weights, values = args
    batch, heads, queries, keys = pending
    if values.dim() < 3 or values.shape[-2] != keys:
        return None
    if tuple(weights.shape) == pending:
        return _Pair(weights, values, lambda w: func(w, values), lambda output: output)
    if tuple(weights.shape) == (batch * heads, queries, keys) == (len(values), queries, keys):
        return _Pair(
            weights.reshape(pending),
            values.reshape(batch, heads, keys, -1),
            lambda w: func(w.reshape(weights.shape), values).reshape(batch, heads, queries, -1),
            lambda output: output.reshape(batch * heads, queries, -1),
        )
    return None


def _einsum(equation: str, weights: Any, values: Any, pending: tuple[int, ...]) -> _Pair | None:
    """A product that names its axes; weights have theirs in the order of the softmax."""
    sides, arrow, result = equation.replace(" ", "").partition("->")
    left, _, right = sides.partition(",")
    if not (
        arrow and isinstance(weights, Tensor) and tuple(weights.shape) == pending and len(left) == len(right) == 4
    ):
        return None
    batch, head, query, key = list(left)
    width = next((axis for axis in right if axis not in left), "")
    if set(right) != {batch, head, key, width} or set(result) != {batch, head, query, width}:
        return None

    def turned(tensor: Tensor, axes: str, wanted: str) -> Tensor:
        return tensor.permute([axes.index(axis) for axis in wanted])

    return _Pair(
        weights,
        turned(values, right, batch + head + key + width),
        lambda w: turned(torch.einsum(equation, w, values), result, batch + head + query + width),
        lambda output: turned(output, batch + head + query + width, result),
    )


@contextmanager
def intercept(seam: Seam) -> Iterator[None]:
    """Bring the calls of a private family to its seam for the length of a ``with`` block.

    >>> with intercept(Seam(nn.Identity(), {}, private=True)):
    ...     pass
    """

    def meet(module: nn.Module, weights: Tensor, values: Tensor, product: Callable[[Tensor], Tensor]) -> Tensor:
        site, again = seam.site(module)
        call = AttentionCall(site, None, None, values, None, 1.0, given=weights, module=module, again=again)
        # The seam's layout is (batch, query, head, width); the family's own is (batch, head, query, width).
        return seam.carry(call, lambda: product(weights).transpose(1, 2)).transpose(1, 2)

    stack = ModuleStack()
    with stack.follow(list(seam.sites)), Interception(stack, meet):
        yield
