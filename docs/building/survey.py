"""docs/results/survey.md from result folders of ``attlas survey``: ours beside what was published."""

from __future__ import annotations

import statistics
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"


def build(folders: list[Path]) -> None:
    """Figures of surveys beside those that Clark et al. and Kobayashi et al. published for bert-base-uncased."""
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    names = [f"{r.manifest.model['name']} on {r.manifest.corpus['name']}" for r in results]
    lines = [
        "# Survey: ours beside the published figures",
        "",
        f"Written by `python docs/build.py survey FOLDER ...` on {date.today()}. Published figures are those of",
        "bert-base-uncased on Wikipedia (Clark et al. 2019) and of BERT (Kobayashi et al. 2020); no machine of ours has that",
        "model, so what must agree is the shape of the finding, not the number. Heads are labelled as in the papers, from 1.",
        "",
        _row("", "published", *names),
        "|---" * (2 + len(names)) + "|",
    ]
    for title, published, measure in ROWS:
        lines.append(_row(title, published, *(measure(result) for result in results)))
    lines += ["", "## How they were made", ""]
    for folder, result in zip(folders, results, strict=True):
        m = result.manifest
        command = f"attlas survey {m.corpus['name']} --model {m.model['name']}"
        options = m.plan["options"]
        command += f" --limit {options['limit']}" if options["limit"] else ""
        command += f" --max-pieces {options['max_pieces']}"
        skipped = "; ".join(f"{reason}: {count:,}" for reason, count in m.skipped.items()) or "nothing"
        lines += [
            f"- `{command}` on {m.started[:10]}, seed {m.seed}, {m.seconds:.0f} s (folder {folder.name}): "
            f"{m.corpus['passages']:,} passages{' (sentence pairs)' if options['pairs'] else ''}, "
            f"{m.corpus['pieces']:,} pieces; model fingerprint {m.model['fingerprint']}; corpus sha256 "
            f"{m.corpus['sha256'][:16]}; cut or left out: {skipped}."
        ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "survey.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'survey.md'}")


def _values(result: Any, quantity: str, measure: str = "weight") -> dict[tuple[str, int, int], dict[str, Any]]:
    rows = result.tables["heads"].to_pylist()
    return {
        (row["stream"], row["layer"], row["head"]): row
        for row in rows
        if row["quantity"] == quantity and row["measure"] == measure
    }


def _over_half(quantity: str) -> Any:
    def measure(result: Any) -> str:
        over = {key: row["value"] for key, row in _values(result, quantity).items() if row["value"] > 0.5}
        named = [f"{_label(key)} ({value:.2f})" for key, value in sorted(over.items(), key=lambda item: -item[1])[:5]]
        return f"{len(over)}: {', '.join(named)}" + (" ..." if len(over) > 5 else "") if over else "0"

    return measure


def _label(key: tuple[str, int, int]) -> str:
    from attlas.ids import paper_label

    stream = {"encoder": "", "decoder": "", "cross": "cross "}[key[0]]
    return f"{stream}{paper_label(key[1], key[2])}"


def _mean(quantity: str, measure: str = "weight", layers: tuple[int, int] | None = None) -> Any:
    def show(result: Any) -> str:
        found = _values(result, quantity, measure)
        deepest = max((key[1] for key in found), default=-1)
        first, last = (layers[0], min(layers[1], deepest)) if layers else (0, deepest)
        kept = [row["value"] for key, row in found.items() if first <= key[1] <= last]
        return f"{statistics.mean(kept):.2f}" if kept else "n/a"

    return show


def _layers(quantity: str, measure: str = "weight") -> Any:
    def show(result: Any) -> str:
        by_layer: dict[tuple[str, int], list[float]] = {}
        for key, row in _values(result, quantity, measure).items():
            by_layer.setdefault(key[:2], []).append(row["value"])
        means = {key: statistics.mean(values) for key, values in by_layer.items()}
        if not means:
            return "n/a"
        top = max(means, key=lambda key: means[key])
        return f"most in {top[0]} layer {top[1] + 1}: {means[top]:.2f}"

    return show


def _last_cls(result: Any) -> str:
    found = {key: row for key, row in _values(result, "entropy_cls").items() if key[0] == "encoder"}
    if not found:
        return "n/a"
    last = max(key[1] for key in found)
    kept = [row for key, row in found.items() if key[1] == last]
    return f"{statistics.mean(row['value'] for row in kept):.2f} of {kept[0]['chance']:.2f}"


def _broad(result: Any) -> str:
    found = _values(result, "entropy")
    top = max(found, key=lambda key: found[key]["value"] / found[key]["chance"])
    return f"broadest {_label(top)}: {found[top]['value']:.2f} of {found[top]['chance']:.2f}"


def _rho(result: Any) -> str:
    if "spearman" not in result.tables:
        return "n/a"
    values = [row["value"] for row in result.tables["spearman"].to_pylist()]
    negative = sum(value < 0 for value in values)
    return f"{negative} of {len(values)} heads negative, median {statistics.median(values):.2f}"


def _rare(result: Any) -> str:
    rows = result.tables["frequency"].to_pylist() if "frequency" in result.tables else []
    bands = sorted({row["rank_from"] for row in rows})
    if len(bands) < 2:
        return "n/a"
    means = {band: statistics.mean(row["value"] for row in rows if row["rank_from"] == band) for band in bands}
    return f"ranks {bands[-1]:,}+ over ranks 1-10: {means[bands[-1]] / means[bands[0]]:.2f} times"


ROWS: list[tuple[str, str, Any]] = [
    ("heads with over half on the previous piece", "4 (layers 2, 4, 7, 8)", _over_half("previous")),
    ("heads with over half on the next piece", "5 (layers 1, 2, 2, 3, 6)", _over_half("next")),
    ("weight on [SEP], mean of layers 6-10", "over .5", _mean("sep", layers=(5, 9))),
    ("norm share of [SEP], mean of layers 6-10", "much smaller than the weight", _mean("sep", "norm", (5, 9))),
    ("[SEP] to [SEP], mean of layers 6-10", "over .9", _mean("sep_to_sep", layers=(5, 9))),
    ("weight on [CLS] or start, by layer", "early layers", _layers("cls")),
    ("weight on the first piece, by layer", "", _layers("first")),
    ("weight on periods and commas, all layers", "much in the last layers", _mean("punctuation")),
    ("norm share of periods and commas, all layers", "smaller than the weight", _mean("punctuation", "norm")),
    ("broadest head, entropy in nats of uniform", "layer 1: nearly uniform heads", _broad),
    ("entropy of [CLS] queries in the last layer", "3.89", _last_cls),
    ("Spearman of weight and ‖f(x)‖", "negative", _rho),
    ("‖f(x)‖ of rare over frequent words", "larger", _rare),
]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
