"""The lock of the development environment: what is installed here, with everything that it asks for, as constraints.

    python -m tools.lock

writes ``constraints.txt``. It begins at the dependencies of ``pyproject.toml`` and those of all its extras, and
follows what every installed package asks for. A package that is asked for under conditions alone (a platform, a
version of Python) carries them. Builds of one version (``2.13.0+cpu``) are one version: which of them is taken is a
matter of the index. Extras that are not installed are left out, but for ``dev``, of which nothing may be missing.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT, LOCK = Path("pyproject.toml"), Path("constraints.txt")
HEADER = """\
# What the tests ran with: every package of the development environment, made by `make lock` and not by hand. It is
# passed to pip as constraints, so that a line for a package that nothing asks for installs nothing. torch has one
# version here and several builds: whichever the index offers first is taken, with the packages that it pins itself.
"""


def asked_for(project: dict[str, Any], extras: list[str]) -> list[Requirement]:
    """The dependencies of a project and of some of its extras, extras of extras included.

    >>> told = {"name": "a", "dependencies": ["b"], "optional-dependencies": {"x": ["a[y]"], "y": ["c>1"]}}
    >>> [str(requirement) for requirement in asked_for(told, ["x"])]
    ['b', 'c>1']
    """
    optional = project["optional-dependencies"]
    wanted = [Requirement(line) for line in project["dependencies"]]
    left = list(extras)
    for extra in left:  # which grows on the way
        for requirement in map(Requirement, optional[extra]):
            if canonicalize_name(requirement.name) == project["name"]:
                left += [name for name in sorted(requirement.extras) if name not in left]
            else:
                wanted.append(requirement)
    return wanted


def locked(wanted: list[Requirement]) -> dict[str, tuple[str, Marker | None]]:
    """Version and conditions of every installed package that these requirements lead to, by its name."""
    versions: dict[str, str] = {}
    conditions: dict[str, set[str]] = {}
    seen: set[tuple[str, str, frozenset[str]]] = set()
    left = [(requirement, _under("", requirement.marker)) for requirement in wanted]
    while left:
        requirement, condition = left.pop()
        name = canonicalize_name(requirement.name)
        step = (name, condition, frozenset(requirement.extras))
        if step in seen:
            continue
        seen.add(step)
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        versions[name] = Version(package.version).public
        conditions.setdefault(name, set()).add(condition)
        for further in needs(package.requires or [], requirement.extras):
            left.append((further, _under(condition, further.marker)))
    return {name: (versions[name], _either(conditions[name])) for name in sorted(versions)}


def needs(requires: list[str], extras: set[str]) -> Iterator[Requirement]:
    """What a package asks for here, with these extras of it; of its conditions those that are about the machine.

    >>> lines = ["a", "b; extra == 'x'", "c; extra == 'y'", "d; sys_platform != 'x'", "e; python_version < '3'"]
    >>> [str(requirement) for requirement in needs(lines, {"x"})]
    ['a', 'b', 'd; sys_platform != "x"']
    """
    for requirement in map(Requirement, requires):
        environments = [{**default_environment(), "extra": extra} for extra in ("", *extras)]
        if requirement.marker is None:
            yield requirement
        elif any(requirement.marker.evaluate(environment) for environment in environments):  # type: ignore[arg-type]
            if "extra" in str(requirement.marker):
                requirement.marker = None
            yield requirement


def main() -> int:
    """Write the lock, or say what is missing."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    pinned = locked(asked_for(project, list(project["optional-dependencies"])))
    needed = {
        canonicalize_name(requirement.name)
        for requirement in asked_for(project, ["dev"])
        if requirement.marker is None or requirement.marker.evaluate()
    }
    if missing := sorted(needed - set(pinned)):
        print(
            f"not installed here: {', '.join(missing)}; run make lock, which makes the environment first",
            file=sys.stderr,
        )
        return 1
    lines = [f"{name}=={version}" + (f" ; {marker}" if marker else "") for name, (version, marker) in pinned.items()]
    LOCK.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{LOCK}: {len(lines)} packages")
    return 0


def _under(condition: str, marker: Marker | None) -> str:
    """A condition and a further one."""
    return " and ".join(f"({part})" if " or " in part else part for part in (condition, str(marker or "")) if part)


def _either(conditions: set[str]) -> Marker | None:
    """Whichever of several conditions; none at all where one of them is empty."""
    return None if "" in conditions else Marker(" or ".join(f"({part})" for part in sorted(conditions)))


if __name__ == "__main__":
    sys.exit(main())
