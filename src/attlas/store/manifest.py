"""The manifest: where a result comes from, so that it can be trusted and repeated.

It is a flat JSON object that a person can read: the plan, the versions of what took part, the model's fingerprint,
the corpus's hash and counts, the seed, what was skipped and why, when the run began and how long it took. It holds
the checksum of every table, and one of itself, so that a flipped bit is told and not read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from attlas.errors import StoreError
from attlas.store.plain import plain

SCHEMA = 3
NAMES, CHECKED = 2, 3  # since when columns have the names that they have now, and since when there are checksums

# what each field is in JSON
FIELDS: dict[str, type | tuple[type, ...]] = {
    "study": str,
    "plan": dict,
    "versions": dict,
    "model": dict,
    "corpus": dict,
    "seed": int,
    "skipped": dict,
    "started": str,
    "seconds": (int, float),
    "tables": list,
    "checksums": dict,
    "schema": int,
}

# and what the values inside some of them are
INSIDE: dict[str, type] = {"versions": str, "skipped": int, "checksums": str}
PLANNED = ("options", "model", "corpus", "batching")  # objects, where a plan has them
COUNTED = ("documents", "passages", "pieces")  # numbers, where a corpus has them
NAME = re.compile(r"[a-z][a-z0-9_-]*")  # of a table
LONGEST = 200  # letters of a study's name


@dataclass(frozen=True)
class Manifest:
    """Everything about a result but its numbers.

    ``model`` and ``corpus`` are dictionaries with at least a ``name``; ``started`` is a date and time in ISO form;
    ``skipped`` counts, for each reason, what was left out. ``tables`` lists the tables in order, the main one first;
    a :class:`~attlas.store.Result` fills it in, and ``checksums`` (SHA-256, by file) when it is saved.

    >>> manifest = Manifest("survey", model={"name": "bert"}, skipped={"longer than 512 pieces": 3})
    >>> Manifest.from_json(manifest.to_json()) == manifest
    True
    """

    study: str
    plan: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    corpus: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    started: str = ""
    seconds: float = 0.0
    tables: tuple[str, ...] = ()
    checksums: Mapping[str, str] = field(default_factory=dict)
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        for name in ("plan", "versions", "model", "corpus", "skipped", "checksums"):
            object.__setattr__(self, name, plain(getattr(self, name), name))
        object.__setattr__(self, "tables", tuple(self.tables))

    def to_json(self) -> str:
        """The manifest as indented JSON, with a checksum of itself at the end.

        >>> print(Manifest("survey", seed=7).to_json())
        {
          "study": "survey",
        ...
          "seed": 7,
        ...
          "checksum": "..."
        }
        """
        fields = plain(asdict(self), "manifest")
        return json.dumps({**fields, "checksum": _checksum(fields)}, indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, where: str = "manifest.json") -> Manifest:
        """Read a manifest; ``where`` is named in errors.

        >>> Manifest.from_json('{"study": "survey"', where="out/manifest.json")
        Traceback (most recent call last):
            ...
        attlas.errors.StoreError: out/manifest.json, line 1: this is not JSON (Expecting ',' delimiter); ...
        """
        try:
            loaded = json.loads(text)
        except json.JSONDecodeError as error:
            raise StoreError(
                f"{where}, line {error.lineno}: this is not JSON ({error.msg}); the result must be made again"
            ) from None
        except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
            raise StoreError(f"{where}: no manifest nests so deep or counts so far; make the result again") from None
        if not isinstance(loaded, dict):
            raise StoreError(f"{where}: an object was expected, and a {type(loaded).__name__} came")
        schema = loaded.get("schema")
        if not isinstance(schema, int):
            raise StoreError(f"{where}: it has no schema number, so attlas did not write it")
        if schema > SCHEMA:
            raise StoreError(
                f"{where}: it has schema {schema} and this attlas reads up to {SCHEMA}; use a newer attlas"
            )
        if schema < CHECKED and "checksum" not in loaded:
            loaded["checksums"] = {}
        elif loaded.pop("checksum", None) != _checksum(loaded, where):
            raise StoreError(
                f"{where}: it does not agree with its own checksum, so it was damaged or edited; take it from a "
                "copy, or make the result again"
            )
        for name, kind in FIELDS.items():
            if not isinstance(loaded.get(name), kind):
                came = type(loaded[name]).__name__ if name in loaded else "nothing"
                raise StoreError(
                    f"{where}: {name!r} came as {came}, so attlas did not write it; make the result again"
                )
        try:
            json.dumps(loaded, ensure_ascii=False).encode()
            manifest = cls(**{name: loaded[name] for name in FIELDS})
        except (RecursionError, UnicodeEncodeError):
            raise StoreError(
                f"{where}: no manifest nests so deep or holds half letters; make the result again"
            ) from None
        if (amiss := _amiss(loaded)) is not None:
            raise StoreError(f"{where}: {amiss}, so attlas did not write it; make the result again")
        return manifest


def _amiss(fields: Mapping[str, Any]) -> str | None:
    """What is wrong inside the fields of a manifest, if anything."""
    if len(fields["study"]) > LONGEST:
        return f"'study' has {len(fields['study']):,} letters"
    for name, kind in INSIDE.items():
        strange = [key for key, value in fields[name].items() if type(value) is not kind]
        if strange:
            return f"{name!r}, {strange[0][:80]!r} is not of type {kind.__name__}"
    if not all(isinstance(name, str) and NAME.fullmatch(name) for name in fields["tables"]):
        return "'tables' holds what is no name of a table"
    if len(set(fields["tables"])) < len(fields["tables"]):
        return "'tables' names one twice"
    for name in ("model", "corpus"):
        if not isinstance(fields[name].get("name", ""), str):
            return f"the name of the {name} is no text"
    if strange := [name for name in PLANNED if not isinstance(fields["plan"].get(name, {}), dict)]:
        return f"'plan', {strange[0]!r} is no object"
    if strange := [name for name in COUNTED if type(fields["corpus"].get(name, 0)) is not int]:
        return f"'corpus', {strange[0]!r} is no number"
    return None


def _checksum(fields: Mapping[str, Any], where: str = "manifest.json") -> str:
    """Of what a manifest says, however its JSON is laid out."""
    try:
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    except RecursionError:
        raise StoreError(f"{where}: no manifest nests so deep; make the result again") from None


def versions_here() -> dict[str, str]:
    """The versions of Python and of the packages that numbers depend on, found without importing any of them.

    >>> sorted(versions_here())
    ['attlas', 'numpy', 'python', 'torch', 'transformers']
    """
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    """The versions, looked up once: a run asks for them at every step that it keeps."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in ("attlas", "torch", "transformers", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
