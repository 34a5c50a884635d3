"""What is read of an aligner in a process of its own, by hand: its files, and its table of probabilities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attlas.errors import PlanError
from attlas.studies.align.aligners import _UNSEEN, _Table, _train

WRITES = "import sys; open(sys.argv[1], 'w').write('x')"


def test_an_aligner_must_leave_all_its_files(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert _train("it", f"{WRITES}; print('done')", [one]) == b"done\n"
    with pytest.raises(PlanError, match="it stopped with status 0 and no links"):
        _train("it", WRITES, [one, other])
    with pytest.raises(PlanError, match="it stopped with status 3 and no links: it said nothing"):
        _train("it", "raise SystemExit(3)", [one])


def test_a_word_that_was_never_seen_has_no_probabilities() -> None:
    """Words are numbers from 2; 1 is having no partner, and 0 what is not known."""
    table = _Table.__new__(_Table)
    table._number = {"le": 2, "chat": 3, "the": 4, "cat": 5}
    share = lambda *values: np.array(values, dtype=np.float32)  # noqa: E731
    table._rows = {1: (np.array([4]), share(0.5)), 2: (np.array([4, 5]), share(0.75, 0.25))}
    found = table.between(["le", "zut"], ["cat", "the", "dog"])
    assert np.allclose(found, [[_UNSEEN, 0.5, _UNSEEN], [0.25, 0.75, _UNSEEN], [_UNSEEN] * 3])
