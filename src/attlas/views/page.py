"""The viewer as a file: one HTML page that needs nothing but itself.

Header, blocks, styles and script lie in the page, each once. Blocks are base64 in elements of their own, which the
browser neither parses nor unpacks before they are shown. A policy in the head of the page forbids it every
request. Whatever comes from a user is escaped: as text in HTML, and as ``\\u003c`` in scripts.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from attlas.errors import CapabilityError, StoreError
from attlas.views.card import Card
from attlas.views.payload import Payload, pack
from attlas.views.scene import Scene
from attlas.views.script import view_records, viewer_script, viewer_styles
from attlas.whole import write_whole

KINDS = {record["name"]: record for record in view_records()}
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def page(
    scenes: Sequence[Scene], *, kind: str = "head", card: Card | str | Path | None = None, **selection: Any
) -> str:
    """A whole page that shows one scene, or compares two; ``selection`` is where the viewer starts, in the numbers
    from 0 that stand in its address (:func:`~attlas.views.show` takes labels), and ``card`` a faithfulness card of
    the model, or the folder of ``attlas faith`` that has it.

    >>> html = page([], kind="model")
    >>> html.startswith("<!doctype html>"), "<script src" in html
    (True, False)
    """
    check_kind(kind, scenes)
    return _page(pack(scenes, card=card), {"view": kind, **selection})


def write_page(
    path: str | Path,
    scenes: Sequence[Scene],
    *,
    kind: str = "head",
    card: Card | str | Path | None = None,
    **selection: Any,
) -> Path:
    """Write :func:`page` to a file, wholly or not at all.

    >>> import tempfile
    >>> write_page(Path(tempfile.mkdtemp()) / "page.html", []).name
    'page.html'
    """
    path = Path(path)
    require_file(path)
    html = page(scenes, kind=kind, card=card, **selection)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, html)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from None
    return path


def require_file(path: Path) -> None:
    """Refuse a folder where the name of a page is needed.

    >>> require_file(Path("."))
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: . is a folder; give the name of a file to write, such as view.html
    """
    if path.is_dir():
        raise StoreError(f"{path} is a folder; give the name of a file to write, such as {path / 'view.html'}")


def check_kind(kind: str, scenes: Sequence[Scene] = ()) -> None:
    """Refuse a view that does not exist, or that cannot show these scenes.

    >>> check_kind("heads")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: there is no view 'heads'; choose head, model, neuron, matrix or text
    """
    if kind not in KINDS:
        raise CapabilityError(f"there is no view {kind!r}; choose {listed_kinds()}")
    if KINDS[kind].get("ofOneHead") and any(strand.joint for scene in scenes for strand in scene.strands):
        raise CapabilityError(
            f"the {kind} view shows the queries and keys of one head, and joint norms are those of all heads "
            f"together; choose {listed_kinds(joint=True)}"
        )


def listed_kinds(*, joint: bool = False) -> str:
    """The views in words; with ``joint`` those that can show all heads of a layer together.

    >>> listed_kinds(), listed_kinds(joint=True)
    ('head, model, neuron, matrix or text', 'head, model, matrix or text')
    """
    *names, last = [name for name, record in KINDS.items() if not (joint and record.get("ofOneHead"))]
    return f"{', '.join(names)} or {last}"


def script_json(value: object) -> str:
    """JSON that is safe inside a script element, whatever the strings in it say.

    >>> script_json({"name": "</script>\\u2028&"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u2028\\\\u0026"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _page(payload: Payload, selection: dict[str, Any]) -> str:
    names = " and ".join(dict.fromkeys(scene.model for scene in payload.scenes))
    blocks = "".join(
        f'<script type="text/plain" id="attlas-block-{index}">{b64encode(block).decode("ascii")}</script>\n'
        for index, block in enumerate(payload.blocks())
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="attlas">
<title>{escape(f"Attention of {names}" if names else "Attention")}</title>
<style>
{viewer_styles()}</style>
</head>
<body class="attlas-page">
<main id="attlas-viewer"></main>
<noscript>This page draws attention by a script inside it; switch scripts on to see it. Nothing is loaded from
anywhere.</noscript>
<script type="application/json" id="attlas-header">{script_json(payload.header)}</script>
{blocks}<script type="module">
{viewer_script()}
$viewer.mountPage({script_json(selection)});
</script>
</body>
</html>
"""
