"""Key phrases of texts as one call: open what was given, weigh every word, rank phrases, hand back the result.

What is found goes into a journal in the folder, document by document, so that a killed run goes on after the last
document that was finished.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.errors import PlanError
from attlas.run.parameters import CHECK_HEADS, CHECK_MEASURE, Help, Model, Reading, study_call
from attlas.run.session import begin
from attlas.run.setting import as_subject
from attlas.run.spreading import ASKED, check_spread
from attlas.run.texts import Given, as_texts
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.corpora import Corpus
    from attlas.studies.shared.keywords.choice import Choice

TOP = 10


ALONE = "it goes text by text and sums up nothing"


@study_call(budget=None, without=("long", "limit", "seed", "checkpoint_every"), alone=ALONE)
def keywords(
    subject: Model = None,
    corpus: Given = "sample",
    *,
    study: Annotated[
        Path | str | Result | None,
        Help("A result of attlas keywords study (its folder): the heads that it chose.", kind=Path | None),
    ] = None,
    heads: Annotated[
        Sequence[str] | str | None,
        Help("Heads by their labels, which count from 1: 6-11 or 6-3,6-11.", kind=str | None, check=CHECK_HEADS),
    ] = None,
    measure: Annotated[
        str | None, Help("norm (of weight times vector; the default), or weight.", check=CHECK_MEASURE)
    ] = None,
    over: Annotated[
        str, Help("mean or max, over the words that attend.", check="attlas.measures.received:check_over")
    ] = "mean",
    top: Annotated[int, Help("So many phrases of each document.", short="-n")] = TOP,
    bar: Annotated[
        float | None, Help("The share of the average weight that each word of a phrase has at least. [0.5]")
    ] = None,
    longest: Annotated[
        int | None,
        Help("The most words of a phrase; 1: single words. [5, or 1 where most phrases of the study are one word]"),
    ] = None,
    language: Annotated[str, Help("Whose stemmer compares phrases; or none.")] = "english",
    **running: Unpack[Reading],
) -> Result:
    """Find the key phrases of texts from attention alone, with a weight for every word; nothing is trained.

    Heads are those of a study, or those that are named, or what is shipped for the model, or else all heads of the
    last layer. Writes tables and a page that shows the text shaded by weight; with --json the command prints one line
    of JSON for each document instead, and writes no folder.

    >>> text = "Alan Turing put forward the imitation game as a test of whether machines can think."
    >>> result = keywords(None, text, top=1)
    >>> [row["phrase"] for row in result.rows("phrases")]
    ['imitation game']
    """
    from attlas.studies.keywords.tables import row_of, tables_of
    from attlas.studies.shared.keywords.extraction import extract
    from attlas.studies.shared.keywords.weighing import usual_budget

    texts, model, choice, how = _asked(
        subject, corpus, study=study, heads=heads, measure=measure, over=over, top=top, bar=bar, longest=longest,
        language=language, max_pieces=running["max_pieces"],
    )  # fmt: skip
    named = " ".join(texts.documents[0].text.split()[:4]) if texts.format == "documents" else texts.name
    fitting: Reading = {**running, "budget": running["budget"] or usual_budget(model)}
    with begin("keywords", model, texts, how | choice.options, fitting, name=named) as run:
        documents = texts.documents

        def weighed(start: int) -> Iterator[dict[str, Any]]:
            yield from map(row_of, extract(model, documents, choice, budget=run.budget, start=start, **how))

        rows = run.item_by_item([len(document.words) for document in documents], weighed)
        run.counts["words"] = sum(len(document.words) for document in documents)
        run.counts["windows"] = sum(row["windows"] for row in rows)
        return run.finish(tables_of(texts, rows), seconds=sum(row["seconds"] for row in rows))


def lines(subject: Model, corpus: Given, *, budget: int | None, **asked: Any) -> Iterator[dict[str, Any]]:
    """A record for each document: its phrases and the weight of every word, with their places in characters.

    >>> options = {"study": None, "heads": None, "measure": None, "over": "mean", "top": 1, "bar": None}
    >>> options |= {"longest": None, "language": "english", "max_pieces": None, "budget": None}
    >>> next(lines(None, "Solar cells age.", **options))["phrases"][0]["phrase"]
    'Solar cells age'
    """
    from attlas.studies.keywords.tables import line_of
    from attlas.studies.shared.keywords.extraction import extract

    check_spread("keywords", asked, ALONE)
    own = {name: value for name, value in asked.items() if name not in ("out", "resume", "progress", *ASKED)}
    texts, model, choice, how = _asked(subject, corpus, **own)
    yield from map(line_of, extract(model, texts.documents, choice, budget=budget, **how))


def _asked(
    subject: Model, corpus: Given, *, study: Any, heads: Any, measure: str | None, over: str, top: int,
    bar: float | None, longest: int | None, language: str, max_pieces: int | None,
) -> tuple[Corpus, Subject, Choice, dict[str, Any]]:  # fmt: skip
    """Texts, model, heads, and how words are weighed and phrases made; what makes no sense is refused."""
    from attlas.studies.shared.keywords.choice import choose_heads
    from attlas.studies.shared.keywords.phrases import BAR
    from attlas.studies.shared.keywords.weighing import window_of
    from attlas.text.stems import stemmer

    stemmer(language)  # before anything is opened
    if top < 1:
        raise PlanError(f"at least one phrase must be asked for, and {top} were")
    if bar is not None and not bar >= 0:
        raise PlanError(f"the bar is a share of the average weight, 0 or more, and {bar:g} was given")
    if longest is not None and longest < 1:
        raise PlanError(f"a phrase has at least one word, and at most {longest} were asked for")
    texts, model = as_texts(corpus), as_subject(subject)
    choice = choose_heads(model, study, heads, measure, over)
    window_of(model, max_pieces)
    how: dict[str, Any] = {
        "top": top, "bar": BAR if bar is None else bar, "longest": choice.longest if longest is None else longest,
        "language": language, "max_pieces": max_pieces,
    }  # fmt: skip
    return texts, model, choice, how
