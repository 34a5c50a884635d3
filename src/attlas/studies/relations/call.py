"""The study of relations as one call: choose heads on some texts, score them on others, and an untrained twin beside.

The run has four parts, each with a checkpoint of its own: the model chooses and is scored, then its twin. What is
read is a matter of functions of their own, for :mod:`attlas.studies.heads` takes the study into its one pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from attlas.corpora import Corpus, StreamedCorpus
from attlas.errors import CorpusError
from attlas.run.parameters import ChooseOn, Measure, Model, Texts, Twin, Twins, study_call
from attlas.run.parameters import Reading as Parameters
from attlas.run.session import begin
from attlas.run.setting import as_subject, as_texts_or_stream, draw
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.run.streamed import StreamedReading

LONGEST = 512


@study_call(without=("long",), streams=True)
def relations(
    subject: Model = None,
    corpus: Texts = "sample",
    *,
    choose_on: ChooseOn = None,
    measure: Measure = "weight",
    twins: Twins = 5,
    twin: Twin = "beside",
    **running: Unpack[Parameters],
) -> Result:
    """Ask of every head how well it finds the governor of a word, for each relation of a treebank.

    Heads are chosen on one part of the texts and scored on the rest, beside the best fixed offset and untrained twins
    of the model. Sentences longer than 512 pieces, or the model's window, are left out.

    >>> words = {"governors": [1, 2, -1], "relations": ["det", "nsubj", "root"]}
    >>> from attlas.text import Document
    >>> texts = [Document.from_words(["The", noun, "slept"], name=noun, **words) for noun in ("farmer", "cat", "dog")]
    >>> result = relations(None, texts, twins=1)
    >>> result.manifest.study, sorted(set(result.table.column("relation").to_pylist()))
    ('relations', ['all', 'det', 'nsubj'])
    """
    from attlas.capture.measuring import require_measure
    from attlas.studies.relations.passes import Relations
    from attlas.studies.relations.tables import relation_tables

    texts = as_texts_or_stream(corpus).sentences()
    other = None if choose_on is None else as_texts_or_stream(choose_on).sentences()
    sides = split(texts, other, running["seed"])
    model = as_subject(subject)
    limit, pieces = running["limit"], running["max_pieces"] or min(model.pieces.window, LONGEST)
    options = {"measure": require_measure(model, measure), "max_pieces": pieces, "limit": limit, "twins": twins}
    with begin(
        "relations", model, texts, options, running, more={} if other is None else {"choose_on": other}, twin=twin
    ) as run:
        run.note_cutting(texts, "sentences")
        chosen_on, scored_on = (run.read(read_sentences(model, side, pieces, limit, run.seed)) for side in sides)
        labels = scorable(chosen_on, scored_on)
        scored = []
        for who, studied in run.twins(twins):
            with run.as_far_as_known():
                part = Relations(studied, labels, measure=measure)
                part.choice = part.choose(run.carry(part, chosen_on, f"{who}choosing"))
                scored.append((part, run.carry(part, scored_on, f"{who}scoring")))
        run.counts |= counts(texts, chosen_on, scored_on)
        return run.finish(relation_tables(scored[0], scored[1:], scored_on, run.seed))


def split(
    texts: Corpus | StreamedCorpus, choose_on: Corpus | StreamedCorpus | None, seed: int
) -> tuple[Corpus | StreamedCorpus, Corpus | StreamedCorpus]:
    """What to choose on, and what to score on: two corpora, or the two halves of one.

    >>> from attlas.text import Document
    >>> split(as_texts_or_stream([Document.from_text("It rained.")]), None, 0)
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: documents: it has no governors and relations, ...
    """
    for corpus in (texts, *([] if choose_on is None else [choose_on])):
        if not {"governors", "relations"} <= set(corpus.annotations):
            raise CorpusError(
                "it has no governors and relations, which this study scores; give a treebank in CoNLL-U",
                file=corpus.name,
            )
    return texts.halves(seed) if choose_on is None else (choose_on, texts)


def read_sentences(
    model: Subject, corpus: Corpus | StreamedCorpus, pieces: int, limit: int | None, seed: int
) -> Reading | StreamedReading:
    """The sentences of a treebank as examples; those that are too long are left out and counted, not cut.

    >>> len(read_sentences(as_subject(None), as_texts_or_stream("sample"), 512, 3, 0).examples)
    3
    """
    from attlas.capture.reading import read_documents
    from attlas.run.streamed import StreamedReading

    if isinstance(corpus, StreamedCorpus):
        return StreamedReading(model, corpus, {"max_pieces": pieces, "long": "skip"})
    reading = read_documents(model, corpus.documents, articles=corpus.articles, limit=pieces, long="skip")
    return draw(reading, limit, seed)


def scorable(chosen_on: Reading | StreamedReading, scored_on: Reading | StreamedReading) -> tuple[str, ...]:
    """The relations to ask about: all that either side has, or its beginning where it streams; refused where a side
    has none.

    >>> from attlas.capture.reading import Reading
    >>> scorable(Reading(), Reading())
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: no word with a governor is left to choose heads on; give more sentences
    """
    from attlas.studies.relations.passes import labels_of

    sides = [[text.passage.first for text in reading.beginning.examples] for reading in (chosen_on, scored_on)]
    for side, purpose in zip(sides, ("to choose heads on", "to score heads on"), strict=True):
        if len(labels_of(side)) == 1:
            raise CorpusError(f"no word with a governor is left {purpose}; give more sentences")
    return labels_of(sides[0] + sides[1])


def counts(
    texts: Corpus | StreamedCorpus, chosen_on: Reading | StreamedReading, scored_on: Reading | StreamedReading
) -> dict[str, int]:
    """What the manifest says of the sentences beside how many were read.

    >>> from attlas.capture.reading import Reading
    >>> counts(as_texts_or_stream("sample"), Reading(), Reading())["chosen_on"]
    0
    """
    articles = {"documents": len(set(texts.articles))} if isinstance(texts, Corpus) else {}
    return articles | {"chosen_on": chosen_on.passages, "scored_on": scored_on.passages}
