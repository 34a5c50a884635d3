"""docs/results/faith_chunking.md from result folders of ``attlas faith chunking``: F1 beside the published table, the bend, guided models, ranks."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"


def build(folders: list[Path]) -> None:
    """Write the page: one part for each folder."""
    from attlas.reports.faith_chunking_findings import Picture
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    pictures = [Picture({name: table.to_pylist() for name, table in result.tables.items()}) for result in results]
    lines = [
        "# Other attention, same chunks: ours beside the published figures",
        "",
        f"Written by `python docs/build.py faith_chunking FOLDER ...` on {date.today()}. F1 of chunks on the test set; where several seeds were trained, means with Student's 95 % interval over seeds, else the interval is by",
        "bootstrap over sentences. Distances are from the original of the same seed, per word: NLL and TVD of predictions, KL and JSD (at most ln 2 = .69) of attention, mean over heads.",
        "",
        'Published: one run each of a tagger of one layer and four heads, two digits (Yang, *Is Attention Points Out the Only "Path"?*); its bend was read off a curve.',
    ]
    for folder, result, picture in zip(folders, results, pictures, strict=True):
        lines += _part(folder, result, picture)
    lines += ["", "## How they were made", ""]
    lines += [_made(folder, result) for folder, result in zip(folders, results, strict=True)]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "faith_chunking.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'faith_chunking.md'}")


def _part(folder: Path, result: Any, picture: Any) -> list[str]:
    from attlas.reports.faith_chunking_findings import findings

    lines = ["", f"## {folder.name}", "", *_models(picture), ""]
    lines += [f"- {_plain(one.text)}" for one in findings(picture)]
    return [*lines, *_bend(picture), *_seeds(picture), *_ranks(picture), *_differs(result)]


def _models(picture: Any) -> list[str]:
    from attlas.reports.faith_chunking_findings import called
    from attlas.reports.findings import is_number
    from attlas.reports.tables import share

    head = ["model", "seeds", "F1", "published", "ours less theirs, points", "NLL", "TVD", "KL", "JSD"]
    lines = [_row(*head), "|---" * len(head) + "|"]
    for row in picture.rows("summary"):
        low, high = picture.interval(row)
        told = row.get("published")
        apart = f"{100 * (row['f1'] - told):+.1f}".replace("-", "−") if is_number(told) else ""
        lines.append(
            _row(
                called(row), row["seeds"], f"**{_number(row['f1'])}**{_between(low, high)}", share(told), apart,
                *(_number(row[key]) + _between(row[f"{key}_low"], row[f"{key}_high"]) for key in ("nll", "tvd", "kl", "jsd")),
            )
        )  # fmt: skip
    return lines


def _bend(picture: Any) -> list[str]:
    from attlas.reports.tables import share

    rows = picture.rows("bend")
    if not rows:
        return []
    head = [
        "attention by",
        "predictions by",
        "bend at",
        "published",
        "slope before",
        "after",
        "squared error saved",
        "points",
    ]
    lines = ["", f"The bend ({rows[0]['method']}):", "", _row(*head), "|---" * len(head) + "|"]
    lines += [
        _row(
            row["attention"].upper(), row["prediction"].upper(), f"**{_number(row['at'])}**{_between(row['at_low'], row['at_high'])}",
            share(row["published"]), _number(row["slope_before"]), _number(row["slope_after"]), f"{100 * row['gain']:.0f} %",
            row["points"],
        )
        for row in rows
    ]  # fmt: skip
    return lines


def _seeds(picture: Any) -> list[str]:
    from statistics import fmean, median

    lines = ["", _row("beside them", "pairs", "F1", "NLL", "TVD", "KL", "JSD"), "|---" * 7 + "|"]
    for kind, name in (("seed", "two originals of different seeds"), ("uniform", "trained with uniform attention")):
        rows = picture.rows("seeds", kind=kind)
        if rows:
            cells = [_number(fmean(row[key] for row in rows)) for key in ("f1", "nll", "tvd", "kl", "jsd")]
            lines.append(_row(name, len(rows), *cells))
    words = picture.rows("per_instance")
    if words:
        middle = [_number(median(row[key] for row in words)) for key in ("tvd", "jsd")]
        within = sum(bool(row["within"]) for row in words)
        name = f"attention free for one word, median ({within} of {len(words)} within {_number(words[0]['bound'])})"
        lines.append(_row(name, len(words), "", "", middle[0], "", middle[1]))
    return lines if len(lines) > 3 else []


def _ranks(picture: Any) -> list[str]:
    from attlas.reports.faith_chunking_findings import lam

    rows = picture.rows("ranks")
    if not rows:
        return []
    lines = ["", _row("λ", "seed", "side of the bend", "τ of weights with the original's", "same most attended word"), "|---" * 5 + "|"]  # fmt: skip
    lines += [
        _row(lam(row["weight"]), row["seed"], row["side"], _number(row["kendall"]) + _between(row["kendall_low"], row["kendall_high"]), f"{100 * row['first']:.1f} %")
        for row in rows
    ]  # fmt: skip
    return lines


def _differs(result: Any) -> list[str]:
    from attlas.reports.faith_chunking import divergence_here, sentences_here
    from attlas.reports.faith_chunking_prose import DIFFERS

    said = {"data": sentences_here(result.manifest), "divergence": divergence_here(result.manifest)}
    told = _plain(DIFFERS.format(**said))
    for tag, mark in (("<ul>\n", ""), ("\n</ul>", ""), ("</li>\n", "\x00"), ("</li>", ""), ("<li>", "- ")):
        told = told.replace(tag, mark)
    return ["", "What differs from the published study:", "", *" ".join(told.split("\n")).split("\x00")]


def _made(folder: Path, result: Any) -> str:
    m = result.manifest
    corpus, options = m.corpus, m.plan.get("options", {})
    names = [
        str(part.get("name")) if isinstance(part := corpus.get(name), dict) else str(part)
        for name in ("train", "test")
    ]
    chosen = ", ".join(f"{key} {value}" for key, value in options.items() if not isinstance(value, dict))
    return (
        f"- `attlas faith chunking {' '.join(names)} --out {folder.name}` ({chosen}): seed {m.seed}, {m.started[:10]}, {m.seconds:.0f} s on {m.model.get('device', 'cpu')}, "
        f"attlas {m.versions.get('attlas')}"
    )


def _plain(html: str) -> str:
    marks = {"<b>": "**", "</b>": "**", "<i>": "*", "</i>": "*", "&lt;": "<", "&amp;": "&", "&nbsp;": " "}
    for tag, mark in marks.items():
        html = html.replace(tag, mark)
    return html


def _number(value: float | None) -> str:
    from attlas.reports.findings import is_number, number

    return number(value) if is_number(value) else ""


def _between(low: float | None, high: float | None) -> str:
    from attlas.reports.tables import ends

    return f" ({ends(_number(low), _number(high))})" if _number(low) else ""


def _row(*cells: Any) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
