"""The viewer's modules as one script, for hosts that take only one.

The modules in ``static/`` are plain ES modules that import each other by name. A page that must stand alone cannot
load them one by one, so they are joined: each becomes a function of its own, in the order of their imports, and hands
out what it exports. Nothing is minified or rewritten beyond its import and export lines.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)


def static(name: str) -> str:
    """A file of the viewer.

    >>> static("viewer.css").startswith(".attlas")
    True
    """
    return files("attlas.views").joinpath("static").joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def viewer_script() -> str:
    """All modules of the viewer as one script that defines ``$viewer``, whose ``mount`` shows a payload.

    >>> "import {" in viewer_script(), viewer_script().count("const $viewer = ")
    (False, 1)
    """
    return join("viewer")


def viewer_styles() -> str:
    """All styles of the viewer.

    >>> ".attlas-card" in viewer_styles()
    True
    """
    return static("viewer.css") + static("card.css")


def join(entry: str) -> str:
    """One script of a module and all it imports, directly or not.

    >>> join("palette").startswith("const $palette = (() => {")
    True
    """
    done: list[str] = []
    parts: list[str] = []
    _add(entry, (), done, parts)
    return "\n".join(parts)


def _add(name: str, path: tuple[str, ...], done: list[str], parts: list[str]) -> None:
    if name in path:
        raise RuntimeError(f"the viewer's modules import each other in a circle: {' > '.join((*path, name))}")
    if name in done:
        return
    source = static(f"{name}.js")
    for match in _IMPORT.finditer(source):
        _add(match[2], (*path, name), done, parts)
    exported = [match[1] for match in _EXPORT.finditer(source)]
    body = _EXPORT.sub("", _IMPORT.sub(lambda m: f"const {{{m[1]}}} = ${m[2]};", source))
    parts.append(f"const ${name} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();")
    done.append(name)
