"""The survey as one call: read a corpus, carry the study out, and hand back its result."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus, read
from attlas.run.local import carry_out
from attlas.run.plan import Plan
from attlas.run.progress import Progress
from attlas.store import Manifest, Result, load_checkpoint, require_free, versions_here
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.capture import Subject

PAIRED, SINGLE = 128, 512
BUDGET = 4096


def survey(
    subject: Subject | str | None = None,
    corpus: Corpus | str | Path | Sequence[Document] = "sample",
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

    >>> result = survey(corpus=[Document.from_text("It rained. We stayed in.")])
    >>> result.manifest.study, result.table.num_rows > 0
    ('survey', True)
    """
    from attlas.capture import load
    from attlas.capture.reading import read_documents
    from attlas.studies.marks import tags_of, word_ranks
    from attlas.studies.survey import Survey

    started = datetime.now(timezone.utc)
    model = load(subject) if subject is None or isinstance(subject, str) else subject
    texts = _corpus(corpus)
    several = texts.format == "plain" and len(texts.documents) > 1
    paired = pairs if pairs is not None else several and model.pieces.pairs
    pieces = max_pieces or min(model.pieces.window, PAIRED if paired else SINGLE)
    options = {"pairs": paired, "max_pieces": pieces, "long": long, "limit": limit, "matrix": matrix}
    described = {"name": texts.name, "format": texts.format, "sha256": texts.sha256}
    plan = Plan("survey", options, model.describe(), described, {"budget": budget}, seed, versions_here()["attlas"])
    if out is not None and not resume:
        require_free(Path(out), plan.to_dict())
    if progress is not None and len(texts.documents) > 500:  # this takes a while
        progress.note(f"cutting {len(texts.documents):,} documents into pieces")
    reading = read_documents(
        model, texts.documents, articles=texts.articles, limit=pieces, pairs=paired, long=long
    )  # fmt: skip
    examples = reading.examples
    if limit is not None and len(examples) > limit:
        kept = sorted(random.Random(seed).sample(range(len(examples)), limit))
        reading.skipped["passages not drawn"] += len(examples) - limit
        examples = reading.examples = [examples[index] for index in kept]
    streams = list(model.streams)
    if model.pieces.translating and any(example.target is None for example in examples):
        reading.skipped["without a translation, so that the encoder alone was read"] += len(examples)
        streams = [model.pieces.own]
    if not model.has_norms:
        unknown = len(model.layout.heads) - len(model.layout.projections)
        reading.skipped["layer whose W_O was not found, so that all norms were left out"] += unknown
    study = Survey(
        model,
        tags=tags_of(texts.documents),
        ranks=word_ranks(texts.documents),
        edges="governors" in texts.layers,
        streams=streams,
        seed=seed,
        matrix=matrix,
    )
    folder = None if out is None else Path(out)
    lengths = [example.length for example in examples]
    bundle = carry_out(
        study, examples, lengths, plan, out=folder, resume=resume, budget=budget, report_progress=progress,
        checkpoint_every=checkpoint_every,
    )  # fmt: skip
    before = load_checkpoint(folder) if folder is not None else None
    seconds = (datetime.now(timezone.utc) - started).total_seconds() if before is None else before.progress["seconds"]
    counts = {"documents": len(texts.documents), "passages": len(examples), "pieces": reading.pieces}
    manifest = Manifest(
        "survey",
        plan.to_dict(),
        versions_here(),
        model.describe(),
        {**described, **counts, "layers": texts.layers},
        seed,
        dict(reading.skipped),
        started.isoformat(timespec="seconds"),
        round(float(seconds), 1),
    )
    result = Result(manifest, _tables(study, bundle))
    if folder is not None:
        result.save(folder)
    return result


def _tables(study: Any, bundle: Any) -> dict[str, Any]:
    """Tables that have rows; a corpus may leave some without."""
    return {name: columns for name, columns in study.tables(bundle).items() if next(iter(columns.values()))}


def _corpus(corpus: Corpus | str | Path | Sequence[Document]) -> Corpus:
    if isinstance(corpus, Corpus):
        return corpus
    if isinstance(corpus, (str, Path)):
        return read(corpus)
    import hashlib

    digest = hashlib.sha256("\n".join(document.text for document in corpus).encode()).hexdigest()
    return Corpus(tuple(corpus), "documents", "documents", digest, tuple(range(len(corpus))))
