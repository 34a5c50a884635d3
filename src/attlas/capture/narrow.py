"""The last layer only where it is read.

A head that classifies texts reads the last layer at one place, mostly the first. All other places of that layer
matter to nobody: its attention must see them, but what comes after the attention need only run at the one that is
read. Whether a model is like that is found by looking: its output must not change when the other places are wiped
out.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from attlas.capture.bypass import bypassed, first, with_first
from attlas.models.hooks import Hooks


class _Heard(Exception):
    """An attention was called: what it was given is known, and the rest of the layer need not run."""


def reads_first_place_only(layer: nn.Module, run: Callable[[], Any]) -> bool:
    """Whether a model that gives one row of logits for each text reads its last layer at the first place alone.

    ``run`` is a pass of the model; it is made twice.

    >>> class Pooled(nn.Module):
    ...     def __init__(self, place):
    ...         super().__init__()
    ...         self.layer, self.place = nn.Linear(4, 4), place
    ...     def forward(self):
    ...         states = self.layer(torch.ones(2, 3, 4))
    ...         return {"logits": states[:, self.place]}
    >>> [reads_first_place_only(model.layer, model) for model in (Pooled(0), Pooled(1))]
    [True, False]
    """

    def wipe(module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        states = first(output)
        return output if states is None else with_first(output, widened(states[:, :1], states.shape[1]))

    plain = run()
    logits = plain.get("logits") if hasattr(plain, "get") else None
    if not isinstance(logits, Tensor) or logits.dim() != 2 or plain.get("hidden_states") is not None:
        return False
    with Hooks() as hooks:
        hooks.after(layer, wipe)
        return torch.equal(run()["logits"], logits)


def narrowed(layer: nn.Module, attention: nn.Module, *, known: bool = False) -> Callable[..., Any]:
    """A forward for a layer that runs all but its attention at the first place alone.

    Where the attention's output is ``known``, it is bypassed already, and for the first place alone.

    >>> layer = nn.Sequential(nn.Identity(), nn.Linear(4, 4))
    >>> states = torch.randn(2, 3, 4)
    >>> with torch.no_grad():
    ...     found = narrowed(layer, layer[0])(states)
    >>> torch.allclose(found[:, 0], layer(states)[:, 0], atol=1e-6), found[:, 1:].any().item()
    (True, False)
    """
    own = layer.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        named = not args
        states: Tensor = kwargs["hidden_states"] if named else args[0]

        def rest(given: Tensor) -> Any:
            return own(**{**kwargs, "hidden_states": given}) if named else own(given, *args[1:], **kwargs)

        if known:
            output = rest(states[:, :1])
        else:
            heard = _given(attention, lambda: rest(states))
            attended = attention(*heard[0], **heard[1])
            narrow = first(attended)
            assert narrow is not None
            with bypassed({attention: lambda *_, **__: with_first(attended, narrow[:, :1])}):
                output = rest(states[:, :1])
        found = first(output)
        assert found is not None
        return with_first(output, widened(found, states.shape[1]))

    return forward


def widened(states: Tensor, places: int) -> Tensor:
    """States of the first place, with nothing at all others.

    >>> widened(torch.ones(1, 1, 2), 2).tolist()
    [[[1.0, 1.0], [0.0, 0.0]]]
    """
    wide = states.new_zeros(states.shape[0], places, *states.shape[2:])
    wide[:, :1] = states
    return wide


def _given(module: nn.Module, run: Callable[[], Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a module is given in a pass, which ends there."""
    heard: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def listen(*args: Any, **kwargs: Any) -> Any:
        heard.append((args, kwargs))
        raise _Heard

    with bypassed({module: listen}), suppress(_Heard):
        run()
    return heard[0]
