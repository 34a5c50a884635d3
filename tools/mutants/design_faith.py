"""Changes of the design of the studies of faith, each of which their tests must notice."""

from __future__ import annotations

TESTS = ("tests/design/test_faith_design.py",)
MARGINS = "studies/faith/margins.py"

# number, what is changed, the file below src/attlas, what stands there, what it becomes, the tests
CHANGES: list[tuple[int, str, str, str, str, tuple[str, ...]]] = [
    (28, "faith: units are instances, not texts", "studies/faith/middles.py",
     "np.unique(np.asarray(units), return_inverse=True)", "np.unique(np.arange(len(units)), return_inverse=True)",
     TESTS),
    (29, "faith: share of flipped labels wrong", "studies/shared/faith/adversary.py",
     "flipped = found.predicted.argmax(-1) != own.predicted.argmax(-1)",
     "flipped = found.predicted.argmax(-1) == own.predicted.argmax(-1)", TESTS),
    (30, "card: least tau .1", MARGINS, "LEAST_TAU, MOST_TAU = 0.2, 0.5", "LEAST_TAU, MOST_TAU = 0.1, 0.5", TESTS),
    (31, "card: moved .02", MARGINS, "MOVED = 0.1", "MOVED = 0.02", TESTS),
    (32, "card: far .5", MARGINS, "FAR = 0.311", "FAR = 0.5", TESTS),
    (33, "card: needed .2", MARGINS, "NEEDED = 0.1", "NEEDED = 0.2", TESTS),
    (34, "card: half .25", MARGINS, "HALF = 0.5", "HALF = 0.25", TESTS),
    (37, "bend: 80 % interval", "probes/edges/summary.py", "t.ppf(0.975, len(known) - 1)",
     "t.ppf(0.9, len(known) - 1)", TESTS),
]  # fmt: skip
