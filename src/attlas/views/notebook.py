"""The viewer in a notebook: a widget that answers to Python, or a page in a frame where no widget can be had.

The widget keeps its numbers in Python. The browser gets the header and asks for a block when it is about to show it,
so that a cell with a long text opens at once; blocks travel as bytes beside a message and are never part of the state
that a notebook saves. What a person chooses is the trait ``selection``, in both directions. The frame is the whole
page of :mod:`attlas.views.page`: it needs nothing installed, outlives the kernel, and tells Python nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from attlas.errors import AttlasError, CapabilityError
from attlas.ids import Site, labels_of, parse_head, parse_layer
from attlas.views.card import Card
from attlas.views.page import check_kind, page
from attlas.views.payload import Payload, pack
from attlas.views.publishing import as_pdf
from attlas.views.scene import Scene
from attlas.views.script import join, static, viewer_styles
from attlas.views.telling import start_of

HEIGHT = 720
_RECORDS = ("START", "NUMBERS", "LISTS", "CHOICES")


def show(
    scenes: Sequence[Scene],
    *,
    kind: str = "head",
    widget: bool | None = None,
    height: int | None = None,
    card: Card | str | Path | None = None,
    **selection: Any,
) -> Any:
    """Show one scene in a notebook, or compare two; ``selection`` is where the viewer starts, with layers and heads
    by label: ``layer="4", heads=["2"]``, or ``heads="4-2"``.

    With anywidget installed this is a widget: its ``selection`` is the viewer's state, in numbers from 0 as in the
    arrays, such as ``{"view": "head", "layer": 3, "head": 2, "heads": [2]}``, and ``viewer.selection = {"layer": 0}``
    chooses another layer and leaves the rest as it is. Without it, or with ``widget=False``, it is a :class:`Frame`;
    ``widget=True`` refuses to do without. ``height`` is in pixels: of the frame, or of a widget that is to scroll.
    ``card`` is a faithfulness card of the model, or the folder of ``attlas faith`` that has it.

    >>> show([], kind="model", widget=False)
    Frame(height=720)
    >>> show([], widget=False, leyer=3)
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: there is no 'leyer' to choose in a view; the names are view, stream, layer, ...
    """
    check_kind(kind, scenes)
    chosen = check_selection(_numbered(selection))
    if chosen.pop("view", kind) != kind:
        raise CapabilityError(
            f"two views are asked for, kind={kind!r} and view={selection['view']!r}; give kind alone"
        )
    made = None if widget is False else _viewer_class()
    if made is not None:
        return made(pack(scenes, card=card), {"view": kind, **_begun(scenes, kind, chosen), **chosen}, height)
    if widget:
        raise CapabilityError(
            'a widget needs the package anywidget; pip install "attlas[notebook]", or leave out widget=True'
        )
    return Frame(page(scenes, kind=kind, card=card, **chosen), HEIGHT if height is None else height)


def _numbered(selection: Mapping[str, Any]) -> dict[str, Any]:
    """A selection by label in the numbers of the viewer; what is no label is left for others to judge."""
    chosen = dict(selection)
    if isinstance(chosen.get("layer"), (str, Site, Integral)) and not isinstance(chosen["layer"], bool):
        chosen["layer"] = parse_layer(chosen["layer"])
    if chosen.get("layers") is not None:
        chosen["layers"] = [parse_layer(label) for label in labels_of(chosen["layers"])]
    for name in ("head", "heads"):
        if chosen.get(name) is None:
            continue
        pairs = [parse_head(label) for label in labels_of(chosen[name])]
        numbers = [head for _, head in pairs]
        chosen[name] = numbers if name == "heads" else numbers[0]
        for layer in {layer for layer, _ in pairs if layer is not None}:
            if chosen.setdefault("layer", layer) != layer:
                raise CapabilityError(
                    f"the {name} are in layer {layer + 1}, and another layer is asked for; give one"
                )
    return chosen


def _begun(scenes: Sequence[Scene], kind: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Where a widget opens, beside what was chosen: at the head with the most to show, unless a head, a layer or a
    stream was chosen; the model view has all heads."""
    strand = next((strand for scene in scenes for strand in scene.strands), None)
    first = {"layer": strand.layers[0] if strand else 0, "head": strand.heads[0] if strand else 0, "heads": None}
    if {"stream", "layer", "layers", "head", "heads", "sort"} & set(chosen):
        return first
    start = {**first, **(start_of(scenes[0]) if scenes else {})}
    return {**start, "heads": None} if kind == "model" else start


@dataclass(frozen=True)
class Frame:
    """A whole page in a frame of its own: whatever is in it can neither touch the notebook nor load anything.

    >>> Frame("<p>1 < 2</p>")._repr_html_().count("&lt;p&gt;1 &lt; 2&lt;/p&gt;")
    1
    """

    data: str = field(repr=False)
    height: int = HEIGHT

    def _repr_html_(self) -> str:
        """The frame as HTML; its lower edge can be dragged."""
        return (
            f'<div style="height:{int(self.height)}px;resize:vertical;overflow:hidden;padding-bottom:14px">'
            '<iframe title="Attention" sandbox="allow-scripts allow-downloads" '
            'style="width:100%;height:100%;border:0" '
            f'srcdoc="{escape(self.data)}"></iframe></div>'
        )


def check_selection(selection: Mapping[str, Any]) -> dict[str, Any]:
    """A selection in plain numbers, texts and lists; names and kinds of value that no view knows are refused.

    >>> check_selection({"layer": 3, "heads": range(2)})
    {'layer': 3, 'heads': [0, 1]}
    >>> check_selection({"heads": 2})
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: heads must be a list of numbers or None, and it is 2; write heads=[2]
    """
    if not isinstance(selection, Mapping):
        raise CapabilityError(f"a selection is a dict such as {{'layer': 3}}, and this is {selection!r}")
    names = _names()
    for name in selection:
        if name not in names:
            raise CapabilityError(f"there is no {name!r} to choose in a view; the names are {', '.join(names)}")
    if "view" in selection:
        check_kind(selection["view"])
    return {name: _plain(name, value) for name, value in selection.items()}


@lru_cache(maxsize=1)
def _names() -> dict[str, tuple[str, bool]]:
    """What can be chosen: name to kind (number, list, a choice "a|b", or "" for any text) and whether it may be None.

    Read from the viewer's own ``state.js``, the one place where these names stand.
    """
    source = static("state.js")
    parts = {name: re.search(rf"const {name} = [{{[](.*?)[}}\]];", source, re.DOTALL) for name in _RECORDS}
    start, numbers, lists, choices = (found[1] if found else "" for found in parts.values())
    kinds = {
        name: "|".join(re.findall(r'"([^"]*)"', values)) for name, values in re.findall(r"(\w+): \[(.*?)\]", choices)
    }
    kinds |= dict.fromkeys(re.findall(r"\w+", numbers), "number") | dict.fromkeys(re.findall(r"\w+", lists), "list")
    return {name: (kinds.get(name, ""), value == "null") for name, value in re.findall(r"(\w+): ([^,]+)", start)}


def _plain(name: str, value: Any) -> Any:
    kind, may_be_none = _names()[name]
    if value is None and may_be_none:
        return None
    if kind == "list":
        if isinstance(value, str) or not isinstance(value, Iterable):
            advice = f"; write {name}=[{value}]" if isinstance(value, Integral) else ""
            raise CapabilityError(f"{name} must be a list of numbers or None, and it is {value!r}{advice}")
        return [_number(name, item) for item in value]
    if kind == "number":
        number = _number(name, value)
        if not isinstance(number, int) or number < 0:
            raise CapabilityError(f"{name} must be a whole number from 0 on, and it is {value!r}")
        return number
    if not isinstance(value, str) or (kind and value not in kind.split("|")):
        raise CapabilityError(f"{name} must be {kind.replace('|', ' or ') or 'a text'}, and it is {value!r}")
    return value


def _number(name: str, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise CapabilityError(f"{name} is made of numbers, and {value!r} is none")
    return int(value) if isinstance(value, Integral) else float(value)


def answer(payload: Payload, message: Any) -> tuple[dict[str, Any], list[bytes]] | None:
    """What to reply to a message of the browser: a block, an exact row or a figure as bytes, or why there is none.

    >>> answer(pack([]), {"want": "block", "index": 0, "ticket": "a-1"})
    ({'ticket': 'a-1', 'error': 'there is no such block'}, [])
    >>> answer(pack([]), "something else") is None
    True
    """
    if not isinstance(message, dict) or "ticket" not in message or message.get("want") not in ("block", "row", "pdf"):
        return None
    ticket, want = message["ticket"], message["want"]
    if want == "pdf":
        try:
            return {"ticket": ticket}, [as_pdf(str(message.get("svg", "")))]
        except AttlasError as error:
            return {"ticket": ticket, "error": str(error)}, []
    names = ("index",) if want == "block" else ("scene", "strand", "layer", "head", "query")
    places = [message.get(name) for name in names]
    try:
        if not all(type(place) is int and place >= 0 for place in places):
            raise IndexError
        found = payload.block(*places) if want == "block" else payload.row(*places)  # type: ignore[arg-type]
    except IndexError:
        return {"ticket": ticket, "error": f"there is no such {want}"}, []
    return {"ticket": ticket}, [found]


@lru_cache(maxsize=1)
def _viewer_class() -> type[Any] | None:
    """The widget's class, made when it is first needed, or None where anywidget is not installed."""
    try:
        base: Any = import_module("anywidget").AnyWidget
    except ImportError:
        return None
    traits: Any = import_module("traitlets")

    class Viewer(base):  # type: ignore[misc]
        """The viewer as a widget. ``selection`` is what is chosen; assigning to it changes what is named in it."""

        _esm = join("widget") + "\nexport default { render: $widget.render };\n"
        _css = viewer_styles()
        header = traits.Dict(help="Texts, shapes and where things are; the numbers come block by block.").tag(
            sync=True
        )
        selection = traits.Dict(help="What is chosen, both here and in the browser.").tag(sync=True)

        def __init__(self, payload: Payload, selection: dict[str, Any], height: int | None) -> None:
            layout = {} if height is None else {"layout": {"height": f"{int(height)}px", "overflow": "auto"}}
            super().__init__(header=payload.header, selection=selection, **layout)
            self._payload = payload
            self.on_msg(self._reply)

        def _merge(self, proposal: dict[str, Any]) -> dict[str, Any]:
            return {**self.selection, **check_selection(proposal["value"])}

        _merged = traits.validate("selection")(_merge)

        def _reply(self, _widget: Any, message: Any, _buffers: Any) -> None:
            found = answer(self._payload, message)
            if found is not None:
                self.send(*found)

        def __repr__(self) -> str:
            return f"Viewer(selection={self.selection})"

    return Viewer
