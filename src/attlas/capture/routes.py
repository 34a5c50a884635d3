"""Which modules a pass need not run again when something was cut: everything below the cut.

What lies below is found by looking, once, at one forward pass: in which order layers and their attentions were
entered, which module made the states that enter the first layer, and which parts of a decoder read nothing but the
encoder's states. A layer is the outermost element of a list of modules on the way to an attention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from attlas.capture.bypass import first
from attlas.errors import CapabilityError
from attlas.ids import Site
from attlas.models.hooks import Hooks


@dataclass(frozen=True)
class Routes:
    """For every site its attention module, and the modules whose output does not depend on its heads.

    >>> Routes({}, {}).kept
    ()
    """

    attention: dict[Site, nn.Module]
    below: dict[Site, tuple[nn.Module, ...]]
    last: nn.Module | None = None  # the layer that is left last

    @property
    def kept(self) -> tuple[nn.Module, ...]:
        """All modules that are below some site.

        >>> Routes({}, {Site("encoder", 0): ()}).kept
        ()
        """
        return tuple(dict.fromkeys(module for modules in self.below.values() for module in modules))


def layer_of(model: nn.Module, module: nn.Module) -> nn.Module | None:
    """The layer that a module is in: the outermost element of a list of modules that contains it.

    >>> inner = nn.Linear(1, 1)
    >>> model = nn.Sequential(nn.ModuleList([nn.ModuleList([inner])]))
    >>> layer_of(model, inner) is model[0][0], layer_of(model, model) is None
    (True, True)
    """
    for parent in model.modules():  # from the outside in
        if isinstance(parent, nn.ModuleList):
            for child in parent:
                if any(module is part for part in child.modules()):
                    return child
    return None


def find_routes(
    model: nn.Module, attention: dict[nn.Module, list[Site]], encoder: nn.Module | None, run: Callable[[], object]
) -> Routes:
    """Watch one forward pass and say what lies below each site; refuse where layers cannot be told apart.

    ``encoder`` is the encoder of a model that has a decoder beside it and runs both.

    >>> find_routes(nn.Identity(), {nn.Identity(): [Site("encoder", 0), Site("encoder", 1)]}, None, print)
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: its layers share their modules
    """
    if any(len(sites) > 1 for sites in attention.values()):
        raise CapabilityError("its layers share their modules")
    layers = {module: layer_of(model, module) for module in attention}
    if any(layer is None for layer in layers.values()):
        raise CapabilityError("its layers are not in a list")
    known: dict[nn.Module, nn.Module] = {m: layer for m, layer in layers.items() if layer is not None}
    seen = _Seen(known, encoder)
    with seen.watching(model):
        run()
    if len(set(seen.entered)) < len(seen.entered):
        raise CapabilityError("its layers are entered more than once")
    inside = set() if encoder is None else set(encoder.modules())
    stacks: dict[bool, list[nn.Module]] = {}
    for module in seen.entered:
        if module in known.values():
            stacks.setdefault(module in inside, []).append(module)
    attentions = [module for module in seen.entered if module in known]
    below: dict[Site, tuple[nn.Module, ...]] = {}
    for module in attentions:
        layer = known[module]
        own, other = stacks[layer in inside], stacks.get(layer not in inside, [])
        earlier = [m for m in attentions[: attentions.index(module)] if known[m] is layer]
        found = [*own[: own.index(layer)], *earlier, *seen.makers(own[0])]
        if encoder is not None and layer not in inside:
            found += [encoder, *seen.constant]
        elif encoder is not None and other:  # the decoder's first attention sees nothing of the encoder
            found += [*seen.makers(other[0]), *[m for m in attentions if known[m] is other[0]][:1]]
        below[attention[module][0]] = tuple(found)
    order = [module for module in seen.entered if module in known.values()]
    return Routes({attention[module][0]: module for module in attentions}, below, order[-1] if order else None)


@dataclass
class _Seen:
    """What was seen in one forward pass."""

    layers: dict[nn.Module, nn.Module]
    encoder: nn.Module | None
    entered: list[nn.Module] = field(default_factory=list)
    given: dict[nn.Module, Tensor] = field(default_factory=dict)  # the states that each layer was given
    made: list[tuple[nn.Module, Tensor]] = field(default_factory=list)  # what modules outside all layers gave
    constant: list[nn.Module] = field(default_factory=list)  # linear modules that were fed the encoder's states
    states: Tensor | None = None

    def makers(self, layer: nn.Module) -> list[nn.Module]:
        """The module that made the states which a layer was given, if one did and ran only once."""
        calls = [module for module, _ in self.made]
        found = [module for module, output in self.made if output is self.given.get(layer)]
        return [module for module in found[-1:] if calls.count(module) == 1]

    def _enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.entered.append(module)
        states = args[0] if args else kwargs.get("hidden_states")
        if isinstance(states, Tensor):
            self.given[module] = states

    def _leave(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if isinstance(output, Tensor):
            self.made.append((module, output))

    def _feed(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if args and args[0] is self.states and self.states is not None:
            self.constant.append(module)

    def _encoded(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        self.states = first(output if isinstance(output, (Tensor, tuple)) else output[0])

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        """Watch the passes of a ``with`` block."""
        layers = set(self.layers.values())
        within = {part for layer in layers for part in layer.modules()}
        around = {m for m in model.modules() if m not in within and layers & set(m.modules())}
        with Hooks() as hooks:
            for module in {*layers, *self.layers}:
                hooks.before(module, self._enter, with_kwargs=True)
            for module in model.modules():
                if module not in within and module not in around:
                    hooks.after(module, self._leave)
                elif module in within and isinstance(module, nn.Linear):
                    hooks.before(module, self._feed)
            if self.encoder is not None:
                hooks.after(self.encoder, self._encoded)
            yield
