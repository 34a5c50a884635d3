"""docs/results/keywords.md from result folders of ``attlas keywords study``, ``tune`` and ``compare``: ours beside the published figures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
LISTED = 10


def build(folders: list[Path]) -> None:
    """Write the page: studies, then taggers, then comparisons, whatever the order of the folders."""
    from attlas.store import Result

    made = [(folder, Result.open(folder)) for folder in folders]
    of = {
        name: [one for one in made if one[1].manifest.study == f"keywords-{name}"]
        for name in ("study", "tune", "compare")
    }
    if unknown := sorted(
        {result.manifest.study for _, result in made if not result.manifest.study.startswith("keywords-")}
    ):
        raise SystemExit(f"results of {', '.join(unknown)} have no place on this page")
    lines = [
        "# Key words and key phrases: ours beside the published figures",
        "",
        f"Written by `python docs/build.py keywords FOLDER ...` on {date.today()}. Phrases are compared whole, by their stems; F1 is counted over all texts (micro), with a 95 % interval by bootstrap over texts.",
        "*All*: against all phrases that were given; *present*: against those that stand in the text.",
    ]
    if of["study"]:
        lines += [
            "",
            "## What heads know",
            "",
            "Heads were chosen and predictors trained on the training part, all figures are of the test part.",
        ]
        for _, result in of["study"]:
            lines += _study(result)
    if of["tune"]:
        lines += _tuned([result for _, result in of["tune"]])
    if of["compare"]:
        lines += ["", "## Without training: attention beside the others"]
        for _, result in of["compare"]:
            lines += _compared(result)
    lines += ["", "## How they were made", ""]
    lines += [_made(folder, result) for folder, result in made]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "keywords.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'keywords.md'}")


def _study(result: Any) -> list[str]:
    from attlas.reports.keywords_study_findings import Picture, findings, label

    picture = Picture({name: table.to_pylist() for name, table in result.tables.items()})
    lines = ["", f"### {result.manifest.model['name']}", ""]
    lines += [f"- {_plain(text)}" for text in findings(picture)]
    lines += [
        "",
        f"The first heads by AUC where they were chosen ({picture.kind}); **bold** are those that weigh words:",
        "",
    ]
    lines += _table(
        ["head", "AUC, choosing", "AUC, test", "received by key words over others", "relative attention", "p", "nats saved", "untrained twin, AUC"],
        [
            [
                f"**{label(row)}**" if row["chosen"] else label(row), _n(row["choosing_auc"]), _between(row, "auc", "auc_low", "auc_high"),
                f"{row['key'] / row['other']:.2f}" if row["other"] else "", f"{row['relative']:#.2g}", _p(row["p_holm"]),
                _between(row, "saved", "saved_low", "saved_high"), _n(row["twin_auc"]),
            ]
            for row in picture.heads()[:LISTED]
        ],
    )  # fmt: skip
    lines += ["", f"Regression by number of heads ({picture.predicted_by}), F1 of words:", ""]
    counts = sorted({row["heads"] for row in picture.rows("regression")})
    parts = [part for part in ("cross-validated", "scored on") if picture.rows("regression", part=part)]
    of = {(row["part"], row["heads"]): row for row in picture.rows("regression")}
    lines += _table(
        [
            "heads",
            *(
                {"cross-validated": "cross-validated on the training part", "scored on": "test"}[part]
                for part in parts
            ),
        ],
        [[str(count), *(_between(of[part, count], "f1", "low", "high") for part in parts)] for count in counts],
    )
    lines += ["", "All predictors of key words, on the test part:", ""]
    lines += _table(
        ["predictor", "F1 of words", "AUC"],
        [
            [row["predictor"], _between(row, "f1", "low", "high"), _between(row, "auc", "auc_low", "auc_high")]
            for row in sorted(picture.rows("predictors"), key=lambda row: -row["f1"])
        ],
    )
    lines += ["", "Phrases from sets of heads, on the test part:", ""]
    rows = picture.rows("phrases", part="scored on")
    sets = list(dict.fromkeys((row["selection"], row["measure"], row["over"], row["chosen"]) for row in rows))
    depths = [("5", "all"), ("10", "all"), ("M", "all"), ("5", "present"), ("10", "present")]
    scores = {
        (row["selection"], row["measure"], row["over"], row["chosen"], row["at"], row["gold"]): row for row in rows
    }
    lines += _table(
        ["heads", "read by", *(f"F1@{at}, {gold}" for at, gold in depths)],
        [
            [f"**{one[0]}** (chosen)" if one[3] else one[0], f"{one[1]}, {one[2]}",
             *(_between(scores[(*one, *depth)], "f1", "low", "high") for depth in depths)]
            for one in sets
        ],
    )  # fmt: skip
    return lines


def _tuned(results: Sequence[Any]) -> list[str]:
    from attlas.studies.shared.published import KEYWORDS, KEYWORDS_BEST, KEYWORDS_MODEL

    lines = [
        "",
        "## The tagger",
        "",
        f"Published: F1 {_n(KEYWORDS['tuned'], 2)} tuned, {_n(KEYWORDS['pruned'], 2)} pruned, best known then {_n(KEYWORDS_BEST, 2)} ({KEYWORDS_MODEL}); on what data, and whether of words or phrases, is not said, so they stand beside F1@M.",
        "Where several seeds were trained: the mean, with the lowest and the highest. The smaller tagger is without the heads that are least missed on the dev texts.",
        "",
    ]
    wanted = [
        ("phrases", "5", "all"),
        ("phrases", "10", "all"),
        ("phrases", "M", "all"),
        ("phrases", "M", "present"),
        ("spans", "", ""),
        ("words", "", ""),
    ]
    groups: dict[str, list[Any]] = {}
    for result in results:
        groups.setdefault(result.manifest.model["name"], []).append(result)
    rows = []
    for model, own in groups.items():
        for stage in ("tuned", "pruned", "retuned"):
            scores = [_scores(result, stage) for result in own]
            known = [one for one in scores if one]
            if known:
                kept = [
                    row["kept"]
                    for result in own
                    for row in result.tables["whole"].to_pylist()
                    if row["stage"] == stage
                ]
                cells = [_seeds([one[key] for one in known]) for key in wanted]
                told = KEYWORDS.get(stage)
                rows.append(
                    [
                        model,
                        stage,
                        str(len(known)),
                        _range([100 * share for share in kept], "{:.0f} %"),
                        *cells,
                        "" if told is None else _n(told, 2),
                    ]
                )
    lines += _table(
        [
            "model",
            "tagger",
            "seeds",
            "heads kept",
            "F1@5, all",
            "F1@10, all",
            "F1@M, all",
            "F1@M, present",
            "spans",
            "words",
            "published",
        ],
        rows,
    )
    for model, own in groups.items():
        lines += _removal(model, own)
    return lines


def _scores(result: Any, stage: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    rows = result.tables["scores"].to_pylist()
    return {(row["unit"], row["at"], row["gold"]): row for row in rows if row["stage"] == stage}


def _removal(model: str, results: Sequence[Any]) -> list[str]:
    """The curves at some shares, and the heads that are missed most."""
    from attlas.ids import paper_label

    curves = [result.tables["curve"].to_pylist() for result in results]
    metric = results[0].tables["whole"].to_pylist()[0]["metric"]
    orders = list(dict.fromkeys(row["order"] for row in curves[0]))
    whole = [next(row["score"] for row in rows if row["share"] == 0) for rows in curves]
    texts = sorted({max(row["n"] for row in rows) for rows in curves}, reverse=True)
    lines = [
        "",
        f"**{model}**: {metric} on {' or '.join(map(str, texts))} test texts as heads go ({_range(whole)} with all of them).",
        "",
    ]
    shares = [share for share in dict.fromkeys(row["share"] for row in curves[0]) if share]
    body = []
    for share in shares:
        cells = []
        for order in orders:
            own = [
                [
                    row["score"]
                    for row in rows
                    if row["order"] == order and row["share"] == share and row["score"] is not None
                ]
                for rows in curves
            ]
            cells.append(_range([fmean(scores) for scores in own if scores]) if any(own) else "")
        body.append([f"{100 * share:.0f} %", *cells])
    lines += _table(["heads gone", *orders], body)
    named = []
    for result in results:
        rows = sorted(result.tables["ablation"].to_pylist(), key=lambda row: row["rank"])[:5]
        heads = ", ".join(f"{paper_label(row['layer'], row['head'])} ({row['change']:+.4f})" for row in rows)
        sure = sum(
            row["corrected"] is not None and row["corrected"] < 0.01 and row["change"] < 0
            for row in result.tables["ablation"].to_pylist()
        )
        named.append(
            f"seed {result.manifest.seed}: {heads}; {sure} of {result.tables['ablation'].num_rows} heads are missed significantly"
        )
    return [*lines, "", f"Missed most on the dev texts, by the change of {metric}: {'. '.join(named)}."]


def _compared(result: Any) -> list[str]:
    from attlas.reports.keywords_compare import findings, is_ours, named, published, ranked

    rows = result.tables["methods"].to_pylist()
    whole = result.tables["whole"].to_pylist()[0]
    lines = ["", f"### {result.manifest.model['name']}", ""]
    lines += [f"- {_plain(text)}" for text in findings(rows)]
    lines += [
        "",
        f"{whole['documents']:,} texts. Attention: {whole['choice']}. Change is in points of F1 against attention; **bold**: p < .01 after Holm's correction.",
        "",
    ]
    of = {(named(row), row["at"], row["gold"]): row for row in rows}
    body = []
    for row in ranked(rows):
        name = named(row)
        cells = [f"**{name}**" if is_ours(row) else name, row["needs"]]
        for at in ("5", "10"):
            own = of[name, at, "all"]
            cells += [_between(own, "f1", "low", "high"), _change(own)]
        cells += [
            _n(of[key]["f1"]) if (key := (name, at, gold)) in of else ""
            for at, gold in (("M", "all"), ("10", "present"))
        ]
        cells.append(f"{1000 * row['seconds'] / row['n']:.1f}" if row["seconds"] is not None else "")
        body.append(cells)
    head = ["method", "needs", "F1@5", "change", "F1@10", "change", "F1@M", "F1@10, present", "ms for a text"]
    lines += _table(head, body)
    told = published()
    return [*lines, "", f"{_plain(told)}"] if told else lines


def _made(folder: Path, result: Any) -> str:
    m = result.manifest
    options = m.plan.get("options", {})
    command = f"attlas keywords {m.study.removeprefix('keywords-')} {m.corpus['name']}"
    for name in ("dev", "test"):
        other = m.plan.get("corpus", {}).get(name)
        command += f" --{name} {other['name']}" if isinstance(other, dict) else ""
    command += f" --model {m.model['name']}"
    plain = {"limit", "folds", "language", "keep", "epochs", "rate", "batch_size", "patience", "steps", "kind"}
    command += "".join(
        f" --{name.replace('_', '-')} {value}"
        for name, value in options.items()
        if name in plain and value is not None and not isinstance(value, list | dict)
    )
    skipped = "; ".join(f"{reason}: {count:,}" for reason, count in m.skipped.items() if count) or "nothing"
    return (
        f"- `{command}` on {m.started[:10]}, seed {m.seed}, {m.seconds:.0f} s on {m.model.get('device', 'cpu')} (folder {folder.name}): model fingerprint {m.model.get('fingerprint')}; "
        f"corpus sha256 {str(m.corpus.get('sha256'))[:16]}; cut or left out: {skipped}."
    )


def _seeds(rows: Sequence[dict[str, Any]]) -> str:
    """One score with its interval over texts, or the mean of several with their range."""
    return _between(rows[0], "f1", "low", "high") if len(rows) == 1 else _range([row["f1"] for row in rows])


def _range(values: Sequence[float], form: str = "") -> str:
    write = form.format if form else _n
    told = write(fmean(values))
    return (
        told
        if len(values) == 1 or min(values) == max(values)
        else f"{told} ({write(min(values))} to {write(max(values))})"
    )


def _between(row: dict[str, Any], value: str, low: str, high: str) -> str:
    from attlas.reports.tables import ends

    told = _n(row[value])
    return f"{told} ({ends(_n(row[low]), _n(row[high]))})" if told and _n(row[low]) else told


def _change(row: dict[str, Any]) -> str:
    if row["change"] is None:
        return ""
    told = f"{100 * row['change']:+.1f}".replace("-", "−")
    return f"**{told}** (p {_p(row['p_holm'])})" if row["p_holm"] < 0.01 else f"{told} (p {_p(row['p_holm'])})"


def _p(value: float | None) -> str:
    return "" if value is None else "< .001" if value < 0.001 else _n(value, 3 if value < 0.01 else 2)


def _n(value: float | None, digits: int = 3) -> str:
    from attlas.reports.findings import figure, is_number

    return figure(value, digits) if value is not None and is_number(value) else ""


def _plain(html: str) -> str:
    import re
    from html import unescape

    told = re.sub(r'<span class="published">(.*?)</span>', r" Published: \1", html)
    told = re.sub(r"</?b>", "**", re.sub(r"</?i>", "*", told))
    return unescape(re.sub(r"<[^>]+>", "", told))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
