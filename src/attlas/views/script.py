"""The viewer's modules as one script, for hosts that take only one.

The modules in ``static/`` are plain ES modules that import each other by name. A page that must stand alone cannot
load them one by one, so they are joined: each becomes a function of its own, in the order of their imports, and hands
out what it exports. Nothing is minified or rewritten beyond its import and export lines. Another package may join
modules of its own with these: a module is looked for in each of the packages that are named, in their order.

The views are listed once, in ``views.json``: name, title, what is said above the picture. From it two modules are
made: ``records``, the list itself, and ``views``, each record together with the module of its name, ``head.js``
that exports ``headView``. A further view is a module and a record.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)


def static(name: str) -> str:
    """A file of the viewer.

    >>> static("viewer.css").startswith(".attlas")
    True
    """
    return files("attlas.views").joinpath("static").joinpath(name).read_text(encoding="utf-8")


def view_records() -> list[dict[str, Any]]:
    """The views, as ``views.json`` lists them; with ``ofOneHead`` one shows what heads taken together do not have.

    >>> [record["name"] for record in view_records()]
    ['head', 'model', 'neuron', 'matrix', 'text']
    """
    records: list[dict[str, Any]] = json.loads(static("views.json"))
    return records


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


def join(entry: str, *packages: str) -> str:
    """One script of a module and all it imports, directly or not; ``packages`` have a folder ``static`` of modules,
    and the viewer's are found where none of these has one of the name.

    >>> join("palette").startswith("const $palette = (() => {")
    True
    """
    done: list[str] = []
    parts: list[str] = []
    _add(entry, (), done, parts, (*packages, "attlas.views"))
    return "\n".join(parts)


def _add(name: str, path: tuple[str, ...], done: list[str], parts: list[str], packages: tuple[str, ...]) -> None:
    if name in path:
        raise RuntimeError(f"these modules import each other in a circle: {' > '.join((*path, name))}")
    if name in done:
        return
    source = _source(name, packages)
    for match in _IMPORT.finditer(source):
        _add(match[2], (*path, name), done, parts, packages)
    exported = [match[1] for match in _EXPORT.finditer(source)]
    body = _EXPORT.sub("", _IMPORT.sub(lambda m: f"const {{{m[1]}}} = ${m[2]};", source))
    parts.append(f"const ${name} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();")
    done.append(name)


def _source(name: str, packages: tuple[str, ...]) -> str:
    """A module as it lies in the file of the first package that has it, or as it is made of the list of views."""
    if name == "records":
        return f"export const RECORDS = {json.dumps(view_records(), ensure_ascii=False)};"
    if name == "views":
        names = [record["name"] for record in view_records()]
        imports = [f'import {{ {view}View }} from "./{view}.js";' for view in names]
        merged = ", ".join(f"{{ ...RECORDS[{at}], ...{view}View }}" for at, view in enumerate(names))
        lines = ['import { RECORDS } from "./records.js";', *imports, f"export const VIEWS = [{merged}];"]
        return "\n".join(lines)
    lying = (files(package).joinpath("static", f"{name}.js") for package in packages)
    module = next((file for file in lying if file.is_file()), None)
    if module is None:
        raise RuntimeError(f"there is no module {name}.js in {' or '.join(packages)}")
    return module.read_text(encoding="utf-8")
