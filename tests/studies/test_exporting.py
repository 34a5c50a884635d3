"""Exported heads are read back by readers that were written from the formats' descriptions."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from invented_survey import survey

from attlas.errors import PlanError, StoreError
from attlas.store import Manifest, Result
from attlas.studies.exporting import choose, export_heads
from invented_roles import KEYS, LAYERS, expected, invented


def read_qrhead(text: str) -> list[tuple[int, int]]:
    """A line ``attn_head_set: "layer-head,..."`` of a flat YAML file, as QRRetriever splits it."""
    line = next(line for line in text.splitlines() if line.startswith("attn_head_set:"))
    heads = line.partition(":")[2].strip().strip('"')
    return [tuple(map(int, one.split("-"))) for one in heads.split(",")]  # type: ignore[misc]


def read_duo(folder: Path) -> tuple[np.ndarray, int, int]:
    """A table of gates separated by tabs, and two sizes: what DuoAttention's loader takes."""
    gates = np.loadtxt(folder / "full_attention_heads.tsv", dtype=float, delimiter="\t")
    config = json.loads((folder / "config.json").read_text())
    return np.clip(gates, 0, 1), config["sink_size"], config["recent_size"]


def test_heads_are_chosen_on_one_half_and_told_with_the_other(tmp_path: Path) -> None:
    result = invented()
    choice = choose(result, "prefix_matching", top=5)
    assert [(head.layer, head.head) for head in choice.heads] == expected(result, "prefix_matching", 5)
    export_heads(choice, "csv", tmp_path / "heads.csv")
    with (tmp_path / "heads.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(int(row["layer"]), int(row["head"])) for row in rows] == expected(result, "prefix_matching", 5)
    for row in rows:
        source = next(
            one for one in result.rows("heads")
            if (one["definition"], one["layer"], one["head"])
            == ("prefix_matching", int(row["layer"]), int(row["head"]))
        )  # fmt: skip
        assert float(row["chosen_by"]) == source["first_half"]
        assert float(row["value"]) == source["second_half"]
        assert "prefix matching (Olsson et al. 2022)" in row["how"]
        assert "chosen by attlas roles (corpus sample) on one half of the texts" in row["how"]


def test_a_bar_is_kept(tmp_path: Path) -> None:
    heads = choose(invented(), "sink", at_least=0.5).heads
    assert heads
    assert all(head.chosen_by >= 0.5 for head in heads)
    assert len(choose(invented(), "sink", top=2, at_least=0.5).heads) == 2
    with pytest.raises(PlanError, match="no head of sink passes the bar of 2"):
        choose(invented(), "sink", at_least=2)


def test_lists_of_heads_are_read_back(tmp_path: Path) -> None:
    result = invented()
    choice = choose(result, "prefix_matching", top=4)
    (hook,) = export_heads(choice, "vllm-hook", tmp_path / "heads.json", "a/tiny")
    config = json.loads(hook.read_text())
    assert [tuple(head) for head in config["params"]["important_heads"]] == expected(result, "prefix_matching", 4)
    assert config["model_info"]["model_id"] == "a/tiny"
    assert "prefix matching" in config["model_info"]["note"]
    (yaml,) = export_heads(choice, "qrhead", tmp_path / "heads.yaml")
    assert read_qrhead(yaml.read_text()) == expected(result, "prefix_matching", 4)


def test_gates_are_a_table_of_heads_of_keys(tmp_path: Path) -> None:
    export_heads(choose(invented(), "streaming_gate"), "duo-tsv", tmp_path / "duo")
    gates, sink, recent = read_duo(tmp_path / "duo")
    assert gates.shape == (LAYERS, KEYS)
    assert gates[0].tolist() == pytest.approx([0.0625, 0.3125])
    assert gates[1].tolist() == pytest.approx([0.1875, 0.9375])
    assert (sink, recent) == (16, 64)
    result = invented()
    export_heads(choose(result, "prefix_matching", top=3), "duo-tsv", tmp_path / "chosen")
    gates, _, _ = read_duo(tmp_path / "chosen")
    wanted = np.zeros((LAYERS, KEYS))
    for layer, head in expected(result, "prefix_matching", 3):
        wanted[layer, head // 3] = 1
    assert (gates == wanted).all()


def test_a_survey_gives_heads_by_quantity(tmp_path: Path) -> None:
    choice = choose(survey(), "previous", top=3)
    assert choice.heads[0].layer == 2
    assert choice.heads[0].head == 0
    assert choice.heads[0].chosen_by == choice.heads[0].value
    assert "on all texts" in choice.told
    with pytest.raises(PlanError, match="which heads share theirs"):
        export_heads(choice, "duo-tsv", tmp_path / "duo")


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no definition 'nothing'; choose one of prefix_matching"):
        choose(invented(), "nothing")
    with pytest.raises(PlanError, match="and this is one of importance"):
        choose(Result(Manifest("importance"), {"heads": {"layer": [0]}}), "sink")
    with pytest.raises(PlanError, match="there are decoder"):
        choose(invented(), "sink", stream="encoder")
    with pytest.raises(PlanError, match="not as 'xml'"):
        export_heads(choose(invented(), "sink"), "xml", tmp_path / "x")
    (tmp_path / "taken").write_text("")
    with pytest.raises(StoreError, match="written as a folder"):
        export_heads(choose(invented(), "sink"), "duo-tsv", tmp_path / "taken")


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\u2029", "\x0b", "\x1b[31m"])
def test_a_hostile_name_stays_in_its_comment(end: str, tmp_path: Path) -> None:
    result = invented()
    name = f'x{end}attn_head_set: "9-9"'
    hostile = replace(result.manifest, corpus={"name": name}, model={"name": name})
    choice = choose(Result(hostile, result.tables), "sink", top=1)
    (written,) = export_heads(choice, "qrhead", tmp_path / "heads.yaml")
    read = pytest.importorskip("yaml").safe_load(written.read_bytes())
    layer, head = expected(result, "sink", 1)[0]
    assert read == {"attn_head_set": f"{layer}-{head}", "model_base_class": name, "model_name_or_path": name}


def test_a_gate_that_is_not_known_is_no_closed_one(tmp_path: Path) -> None:
    result = invented()
    columns = result.tables["heads"].to_pydict()
    columns["second_half"][-1] = None
    choice = choose(Result(result.manifest, {**result.tables, "heads": columns}), "streaming_gate")
    with pytest.raises(StoreError, match="head 4-6 has no gate in this result"):
        export_heads(choice, "duo-tsv", tmp_path / "duo")


KVPRESS = os.environ.get("KVPRESS_PYTHON")  # a Python that has kvpress, in an environment of its own


@pytest.mark.skipif(KVPRESS is None, reason="KVPRESS_PYTHON names no Python that has kvpress")
def test_kvpress_reads_the_gates(tmp_path: Path) -> None:
    export_heads(choose(invented(), "streaming_gate"), "duo-tsv", tmp_path / "duo", "a/tiny")
    script = Path(__file__).parent / "kvpress_reads.py"
    command = [str(KVPRESS), str(script), str(tmp_path / "duo"), "a/tiny"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    read = json.loads(told.stdout.splitlines()[-1])
    gates, sink, recent = read_duo(tmp_path / "duo")
    assert (read["sink"], read["recent"]) == (sink, recent)
    assert np.abs(np.array(read["gates"]) - gates).max() < 1e-6
    streaming = np.array(read["streaming"])
    assert streaming.sum() == LAYERS * KEYS / 2
    assert gates[streaming].max() <= gates[~streaming].min()  # the smallest gates stream
    assert read["ratio"] == pytest.approx(0.5 * (1 - (sink + recent) / 200))
