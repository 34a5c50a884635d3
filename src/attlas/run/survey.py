"""The survey as one call: read a corpus, carry the study out, and hand back its result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attlas.run.local import carry_out
from attlas.run.progress import Progress
from attlas.run.setting import (
    BUDGET,
    Setting,
    Texts,
    as_corpus,
    as_subject,
    draw,
    longest_passage,
    reads_pairs,
    say_cutting,
    streams_of,
)
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.corpora import Corpus
    from attlas.studies.survey import Survey


def survey(
    subject: Subject | str | None = None,
    corpus: Texts = "sample",
    *,
    pairs: bool | None = None,
    max_pieces: int | None = None,
    long: str = "cut",
    limit: int | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    matrix: bool = False,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Measure every head of a model over a corpus.

    ``pairs`` reads neighbouring segments as sentence pairs (None: for plain text of several paragraphs, where the
    model knows pairs).
    ``max_pieces`` defaults to 128 for pairs, else to 512 or the model's window. ``limit`` keeps so many passages,
    drawn by ``seed``. With ``out`` the run leaves a checkpoint there every ``checkpoint_every`` seconds, can be
    resumed, and saves its result.

    >>> from attlas.text import Document
    >>> result = survey(corpus=[Document.from_text("It rained. We stayed in.")])
    >>> result.manifest.study, result.table.num_rows > 0
    ('survey', True)
    """
    from attlas.capture.reading import read_documents

    model, texts = as_subject(subject), as_corpus(corpus)
    paired = reads_pairs(model, texts, pairs)
    pieces = longest_passage(model, paired, max_pieces)
    options = {"pairs": paired, "max_pieces": pieces, "long": long, "limit": limit, "matrix": matrix}
    setting = Setting("survey", model, texts, options, seed, budget, None if out is None else Path(out))
    setting.require_free(resume=resume)
    say_cutting(progress, len(texts.documents))
    reading = read_documents(
        model, texts.documents, articles=texts.articles, limit=pieces, pairs=paired, long=long
    )  # fmt: skip
    reading = draw(reading, limit, seed)
    study = survey_study(model, texts, reading, seed=seed, matrix=matrix)
    bundle = carry_out(
        study, reading.examples, [example.length for example in reading.examples], setting.plan, out=setting.out,
        resume=resume, budget=budget, report_progress=progress, checkpoint_every=checkpoint_every,
    )  # fmt: skip
    counts = {"documents": len(texts.documents), "passages": len(reading.examples), "pieces": reading.pieces}
    return setting.finish(study.tables(bundle), counts=counts, skipped=reading.skipped)


def survey_study(model: Subject, texts: Corpus, reading: Reading, *, seed: int, matrix: bool = False) -> Survey:
    """The survey of what a corpus has; what has to be left out is counted in the reading.

    >>> from attlas.capture.reading import read_documents
    >>> model, texts = as_subject(None), as_corpus("sample")
    >>> survey_study(model, texts, read_documents(model, texts.documents[:2]), seed=0).edges
    True
    """
    from attlas.studies.shared.piece_classes import tags_of, word_ranks
    from attlas.studies.survey import Survey

    if not model.has_norms:
        unknown = len(model.layout.heads) - len(model.layout.projections)
        reading.skipped["layer whose W_O was not found, so that all norms were left out"] += unknown
    return Survey(
        model,
        tags=tags_of(texts.documents),
        ranks=word_ranks(texts.documents),
        target_ranks=word_ranks([text.translation for text in texts.documents if text.translation is not None]),
        edges="governors" in texts.annotations,
        streams=streams_of(model, reading),
        seed=seed,
        matrix=matrix,
    )
