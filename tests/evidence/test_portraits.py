"""Every sentence of every portrait is true of its table, over made-up tables and those of real results."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_results import cases, kept, roles_result, study_of, sure

from attlas.evidence.gathering import Told, part_of
from attlas.evidence.laws import check_atlas
from attlas.evidence.portraits import in_numbers, role_of
from attlas.evidence.saying import Saying
from attlas.evidence.uniting import joined
from attlas.pages.page import Page
from attlas.store import Manifest, Result
from attlas.store.schema import PLACE, Column, Schema
from attlas.studies.joining import told_of

WITH_SAYINGS = [case for case in cases() if told_of(study_of(case)).sayings]
MADE_UP = Schema(
    "heads", "", *PLACE, Column("quantity", "quantity", kinds={"part": "percent", "moved": "signed"}),
    Column("value", "value", "share", ends=("low", "high"), chance="chance", p="p_corrected", head=True),
    Column("first_half", "", "share"), Column("second_half", "", "share"), keys=("quantity",),
)  # fmt: skip
SAYINGS = (
    Saying("previous", "puts {value} there (by chance {chance})", "heads", where={"quantity": "place"}, bar=0.1),
    Saying("cls", "rests, with {value} (by chance {chance})", "heads", where={"quantity": "rest"}, part="rests",
           beyond=0.5),
    Saying("cls", "puts {value} (by chance {chance})", "heads", where={"quantity": "rest"}, part="rests", upto=0.5),
    Saying("syntax", "finds it: {value} right (by chance {chance})", "heads", where={"quantity": "part"},
           p_below=0.01),
    Saying("dormant", "adds {value} only (an average head {chance})", "heads", where={"quantity": "less"}, below=True,
           best=0.0, part="writes"),
    Saying("needed", "changes it by {value}", "heads", where={"quantity": "moved"}, level=0.0, best=None,
           part="without"),
    Saying("broad", "spreads: {value} of {chance}", "heads", where={"quantity": "even"}, times=0.9, best="chance"),
    Saying("copying", "copies by its weights: {value}", "heads", where={"quantity": "exact"}, level=0.3, exact=True),
)  # fmt: skip
QUANTITIES = ("place", "rest", "part", "less", "moved", "even", "exact", "unsaid")
NUMBER = re.compile(r"(?<![\w-])[+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e−?\d+)?( %)?(?![\w-])")


def made_up(seed: int) -> Result:
    """Figures of some heads, many of them at the very edges of what may be said."""
    rng = np.random.default_rng(seed)
    edges = [0.0, 0.3, 0.5, 0.9, 1.0]

    def draw(missing: float = 0.1) -> float:
        if rng.random() < missing:
            return math.nan
        return float(rng.choice(edges)) if rng.random() < 0.4 else round(rng.random(), int(rng.integers(1, 5)))

    rows: list[dict[str, Any]] = []
    for layer, head, quantity in product(range(2), range(3), QUANTITIES):
        low, value, high = sorted(draw(0) for _ in range(3))
        if rng.random() < 0.1:
            low = high = math.nan
        value = value if rng.random() > 0.1 else math.nan
        rows.append({
            "stream": "encoder", "layer": layer, "head": head, "quantity": quantity, "value": value, "low": low,
            "high": high, "chance": draw(), "p_corrected": float(rng.choice([0.001, 0.01, 0.5, math.nan])),
            "first_half": draw(), "second_half": draw(),
        })  # fmt: skip
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return Result(Manifest("made-up", model={"name": "m"}, corpus={"name": "c"}), {"heads": columns})


def atlas_of(result: Result, told: Told) -> dict[str, Any]:
    part = part_of(result, told)
    return joined([] if part is None else [part])


def expected(row: Mapping[str, Any]) -> set[str]:
    """The roles that a row of figures speaks for, by the words of the sayings above, said once more."""
    value, low, high, chance = (row[name] for name in ("value", "low", "high", "chance"))
    if math.isnan(value):
        return set()
    said = {
        "place": low > chance and low - chance >= 0.1 * (1 - chance) and {"previous"},
        "rest": low > chance and {"cls"},
        "part": low > chance and row["p_corrected"] < 0.01 and {"syntax"},
        "less": high < chance and {"dormant"},
        "moved": low > 0 and {"needed"},
        "even": low > 0.9 * chance and {"broad"},
        "exact": value > 0.3 and {"copying"},
    }
    return said.get(row["quantity"]) or set()


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_made_up_portraits_say_what_is_so_and_all_of_it(seed: int) -> None:
    result = made_up(seed)
    told = Told(Page("made-up", "", lambda tables: None, schemas=(MADE_UP,)), SAYINGS)
    atlas = atlas_of(result, told)
    check_atlas(atlas)
    wanted = {
        (row["layer"], row["head"], role)
        for row in result.rows()
        for role in expected(row)
        if not (role == "broad" and row["chance"] == 0)  # nothing can be spread where there is but one piece
    }
    found = {(row["layer"], row["head"], row["role"]) for row in atlas["portraits"].to_pylist()
             if row["part"] != "none"}  # fmt: skip
    assert found == wanted
    check_numbers(atlas)


def check_numbers(atlas: Mapping[str, Any]) -> None:
    """The numbers of a sentence are those of its figure, rounded."""
    for row in atlas["portraits"].to_pylist():
        if row["part"] in ("none", "alike"):
            continue
        values = [row[name] for name in ("value", "low", "high", "chance") if row[name] is not None]
        for match in NUMBER.finditer(re.sub(r"(first \d|last \d+|within \d+ pieces|0 is|1 is| 0 |\bp [<>\d. ]+)", "",
                                            row["sentence"])):  # fmt: skip
            text = match.group().removesuffix(" %")
            number = float(text.replace("−", "-").replace(",", ""))
            number = number / 100 if match[1] else number
            digits = len(text.partition(".")[2].partition("e")[0]) + (2 if match[1] else 0)
            near = 0.51 * 10.0**-digits + 1e-12
            others = atlas["heads"].to_pylist() if "with" in row["sentence"] and not values else []
            assert any(abs(number - value) <= near for value in values) or _also(row, number, near, atlas), (
                row["sentence"], others
            )  # fmt: skip


def _also(row: Mapping[str, Any], number: float, near: float, atlas: Mapping[str, Any]) -> bool:
    """Whether it is another figure of the head, which the sentence names by a claim of its own."""
    own = [other["value"] for other in atlas["heads"].to_pylist()
           if all(other[name] == row[name] for name in ("stream", "layer", "head", "study"))
           and other["quantity"] in row["claims"]]  # fmt: skip
    return any(abs(number - value) <= near for value in own)


@pytest.mark.parametrize("case", WITH_SAYINGS)
@pytest.mark.parametrize("which", [kept, sure], ids=["as it is", "sure"])
def test_portraits_of_every_study_say_what_is_so(case: str, which: Callable[[str], Result]) -> None:
    atlas = atlas_of(which(case), told_of(study_of(case)))
    check_atlas(atlas)
    check_numbers(atlas)
    for row in atlas["portraits"].to_pylist():
        assert not re.search(r"\b(best|most|largest|least)\b(?! (?:fixed|simple|head of untrained))",
                             re.sub(r"looks? at (?:it )?most|looks at most", "", row["sentence"])), row  # fmt: skip
        assert "{" not in row["sentence"]
        assert not row["sentence"].endswith(".")


def test_every_study_with_sayings_says_something_of_sure_results() -> None:
    spoken: set[str] = set()
    for seed, case in product(range(12), WITH_SAYINGS):
        if study_of(case) not in spoken and _speaks(case, seed):
            spoken.add(study_of(case))
    assert spoken == {study_of(case) for case in WITH_SAYINGS}


def _speaks(case: str, seed: int) -> bool:
    rows = atlas_of(sure(case, seed), told_of(study_of(case)))["portraits"].to_pylist()
    return any(row["part"] != "none" for row in rows)


@pytest.mark.parametrize("seed", range(6))
def test_roles_say_what_is_so(seed: int) -> None:
    atlas = atlas_of(roles_result(seed), told_of("roles"))
    check_atlas(atlas)
    check_numbers(atlas)
    without = [row for row in atlas["portraits"].to_pylist() if row["part"] == "without"]
    assert {row["role"] for row in without} == {"needed", "dormant"}
    assert {(row["layer"], row["head"]) for row in without} == {(0, 0), (1, 2)}


def test_a_study_without_sayings_is_told_only_where_it_is_of_another_package() -> None:
    rows = {"stream": ["encoder"] * 3, "layer": [0] * 3, "head": [0, 1, 2], "quantity": ["noun"] * 3,
            "value": [0.6, 0.3, 0.9], "low": [0.5, 0.1, None], "high": [0.7, 0.5, None], "chance": [0.2] * 3,
            "p_corrected": [None] * 3, "first_half": [None] * 3, "second_half": [None] * 3}  # fmt: skip
    result = Result(Manifest("made-up", model={"name": "m"}), {"heads": rows})
    page = Page("made-up", "", lambda tables: None, schemas=(MADE_UP,))
    own = atlas_of(result, Told(page))["portraits"].to_pylist()
    assert [row["part"] for row in own] == ["none"] * 3
    other = atlas_of(result, Told(page, outside=True))["portraits"].to_pylist()
    assert [row["sentence"] for row in other if row["part"] == "does"] == ["noun: 0.60 (by chance 0.20)"]
    assert [row["head"] for row in other if row["part"] == "none"] == [1, 2]


def test_numbers_are_as_long_as_they_must_be() -> None:
    assert in_numbers("percent", {"value": 0.764, "chance": 0.763})[:4] == ["76.4 %", "", "", "76.3 %"]
    assert in_numbers("percent", {"value": 0.05, "chance": 0.0})[0] == "5.0 %"
    assert in_numbers("signed", {"value": 0.0213, "chance": None})[0] == "+0.021"
    assert in_numbers("share", {"value": 1.0, "chance": 0.03})[0] == "1.00"
    assert in_numbers("number", {"value": 0.00004, "chance": 0.002})[0] == "4.0e−5"
    assert in_numbers("share", {"value": None})[0] == ""
    assert in_numbers("number", {"value": 0.0004, "chance": 0.2})[:4] == ["0.0004", "", "", "0.2000"]
    assert in_numbers("share", {"value": 0.0, "chance": 0.2})[:4] == ["0.00", "", "", "0.20"]


def test_a_head_is_called_by_what_it_does_before_where_it_rests() -> None:
    rests, does = {"part": "rests", "role": "cls"}, {"part": "does", "role": "syntax"}
    assert role_of([rests, does]) == "syntax"
    assert role_of([rests, {"part": "writes", "role": "copying"}]) == "cls"
    assert role_of([{"part": "writes", "role": "copying"}]) == "other"
