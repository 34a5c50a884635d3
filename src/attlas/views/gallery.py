"""Small scenes inside another page, each opened in the viewer by a button.

A report that speaks of a sentence can let its reader look at it: :func:`open_button` is the button,
:func:`gallery` goes to the end of the page and holds all scenes, the viewer's styles and its script, each once. Two
scenes under one number are compared. Buttons that name a :func:`showcase` show their scene there, in the page itself,
instead of over it; the first of them does so at once.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from typing import Any

from attlas.views.page import script_json
from attlas.views.payload import pack
from attlas.views.scene import Scene
from attlas.views.script import join, viewer_styles


def open_button(number: int, text: str, *, into: str = "", about: str = "", **selection: Any) -> str:
    """A button that opens a scene of the page's gallery, in the showcase ``into`` or over the page; ``about`` is
    the id of what describes it, ``selection`` is where the viewer starts.

    >>> open_button(0, "look", layer=3)
    '<button type="button" class="look" data-scene="0" data-selection="{&quot;layer&quot;: 3}">look</button>'
    """
    chosen = escape(json.dumps(selection))
    place = f' data-into="{escape(into)}" aria-controls="{escape(into)}" aria-pressed="false"' if into else ""
    place += f' aria-describedby="{escape(about)}"' if about else ""
    return (
        f'<button type="button" class="look"{place} data-scene="{number}" data-selection="{chosen}">'
        f"{escape(text)}</button>"
    )


def showcase(name: str, label: str) -> str:
    """A place in the page where scenes are shown, by its name and what is said of it to those who cannot see it.

    >>> showcase("pairs", "Two kinds of attention")
    '<div class="attlas-showcase" id="pairs" role="region" aria-label="Two kinds of attention"></div>'
    """
    return f'<div class="attlas-showcase" id="{escape(name)}" role="region" aria-label="{escape(label)}"></div>'


def gallery(scenes: Sequence[Scene | Sequence[Scene]]) -> str:
    """What the page needs for its buttons to work, as HTML; nothing where there are no scenes.

    >>> gallery([])
    ''
    """
    if not scenes:
        return ""
    parts = []
    for number, scene in enumerate(scenes):
        payload = pack([scene] if isinstance(scene, Scene) else scene)
        held = {"header": payload.header, "blocks": [b64encode(block).decode("ascii") for block in payload.blocks()]}
        parts.append(f'<script type="application/json" id="attlas-scene-{number}">{script_json(held)}</script>')
    script = f'<script type="module">\n{join("gallery")}\n$gallery.bindGallery();\n</script>'
    return "\n".join([f"<style>\n{viewer_styles()}</style>", *parts, script])
