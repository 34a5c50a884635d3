"""The study of relations as one call: choose heads on some texts, score them on others, and an untrained twin beside.

The run has four parts, each with a checkpoint of its own: the model chooses and is scored, then its twin.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import CorpusError
from attlas.run.local import carry_out
from attlas.run.progress import Progress
from attlas.run.setting import BUDGET, Setting, Texts, as_corpus, as_subject, draw, say_cutting
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.stats import Bundle
    from attlas.studies.relations import Relations

    Scored = tuple[Relations, Bundle]

LONGEST = 512


def relations(
    subject: Subject | str | None = None,
    treebank: Texts = "sample",
    *,
    select: Texts | None = None,
    measure: str = "weight",
    max_pieces: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Ask of every head how well it finds the governor of a word, for each relation of a treebank.

    Heads and offsets are chosen on ``select``, or else on one half of the treebank's documents, and scored on the
    rest. ``measure`` is weight or norm. ``limit`` keeps so many sentences of each side, drawn by ``seed``.

    >>> words = {"governors": [1, 2, -1], "relations": ["det", "nsubj", "root"]}
    >>> from attlas.text import Document
    >>> texts = [Document.from_words(["The", noun, "slept"], name=noun, **words) for noun in ("farmer", "cat", "dog")]
    >>> result = relations(None, texts)
    >>> result.manifest.study, sorted(set(result.table.column("relation").to_pylist()))
    ('relations', ['all', 'det', 'nsubj'])
    """
    from attlas.capture.measuring import require_measure
    from attlas.studies.relations import Relations

    model, texts = as_subject(subject), as_corpus(treebank).sentences()
    chosen_on, scored_on = split(texts, None if select is None else as_corpus(select).sentences(), seed)
    pieces = max_pieces or min(model.pieces.window, LONGEST)
    options = {"measure": require_measure(model, measure), "max_pieces": pieces, "limit": limit}
    setting = Setting(
        "relations", model, texts, options, seed, budget, None if out is None else Path(out),
        more={} if select is None else {"select": chosen_on},
    )  # fmt: skip
    setting.require_free(resume=resume)
    say_cutting(progress, len(chosen_on.documents) + len(scored_on.documents), "sentences")
    readings = [read_sentences(model, corpus, pieces, limit, seed) for corpus in (chosen_on, scored_on)]
    labels = scorable(*readings)

    def carry(study: Relations, reading: Reading, part: str) -> Bundle:
        return carry_out(
            study, reading.examples, [example.length for example in reading.examples], setting.plan, part=part,
            out=setting.out, resume=resume, budget=budget, report_progress=progress,
            checkpoint_every=checkpoint_every,
        )  # fmt: skip

    scores = []
    for who, studied in (("", model), ("untrained ", model.twin(seed))):
        study = Relations(studied, labels, measure=measure, seed=seed)
        study.choice = study.choose(carry(study, readings[0], f"{who}choosing"))
        scores.append((study, carry(study, readings[1], f"{who}scoring")))
    tables = scored_tables(scores[0], scores[1], readings[1])
    return setting.finish(tables, counts=counts(texts, readings), skipped=readings[0].skipped + readings[1].skipped)


def scored_tables(own: Scored, twin: Scored, reading: Reading) -> dict[str, Any]:
    """All tables of the study: a model and its twin after scoring, each with its bundle, and what was read.

    >>> from attlas.capture.reading import Reading
    >>> from attlas.studies.relations import Relations
    >>> study = Relations(as_subject(None), labels=("all",))
    >>> study.choice = study.choose(study.empty())
    >>> list(scored_tables((study, study.empty()), (study, study.empty()), Reading()))
    ['relations', 'relation_heads', 'offsets', 'examples']
    """
    from attlas.studies.relation_tables import example_rows, head_rows, offset_rows, relation_rows

    study, bundle = own
    return {
        "relations": relation_rows(study, bundle, *twin),
        "relation_heads": head_rows(study, bundle, twin[1]),
        "offsets": offset_rows(study, bundle),
        "examples": example_rows(study, bundle, by_key(reading).__getitem__),
    }


def split(texts: Corpus, select: Corpus | None, seed: int) -> tuple[Corpus, Corpus]:
    """What to choose on, and what to score on: two corpora, or the two halves of one.

    >>> from attlas.text import Document
    >>> split(as_corpus([Document.from_text("It rained.")]), None, 0)
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: documents: it has no governors and relations, ...
    """
    for corpus in (texts, *([] if select is None else [select])):
        if not {"governors", "relations"} <= set(corpus.annotations):
            raise CorpusError(
                "it has no governors and relations, which this study scores; give a treebank in CoNLL-U",
                file=corpus.name,
            )
    return texts.halves(seed) if select is None else (select, texts)


def read_sentences(model: Subject, corpus: Corpus, pieces: int, limit: int | None, seed: int) -> Reading:
    """The sentences of a treebank as examples; those that are too long are left out and counted, not cut.

    >>> len(read_sentences(as_subject(None), as_corpus("sample"), 512, 3, 0).examples)
    3
    """
    from attlas.capture.reading import read_documents

    return draw(read_documents(model, corpus.documents, limit=pieces, long="skip"), limit, seed)


def scorable(chosen_on: Reading, scored_on: Reading) -> tuple[str, ...]:
    """The relations to ask about: all that either side has; refused where a side has none.

    >>> from attlas.capture.reading import Reading
    >>> scorable(Reading(), Reading())
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: no word with a governor is left to choose heads on; give more sentences
    """
    from attlas.studies.relations import labels_of

    sides = [[example.passage.first for example in reading.examples] for reading in (chosen_on, scored_on)]
    for side, purpose in zip(sides, ("to choose heads on", "to score heads on"), strict=True):
        if len(labels_of(side)) == 1:
            raise CorpusError(f"no word with a governor is left {purpose}; give more sentences")
    return labels_of(sides[0] + sides[1])


def by_key(reading: Reading) -> dict[int, Any]:
    """The documents that were read, by their keys.

    >>> from attlas.capture.reading import Reading
    >>> by_key(Reading())
    {}
    """
    from attlas.studies.relations import key_of

    return {key_of(example.passage.first): example.passage.first for example in reading.examples}


def counts(texts: Corpus, readings: list[Reading]) -> dict[str, int]:
    """What the manifest says of the sentences that were read.

    >>> from attlas.capture.reading import Reading
    >>> counts(as_corpus("sample"), [Reading(), Reading()])["passages"]
    0
    """
    return {
        "documents": len(set(texts.articles)),
        "passages": sum(len(reading.examples) for reading in readings),
        "pieces": sum(reading.pieces for reading in readings),
        "chosen_on": len(readings[0].examples),
        "scored_on": len(readings[1].examples),
    }
