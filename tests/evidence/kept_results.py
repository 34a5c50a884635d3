"""Results of all studies on small inputs, from the tables that ``make same-figures`` keeps: nothing is run."""

from __future__ import annotations

import gzip
import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from attlas.store import Manifest, Result
from attlas.studies import studies

KEPT = Path(__file__).resolve().parents[2] / "tools" / "same_figures" / "pages.json.gz"
MODEL = {"name": "tiny", "class": "TinyModel", "fingerprint": "a" * 16, "parameters": 1000}


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return dict(json.loads(gzip.decompress(KEPT.read_bytes())))


def study_of(case: str) -> str:
    """The name of the study that a case is of, such as "keywords-study" of "keywords_study.halves"."""
    names = {study.python_name: name for name, study in studies().items() if study.page}
    return names.get(case.partition(".")[0], "")


def cases() -> list[str]:
    """All cases of studies with a page."""
    return [case for case in _tables() if study_of(case)]


def kept(case: str, **manifest: Any) -> Result:
    """The result of a case."""
    tables = {
        name: columns
        for name, columns in _tables()[case].items()
        if isinstance(columns, dict) and not name.startswith("(")
    }
    streams = {
        stream: {"layers": 4, "heads": 4}
        for columns in tables.values()
        if "head" in columns
        for stream in columns.get("stream", ())
    }
    about = {"model": {**MODEL, "streams": streams}, "corpus": {"name": "kept", "sha256": "b" * 64}} | manifest
    return Result(Manifest(study_of(case), **about), tables)


def sure(case: str, seed: int = 0) -> Result:
    """The result of a case as if it were of many texts: figures are drawn anew, with narrow intervals and small p, so
    that much can be said."""
    rng = np.random.default_rng(seed)
    result = kept(case)
    schemas = {schema.table: schema for schema in studies()[study_of(case)].load_page().schemas}
    tables: dict[str, Any] = {}
    for name, table in result.tables.items():
        columns = {column: table[column].to_pylist() for column in table.column_names}
        for figure in schemas[name].figures if name in schemas else ():
            values = columns.get(figure.name, [])
            drawn = [None if value is None else float(value) * rng.uniform(0.2, 1.8) for value in values]
            drawn = [value if value is None or figure.kind == "signed" else min(abs(value), 1.0) for value in drawn]
            columns[figure.name] = drawn if figure.name in columns else values
            for end, by in zip(figure.ends or (), (-0.01, 0.01), strict=False):
                columns[end] = [None if value is None else value + by * abs(value) for value in drawn]
            if figure.p in columns:
                columns[figure.p] = rng.choice([0.0001, 0.2], len(values), p=[0.8, 0.2]).tolist()
        tables[name] = {column: values for column, values in columns.items() if values}
    return Result(result.manifest, {name: columns for name, columns in tables.items() if columns})


def roles_result(seed: int = 0) -> Result:
    """A made-up result of roles, in which heads of induction and of sinks are closed, too."""
    rng = np.random.default_rng(seed)
    rows = []
    for definition in (
        "prefix_matching",
        "sink",
        "first_key",
        "sink_value",
        "dormant",
        "copying_weights",
        "retrieval",
    ):
        for layer, head in product(range(2), range(4)):
            first, second = rng.random(2).tolist()
            value, chance = (first + second) / 2, 1.0 if definition in ("sink_value", "dormant") else 0.05
            rows.append({
                "stream": "decoder", "layer": layer, "head": head, "definition": definition, "value": value,
                "low": value - 0.04, "high": value + 0.04, "chance": chance, "n": 40.0, "units": 40,
                "first_half": first, "second_half": second, "twin": 0.05, "twin_low": 0.04, "twin_high": 0.06,
                "p_corrected": float(rng.choice([0.001, 0.2])),
            })  # fmt: skip
    effects = [
        {"role": role, "definition": definition, "stream": "decoder", "heads": "1-1, 2-3", "measured": "loss",
         "rises": rises, "texts": 40, "whole": 2.0, "without": 2.0 + change, "change": change,
         "change_low": change - 0.05, "change_high": change + 0.05, "others": others, "others_low": 0.0,
         "others_high": 0.3, "sets": 400, "p": 0.0025, "p_corrected": 0.01, "holds": True}
        for role, definition, rises, change, others in (
            ("induction", "prefix_matching", True, 0.9, 0.1), ("sink", "first_key", False, 0.02, 0.2),
        )
    ]  # fmt: skip
    tables = {name: {key: [row[key] for row in own] for key in own[0]} for name, own in
              (("heads", rows), ("effects", effects))}  # fmt: skip
    model = MODEL | {"streams": {"decoder": {"layers": 2, "heads": 4}}}
    return Result(Manifest("roles", model=model, corpus={"name": "kept"}), tables)
