"""The importance of heads as one call: gradients of a task's loss by every head's gate, and how they agree with what
cutting each head really did, where that was measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Unpack

from attlas.run.parameters import Help, Model, Reading, Task, Texts, study_call
from attlas.run.session import begin
from attlas.run.setting import as_corpus
from attlas.store import Result
from attlas.store.columns import as_columns

BUDGET = 1024  # pieces of a batch: the graph of all layers is kept until the way back


@study_call(budget=BUDGET, keeps="the score of every text beside what chance gives it")
def importance(
    subject: Model = None,
    corpus: Texts = "sample",
    task: Task = "causal-lm",
    *,
    ablation: Annotated[
        Path | str | Result | None,
        Help("The folder of attlas ablate for the same model, to compare with.", kind=Path | None),
    ] = None,
    **running: Unpack[Reading],
) -> Result:
    """Rank heads by E|dL/dξ|, the size of the loss's derivative by each head's gate: one pass of gradients for all.

    Texts have 128 pieces at most where running text is read, 512 for key phrases. Where the ablation was measured on
    texts of the same corpus, what is odd about a text may show in both, which the page says.

    >>> from attlas.text import Document
    >>> pairs = [("Hello", "Hi", "5"), ("Cats", "Rain", "0")]
    >>> texts = [Document.from_words([a], pair=Document.from_words([b]), label=label) for a, b, label in pairs]
    >>> result = importance(None, texts, "similarity")
    >>> result.manifest.study, list(result.tables)
    ('importance', ['importance', 'loss', 'whole'])
    """
    from attlas.run.tasks import open_for_task, read_for_task, task_for
    from attlas.studies.shared.cutting.chance import standing_row
    from attlas.studies.shared.cutting.importance import Importance
    from attlas.studies.shared.cutting.measured import measured
    from attlas.tasks import READ_SCORES

    texts = as_corpus(corpus)
    model = open_for_task(subject, task, texts)
    earlier = None if ablation is None else measured(ablation, model)
    cut = None if earlier is None else earlier.rows("ablation")
    same = earlier is not None and bool(texts.sha256) and earlier.manifest.corpus.get("sha256") == texts.sha256
    posed = task_for(model, task, texts, seed=running["seed"], score=READ_SCORES.get(task))
    how: dict[str, Any] = {name: running[name] for name in ("max_pieces", "long", "limit")}
    with begin("importance", model, texts, {"task": task, **how}, running) as run:
        run.note_cutting(len(texts.documents))
        run.counts |= {"ablated_here": True} if same else {}
        reading = run.read(read_for_task(posed, texts, **how, seed=run.seed))
        part = Importance(posed, len(reading.examples))
        bundle = run.carry(part, reading, numbered=True)
        tables: dict[str, Any] = part.tables(bundle)
        loss = bundle["loss"].result()
        row = {"task": task, "value": loss.value, "low": loss.low, "high": loss.high, "n": loss.n}
        tables["loss"] = as_columns([row])
        marks = bundle["marks"].result()
        tables["whole"] = as_columns([{"task": task, **standing_row(posed, reading.examples, marks, seed=run.seed)}])
        if cut is not None:
            _compare(tables, cut)
        return run.finish(tables)


def _compare(tables: dict[str, Any], cut: list[dict[str, Any]]) -> None:
    """Put measured changes beside importances, and correlate the two."""
    from attlas.studies.shared.cutting.measured import correlation_rows, sizes

    heads = tables["importance"]
    known = {(row["stream"], row["layer"], row["head"]): row for row in cut}
    places = list(zip(heads["stream"], heads["layer"], heads["head"], strict=True))
    for column in ("change", "loss_change"):
        heads[column] = [known.get(place, {}).get(column) for place in places]
    pairs = {
        (quantity, f"|{column}|"): (heads[quantity], sizes(heads[column]))
        for quantity in ("value", "normalised")
        for column in ("loss_change", "change")
    }
    tables["correlation"] = correlation_rows(("quantity", "against"), pairs)
