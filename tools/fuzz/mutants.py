"""Changed copies of bytes, drawn by a generator of random numbers: what happens to files, and what people do to them.

Every mutation takes a generator and bytes, and gives bytes. Some know nothing of what they change (flipped bits, a
cut), others go for what readers lean on: lines, columns, numbers, brackets, quotes, values of JSON.
"""

from __future__ import annotations

import gzip
import json
import lzma
import random
import re
from collections.abc import Callable

Mutation = Callable[[random.Random, bytes], bytes]
LARGEST = 900_000
_NUMBER = re.compile(rb"[0-9]+")
_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|[0-9.]+|true|false|null|\[[^\[\]]*\]')
_INSERTED = (
    b"\x00", b"\x01", b"\x1b[2J", b"\x7f", b"\r", b"\r\n", b"\n\n", b"\t", b"\x0b", b"\x0c", b"\xff", b"\xc3",
    b"\xef\xbb\xbf", b"\xed\xa0\x80", "\u2028".encode(), "\u0085".encode(), "\u200b".encode(), "\u202e".encode(),
    "\U0001f600".encode(), "\u0301".encode(), "\u00a0".encode(), "\u0665".encode(), "\u00b2".encode(), b"\\ud800",
    b"\\u0000", b"\\", b'"', b"'", b"(", b")", b"[", b"]", b"{", b"}", b"|", b"|||", b"#", b"_", b"-", b"=", b",",
    b";", b":", b"<e1>", b"</e2>", b"B-", b"I-X", b"O", b"nan", b"1e999", b"-1", b"PK\x05\x06", b"PK\x03\x04",
    b"\x1f\x8b", b"SpaceAfter=No", b"Entity=(e1-x", b"Entity=e1)", b"# newdoc\n", b"#begin document (x)\n",
    b"#end document\n", b"-DOCSTART- -X- O O\n",
)  # fmt: skip
_NUMBERS = (
    b"0", b"-1", b"00", b"1.5", b"1e400", b"999999999999999999999", b"9" * 320, b"9" * 4301, b"9" * 5000, b"NaN",
    b"2147483648",
)  # fmt: skip
_VALUES = (
    b"null", b"true", b"[]", b"{}", b'""', b'" "', b"-1", b"1e999", b"[[]]", b"[null]", b'{"a": 1}', b'"\\ud83d"',
    b"[1, 2]", b'["a"]', b"[0, 1, 2]", b"9" * 4400, b'[""]', b'"\\u0000"',
)  # fmt: skip
_NAMES = (
    "text", "keyphrases", "label", "sentence", "targets", "tokens", "words", "srl", "props", "pred", "arg", "id",
    "title", "abstract",
)  # fmt: skip
_DEEP = (b"[", b"{", b'{"a":', b"(", b"(2 ", b"[[", b"{}", b'"', b"(1", b"<e1>")


def flip(draw: random.Random, data: bytes) -> bytes:
    """A few bits turned."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut(draw: random.Random, data: bytes) -> bytes:
    """The beginning, the end, or all but a stretch."""
    first, second = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    return draw.choice((data[:first], data[second:], data[:first] + data[second:]))


def insert(draw: random.Random, data: bytes) -> bytes:
    """Something that means something to some reader, at some places."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(data) + 1)
        data = data[:at] + draw.choice(_INSERTED) + data[at:]
    return data


def lines(draw: random.Random, data: bytes) -> bytes:
    """A line doubled, left out, moved or emptied."""
    rows = data.split(b"\n")
    at, other = draw.randrange(len(rows)), draw.randrange(len(rows))
    what = draw.randrange(5)
    if what == 0:
        rows.insert(other, rows[at])
    elif what == 1:
        del rows[at]
    elif what == 2:
        rows[at], rows[other] = rows[other], rows[at]
    elif what == 3:
        rows[at] = b""
    else:
        draw.shuffle(rows)
    return b"\n".join(rows)


def columns(draw: random.Random, data: bytes) -> bytes:
    """A column of a line doubled, left out, emptied or exchanged; or another separator everywhere."""
    separator = draw.choice((b"\t", b"\t", b" ", b",", b"|"))
    if draw.random() < 0.2:
        return data.replace(separator, draw.choice((b"\t", b" ", b"  ", b",", b";", b"", b"\t\t")))
    rows = data.split(b"\n")
    at = draw.randrange(len(rows))
    fields = rows[at].split(separator)
    place = draw.randrange(len(fields))
    fields[place : place + 1] = draw.choice(
        ([], [b""], [b"_"], [b"-"], [fields[place]] * 2, [b"*"], [draw.choice(fields)])
    )
    rows[at] = separator.join(fields)
    return b"\n".join(rows)


def numbers(draw: random.Random, data: bytes) -> bytes:
    """A number made huge, negative, or something else."""
    places = list(_NUMBER.finditer(data))
    if not places:
        return insert(draw, data)
    place = draw.choice(places)
    return data[: place.start()] + draw.choice(_NUMBERS) + data[place.end() :]


def values(draw: random.Random, data: bytes) -> bytes:
    """A value of JSON, or what looks like one, of another type."""
    places = list(_VALUE.finditer(data))
    if not places:
        return columns(draw, data)
    place = draw.choice(places)
    return data[: place.start()] + draw.choice(_VALUES) + data[place.end() :]


def nest(draw: random.Random, data: bytes) -> bytes:
    """Many brackets."""
    at, depth = draw.randrange(len(data) + 1), draw.choice((10, 400, 600, 2000, 50_000))
    opening = draw.choice(_DEEP) * depth
    closing = {b"[": b"]", b"{": b"}", b"(": b")"}.get(opening[:1], b"") * depth
    return data[:at] + opening + (closing if draw.random() < 0.6 else b"") + data[at:]


def encode(draw: random.Random, data: bytes) -> bytes:
    """Another encoding."""
    text = data.decode("utf-8", "replace")
    name = draw.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7", "utf-8-sig", "shift-jis"))
    return text.encode(name, "replace")


def grow(draw: random.Random, data: bytes) -> bytes:
    """A stretch, a line or all of it many times, up to nearly a million bytes."""
    size = draw.choice((2_000, 20_000, 100_000, LARGEST // 3))
    first, second = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    what = draw.choice(("all", "stretch", "line", "byte"))
    if what == "line":
        rows = data.split(b"\n")
        row = draw.choice(rows) + b"\n"
        return data + row * (size // len(row))
    unit = data if what == "all" else data[first:second] if what == "stretch" else data[first : first + 1]
    times = size // max(len(unit), 1)
    return data[:first] + unit * times + data[first:]


def pack(draw: random.Random, data: bytes) -> bytes:
    """Packed, perhaps twice, and perhaps damaged then."""
    for _ in range(draw.choice((1, 1, 2))):
        data = gzip.compress(data, mtime=0) if draw.random() < 0.5 else lzma.compress(data)
    return draw.choice((flip, cut, insert, lambda _, whole: whole, lambda _, whole: whole * 2))(draw, data)


def as_json(draw: random.Random, data: bytes) -> bytes:
    """The first lines as a value of JSON lines, under names that readers know."""
    drawn = {
        draw.choice(_NAMES): draw.choice((1, "a b", ["a", "b"], None, [[0, 1]], {"a": 1}, 1.5, True, []))
        for _ in range(4)
    }
    return json.dumps(drawn).encode() + b"\n" + data


MUTATIONS: tuple[tuple[Mutation, int], ...] = (
    (flip, 5), (cut, 5), (insert, 10), (lines, 8), (columns, 10), (numbers, 8), (values, 8), (nest, 4), (encode, 2),
    (grow, 4), (pack, 3), (as_json, 1),
)  # fmt: skip


def mutated(draw: random.Random, data: bytes) -> bytes:
    """Bytes after one mutation or a few.

    >>> mutated(random.Random(0), b"1\\ta\\n") != b"1\\ta\\n"
    True
    """
    kinds, weights = zip(*MUTATIONS, strict=True)
    for mutation in draw.choices(kinds, weights, k=draw.choice((1, 1, 1, 2, 3))):
        if 0 < len(data) < LARGEST:
            data = mutation(draw, data)
    return data[:LARGEST]
