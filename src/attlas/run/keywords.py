"""Key phrases of texts as one call: open what was given, weigh every word, rank phrases, hand back the result.

What is found goes into a journal in the folder, document by document, so that a killed run goes on after the last
document that was finished.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus, read
from attlas.corpora.sniffing import sniff
from attlas.corpora.source import open_source
from attlas.errors import PlanError, TextError
from attlas.run.plan import differences
from attlas.run.progress import Progress, Silent
from attlas.run.setting import Setting, as_corpus, as_subject
from attlas.store import Result
from attlas.store.columns import as_columns
from attlas.store.plain import plain
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.keywords.extraction import Extracted

JOURNAL = ".keywords.jsonl"
TOP = 10
Given = str | Path | Corpus | Sequence[Document | str]


def keywords(
    texts: Given,
    subject: Subject | str | None = None,
    *,
    study: Path | str | Result | None = None,
    heads: Sequence[str] | None = None,
    measure: str | None = None,
    over: str = "mean",
    top: int = TOP,
    bar: float | None = None,
    longest: int | None = None,
    language: str = "english",
    max_pieces: int | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Find the key phrases of texts from attention alone, and a weight for every word.

    ``texts`` is a text, a file, a corpus, or a list of texts or documents. Heads are those of ``study``, a result of
    ``attlas keywords study``, or ``heads`` by name, or what is shipped for the model, or else all heads of the last
    layer; ``measure`` is weight or norm, ``over`` mean or max over the words that attend. ``top`` phrases are kept of
    each text, ``bar`` is the share of the average weight that a word of a phrase must have, ``longest`` the most
    words of a phrase. ``language`` decides which endings are taken off when phrases are compared.

    >>> text = "Alan Turing put forward the imitation game as a test of whether machines can think."
    >>> result = keywords(text, top=1)
    >>> [row["phrase"] for row in result.tables["phrases"].to_pylist()]
    ['imitation game']
    """
    from attlas.studies.keywords.phrases import BAR, LONGEST
    from attlas.studies.keywords.weighing import usual_budget, window_of

    corpus, model = as_texts(texts), as_subject(subject)
    choice = chosen_heads(model, study, heads, measure, over)
    check_shape(top, bar, longest)
    window_of(model, max_pieces)
    how: dict[str, Any] = {
        "top": top, "bar": BAR if bar is None else bar, "longest": LONGEST if longest is None else longest,
        "language": language, "max_pieces": max_pieces,
    }  # fmt: skip
    options = how | {
        "heads": [[head.layer, head.head] for head in choice.heads], "measure": choice.measure, "over": choice.over,
        "why": choice.why,
    }  # fmt: skip
    folder = None if out is None else Path(out)
    setting = Setting("keywords", model, corpus, options, 0, budget or usual_budget(model), folder)
    setting.require_free(resume=resume)
    journal = _Journal(setting, resume)
    rows = journal.rows(model, choice, how, progress or Silent())
    tables = tables_of(corpus, rows)
    counts = {
        "documents": len(corpus.documents), "words": sum(len(document.words) for document in corpus.documents),
        "windows": sum(row["windows"] for row in rows),
    }  # fmt: skip
    result = setting.finish(tables, counts=counts, seconds=sum(row["seconds"] for row in rows))
    journal.clear()
    return result


def as_texts(texts: Given, *, format: str | None = None, unit: str | None = None) -> Corpus:
    """What was given as a corpus: a file that is there, or else the text itself. A file of plain text is one
    document, unless ``unit`` says otherwise.

    >>> as_texts("Solar cells age.").documents[0].text
    'Solar cells age.'
    >>> as_texts("no_such_file.txt")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: no_such_file.txt: there is no such file
    """
    if isinstance(texts, Corpus):
        return texts
    if not isinstance(texts, (str, Path)):
        return as_corpus([_document(text, f"text {at}") for at, text in enumerate(texts, start=1)])
    if isinstance(texts, Path) or _names_a_file(texts):
        return _read(Path(texts), format, unit)
    if texts == "sample":
        return read("sample")
    return as_corpus([_document(texts, "text")])


def _read(path: Path, format: str | None, unit: str | None) -> Corpus:
    if path.is_dir():
        return read(path, format, unit=unit)
    found = format or sniff(open_source(path))
    return read(path, found, unit=unit or ("document" if found == "plain" else None))


def _names_a_file(text: str) -> bool:
    """Whether this is the name of a file rather than a text: it is there, or looks like nothing else."""
    if not text.strip() or len(text) > 1000 or "\n" in text:
        return False
    return os.path.exists(text) or (not any(mark.isspace() for mark in text) and Path(text).suffix[1:].isalnum())


def _document(text: str | Document, name: str) -> Document:
    made = text if isinstance(text, Document) else Document.from_text(text, name=name)
    if not made.words:
        raise TextError(f"{made.name or name} is empty; give a text with at least one word")
    return made


def chosen_heads(
    subject: Subject,
    study: Path | str | Result | None,
    heads: Sequence[str] | None,
    measure: str | None,
    over: str,
) -> Any:
    """The choice of heads that these options ask for.

    >>> chosen_heads(as_subject(None), None, ["6-11"], "weight", "mean").why
    'named by hand'
    """
    from attlas.capture.measuring import require_measure
    from attlas.studies.keywords.choice import choose_heads

    if study is not None and (heads is not None or measure is not None):
        raise PlanError("the study says which heads are read and how; leave out --heads and --measure, or the study")
    if measure is not None:
        require_measure(subject, measure)
    named = None
    if heads is not None:
        if not heads:
            raise PlanError("no head was named; give at least one, such as 6-11")
        named = tuple(dict.fromkeys(subject.named(heads)))
        for head in named:
            if head.stream is not subject.pieces.own:
                raise PlanError(f"{head} does not read the text; name heads of the {subject.pieces.own}")
    made = Result.open(study) if isinstance(study, (str, Path)) else study
    return choose_heads(subject, made, heads=named, measure=measure, over=over)


def check_shape(top: int, bar: float | None, longest: int | None) -> None:
    """Refuse numbers that make no sense: of phrases, of the bar for their words, of words in one.

    >>> check_shape(0, None, None)
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: at least one phrase must be asked for, and 0 were
    """
    if top < 1:
        raise PlanError(f"at least one phrase must be asked for, and {top} were")
    if bar is not None and not bar >= 0:
        raise PlanError(f"the bar is a share of the average weight, 0 or more, and {bar:g} was given")
    if longest is not None and longest < 1:
        raise PlanError(f"a phrase has at least one word, and at most {longest} were asked for")


class _Journal:
    """What was found so far, one line of JSON for each document, under a first line with the plan."""

    def __init__(self, setting: Setting, resume: bool) -> None:
        self.setting = setting
        self.path = None if setting.out is None else setting.out / JOURNAL
        if resume and self.path is None:
            raise PlanError("resuming needs the folder of the interrupted run; give it with --out")
        self.found = self._earlier(resume)

    def _earlier(self, resume: bool) -> list[dict[str, Any]]:
        if self.path is None or not self.path.exists():
            return []
        if not resume:
            raise PlanError(
                f"{self.path}: an earlier run was interrupted here; go on with --resume, or delete this file"
            )
        first, *lines = _whole_lines(self.path) or [{}]
        changed = "; ".join(differences(first.get("plan", {}), self.setting.plan))
        if changed:
            raise PlanError(f"{self.path}: this was begun with another plan ({changed}); go back to it, or delete it")
        return lines

    def rows(self, subject: Subject, choice: Any, how: Mapping[str, Any], progress: Progress) -> list[dict[str, Any]]:
        """A row for each document: those that were there already, and then the others."""
        from attlas.studies.keywords.extraction import extract

        documents = self.setting.corpus.documents
        sizes = [len(document.words) for document in documents]
        rest = documents[len(self.found) :]
        if self.found:
            progress.note(f"resuming after {len(self.found)} of {len(documents)} documents")
        self._begin()
        progress.start("keywords", sum(sizes), sum(sizes[: len(self.found)]), unit="words")
        began = time.monotonic()
        try:
            for one in extract(subject, rest, choice, budget=self.setting.budget, **how):
                now = time.monotonic()
                self._add(row_of(one) | {"seconds": now - began})
                began = now
                progress.advance(len(one.document.words))
        finally:
            progress.finish()
        return self.found

    def _begin(self) -> None:
        """Write anew what is whole, so that half a line of a killed run is gone."""
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            head = {"plan": plain(self.setting.plan.to_dict(), "plan")}
            self.path.write_text("".join(json.dumps(line) + "\n" for line in [head, *self.found]), encoding="utf-8")

    def _add(self, row: dict[str, Any]) -> None:
        self.found.append(row)
        if self.path is not None:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    def clear(self) -> None:
        """The result is saved: the journal has done its work."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """All lines up to the first that is not whole."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return found


def row_of(one: Extracted) -> dict[str, Any]:
    """What is kept of a document: the weights of its words, its phrases, and how many windows it took.

    >>> from attlas.studies.keywords.extraction import extract
    >>> row = row_of(next(extract(as_subject(None), [Document.from_text("Solar cells age.")])))
    >>> len(row["weights"]), row["phrases"][0]["phrase"], row["windows"]
    (4, 'Solar cells age', 1)
    """
    phrases = [
        {"phrase": phrase.text, "score": phrase.score, "places": [list(place) for place in phrase.places]}
        for phrase in one.phrases
    ]
    weights = [float(f"{weight:.6g}") for weight in one.weights.tolist()]
    return {"weights": weights, "phrases": phrases, "windows": one.windows}


def tables_of(corpus: Corpus, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All tables: phrases, words with their weights, and the documents themselves.

    >>> row = {"weights": [1.0], "phrases": [], "windows": 1, "seconds": 0.1}
    >>> list(tables_of(as_corpus([Document.from_text("Hi")]), [row]))
    ['phrases', 'words', 'documents']
    """
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


def line_of(one: Extracted) -> dict[str, Any]:
    """A document as a line of JSON: its phrases and the weight of every word, with their places in characters.

    >>> from attlas.studies.keywords.extraction import extract
    >>> line = line_of(next(extract(as_subject(None), [Document.from_text("Solar cells age.", name="a")], top=1)))
    >>> line["id"], line["phrases"][0]["phrase"], line["phrases"][0]["places"], line["words"][0]["word"]
    ('a', 'Solar cells age', [[0, 15]], 'Solar')
    """
    document, row = one.document, row_of(one)
    spans = document.words
    for phrase in row["phrases"]:
        phrase["places"] = [[spans[start].start, spans[stop - 1].stop] for start, stop in phrase["places"]]
    words = [
        {"word": document.word(at), "weight": weight, "start": spans[at].start, "stop": spans[at].stop}
        for at, weight in enumerate(row["weights"])
    ]
    return {"id": document.name, "phrases": row["phrases"], "words": words}
