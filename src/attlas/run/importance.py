"""The importance of heads as one call: gradients of a task's loss by every head's gate, and how they agree with what
cutting each head really did, where that was measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.run.local import carry_out
from attlas.run.measured import measured
from attlas.run.progress import Progress
from attlas.run.setting import Setting, Texts, as_corpus, say_cutting
from attlas.run.tasks import open_for_task, read_for_task, task_for
from attlas.store import Result
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.capture import Subject

BUDGET = 1024  # pieces of a batch: the graph of all layers is kept until the way back


def importance(
    subject: Subject | str | None = None,
    corpus: Texts = "sample",
    task: str = "causal-lm",
    *,
    ablation: Path | str | Result | None = None,
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
    """Measure E|dL/dxi| of every head in one pass of gradients over a corpus.

    ``task`` is one of :data:`attlas.tasks.HEADS`; ``ablation`` is the result of ``attlas ablate`` on the same model,
    with whose measured changes the importances are correlated. ``max_pieces`` defaults to 128 for running text,
    to 512 for key phrases.

    >>> from attlas.text import Document
    >>> pairs = [("Hello", "Hi", "5"), ("Cats", "Rain", "0")]
    >>> texts = [Document.from_words([a], pair=Document.from_words([b]), label=label) for a, b, label in pairs]
    >>> result = importance(None, texts, "similarity")
    >>> result.manifest.study, list(result.tables)
    ('importance', ['importance', 'loss'])
    """
    from attlas.studies.importance import Importance
    from attlas.tasks import READ_SCORES

    texts = as_corpus(corpus)
    model = open_for_task(subject, task, texts)
    rows = None if ablation is None else measured(ablation, model).tables["ablation"].to_pylist()
    made = task_for(model, task, texts, seed=seed, score=READ_SCORES.get(task))
    options = {"task": task, "max_pieces": max_pieces, "long": long, "limit": limit}
    setting = Setting("importance", model, texts, options, seed, budget, None if out is None else Path(out))
    setting.require_free(resume=resume)
    say_cutting(progress, len(texts.documents))
    reading = read_for_task(made, texts, max_pieces=max_pieces, long=long, limit=limit, seed=seed)
    study = Importance(made)
    lengths = [example.length for example in reading.examples]
    bundle = carry_out(
        study, reading.examples, lengths, setting.plan, out=setting.out, resume=resume, budget=budget,
        report_progress=progress, checkpoint_every=checkpoint_every,
    )  # fmt: skip
    tables: dict[str, Any] = study.tables(bundle)
    loss = bundle["loss"].result()
    row = {"task": task, "value": loss.value, "low": loss.low, "high": loss.high, "n": loss.n}
    tables["loss"] = as_columns([row])
    if rows is not None:
        _join(tables, rows, seed)
    counts = {"documents": len(texts.documents), "passages": len(reading.examples), "pieces": reading.pieces}
    return setting.finish(tables, counts=counts, skipped=reading.skipped)


def _join(tables: dict[str, Any], cut: list[dict[str, Any]], seed: int) -> None:
    """Put measured changes beside importances, and correlate the two."""
    from attlas.stats import correlate

    own = tables["importance"]
    known = {(row["stream"], row["layer"], row["head"]): row for row in cut}
    places = list(zip(own["stream"], own["layer"], own["head"], strict=True))
    for column in ("change", "loss_change"):
        own[column] = [known.get(place, {}).get(column) for place in places]
    rows = []
    for quantity in ("value", "normalised"):
        for column in ("loss_change", "change"):
            pairs = [
                (one, abs(other)) for one, other in zip(own[quantity], own[column], strict=True) if other is not None
            ]
            found = correlate([one for one, _ in pairs], [other for _, other in pairs], seed=seed)
            rows.append({"quantity": quantity, "against": f"|{column}|", **found._asdict()})
    tables["correlation"] = as_columns(rows)
