"""docs/results/faith.md from result folders of ``attlas faith``: the card, agreement, erasing and interventions, ours beside what was published."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"


def build(folders: list[Path]) -> None:
    """Write the page: one part for each folder."""
    from attlas.reports.faith_findings import Picture
    from attlas.store import Result
    from attlas.studies.shared.published import TAU_MODEL

    results = [Result.open(folder) for folder in folders]
    pictures = [Picture({name: table.to_pylist() for name, table in result.tables.items()}) for result in results]
    lines = [
        "# Does attention explain? Ours beside the published figures",
        "",
        f"Written by `python docs/build.py faith FOLDER ...` on {date.today()}. τ is Kendall's, the mean over instances with a 95 % interval by bootstrap over texts; *p < .05* is the share of instances where it is more than",
        "luck. Comprehensiveness and sufficiency are means over 1, 5, 10, 20 and 50 % of the words. TVD is of predicted probabilities, JSD (at most ln 2 = .69) of attention. Changes in bold have p < .01, paired permutation over texts.",
        "",
        f"Published: {TAU_MODEL} (SST .35 with gradients: the rows *Overall* of the authors' own output; see the [module](../../src/attlas/studies/published.py)). That uniform attention costs nothing on AG News and",
        "20 Newsgroups is Wiegreffe & Pinter 2019, as Yang retells it. These are recurrent models with one attention: they say how large such numbers are, and are not to be matched.",
        "",
        "## Agreement of attention with other explanations",
        "",
        *_summary(results, pictures),
    ]
    for result, picture in zip(results, pictures, strict=True):
        lines += _part(result, picture)
    lines += ["", "## How they were made", ""]
    lines += [
        _made(folder, result, picture) for folder, result, picture in zip(folders, results, pictures, strict=True)
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "faith.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'faith.md'}")


def _summary(results: list[Any], pictures: list[Any]) -> list[str]:
    """The stated attention of every run, with what was published below."""
    from attlas.reports.faith_findings import title
    from attlas.reports.tables import share
    from attlas.studies.shared.published import TAU_MODEL, TAUS

    lines = [
        _row("model", "task, corpus", "attention", "τ with gradients", "p < .05", "τ with leave-one-out", "p < .05", "gradients with leave-one-out", "instances"),
        "|---" * 9 + "|",
    ]  # fmt: skip
    for result, picture in zip(results, pictures, strict=True):
        one = picture.stated
        if one is None:
            continue
        rows = [picture.tau(one, against) for against in ("gradient", "leave-one-out")]
        peers = picture.tau("gradient", "leave-one-out")
        cells = [
            cell for row in rows for cell in (_interval(row, "tau", "low", "high"), _percent(row, "significant"))
        ]
        lines.append(
            _row(
                *_where(result, picture),
                title(one),
                *cells,
                "" if peers is None else share(peers["tau"]),
                _n(rows[0]),
            )
        )
    lines += [
        _row(TAU_MODEL, data, "its one attention", share(tau.gradient), f"{100 * tau.gradient_significant:.0f} %", share(tau.left_out), f"{100 * tau.left_out_significant:.0f} %", "", "")
        for data, tau in TAUS.items()
    ]  # fmt: skip
    return lines


def _part(result: Any, picture: Any) -> list[str]:
    from attlas.reports.faith_findings import findings

    model, where = _where(result, picture)
    lines = ["", f"## {model}: {where}", "", *_card(picture)]
    found = findings(picture)
    lines += ["", *(f"- {_plain(one.text)}" for one in found)] if found else []
    return [*lines, *_explanations(picture), *_interventions(picture)]


def _card(picture: Any) -> list[str]:
    rows = picture.rows("card")
    if not rows:
        return []
    lines = [_row("the card", "figure", "95 %", "verdict", "says"), "|---" * 5 + "|"]
    lines += [
        _row(row["name"], _number(row["value"]), _ends(row, "low", "high"), f"**{row['verdict']}**", row["says"])
        for row in rows
        if row["figure"] != "paragraph"
    ]
    return [*lines, "", *(f"> {row['says']}" for row in rows if row["figure"] == "paragraph")]


def _explanations(picture: Any) -> list[str]:
    """Every explanation: agreement with the three references, and erasing."""
    from attlas.reports.faith_findings import REFERENCES, WORDS, title

    if not picture.explanations:
        return []
    head = ["explanation", *(f"τ, {WORDS[name]}" for name in REFERENCES), "comprehensiveness", "over random words", "sufficiency"]  # fmt: skip
    lines = ["", _row(*head), "|---" * len(head) + "|"]
    for one in picture.explanations:
        taus = [_interval(picture.tau(one, name), "tau", "low", "high") for name in REFERENCES]
        erased = picture.erased(one)
        cells = [_interval(erased, name, f"{name}_low", f"{name}_high") for name in ("comprehensiveness", "over_random", "sufficiency")]  # fmt: skip
        lines.append(_row(title(one), *taus, *cells))
    return lines


def _interventions(picture: Any) -> list[str]:
    from attlas.reports.faith_findings import called

    rows = picture.rows("interventions")
    if not rows:
        return []
    head = ["attention replaced", picture.metric, "change", "p", "TVD, mean", "TVD, median", "labels changed", "JSD", "instances"]  # fmt: skip
    lines = ["", _row(*head), "|---" * len(head) + "|"]
    for row in rows:
        change = _interval(row, "change", "change_low", "change_high")
        sure = row["p"] is not None and row["p"] < 0.01
        lines.append(
            _row(
                called(row), _number(row["score"]), f"**{change}**" if sure else change, _number(row["p"]),
                _interval(row, "tvd", "tvd_low", "tvd_high"), _number(row["tvd_median"]), _percent(row, "flipped", 1),
                _interval(row, "jsd", "jsd_low", "jsd_high"), _n(row),
            )
        )  # fmt: skip
    return lines


def _where(result: Any, picture: Any) -> tuple[str, str]:
    return str(
        result.manifest.model.get("name", "")
    ), f"{picture.whole.get('task', '')}, {result.manifest.corpus['name']}"


def _made(folder: Path, result: Any, picture: Any) -> str:
    manifest, whole = result.manifest, picture.whole
    options = manifest.plan.get("options", {})
    plain = ("layers", "head", "erase", "bound", "permutations", "per_text", "limit", "max_pieces", "score")
    usual = {"layers": "last", "erase": "delete", "per_text": 1}
    extra = "".join(
        f" --{name.replace('_', '-')} {options[name]}"
        for name in plain
        if options.get(name) is not None and options[name] != usual.get(name)
    )
    extra += "".join(f" --other {name}" for name in options.get("others") or {})
    extra += f" --evened {options['evened']['name']}" if options.get("evened") else ""
    skipped = "; ".join(f"{reason}: {count:,}" for reason, count in manifest.skipped.items() if count)
    return (
        f"- `attlas faith {manifest.model['name']} {options.get('task')} {manifest.corpus['name']}{extra} --out {folder.name}`: {whole.get('n', 0):,} instances of {whole.get('texts', 0):,} texts; "
        f"{whole.get('attention', '')}; left out: {skipped or 'nothing'}; seed {manifest.seed}, {manifest.started[:10]}, {manifest.seconds:.0f} s on {manifest.model.get('device', 'cpu')}, "
        f"attlas {manifest.versions.get('attlas')}"
    )


def _plain(html: str) -> str:
    for tag, mark in (("<b>", "**"), ("</b>", "**"), ("<i>", "*"), ("</i>", "*"), ("&lt;", "<"), ("&amp;", "&")):
        html = html.replace(tag, mark)
    return html


def _number(value: float | None) -> str:
    from attlas.reports.findings import is_number, number

    if not is_number(value) or value is None:
        return ""
    return number(value) if abs(value) >= 0.0005 or value == 0 else f"{value:.0e}"


def _interval(row: Any, name: str, low: str, high: str) -> str:
    if row is None or not _number(row[name]):
        return ""
    ends = _ends(row, low, high)
    return _number(row[name]) + (f" ({ends})" if ends else "")


def _ends(row: Any, low: str, high: str) -> str:
    from attlas.reports.tables import ends

    return ends(_number(row[low]), _number(row[high])) if _number(row[low]) else ""


def _percent(row: Any, name: str, digits: int = 0) -> str:
    return "" if row is None or row[name] is None else f"{100 * row[name]:.{digits}f} %"


def _n(row: Any) -> str:
    return "" if row is None else f"{row['n']:,}"


def _row(*cells: Any) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
