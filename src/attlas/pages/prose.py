"""Sentences that are written once and read in three places: in a page, in a terminal, in Markdown.

A sentence is a template with slots, ``"Head **{name}** finds {share:percent} % of them"``: ``**bold**``, ``*italic*``
and backquotes for code are its only marks, and a slot may name the kind by which its value is written. What fills a
slot is text, never markup: it is escaped for whatever it is written into, so that no name of a model, corpus or label
can break out of its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any

from markupsafe import Markup, escape

from attlas.store.schema import KINDS, interval, is_known

_MARKS = re.compile(r"\*\*|\*|`")
_TAGS = {"**": "b", "*": "i", "`": "code"}
_SPECIAL = re.compile(r"([\\`*_|<>\[\]])")


@dataclass(frozen=True)
class Prose:
    """A template and what fills its slots.

    >>> said = say("**{model}** has {n:count} heads.", model="<tiny>", n=1200)
    >>> str(said + say("*So.*")), said.html()
    ('<tiny> has 1,200 heads. So.', Markup('<b>&lt;tiny&gt;</b> has 1,200 heads.'))
    >>> say("**{name}**", name="a_b").markdown()
    '**a\\\\_b**'
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def html(self) -> Markup:
        """As HTML."""
        open_marks: list[str] = []

        def mark(found: str) -> str:
            if found in open_marks:
                open_marks.remove(found)
                return f"</{_TAGS[found]}>"
            open_marks.append(found)
            return f"<{_TAGS[found]}>"

        return Markup(self._filled(lambda text: str(escape(text)), mark, lambda inner: inner.html()))

    def markdown(self) -> str:
        """As Markdown, in which the marks stay what they are."""
        return self._filled(lambda text: text, lambda mark: mark, lambda inner: inner.markdown(), _in_markdown)

    def __str__(self) -> str:
        """As plain text, without marks."""
        return self._filled(lambda text: text, lambda mark: "", str)

    def __add__(self, other: Prose) -> Prose:
        """Both, one after the other."""
        return say("{first} {second}", first=self, second=other)

    def _filled(
        self,
        literal: Callable[[str], str],
        mark: Callable[[str], str],
        inner: Callable[[Prose], str],
        slot: Callable[[str], str] | None = None,
    ) -> str:
        parts = []
        for text, name, spec, _ in Formatter().parse(self.template):
            last = 0
            for found in _MARKS.finditer(text):
                parts += [literal(text[last : found.start()]), mark(found.group())]
                last = found.end()
            parts.append(literal(text[last:]))
            if name is not None:
                value = self.values[name]
                parts.append(inner(value) if isinstance(value, Prose) else (slot or literal)(_written(value, spec)))
        return "".join(parts)


def say(template: str, /, **values: Any) -> Prose:
    """A sentence; a slot ``{name:kind}`` is written as that kind of column is.

    >>> str(say("p {p:p}, {change:signed}", p=0.0001, change=-0.02))
    'p < 0.001, −0.020'
    """
    return Prose(template, values)


def listed(items: list[Any], kind: str = "", *, between: str = "") -> Prose:
    """Several things in a sentence, the last after "and"; or all with the same mark ``between`` them.

    >>> str(listed(["3-1", "4-2", "5-7"])), str(listed(["norm, mean", "norm, max"], between="; "))
    ('3-1, 4-2 and 5-7', 'norm, mean; norm, max')
    """
    slots = [f"{{item{number}{f':{kind}' if kind else ''}}}" for number in range(len(items))]
    template = between.join(slots) if between else " and ".join(filter(None, (", ".join(slots[:-1]), *slots[-1:])))
    return Prose(template, {f"item{number}": item for number, item in enumerate(items)})


def with_interval(
    row: Mapping[str, Any], column: str, ends: tuple[str, str] = ("low", "high"), kind: str = "share"
) -> Prose:
    """A figure of a row, with its 95 % confidence interval in brackets where it is known.

    >>> str(with_interval({"f1": 0.5, "low": 0.4, "high": 0.6}, "f1")), str(with_interval({"f1": 0.5}, "f1"))
    ('0.50 (0.40–0.60)', '0.50')
    """
    low, high = (row.get(end) for end in ends)
    if not is_known(low) or not is_known(high):
        return say(f"**{{value:{kind}}}**", value=row[column])
    between = interval(*(KINDS[kind].write(end, None) for end in (low, high)))
    return say(f"**{{value:{kind}}}** ({{between}})", value=row[column], between=between)


def count_of(number: int, what: str, many: str = "") -> str:
    """A number of things.

    >>> count_of(1, "head"), count_of(1200, "head"), count_of(2, "study", "studies")
    ('1 head', '1,200 heads', '2 studies')
    """
    return f"{number:,} {what if number == 1 else many or f'{what}s'}"


def as_prose(text: str | Prose, **values: Any) -> Prose:
    """A template with these values, or prose as it is.

    >>> str(as_prose("on {corpus}", corpus="a book"))
    'on a book'
    """
    return text if isinstance(text, Prose) else Prose(text, values)


def _written(value: Any, kind: str | None) -> str:
    if not is_known(value):
        return "unknown"
    if not kind:
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return KINDS[kind].write(value, None)


def _in_markdown(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.splitlines()))
