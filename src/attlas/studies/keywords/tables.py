"""What is kept of weighed texts: a record for each document as it is done, and the tables made of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.studies.shared.keywords.extraction import Extracted


def row_of(extracted: Extracted) -> dict[str, Any]:
    """What is kept of a document: the weights of its words, its phrases, and how many windows it took."""
    phrases = [
        {"phrase": phrase.text, "score": phrase.score, "places": [list(place) for place in phrase.places]}
        for phrase in extracted.phrases
    ]
    weights = [float(f"{weight:.6g}") for weight in extracted.weights.tolist()]
    return {"weights": weights, "phrases": phrases, "windows": extracted.windows}


def tables_of(corpus: Corpus, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All tables: phrases, words with their weights, and the documents themselves."""
    documents = []
    phrases: dict[str, list[Any]] = {
        name: [] for name in ("document", "rank", "phrase", "score", "places", "starts", "stops")
    }
    words: dict[str, list[Any]] = {name: [] for name in ("document", "word", "spelled", "weight", "start", "stop")}
    for at, (document, row) in enumerate(zip(corpus.documents, rows, strict=True)):
        size = len(document.words)
        spelled = [document.word(word) for word in range(size)]
        starts, stops = zip(*document.words, strict=True)
        for name, column in zip(
            words, ([at] * size, range(size), spelled, row["weights"], starts, stops), strict=True
        ):
            words[name].extend(column)
        documents.append(
            {
                "document": at, "name": document.name or f"document {at + 1}", "text": document.text, "words": size,
                "windows": row["windows"], "seconds": row["seconds"],
            }
        )  # fmt: skip
        for rank, phrase in enumerate(row["phrases"], start=1):
            begins, ends = ([int(place[side]) for place in phrase["places"]] for side in (0, 1))
            cells = (at, rank, phrase["phrase"], phrase["score"], len(begins), begins, ends)
            for name, cell in zip(phrases, cells, strict=True):
                phrases[name].append(cell)
    return {"phrases": phrases, "words": words, "documents": as_columns(documents)}


def line_of(extracted: Extracted) -> dict[str, Any]:
    """A document as a line of JSON: its phrases and the weight of every word, with their places in characters."""
    document, row = extracted.document, row_of(extracted)
    spans = document.words
    for phrase in row["phrases"]:
        phrase["places"] = [[spans[start].start, spans[stop - 1].stop] for start, stop in phrase["places"]]
    words = [
        {"word": document.word(at), "weight": weight, "start": spans[at].start, "stop": spans[at].stop}
        for at, weight in enumerate(row["weights"])
    ]
    return {"id": document.name, "phrases": row["phrases"], "words": words}
