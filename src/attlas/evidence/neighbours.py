"""Heads that do alike: for each head those that are nearest to it, from tables with a row for each pair of heads."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

import pyarrow as pa

from attlas.evidence.portraits import in_numbers
from attlas.ids import paper_label
from attlas.store.schema import Schema, is_known

MOST = 3
LIKE = 1 / 3  # of the mean distance from all heads: what is nearer is called alike
Row = dict[str, Any]


def alike(tables: Mapping[str, pa.Table], schemas: Iterable[Schema]) -> list[Row]:
    """The nearest heads of each head, by the distance that a table of pairs holds; ``chance`` is the mean distance
    from all heads of its stream.

    >>> from attlas.store.schema import PLACE, Column
    >>> pairs = Schema("pairs", "", *PLACE, Column("layer_b", "", "index"), Column("head_b", "", "index"),
    ...                Column("value", "", "number"), pair=("layer_b", "head_b"))
    >>> columns = {"stream": ["encoder"] * 3, "layer": [0, 0, 0], "head": [0, 0, 1], "layer_b": [0] * 3,
    ...            "head_b": [1, 2, 2], "value": [0.5, 0.1, 0.6]}
    >>> nearest = alike({"pairs": pa.table(columns)}, [pairs])[0]
    >>> nearest["head"], nearest["other_head"], nearest["value"], round(nearest["chance"], 2)
    (0, 2, 0.1, 0.3)
    """
    rows: list[Row] = []
    for schema in schemas:
        table = tables.get(schema.table)
        if schema.pair is None or table is None:
            continue
        by_head: dict[tuple[str, int, int], list[Row]] = defaultdict(list)
        layer_b, head_b = schema.pair
        for pair in table.to_pylist():
            if not is_known(pair["value"]):
                continue
            one, other = (pair["layer"], pair["head"]), (pair[layer_b], pair[head_b])
            ends = {name: pair.get(name) for name in ("value", "low", "high")}
            for place, near in ((one, other), (other, one)):
                by_head[(pair["stream"], *place)].append({"other_layer": near[0], "other_head": near[1], **ends})
        for (stream, layer, head), others in sorted(by_head.items()):
            mean = fmean(other["value"] for other in others)
            nearest = sorted(others, key=lambda other: other["value"])[:MOST]
            rows += [
                {"stream": stream, "layer": layer, "head": head, "order": order, **other, "chance": mean}
                for order, other in enumerate(nearest)
            ]
    return rows


def alike_sentences(rows: Iterable[Row]) -> list[Row]:
    """What is said of heads with a near neighbour: that the far end of the interval of their distance is well below
    the mean distance from all heads."""
    told = []
    for row in rows:
        high = row["high"] if is_known(row.get("high")) else None
        if row["order"] or high is None or not high < LIKE * row["chance"]:
            continue
        value, _, _, chance, *_ = in_numbers("number", row)
        other = paper_label(row["other_layer"], row["other_head"])
        claims = [
            {"kind": "value", "table": "alike", "column": "value", "value": row["value"]},
            {"kind": "below", "table": "alike", "column": "high", "than": LIKE * row["chance"]},
        ]
        told.append({
            **{name: row[name] for name in ("stream", "layer", "head", "value", "low", "high", "chance")},
            "role": "alike", "part": "alike", "strength": min(1.0, 1 - high / row["chance"]), "quantity": "alike",
            "sentence": f"attends much as {other} does: {value} nats apart (from all heads {chance} on average)",
            "claims": json.dumps(claims),
        })  # fmt: skip
    return told
