"""Which tests are to notice a change of a file: its own examples, and the tests of its area.

An area is a study, a folder or a file; where several names fit, the longest does. Its tests are patterns below
``tests/``, the ones that are likely to notice first, for the first failure ends a run; those that bear the name of
the file come before all others. A study that is not listed has the tests that are called after it. Defaults of a call
are told by the reference, which has a test of its own.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = "tests/docs/test_snippets.py::test_the_reference_is_current"
OF_A_STUDY = "design/*{0}* studies/test_*{0}*.py cli/test_{0}_command.py"
_CUT = "design/*cutting* studies/test_removal*.py studies/test_importance*.py cli/test_prune_command.py"
_FAITH = "design/*faith* studies/test_faith*.py tasks/test_guided.py cli/test_faith_command.py"
_REPLAY = "capture/test_replay.py studies/test_ablate.py"
_DOCTOR = "capture/test_check.py cli/test_planted_faults.py models/test_parity.py cli/test_commands.py"
TESTS = {
    "stats": "stats design/*paired*",
    "measures": "measures studies/test_survey.py studies/test_norms.py",
    "models": "models/test_seam.py models capture",
    "models/depth": "capture/test_check.py cli/test_planted_faults.py",
    "models/mixer": "tasks/test_guided.py studies/test_faith_chunking.py",
    "models/shrinking": "models/test_shrinking.py tools/test_sweep.py",
    "capture": "capture run/test_measures.py cli/test_view.py",
    "capture/asking": _DOCTOR,
    "capture/bypass": _REPLAY,
    "capture/check": _DOCTOR,
    "capture/narrow": _REPLAY,
    "capture/pruned": "models/test_pruning.py cli/test_prune_command.py",
    "capture/reading": "capture/test_looking.py run design/*relations* design/*cutting*",
    "capture/replay": _REPLAY,
    "capture/routes": _REPLAY,
    "capture/tiny": _DOCTOR,
    "studies/ablate": f"studies/test_ablate*.py {_CUT} cli/test_ablate_command.py",
    "studies/clusters": f"{OF_A_STUDY.format('clusters')} studies/test_arrangement.py",
    "studies/faith": _FAITH,
    "studies/faith_chunking": "studies/test_faith_chunking*.py design/*faith* tasks/test_guided.py",
    "studies/heads": "studies/test_three_in_one_pass.py",
    "studies/importance": _CUT,
    "studies/keywords": "studies/test_keywords_p*.py studies/test_keywords_hot_path.py cli/test_keywords_command.py",
    "studies/keywords_compare": (
        "design/*keywords* studies/test_keywords_[bc]*.py cli/test_keywords_compare_command.py"
    ),
    "studies/keywords_study": "design/*keywords* studies/test_keywords_study*.py cli/test_keywords_study_command.py",
    "studies/keywords_tune": "studies/test_tagged_phrases.py cli/test_keywords_tune_command.py",
    "studies/prune": f"{_CUT} studies/test_prune_page.py",
    "studies/relations": f"{OF_A_STUDY.format('relations')} studies/test_three_in_one_pass.py",
    "studies/reporting": (
        "studies/test_reporting.py studies/test_first_format.py studies/test_survey_page.py run/test_measures.py"
    ),
    "studies/shared": (
        "design/*survey* design/*norms* studies/test_survey*.py studies/test_norms*.py studies/test_clusters*.py"
    ),
    "studies/shared/cutting": f"{_CUT} studies/test_ablate*.py cli/test_learned_nothing.py",
    "studies/shared/faith": _FAITH,
    "studies/shared/keywords": (
        "studies/test_published.py design/*keywords* studies/test_keywords*.py cli/test_keywords_command.py"
    ),
    "studies/shared/layer_runs": "studies/test_layers_[cpt]*.py cli/test_layers_case_command.py",
    "studies/shared/published": (
        "studies/test_published.py studies/test_layers_page.py studies/test_faith*page.py design/*relations*"
    ),
    "studies/survey": "design/*survey* studies/test_survey*.py studies/test_three_in_one_pass.py cli/test_comm*.py",
    "studies/tune": "tasks/test_training.py cli/test_tune_command.py",
}


def tests_of(file: str) -> tuple[str, ...]:
    """The tests that are to notice a change of this file of the package.

    >>> tests_of("stats/flips.py")
    ('src/attlas/stats/flips.py', 'tests/stats', 'tests/design/test_paired_design.py')
    >>> [test for test in tests_of("studies/coref/call.py") if "cli" in test]
    ['tests/cli/test_coref_command.py']
    """
    parts = Path(file).with_suffix("").parts
    names = ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
    patterns = next((TESTS[name] for name in names if name in TESTS), OF_A_STUDY.format(parts[1]))
    beside = [test for pattern in patterns.split() for test in sorted(ROOT.glob(f"tests/{pattern}"))]
    beside.sort(key=lambda test: parts[-1] not in test.name)
    told = (REFERENCE,) if parts[-1] == "call" else ()
    return (f"src/attlas/{file}", *told, *dict.fromkeys(str(test.relative_to(ROOT)) for test in beside))
