"""Hooks on modules that act for the thread that put them on, and for no other.

A model may be shared: while one thread listens to a module, the passes of another go through it as well. Everything
in attlas that hangs on a module's call is put on here, and looks away when the call is somebody else's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from threading import get_ident
from types import TracebackType
from typing import Any

from torch import nn


class Hooks:
    """Hooks for the length of a ``with`` block.

    >>> import torch
    >>> from threading import Thread
    >>> layer, heard = nn.Identity(), []
    >>> with Hooks() as hooks:
    ...     hooks.after(layer, lambda module, args, output: heard.append(output.item()))
    ...     _ = layer(torch.tensor(1))
    ...     other = Thread(target=layer, args=(torch.tensor(2),))
    ...     other.start()
    ...     other.join()
    >>> _ = layer(torch.tensor(3))
    >>> heard
    [1]
    """

    def __init__(self) -> None:
        self._owner = get_ident()
        self._stack = ExitStack()

    def __enter__(self) -> Hooks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def before(self, module: nn.Module, hook: Callable[..., Any], *, with_kwargs: bool = False) -> None:
        """Call a function with a module and its arguments before it runs; what it gives, if anything, replaces them.

        >>> with Hooks() as hooks:
        ...     hooks.before(nn.Identity(), print)
        """
        self._stack.callback(module.register_forward_pre_hook(self._own(hook), with_kwargs=with_kwargs).remove)

    def after(self, module: nn.Module, hook: Callable[..., Any], *, always_call: bool = False) -> None:
        """Call a function with a module, its arguments and its output after it has run.

        >>> with Hooks() as hooks:
        ...     hooks.after(nn.Identity(), print)
        """
        self._stack.callback(module.register_forward_hook(self._own(hook), always_call=always_call).remove)

    def _own(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        owner = self._owner

        def mine(*args: Any) -> Any:
            return hook(*args) if get_ident() == owner else None

        return mine
