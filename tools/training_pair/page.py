"""What a pair of trainings shows, as Markdown and a picture: curves with intervals over seeds, and what closing does.

An interval over seeds is Student's, of the mean of so few models; the spread of single models is in the figures. The
*first head* of a moment is the one that scored highest on the texts that choose, with its score on the others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from tools.training_pair.model import Shape
from tools.training_pair.watch import random_heads

KINDS = {"natural": "natural text", "bigrams": "its bigrams"}
CURVES = {
    "induction": "induction score of the first head",
    "previous": "previous-piece score of the highest head",
    "gain": "loss on the first copy less that on the second",
    "closing": "rise of the loss on the second copy without the first three heads",
    "random": "the same without as many others (mean of the draws)",
    "in_context": "loss on late less early pieces, own kind of text",
    "loss": "loss, own kind of text held out",
}
ROWS = 16  # moments in the table
Numbers = NDArray[np.float64]


def read(file: Path) -> dict[str, Any]:
    """The figures that training wrote."""
    record: dict[str, Any] = json.loads(file.read_text())
    return record


def curve(record: dict[str, Any], name: str) -> Numbers:
    """One figure over moments and models, (moment, model)."""
    rows = []
    for moment in record["moments"]:
        if name == "induction":
            firsts = [heads[0] for heads in moment["chosen"]]
            rows.append([moment[name][model][layer][head] for model, (layer, head) in enumerate(firsts)])
        elif name == "previous":
            rows.append([float(np.max(scores)) for scores in moment[name]])
        elif name == "gain":
            rows.append([a - b for a, b in zip(moment["first_copy"], moment["second_copy"], strict=True)])
        elif name == "random":
            rows.append([float(np.mean(draws)) for draws in moment[name]])
        else:
            rows.append(moment[name])
    return np.array(rows, dtype=float)


def models_of(record: dict[str, Any], kind: str) -> list[int]:
    """The places of the models of a kind."""
    return [at for at, model in enumerate(record["models"]) if model["kind"] == kind]


def over_seeds(values: Numbers) -> tuple[float, float, float]:
    """Mean and 95 % interval over seeds, by Student's t.

    >>> [round(one, 3) for one in over_seeds(np.array([1.0, 2.0, 3.0]))]
    [2.0, -0.484, 4.484]
    """
    mean = float(values.mean())
    if len(values) < 2:
        return mean, float("nan"), float("nan")
    half = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return mean, mean - half, mean + half


def turning(steps: Sequence[int], values: Numbers) -> int | None:
    """The first step at which a curve is past half of the way from its first value to its last; nothing where it does
    not rise by .1.

    >>> turning([0, 10, 20, 30], np.array([0.0, 0.1, 0.7, 0.8]))
    20
    """
    if values[-1] - values[0] < 0.1:
        return None
    half = (values[0] + values[-1]) / 2
    return int(next(step for step, value in zip(steps, values, strict=True) if value > half))


def rank_p(own: float, draws: Sequence[float]) -> float:
    """The rank of what the named heads do among the draws, themselves counted.

    >>> rank_p(2.0, [0.0, 1.0, 3.0])
    0.5
    """
    return (1 + sum(draw >= own for draw in draws)) / (1 + len(draws))


def _cell(values: Numbers) -> str:
    mean, low, high = over_seeds(values)
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def chosen_moments(record: dict[str, Any]) -> list[int]:
    """Which moments stand in the table: the first, the last, and those between, denser where curves turn.

    >>> chosen_moments({"moments": [{"step": step} for step in (0, 50, 100)]})
    [0, 1, 2]
    """
    count = len(record["moments"])
    if count <= ROWS:
        return list(range(count))
    return sorted({round((count - 1) * (at / (ROWS - 1)) ** 1.4) for at in range(ROWS)})


def page(record: dict[str, Any], command: str, picture: str = "", checked: Sequence[str] = (), note: str = "") -> str:
    """The page, in Markdown; ``checked`` are the lines that :mod:`~tools.training_pair.check` gives."""
    steps = [moment["step"] for moment in record["moments"]]
    shape, pieces = record["shape"], record["pieces"]["natural"]
    seeds = len(models_of(record, "natural"))
    read_pieces = record["steps"] * record["texts_per_step"] * shape["window"]
    lines = [
        "# A pair of trainings: does induction come from text that repeats itself?",
        "",
        f"Made by `{command}`. {seeds} models of natural text and {seeds} of the same text drawn piece by piece from "
        f"its bigrams, trained from nothing: {shape['layers']} layers of {shape['heads']} heads, "
        f"{shape['parameters'] / 1e6:.1f} million parameters, {record['steps']:,} steps of "
        f"{record['texts_per_step']} texts of {shape['window']} pieces each ({read_pieces / 1e6:.0f} million pieces, "
        f"of {pieces['train'] / 1e6:.1f} million different ones; {shape['vocabulary']:,} pieces in the vocabulary). "
        "Model s of either kind begins with the same weights. Intervals are over seeds (95 %, Student's); heads are "
        "chosen on other texts than they are scored on.",
        "",
        *([note, ""] if note else []),
    ]
    if picture:
        lines += [f"![Induction and closing over steps, on natural text and on its bigrams]({picture})", ""]
    lines += ["## What was found", "", *_found(record, steps), "", "## Curves", ""]
    for kind, title in KINDS.items():
        own = models_of(record, kind)
        lines += [f"### {title[0].upper()}{title[1:]}", "", "| step | " + " | ".join(CURVES.values()) + " |"]
        lines.append("|--:|" + "--:|" * len(CURVES))
        table = {name: curve(record, name)[:, own] for name in CURVES}
        for at in chosen_moments(record):
            lines.append(f"| {steps[at]:,} | " + " | ".join(_cell(values[at]) for values in table.values()) + " |")
        lines.append("")
    lines += ["## Closing, at the end", "", *_closing(record), ""]
    if checked:
        lines += ["## Held against attlas", "", *checked, ""]
    return "\n".join(lines)


def _found(record: dict[str, Any], steps: Sequence[int]) -> list[str]:
    """Sentences, each read off the figures."""
    said = []
    induction, gain = curve(record, "induction"), curve(record, "gain")
    for kind, title in KINDS.items():
        own = models_of(record, kind)
        turns = [turning(steps, induction[:, at]) for at in own]
        told = ", ".join("none" if turn is None else f"{turn:,}" for turn in turns)
        said.append(
            f"- **{title}**: at the end the first head's induction score is {_cell(induction[-1, own])}, at the "
            f"beginning {_cell(induction[0, own])}; half of the way is past at step {told} (one for each seed). The "
            f"second copy of random pieces costs {_cell(gain[-1, own])} nats a piece less than the first."
        )
    high = [
        int((np.array(record["moments"][-1]["induction"][at]) > 0.3).sum()) for at in range(len(record["models"]))
    ]
    by_kind = {title: [high[at] for at in models_of(record, kind)] for kind, title in KINDS.items()}
    counts = "; ".join(f"{title}: {', '.join(map(str, some))}" for title, some in by_kind.items())
    late = curve(record, "in_context")[-1]
    apart = "; ".join(f"{title}: {_cell(late[models_of(record, kind)])}" for kind, title in KINDS.items())
    told = "does not tell the two apart" if _overlap(record, late) else "tells the two apart"
    said.append(
        f"- Loss on late less early pieces of a window, at the end, {told} ({apart}). Its windows are the same few "
        "for all seeds, and its interval, over seeds alone, does not cover their draw."
    )
    said.append(f"- Heads with an induction score above .3 at the end, by seed: {counts}.")
    return said


def _overlap(record: dict[str, Any], values: Numbers) -> bool:
    """Whether the intervals of both kinds of text have numbers in common."""
    (_, low, high), (_, other_low, other_high) = (over_seeds(values[models_of(record, kind)]) for kind in KINDS)
    return low <= other_high and other_low <= high


def _closing(record: dict[str, Any]) -> list[str]:
    """A row for every model: the heads that were chosen, what closing them does, and what others do."""
    last = record["moments"][-1]
    lines = [
        "Other heads are as many, each of a layer within two of the one it stands for, none of them chosen. Among "
        "them may be the head that looks at the previous piece most, on which induction may depend: two columns tell "
        "draws with it from those without. p is the rank among all draws.",
        "",
        "| text | seed | heads | induction scores | rise of the loss on the second copy | draws | without others: "
        "mean | with the previous-piece head among them | without it | p |",
        "|---|--:|---|---|--:|--:|--:|---|--:|--:|",
    ]
    shape = Shape(**{name: value for name, value in record["shape"].items() if name != "parameters"})
    for at, model in enumerate(record["models"]):
        heads, draws = last["chosen"][at], last["random"][at]
        labels = ", ".join(f"{layer + 1}-{head + 1}" for layer, head in heads)
        scores = ", ".join(f"{last['induction'][at][layer][head]:.2f}" for layer, head in heads)
        looks_back = int(np.argmax(last["previous"][at]))
        before = divmod(looks_back, shape.heads)
        sets = random_heads([tuple(head) for head in heads], shape, len(draws), model["seed"])
        among = np.array([before in some for some in sets])
        named = f"{before[0] + 1}-{before[1] + 1}"
        with_it = (
            f"{np.array(draws)[among].mean():.3f} ({named}, {among.sum()} draws)"
            if among.any()
            else f"none ({named})"
        )
        without = np.array(draws)[~among].mean()
        p = f"{rank_p(last['closing'][at], draws):.4f}" if len(draws) >= 300 else "(too few draws)"
        lines.append(
            f"| {KINDS[model['kind']]} | {model['seed'] + 1} | {labels} | {scores} | {last['closing'][at]:.3f} | "
            f"{len(draws)} | {np.mean(draws):.3f} | {with_it} | {without:.3f} | {p} |"
        )
    return lines


def picture(record: dict[str, Any], file: Path) -> None:
    """Curves over steps as a picture: a line for each model, both kinds."""
    import altair as alt
    import vl_convert

    steps = [moment["step"] for moment in record["moments"]]
    shown = {
        "induction": "induction score",
        "gain": "gain on the second copy, nats",
        "closing": "rise without three heads",
    }
    rows = [
        {"step": step, "value": float(values[number, at]), "what": title, "model": f"{model['kind']} {model['seed']}",
         "text": KINDS[model["kind"]]}
        for name, title in shown.items()
        for values in [curve(record, name)]
        for number, step in enumerate(steps)
        for at, model in enumerate(record["models"])
    ]  # fmt: skip
    base = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=1.6)
    charts = [
        base.transform_filter(alt.datum.what == title).encode(
            x=alt.X("step:Q", title="step"), y=alt.Y("value:Q", title=title), detail="model:N",
            color=alt.Color("text:N", title="trained on", scale=alt.Scale(range=["#b35806", "#2166ac"])),
        ).properties(width=300, height=220)
        for title in shown.values()
    ]  # fmt: skip
    spec = alt.hconcat(*charts).configure(background="white").to_dict()
    file.write_bytes(vl_convert.vegalite_to_png(json.dumps(spec), scale=1.5))
