"""What an atlas says under test: made-up heads of which another thing would be said by a turned sign, a dropped level
of chance, a correction that is forgotten, or halves that are swapped.

Six heads have the same figure and differ in one thing each: head 1-1 is surely above chance, 1-2 reaches it with its
interval, 1-3 is below it, 2-1 is above it but its p is not small, 2-2 was the most on one half and is nothing on the
other, and 2-3 has no chance level at all.
"""

from __future__ import annotations

from typing import Any

import pytest

from attlas.evidence.atlas import Atlas
from attlas.evidence.gathering import Told, part_of
from attlas.evidence.saying import Saying
from attlas.evidence.uniting import joined
from attlas.pages.page import Page
from attlas.store import Manifest, Result
from attlas.store.schema import PLACE, Column, Schema
from attlas.studies.joining import gathered

SCHEMA = Schema(
    "heads", "", *PLACE, Column("quantity", "quantity", labels={"share": "the share", "rest": "the rest"}),
    Column("value", "value", "share", ends=("low", "high"), chance="chance", p="p_corrected", head=True),
    Column("first_half", "", "share"), Column("second_half", "", "share"), keys=("quantity",),
)  # fmt: skip
HEADS = {  # low, value, high, chance, p, on one half, on the other
    (0, 0): (0.6, 0.7, 0.8, 0.2, 0.001, 0.75, 0.65),
    (0, 1): (0.15, 0.3, 0.45, 0.2, 0.001, 0.3, 0.3),
    (0, 2): (0.02, 0.05, 0.1, 0.2, 0.001, 0.05, 0.05),
    (1, 0): (0.5, 0.6, 0.7, 0.2, 0.4, 0.6, 0.6),
    (1, 1): (0.3, 0.5, 0.7, 0.2, 0.001, 0.9, 0.1),
    (1, 2): (0.5, 0.6, 0.7, None, 0.001, 0.6, 0.6),
}
ABOVE = Saying("previous", "has {value} (by chance {chance})", "heads", where={"quantity": "share"}, p_below=0.01)
BELOW = Saying("dormant", "has {value} only (by chance {chance})", "heads", where={"quantity": "share"}, below=True,
               best=0.0, p_below=0.01, part="writes")  # fmt: skip


def atlas(*sayings: Saying, heads: dict[tuple[int, int], tuple[Any, ...]] | None = None) -> Atlas:
    given = HEADS if heads is None else heads
    names = ("low", "value", "high", "chance", "p_corrected", "first_half", "second_half")
    columns = {name: [figures[at] for figures in given.values()] for at, name in enumerate(names)}
    columns |= {"layer": [layer for layer, _ in given], "head": [head for _, head in given]}
    columns |= {"stream": ["encoder"] * len(given), "quantity": ["share"] * len(given)}
    model = {"name": "m", "streams": {"encoder": {"layers": 2, "heads": 3}}}
    result = Result(Manifest("made-up", model=model, corpus={"name": "c"}), {"heads": columns})
    part = part_of(result, Told(Page("made-up", "", lambda tables: None, schemas=(SCHEMA,)), sayings))
    assert part is not None
    return Atlas.of(joined([part]))


def spoken(one: Atlas) -> dict[str, str]:
    return {
        f"{row['layer'] + 1}-{row['head'] + 1}": row["sentence"]
        for row in one.tables["portraits"].to_pylist()
        if row["part"] != "none"
    }


def test_only_what_is_surely_beyond_chance_is_said() -> None:
    assert spoken(atlas(ABOVE)) == {"1-1": "has 0.70 (by chance 0.20)", "2-2": "has 0.50 (by chance 0.20)"}


def test_small_figures_are_asked_by_their_upper_end() -> None:
    assert spoken(atlas(BELOW)) == {"1-3": "has 0.05 only (by chance 0.20)"}


def test_strength_is_that_of_the_near_end() -> None:
    rows = {row["head"]: row for row in atlas(ABOVE).tables["portraits"].to_pylist() if row["layer"] == 0}
    assert rows[0]["strength"] == pytest.approx((0.6 - 0.2) / (1 - 0.2))
    (row,) = [row for row in atlas(BELOW).tables["portraits"].to_pylist() if row["part"] == "writes"]
    assert row["strength"] == pytest.approx((0.2 - 0.1) / 0.2)


def test_the_head_that_stands_out_is_picked_on_one_half_and_told_by_the_other() -> None:
    assert not atlas(ABOVE).tables["stands_out"].num_rows  # 2-2 is the most where heads are picked, and nothing there
    without = {place: figures for place, figures in HEADS.items() if place != (1, 1)}
    (row,) = atlas(ABOVE, heads=without).tables["stands_out"].to_pylist()
    assert (row["layer"], row["head"], row["value"]) == (0, 0, 0.65)
    assert row["sentence"] == (
        "Of all 5 heads of the encoder, 1-1 has the most of “the share” on one half of the texts; on the other half "
        "it has 0.65 (on all texts 0.60–0.80; held against 0.20)"
    )


def test_the_most_on_the_half_that_is_told_is_not_picked() -> None:
    turned = {**HEADS, (1, 1): (0.3, 0.5, 0.7, 0.2, 0.001, 0.3, 0.95)}
    (row,) = atlas(ABOVE, heads=turned).tables["stands_out"].to_pylist()
    assert (row["layer"], row["head"]) == (0, 0)


def relations(**change: float | None) -> Result:
    row = {"value": 0.77, "low": 0.7, "high": 0.83, "margin": 0.4, "p_corrected": 0.0001,
           "everywhere_p_corrected": 0.0001, "twin": 0.06, "n": 219} | change  # fmt: skip
    place = {"stream": "encoder", "layer": 2, "head": 0, "direction": "to", "relation": "obj"}
    offsets = [{"relation": "obj", "offset": at, "value": value, "low": None, "high": None, "n": 219}
               for at, value in ((-1, 0.36), (-2, 0.2), (1, 0.02))]  # fmt: skip
    tables = {"relation_heads": [place | row], "offsets": offsets}
    model = {"name": "m", "streams": {"encoder": {"layers": 3, "heads": 1}}}
    columns = {name: {key: [one[key] for one in rows] for key in rows[0]} for name, rows in tables.items()}
    return Result(Manifest("relations", model=model, corpus={"name": "c"}), columns)


def survey(**places: float) -> Result:
    rows = [
        {"stream": "encoder", "layer": 2, "head": 0, "measure": "weight", "quantity": name, "value": value,
         "low": value - 0.01, "high": value + 0.01, "chance": 0.05, "n": 100.0, "first_half": value,
         "second_half": value}
        for name, value in places.items()
    ]  # fmt: skip
    model = {"name": "m", "streams": {"encoder": {"layers": 3, "heads": 1}}}
    return Result(
        Manifest("survey", model=model, corpus={"name": "c"}), {"heads": {k: [r[k] for r in rows] for k in rows[0]}}
    )  # fmt: skip


def test_a_head_that_finds_objects_is_said_to_against_the_best_offset() -> None:
    head = gathered([relations()]).head("3-1")
    assert head.portrait[0]["sentence"] == "finds the verb of an object: 77 % right (the best fixed offset: 36 %)"
    assert head.role == "syntax"


@pytest.mark.parametrize("change", [{"low": 0.3}, {"everywhere_p_corrected": 0.2}, {"everywhere_p_corrected": None}])
def test_a_head_that_is_not_surely_better_is_not_said_to_find_anything(change: dict[str, float | None]) -> None:
    assert [row["part"] for row in gathered([relations(**change)]).head("3-1").portrait] == ["none"]


def test_two_studies_that_call_a_head_different_things_are_told_both() -> None:
    head = gathered([relations(), survey(cls=0.44, previous=0.17)]).head("3-1")
    assert {row["study"] for row in head.portrait} == {"relations", "survey"}
    (row,) = head.disagreements
    assert {row["one_study"], row["other_study"]} == {"relations", "survey"}
    assert {row["one_role"], row["other_role"]} == {"syntax", "cls"}
    assert "finds the verb of an object: 77 % right" in row["sentence"]
    assert "puts 0.44 of its attention on [CLS]" in row["sentence"]


def test_induction_and_resting_are_two_parts_of_one_portrait() -> None:
    head = gathered([survey(first=0.8, after_same_piece=0.9)]).head("3-1")
    assert [row["part"] for row in head.portrait] == ["does", "rests"]
    assert head.role == "induction"
    assert not head.disagreements


def test_roles_of_one_kind_are_no_disagreement() -> None:
    assert not gathered([survey(to_governor=0.6), relations()]).head("3-1").disagreements
