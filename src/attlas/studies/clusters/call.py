"""The study of clusters as one call: distances of all pairs of heads over a corpus, and untrained twins beside.

The model and each of its twins is a part of the run with a checkpoint of its own; the sums of one are reduced to what
the tables need before the next begins. What is asked before they begin has
functions of its own, for :mod:`attlas.studies.heads` takes the study into its one pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.errors import CapabilityError, StoreError, TextError
from attlas.run.parameters import Help, Measure, Model, Pairs, Reading, Texts, Twin, Twins, study_call
from attlas.run.session import begin
from attlas.run.setting import (
    as_subject,
    as_texts_or_stream,
    memory_of,
    passage_options,
    read_passages,
    streams_of,
    usual_budget,
)
from attlas.store import Result
from attlas.store.damage import told_as_damage

if TYPE_CHECKING:
    from attlas.capture import Subject

    Known = Mapping[tuple[str, int, int], Sequence[str]]

PIECES = 128
ROOM = 1 << 29  # bytes that the weights of one batch may take
MOST = 1 << 33  # and those of a single text
_NEEDED = ("relation", "layer", "head", "value", "best", "baseline", "p_corrected")


@study_call(streams=True, budget=None)
def clusters(
    subject: Model = None,
    corpus: Texts = "sample",
    *,
    relations: Annotated[
        Path | str | Result | None,
        Help("Result folder of attlas relations of this model, to name its best heads.", kind=Path | None),
    ] = None,
    measure: Measure = "weight",
    pairs: Pairs = None,
    twins: Twins = 5,
    twin: Twin = "beside",
    **running: Unpack[Reading],
) -> Result:
    """See which heads attend alike: distances of all pairs of heads, a map, a tree, and whether layers lie together.

    Untrained twins are measured beside. Texts have 128 pieces at most, and batches as many as let the weights of all
    heads fit into half a GiB.

    >>> from attlas.text import Document
    >>> texts = [Document.from_text("It rained. We stayed in."), Document.from_text("We slept.")]
    >>> result = clusters(corpus=texts, twins=1)
    >>> result.manifest.study, result.table.num_rows, result.tables["pairs"].num_rows
    ('clusters', 72, 2556)
    """
    from attlas.capture.measuring import require_measure
    from attlas.studies.clusters.passes import Clusters
    from attlas.studies.clusters.tables import cluster_tables, seen_of

    texts = as_texts_or_stream(corpus)
    model = as_subject(subject)
    known = known_heads(model, relations)
    pieces = running["max_pieces"] or min(model.pieces.window, PIECES)
    running["budget"] = running["budget"] or fitting_budget(model, pieces)
    options = passage_options(model, texts, pairs, {**running, "max_pieces": pieces}) | {
        "measure": require_measure(model, measure),
        "twins": twins,
        "relations": [[*place, *names] for place, names in sorted(known.items())],
    }
    with begin("clusters", model, texts, options, running, twin=twin) as run:
        run.note_cutting(texts)
        reading = read_passages(model, texts, options, run.seed)
        require_room(model, reading.longest)
        streams = streams_of(model, reading)
        run.read(reading)
        seen = []
        for who, studied in run.twins(twins):
            with run.as_far_as_known():
                part = Clusters(studied, streams=streams, measure=measure, seed=run.seed)
                seen.append(seen_of(part, run.carry(part, reading, f"{who}distances")))
        run.progress.note("arranging the heads")
        return run.finish(cluster_tables(part, seen[0], seen[1:], known))


def fitting_budget(model: Subject, pieces: int) -> int:
    """How many pieces to take at a time, so that the weights of all heads fit into half a GiB, or the sixteenth part
    of a GPU's memory, or one text does.

    >>> fitting_budget(as_subject(None), 128)
    4096
    """
    room = max(ROOM, (memory_of(model) or 0) // 16)
    return max(pieces, min(usual_budget(model), room // (4 * _heads(model) * pieces)))


def require_room(model: Subject, longest: int) -> None:
    """Refuse models with nothing to compare, and texts so long that all heads' weights would not fit into memory.

    >>> require_room(as_subject(None), 100_000)
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: all-MiniLM-L6-v2: the weights of all 72 heads on a text of 100,000 pieces take 2,682 ...
    """
    if all(model.grid(stream).sum() < 2 for stream in model.streams):
        raise CapabilityError(f"{model.name} has a single head in a stream, so there are no two to compare")
    needed = 4 * _heads(model) * longest**2
    if needed > MOST:
        raise TextError(
            f"{model.name}: the weights of all {_heads(model):,} heads on a text of {longest:,} pieces take "
            f"{needed / 2**30:,.0f} GiB, and {MOST / 2**30:.0f} are allowed; ask for fewer pieces (--max-pieces)"
        )


def known_heads(model: Subject, relations: Path | str | Result | None) -> Known:
    """Heads that a study of relations found to be the best for some, surely above the baseline.

    >>> known_heads(as_subject(None), None)
    {}
    """
    if relations is None:
        return {}
    if isinstance(relations, Result):
        return _best_heads(model, relations, "the result given as relations")
    with told_as_damage(relations):
        return _best_heads(model, Result.open(relations), str(relations))


def _best_heads(model: Subject, result: Result, where: str) -> Known:
    from attlas.studies.clusters.behaviour import relation_heads

    table = result.tables.get("relations")
    missing = [name for name in _NEEDED if table is None or name not in table.column_names]
    if table is None or missing:
        what = "no table of relations" if table is None else f"a table of relations without {', '.join(missing)}"
        raise StoreError(f"{where}: this result has {what}; give the folder of a run of attlas relations")
    other: dict[str, Any] = dict(result.manifest.model)
    if other.get("fingerprint") != model.fingerprint:
        raise StoreError(
            f"{where}: its relations are of {other.get('name', 'another model')} "
            f"({other.get('fingerprint', 'no fingerprint')}) and this is {model.name} ({model.fingerprint}); "
            "give a result of the same model"
        )
    return relation_heads(table.to_pylist(), model.pieces.own.value)


def _heads(model: Subject) -> int:
    return sum(int(model.grid(stream).sum()) for stream in model.streams)
