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
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attlas.models.seam import AttentionCall, Seam

_SOFTMAX = {torch.softmax, torch.nn.functional.softmax, Tensor.softmax}
_PRODUCT = {torch.matmul, torch.bmm, Tensor.matmul, Tensor.bmm, Tensor.__matmul__}


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
        with ExitStack() as stack:
            for module in modules:
                enter = module.register_forward_pre_hook(lambda m, _: self.running.append(m))
                leave = module.register_forward_hook(lambda *_: self.running.pop() and None, always_call=True)
                stack.callback(enter.remove)
                stack.callback(leave.remove)
            yield


class Interception(TorchFunctionMode):
    """Watches for a softmax over keys and for the product of its result with values.

    ``meet(module, weights, values, product)`` is called for each such pair and returns the product to go on with.

    >>> def meet(module, weights, values, product):
    ...     print(tuple(weights.shape), tuple(values.shape))
    ...     return product(weights)
    >>> stack = ModuleStack()
    >>> stack.running = [nn.Identity()]
    >>> with Interception(stack, meet):
    ...     _ = torch.softmax(torch.ones(1, 2, 3, 3), -1) @ torch.ones(1, 2, 3, 4)
    (1, 2, 3, 3) (1, 2, 3, 4)
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
            if result.dim() == 4:
                self.pending = tuple(result.shape)
            return result
        if func in _PRODUCT and self.pending is not None and len(args) == 2:
            weights, values = args
            if tuple(weights.shape) == self.pending and values.shape[-2] == weights.shape[-1]:
                self.pending = None
                return self.meet(self.stack.running[-1], weights, values, lambda w: func(w, values))
        return func(*args, **kwargs)


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
