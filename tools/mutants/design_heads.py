"""Changes of the design of the studies of heads (survey, norms, noop, clusters), of intervals and of the twin, each
of which a test must notice: number, what, file, before, after, tests. Those that are not of the first list count on
from 101."""

from __future__ import annotations

_INTERVALS = ("tests/stats/test_intervals.py",)
_CLUSTERS = ("tests/design/test_clusters_design.py",)
_SURVEY = ("tests/design/test_survey_design.py",)
_NORMS = ("tests/design/test_norms_design.py",)
_NOOP = ("tests/design/test_noop_design.py",)

CHANGES = [
    (
        25,
        "pooled: T/(T-1) dropped (today: the leverage of a unit)",
        "stats/intervals.py",
        "((residual / (1 - leverage)) ** 2).sum(0)",
        "(residual**2).sum(0)",
        _INTERVALS,
    ),
    (26, "pooled: 90 % interval", "stats/intervals.py", "LEVEL = 0.95", "LEVEL = 0.9", _INTERVALS),
    (
        38,
        "clusters: p not counting the true deal",
        "studies/clusters/arrangement.py",
        "(1 + near) / (1 + shuffles)",
        "near / shuffles",
        _CLUSTERS,
    ),
    (
        39,
        "twin: weights are the trained ones",
        "capture/subject.py",
        "twin = type(self)(untrained(self.name, self.model, self.pieces.tokenizer, seed))",
        "twin = self",
        (*_NORMS, *_NOOP),
    ),
    (
        101,
        "survey: halves by passage, not by unit",
        "studies/survey/passes.py",
        "half_of(example.unit, study.seed)",
        "half_of(hash(example.passage.first.text), study.seed)",
        _SURVEY,
    ),
    (
        102,
        "survey: the best head is told from where it was chosen",
        "studies/survey/findings.py",
        '("first_half", "second_half") if halved',
        '("first_half", "first_half") if halved',
        _SURVEY,
    ),
    (
        103,
        "clusters: the nearest pair is told from where it was chosen",
        "studies/clusters/page.py",
        '("first_half", "second_half") if halved',
        '("first_half", "first_half") if halved',
        _CLUSTERS,
    ),
    (
        104,
        "clusters: the test asks whether layers lie apart",
        "studies/clusters/arrangement.py",
        "(inside(deals) <= true * (1 + 1e-12))",
        "(inside(deals) >= true * (1 - 1e-12))",
        _CLUSTERS,
    ),
    (
        105,
        "clusters: one twin several times",
        "studies/clusters/tables.py",
        "own, others = model[stream], [twin[stream] for twin in twins]",
        "own, others = model[stream], [twins[0][stream] for twin in twins]",
        _CLUSTERS,
    ),
    (
        106,
        "norms: the twin is the model",
        "studies/norms/tables.py",
        "own, others = model[stream], [twin[stream] for twin in twins]",
        "own, others = model[stream], [model[stream] for twin in twins]",
        _NORMS,
    ),
    (
        107,
        "norms: pairs drawn again by text, not by unit",
        "studies/norms/tables.py",
        "units.get(int(text), int(text))",
        "int(text)",
        _NORMS,
    ),
    (
        108,
        "noop: drawn again by text, not by unit",
        "studies/noop/passes.py",
        "np.stack([both.sum(2)] * 2, axis=1), units)",
        "np.stack([both.sum(2)] * 2, axis=1), [id(example) for example in batch])",
        _NOOP,
    ),
    (
        109,
        "noop: gradients are measured where the head was trained (leak)",
        "studies/noop/call.py",
        'run.carry(part, measured_on, f"{who}gradients", numbered=True)',
        'run.carry(part, trained_on or measured_on, f"{who}gradients", numbered=True)',
        _NOOP,
    ),
    (
        110,
        "noop: the sign of a gradient counts",
        "studies/noop/passes.py",
        "passed.gradients[site].float().abs() * pairs",
        "passed.gradients[site].float() * pairs",
        _NOOP,
    ),
    (
        111,
        "several twins: all of one seed",
        "run/session.py",
        "(of or self.subject).twin(self.seed + number)",
        "(of or self.subject).twin(self.seed)",
        _NORMS,
    ),
    (
        112,
        "heads: units of both halves share their numbers",
        "studies/heads/call.py",
        "unit=example.unit + scored_on.units",
        "unit=example.unit",
        ("tests/studies/test_three_in_one_pass.py",),
    ),
    (
        113,
        "noop: heads are spoken of where the model learned nothing",
        "studies/noop/page.py",
        "find(tables) if warning(tables) is None else ()",
        "find(tables)",
        ("tests/cli/test_learned_nothing.py",),
    ),
    (
        114,
        "noop: the first twin stands for all",
        "studies/noop/tables.py",
        "np.mean([twin[name] for twin in twins], axis=0)",
        "twins[0][name]",
        _NOOP,
    ),
    (
        115,
        "chance: each text is given its own translation",
        "run/chance.py",
        "zip(order, np.roll(order, 1), strict=True):\n        if place != other:",
        "zip(order, order, strict=True):\n        if len(order) > 1:",
        ("tests/run/test_chance_levels.py",),
    ),
]
