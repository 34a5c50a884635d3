"""The survey as one call: read a corpus, sum what every head does, and hand back its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

from attlas.run.parameters import Help, Model, Pairs, Reading, Texts, study_call
from attlas.run.session import begin
from attlas.run.setting import as_subject, as_texts_or_stream, passage_options, read_passages, streams_of
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading as Passages
    from attlas.corpora import Corpus, StreamedCorpus
    from attlas.run.streamed import StreamedReading
    from attlas.studies.survey.passes import Survey


@study_call(streams=True)
def survey(
    subject: Model = None,
    corpus: Texts = "sample",
    *,
    pairs: Pairs = None,
    matrix: Annotated[bool, Help("By the matrix of weights: slow, to check the fast way.")] = False,
    **running: Unpack[Reading],
) -> Result:
    """Measure every head over a corpus: where its attention goes, in weights and in norms.

    Passages have 128 pieces at most where pairs are read, else 512, or as many as the model's window holds.

    >>> from attlas.text import Document
    >>> result = survey(corpus=[Document.from_text("It rained. We stayed in.")])
    >>> result.manifest.study, result.table.num_rows > 0
    ('survey', True)
    """
    model, texts = as_subject(subject), as_texts_or_stream(corpus)
    options = passage_options(model, texts, pairs, running) | {"matrix": matrix}
    with begin("survey", model, texts, options, running) as run:
        run.note_cutting(texts)
        reading = read_passages(model, texts, options, run.seed)
        study = survey_study(model, texts, reading, seed=run.seed, matrix=matrix)
        return run.finish(study.tables(run.carry(study, run.read(reading))))


def survey_study(
    model: Subject,
    texts: Corpus | StreamedCorpus,
    reading: Passages | StreamedReading,
    *,
    seed: int,
    matrix: bool = False,
) -> Survey:
    """The survey of what a corpus has (of one that streams, what its beginning has); what has to be left out is
    counted in the reading.

    >>> from attlas.capture.reading import read_documents
    >>> from attlas.run.setting import as_corpus
    >>> model, texts = as_subject(None), as_corpus("sample")
    >>> survey_study(model, texts, read_documents(model, texts.documents[:2]), seed=0).edges
    True
    """
    from attlas.studies.shared.piece_classes import tags_of, word_ranks
    from attlas.studies.survey.passes import Survey

    if not model.has_norms:
        unknown = len(model.layout.heads) - len(model.layout.projections)
        reading.skipped["layer whose W_O was not found, so that all norms were left out"] += unknown
    known = texts.beginning.documents
    return Survey(
        model,
        tags=tags_of(known),
        ranks=word_ranks(known),
        target_ranks=word_ranks([text.translation for text in known if text.translation is not None]),
        edges="governors" in texts.annotations,
        streams=streams_of(model, reading),
        seed=seed,
        matrix=matrix,
    )
