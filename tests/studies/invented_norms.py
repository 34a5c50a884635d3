"""An invented result of the norms study, with numbers that are easy to check in the page."""

from __future__ import annotations

from typing import Any

from attlas.store import Manifest, Result

LAYERS, HEADS = 4, 3
CLASSES = {
    "encoder": ("cls", "sep", "punctuation", "other"),
    "decoder": ("first", "punctuation", "other"),
    "cross": ("sep", "punctuation", "other"),
}
WEIGHTS = {"first": 0.5, "cls": 0.1, "sep": 0.4, "punctuation": 0.08, "other": 0.42}
NORMS = {"first": 0.1, "cls": 0.05, "sep": 0.12, "punctuation": 0.1, "other": 0.73}
JOINTS = {"first": 0.08, "cls": 0.04, "sep": 0.06, "punctuation": 0.1, "other": 0.8}
CHANCE = {"first": 0.02, "cls": 0.02, "sep": 0.04, "punctuation": 0.08, "other": 0.86}
RATIOS = {"attention": 0.9, "residual": 0.3, "normalised": 0.2}


def norms_result(streams: tuple[str, ...] = ("encoder",), name: str = "tiny", mixing: bool = True) -> Result:
    """Four layers of three heads; [SEP] has much weight and little norm, punctuation has not."""
    tables: dict[str, list[dict[str, Any]]] = {}

    def add(table: str, **row: Any) -> None:
        tables.setdefault(table, []).append(row)

    for stream in streams:
        for layer in range(LAYERS):
            place = {"stream": stream, "layer": layer}
            for kind in CLASSES[stream]:
                row = _shares(kind)
                joint = {"joint": JOINTS[kind], "joint_low": JOINTS[kind] - 0.001, "joint_high": JOINTS[kind] + 0.001}
                joint |= {f"twin_{key}": CHANCE[kind] for key in ("joint", "joint_low", "joint_high")}
                joint |= {"mean_joint": 0.3, "twin_mean_joint": 0.3, "length_low": 1.0, "length_high": 3.0}
                add("norms_layers", **place, keys=kind, **row, **joint)
                for head in range(HEADS):
                    add("norms", **place, head=head, keys=kind, **row)
                    for who in ("model", "twin"):
                        shown = {"shown": f"layer {layer + 1}", "weight": 0.01 * (head + 1), "length": 2.0}
                        pieces = {"query": "cat", "key": "[SEP]" if kind == "sep" else "dog"}
                        add("scatter", **place, head=head, who=who, **shown, keys=kind, **pieces)
                add("spearman_layers", **place, keys=kind, over="pairs", **_value(-0.1))
            value = 0.2 if layer == LAYERS - 1 else -0.3
            for keys, less in (("all", 1.0), ("other", 0.1)):
                add("spearman_layers", **place, keys=keys, over="texts", **_value(value * less))
                for head in range(HEADS):
                    add("spearman", **place, head=head, keys=keys, over="texts", **_value(value * less))
            for words in ("all", "plain"):
                add("frequency_layers", **place, words=words, **_value(0.25))
                for head in range(HEADS):
                    add("frequency", **place, head=head, words=words, **_value(0.25))
            for first, last in ((1, 10), (11, 100), (101, None)):
                add("bands", **place, rank_from=first, rank_to=last, **_value(1.0 + first / 100), relative=1.0,
                    twin_relative=1.0)  # fmt: skip
            for step, ratio in RATIOS.items() if mixing else ():
                if stream != "cross" or step != "attention":
                    for queries in ("all", "other"):
                        add("mixing", **place, step=step, queries=queries, **_value(ratio))
    order = ("norms", "norms_layers", "spearman", "spearman_layers", "frequency", "frequency_layers", "bands")
    manifest = Manifest(
        "norms",
        {"study": "norms"},
        {"attlas": "0"},
        {"name": name},
        {"name": "a book", "passages": 20, "pieces": 900},
        0,
        {},
        "2025-01-02T00:00:00+00:00",
        3.0,
    )
    kept = [*order, *(["mixing"] if mixing else []), "scatter"]
    return Result(manifest, {name: _columns(tables[name]) for name in kept})


def _shares(kind: str) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in (("weight", WEIGHTS[kind]), ("norm", NORMS[kind])):
        row |= {name: value, f"{name}_low": value - 0.001, f"{name}_high": value + 0.001}
        row |= {f"twin_{name}{end}": CHANCE[kind] for end in ("", "_low", "_high")}
    means = {
        "mean_weight": 0.02,
        "length": 2.0,
        "mean_norm": 0.04,
        "relative": 0.2 if kind in ("sep", "cls") else 1.0,
    }
    twin = {f"twin_{name}": value for name, value in means.items()} | {"twin_relative": 1.0}
    return row | {"chance": CHANCE[kind], "n": 900.0, **means, "pair_count": 900.0, "key_count": 20.0, **twin}


def _value(value: float) -> dict[str, Any]:
    ends = {"low": value - 0.05, "high": value + 0.05}
    return {"value": value, "n": 20.0, **ends, "twin": 0.01, "twin_low": -0.04, "twin_high": 0.06}


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
