"""Three studies over one pass: the survey, the relations and the clusters of a treebank's sentences.

Half of the documents are read first, and heads chosen on them; then the other half, on which they are scored. Survey
and clusters take in both halves, for what they keep of one half merges with what they keep of the other. The
untrained twin is read in the same way, without the survey, whose chance levels need no twin. Each study leaves a
result of its own, the same as if it had been run alone on these sentences.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from attlas.run.clusters import fitting_budget, known_heads, require_room
from attlas.run.local import carry_out
from attlas.run.progress import Progress
from attlas.run.relations import (
    LONGEST,
    counts,
    read_sentences,
    scorable,
    scored_tables,
    split,
)
from attlas.run.setting import Setting, Texts, as_corpus, as_subject, say_cutting
from attlas.store import Result
from attlas.studies.survey.call import survey_study

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.stats import Bundle
    from attlas.studies.shared.watching import Watcher

STUDIES = ("survey", "relations", "clusters")
RUN = ".run"  # where the checkpoints lie until all results are saved


def heads(
    subject: Subject | str | None = None,
    treebank: Texts = "sample",
    *,
    measure: str = "weight",
    max_pieces: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int | None = None,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> dict[str, Result]:
    """Survey, relations and clusters of a treebank in one pass over each half of it; a result for each.

    ``measure`` and ``limit`` are those of :func:`attlas.relations`; clusters go by the same measure, and the survey
    has both. With ``out``, each result is saved there in a folder of its study's name.

    >>> words = {"governors": [1, 2, -1], "relations": ["det", "nsubj", "root"]}
    >>> from attlas.text import Document
    >>> texts = [Document.from_words(["The", noun, "slept"], name=noun, **words) for noun in ("farmer", "cat", "dog")]
    >>> list(heads(None, texts))
    ['survey', 'relations', 'clusters']
    """
    from attlas.capture.measuring import require_measure
    from attlas.capture.reading import Reading
    from attlas.studies.clusters import Clusters
    from attlas.studies.relations import Relations
    from attlas.studies.shared.watching import Together, part

    model, texts = as_subject(subject), as_corpus(treebank).sentences()
    chosen_on, scored_on = split(texts, None, seed)
    pieces = max_pieces or min(model.pieces.window, LONGEST)
    room = budget or fitting_budget(model, pieces)
    options = {"measure": require_measure(model, measure), "max_pieces": pieces, "limit": limit}
    folder = None if out is None else Path(out)
    whole = Setting("heads", model, texts, options, seed, room, None if folder is None else folder / RUN)
    settings = {
        name: Setting(name, model, texts, {**options, "together": list(STUDIES)}, seed, room, _inside(folder, name))
        for name in STUDIES
    }
    for setting in (whole, *settings.values()):
        setting.require_free(resume=resume)
    say_cutting(progress, len(texts.documents), "sentences")
    readings = [read_sentences(model, corpus, pieces, limit, seed) for corpus in (chosen_on, scored_on)]
    both = Reading(readings[0].examples + readings[1].examples, readings[0].skipped + readings[1].skipped)
    require_room(model, max(example.length for example in both.examples))
    labels = scorable(*readings)
    own = model.pieces.own
    surveyed = survey_study(model, texts, both, seed=seed)

    def carry(studies: list[Watcher], reading: Reading, name: str) -> Bundle:
        return carry_out(
            Together("heads", studies), reading.examples, [example.length for example in reading.examples],
            whole.plan, part=name, out=whole.out, resume=resume, budget=room, report_progress=progress,
            checkpoint_every=checkpoint_every,
        )  # fmt: skip

    clustered = []
    scored = []
    for who, studied in (("", model), ("untrained ", model.twin(seed))):
        relations = Relations(studied, labels, measure=measure, seed=seed)
        clusters = Clusters(studied, streams=[own], measure=measure, seed=seed)
        studies: list[Watcher] = [relations, clusters] if who else [surveyed, relations, clusters]
        chosen = carry(studies, readings[0], f"{who}choosing")
        relations.choice = relations.choose(part(chosen, "relations"))
        done = carry(studies, readings[1], f"{who}scoring")
        for study in studies:
            if study is not relations:
                part(done, study.name).merge(part(chosen, study.name))
        scored.append((relations, part(done, "relations")))
        clustered.append((clusters, part(done, "clusters")))
        if not who:
            survey_tables = surveyed.tables(part(done, "survey"))
    if progress is not None:
        progress.note("arranging the heads")
    counted, skipped = counts(texts, readings), both.skipped
    results = {
        "survey": settings["survey"].finish(survey_tables, counts=counted, skipped=skipped),
        "relations": settings["relations"].finish(
            scored_tables(scored[0], scored[1], readings[1]), counts=counted, skipped=skipped
        ),
    }
    clusters, bundle = clustered[0]
    clusters.relations = dict(known_heads(model, results["relations"]))
    tables = clusters.tables(bundle, clustered[1][1])
    results["clusters"] = settings["clusters"].finish(tables, counts=counted, skipped=skipped)
    if whole.out is not None:
        shutil.rmtree(whole.out, ignore_errors=True)
    return results


def _inside(folder: Path | None, name: str) -> Path | None:
    return None if folder is None else folder / name
