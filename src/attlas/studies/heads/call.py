"""Three studies over one pass: the survey, the relations and the clusters of a treebank's sentences.

Half of the documents are read first, and heads chosen on them; then the other half, on which they are scored. Survey
and clusters take in both halves, for what they keep of one half merges with what they keep of the other; the units of
the first are numbered after those of the second, so that documents of both are not taken for one. Untrained twins are
read in the same way, without the survey, whose chance levels need no twin. Each study leaves a
result of its own, the same as if it had been run alone on these sentences.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from attlas.run.parameters import Measure, Model, Texts, Twin, Twins, study_call
from attlas.run.parameters import Reading as Parameters
from attlas.run.session import Run, begin, folder_of
from attlas.run.setting import as_corpus, as_subject
from attlas.store import Result
from attlas.store.checkpoint import clear_leftovers
from attlas.studies.clusters.call import fitting_budget, known_heads, require_room
from attlas.studies.relations.call import LONGEST, counts, read_sentences, scorable, split

if TYPE_CHECKING:
    from attlas.capture.reading import Reading
    from attlas.studies.shared.watching import Watcher

STUDIES = ("survey", "relations", "clusters")
RUN = ".run"  # where the checkpoints lie until all results are saved


@study_call(budget=None, without=("long",), whole="it writes three results; do survey, relations and clusters")
def heads(
    subject: Model = None,
    corpus: Texts = "sample",
    *,
    measure: Measure = "weight",
    twins: Twins = 5,
    twin: Twin = "beside",
    **running: Unpack[Parameters],
) -> dict[str, Result]:
    """Survey, relations and clusters of a treebank, in one pass over its sentences; a result for each.

    Relations and clusters go by the measure, the survey has both. Each result has a folder of its study's name.

    >>> words = {"governors": [1, 2, -1], "relations": ["det", "nsubj", "root"]}
    >>> from attlas.text import Document
    >>> texts = [Document.from_words(["The", noun, "slept"], name=noun, **words) for noun in ("farmer", "cat", "dog")]
    >>> list(heads(None, texts, twins=1))
    ['survey', 'relations', 'clusters']
    """
    from attlas.capture.measuring import require_measure
    from attlas.capture.reading import Reading
    from attlas.studies.clusters.passes import Clusters
    from attlas.studies.clusters.tables import cluster_tables, seen_of
    from attlas.studies.relations.passes import Relations
    from attlas.studies.relations.tables import relation_tables
    from attlas.studies.survey.call import survey_study

    texts = as_corpus(corpus).sentences()
    sides = split(texts, None, running["seed"])
    model = as_subject(subject)
    limit, pieces = running["limit"], running["max_pieces"] or min(model.pieces.window, LONGEST)
    running["budget"] = running["budget"] or fitting_budget(model, pieces)
    options: dict[str, Any] = {"measure": require_measure(model, measure), "max_pieces": pieces, "limit": limit,
                               "twins": twins}  # fmt: skip
    folder = folder_of(running["out"], "heads", model.name, texts.name)
    with ExitStack() as opened:

        def run_in(place: str, study: str, options: dict[str, Any]) -> Run:
            own: Parameters = {**running, "out": None if folder is None else folder / place}
            return opened.enter_context(begin(study, model, texts, options, own, twin=twin))

        whole = run_in(RUN, "heads", options)
        if folder is not None:
            clear_leftovers(folder)
        runs = {study: run_in(study, study, {**options, "together": list(STUDIES)}) for study in STUDIES}
        whole.note_cutting(len(texts.documents), "sentences")
        chosen_on, scored_on = (read_sentences(model, side, pieces, limit, whole.seed) for side in sides)
        assert isinstance(chosen_on, Reading)  # of texts that are all in memory
        assert isinstance(scored_on, Reading)
        chosen_on, both = _merged(chosen_on, scored_on)
        require_room(model, max(example.length for example in both.examples))
        labels = scorable(chosen_on, scored_on)
        surveyed = survey_study(model, texts, both, seed=whole.seed)
        for run in runs.values():
            run.read(both)
            run.counts |= counts(texts, chosen_on, scored_on)
        runs["relations"].counts |= {"units": scored_on.units, "unit": scored_on.unit}
        scored, seen, tables = [], [], {}
        for who, studied in whole.twins(twins):
            relations = Relations(studied, labels, measure=measure)
            clusters = Clusters(studied, streams=[model.pieces.own], measure=measure, seed=whole.seed)
            watchers: list[Watcher] = [relations, clusters] if who else [surveyed, relations, clusters]
            chosen = _carry(whole, watchers, chosen_on, f"{who}choosing")
            relations.choice = relations.choose(chosen["relations"])
            sums = _carry(whole, watchers, scored_on, f"{who}scoring")
            for name in sums.keys() - {"relations"}:
                sums[name].merge(chosen[name])
            scored.append((relations, sums["relations"]))
            seen.append(seen_of(clusters, sums["clusters"]))
            if not who:
                tables["survey"] = surveyed.tables(sums["survey"])
        whole.progress.note("arranging the heads")
        tables["relations"] = relation_tables(scored[0], scored[1:], scored_on, whole.seed)
        results = {study: runs[study].finish(tables[study]) for study in ("survey", "relations")}
        known = known_heads(model, results["relations"])
        results["clusters"] = runs["clusters"].finish(cluster_tables(clusters, seen[0], seen[1:], known))
        if whole.out is not None:
            shutil.rmtree(whole.out, ignore_errors=True)
        return results


def _merged(chosen_on: Reading, scored_on: Reading) -> tuple[Reading, Reading]:
    """The texts to choose on, their units numbered after those of the others, and the texts of both, the others
    first."""
    from attlas.capture.reading import Reading

    after = [replace(example, unit=example.unit + scored_on.units) for example in chosen_on.examples]
    unit = scored_on.unit if scored_on.unit == chosen_on.unit else f"{scored_on.unit} or {chosen_on.unit}"
    skipped = scored_on.skipped + chosen_on.skipped
    return Reading(after, chosen_on.skipped, chosen_on.unit), Reading(scored_on.examples + after, skipped, unit)


def _carry(run: Run, watchers: list[Watcher], reading: Any, name: str) -> dict[str, Any]:
    """The bundle of each of several studies, after one pass over the texts."""
    from attlas.studies.shared.watching import Together, part

    bundle = run.carry(Together("heads", watchers), reading, name)
    return {watcher.name: part(bundle, watcher.name) for watcher in watchers}
