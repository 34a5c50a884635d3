"""Weights against norms as one call: read a corpus, carry the study out on a model and on its untrained twin, and
hand back both.

The two parts have a checkpoint each, so that a killed run goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import CapabilityError
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
    from attlas.ids import Stream

SHOWN = 4  # heads of a stream whose pairs are shown one by one, unless some are named


def norms(
    subject: Subject | str | None = None,
    corpus: Texts = "sample",
    *,
    heads: Sequence[str] = (),
    pairs: bool | None = None,
    max_pieces: int | None = None,
    long: str = "cut",
    limit: int | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Set the norms of what attention adds up against its weights, by class of key, layer and head.

    ``heads`` are those whose pairs of weight and length are shown one by one, by the labels of the papers ("8-10", or
    "cross 6-3"); if none are given, those that rest most on special pieces. The other options are those of
    :func:`attlas.survey`.

    >>> from attlas.text import Document
    >>> result = norms(None, [Document.from_text("It rained. We stayed in."), Document.from_text("Nobody came.")])
    >>> result.manifest.study, result.tables["norms"].num_rows
    ('norms', 288)
    """
    from attlas.capture.reading import read_documents
    from attlas.studies.norms import Norms
    from attlas.studies.norms_tables import tables
    from attlas.studies.shared.piece_classes import Frequencies

    model, texts = as_subject(subject), as_corpus(corpus)
    model.require("norms")
    named = [str(label) for label in heads]
    chosen = model.named(named)
    paired = reads_pairs(model, texts, pairs)
    pieces = longest_passage(model, paired, max_pieces)
    options = {"pairs": paired, "max_pieces": pieces, "long": long, "limit": limit, "heads": named}
    setting = Setting("norms", model, texts, options, seed, budget, None if out is None else Path(out))
    setting.require_free(resume=resume)
    say_cutting(progress, len(texts.documents))
    reading = read_documents(
        model, texts.documents, articles=texts.articles, limit=pieces, pairs=paired, long=long
    )  # fmt: skip
    reading = draw(reading, limit, seed)
    streams = streams_of(model, reading)
    if not model.has_residuals:
        try:
            model.require("residuals")
        except CapabilityError as error:
            reading.skipped[f"mixing ratios: {str(error).removeprefix(f'{model.name}: ')}"] += 1
    translations = [document.translation for document in texts.documents if document.translation is not None]
    frequencies = [Frequencies.of(documents) for documents in (texts.documents, translations)]
    lengths = [example.length for example in reading.examples]
    found: dict[str, tuple[Norms, Any]] = {}
    for part, studied in (("", model), ("untrained", model.twin(seed))):
        study = Norms(
            studied, frequencies=frequencies[0], target_frequencies=frequencies[1], streams=streams, seed=seed
        )
        bundle = carry_out(
            study, reading.examples, lengths, setting.plan, part=part, out=setting.out, resume=resume, budget=budget,
            report_progress=progress, checkpoint_every=checkpoint_every,
        )  # fmt: skip
        found[part] = (study, bundle)
    (study, bundle), (_, twin) = found.values()
    shown = {stream: [(head.layer, head.head) for head in chosen if head.stream is stream] for stream in streams}
    if not chosen:
        shown = {stream: resting_heads(bundle, stream) for stream in streams}
    made = tables(study, bundle, twin, reading.examples, shown)
    counts = {"documents": len(texts.documents), "passages": len(reading.examples), "pieces": reading.pieces}
    return setting.finish(made, counts=counts, skipped=reading.skipped)


def resting_heads(bundle: Any, stream: Stream, most: int = SHOWN) -> list[tuple[int, int]]:
    """The heads that give the most weight to special pieces, periods and commas, as (layer, head), the first layers
    first.

    >>> from attlas.ids import Stream
    >>> from attlas.studies.norms import Norms
    >>> len(resting_heads(Norms(as_subject(None)).empty(), Stream.ENCODER))
    4
    """
    import numpy as np

    other = np.nan_to_num(bundle[f"{stream}-shares"].result().value)[:, :, 0, -1]
    order = np.argsort(other, axis=None, kind="stable")[:most]
    return sorted((int(place) // other.shape[1], int(place) % other.shape[1]) for place in order)
