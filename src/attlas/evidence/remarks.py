"""What to know before figures of an atlas are compared: other versions, other texts, other classes of one model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attlas.evidence.gathering import opened_as
from attlas.pages.prose import listed

NAMED = 4  # models that a sentence names; of more it tells how many there are
Row = Mapping[str, Any]


def remarks_on(sources: Sequence[Row], models: Iterable[Row]) -> Iterator[str]:
    """The remarks on the results that an atlas is made of, from its tables ``sources`` and ``models``.

    >>> rows = [{"model": "tiny", "study": "survey", "corpus": "a book", "version": "0.1.0"},
    ...         {"model": "large", "study": "survey", "corpus": "a poem", "version": "0.1.0"}]
    >>> print(*remarks_on(rows, []))
    survey read other texts of one model than of another: a book (tiny); a poem (large). Figures differ by that, too.
    """
    versions = sorted({row["version"] for row in sources} - {""})
    if len(versions) > 1:
        yield f"The figures are of attlas {listed(versions)}; a definition may have changed between them."
    yield from dict.fromkeys(
        f"{row['model']} was opened as {listed(classes)}, with a task head and without: taken for one model."
        for row in models
        if len(classes := list(opened_as(row))) > 1
    )
    read: dict[str, dict[str, None]] = {}
    texts: dict[str, dict[str, dict[str, None]]] = {}
    for row in sources:
        read.setdefault(row["model"], {})[row["corpus"]] = None
        texts.setdefault(row["study"], {}).setdefault(row["corpus"], {})[row["model"]] = None
    together: dict[tuple[str, ...], list[str]] = {}
    for model, own in read.items():
        together.setdefault(tuple(own), []).append(model)
    for corpora, of in together.items():
        if len(corpora) > 1:
            were = "was" if len(of) == 1 else "were"
            yield f"{_named(of)} {were} read on other texts by one study than by another: {listed(list(corpora))}."
    for study, by_corpus in texts.items():
        if len({tuple(of) for of in by_corpus.values()}) > 1:
            told = "; ".join(f"{corpus} ({_named(list(of))})" for corpus, of in by_corpus.items())
            yield f"{study} read other texts of one model than of another: {told}. Figures differ by that, too."


def _named(models: Sequence[str]) -> str:
    return str(listed(list(models))) if len(models) <= NAMED else f"{len(models):,} models"
