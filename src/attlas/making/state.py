"""What has become of each study of an atlas, kept in the model's folder so that an interrupted one can go on.

The file says what was planned and how far it came. It is written anew after every study, whole or not at all; a run
that goes on with another plan is refused with the differences in words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attlas.errors import PlanError, StoreError
from attlas.run.plan import differences
from attlas.store.plain import plain
from attlas.whole import require_plain, write_whole

STATE = "steps.json"
DONE, UNFIT, FAILED = "done", "does not fit", "failed"


@dataclass(frozen=True)
class Outcome:
    """What has become of one study: done, not fitting or failed, and then why; on which corpus, in how many seconds.

    >>> Outcome("coref", UNFIT, "a.txt has no coreference").state
    'does not fit'
    """

    study: str
    state: str
    reason: str = ""
    corpus: str = ""
    seconds: float = 0.0


@dataclass
class State:
    """The plan of one model's studies, and the outcome of each so far, by its name.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> state = State({"seed": 0})
    >>> state.add(Outcome("norms", DONE))
    >>> state.write(folder)
    >>> State.of(folder).outcomes["norms"].state, State.of(Path("nowhere"))
    ('done', None)
    """

    plan: Mapping[str, Any]
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def add(self, *outcomes: Outcome) -> None:
        """Note what has become of some studies."""
        self.outcomes |= {outcome.study: outcome for outcome in outcomes}

    def write(self, folder: Path) -> None:
        """Write it down in a model's folder."""
        folder.mkdir(parents=True, exist_ok=True)
        outcomes = [asdict(outcome) for outcome in self.outcomes.values()]
        text = json.dumps({"plan": plain(self.plan, "plan"), "steps": outcomes}, indent=1, ensure_ascii=False)
        write_whole(folder / STATE, text + "\n")

    @classmethod
    def of(cls, folder: Path) -> State | None:
        """What is written in a model's folder; None where nothing is."""
        path = folder / STATE
        try:
            require_plain(path)
            read = json.loads(path.read_text(encoding="utf-8"))
            return cls(dict(read["plan"]), {each["study"]: Outcome(**each) for each in read["steps"]})
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, TypeError, KeyError, RecursionError, UnicodeDecodeError):
            raise StoreError(
                f"{path}: this does not say what an atlas did; delete the folder {folder} and make it again"
            ) from None

    def require(self, plan: Mapping[str, Any], folder: Path) -> None:
        """Refuse to go on with another plan.

        >>> State({"seed": 0}).require({"seed": 1}, Path("out"))
        Traceback (most recent call last):
            ...
        attlas.errors.PlanError: out: what was begun here has another plan (seed: was 0, is now 1); go back to it, ...
        """
        changed = differences(self.plan, plain(plan, "plan"))
        if changed:
            more = f"; and {len(changed) - 4} more" if len(changed) > 4 else ""
            raise PlanError(
                f"{folder}: what was begun here has another plan ({'; '.join(changed[:4])}{more}); go back to it, or "
                "choose another --out"
            )
