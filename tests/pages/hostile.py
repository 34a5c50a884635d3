"""Results whose every text is hostile: names, labels, words and notes that would break out of a page, if they can."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from attlas.store import Result

TEXTS = {  # by what they are made to break
    "markup": "</script><img src=x onerror=\"window.broken='markup'\"><svg onload=\"window.broken='svg'\">",
    "attribute": "\"'><b onmouseover=\"window.broken='attribute'\" autofocus onfocus=\"window.broken='focus'\">",
    "template": "{{7*7}}${7*7}{0}{model}%(name)s<%= 7*7 %>",
    "address": "javascript:window.broken='address'",
    "expression": "'];window.broken='expression';['\\\"+(window.broken='expression')+\"datum.a[0].b\\",
    "lines": "a\u2028b\u2029c\r\nd\x00e\x0bf\x85g",
    "direction": "\u202eabc\u2066def\u200fghi\u061c",
    "terminal": "\x1b[31m\x1b]0;broken\x07\x9b2J\x08\x7f",
    "documents": "`*_|[x](javascript:alert(1))\\input{/etc/passwd}~^&%$#{}<!--",
    "long": "w" * 10_000,
}
EVERYTHING = "".join(text for name, text in TEXTS.items() if name != "long")

# columns that hold what people have written: words, labels, names of things that are read
WRITTEN = (
    "after", "antecedent", "before", "candidates", "checkpoint", "chose", "corpus", "document", "first_words",
    "label", "language", "majority_tag", "mention", "name", "names", "opens", "phrase", "pos", "predicted",
    "published_note", "published_relation", "reason", "relation", "relations", "run", "says", "second_words",
    "sentence", "shown", "source", "spelled", "target", "text", "words",
)  # fmt: skip


def hostile(result: Result, text: str, columns: Collection[str] = WRITTEN) -> Result:
    """The same result with a hostile text before every text of these columns, and in what its manifest names."""
    tables = {
        name: {
            column: [_changed(value, text) for value in values] if column in columns else values
            for column, values in table.to_pydict().items()
        }
        for name, table in result.tables.items()
    }
    manifest = replace(
        result.manifest, model={**result.manifest.model, "name": text}, skipped={text: 3, **result.manifest.skipped},
        corpus={**result.manifest.corpus, "name": f"{text}.txt"}, versions={"python": text}, started=text[:40],
    )  # fmt: skip
    return Result(manifest, tables)


def _changed(value: Any, text: str) -> Any:
    """A cell with a hostile text in it; of a list in JSON, in each of its items."""
    if not isinstance(value, str) or re.fullmatch("[0-9 -]+", value):  # links are numbers
        return value
    if value.startswith('["'):
        return json.dumps([_changed(item, text) for item in json.loads(value)])
    return text + value


def texts_of(result: Result) -> list[str]:
    """The names of all columns that hold texts."""
    columns = {name: table.to_pydict() for name, table in result.tables.items()}
    return sorted({
        name for table in columns.values() for name, values in table.items()
        if any(isinstance(value, str) for value in values)
    })  # fmt: skip


def as_far_as_it_goes(result: Result, text: str, show: Callable[[Result], object]) -> Result:
    """With a hostile text in every column of texts but those whose values the page itself must know."""
    kept: list[str] = []
    for name in texts_of(result):
        try:
            show(hostile(result, text, [*kept, name]))
        except (LookupError, ValueError):
            continue
        kept.append(name)
    return hostile(result, text, kept)
