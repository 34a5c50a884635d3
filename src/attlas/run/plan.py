"""A plan: all that decides the numbers of a run, and nothing else.

Two runs of one plan give the same result; where to write it, how often to save, and what to show meanwhile are not
part of it. A plan is kept in the checkpoint and in the manifest, and a run is resumed only when its plan is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attlas.errors import PlanError, printable
from attlas.run.settling import First
from attlas.store.checkpoint import without_budget
from attlas.store.plain import plain

TOLD, LONGEST = 6, 120  # differences of plans in a sentence, and letters of each value


@dataclass(frozen=True)
class Plan:
    """What is to be done: the study and its options, on which model and corpus, in what batches, with which seed.

    ``model`` holds at least the fingerprint, ``corpus`` the sha256, ``batching`` the budget of pieces, ``version`` is
    that of attlas. All values are turned into what JSON can hold.

    >>> plan = Plan("survey", options={"layers": (0, 1)}, seed=7)
    >>> plan.options
    {'layers': [0, 1]}
    >>> Plan.from_dict(plan.to_dict()) == plan
    True
    >>> Plan("survey", options={"limit": First(3)}).options
    {'limit': None, 'first': 3}
    """

    study: str
    options: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    corpus: Mapping[str, Any] = field(default_factory=dict)
    batching: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    version: str = ""

    def __post_init__(self) -> None:
        limit = self.options.get("limit")
        if isinstance(limit, First):  # which a plain number would not tell
            object.__setattr__(self, "options", {**self.options, "limit": None, "first": int(limit)})
        for name in ("options", "model", "corpus", "batching"):
            object.__setattr__(self, name, plain(getattr(self, name), name))

    def to_dict(self) -> dict[str, Any]:
        """The plan as nested dictionaries, as checkpoints and manifests keep it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Plan:
        """The plan that was turned into this dictionary."""
        return cls(**values)

    def to_json(self) -> str:
        """The plan as JSON text with sorted keys, so that equal plans are equal texts.

        >>> Plan("survey").to_json()[:32]
        '{"batching": {}, "corpus": {}, "'
        """
        return json.dumps(self.to_dict(), sort_keys=True)


def differences(before: Plan | Mapping[str, Any], now: Plan | Mapping[str, Any]) -> list[str]:
    """Each value in which two plans differ, in words.

    >>> differences(Plan("survey", {"layers": [0, 1]}), Plan("survey", {"layers": [0, 2], "top": 5}, seed=1))
    ['options, layers, item 1: was 1, is now 2', 'options, top: was not set, is now 5', 'seed: was 0, is now 1']
    """
    old, new = (plan.to_dict() if isinstance(plan, Plan) else plain(plan, "plan") for plan in (before, now))
    return list(_differ(old, new, ()))


def require_resumable(
    where: Path, before: Mapping[str, Any], now: Plan, *, resume: bool, other_budget: bool = False
) -> None:
    """Refuse to go on from a file that an earlier run has left, unless that is asked for and the plan is the same;
    with ``other_budget`` but for the size of batches.

    >>> require_resumable(Path("state.npz"), {}, Plan("survey"), resume=False)
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: state.npz: an earlier run was interrupted here; go on with --resume, or delete this file
    """
    if not resume:
        raise PlanError(f"{where}: an earlier run was interrupted here; go on with --resume, or delete this file")
    if other_budget:
        changed = differences(without_budget(before), without_budget(now.to_dict()))
    else:
        changed = differences(before, now)
    if changed:
        more = f"; and {len(changed) - TOLD} more" if len(changed) > TOLD else ""
        told = "; ".join(changed[:TOLD]) + more
        raise PlanError(f"{where}: this checkpoint has another plan ({told}); go back to it, or delete it")


def _shown(value: Any) -> str:
    text = "not set" if value is _MISSING else printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


_MISSING = object()


def _differ(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differ(one, other, (*path, f"item {index}"))
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from _differ(old.get(key, _MISSING), new.get(key, _MISSING), (*path, key))
    elif type(old) is not type(new) or old != new:
        yield f"{printable(', '.join(path))[:LONGEST]}: was {_shown(old)}, is now {_shown(new)}"
