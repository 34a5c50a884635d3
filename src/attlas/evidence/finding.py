"""A small grammar for finding heads by their figures: ``obj > .5 and not first > .5``.

    question   = all { "or" all }
    all        = single { "and" single }
    single     = "not" single | "(" question ")" | condition
    condition  = figure compared number            previous > .5, sep.norm <= 0.2, change < -0.01
               | figure compared figure            obj > first
               | "layer" compared number           layer >= 3, counted from 1 as on pages
               | "role" ":" name                   role:induction
               | "model" ":" name                  model:minilm
               | "stream" ":" name                 stream:cross
    compared   = ">" | ">=" | "<" | "<="
    figure     = name of a quantity, or study "/" name

A head without the figure does not fulfil the condition, nor its opposite by ``<``, but does fulfil ``not``. A name
without its last parts stands for all quantities that begin so, of which one is enough: ``obj`` for ``obj.to`` and
``obj.from``. Names with other letters, such as that of a model, stand in quotes. Nothing is evaluated as Python.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.errors import AttlasError
from attlas.evidence.head import Head
from attlas.evidence.portraits import PLACE

if TYPE_CHECKING:
    from attlas.evidence.atlas import Atlas

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-−]?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)(?![\w:/])|(?P<sign>>=|<=|>|<|\(|\))|"
    r"(?P<about>model|stream|role)\s*:\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\s()\"']+)|"
    r"(?P<name>\"[^\"]*\"|'[^']*'|[^\s()<>=\"']+))"
)
_WORDS = ("and", "or", "not")
_DEEP = 50  # brackets in each other
_NEAR = 5
_LISTED = 12  # models, streams or roles that are told of

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]
_COMPARED = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal}


@dataclass(frozen=True)
class Token:
    """A piece of a question, and where it begins."""

    kind: str
    text: str
    at: int
    about: str = ""


class Index:
    """The figures of an atlas as columns over all heads, made once for all questions."""

    def __init__(self, atlas: Atlas) -> None:
        self.atlas = atlas
        table = atlas.table
        coded = [table[name].combine_chunks() for name in PLACE]
        numbers = [
            column.indices.to_numpy() if hasattr(column, "indices") else column.to_numpy() for column in coded
        ]  # fmt: skip
        places, self._rows = np.unique(np.stack(numbers, 1).astype(np.int64), axis=0, return_inverse=True)
        words = [column.dictionary.to_pylist() if hasattr(column, "dictionary") else None for column in coded]
        self.places: list[tuple[str, str, int, int]] = [
            tuple(number if names is None else names[number] for names, number in zip(words, place, strict=True))
            for place in places.tolist()
        ]  # fmt: skip
        self._values: Numbers = table["value"].to_numpy()
        self._at: dict[tuple[str, str], list[NDArray[np.int64]]] = defaultdict(list)
        quantity, study = (table[name].combine_chunks() for name in ("quantity", "study"))
        names, studies = quantity.dictionary.to_pylist(), study.dictionary.to_pylist()
        combined = quantity.indices.to_numpy().astype(np.int64) * len(studies) + study.indices.to_numpy()
        order = np.argsort(combined, kind="stable")
        starts = np.flatnonzero(np.diff(combined[order], prepend=-1))
        for rows in np.split(order, starts[1:]) if len(order) else ():
            name, own = divmod(int(combined[rows[0]]), len(studies))
            self._at[names[name], studies[own]].append(rows)
        self.roles = _roles(atlas)

    @property
    def names(self) -> list[tuple[str, str]]:
        """All quantities, with their studies."""
        return list(self._at)

    def column(self, key: tuple[str, str], largest: bool) -> Numbers:
        """A figure of all heads, NaN where there is none; of several corpora the largest, or the smallest."""
        column = np.full(len(self.places), np.nan)
        for rows in self._at[key]:
            (np.fmax if largest else np.fmin).at(column, self._rows[rows], self._values[rows])
        return column


def _roles(atlas: Atlas) -> Mapping[tuple[Any, ...], set[str]]:
    """The roles that each head has: all that something is said of."""
    roles: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    table = atlas.tables["portraits"]
    columns = [table[name].to_pylist() for name in (*PLACE, "role", "part")]
    for *place, role, part in zip(*columns, strict=True):
        if part != "none":
            roles[tuple(place)].add(role)
    return roles


def find(index: Index, question: str) -> list[Head]:
    """The heads that fulfil a question, in the order of model, stream, layer and head; see the grammar above.

    >>> from attlas.evidence.example import example
    >>> [head.label for head in find(Index(example()), "obj > .3 and not (previous > .5 or cls >= .5)")]
    ['1-1']
    >>> find(Index(example()), "previus > .5")
    Traceback (most recent call last):
        ...
    attlas.errors.AttlasError: no figure is called 'previus' (at letter 1 of the question); near it: previous
    """
    if not isinstance(question, str):
        raise AttlasError(f"a question is text, such as 'previous > .5', not {type(question).__name__}")
    reader = _Reader(index, list(_tokens(question)), question)
    mask = reader.question()
    reader.end()
    return [Head(index.atlas, *place) for place, told in zip(index.places, mask, strict=True) if told]


def _tokens(question: str) -> Iterator[Token]:
    """The pieces of a question."""
    at, text = 0, question.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise AttlasError(f"{text[at:].strip()[:20]!r} at letter {at + 1} is no part of a question")
        kind = next(kind for kind in ("about", "number", "sign", "name") if match[kind] is not None)
        found = match["value"] if kind == "about" else match[kind]
        quoted = found[:1] in "\"'"
        word = kind == "name" and not quoted and found.lower() in _WORDS
        text_of = found[1:-1] if quoted else found.lower() if word else found
        yield Token("word" if word else kind, text_of, match.start(kind), match["about"] or "")
        at = match.end()


class _Reader:
    """Reads a question from left to right, into the heads that fulfil it."""

    def __init__(self, index: Index, tokens: list[Token], question: str) -> None:
        self.index, self.tokens, self.whole, self.at, self.deep = index, tokens, question, 0, 0

    def question(self) -> Mask:
        mask = self.all()
        while self.take("word", "or"):
            mask = mask | self.all()
        return mask

    def all(self) -> Mask:
        mask = self.single()
        while self.take("word", "and"):
            mask = mask & self.single()
        return mask

    def single(self) -> Mask:
        self.deep += 1
        if self.deep > _DEEP:
            raise AttlasError(f"brackets and “not” are more than {_DEEP} deep in this question; make it simpler")
        if self.take("word", "not"):
            mask = ~self.single()
        elif self.take("sign", "("):
            mask = self.question()
            if not self.take("sign", ")"):
                raise self.wrong("a closing bracket is missing")
        else:
            mask = self.condition()
        self.deep -= 1
        return mask

    def condition(self) -> Mask:
        token = self.next("a figure, or model:, stream:, role:")
        if token.kind == "about":
            return self.about(token)
        if token.kind != "name":
            raise self.wrong(f"a name of a figure was expected, not {token.text!r}", token)
        sign = self.next("one of > >= < <=")
        if sign.text not in _COMPARED or sign.kind != "sign":
            raise self.wrong(f"after {token.text!r} one of > >= < <= was expected, not {sign.text!r}", sign)
        other = self.next("a number or a figure")
        if other.kind not in ("number", "name"):
            raise self.wrong(f"a number or a figure was expected, not {other.text!r}", other)
        upward = sign.text.startswith(">")
        left = self.figures(token, upward)
        right = [np.array(_number(other.text))] if other.kind == "number" else self.figures(other, not upward)
        mask = np.zeros(len(self.index.places), bool)
        with np.errstate(invalid="ignore"):
            for one in left:
                for another in right:
                    mask |= _COMPARED[sign.text](one, another)
        return mask

    def about(self, token: Token) -> Mask:
        """Heads of a model or stream, or with a role."""
        places, wanted = self.index.places, token.text.lower()
        if token.about == "role":
            known = {role for roles in self.index.roles.values() for role in roles}
            held = [self.index.roles.get(place, set()) for place in places]
            mask = np.array([wanted in roles for roles in held], bool)
        else:
            of_all = [model if token.about == "model" else stream for model, stream, _, _ in places]
            known = set(of_all)
            same = {name for name in known if name.lower() == wanted}
            same = same or {name for name in known if wanted in name.lower()}
            mask = np.array([name in same for name in of_all], bool)
        if not mask.any():
            there = sorted(known)
            told = ", ".join(there[:_LISTED]) + (f" and {len(there) - _LISTED} more" if len(there) > _LISTED else "")
            raise self.wrong(
                f"no head here has the {token.about} {token.text!r}", token, f"there are: {told or 'none'}"
            )
        return mask

    def figures(self, token: Token, upward: bool) -> list[Numbers]:
        """The columns that a name stands for; refused where there is none, or where two studies have it."""
        if token.text == "layer":
            return [np.array([place[2] + 1 for place in self.index.places], np.float64)]
        study, slash, name = token.text.rpartition("/")
        keys = [key for key in self.index.names if not slash or key[1] == study]
        exact = [key for key in keys if key[0] == name]
        found = exact or [key for key in keys if key[0].startswith(f"{name}.")]
        if not found:
            near = near_names(name, {key[0] for key in keys})
            hint = f"near it: {', '.join(near)}" if near else "the column quantity of to_pandas() has all names"
            raise self.wrong(f"no figure is called {token.text!r}", token, hint)
        studies = list(dict.fromkeys(key[1] for key in found))
        if len(studies) > 1:
            told = ", ".join(f"{study}/{name}" for study in studies)
            raise self.wrong(f"{len(studies)} studies have a figure {name!r}: say {told}", token)
        return [self.index.column(key, upward) for key in found]

    def take(self, kind: str, text: str) -> bool:
        """Whether this comes next; if so, it is done with."""
        there = self.at < len(self.tokens) and (self.tokens[self.at].kind, self.tokens[self.at].text) == (kind, text)
        self.at += there
        return there

    def next(self, expected: str) -> Token:
        if self.at == len(self.tokens):
            raise AttlasError(f"the question ends where {expected} was expected: {self.whole.strip()[-40:]!r}")
        self.at += 1
        return self.tokens[self.at - 1]

    def end(self) -> None:
        if self.at < len(self.tokens):
            raise self.wrong(f"“and” or “or” was expected, not {self.tokens[self.at].text!r}", self.tokens[self.at])

    def wrong(self, what: str, token: Token | None = None, hint: str = "") -> AttlasError:
        at = token.at if token is not None else len(self.whole)
        return AttlasError(f"{what} (at letter {at + 1} of the question)" + (f"; {hint}" if hint else ""))


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def near_names(name: str, known: set[str]) -> list[str]:
    """Names that somebody may have meant."""
    within = [other for other in sorted(known) if len(name) > 2 and name.lower() in other.lower()]
    similar = get_close_matches(name, sorted(known), _NEAR, 0.6)
    return list(dict.fromkeys([*similar, *within]))[:_NEAR]
