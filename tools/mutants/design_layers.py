"""Changes of the experimental design of layers and parse, each of which a test must notice.

Each is a number (that of the list of 39 where it has one, else from 350 on), what is changed, the file, the text as
it stands there once, what it becomes, and the tests that notice.
"""

from __future__ import annotations

LAYERS = ("tests/design/test_layers_design.py",)
PARSE = ("tests/design/test_parse_design.py",)
PAGE = ("tests/studies/test_layers_page.py",)
SUMMARY = ("tests/probes/test_edge_summary.py",)

CHANGES: list[tuple[int, str, str, str, str, tuple[str, ...]]] = [
    (
        35,
        "layers: best single layer chosen on test (leak)",
        "probes/edges/tables.py",
        "np.mean([run.of.dev[places[layer]] for run in runs])",
        "np.mean([run.score[places[layer]] for run in runs])",
        LAYERS,
    ),
    (
        36,
        "parse: whose probe it is",
        "probes/tables.py",
        '"none" if job.reads in ("position", "offsets") else _whose(job)',
        '"none" if job.reads in ("position", "offsets") else "model"',
        PARSE,
    ),
    (
        350,
        "layers: the twin is the model itself",
        "studies/layers/passes.py",
        "Mixable(self.lent.enter_context(run.untrained(seed - run.seed)), self.mixable.over)",
        "Mixable(run.subject, self.mixable.over)",
        LAYERS,
    ),
    (
        351,
        "layers: control labels are gold",
        "probes/edges/layout.py",
        'self._sets["control", name] = train.labels[drawn], train.among[drawn]',
        'self._sets["control", name] = layout.labels, layout.among',
        LAYERS,
    ),
    (
        352,
        "layers: probes are trained on test (leak)",
        "probes/edges/training.py",
        'lesson = self.reader.lesson("train", sentences)',
        'lesson = self.reader.lesson("test", sentences % self.reader.layouts["test"].sentences)',
        LAYERS,
    ),
    (
        353,
        "layers: epochs and strengths chosen on test (leak)",
        "probes/edges/training.py",
        'self.marks("dev").by_sentence',
        'self.marks("test").by_sentence',
        LAYERS,
    ),
    (
        354,
        "layers: the linear probe's strength chosen on test (leak)",
        "studies/layers/passes.py",
        'dev = METRICS["f1"].score(training.marks("dev").by_sentence)',
        'dev = METRICS["f1"].score(training.marks("test").by_sentence)',
        LAYERS,
    ),
    (
        355,
        "layers: the linear probe's lead has the other sign",
        "probes/edges/tables.py",
        "run.score[place] - run.score[mlp[spec.layer]]",
        "run.score[mlp[spec.layer]] - run.score[place]",
        LAYERS,
    ),
    (
        356,
        "layers: intervals by sentence, not by document",
        "probes/edges/tables.py",
        "marks = summary.by_unit(one.marks, units)",
        "marks = summary.by_unit(one.marks, None)",
        LAYERS,
    ),
    (
        357,
        "layers: pairs whose intervals overlap are called ordered",
        "studies/layers/findings.py",
        "ordered, apart = order.apart_same, order.apart",
        "ordered, apart = order.same, order.pairs",
        PAGE,
    ),
    (
        358,
        "layers: probes that learned nothing are placed",
        "studies/layers/tables.py",
        "return bool(score < NOTHING or (chance is not None and surely <= chance))",
        "return False",
        PAGE,
    ),
    (
        359,
        "layers: the interval of a score may reach down to chance",
        "studies/layers/tables.py",
        "surely = score if low is None or low != low else low",
        "surely = score",
        PAGE,
    ),
    (
        360,
        "layers: 80 % intervals of what is resampled",
        "probes/edges/summary.py",
        "stdtrit(units - 1, 0.025)",
        "stdtrit(units - 1, 0.1)",
        SUMMARY,
    ),
    (
        361,
        "parse: the twin is the model itself",
        "studies/parse/call.py",
        "work.train(who, studied)",
        "work.train(who, model)",
        PARSE,
    ),
    (
        362,
        "parse: the offset is chosen on test (leak)",
        "probes/parse.py",
        'answer("train", offset).uas)',
        'answer("test", offset).uas)',
        PARSE,
    ),
    (
        363,
        "parse: the structural probe's layer is chosen on test (leak)",
        "probes/parse.py",
        'for answer in edges("dev", range(self.layers))',
        'for answer in edges("test", range(self.layers))',
        PARSE,
    ),
    (
        364,
        "parse: a difference has the other sign",
        "probes/tables.py",
        "estimate(ours[:, 0] - theirs[:, 0], counts[:, 0], (-1, 1))",
        "estimate(theirs[:, 0] - ours[:, 0], counts[:, 0], (-1, 1))",
        PARSE,
    ),
    (
        365,
        "parse: intervals by sentence, not by document",
        "probes/parse.py",
        'part["test"].update(answer.right, answer.total, self.parts["test"].units)',
        'part["test"].update(answer.right, answer.total, range(len(answer.right)))',
        ("tests/studies/test_parse.py",),
    ),
    (
        366,
        "layers: several twins, all of one seed",
        "studies/layers/passes.py",
        "run.untrained(seed - run.seed)",
        "run.untrained(0)",
        LAYERS,
    ),
    (
        367,
        "parse: attention need not beat the twin",
        "studies/parse/page.py",
        '"attention": ("right-branching", "best fixed offset", "untrained: attention")',
        '"attention": ("right-branching", "best fixed offset")',
        ("tests/studies/test_parse_page.py",),
    ),
    (
        368,
        "parse: the first twin stands for all",
        "probes/tables.py",
        "np.mean([right for right, _ in tests], axis=0)",
        "tests[0][0]",
        PARSE,
    ),
]
