"""Figures of a survey: read from its folder, named, placed, and refused where they belong to something else."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenes import scene, strand

from attlas.errors import StoreError
from attlas.evidence.example import example
from attlas.ids import Stream
from attlas.store import Manifest, Result
from attlas.views import Scene
from attlas.views.figures import CORRELATION, NO_FIGURE, read_atlas, read_survey
from attlas.views.payload import pack

LAYERS, HEADS = 3, 4


def value_of(layer: int, head: int, offset: float = 0) -> float:
    return offset + 0.1 * layer + 0.01 * head


def heads_table(
    streams: tuple[str, ...] = ("encoder",), layers: int = LAYERS, heads: int = HEADS
) -> dict[str, list[Any]]:  # fmt: skip
    rows = [
        (stream, layer, head, measure, quantity, value_of(layer, head, offset))
        for stream in streams
        for layer in range(layers)
        for head in range(heads)
        for measure, quantity, offset in (("weight", "entropy", 1), ("weight", "sep", 0), ("norm", "sep", 0.5))
    ]
    names = ("stream", "layer", "head", "measure", "quantity", "value")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def saved(folder: Path, model: str = "a model", study: str = "survey", **tables: Any) -> Path:
    return Result(Manifest(study, model={"name": model}), tables or {"heads": heads_table()}).save(folder / "out")


def test_every_figure_stands_at_its_layer_and_head(tmp_path: Path) -> None:
    figures = read_survey(saved(tmp_path)).figures
    assert list(figures) == ["weight: entropy, all queries", "weight: [SEP]", "norm: [SEP]"]
    for name, offset in (("weight: entropy, all queries", 1), ("weight: [SEP]", 0), ("norm: [SEP]", 0.5)):
        found = figures[name][Stream.ENCODER]
        assert found.dtype == np.float32
        naive = [[value_of(layer, head, offset) for head in range(HEADS)] for layer in range(LAYERS)]
        np.testing.assert_allclose(found, naive, rtol=1e-6)


def test_what_has_no_number_lies_below_all_others_and_json_can_hold_it(tmp_path: Path) -> None:
    table = heads_table()
    rows = list(zip(table["layer"], table["head"], table["measure"], table["quantity"], strict=True))
    table["value"][rows.index((1, 2, "weight", "sep"))] = None
    table["value"][rows.index((2, 0, "weight", "sep"))] = math.nan
    table = {name: column[:-1] for name, column in table.items()}  # the last head has no norm at all
    figures = read_survey(saved(tmp_path, heads=table)).figures
    found = figures["weight: [SEP]"][Stream.ENCODER]
    assert found[1, 2] == found[2, 0] == np.float32(NO_FIGURE)
    assert figures["norm: [SEP]"][Stream.ENCODER][LAYERS - 1, HEADS - 1] == np.float32(NO_FIGURE)
    assert (np.sort(found.ravel())[2:] >= 0).all()
    header = pack([scene().with_figures(figures)]).header
    read = json.loads(json.dumps(header, allow_nan=False))["scenes"][0]["figures"]
    assert read["weight: [SEP]"]["encoder"][1][3] == pytest.approx(value_of(1, 3), abs=1e-5)


def test_streams_have_figures_of_their_own_and_correlations_are_among_them(tmp_path: Path) -> None:
    spearman = {"stream": ["encoder", "encoder"], "layer": [0, 2], "head": [1, 3], "value": [-0.5, 0.25]}
    figures = read_survey(saved(tmp_path, heads=heads_table(("encoder", "cross")), spearman=spearman)).figures
    assert set(figures["weight: entropy, all queries"]) == {Stream.ENCODER, Stream.CROSS}
    assert list(figures[CORRELATION]) == [Stream.ENCODER]
    correlation = figures[CORRELATION][Stream.ENCODER]
    assert (correlation[0, 1], correlation[2, 3]) == (-0.5, 0.25)
    assert (correlation > NO_FIGURE / 2).sum() == 2


def test_a_quantity_without_a_name_of_ours_keeps_its_own(tmp_path: Path) -> None:
    table = heads_table()
    table["quantity"] = ["far_away" if quantity == "sep" else quantity for quantity in table["quantity"]]
    assert "norm: far away" in read_survey(saved(tmp_path, heads=table)).figures


def test_a_survey_of_the_same_model_is_taken(tmp_path: Path) -> None:
    out = saved(tmp_path, model="someone/a model")
    assert "weight: entropy, all queries" in read_survey(out).beside(scene("a model")).figures


def test_of_some_layers_and_heads_the_numbers_decide(tmp_path: Path) -> None:
    whole = strand()
    part = Scene(
        "a model",
        ("x",),
        (type(whole)(Stream.ENCODER, whole.queries, whole.keys, whole.weights[:1, :1], layers=(2,), heads=(3,)),),
    )
    out = saved(tmp_path)
    assert read_survey(out).beside(part).figures
    beyond = Scene(
        "a model",
        ("x",),
        (type(whole)(Stream.ENCODER, whole.queries, whole.keys, whole.weights[:1, :1], layers=(3,), heads=(3,)),),
    )
    with pytest.raises(StoreError, match=r"3 layers of 4 encoder heads, and the scene shows layer 4 and head 4"):
        read_survey(out).beside(beyond)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "another"}, r"this survey is of another, not of a model"),
        ({"heads": heads_table(("decoder",))}, r"of decoder heads, and encoder heads are shown"),
        ({"study": "ablation"}, r"it holds a result of the study 'ablation'; give the --out of attlas survey"),
        ({"portraits": {"layer": [0]}}, r"no table of heads is in it"),
        (
            {"heads": {"stream": ["encoder"], "layer": [0], "head": [0], "value": [1.0]}},
            r"has no measure or quantity",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(tmp_path: Path, options: Any, message: str) -> None:
    out = saved(tmp_path, **options)
    with pytest.raises(StoreError, match=message) as caught:
        read_survey(out).beside(scene())
    assert str(caught.value).startswith(str(out))
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no manifest\.json here"):
        read_survey(tmp_path)


def test_an_atlas_tells_what_a_head_is_called_and_its_strongest_sentences(tmp_path: Path) -> None:
    folder = example().save(tmp_path / "atlas")
    told = read_atlas(folder).beside(scene("tiny")).portraits
    assert list(told) == [Stream.ENCODER]
    assert told[Stream.ENCODER] == {
        "1-1": "syntax: finds the verb of an object: 77 % right (the best fixed offset: 36 %); rests on [CLS], with "
        "0.44 of its attention (an even spread: 0.05); puts 0.17 of its attention on the previous piece (an even "
        "spread: 0.05).",
        "1-2": "previous piece: puts 0.93 of its attention on the previous piece (an even spread: 0.05).",
        "2-1": "shows nothing that stands out among its 3 figures.",
        "2-2": "[CLS]: rests on [CLS], with 0.81 of its attention (an even spread: 0.05).",
    }
    with pytest.raises(StoreError, match="this atlas is of tiny, not of another"):
        read_atlas(folder).beside(scene("another"))
    with pytest.raises(StoreError, match="an atlas is needed, and it holds a result of the study 'survey'"):
        read_atlas(saved(tmp_path))
