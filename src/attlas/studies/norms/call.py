"""Weights against norms as one call, on a model and on untrained twins of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Unpack

from attlas.errors import CapabilityError
from attlas.run.parameters import CHECK_HEADS, Help, Model, Pairs, Reading, Texts, Twin, Twins, names_of, study_call
from attlas.run.session import begin
from attlas.run.setting import as_subject, as_texts_or_stream, passage_options, read_passages, streams_of
from attlas.store import Result


@study_call(streams=True)
def norms(
    subject: Model = None,
    corpus: Texts = "sample",
    *,
    heads: Annotated[
        Sequence[str],
        Help(
            'Heads whose pairs of weight and length are shown one by one, "3-1,8-10" or "cross 6-3"; else those that '
            "rest most on special pieces.",
            kind=list[str],
            check=CHECK_HEADS,
        ),
    ] = (),
    pairs: Pairs = None,
    twins: Twins = 5,
    twin: Twin = "beside",
    **running: Unpack[Reading],
) -> Result:
    """Set the norms of what attention adds up against its weights, by class of key, layer and head.

    Also the rank correlation of weight and length of vector, length by frequency of the word, and how much a piece
    takes in from others; of the model and of untrained twins (random weights).

    >>> from attlas.text import Document
    >>> texts = [Document.from_text("It rained. We stayed in."), Document.from_text("Nobody came.")]
    >>> result = norms(None, texts, twins=1)
    >>> result.manifest.study, result.tables["norms"].num_rows
    ('norms', 288)
    """
    from attlas.studies.norms.passes import Norms
    from attlas.studies.norms.tables import drawn_texts, resting_heads, seen_of, tables, text_key
    from attlas.studies.shared.piece_classes import Frequencies

    model, texts = as_subject(subject), as_texts_or_stream(corpus)
    model.require("norms")
    labels = _labels(heads)
    chosen = model.named(labels)
    options = passage_options(model, texts, pairs, running) | {"heads": labels, "twins": twins}
    with begin("norms", model, texts, options, running, twin=twin) as run:
        run.note_cutting(texts)
        reading = read_passages(model, texts, options, run.seed)
        streams = streams_of(model, reading)
        run.read(reading)
        if not model.has_residuals:
            try:
                model.require("residuals")
            except CapabilityError as error:
                run.skipped[f"mixing ratios: {str(error).removeprefix(f'{model.name}: ')}"] += 1
        known = texts.beginning.documents
        translations = [document.translation for document in known if document.translation is not None]
        own, target = (Frequencies.of(documents) for documents in (known, translations))
        shown = {stream: [(head.layer, head.head) for head in chosen if head.stream is stream] for stream in streams}
        seen = []
        for who, studied in run.twins(twins):
            with run.as_far_as_known():
                part = Norms(studied, frequencies=own, target_frequencies=target, streams=streams, seed=run.seed)
                bundle = run.carry(part, reading, who.strip())
                if not who and not chosen:
                    shown = {stream: resting_heads(bundle, stream) for stream in streams}
                drawn = reading.recall(lambda example: text_key(example, run.seed), drawn_texts(bundle, streams))
                seen.append(seen_of(part, bundle, drawn, intervals=not who))
        return run.finish(tables(part, seen[0], seen[1:], drawn, shown))


def _labels(heads: Sequence[str]) -> list[str]:
    """Labels one by one; anything else than text is refused, since numbers could be meant from 0 or from 1."""
    given = [heads] if isinstance(heads, str) else list(heads)
    for label in given:
        if not isinstance(label, str):
            raise CapabilityError(f"{label!r} is no head; name heads by label, counted from 1, as in heads=['3-1']")
    return [label for several in given for label in names_of(several)]
