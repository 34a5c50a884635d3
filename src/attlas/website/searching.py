"""The index of words: which heads answer to a word, made when the site is written so that answers come at once.

Most sentences of portraits are one template with other numbers. So words lead to *groups* of sentences first, those
of one study, quantity, part and role. What all sentences of a group say, the title of its figure and of its role are
its *words*; by what its role may be asked for beside are its *terms*, which lead to it after those that say the word.
Its sentences lie by strength on *shelves*, files of some hundreds. What some sentences say and others of their group
do not (a word that a head writes, a relation) leads to the sentences themselves; these words lie in alphabetical
order on *pages*, of which the index knows the first word, and each keeps its strongest sentences.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.website.grids import Grid
from attlas.website.packing import put, short
from attlas.website.sentences import Sentences

SHELF = 400  # sentences in a file
KEPT = 300  # sentences that a word keeps that is not its group's
PAGE = 2000  # sentences that the words of a file lead to
TERMS = {  # words that lead to a part of a portrait, beside those of its sentences
    "without": "without cut ablation effect",
    "writes": "writes write output",
    "alike": "alike similar same like",
    "rests": "rests rest",
}
PASSED = frozenset(  # words too frequent to ask for
    re.findall(
        r"\w+",
        """a an and as at be by did do does for from has have head heads her his in into is it its more most no not of
        on one or other out over s so than that the their them then there they this to two under up was were what when
        where which while who with would against between each per all any""",
    )
)


def words_of(text: str) -> list[str]:
    """The words of a text that can be asked for, in small letters; numbers and frequent words are passed over.

    >>> words_of("Puts 0.77 of its attention on [SEP], the previous piece (3-1)")
    ['puts', 'attention', 'sep', 'previous', 'piece']
    """
    return list(_words(re.sub(r"\d+", "0", text)))


@lru_cache(maxsize=50_000)
def _words(text: str) -> tuple[str, ...]:
    """The same of a text whose numbers are alike."""
    found = re.findall(r"[^\W\d_]\w*(?:['’]\w+)?", text.lower())
    return tuple(word for word in dict.fromkeys(found) if word not in PASSED)


def named_by(*names: str) -> list[str]:
    """The words of names of figures and roles.

    >>> named_by("finds obj, dependent to governor", "obj.to", "to_dependent")
    ['finds', 'obj', 'dependent', 'governor']
    """
    return words_of(" ".join(name.replace(".", " ").replace("_", " ") for name in names))


class Searching:
    """Collects the sentences of one model after the other, then writes the index of all."""

    def __init__(self, sentences: Sentences) -> None:
        self.sentences = sentences
        self.titles: dict[tuple[str, str], str] = {}
        self.parts: list[tuple[NDArray[np.int64], NDArray[np.int64], int]] = []
        self.figures: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, number: int, grid: Grid) -> None:
        """Take in the sentences and figures of a model."""
        rows, place = self.sentences.of(number, grid.heads)
        self.parts.append((rows, place, number))
        for figure in grid.figures:
            key = (figure["study"], figure["quantity"])
            self.titles.setdefault(key, figure["title"])
            known = self.figures.setdefault(key, {**{name: figure[name] for name in ("study", "quantity", "title")},
                                                  "words": set(), "models": [], "corpora": []})  # fmt: skip
            known["words"].update(named_by(figure["title"], figure["quantity"], figure["study"]))
            if number not in known["models"]:
                known["models"].append(number)
                known["corpora"].append(figure["corpus"])

    def write(self, folder: Path) -> None:
        """Write the index: ``search/index`` with groups and figures, shelves and pages beside it."""
        told = self.sentences
        rows = np.concatenate([part[0] for part in self.parts]) if self.parts else np.zeros(0, np.int64)
        place = np.concatenate([part[1] for part in self.parts]) if self.parts else rows
        model = np.concatenate([np.full(len(part[0]), part[2]) for part in self.parts]) if self.parts else rows
        by = np.argsort(-told.strength[rows], kind="stable")
        rows, place, model = rows[by], place[by], model[by]
        group, members = self._grouped(rows)
        groups, own = self._groups(rows, members)
        shelves = self._shelves(folder, rows, place, model, members)
        for known, lying in zip(groups, shelves, strict=True):
            known["lying"] = lying
        pages = self._pages(folder, rows, place, model, group, own)
        figures = [{**figure, "words": sorted(figure["words"])} for figure in self.figures.values()]
        put(folder, "search/index", {
            "parts": told.parts, "groups": groups, "pages": pages, "figures": figures, "kept": KEPT,
            "passed": sorted(PASSED),
        })  # fmt: skip

    def _grouped(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """The group of each sentence, and the sentences of each group, as they come."""
        told = self.sentences
        key = np.zeros(len(rows), np.int64)
        for codes, values in (
            (told.study, told.studies), (told.quantity, told.quantities), (told.part, told.parts),
            (told.role, told.roles),
        ):  # fmt: skip
            key = key * len(values) + codes[rows]
        _, group = np.unique(key, return_inverse=True)
        group = group.ravel()
        order = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[order], np.arange(1, group.max() + 1 if len(group) else 1))
        return group, list(np.split(order, ends)) if len(group) else []

    def _groups(
        self, rows: NDArray[np.int64], members: Iterable[NDArray[np.int64]]
    ) -> tuple[list[dict[str, Any]], dict[str, list[int]]]:
        """What all sentences of a group say; and the words of single sentences, with the places of these."""
        told = self.sentences
        groups, own = [], defaultdict(list)
        for mine in members:
            first = rows[mine[0]]
            said = [set(words_of(told.text[row])) for row in rows[mine]]
            shared = set.intersection(*said)
            role, part = told.roles[told.role[first]], told.parts[told.part[first]]
            study, quantity = told.studies[told.study[first]], told.quantities[told.quantity[first]]
            title = self.titles.get((study, quantity), "")
            named = named_by(title, quantity, role.title if part in ("does", "rests") else "")
            meant = "" if part in ("alike", "none") else f"{role.terms} {role.role.replace('_', ' ')}"
            terms = words_of(f"{TERMS.get(part, '')} {meant}")
            shared.update(named)
            groups.append({
                "study": study, "quantity": quantity, "title": title, "part": int(told.part[first]),
                "role": int(told.role[first]), "words": sorted(shared), "terms": sorted({*terms} - shared),
                "count": len(mine),
            })  # fmt: skip
            for place, words in zip(mine, said, strict=True):
                for word in words - shared:
                    own[word].append(int(place))
        return groups, own

    def _entry(self, row: int, place: int, model: int) -> list[Any]:
        told = self.sentences
        return [int(model), int(place), short(float(told.strength[row]), 3), told.text[row]]

    def _shelves(
        self, folder: Path, rows: NDArray[np.int64], place: NDArray[np.int64], model: NDArray[np.int64],
        members: list[NDArray[np.int64]],
    ) -> list[list[list[Any]]]:  # fmt: skip
        """Write all sentences, group by group; where those of each group lie: file, from, how many, the strength of
        the first."""
        lying: list[list[list[Any]]] = []
        shelf: list[list[Any]] = []
        number = 0
        for mine in members:
            own: list[list[Any]] = []
            for start in range(0, len(mine), SHELF):
                part = mine[start : start + SHELF]
                if shelf and len(shelf) + len(part) > SHELF:
                    put(folder, f"search/shelf-{number}", shelf)
                    number, shelf = number + 1, []
                own.append([number, len(shelf), len(part), short(float(self.sentences.strength[rows[part[0]]]), 3)])
                shelf += [self._entry(rows[at], place[at], model[at]) for at in part]
            lying.append(own)
        if shelf:
            put(folder, f"search/shelf-{number}", shelf)
        return lying

    def _pages(
        self, folder: Path, rows: NDArray[np.int64], place: NDArray[np.int64], model: NDArray[np.int64],
        group: NDArray[np.int64], own: dict[str, list[int]],
    ) -> list[str]:  # fmt: skip
        """Write the words of single sentences; the first word of each page."""
        firsts: list[str] = []
        page: dict[str, list[Any]] = {}
        size = 0

        def turn() -> None:
            listed = dict.fromkeys(at for _, kept in page.values() for at in kept)
            where = {at: row for row, at in enumerate(listed)}
            put(folder, f"search/page-{len(firsts)}", {
                "sentences": [[*self._entry(rows[at], place[at], model[at]), int(group[at])] for at in listed],
                "words": [[word, count, [where[at] for at in kept]] for word, (count, kept) in page.items()],
            })  # fmt: skip
            firsts.append(next(iter(page)))

        for word in sorted(own):
            kept = sorted(own[word])[:KEPT]  # places go by strength
            if page and size + len(kept) > PAGE:
                turn()
                page, size = {}, 0
            page[word] = [len(own[word]), kept]
            size += len(kept)
        if page:
            turn()
        return firsts
