"""Changes of the design of ablate, prune and their statistics, each of which a test must notice.

One row for each: its number in the list of design mutants (beyond 39: further ones), what is changed, the file under
``src/attlas``, the text before and after, and the tests of its area.
"""

from __future__ import annotations

CUTTING = "tests/design/test_cutting_design.py"
PAIRED = "tests/design/test_paired_design.py"
CHANCE = "tests/stats/test_chance.py"
SCORES = "tests/stats/test_scores.py"
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
        22, "paired: the interval of the change not paired", "stats/scores.py",
        "_left_out(metric, first[None])", "_left_out(metric, first[None, ::-1])", (PAIRED,),
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
        27, "correlate: 80 % interval (today: the quantile of all intervals)", "stats/intervals.py",
        "quantile = stdtrit(np.maximum(units - 1, 1.0), (1 + LEVEL) / 2)",
        "quantile = stdtrit(np.maximum(units - 1, 1.0), 0.9)", (PAIRED,),
    ),
    (
        40, "ablate: gradients taken on the texts they are correlated with", "studies/ablate/call.py",
        'Importance(posed), choosing, "gradients"', 'Importance(posed), scored, "gradients"', (CUTTING,),
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
        "if not np.ndim(chance):", "if not np.ndim(chance := metric.score(chance) if np.ndim(chance) else chance):",
        (CHANCE,),
    ),
    (
        44, "prune: a model that learned nothing is written", "studies/prune/call.py",
        "write=told is None", "write=True", (NOTHING,),
    ),
    (
        45, "tune: goes on with a model that learned nothing", "run/training.py",
        "            if not warned:\n", "            if True:\n", (NOTHING,),
    ),
    (
        46, "scores: ranks as if a text had nothing to do with those of others", "stats/scores.py",
        "counts = metric.accounts(marks)", "counts = metric.counts(marks)", (SCORES,),
    ),
    (
        47, "scores: where nothing changed, nothing could have", "stats/scores.py",
        "most * edge(moments)", "0 * edge(moments)", (SCORES,),
    ),
    (
        48, "scores: units are not left out, they are left alone", "stats/scores.py",
        "metric.of(sums - counts).T", "metric.of(counts).T", (SCORES,),
    ),
    (
        49, "scores: texts are units, not documents", "stats/scores.py",
        "return counts if units is None else by_unit(counts, units)", "return counts", (SCORES,),
    ),
    (
        50, "scores: perplexity is not taken on its own scale", "stats/metrics.py",
        "sizes=(1,), log=True", "sizes=(1,), log=False", (SCORES,),
    ),
]  # fmt: skip
