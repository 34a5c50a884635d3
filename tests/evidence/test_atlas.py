"""An atlas as an object: heads, portraits, tables, and how long it takes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_results import kept, roles_result

import attlas
from attlas.errors import AttlasError, StoreError
from attlas.evidence.example import example
from attlas.evidence.schemas import SCHEMAS
from attlas.store import Manifest, Result
from attlas.studies.joining import gathered
from attlas.studies.survey.page import PAGE


def test_an_atlas_comes_back_from_its_folder(tmp_path: Path) -> None:
    one = gathered([kept("survey.treebank"), kept("relations.weight"), roles_result()])
    folder = one.save(tmp_path / "atlas")
    again = attlas.atlas(folder)
    assert again.models == one.models
    for name, table in one.tables.items():
        assert again.tables[name].to_pylist() == table.to_pylist(), name
    assert str(again.head("1-1", stream="encoder")) == str(one.head("1-1", stream="encoder"))


def test_every_table_has_the_columns_of_its_schema() -> None:
    one = gathered([kept("survey.treebank"), kept("clusters.norm"), roles_result()])
    for schema in SCHEMAS:
        assert tuple(one.tables[schema.table].column_names) == schema.names, schema.table
    assert str(one.table.schema.field("quantity").type).startswith("dictionary")
    assert one.tables["alike"].num_rows > 0


def test_the_portrait_of_a_head_reads_well() -> None:
    head = example().head("1-1")
    assert str(head).splitlines() == [
        "1-1 of tiny: syntax",
        "  does: finds the verb of an object: 77 % right (the best fixed offset: 36 %)",
        "  does: puts 0.17 of its attention on the previous piece (an even spread: 0.05)",
        "  rests: rests on [CLS], with 0.44 of its attention (an even spread: 0.05)",
        "  disagreement: relations says that it finds the verb of an object: 77 % right (the best fixed offset: "
        "36 %), and survey that it rests on [CLS], with 0.44 of its attention (an even spread: 0.05)",
        "  3 figures, from survey and relations: see .figures",
    ]
    page = head._repr_html_()
    assert page.count("<li>") == 3
    assert "Two studies disagree" in page
    assert "<td>0.44</td>" in page


def test_a_head_of_which_nothing_is_said_says_so() -> None:
    head = example().head("2-1")
    assert (head.role, head.called) == ("other", "other")
    assert head.portrait[0]["sentence"] == "shows nothing that stands out among its 3 figures"


def test_names_cannot_break_out_of_a_page() -> None:
    result = kept("survey.bundled")
    model = dict(result.manifest.model) | {"name": "<script>alert(1)</script>"}
    bad = Result(Manifest("survey", model=model, corpus={"name": "<b>"}), result.tables)
    one = gathered([bad])
    assert "<script>" not in one._repr_html_() + one.head("1-1")._repr_html_()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"label": "9-9"}, "tiny has no head 9-9 in its encoder"),
        ({"label": "3"}, "'3' is the head of no one layer; write layer and head, such as '3-3'"),
        ({"label": "0-1"}, "does not name a head"),
        ({"label": "1-1", "model": "bert"}, "there is no model 'bert'; models of the atlas: tiny"),
        ({"label": "1-1", "stream": "cross"}, "there is no stream 'cross'; streams of tiny: encoder"),
    ],
)
def test_a_head_that_is_not_there_is_refused(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(AttlasError) as refused:
        example().head(**asked)
    assert told in str(refused.value)


def test_of_several_models_one_must_be_told() -> None:
    one = gathered(
        [kept("survey.bundled"), kept("survey.plain", model={"name": "other", "streams": {"encoder": {}}})]
    )
    with pytest.raises(StoreError, match="say which model is meant, by model=; models of the atlas: tiny, other"):
        one.head("1-1")
    assert one.head("1-1", model="tiny").model == "tiny"


def test_one_figure_or_none_is_told() -> None:
    with pytest.raises(StoreError, match=r"1-1 has no figure 'obj'; near it: obj\.to"):
        example().head("1-1").value("obj")


def test_twenty_results_of_270_heads_are_joined_in_seconds() -> None:
    layers, heads = 18, 15
    quantities = list(PAGE.schemas[0]["quantity"].labels)
    rng = np.random.default_rng(0)
    count = layers * heads * len(quantities) * 2
    grid = np.indices((layers, heads, len(quantities), 2)).reshape(4, -1)
    results = []
    for number in range(20):
        value = rng.random(count) ** 8  # a head has some ten sentences, not a hundred
        columns = {
            "stream": ["decoder"] * count, "layer": grid[0], "head": grid[1],
            "measure": [("weight", "norm")[at] for at in grid[3]], "quantity": [quantities[at] for at in grid[2]],
            "value": value, "low": value - 0.02, "high": value + 0.02, "chance": np.full(count, 0.05),
            "n": np.full(count, 100.0), "first_half": value, "second_half": value,
        }  # fmt: skip
        model = {"name": f"model {number // 4}", "fingerprint": str(number // 4),
                 "streams": {"decoder": {"layers": layers, "heads": heads}}}  # fmt: skip
        results.append(Result(Manifest("survey", model=model, corpus={"name": f"c{number}"}), {"heads": columns}))
        _ = results[-1].tables
    begun = time.process_time()
    one = gathered(results)
    took = time.process_time() - begun
    assert one.table.num_rows == 20 * count
    assert took < 8, f"joining took {took:.1f} s"
    begun = time.process_time()
    assert one.find("previous > .5 and not cls > .5")
    assert time.process_time() - begun < 3
