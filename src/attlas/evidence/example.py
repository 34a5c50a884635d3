"""A small made-up atlas, for examples: a model of two layers with two heads, asked by two made-up studies."""

from __future__ import annotations

from functools import cache
from typing import Any

from attlas.evidence.atlas import Atlas
from attlas.evidence.gathering import Told, part_of
from attlas.evidence.saying import Saying
from attlas.evidence.uniting import joined
from attlas.pages.page import Page
from attlas.store import Manifest, Result
from attlas.store.schema import PLACE, Column, Schema

_SHARES = Schema(
    "heads", "Where heads look.", *PLACE, Column("quantity", "quantity"),
    Column("value", "share", "share", ends=("low", "high"), chance="chance", head=True), keys=("quantity",),
)  # fmt: skip
_FOUND = Schema(
    "relation_heads", "What heads find.", *PLACE, Column("relation", "relation"), Column("direction", "direction"),
    Column("value", "right", "percent", ends=("low", "high"), chance="chance", head=True),
    keys=("relation", "direction"),
)  # fmt: skip
_SAYINGS = (
    Saying("previous", "puts {value} of its attention on the previous piece (an even spread: {chance})", "heads",
           where={"quantity": "previous"}, bar=0.1),
    Saying("cls", "rests on [CLS], with {value} of its attention (an even spread: {chance})", "heads",
           where={"quantity": "cls"}, part="rests", bar=0.1),
    Saying("syntax", "finds the verb of an object: {value} right (the best fixed offset: {chance})", "relation_heads",
           where={"relation": "obj"}),
)  # fmt: skip
_MODEL = {"name": "tiny", "class": "ToyModel", "fingerprint": "0" * 16, "parameters": 1000,
          "streams": {"encoder": {"layers": 2, "heads": 2}}}  # fmt: skip


@cache
def example() -> Atlas:
    """The atlas.

    >>> example().head("1-1").called
    'syntax'
    """
    shares = {"previous": (0.17, 0.93, 0.06, 0.04), "cls": (0.44, 0.02, 0.05, 0.81)}
    heads = [
        _row(at, value, 0.02, 0.05) | {"quantity": quantity}
        for quantity, values in shares.items()
        for at, value in enumerate(values)
    ]
    found = [
        _row(at, value, 0.06, 0.36) | {"relation": "obj", "direction": "to"}
        for at, value in enumerate((0.77, 0.38, 0.05, 0.02))
    ]
    parts = []
    for study, schema, rows in (("survey", _SHARES, heads), ("relations", _FOUND, found)):
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        manifest = Manifest(study, model=_MODEL, corpus={"name": "sample"}, versions={"attlas": "0.1.0"})
        told = Told(Page(study, f"{study} of {{model}}", lambda tables: None, schemas=(schema,)), _SAYINGS)
        part = part_of(Result(manifest, {schema.table: columns}), told, command=f"attlas {study} sample")
        parts += [part] if part is not None else []
    return Atlas.of(joined(parts))


def _row(at: int, value: float, half: float, chance: float) -> dict[str, Any]:
    layer, head = divmod(at, 2)
    return {"stream": "encoder", "layer": layer, "head": head, "value": value, "low": max(0.0, value - half),
            "high": min(1.0, value + half), "chance": chance}  # fmt: skip
