"""JSON lines: one object with named fields on each line; blank lines are passed over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from attlas.corpora.limits import above, in_force
from attlas.corpora.source import Source

_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NAMED = re.compile(r'"([^"]*)"\s*:')
_JSON = re.compile(r"\s*(\{\s*(\"|$)|\[\s*(\{|$))")


def objects(source: Source) -> Iterator[tuple[int, dict[str, object]]]:
    """Every object of a file, with its line.

    >>> list(objects(Source.of_text('{"a": 1}\\n\\n{"a": 2}\\n')))
    [(1, {'a': 1}), (3, {'a': 2})]
    """
    for line, content in enumerate(source.lines, start=source.first_line):
        if content.strip():
            yield line, parsed(source, content, line)


def parsed(source: Source, content: str, line: int) -> dict[str, object]:
    """The object on one line, or an error that names it."""
    _limit_depth(source, content, line)
    try:
        entry = json.loads(
            content,
            parse_int=lambda digits: source.whole_number(digits, line),
            parse_float=lambda digits: _float(source, digits, line),
        )
    except json.JSONDecodeError as error:
        raise source.error(f"this is not JSON ({error.msg}, column {error.colno})", line) from None
    except RecursionError:
        raise source.error("this JSON is nested more deeply than can be read", line) from None
    if not isinstance(entry, dict):
        raise source.error("this JSON is not an object with named fields", line)
    if _SURROGATE.search(content):
        _refuse_halves(source, entry, line)
    return entry


def _limit_depth(source: Source, content: str, line: int) -> None:
    """Refuse JSON that is nested too deeply; brackets inside strings do not count."""
    limit = in_force().depth
    if content.count("[") + content.count("{") <= limit:
        return
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(content):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > limit:
            raise source.error(f"this JSON is nested {depth} deep, {above('depth')}", line)


def _float(source: Source, digits: str, line: int) -> float:
    if len(digits) > in_force().digits:
        raise source.error(f"a number of {len(digits)} digits, {above('digits')}", line)
    return float(digits)


def _refuse_halves(source: Source, entry: dict[str, object], line: int) -> None:
    """Refuse half a letter: JSON can write one of the two surrogates that make a letter, and no text can hold it."""
    text = json.dumps(entry, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        raise source.error(f"{half} is half a letter (a lone surrogate); write the whole letter", line) from None


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
