"""Aligners that know no neural network, scored as attention is and put into the same tables.

They learn from the very pairs that are aligned and, said apart, from more text where more is given. One that is not
installed is left out with a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attlas.corpora import Corpus
from attlas.errors import StoreError
from attlas.run.setting import Texts, as_corpus, describe
from attlas.store import Result
from attlas.store.columns import as_columns
from attlas.studies.align.aligners import ALIGNERS, align_with, check_names, missing
from attlas.studies.reporting import open_result
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.text.links import Pairs

THESE = "these pairs"
UNTAUGHT = ("diagonal",)


class Baselines(NamedTuple):
    """Rows of scores, links under names for a page, and what had to be left out."""

    rows: list[dict[str, Any]]
    shown: dict[str, list[Pairs]]
    left_out: Counter[str]


def baselines(
    documents: Sequence[Document], names: Sequence[str] = ALIGNERS, *, more: Corpus | None = None
) -> Baselines:
    """Let aligners link the words of some pairs of sentences, and score them where there is gold."""
    check_names(names)
    made = Baselines([], {}, Counter())
    pairs = [_words(document) for document in documents]
    for name in names:
        lacking = missing(name)
        if lacking is not None:
            made.left_out[f"baseline left out: {lacking}"] += 1
            continue
        taught: list[tuple[str, Any]] = [("" if name in UNTAUGHT else THESE, ())]
        if more is not None and name not in UNTAUGHT:
            taught.append((f"{THESE} and {more.name}", (_words(document) for document in more.documents)))
        for trained_on, further in taught:
            links = align_with(name, pairs, more=further)
            for direction, found in links.items():
                place: dict[str, Any] = {"aligner": name, "trained_on": trained_on, "direction": direction}
                place |= {"stream": "", "measure": "", "side": "", "layer": None, "head": None}
                made.rows.extend(_scored(place, documents, found))
            best = "forward" if name in UNTAUGHT else "grow-diag-final-and"
            beside = "" if trained_on in ("", THESE) else f", with {more.name if more else ''}"
            made.shown[f"{name}, {best}{beside}"] = links[best]
    return made


def add_baselines(
    result: Result | Path | str,
    corpus: Texts,
    *,
    names: Sequence[str] = ALIGNERS,
    more: Texts | None = None,
) -> Result:
    """A result of ``attlas align`` with aligners added that could not run where it was made.

    ``corpus`` is the same bitext, with the same gold. Save what comes back into the same folder or another.
    """
    known = result if isinstance(result, Result) else open_result(result)
    texts = as_corpus(corpus)
    if known.manifest.study != "align" or known.manifest.corpus.get("sha256") != texts.sha256:
        raise StoreError(f"this is no alignment of {texts.name}; give the bitext and the gold that it was made from")
    left_out = set(known.manifest.corpus.get("left_out", ()))
    numbers = [at for at in range(1, len(texts.documents) + 1) if at not in left_out]
    documents = [texts.documents[at - 1] for at in numbers]
    further = None if more is None else as_corpus(more)
    made = baselines(documents, names, more=further)

    from attlas.studies.align.handed import pair_rows

    tables: dict[str, Any] = {name: table.to_pydict() for name, table in known.tables.items()}
    _extend(tables["scores"], made.rows, names)
    if "pairs" in tables:
        places = [numbers.index(pair) for pair in dict.fromkeys(tables["pairs"]["pair"])]
        _extend(tables["pairs"], list(pair_rows(documents, places, numbers, made.shown)), ())
    skipped = {
        reason: n for reason, n in known.manifest.skipped.items() if not reason.startswith("baseline left out")
    }
    about = dict(known.manifest.corpus)
    if further is not None:
        about |= {"more": describe(further), "more_pairs": len(further.documents)}
    return Result(replace(known.manifest, corpus=about, skipped={**skipped, **made.left_out}), tables)


def _extend(table: dict[str, list[Any]], rows: Sequence[Mapping[str, Any]], instead_of: Sequence[str]) -> None:
    """Put rows behind those that are there, in place of those of some aligners."""
    kept = [at for at, name in enumerate(table.get("aligner", ())) if name not in instead_of]
    cells = as_columns(rows)
    for name, column in table.items():
        own = [column[at] for at in kept] if "aligner" in table else list(column)
        table[name] = own + cells.get(name, [None] * len(rows))


def _scored(
    place: Mapping[str, Any], documents: Sequence[Document], links: Sequence[Pairs]
) -> Iterator[dict[str, Any]]:
    from attlas.studies.align.tables import TWIN, VALUE, counted, rated

    if any(document.links is not None for document in documents):
        yield from rated(place, counted(links, documents)[None])
        return
    column = 0 if place["direction"] == "backward" else 1
    words = sum(len(_words(document)[column]) for document in documents)
    linked = sum(len({link[column] for link in pairs}) for pairs in links)
    row = {**place, "score": "linked", **dict.fromkeys((*VALUE, *TWIN)), "value": linked / words}
    yield row | {"links": sum(map(len, links))}


def _words(document: Document) -> tuple[tuple[str, ...], tuple[str, ...]]:
    assert document.translation is not None
    return document.forms, document.translation.forms
