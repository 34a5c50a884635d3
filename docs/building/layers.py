"""docs/results/layers.md from result folders of ``attlas layers`` and ``attlas layers together``: ours beside what was published."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"


def build(folders: list[Path]) -> None:
    """Write the page: one part for each folder, of one task or of several that were put together."""
    from attlas.reports.layers_findings import Picture
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    pictures = [Picture({name: table.to_pylist() for name, table in result.tables.items()}) for result in results]
    lines = [
        "# What layers know: ours beside the published figures",
        "",
        f"Written by `python docs/build.py layers FOLDER ...` on {date.today()}. Micro-F1 on test in per cent; layer 0 is what the model reads. 95 % intervals are Student's over seeds where there are several, else",
        "by bootstrap over test sentences; mixing weights of one seed have none. A place is left empty where further layers add nothing that can be told from chance. *Twin* is the same architecture",
        "with random weights, *control* are labels drawn for word types, *selectivity* is gold less control.",
        "",
        "Published: BERT-large, 24 layers, Tenney et al. 2019 (Figure 1; scores on dev, mostly OntoNotes); that model and that corpus are not at hand, so what can agree is the order of the tasks. Of",
        "these figures only the expected layer of coreference is confirmed (quoted in issue 1084 of the authors' toolkit, nyu-mll/jiant); the others could not be held against the paper's text. Those for BERT-base and K(s) are not at hand.",
        "",
        *_summary(results, pictures),
    ]
    for result, picture in zip(results, pictures, strict=True):
        lines += _part(result, picture)
    lines += ["", "## How they were made", ""]
    lines += [line for folder, result in zip(folders, results, strict=True) for line in _made(folder, result)]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "layers.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'layers.md'}")


def _summary(results: list[Any], pictures: list[Any]) -> list[str]:
    """All tasks of all folders by expected layer, as shares of the depth, beside the published ones."""
    from attlas.reports.layers_findings import NAMES
    from attlas.studies.shared.published import PIPELINE, PIPELINE_LAYERS

    tasks = [task for task in NAMES if any(picture.place(task) for picture in pictures)]
    if not tasks:
        return []
    tasks.sort(key=lambda task: PIPELINE[task].expected_layer)
    lines = [
        "## Where tasks lie, in shares of the model's depth",
        "",
        "Expected layer over the number of layers, per cent; in the order of the paper.",
        "",
        _row(
            "task", "published", *(_name(result, picture) for result, picture in zip(results, pictures, strict=True))
        ),
        "|---" * (2 + len(results)) + "|",
    ]
    for task in tasks:
        found = [picture.place(task) for picture in pictures]
        cells = [
            "" if one is None else f"{100 * one.value / picture.layers:.0f}"
            for one, picture in zip(found, pictures, strict=True)
        ]
        lines.append(_row(NAMES[task], f"{100 * PIPELINE[task].expected_layer / PIPELINE_LAYERS:.0f}", *cells))
    return lines


def _part(result: Any, picture: Any) -> list[str]:
    from attlas.reports.layers_findings import NAMES, findings
    from attlas.studies.shared.published import PIPELINE

    places = [
        "task", "expected layer", "published", "centre of gravity", "published", "K(s)", "K(D)", "twin: expected", "centre",
        "control: expected", "centre", "seeds",
    ]  # fmt: skip
    lines = [
        "",
        f"## {_name(result, picture)}: {picture.layers} layers",
        "",
        _row(*places),
        "|---" * len(places) + "|",
    ]
    for task in picture.tasks:
        told = PIPELINE.get(task)
        lines.append(
            _row(
                NAMES.get(task, task),
                _number(picture.place(task), bold=True),
                "" if told is None else f"{told.expected_layer:.2f}",
                _number(picture.of(task, "centre of gravity"), bold=True),
                "" if told is None else f"{told.centre_of_gravity:.2f}",
                _number(picture.of(task, "K(s)")),
                _number(picture.of(task, "K(D)")),
                _number(picture.place(task, "untrained")),
                _number(picture.of(task, "centre of gravity", "untrained")),
                _number(picture.place(task, labels="control")),
                _number(picture.of(task, "centre of gravity", labels="control")),
                str(picture.seeds(task)),
            )
        )
    scores = [
        "task", "layer 0", "published", "all layers", "published", "best layer alone", "twin: layer 0", "all", "control: layer 0", "all",
        "selectivity", "at layer 0", "twin: selectivity", "most frequent label",
    ]  # fmt: skip
    lines += ["", _row(*scores), "|---" * len(scores) + "|"]
    for task in picture.tasks:
        told = PIPELINE.get(task)
        best = picture.of(task, "best single layer")
        alone = "" if best is None else f"{_percent(picture.of(task, 'score of it'))} (layer {best.value:.0f})"
        lines.append(
            _row(
                NAMES.get(task, task),
                _percent(picture.of(task, "score at layer 0")),
                "" if told is None else f"{100 * told.base:.1f}",
                f"**{_percent(picture.of(task, 'score'))}**",
                "" if told is None else f"{100 * told.score:.1f}",
                alone,
                _percent(picture.of(task, "score at layer 0", "untrained")),
                _percent(picture.of(task, "score", "untrained")),
                _percent(picture.of(task, "score at layer 0", labels="control")),
                _percent(picture.of(task, "score", labels="control")),
                _percent(picture.of(task, "selectivity")),
                _percent(picture.of(task, "selectivity at layer 0")),
                _percent(picture.of(task, "selectivity", "untrained")),
                _percent(picture.of(task, "most frequent label", "none")),
            )
        )
    lines += ["", *(f"- {_plain(finding.text)}" for finding in findings(picture))]
    return [*lines, *_by_layer(picture)]


def _by_layer(picture: Any) -> list[str]:
    """Gains and weights of every task, layer by layer."""
    from attlas.reports.layers_findings import NAMES
    from attlas.reports.layers_rows import bar_rows

    numbers = range(picture.first, picture.layers + 1)
    rows = [row for row in bar_rows(picture) if row["part"] == "bar"]
    lines = []
    for kind, title in (("gain", "Points of F1 that each layer adds"), ("weight", "Mixing weights, per cent")):
        lines += ["", f"{title}:", "", _row("task", *map(str, numbers)), "|---" * (1 + len(numbers)) + "|"]
        for task in picture.tasks:
            known = {row["layer"]: row["value"] for row in rows if (row["task"], row["kind"]) == (task, kind)}
            sign = "+" if kind == "gain" else ""
            cells = [f"{100 * known[k]:{sign}.1f}" if k in known else "" for k in numbers]
            lines.append(_row(NAMES.get(task, task), *(cell.replace("-", "−") for cell in cells)))
    return lines


def _made(folder: Path, result: Any) -> list[str]:
    m = result.manifest
    plans = m.plan["options"].get("together") or [m.plan]
    lines = [
        f"- {folder.name}: {m.model['name']} (fingerprint {m.model['fingerprint']}), begun on {m.started[:10]}, {m.seconds:.0f} s in all:"
    ]
    for plan in plans:
        options, corpus = plan["options"], plan["corpus"]
        about = m.corpus["tasks"][options["task"]]
        command = f"attlas layers {options['task']} {corpus['name']}"
        command += "".join(f" --{part} {corpus[part]['name']}" for part in ("dev", "test") if part in corpus)
        command += f" --model {plan['model']['name']}"
        command += f" --over {options['over']}" if options.get("over", "layers") != "layers" else ""
        command += f" --seeds {options['seeds']}" if options.get("seeds", 1) > 1 else ""
        command += f" --epochs {options['epochs']}" if options.get("epochs") else ""
        command += f" --limit {options['limit']}" if options.get("limit") else ""
        command += "".join(f" --no-{what}" for what in ("singles", "control", "twin") if not options.get(what, True))
        parts = ", ".join(
            f"{name} {part['sentences']:,} texts with {part['edges']:,} edges"
            for name, part in about["parts"].items()
        )
        unseen = sum(sum(found.values()) for found in about.get("unseen", {}).values())
        lines.append(
            f"  - `{command}`, seed {plan['seed']}: {parts}; {about['labels']} labels"
            + (f", {unseen} times one that training has not seen" if unseen else "")
            + f"; {100 * about['types_known']:.0f} % of test edges have a control word that training knows; states {about['store_bytes'] / 1e9:.2f} GB; corpus sha256 {corpus['sha256'][:16]}."
        )
    skipped = "; ".join(f"{reason}: {count:,}" for reason, count in m.skipped.items())
    return [*lines, f"  - left out: {skipped or 'nothing'}."]


def _name(result: Any, picture: Any) -> str:
    name = str(result.manifest.model["name"])
    return f"{name}, over heads" if picture.heads else name


def _number(known: Any, *, bold: bool = False) -> str:
    if known is None:
        return ""
    value = f"**{known.value:.2f}**" if bold else f"{known.value:.2f}"
    return value.replace("-", "−") + (_between(known, 1, 2) if bold else "")


def _percent(known: Any) -> str:
    if known is None:
        return ""
    return f"{100 * known.value:.1f}".replace("-", "−") + _between(known, 100, 1)


def _between(known: Any, times: float, digits: int) -> str:
    from attlas.reports.tables import ends

    if known.low is None:
        return ""
    return f" ({ends(f'{times * known.low:.{digits}f}', f'{times * known.high:.{digits}f}')})"


def _plain(html: str) -> str:
    for tag, mark in (("<b>", "**"), ("</b>", "**"), ("<i>", "*"), ("</i>", "*")):
        html = html.replace(tag, mark)
    return html


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
