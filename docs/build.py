"""Writes the pages that must not be typed by hand.

    python docs/build.py models                 docs/models.md: what each family can do, from the doctor's own findings
    python docs/build.py survey FOLDER ...      docs/results/survey.md: ours beside the published figures

Pictures are taken by docs/picture.py. Run from a checkout with the extra ``dev``; real models are added where they lie in the models folder.
"""

from __future__ import annotations

import statistics
import sys
from datetime import date
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
REAL = ("minilm", "e5-small", "smollm2", "opus-mt-en-fr")
QUESTIONS = {
    "weights equal the eager model's": "weights",
    "untouched output equals the plain model's": "output",
    "nothing goes to padding or to what comes later": "mask",
    "a sentence pair equals the eager model's": "pairs",
    "padding on the left changes nothing": "left padding",
    "closing any gate changes the output, opening all does not": "gates",
    "gates get a gradient": "gradient",
    "frozen weights change nothing, uniform ones do": "override",
    "W_O is found: layers are rebuilt from weights, values and W_O": "norms",
    "queries and keys can be seen": "queries, keys",
    "statistics without the matrix equal those with it": "fast statistics",
}


def models() -> None:
    """Examine a tiny random twin of every family, and the real models that are at hand."""
    sys.path.insert(0, str(DOCS.parent / "tests"))
    import twins
    from attlas.capture import Subject, load
    from attlas.models.bundled import models_folder

    subjects: list[tuple[str, Any]] = [
        (family, Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)) for family in twins.TWINS
    ]  # fmt: skip
    lines = [
        "# What can be done with which model",
        "",
        f"Written by `python docs/build.py models` on {date.today()} from the findings of `attlas doctor`. A number is the",
        "largest deviation that was seen (in float32); *yes* and *no* answer questions without one; *n/a* does not apply.",
        "",
        "- **weights**: captured weights against the library's eager attention, in a padded batch. **output**: the",
        "  untouched model against the plain one. **mask**: weight that leaks to padding or to later pieces. **pairs**:",
        "  weights of a sentence pair. **left padding**: outputs padded left against right.",
        "- **gates**: closing any single head changes the output, opening all does not. **gradient**: gates get one.",
        "  **override**: frozen weights of the same run change nothing, uniform ones do.",
        "- **norms**: layers rebuilt from weights, values and W_O. **queries, keys**: can be seen. **fast statistics**:",
        "  without the matrix against with it; *n/a* where scores are more than dot products and statistics go by the",
        "  matrix, a block of rows at a time.",
        "",
        "## Families, as tiny random twins",
        "",
        *_findings(subjects),
        "",
        "## Real models",
        "",
    ]
    lines += _findings([(name, load(name)) for name in REAL if (models_folder() / name).is_dir()])
    lines += [
        "",
        "Families with a softmax of their own (mpnet, gpt_neo above; some ninety in the library) are seen through that",
        "softmax: weights, norms, gates and overrides work, queries and keys stay hidden. A family in which neither way",
        "finds attention is refused with a sentence that says so.",
        "",
    ]
    _write(DOCS / "models.md", lines)


def _findings(subjects: list[tuple[str, Any]]) -> list[str]:
    from attlas.capture import examine

    lines = [_row("model", "class", "streams", *QUESTIONS.values()), "|---" * (3 + len(QUESTIONS)) + "|"]
    for name, subject in subjects:
        print(f"examining {name}", flush=True)
        found = {finding.name: finding for finding in examine(subject)}
        streams = ", ".join("{} {}x{}".format(s.value, *subject.shape(s)) for s in subject.streams)
        lines.append(_row(name, type(subject.model).__name__, streams, *(_cell(found[q]) for q in QUESTIONS)))
    return lines


def _cell(finding: Any) -> str:
    if finding.passed is None:
        return "n/a"
    if not finding.passed:
        return "no"
    return "yes" if finding.error is None else f"{finding.error:.0e}"


def survey(folders: list[Path]) -> None:
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
    _write(DOCS / "results" / "survey.md", [*lines, ""])


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


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    print(f"page: {path}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["models"]:
            models()
        case ["survey", *folders]:
            survey([Path(folder) for folder in folders])
        case _:
            sys.exit(__doc__)
