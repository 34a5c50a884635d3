"""Edge probing: model, corpus, task in this order; ``dev`` is ``validation``, ``rate`` is ``learning_rate``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

SHORT: dict[str, Any] = {"epochs": 4, "step_pieces": 32, "learning_rate": 5e-3}
CONTROL: dict[str, Any] = {"twin": "none", "control": False}
RUNS: dict[str, tuple[str, str, str, dict[str, Any]]] = {  # model, file and task of a case, and its options
    "pos": ("bert", "treebank one", "pos", {"limit": 16, "out": "out", **SHORT}),
    "dependencies": ("bert", "treebank one", "dependencies", {
        "validation": "treebank two", "test": "treebank three", "lengths": "own", "singles": False, "twin": "none",
        "seeds": 2, "limit": 12, **SHORT}),
    "coreference": ("bert", "treebank one", "coreference", {"singles": False, **CONTROL, **SHORT}),
    "entities": ("llama", "entities one", "entities", {"twin": "none", "limit": 16, "mixing_rate": 5e-2, **SHORT}),
    "spans": ("bert", "spans one", "spans", {
        "over": "heads", "epochs": 8, "step_pieces": 32, "learning_rate": 1e-2, **CONTROL}),
    "relations": ("bert", "nominals one", "relations", {
        "validation": "nominals two", "test": "nominals three", "twin": "none", **SHORT}),
    "roles": ("marian", "propbank one", "roles", {"validation": "propbank two", **CONTROL, **SHORT}),
    "constituents": ("bert", "propbank one", "constituents", {
        "over": "heads", "lengths": "usual", "singles": False, "test": "propbank two", "limit": 12, **SHORT}),
    "proto_roles": ("bert", "properties one", "proto-roles", {
        "test": "properties two", "seed": 1, **CONTROL, **SHORT}),
}  # fmt: skip


def case(name: str) -> Callable[[Path, Any], Any]:
    """A run of one task."""
    model, file, task, options = RUNS[name]

    def run(folder: Path, inputs: Any) -> Any:
        import attlas

        files = {part: inputs[options[part]] for part in ("validation", "test") if part in options}
        place = {"out": folder / "out"} if "out" in options else {}
        return attlas.layers(inputs[model], inputs[file], task, **{**options, **files, **place})

    return run


def finished_runs(folder: Path, inputs: Any) -> Path:
    """A folder with two runs: one of single spans, one of pairs."""
    import attlas

    for task, file in (("pos", "spans one"), ("dependencies", "paired one")):
        attlas.layers(inputs["bert"], inputs[file], task, singles=False, limit=12, out=folder / "runs" / task,
                      **CONTROL, **SHORT)  # fmt: skip
    return folder / "runs"


def layers_case(folder: Path, inputs: Any) -> Any:
    import attlas

    runs = finished_runs(folder, inputs)
    return attlas.layers_case(inputs["bert"], "The old farmer slept.", ["1:3", "2:3,3:4"], [runs])


def layers_together(folder: Path, inputs: Any) -> Any:
    import attlas

    return attlas.layers_together([finished_runs(folder, inputs)], out=folder / "out")


CASES = {f"layers.{name}": case(name) for name in RUNS} | {
    "layers_case": layers_case,
    "layers_together": layers_together,
}
