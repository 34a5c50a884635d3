"""docs/results/atlas.md from atlases that ``attlas atlas`` has made: what was run, what stands out, how models compare,
and whether a model that was read twice, on other texts, is matched with itself."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
MOST = 8  # sentences of a kind
HEAD = """# Atlases of real models

Written by `python docs/build.py atlas FOLDER ...` on {today}, from the folders of these atlases. Figures stand with their interval and what they are held against; a head's role is that of its first sentence.
Everything is on small samples of texts, so intervals are wide and rare relations are missing."""


def build(folders: list[Path]) -> None:
    """Write the page."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "atlas.md").write_text(text(folders), encoding="utf-8")
    print(f"page: {RESULTS / 'atlas.md'}")


def text(folders: list[Path]) -> str:
    """The whole page; a model that stands in several of the atlases is told of once."""
    from attlas import atlas

    lines, seen = [HEAD.format(today=date.today()), ""], set()
    for folder in folders:
        opened = atlas(folder)
        tables = {name: table.to_pylist() for name, table in opened.tables.items() if name != "heads"}
        for model in opened.models:
            lines += [] if model in seen else _model(model, tables)
            seen.add(model)
        lines += _compared(tables) + _found_again(opened)
    return "\n".join(lines) + "\n"


def _model(model: str, tables: dict[str, list[dict[str, Any]]]) -> list[str]:
    """What was found of one model."""
    own = {name: [row for row in rows if row.get("model") == model] for name, rows in tables.items()}
    heads, roles = _roles(own["portraits"]), {row["role"]: row["title"] for row in tables["roles"]}
    counts = Counter(roles.get(role, role) for role in heads.values())
    shapes = ", ".join(f"{row['stream']} {row['layers']} x {row['heads']}" for row in own["models"])
    shown = ", ".join(f"{role} {count}" for role, count in counts.most_common())
    lines = [f"## {model}", "", f"{shapes}; {len(heads)} heads. First sentences: {shown}.", ""]
    lines += [f"Studies disagree about {len({_place(row) for row in own['disagreements']})} heads.", ""]
    lines += ["What stands out, chosen on one half of the texts and told of the other:", ""]
    lines += [f"- {row['sentence']}." for row in own["stands_out"][:MOST]]
    lines += ["", "The strongest sentences on what heads do:", ""]
    does = [row for row in own["portraits"] if row["part"] == "does"]
    for row in sorted(does, key=lambda row: -row["strength"])[:MOST]:
        stream = f"{row['stream']} " if len(own["models"]) > 1 else ""
        lines.append(f"- {stream}{row['layer'] + 1}-{row['head'] + 1} {row['sentence']}.")
    lines += ["", "| study | texts | seconds | fingerprint | command |", "|---|---|--:|---|---|"]
    for row in own["sources"]:
        lines.append(
            f"| {row['study']} | {row['corpus']} | {row['seconds']:,.0f} | `{row['fingerprint']}` | `{row['command']}` |"
        )
    left = [row for row in tables["left_out"] if row["model"] == model]
    lines += ["", *(f"- left out: {row['given']}: {row['reason']}" for row in left)] if left else []
    return [*lines, ""]


def _roles(portraits: list[dict[str, Any]]) -> dict[tuple[Any, ...], str]:
    """The role of every head: of its first sentence on what it does, else on where it rests."""
    from attlas.evidence.portraits import role_of

    by_head: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in portraits:
        by_head.setdefault(_place(row), []).append(row)
    return {place: role_of(rows) for place, rows in by_head.items()}


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["stream"], row["layer"], row["head"]


def _compared(tables: dict[str, list[dict[str, Any]]]) -> list[str]:
    """How the models of one atlas compare, pair by pair."""
    pairs: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for row in tables.get("matches", []):
        pairs.setdefault((row["model"], row["other"], row["by"], row["stream"]), []).append(row)
    if not pairs:
        return []
    lines = [
        "## Compared",
        "",
        "*Paired* heads make the sum of distances smallest; *matched* are those that are nearer to each other, by a tenth, than",
        "to any further head of either model.",
        "",
        "| model | other | stream | by | paired | with the same number | matched | with the same number |",
        "|---|---|---|---|--:|--:|--:|--:|",
    ]
    for (model, other, by, stream), rows in pairs.items():
        same = [(row["layer"], row["head"]) == (row["other_layer"], row["other_head"]) for row in rows]
        matched = [one for one, row in zip(same, rows, strict=True) if row["matched"]]
        counts = f"{len(rows)} | {sum(same)} | {len(matched)} | {sum(matched)}"
        lines.append(f"| {model} | {other} | {stream} | {by} | {counts} |")
    return [*lines, ""]


def _found_again(opened: Any) -> list[str]:
    """Of each model of which some studies read two corpora: its heads on the one, and shuffled on the other, matched."""
    lines = []
    for model in opened.models:
        frame = opened.to_pandas()
        own = frame[frame["model"] == model].assign(model=lambda rows: rows["model"].astype(str))
        corpora = own.groupby(["study", "quantity"], observed=True)["corpus"].nunique()
        twice = own.set_index(["study", "quantity"]).loc[corpora[corpora == 2].index].reset_index()
        if len(twice):
            lines += [_shuffled(twice, model)]
    return ["## A model matched with itself", "", *lines, ""] if lines else []


def _shuffled(rows: Any, model: str) -> str:
    """How many heads are found again, where those of the second corpus have drawn places."""
    import numpy as np
    import pyarrow as pa

    from attlas.evidence.gathering import shaped
    from attlas.evidence.matching import match_rows
    from attlas.evidence.schemas import HEADS

    first, second = sorted(rows["corpus"].astype(str).unique())
    places = sorted(set(zip(rows["stream"], rows["layer"], rows["head"], strict=True)))
    rng, drawn = np.random.default_rng(0), {}
    for stream in sorted({place[0] for place in places}):
        here = [place for place in places if place[0] == stream]
        drawn |= dict(zip(here, (here[at] for at in rng.permutation(len(here))), strict=True))
    other = rows[rows["corpus"] == second].copy()
    moved = [drawn[place] for place in zip(other["stream"], other["layer"], other["head"], strict=True)]
    other["layer"], other["head"], other["model"] = [at[1] for at in moved], [at[2] for at in moved], "shuffled"
    tables = [pa.Table.from_pandas(part, preserve_index=False) for part in (rows[rows["corpus"] == first], other)]
    heads = pa.concat_tables([shaped(table, HEADS) for table in tables]).unify_dictionaries()
    pairs = match_rows(heads, model, "shuffled")
    right = [
        drawn[row["stream"], row["layer"], row["head"]][1:] == (row["other_layer"], row["other_head"])
        for row in pairs
    ]
    matched = [was for was, row in zip(right, pairs, strict=True) if row["matched"]]
    return (
        f"- {model}, read on {first} and, its heads under drawn numbers, on {second}: {sum(right)} of {len(pairs)} heads "
        f"are paired with themselves ({100 * sum(right) / len(pairs):.1f} %); of {len(matched)} that count as matched, "
        f"{sum(matched)} are."
    )
