"""Small real results of every study, and runs that were cut off, for the suite of result folders.

The results are those of ``tools/same_figures``: every study on fixed small texts, with tiny models of random weights.
A run that is cut off is ended by an interrupt from the keyboard after so many steps, as a person would end it; it can
be resumed, and what it must come to is known from the same run left alone.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from attlas.run.progress import Silent
from attlas.store import Result

CASES = {  # one case of tools/same_figures for every study with a page
    "survey": "survey.plain", "relations": "relations.weight", "coref": "coref.halves", "clusters": "clusters.norm",
    "noop": "noop.tagging", "norms": "norms.named", "parse": "parse.weight", "layers": "layers.pos",
    "layers-case": "layers_case", "layers-together": "layers_together", "ablate": "ablate.survivors",
    "importance": "importance.ablation", "prune": "prune.both", "align": "align.gold",
    "faith": "faith.classification", "faith-chunking": "faith_chunking", "keywords": "keywords.named",
    "keywords-study": "keywords_study.halves", "keywords-compare": "keywords_compare.bundled",
    "keywords-tune": "keywords_tune",
}  # fmt: skip
NEWER: dict[str, Callable[..., Any]] = {  # what tools/same_figures has no case of: (inputs) to a result
    "roles": lambda attlas, of: attlas.roles(of["llama"], of["plain one"], texts=12, closing=False, budget=400),
    "roles-through": lambda attlas, of: attlas.roles_through(
        [of["classifier"], of["classifier two"]], definitions="duplicate,first_key", corpus=of["plain one"], texts=12
    ),
}
SHORT: dict[str, Any] = {"epochs": 4, "step_pieces": 32, "learning_rate": 5e-3}
CUTS = (1, 3, 7)  # steps after which a run is cut off

# calls that can be resumed: (inputs, out, resume, progress, ...) to what they give
RUNS: dict[str, Callable[..., Any]] = {
    "survey": lambda attlas, of, **how: attlas.survey(of["bert"], of["plain one"], budget=64, **how),
    "relations": lambda attlas, of, **how: attlas.relations(of["bert"], of["treebank one"], budget=96, **how),
    "parse": lambda attlas, of, **how: attlas.parse(of["bert"], of["treebank one"], epochs=2, budget=64, **how),
    "layers": lambda attlas, of, **how: attlas.layers(
        of["bert"], of["treebank one"], "pos", limit=12, budget=64, singles=False, twin="none", **SHORT, **how
    ),
    "keywords": lambda attlas, of, **how: attlas.keywords(of["bert"], of["plain one"], top=3, **how),
    "ablate": lambda attlas, of, **how: attlas.ablate(
        of["classifier"], of["labelled one"], "classification", limit=6, budget=64, **how
    ),
    "keywords-study": lambda attlas, of, **how: attlas.keywords_study(
        of["bert"], of["keyphrases one"], folds=2, twin="none", budget=96, **how
    ),
    "noop": lambda attlas, of, **how: attlas.noop(
        of["tagger"], of["treebank one"], "tagging:upos", limit=8, budget=64, **how
    ),
    "faith-chunking": lambda attlas, of, **how: attlas.faith_chunking(
        of["chunked one"],
        of["chunked two"],
        weights=[0.5, 1],
        width=8,
        ffn=8,
        epochs=2,
        seeds=1,
        middle=1,
        guided=1,
        instances=2,
        limit=16,
        **how,
    ),
    "roles": lambda attlas, of, **how: attlas.roles(
        of["llama"], of["plain one"], definitions="duplicate,first_key", texts=12, closing=False, budget=400, **how
    ),
    "tune": lambda attlas, of, **how: attlas.tune(
        of["bert"], of["labelled one"], "classification", epochs=2, batch_size=4, **how
    ),
}


class CutOff(Silent):
    """Progress after so many steps of which somebody presses Ctrl-C.

    >>> CutOff(2).advance(10)
    """

    def __init__(self, steps: int) -> None:
        self.left = steps

    def advance(self, pieces: int) -> None:
        """One step more."""
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@dataclass(frozen=True)
class Seeds:
    """Folders to damage: finished results by study, and runs that were cut off, with how to resume them and the
    tables that they must come to."""

    results: Mapping[str, Path]
    cut_off: Mapping[str, Path]
    truth: Mapping[str, Any]
    inputs: Any

    def resume(self, name: str, out: Path) -> Any:
        """Go on with a run of :attr:`cut_off`; gives what it came to."""
        import attlas

        return figures(RUNS[name.partition(" ")[0]](attlas, self.inputs, out=out, resume=True))


def figures(given: Any) -> Any:
    """What must be the same whether a run was cut off or not: all tables but times; of a training its weights."""
    tool = _tool()
    if isinstance(given, Result):
        tables = {name: table.to_pydict() for name, table in given.tables.items()}
    else:
        tables = tool.cases("after").cases_before.record_tables(given.record)
    timed = map(tool.without_timed_rows, tables.items())
    return {
        table: {name: repr(cells) for name, cells in columns.items() if name not in tool.TIMINGS}
        for table, columns in timed
    }


def make(folder: Path) -> Seeds:
    """A result of every study, and runs of some that were cut off."""
    tool = _tool()
    module = tool.cases("after")
    inputs = import_module("inputs").make_inputs(folder / "inputs")
    results: dict[str, Path] = {}
    for study, case in CASES.items():
        place = folder / "cases" / study
        place.mkdir(parents=True)
        tool.seed_all()
        result = module.CASES[case](place, inputs)
        results[study] = result.folder or result.save(folder / "results" / study)
    for study, newer in NEWER.items():
        results[study] = newer(import_module("attlas"), inputs).save(folder / "results" / study)
    return Seeds(results, *cut_runs(folder, inputs), inputs)


def cut_runs(
    folder: Path, inputs: Any, names: Sequence[str] = tuple(RUNS), cuts: Sequence[int] = CUTS
) -> tuple[dict[str, Path], dict[str, Any]]:
    """Runs that were cut off after so many steps, by name and steps, and what each comes to when it is left alone."""
    import attlas

    cut_off: dict[str, Path] = {}
    truth: dict[str, Any] = {}
    for name in names:
        truth[name] = figures(RUNS[name](attlas, inputs, out=folder / "whole" / name))
        for steps in cuts:
            out = folder / "cut" / f"{name} {steps}"
            with contextlib.suppress(KeyboardInterrupt):
                RUNS[name](attlas, inputs, out=out, progress=CutOff(steps))
            if (out / "checkpoint").is_dir() or any(out.glob(".*.jsonl")):
                cut_off[out.name] = out
    return cut_off, truth


def _tool() -> Any:
    """``tools/same_figures``, whose modules stand alone."""
    place = str(Path(__file__).parents[1] / "same_figures")
    if place not in sys.path:
        sys.path.insert(0, place)
    return import_module("run")
