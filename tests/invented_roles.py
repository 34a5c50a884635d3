"""Invented results of roles, with heads that are chosen on one half and figures of the other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from attlas.ids import HeadId, Stream
from attlas.store import Manifest, Result
from attlas.studies.roles.behaviour import BEHAVIOURS
from attlas.studies.roles.concordance import agreement_table
from attlas.studies.roles.definition import Trial
from attlas.studies.roles.definitions import DEFINITIONS
from attlas.studies.roles.effects import Closed, effect_table
from attlas.studies.roles.scores import Scored, half_of
from attlas.studies.roles.tables import Outcome, head_tables

LAYERS, HEADS, KEYS = 4, 6, 2
REST = ("low", "high", "chance", "n", "units", "twin", "twin_low", "twin_high", "p_corrected")


def invented(definitions: tuple[str, ...] = ("prefix_matching", "sink", "streaming_gate")) -> Result:
    """A result of roles: heads that are chosen on one half, and figures of the other."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for definition in definitions:
        for layer in range(LAYERS):
            for head in range(HEADS):
                first, second = rng.random(2).round(3).tolist()
                if definition == "streaming_gate":
                    first, second = layer / 4, (0.125 + 0.5 * (head >= 3)) * (layer % 2 + 0.5)
                rows.append({
                    "stream": "decoder", "layer": layer, "head": head, "definition": definition,
                    "value": (first + second) / 2, "first_half": first, "second_half": second,
                    **dict.fromkeys(REST, 0.0),
                })  # fmt: skip
    sharing = [
        {"stream": "decoder", "layer": layer, "head": head, "key_head": head // (HEADS // KEYS)}
        for layer in range(LAYERS)
        for head in range(HEADS)
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    shared = {name: [row[name] for row in sharing] for name in sharing[0]}
    manifest = Manifest("roles", model={"name": "a/tiny"}, corpus={"name": "sample"})
    return Result(manifest, {"heads": columns, "sharing": shared})


def expected(result: Result, definition: str, count: int) -> list[tuple[int, int]]:
    rows = [row for row in result.rows("heads") if row["definition"] == definition]
    rows.sort(key=lambda row: -row["first_half"])
    return [(row["layer"], row["head"]) for row in rows[:count]]


def page_result(layers: int = 4, heads: int = 5, units: int = 24, seed: int = 0) -> Result:
    """A result with all tables of a real one, of figures that were drawn: in the last but one layer three heads
    induce, in the first one looks at the piece before, and half of all rest."""
    rng = np.random.default_rng(seed)
    shape, keys = (
        (layers, heads),
        ("prefix_matching", "duplicate", "previous_text", "sink", "dormant", "retrieval_forced"),
    )
    outcomes = []
    for place, key in enumerate(keys):
        definition = DEFINITIONS[key]
        level = rng.uniform(0.01, 0.1, shape)
        if key == "prefix_matching":
            level[layers - 2, :3] = 0.9, 0.7, 0.5
        if key == "previous_text":
            level[0, 1] = 0.8
        if key in ("sink", "dormant"):
            level = rng.uniform(0.2, 1.0, shape)
        if key == "retrieval_forced":
            level[layers - 1, :2] = 0.3, 0.2
        made = []
        for mean in (level, np.full(shape, 0.03)):
            figures = np.clip(mean + rng.normal(0, 0.03, (units, *shape)), 0, None)[..., None]
            halves = np.array([half_of(unit) for unit in range(units)])
            made.append(Scored(figures, np.ones(figures.shape), halves, np.full((layers, 1), 0.03)))
        trial = Trial(f"texts {place}", "made up", "x:y", (definition,))
        outcomes.append(Outcome(trial, (definition,), Stream.DECODER, made[0], made[1:]))
    whole = rng.normal(3.4, 0.2, 12)
    tested = [
        Closed(behaviour, (HeadId(Stream.DECODER, layers - 2, 0), HeadId(Stream.DECODER, layers - 2, 1)),
               np.stack([whole, whole + own + rng.normal(0, 0.1, 12), *(whole + rng.normal(0, 0.1, (400, 1)))]))
        for behaviour, own in zip(BEHAVIOURS, (2.4, 0.0, 0.9), strict=False)
    ]  # fmt: skip
    some = SimpleNamespace(grid=lambda stream: np.ones(shape, bool))
    at = [{"stream": "decoder", "layer": layer, "head": head} for layer, head in np.ndindex(shape)]
    rows: dict[str, list[dict[str, Any]]] = {
        "definitions": [
            {"definition": key, "title": DEFINITIONS[key].title, "by": DEFINITIONS[key].by,
             "reading": DEFINITIONS[key].reading, "texts": f"texts {place}"}
            for place, key in enumerate(keys)
        ],
        "texts": [{"key": f"texts {place}", "title": "made up", "texts": units, "unit": "text", "pieces": 64 * units,
                   "longest": 64, "begun": True} for place in range(len(keys))],
        "left_out": [{"definition": "learned_sink", "reason": "tiny has no learned sinks"}],
        "untested": [{"role": "successor", "reason": "no head was named by successor"}],
        "sharing": [{**one, "key_head": one["head"] // 2} for one in at],
        "spectrum": [{**one, "band": band, "value": value, "low": value * 0.9, "high": min(1.0, value * 1.1),
                      "n": units}
                     for one in at for band, value in enumerate(rng.dirichlet(np.ones(8)).tolist())],
        "massive": [{"state": state, "place": which, "value": value, "low": value / 2, "high": min(1.0, 2 * value),
                     "coordinates": 100.0 + 10 * state, "n": units}
                    for state in range(layers + 1) for which, value in (("first", 0.5), ("others", 0.01))],
        "loudest": [{**one, "pieces": "rain, hill, stone, well, bread", "value": float(rng.uniform(1.5, 4)),
                     "n": 4096} for one in at],
    }  # fmt: skip
    tables = {
        **head_tables(some, outcomes), "agreement": agreement_table(outcomes), "effects": effect_table(tested),
        **{name: {key: [row[key] for row in some_rows] for key in some_rows[0]} for name, some_rows in rows.items()},
    }  # fmt: skip
    return Result(Manifest("roles", model={"name": "a/tiny"}, corpus={"name": "sample"}), tables)


def through(steps: tuple[int, ...] = (0, 100, 200, 400), seed: int = 0) -> Result:
    """A training in which induction appears and duplicates do not."""
    rng = np.random.default_rng(seed)
    curves: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        for definition, level in (("prefix_matching", (0.01, 0.02, 0.6, 0.7)[number]), ("duplicate", 0.02)):
            place = {"stream": "decoder", "definition": definition, "step": step, "checkpoint": f"step-{step}"}
            for which, head in (("now", int(rng.integers(4))), ("end", 2)):
                value = level * float(rng.uniform(0.9, 1.1))
                ends = {"value": value, "low": value * 0.8, "high": value * 1.2, "chance": 0.01}
                curves.append({**place, "which": which, "layer": 1, "head": head, **ends})
            for layer in range(2):
                for head in range(4):
                    value = float(rng.uniform(0, level))
                    ends = {"value": value, "low": value * 0.8, "high": value * 1.2, "chance": 0.01}
                    heads.append({**place, "layer": layer, "head": head, **ends})
    known = [
        {"definition": key, "title": title, "by": by, "reading": "What is summed."}
        for key, title, by in (
            ("prefix_matching", "prefix matching", "Olsson et al. 2022"),
            ("duplicate", "duplicate", "Wang et al. 2023"),
        )
    ]  # fmt: skip
    series = [
        {"step": step, "checkpoint": f"step-{step}", "opens": f"runs/step-{step}", "fingerprint": f"{step:016d}"}
        for step in steps
    ]
    left_out = [{"definition": "retrieval_forced", "reason": "the context of tiny is too short"}]
    tables = {"curves": curves, "heads": heads, "definitions": known, "checkpoints": series, "left_out": left_out}
    columns = {name: {key: [row[key] for row in rows] for key in rows[0]} for name, rows in tables.items()}
    return Result(Manifest("roles-through", model={"name": "tiny"}, corpus={"name": "sample"}), columns)
