"""The guard on pages about cutting: where a model is not shown to do its task, one line says so, and nothing else is
concluded.

Each of these studies has a table ``whole`` with the score of the whole model and how it stands against chance
(:class:`attlas.stats.Standing`). Where its interval reaches down to chance, figures are shown as they are, but no
head is said to matter and nothing is recommended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attlas.pages import Finding, Prose, Row, Tables
from attlas.pages.findings import finding, value_claim
from attlas.pages.prose import say
from attlas.stats import Metric
from attlas.stats.chance import GUESSES, not_shown
from attlas.store.schema import is_known

if TYPE_CHECKING:
    from attlas.models import Example
    from attlas.tasks import Task

Find = Callable[[Tables], Iterable[Finding]]


def standing_row(
    task: Task, examples: Sequence[Example], marks: Any, *, metric: Metric | None = None, seed: int = 0
) -> dict[str, Any]:
    """The whole model's score on some texts and how it stands against chance, as cells of a table ``whole``.

    >>> from attlas.capture import load
    >>> from attlas.corpora import read
    >>> from attlas.run.chance import chance_of
    >>> from attlas.run.tasks import read_for_task
    >>> from attlas.tasks import Tagging
    >>> task = Tagging(load(), "upos", tags=["NOUN", "VERB", "DET"])
    >>> examples = read_for_task(task, read("sample"), limit=20).examples
    >>> row = standing_row(task, examples, chance_of(task, examples))
    >>> row["metric"], row["gain"], row["units"]
    ('accuracy', 0.0, 20)
    """
    from attlas.run.chance import guess_of, standing_of

    score = task.metric if metric is None else metric
    known = standing_of(task, examples, marks, metric=score, seed=seed)._asdict()
    cells = {name: value if is_known(value) else None for name, value in known.items()}
    return {"metric": score.name, "better": score.better, **cells, "guess": guess_of(task, score), "n": len(examples)}


def unshown(row: Row) -> str | None:
    """The sentence of a row of ``whole`` where its model is not shown to be better than chance.

    >>> unshown({"metric": "accuracy", "better": "higher", "score": 0.9, "chance": 0.6}) is None
    True
    """
    if "gain_low" in row or not is_known(row.get("chance")):
        return not_shown(str(row["metric"]), row)
    sign = 1 if row["better"] == "higher" else -1  # a result from before there were intervals
    gain = sign * (row["score"] - row["chance"])
    return not_shown(str(row["metric"]), {**row, "gain": gain, "gain_low": gain, "gain_high": gain})


def warning(tables: Tables) -> str | None:
    """One line where the whole model is not shown to be better than chance on the texts that are scored.

    >>> from attlas.store import Manifest, Result
    >>> row = {"metric": ["accuracy"], "better": ["higher"], "score": [0.5], "chance": [0.6]}
    >>> warning(Tables(Result(Manifest("toy"), {"whole": row})))[:47]
    'The model has not shown that it can do this tas'
    """
    return next(map(unshown, tables["whole"][:1]), None)


def shown(find: Find) -> Find:
    """What is found, unless the model is not shown to be better than chance.

    >>> from attlas.store import Manifest, Result
    >>> list(shown(lambda tables: [])(Tables(Result(Manifest("toy"), {"whole": {"metric": []}}))))
    []
    """

    def told(tables: Tables) -> Iterator[Finding]:
        if warning(tables) is None:
            yield from find(tables)

    return told


def only_the_score(tables: Tables) -> Finding | None:
    """What is left to say of a model that is not shown to be better than chance: its score, and that of chance.

    >>> from attlas.store import Manifest, Result
    >>> only_the_score(Tables(Result(Manifest("toy"), {"whole": {"metric": []}}))) is None
    True
    """
    for row in tables["whole"][:1]:
        return finding(
            "The whole model's {metric} is {score:number}{chance}; what its heads do for the task cannot be asked of "
            "it.", value_claim("whole", "score", row, "part" if "part" in row else "metric"),
            **{**row, "chance": by_chance(row)},
        )  # fmt: skip
    return None


def by_chance(row: Row) -> Prose | str:
    """What chance is and scores, in brackets; nothing where there is no such thing.

    >>> str(by_chance({"metric": "accuracy", "chance": 0.6}))
    ' (always giving the most frequent label: 0.60)'
    """
    if not is_known(row.get("chance")):
        return ""
    guess = row.get("guess") or GUESSES.get(row["metric"], "chance")
    return say(" ({guess}: {chance:number})", guess=guess, chance=row["chance"])
