"""Changes of the design of ablate, prune and their statistics, each of which a test must notice.

One row for each: its number in the list of design mutants (beyond 39: further ones), what is changed, the file under
``src/attlas``, the text before and after, and the tests of its area.
"""

from __future__ import annotations

CUTTING = "tests/design/test_cutting_design.py"
PAIRED = "tests/design/test_paired_design.py"
CHANCE = "tests/stats/test_chance.py"
NOTHING = "tests/cli/test_learned_nothing.py"

CHANGES: list[tuple[int, str, str, str, str, tuple[str, ...]]] = [
    (
        14, "ablate: survivors chosen on the scored texts (leak)", "studies/ablate/call.py",
        "choosing = run.read(read_for_task(posed, chosen_on, **how, seed=seed)",
        "choosing = run.read(read_for_task(posed, scored_on, **how, seed=seed)", (CUTTING,),
    ),
    (
        15, "ablate: p not corrected", "studies/ablate/tables.py",
        'f"{prefix}p_corrected": holm(part.p[some])', 'f"{prefix}p_corrected": part.p[some]', (CUTTING,),
    ),
    (
        16, "prune: orders made on the scored texts (leak)", "studies/prune/call.py",
        "chosen = read_for_task(posed, chosen_on, **how, seed=seed)",
        "chosen = read_for_task(posed, scored_on, **how, seed=seed)", (CUTTING,),
    ),
    (
        22, "paired: bootstrap of the change not paired", "stats/paired.py",
        "ends[2:, number] = _middle(drawn - of_whole)", "ends[2:, number] = _middle(drawn - of_whole[::-1])",
        (PAIRED,),
    ),
    (
        23, "paired: the seen difference not counted in", "stats/paired.py",
        "as_large = np.ones(cuts)", "as_large = np.zeros(cuts)", (PAIRED,),
    ),
    (
        24, "paired: too few shuffles to survive correction", "stats/paired.py",
        "max(SHUFFLES, PER_CUT * len(flat))", "1000", (PAIRED,),
    ),
    (
        27, "correlate: 80 % interval", "stats/correlation.py",
        "(0.025, 0.975)", "(0.1, 0.9)", (PAIRED,),
    ),
    (
        40, "ablate: gradients taken on the texts they are correlated with", "studies/ablate/call.py",
        "_add_importance(tables, run, posed, choosing)", "_add_importance(tables, run, posed, scored)", (CUTTING,),
    ),
    (
        41, "ablate: texts are units, not documents", "studies/ablate/call.py",
        "units=[example.unit for example in reading.examples], seed=run.seed", "seed=run.seed", (CUTTING,),
    ),
    (
        42, "guard: the score alone is compared, not its interval", "stats/chance.py",
        "(_known(low) and low > 0)", '(row["gain"] > 0)', (CHANCE,),
    ),
    (
        43, "guard: chance is not compared text by text", "stats/chance.py",
        "others = rival * cases if alone else rival[:, 0]",
        "others = (rival if alone else rival[:, 0].sum() / rival[:, 1].sum()) * cases", (CHANCE,),
    ),
    (
        44, "prune: a model that learned nothing is written", "studies/prune/call.py",
        "write=told is None", "write=True", (NOTHING,),
    ),
    (
        45, "tune: goes on with a model that learned nothing", "run/training.py",
        "            if not warned:\n", "            if True:\n", (NOTHING,),
    ),
]  # fmt: skip
