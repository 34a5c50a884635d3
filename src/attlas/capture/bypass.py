"""Going past a module: it gives what it gave before, and does no work.

While a module is bypassed its ``forward`` is another function, on this one instance, for the thread that asked for it
and only for the length of a ``with`` block; hooks on it fire as ever, so that whoever collects hidden states finds
them. What it gave in one pass is repeated for a pass with several copies of the same texts, copy-major: all texts of
copy 0, then those of copy 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock, get_ident
from typing import Any

from torch import Tensor, nn


def repeated(value: Any, size: int, times: int) -> Any:
    """What a module gave, for so many copies: tensors whose first axis is the batch of ``size`` are repeated, also
    inside tuples and mappings; all else stays. A single text is repeated without taking memory.

    >>> import torch
    >>> repeated((torch.tensor([[1], [2]]), None), size=2, times=2)[0].tolist()
    [[1], [2], [1], [2]]
    """
    if isinstance(value, Tensor):
        if times == 1 or value.dim() == 0 or value.shape[0] != size:
            return value
        return value[None].expand(times, *value.shape).flatten(0, 1)
    if isinstance(value, Mapping):
        return type(value)(**{name: repeated(part, size, times) for name, part in value.items()})
    if isinstance(value, (tuple, list)):
        return type(value)(repeated(part, size, times) for part in value)
    return value


def first(value: Any) -> Tensor | None:
    """The main thing that a module gave: itself, or the first of a tuple.

    >>> import torch
    >>> first((torch.ones(2), None)).tolist()
    [1.0, 1.0]
    """
    found = value[0] if isinstance(value, tuple) and value else value
    return found if isinstance(found, Tensor) else None


def with_first(value: Any, new: Tensor) -> Any:
    """The same with another main thing.

    >>> with_first((1, 2), "new")
    ('new', 2)
    """
    return (new, *value[1:]) if isinstance(value, tuple) else new


class _Forked:
    """A forward that goes another way for some threads, and for all others the module's own."""

    def __init__(self, module: nn.Module, own: Callable[..., Any] | None) -> None:
        self.module, self.given = module, own
        self.own = own if own is not None else type(module).forward.__get__(module)
        self.ways: dict[int, Callable[..., Any]] = {}

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.ways.get(get_ident(), self.own)(*args, **options)

    def back(self, thread: int, way: Callable[..., Any] | None) -> None:
        """Let a thread go as it did before; when nobody goes another way, the module is as it was."""
        if way is not None:
            self.ways[thread] = way
            return
        self.ways.pop(thread, None)
        if not self.ways:
            del self.module.__dict__["forward"]
            if self.given is not None:
                self.module.forward = self.given


_CHANGING = Lock()


@contextmanager
def bypassed(forwards: Mapping[nn.Module, Callable[..., Any]]) -> Iterator[None]:
    """Have modules run these functions in place of their own ``forward`` for the length of a ``with`` block.

    >>> import torch
    >>> layer = nn.Linear(2, 2)
    >>> with bypassed({layer: giving("what it gave before")}):
    ...     layer(torch.ones(1, 2))
    'what it gave before'
    >>> "forward" in layer.__dict__
    False
    """
    me = get_ident()
    before: dict[nn.Module, Callable[..., Any] | None] = {}
    try:
        with _CHANGING:
            for module, forward in forwards.items():
                forked = module.__dict__.get("forward")
                if not isinstance(forked, _Forked):
                    forked = _Forked(module, forked)
                    module.forward = forked
                before[module] = forked.ways.get(me)
                forked.ways[me] = forward
        yield
    finally:
        with _CHANGING:
            for module, way in before.items():
                module.__dict__["forward"].back(me, way)


def giving(value: Any, size: int = 1, times: int = 1) -> Callable[..., Any]:
    """A forward that gives a value whatever comes, repeated for so many copies.

    >>> giving(3)("whatever", comes=True)
    3
    """

    def forward(*args: Any, **kwargs: Any) -> Any:
        return repeated(value, size, times)

    return forward
