"""docs/results/align.md from result folders of ``attlas align``: layers and settings, aligners, choices; seeds together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
MEASURES = ("weight", "norm")
_NEAR = 0.02  # an error rate this close to the untrained twin's is no better
PUBLISHED = {  # AER of the mean over layers and of the best layer; German to English, 6 layers of 4 heads, five seeds
    ("weight", "output"): (68.4, 47.7, "4 or 5"),
    ("norm", "output"): (62.9, 41.4, "2"),
    ("weight", "input"): (68.6, 29.8, "5"),
    ("norm", "input"): (60.5, 25.0, "2"),
}
ALIGNERS = "fast_align 28.4, GIZA++ 21.0"
HOW = {
    "largest mean norm": "without gold: largest mean norm",
    "largest mean norm, heads summed": "the same, heads summed",
    "oracle: lowest AER": "oracle (looks at the gold)",
    "chosen on one half, scored on the other": "oracle on one half, scored on the other",
}
TEXTS = {  # what further texts for the aligners are, where their names do not tell
    "europarl-en-opus-fr.tsv": "English sentences of Europarl with the French that opus-mt-en-fr itself writes for them, greedily: no larger text of people was at hand",
}
Group = list[tuple[Path, Any]]


def build(folders: list[Path]) -> None:
    """Write the page."""
    from attlas.store import Result

    found = [(folder, Result.open(folder)) for folder in folders]
    groups: dict[str, Group] = {}
    for folder, result in found:
        groups.setdefault(_kind(result), []).append((folder, result))
    lines = [
        "# Word alignment from attention: ours beside the published figures",
        "",
        f"Written by `python docs/build.py align FOLDER ...` on {date.today()}. AER in percent (lower is better), in parentheses its 95 % interval by bootstrap over pairs of sentences. Layers count",
        "from 1. *Untrained* is the best of all layers of the same architecture with random weights. What is measured is told in [align.md](../align.md).",
        "",
        "Published (Kobayashi et al. 2020, section 5; German to English, 6 layers of 4 heads, five seeds):",
        "",
        *_published(),
        "",
    ]
    for group in groups.values():
        lines += _seeds(group) if len(group) > 1 else _single(group[0][1])
    lines += ["## How they were made", ""]
    lines += [_made(folder, result) for folder, result in found]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "align.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'align.md'}")


def _kind(result: Any) -> str:
    """What runs have in common that differ by the seed of their model's training alone."""
    about, options = result.manifest.model, result.manifest.plan["options"]
    same = {name: about[name] for name in ("class", "streams", "parameters")}
    asked = {name: options.get(name) for name in ("stream", "compete", "max_pieces", "limit")}
    return json.dumps(
        [same, asked, options.get("back") is not None, result.manifest.corpus["sha256"]], sort_keys=True
    )


def _published() -> list[str]:
    lines = [_row("", "mean of layers", "best layer"), "|---" * 3 + "|"]
    for (measure, setting), (mean, best, layer) in PUBLISHED.items():
        lines.append(_row(f"{measure}, with {setting}", mean, f"{best} (layer {layer})"))
    return [*lines, _row(ALIGNERS, "", "")]


def _single(result: Any) -> list[str]:
    """One model: its layers, aligners beside it, and which layer one would take."""
    name, corpus = result.manifest.model["name"], result.manifest.corpus
    gold = f"{corpus['sure']:,} sure and {corpus['possible'] - corpus['sure']:,} further possible links"
    lines = [
        f"## {name} on {corpus['name']}",
        "",
        f"{corpus['passages']:,} pairs of sentences, {gold}.{_note(result)}",
        "",
    ]
    ways = dict.fromkeys(row["direction"] for row in _aer(result) if row["aligner"] == "attention")
    for directions in (["forward"], ["backward"], ["intersection", "grow-diag-final-and"]):
        lines += _layers(result, [way for way in directions if way in ways])
    lines += _gains(result)
    lines += _aligners([result])
    return lines + _choices(result)


def _note(result: Any) -> str:
    options = result.manifest.plan["options"]
    if options["stream"] == "encoder":
        compete = "compete" if options["compete"] else "do not compete"
        return f" An encoder that reads both sentences at once; [CLS] and [SEP] {compete}."
    return "" if options["compete"] else " The end of the sentence does not compete."


def _aer(result: Any) -> list[dict[str, Any]]:
    rows = result.tables["scores"].to_pylist()
    return [row for row in rows if row["score"] == "AER" and row["head"] is None]


def _layers(result: Any, directions: list[str]) -> list[str]:
    """A table of layers, with a column for each measure and setting."""
    rows = [row for row in _aer(result) if row["aligner"] == "attention" and row["direction"] in directions]
    columns = list(dict.fromkeys((row["direction"], row["setting"], row["measure"]) for row in rows))
    if not columns:
        return []
    table = {
        column: sorted((row for row in rows if (row["direction"], row["setting"], row["measure"]) == column), key=lambda row: row["layer"])
        for column in columns
    }  # fmt: skip
    best = {column: min(own, key=lambda row: row["value"])["layer"] for column, own in table.items()}
    names = [_heading(*column[1:]) + (f", {column[0]}" if len(directions) > 1 else "") for column in columns]
    title = f"{directions[0]}, layer" if len(directions) == 1 else "put together, layer"
    lines = [_row(title, *names), "|---" * (1 + len(columns)) + "|"]
    for layer in range(max(len(own) for own in table.values())):
        cells = [_bold(_value(table[column][layer]), best[column] == layer) for column in columns]
        lines.append(_row(layer + 1, *cells))
    means = [f"{100 * fmean(row['value'] for row in own):.1f}" for own in table.values()]
    twins = [f"{100 * min(row['twin'] for row in own):.1f}" for own in table.values()]
    return [*lines, _row("mean of layers", *means), _row("untrained", *twins), ""]


def _heading(setting: str, measure: str) -> str:
    return f"{measure}, {'with ' if setting in ('output', 'input') else ''}{setting}" if setting else measure


def _gains(result: Any) -> list[str]:
    """Norm against weight in the same layer, where the difference is the largest and the smallest."""
    if "gains" not in result.tables:
        return []
    lines = []
    rows = result.tables["gains"].to_pylist()
    for view in dict.fromkeys((row["direction"], row["setting"]) for row in rows):
        own = [row for row in rows if (row["direction"], row["setting"]) == view]
        sure = [row for row in own if row["p"] is not None and row["p"] < 0.01 / len(own)]
        better = sum(row["change"] < 0 for row in sure)
        best = min(own, key=lambda row: row["norm"])
        least = min(own, key=lambda row: row["weight"])
        lines.append(
            f"- {view[0]}, {_setting(view[1])}: norms are better in {better} of {len(own)} layers and worse in {len(sure) - better} "
            f"(p < .01 after correction for the layers, by permutation over pairs). The best layer by norm has {100 * best['norm']:.1f}, the best by weight "
            f"{100 * least['weight']:.1f}."
        )
    return [*lines, ""]


def _setting(name: str) -> str:
    return f"with {name}" if name in ("output", "input") else name


def _aligners(results: Sequence[Any]) -> list[str]:
    rows = [row for row in _aer(results[0]) if row["aligner"] != "attention"]
    if not rows:
        return []
    ways = list(dict.fromkeys(row["direction"] for row in rows))
    lines = [_row("aligner", "trained on", *ways), "|---" * (2 + len(ways)) + "|"]
    for aligner, trained_on in dict.fromkeys((row["aligner"], row["trained_on"]) for row in rows):
        own = {row["direction"]: row for row in rows if (row["aligner"], row["trained_on"]) == (aligner, trained_on)}
        lines.append(_row(aligner, trained_on or "nothing", *(_value(own[way]) for way in ways)))
    more = results[0].manifest.corpus.get("more_pairs")
    names = {row["trained_on"].rpartition(" and ")[2] for row in rows}
    what = "".join(f" They are {about}." for name, about in TEXTS.items() if name in names)
    said = [f"The further text has {more:,} pairs.{what}", ""] if more else []
    return [*lines, "", *said]


def _choices(result: Any) -> list[str]:
    """What each way of choosing takes, one line for each setting, measure and unit."""
    rows = [row for row in result.tables["choices"].to_pylist() if row["value"] is not None]
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        key = (row["direction"], row["setting"], row["measure"], row["unit"])
        found.setdefault(key, {})[row["how"]] = f"{_place(row)}: {_value(row)}"
    lines = [_row("choose a", "setting", "measure", *HOW.values()), "|---" * (3 + len(HOW)) + "|"]
    for (direction, setting, measure, unit), cells in found.items():
        own = direction == ("backward" if setting == "to target" else "forward")
        where = ", ".join(filter(None, (_setting(setting), "" if own else direction)))
        lines.append(_row(unit, where, measure, *(cells.get(how, "") for how in HOW)))
    return [*lines, ""]


def _place(row: dict[str, Any]) -> str:
    if row["layer"] is None:
        return "not the same on both halves"
    if row["head"] is not None:
        return f"head {row['layer'] + 1}-{row['head'] + 1}"
    other = "" if row["back_layer"] in (None, row["layer"]) else f" and {row['back_layer'] + 1}"
    return f"layer {row['layer'] + 1}{other}"


def _seeds(group: Group) -> list[str]:
    """Models that differ by their seed: mean and range of every layer, and the published table beside ours."""
    results = [result for _, result in group]
    first = results[0]
    names = ", ".join(result.manifest.model["name"] for result in results)
    corpus = first.manifest.corpus
    lines = [
        f"## {len(results)} seeds on {corpus['name']}", "",
        f"{names}; {corpus['passages']:,} pairs of sentences. Mean over seeds, in parentheses the lowest and the highest.", "",
    ]  # fmt: skip
    columns = [(setting, measure) for setting in ("output", "input") for measure in MEASURES]
    if first.manifest.plan["options"]["stream"] == "encoder":
        columns = [(setting, measure) for setting in ("to source", "to target") for measure in MEASURES]
    table = {column: [_by_layer(result, *column) for result in results] for column in columns}
    lines += [_row("layer", *(_heading(*column) for column in columns)), "|---" * (1 + len(columns)) + "|"]
    for layer in range(len(table[columns[0]][0])):
        lines.append(_row(layer + 1, *(_spread([seed[layer] for seed in table[column]]) for column in columns)))
    lines += ["", _row("", "mean of layers", "published", "best layer", "published", "by the largest mean norm"), "|---" * 6 + "|"]  # fmt: skip
    for setting, measure in columns:
        seeds = table[setting, measure]
        mean, best, there = PUBLISHED.get((measure, setting), ("", "", ""))
        where = ", ".join(str(1 + seed.index(min(seed))) for seed in seeds)
        blind = [_chosen(result, measure, setting) for result in results]
        chosen = ", ".join(str(row["layer"] + 1) for row in blind)
        lines.append(
            _row(
                _heading(setting, measure), _spread([fmean(seed) for seed in seeds]), mean,
                f"{_spread([min(seed) for seed in seeds])} (layer {where})", f"{best} (layer {there})" if best else "",
                f"{_spread([row['value'] for row in blind])} (layer {chosen})",
            )
        )  # fmt: skip
    untrained = [row["twin"] for result in results for row in _aer(result) if row["aligner"] == "attention" and row["head"] is None]  # fmt: skip
    if fmean(min(seed) for seeds in table.values() for seed in seeds) > min(untrained) - _NEAR:
        lines += [
            "", f"No layer is better than the same architecture untrained ({100 * min(untrained):.1f} at best): these models show no alignment at all. Where the encoder gives all pieces of a sentence one and the same",
            "state, attention has nothing to choose by; [translate_train.md](translate_train.md) says how alike they are.",
        ]  # fmt: skip
    aligners = _aligners(results)
    return lines + (["", f"Published aligners: {ALIGNERS}, trained on far more text. Ours:", "", *aligners] if aligners else [""])  # fmt: skip


def _by_layer(result: Any, setting: str, measure: str) -> list[float]:
    rows = [
        row for row in _aer(result) if row["aligner"] == "attention" and row["direction"] in ("forward", "backward")
        and (row["setting"], row["measure"]) == (setting, measure) and (row["direction"] == "forward" or setting == "to target")
    ]  # fmt: skip
    return [row["value"] for row in sorted(rows, key=lambda row: row["layer"])]


def _chosen(result: Any, measure: str, setting: str) -> dict[str, Any]:
    return next(
        row for row in result.tables["choices"].to_pylist()
        if (row["measure"], row["setting"], row["unit"], row["how"]) == (measure, setting, "layer", "largest mean norm")
        and (row["direction"] == "forward" or setting == "to target")
    )  # fmt: skip


def _spread(values: list[float]) -> str:
    return f"{100 * fmean(values):.1f} ({100 * min(values):.1f} to {100 * max(values):.1f})"


def _value(row: dict[str, Any]) -> str:
    ends = "" if row["low"] is None else f" ({100 * row['low']:.1f} to {100 * row['high']:.1f})"
    return f"{100 * row['value']:.1f}{ends}"


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best else text


def _made(folder: Path, result: Any) -> str:
    manifest, options = result.manifest, result.manifest.plan["options"]
    corpus = manifest.corpus
    extra = " --gold GOLD" if corpus.get("sure") or corpus.get("possible") else ""
    extra += f" --back {options['back']['name']}" if options.get("back") else ""
    extra += "" if options["compete"] else " --no-compete"
    more = corpus.get("more") or manifest.plan["corpus"].get("more")
    extra += f" --more {more['name']}" if more else ""
    extra += "".join(
        f" --{name.replace('_', '-')} {options[name]}" for name in ("max_pieces", "limit") if options.get(name)
    )
    notes = "".join(f"; {reason}: {count}" for reason, count in manifest.skipped.items())
    return (
        f"- `attlas align {corpus['name']}{extra} --model {manifest.model['name']} --out {folder.name}`: {corpus['passages']:,} pairs, {corpus['pieces']:,} pieces; seed {manifest.seed}, "
        f"{manifest.started[:10]}, {manifest.seconds:.0f} s on {manifest.model.get('device', 'cpu')}, attlas {manifest.versions.get('attlas')}{notes}"
    )


def _row(*cells: Any) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
