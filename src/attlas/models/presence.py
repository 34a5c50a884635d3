"""Weights that are not in memory between passes: on disk, on the host beside a device, or streamed layer by layer.

Such weights are brought in when a module runs. Whoever wants to read them at another time (W_O, for norms) asks for
them with :func:`at_hand`, which does nothing for a module whose weights are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol
from weakref import WeakKeyDictionary

from torch import nn


class Holder(Protocol):
    """Somebody who brings the weights of modules in when they are asked for."""

    def at_hand(self, module: nn.Module) -> AbstractContextManager[None]:
        """The weights of this module, for the length of a ``with`` block."""


_HOLDERS: WeakKeyDictionary[nn.Module, Holder] = WeakKeyDictionary()


def hold(module: nn.Module, holder: Holder) -> None:
    """Let a holder answer for a module and all that is in it.

    >>> class Nobody:
    ...     def at_hand(self, module):
    ...         raise LookupError
    >>> layer = nn.Linear(2, 2)
    >>> hold(layer, Nobody())
    >>> holder_of(layer) is None
    False
    """
    for part in module.modules():
        _HOLDERS[part] = holder


def holder_of(module: nn.Module) -> Holder | None:
    """Who brings in the weights of a module, where somebody does.

    >>> holder_of(nn.Linear(2, 2)) is None
    True
    """
    return _HOLDERS.get(module)


@contextmanager
def at_hand(module: nn.Module, *, recurse: bool = True) -> Iterator[None]:
    """The weights of a module and (``recurse``) of all that is in it in memory, for the length of a ``with`` block.

    >>> layer = nn.Linear(2, 2)
    >>> with at_hand(layer):
    ...     layer.weight.is_meta
    False
    """
    holder = holder_of(module)
    with ExitStack() as brought:
        if holder is not None:
            brought.enter_context(holder.at_hand(module))
        for part in module.modules() if recurse else [module]:
            if hasattr(part, "_hf_hook") and any(weight.is_meta for weight in part.parameters(recurse=False)):
                from accelerate.utils import align_module_device

                brought.enter_context(align_module_device(part))
        yield
