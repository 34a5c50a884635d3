"""What cutting heads did to a model, from an earlier ``attlas ablate``, and how well figures of heads agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import StoreError
from attlas.stats import correlate
from attlas.store import Result
from attlas.store.columns import as_columns
from attlas.studies.reporting import require_schemas

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.corpora import Corpus


def measured(ablation: Path | str | Result, model: Subject, *, other_than: Corpus | None = None) -> Result:
    """The result of an ablation of this model, in memory or in a folder; on other texts than some, where it matters.

    >>> from attlas.capture import load
    >>> from attlas.store import Manifest
    >>> measured(Result(Manifest("survey"), {"heads": {"layer": [0]}}), load())
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: the result: a result of the study 'ablate' was expected, and this is 'survey'
    """
    result = ablation if isinstance(ablation, Result) else Result.open(ablation)
    where = "the result" if isinstance(ablation, Result) else str(ablation)
    about = result.manifest
    if about.study != "ablate":
        raise StoreError(f"{where}: a result of the study 'ablate' was expected, and this is {about.study!r}")
    if about.model.get("fingerprint") != model.fingerprint:
        raise StoreError(f"{where}: it is of {about.model.get('name')}, whose weights are not {model.name}'s")
    if other_than is not None and other_than.sha256 and about.corpus.get("sha256") == other_than.sha256:
        raise StoreError(
            f"{where}: its changes were measured on the texts that are to be scored; ablate on others, or leave it "
            "out"
        )
    if result.folder is not None:
        require_schemas(result)
    for row in result.rows("ablation"):
        changes = [row.get(name) for name in ("change", "loss_change")]
        if not (isinstance(row["layer"], int) and isinstance(row["head"], int) and all(map(_number, changes))):
            raise StoreError(f"{where}: its changes of heads are no numbers; ablate again")
    return result


def _number(change: object) -> bool:
    return change is None or isinstance(change, int | float)


def correlation_rows(
    names: tuple[str, str], pairs: Mapping[tuple[str, str], tuple[Sequence[Any], Sequence[Any]]]
) -> dict[str, list[Any]]:
    """Correlations of two figures of the same heads, by what they are; where one is missing the head does not count.

    >>> rows = correlation_rows(("with", "quantity"), {("importance", "loss"): ([1, 2, 3, None], [1, 2, 4, 0])})
    >>> rows["with"], rows["spearman"]
    (['importance'], [1.0])
    """
    rows = []
    for key, (first, second) in pairs.items():
        rows.append({**dict(zip(names, key, strict=True)), **correlate(first, second)._asdict()})
    return as_columns(rows)


def sizes(changes: Sequence[float | None]) -> list[float | None]:
    """How large changes are, whichever way; what is missing stays so.

    >>> sizes([-0.5, None])
    [0.5, None]
    """
    return [None if change is None else abs(change) for change in changes]
