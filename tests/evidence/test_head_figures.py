"""The table of all heads says what the studies' own tables say, read here row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from kept_results import kept, roles_result, study_of

from attlas.evidence.gathering import part_of
from attlas.store import Result
from attlas.studies.joining import told_of

Key = tuple[str, int, int, str]


def heads_of(result: Result) -> dict[Key, dict[str, Any]]:
    part = part_of(result, told_of(result.manifest.study), command="attlas ...")
    assert part is not None
    rows = part.tables["heads"].to_pylist()
    by_key = {(row["stream"], row["layer"], row["head"], row["quantity"]): row for row in rows}
    assert len(by_key) == len(rows)
    return by_key


def place(row: Mapping[str, Any]) -> tuple[str, int, int]:
    return row["stream"], row["layer"], row["head"]


def known(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def same(row: Mapping[str, Any], **expected: Any) -> None:
    for name, value in expected.items():
        assert row[name] == (pytest.approx(value) if known(value) else None), (name, row)


@pytest.mark.parametrize("case", ["survey.treebank", "survey.bundled", "survey.translation"])
def test_a_survey(case: str) -> None:
    result = kept(case)
    heads = heads_of(result)
    seen = set()
    for row in result.rows("heads"):
        if not known(row["value"]):
            continue
        quantity = row["quantity"] if row["measure"] == "weight" else f"{row['quantity']}.norm"
        found = heads[(*place(row), quantity)]
        same(found, **{name: row[name] for name in ("value", "low", "high", "chance", "n")})
        same(found, **{name: row.get(name) for name in ("first_half", "second_half")})
        seen.add((*place(row), quantity))
    for row in result.rows("spearman"):
        if known(row["value"]):
            same(heads[(*place(row), "spearman")], value=row["value"], low=row["low"], n=row["n"], chance=None)
            seen.add((*place(row), "spearman"))
    if "pos" in result.manifest.tables:
        for row in result.rows("pos"):
            if known(row["value"]):
                tag = row["pos"].replace("$", "_24")
                norm = "" if row["measure"] == "weight" else ".norm"
                quantity = f"pos.{row['direction']}.{tag}{norm}"
                same(heads[(*place(row), quantity)], value=row["value"], high=row["high"], chance=row["chance"])
                seen.add((*place(row), quantity))
    assert seen == set(heads)
    assert {row["kind"] for key, row in heads.items() if key[3].startswith("entropy")} == {"number"}
    assert {row["kind"] for key, row in heads.items() if key[3] == "cls"} <= {"share"}


@pytest.mark.parametrize("case", ["relations.weight", "relations.norm", "relations.bundled"])
def test_relations_are_held_against_the_best_offset(case: str) -> None:
    result = kept(case, plan={"options": {"measure": case.partition(".")[2].replace("bundled", "weight")}})
    heads = heads_of(result)
    norm = ".norm" if case.endswith("norm") else ""
    best: dict[str, float] = {}
    for row in result.rows("offsets"):
        if known(row["value"]):
            best[row["relation"]] = max(best.get(row["relation"], -1.0), row["value"])
    asked = [row for row in result.rows("relation_heads") if known(row["value"])]
    assert len(heads) == len(asked) > 0
    for row in asked:
        found = heads[(*place(row), f"{row['relation'].replace(' ', '-')}.{row['direction']}{norm}")]
        same(found, value=row["value"], low=row["low"], high=row["high"], chance=best[row["relation"]], n=row["n"])
        same(found, p=row["everywhere_p_corrected"], twin=row["twin"])
        if known(row["margin"]):
            assert found["value"] - found["chance"] == pytest.approx(row["margin"], abs=1e-9)


@pytest.mark.parametrize("case", ["coref.halves", "coref.select"])
def test_coreference_is_held_against_the_best_rule(case: str) -> None:
    result = kept(case)
    heads = heads_of(result)
    rules: dict[tuple[str, str], list[float]] = {}
    for row in result.rows("coref"):
        if row["who"] in ("nearest", "head match") and known(row["value"]):
            for candidates in ("mentions", "preceding", "words"):
                rules.setdefault((row["kind"], candidates), []).append(row["value"])
        if row["who"] == "chance" and known(row["value"]):
            rules.setdefault((row["kind"], row["candidates"]), []).append(row["value"])
    rows = result.rows("coref_heads")
    twins = {(*place(row), row["kind"], row["candidates"], row["direction"]): row for row in rows
             if row["who"] == "twin"}  # fmt: skip
    asked = [row for row in rows if row["who"] == "model" and known(row["value"])]
    assert len(heads) == len(asked) > 0
    for row in asked:
        found = heads[(*place(row), f"{row['kind']}.{row['candidates']}.{row['direction']}")]
        same(found, value=row["value"], low=row["low"], high=row["high"], p=row["nearest_p_corrected"])
        same(found, first_half=row["when_chosen"], second_half=row["value"])
        assert found["chance"] == pytest.approx(max(rules[row["kind"], row["candidates"]]))
        twin = twins.get((*place(row), row["kind"], row["candidates"], row["direction"]))
        same(found, twin=None if twin is None else twin["value"])


@pytest.mark.parametrize("case", ["noop.masked", "noop.causal", "noop.translation"])
def test_gradients_are_held_against_those_at_other_keys(case: str) -> None:
    result = kept(case)
    heads = heads_of(result)
    rows = result.rows("noop")
    others = {place(row): row["value"] for row in rows if row["keys"] == "other"}
    for row in rows:
        if known(row["value"]):
            found = heads[(*place(row), f"{row['keys']}.gradient")]
            same(found, value=row["value"], low=row["low"], twin=row["twin"])
            same(found, chance=None if row["keys"] == "other" else others.get(place(row)))
        for name in ("relative", "paid", "weight"):
            if known(row[name]):
                same(heads[(*place(row), f"{row['keys']}.{name}")], value=row[name], twin=row[f"twin_{name}"])


@pytest.mark.parametrize("case", ["norms.named", "norms.translation"])
def test_norms_are_held_against_weights(case: str) -> None:
    result = kept(case)
    heads = heads_of(result)
    for row in result.rows("norms"):
        if known(row["norm"]):
            found = heads[(*place(row), f"{row['keys']}.norm")]
            same(found, value=row["norm"], low=row["norm_low"], high=row["norm_high"], chance=row["weight"])
        if known(row["weight"]):
            found = heads[(*place(row), f"{row['keys']}.weight")]
            same(found, value=row["weight"], chance=row["chance"], twin=row["twin_weight"])
    for row in result.rows("spearman"):
        if known(row["value"]):
            same(heads[(*place(row), f"spearman.{row['keys']}.{row['over']}")], value=row["value"], low=row["low"])


def test_importance_is_held_against_the_mean_of_the_stream() -> None:
    result = kept("importance.masked")
    heads = heads_of(result)
    rows = result.rows("importance")
    for row in rows:
        stream = [other["value"] for other in rows if other["stream"] == row["stream"]]
        same(heads[(*place(row), "importance")], value=row["value"], chance=sum(stream) / len(stream), n=row["n"])
        same(heads[(*place(row), "normalised")], value=row["normalised"], low=None)


def test_heads_that_are_closed_together_have_one_figure() -> None:
    result = roles_result()
    heads = heads_of(result)
    rows = result.rows("effects")
    assert rows
    for row in rows:
        labels = [label.strip().split("-") for label in row["heads"].split(",")]
        for layer, head in labels:
            found = heads[(row["stream"], int(layer) - 1, int(head) - 1, f"effects.{row['role']}.change")]
            same(found, value=row["change"], low=row["change_low"], chance=row["others"], p=row["p_corrected"])
    for row in result.rows("heads"):
        if known(row["value"]):
            same(
                heads[(*place(row), row["definition"])],
                value=row["value"],
                chance=row["chance"],
                p=row["p_corrected"],
            )


@pytest.mark.parametrize("case", ["align.gold", "align.encoder"])
def test_only_single_heads_have_figures(case: str) -> None:
    result = kept(case)
    heads = heads_of(result)
    rows = [row for row in result.rows("scores") if row["head"] is not None and known(row["value"])]
    scored = [key for key in heads if not key[3].startswith("mean_norms")]
    assert len(scored) == len(rows)
    twins = [row["twin"] for row in rows if row["score"] == "AER" and known(row["twin"])]
    against = {row["chance"] for key, row in heads.items() if key[3].startswith("AER") and row["chance"] is not None}
    assert min(against, default=None) == (pytest.approx(min(twins)) if twins else None)


def test_a_version_and_a_command_stand_beside_every_figure() -> None:
    result = kept("survey.bundled", versions={"attlas": "9.9"}, seed=3)
    part = part_of(result, told_of(study_of("survey.bundled")), command="attlas survey kept", folder="tiny/survey")
    assert part is not None
    assert {row["version"] for row in part.tables["heads"].to_pylist()} == {"9.9"}
    assert {row["command"] for row in part.tables["heads"].to_pylist()} == {"attlas survey kept"}
    (source,) = part.tables["sources"].to_pylist()
    assert (source["folder"], source["question"]) == ("tiny/survey", "Where do the heads of tiny look?")
