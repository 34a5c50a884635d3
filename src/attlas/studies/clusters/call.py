"""The study of clusters as one call: distances of all pairs of heads over a corpus, and an untrained twin beside.

The run has two parts, each with a checkpoint of its own: the model, and its twin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import CapabilityError, StoreError, TextError
from attlas.run.local import carry_out
from attlas.run.progress import Progress
from attlas.run.setting import (
    BUDGET,
    Setting,
    Texts,
    as_corpus,
    as_subject,
    draw,
    reads_pairs,
    say_cutting,
    streams_of,
)
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.stats import Bundle

PIECES = 128
ROOM = 1 << 29  # bytes that the weights of one batch may take
MOST = 1 << 33  # and those of a single text
_NEEDED = ("relation", "layer", "head", "value", "best", "baseline", "p_adjusted")


def clusters(
    subject: Subject | str | None = None,
    corpus: Texts = "sample",
    *,
    pairs: bool | None = None,
    max_pieces: int | None = None,
    long: str = "cut",
    limit: int | None = None,
    relations: Path | str | Result | None = None,
    measure: str = "weight",
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int | None = None,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Measure how far apart all pairs of heads are, and see which lie together.

    ``pairs`` reads neighbouring segments as sentence pairs (None: for plain text of several paragraphs, where the
    model knows pairs). ``max_pieces`` defaults to 128 or the window, ``limit`` keeps so many passages, drawn by
    ``seed``. ``relations`` is a result of that study of the same model, whose best heads then go by their relation.
    ``measure`` is weight or norm. ``budget`` is how many pieces to take at a time (None: 4,096, or fewer where a
    model has so many heads that their weights would take more than half a GiB).

    >>> from attlas.text import Document
    >>> result = clusters(corpus=[Document.from_text("It rained. We stayed in."), Document.from_text("We slept.")])
    >>> result.manifest.study, result.table.num_rows, result.tables["pairs"].num_rows
    ('clusters', 72, 2556)
    """
    from attlas.capture.measuring import require_measure
    from attlas.capture.reading import read_documents
    from attlas.studies.clusters import Clusters

    model, texts = as_subject(subject), as_corpus(corpus)
    known = known_heads(model, relations)
    paired = reads_pairs(model, texts, pairs)
    pieces = max_pieces or min(model.pieces.window, PIECES)
    chosen = budget or fitting_budget(model, pieces)
    options = {
        "pairs": paired, "max_pieces": pieces, "long": long, "limit": limit,
        "measure": require_measure(model, measure),
        "relations": [[*place, *names] for place, names in sorted(known.items())],
    }  # fmt: skip
    setting = Setting("clusters", model, texts, options, seed, chosen, None if out is None else Path(out))
    setting.require_free(resume=resume)
    say_cutting(progress, len(texts.documents))
    reading = read_documents(
        model, texts.documents, articles=texts.articles, limit=pieces, pairs=paired, long=long
    )  # fmt: skip
    reading = draw(reading, limit, seed)
    require_room(model, max(example.length for example in reading.examples))
    streams = streams_of(model, reading)
    study = Clusters(model, streams=streams, relations=known, measure=measure, seed=seed)

    def carry(one: Clusters, part: str) -> Bundle:
        return carry_out(
            one, reading.examples, [example.length for example in reading.examples], setting.plan, part=part,
            out=setting.out, resume=resume, budget=chosen, report_progress=progress,
            checkpoint_every=checkpoint_every,
        )  # fmt: skip

    bundle = carry(study, "model")
    twin = carry(Clusters(model.twin(seed), streams=streams, measure=measure, seed=seed), "twin")
    if progress is not None:
        progress.note("arranging the heads")
    counts = {"documents": len(texts.documents), "passages": len(reading.examples), "pieces": reading.pieces}
    return setting.finish(study.tables(bundle, twin), counts=counts, skipped=reading.skipped)


def fitting_budget(model: Subject, pieces: int) -> int:
    """How many pieces to take at a time, so that the weights of all heads fit into half a GiB, or one text does.

    >>> fitting_budget(as_subject(None), 128)
    4096
    """
    return max(pieces, min(BUDGET, ROOM // (4 * _heads(model) * pieces)))


def require_room(model: Subject, longest: int) -> None:
    """Refuse models with nothing to compare, and texts so long that all heads' weights would not fit into memory.

    >>> require_room(as_subject(None), 100_000)
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: all-MiniLM-L6-v2: the weights of all 72 heads on a text of 100,000 pieces take 2,682 ...
    """
    if all(layers * heads < 2 for layers, heads in map(model.shape, model.streams)):
        raise CapabilityError(f"{model.name} has a single head in a stream, so there are no two to compare")
    needed = 4 * _heads(model) * longest**2
    if needed > MOST:
        raise TextError(
            f"{model.name}: the weights of all {_heads(model):,} heads on a text of {longest:,} pieces take "
            f"{needed / 2**30:,.0f} GiB, and {MOST / 2**30:.0f} are allowed; ask for fewer pieces (--max-pieces)"
        )


def known_heads(
    model: Subject, relations: Path | str | Result | None
) -> Mapping[tuple[str, int, int], Sequence[str]]:
    """Heads that a study of relations found to be the best for some, surely above the baseline.

    >>> known_heads(as_subject(None), None)
    {}
    """
    from attlas.studies.behaviour import relation_heads

    if relations is None:
        return {}
    result = relations if isinstance(relations, Result) else Result.open(relations)
    where = "the result given as relations" if isinstance(relations, Result) else str(relations)
    tables = result.tables
    table = tables.get("relations")
    missing = [name for name in _NEEDED if table is None or name not in table.column_names]
    if table is None or missing:
        what = "no table of relations" if table is None else f"a table of relations without {', '.join(missing)}"
        raise StoreError(f"{where}: this result has {what}; give the folder of a run of attlas relations")
    found: dict[str, Any] = dict(result.manifest.model)
    if found.get("fingerprint") != model.fingerprint:
        raise StoreError(
            f"{where}: its relations are of {found.get('name', 'another model')} "
            f"({found.get('fingerprint', 'no fingerprint')}) and this is {model.name} ({model.fingerprint}); "
            "give a result of the same model"
        )
    return relation_heads(table.to_pylist(), model.pieces.own.value)


def _heads(model: Subject) -> int:
    return sum(layers * heads for layers, heads in map(model.shape, model.streams))
