"""JSON lines: one object with named fields on each line; blank lines are passed over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from attlas.corpora.source import Source

_NAMED = re.compile(r'"([^"]*)"\s*:')
_JSON = re.compile(r"\s*(\{\s*(\"|$)|\[\s*(\{|$))")


def objects(source: Source) -> Iterator[tuple[int, dict[str, object]]]:
    """Every object of a file, with its line.

    >>> list(objects(Source.of_text('{"a": 1}\\n\\n{"a": 2}\\n')))
    [(1, {'a': 1}), (3, {'a': 2})]
    """
    for line, content in enumerate(source.lines, start=1):
        if content.strip():
            yield line, parsed(source, content, line)


def parsed(source: Source, content: str, line: int) -> dict[str, object]:
    """The object on one line, or an error that names it."""
    try:
        entry = json.loads(content)
    except json.JSONDecodeError as error:
        raise source.error(f"this is not JSON ({error.msg}, column {error.colno})", line) from None
    except RecursionError:
        raise source.error("this JSON is nested too deeply", line) from None
    if not isinstance(entry, dict):
        raise source.error("this JSON is not an object with named fields", line)
    return entry


def strings(value: object) -> list[str] | None:
    """A list of strings; ``None`` where it is anything else."""
    return value if isinstance(value, list) and all(isinstance(item, str) for item in value) else None


def tokens(source: Source, value: object, line: int, field: str = "tokens") -> list[str]:
    """The words of a sentence that is split already."""
    words = strings(value)
    if not words:
        raise source.error(f"the field {field!r} is not there or is no list of words", line)
    empty = next((at for at, word in enumerate(words) if not word.strip()), None)
    if empty is not None:
        raise source.error(f"word {empty} of its {field} is empty; leave it out", line)
    return words


def field_names(lines: Sequence[str]) -> list[str] | None:
    """The names in the first line of JSON, in small letters, those inside others included; ``None`` if it is none.

    >>> field_names(['{"ID": 1, "of": {"text": "a"}}']), field_names(["It rained."])
    (['id', 'of', 'text'], None)
    """
    return [name.lower() for name in _NAMED.findall(lines[0])] if _JSON.match(lines[0]) else None
