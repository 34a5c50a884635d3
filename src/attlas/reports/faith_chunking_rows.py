"""The rows that the charts of the chunking study read, made of its tables: means beside single models, and what was
published among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attlas.reports import faith_chunking_charts as charts
from attlas.reports.faith_chunking_findings import FORMS, Picture, called, guide, lam
from attlas.reports.findings import is_number, number
from attlas.reports.tables import share
from attlas.studies.shared.published import CHUNKING_BEND, chunking_f1

ROOM = 0.04  # of the chart's width or height: what a lambda that is written beside its dot takes


def score_rows(picture: Picture) -> list[dict[str, Any]]:
    """Originals (as lambda 0) and adversaries: each model, means with intervals, and what was published.

    >>> score_rows(Picture({}))
    []
    """
    rows = []
    for row in (*([] if picture.original is None else [picture.original]), *picture.adversaries):
        weight, label = float(row.get("weight") or 0.0), called(row)
        low, high = picture.interval(row)
        mean = {"weight": weight, "label": label, "f1": row["f1"], "low": low, "high": high, "seeds": row["seeds"]}
        rows.append({"part": "mean", **mean})
        told = chunking_f1(row["kind"], weight=row.get("weight"))
        if told is not None:
            rows.append(
                {"part": "published", **mean, "label": f"{label}, published", "f1": told, "low": None, "high": None}
            )
    for model in picture.rows("models"):
        if model["kind"] in ("original", "adversary") and rows:
            rows.append(
                {"part": "model", "weight": float(model["weight"] or 0.0),
                 "label": f"{called(model)}, seed {model['seed']}",
                 "f1": model["f1"], "low": model["f1_low"], "high": model["f1_high"], "seeds": 1}
            )  # fmt: skip
    return rows


def plane_rows(picture: Picture) -> list[dict[str, Any]]:
    """All that has a place in the plane of JSD and TVD.

    >>> plane_rows(Picture({}))
    []
    """

    def point(
        part: str, kind: str, label: str, row: Mapping[str, Any], weight: float | None = None
    ) -> dict[str, Any]:
        text = "" if weight is None else lam(weight)
        return {
            "part": part,
            "kind": kind,
            "label": label,
            "jsd": row["jsd"],
            "tvd": row["tvd"],
            "weight": weight,
            "lam": text,
        }

    rows = [
        point("word", "adversary of one word", f"word {row['number'] + 1}", row)
        for row in picture.rows("per_instance") if is_number(row["jsd"])
    ]  # fmt: skip
    for row in picture.rows("seeds"):
        uniform = row["kind"] == "uniform"
        kind = "trained with uniform attention" if uniform else "another seed"
        label = f"uniform, seed {row['seed']}" if uniform else f"seeds {row['other']} and {row['seed']}"
        rows.append(point("model", kind, label, row))
    placed = [row for row in picture.adversaries if is_number(row["jsd"])]
    rows += _spaced(
        [point("mean", "trained adversary", called(row), row, row["weight"]) for row in placed], "jsd", "tvd"
    )
    return rows


def _spaced(rows: list[dict[str, Any]], x: str, y: str) -> list[dict[str, Any]]:
    """Rows by weight; lambdas that would stand on each other are left unwritten, the first is spelled out."""
    width, height = (max((abs(row[key]) for row in rows), default=0.0) or 1.0 for key in (x, y))
    kept: list[dict[str, Any]] = []
    for row in reversed(rows):
        if all(abs(row[x] - other[x]) / width > ROOM or abs(row[y] - other[y]) / height > ROOM for other in kept):
            kept.append(row)
    for row in rows:
        row["lam"] = row["lam"] if any(row is other for other in kept) else ""
    if kept:
        kept[-1]["lam"] = f"λ = {kept[-1]['lam']}"
    return rows


def curve_rows(picture: Picture) -> list[dict[str, Any]]:
    """Originals and adversaries as points of the curve, for each pair of measures, with the bend.

    >>> curve_rows(Picture({}))
    []
    """
    rows: list[dict[str, Any]] = []
    for attention in charts.ATTENTION:
        for prediction in charts.PREDICTION:
            empty = dict.fromkeys(("x", "y", "low", "high", "label", "lam", "seed", "weight"))
            pair = {"attention": attention, "prediction": prediction, **empty}
            points = [
                row for row in picture.rows("models") if row["kind"] != "guided" and is_number(row.get(attention))
            ]
            rows += [
                {
                    **pair,
                    "part": "model",
                    "x": row[attention],
                    "y": row[prediction],
                    "label": f"{called(row)}, seed {row['seed']}",
                    "seed": row["seed"],
                    "weight": row["weight"] or 0.0,
                }
                for row in points
            ]
            rows += _spaced([
                {**pair, "part": "mean", "x": row[attention], "y": row[prediction], "label": called(row),
                 "lam": lam(row["weight"])}
                for row in picture.adversaries if is_number(row[attention])
            ], "x", "y")  # fmt: skip
            bend = picture.one("bend", attention=attention, prediction=prediction)
            if bend is None or not is_number(bend["at"]):
                continue
            rows.append(
                {
                    **pair,
                    "part": "bend",
                    "x": bend["at"],
                    "low": bend["at_low"],
                    "high": bend["at_high"],
                    "label": f"bend {number(bend['at'])}",
                }
            )
            if (attention, prediction) == ("kl", "nll"):
                rows.append(
                    {**pair, "part": "published", "x": CHUNKING_BEND, "label": f"published {share(CHUNKING_BEND)}"}
                )
    return rows


def guided_rows(picture: Picture) -> list[dict[str, Any]]:
    """The guided models with intervals, what was published, and the original's F1.

    >>> guided_rows(Picture({}))
    []
    """
    rows: list[dict[str, Any]] = []
    for attention in picture.guides:
        for form in FORMS:
            row = picture.guided(attention, form)
            if row is None:
                continue
            low, high = picture.interval(row)
            shown = {
                "label": guide(attention),
                "form": form,
                "f1": row["f1"],
                "low": low,
                "high": high,
                "seeds": row["seeds"],
            }
            rows.append({"part": "mean", **shown})
            told = chunking_f1("guided", attention, form)
            if told is not None:
                rows.append({"part": "published", **shown, "f1": told, "low": None, "high": None})
    if rows and picture.original is not None:
        rows.append({"part": "original", "label": "original", "form": FORMS[0], "f1": picture.original["f1"],
                     "low": None, "high": None, "seeds": picture.original["seeds"]})  # fmt: skip
    return rows
