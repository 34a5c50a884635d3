"""Results of several models, studies and corpora come together; what cannot is told, and the rest goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kept_results import MODEL, kept

from attlas.errors import AttlasError, StoreError
from attlas.evidence.atlas import Atlas, atlas
from attlas.evidence.laws import check_atlas
from attlas.store import Manifest, Result
from attlas.studies.joining import gathered

STREAMS = {"encoder": {"layers": 1, "heads": 2}}


def importance(
    model: str = "tiny", *, value: float = 0.5, print_: str = "a", started: str = "", **more: Any
) -> Result:
    place = {"stream": ["encoder"] * 2, "layer": [0, 0], "head": [0, 1]}
    columns = {"value": [value, 0.1], "low": [value - 0.1, 0.05], "high": [value + 0.1, 0.15],
               "normalised": [0.9, 0.1], "signed": [0.1, -0.1], "n": [20, 20]}  # fmt: skip
    about = {"name": model, "fingerprint": print_ * 16, "streams": STREAMS}
    manifest = Manifest("importance", model=about, started=started, **{"corpus": {"name": "a book"}, **more})
    return Result(manifest, {"importance": {**place, **columns}})


def reasons(one: Atlas) -> dict[str, str]:
    return {row["given"]: row["reason"] for row in one.tables["left_out"].to_pylist()}


def test_studies_of_a_model_stand_in_one_table() -> None:
    one = gathered([kept("survey.treebank"), kept("relations.weight"), kept("coref.halves")])
    check_atlas(one.tables)
    assert one.models == ["tiny"]
    frame = one.to_pandas()
    assert set(frame["study"]) == {"survey", "relations", "coref"}
    assert frame["source"].nunique() == one.tables["sources"].num_rows == 3
    by_source = {row["source"]: row["study"] for row in one.tables["sources"].to_pylist()}
    assert all(by_source[source] == study for source, study in zip(frame["source"], frame["study"], strict=True))


def test_two_models_of_one_name_are_told_apart() -> None:
    one = gathered([importance(print_="a"), importance(print_="b", value=0.7), importance("other")])
    assert sorted(one.models) == ["other", "tiny (aaaaaa)", "tiny (bbbbbb)"]
    assert one.head("1-1", model="tiny (bbbbbb)").value("importance") == 0.7
    again = gathered([one, importance(print_="a"), importance(print_="c", value=0.9)])
    assert sorted(again.models) == ["other", "tiny (aaaaaa)", "tiny (bbbbbb)", "tiny (cccccc)"]
    assert list(reasons(again).values()) == ["importance of tiny (aaaaaa) on a book: given twice"]
    check_atlas(again.tables)


def test_two_corpora_of_one_name_are_told_apart() -> None:
    corpora = [{"name": "dev.conllu", "sha256": letter * 64} for letter in "ef"]
    one = gathered([importance(corpus=corpora[0]), importance(corpus=corpora[1], value=0.7)])
    assert set(one.to_pandas()["corpus"]) == {"dev.conllu (eeeeee)", "dev.conllu (ffffff)"}
    check_atlas(one.tables)


def test_of_doubled_results_the_later_counts(tmp_path: Path) -> None:
    early = importance(value=0.3, started="2026-01-01T00:00:00")
    late = importance(value=0.6, started="2026-02-01T00:00:00")
    for results in ([early, late], [late, early]):
        one = gathered(results)
        assert one.head("1-1").value("importance") == 0.6
        (reason,) = reasons(one).values()
        assert reason == "importance of tiny on a book: there is one that was begun later (2026-02-01T00:00:00)"
    folder = early.save(tmp_path / "early")
    one = gathered([folder, folder])
    assert reasons(one) == {str(folder): "importance of tiny on a book: given twice"}
    assert one.table.num_rows == importance_figures()


def importance_figures() -> int:
    return gathered([importance()]).table.num_rows


def test_norms_and_weights_of_one_study_stand_beside_each_other() -> None:
    plans = [{"options": {"measure": measure}} for measure in ("weight", "norm")]
    one = gathered([kept("relations.weight", plan=plans[0]), kept("relations.norm", plan=plans[1])])
    names = set(one.to_pandas()["quantity"])
    assert {f"{name}.norm" for name in names if not name.endswith(".norm")} >= {"det.to.norm"}
    assert "det.to" in names
    assert not reasons(one)


def test_bad_input_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    good = importance().save(tmp_path / "good")
    damaged = importance("other").save(tmp_path / "damaged")
    table = damaged / "importance.parquet"
    table.write_bytes(table.read_bytes()[:-20] + b"x" * 20)
    newer = importance("third").save(tmp_path / "newer")
    manifest = json.loads((newer / "manifest.json").read_text())
    (newer / "manifest.json").write_text(json.dumps(manifest | {"schema": 99}))
    (tmp_path / "unfinished" / "checkpoint").mkdir(parents=True)
    (tmp_path / "unfinished" / "checkpoint" / "part").write_text("half")
    foreign = Result(Manifest("cooking"), {"heads": {"layer": [0]}}).save(tmp_path / "foreign")
    without = Result(Manifest("tune"), {"heads": {"layer": [0]}}).save(tmp_path / "without")
    loss = {"task": ["a"], "value": [0.5], "low": [0.4], "high": [0.6], "n": [9]}
    empty = Result(Manifest("importance"), {"loss": loss}).save(tmp_path / "empty")
    file = tmp_path / "file.txt"
    file.write_text("no folder")
    given = [good, damaged, newer, tmp_path / "unfinished", foreign, without, empty, file, tmp_path / "nowhere"]
    one = gathered(given)
    assert one.models == ["tiny"]
    told = {Path(name).name: reason for name, reason in reasons(one).items()}
    assert "does not agree with the checksum" in told["damaged"]
    assert "schema 99" in told["newer"]
    assert "no manifest.json here, so this is no finished result" in told["unfinished"]
    assert told["foreign"] == "there is no study 'cooking' here that could tell what its tables are"
    assert "there is no study 'tune' here" in told["without"]
    assert told["empty"] == "the study importance gives no figures of all heads"
    assert told["file.txt"] == told["nowhere"] == "there is no such folder"
    assert set(told) == {"damaged", "newer", "unfinished", "foreign", "without", "empty", "file.txt", "nowhere"}
    assert all("\n" not in reason and len(reason) < 300 for reason in told.values())


def test_versions_that_differ_are_said() -> None:
    one = gathered([importance(versions={"attlas": "0.1.0"}), importance("other", versions={"attlas": "0.2.0"})])
    assert one.remarks == ["The figures are of attlas 0.1.0 and 0.2.0; a definition may have changed between them."]
    corpora = gathered([importance(), importance(corpus={"name": "a poem"})])
    assert corpora.remarks == ["tiny was read on other texts by one study than by another: a book and a poem."]
    assert gathered([importance()]).remarks == []


def test_where_there_is_nothing_all_reasons_are_told(tmp_path: Path) -> None:
    with pytest.raises(AttlasError, match=r"nothing to make an atlas of; .*nowhere: there is no such folder"):
        gathered([tmp_path / "nowhere"])


def test_a_folder_of_results_is_looked_through(tmp_path: Path) -> None:
    importance().save(tmp_path / "all" / "tiny" / "importance")
    importance("other").save(tmp_path / "all" / "other" / "importance")
    (tmp_path / "all" / "notes").mkdir()
    one = gathered([tmp_path / "all"], beside=tmp_path / "all")
    assert sorted(one.models) == ["other", "tiny"]
    assert sorted(one.tables["sources"]["folder"].to_pylist()) == ["other/importance", "tiny/importance"]
    one.save(tmp_path / "all")
    assert (tmp_path / "all" / "tiny" / "importance" / "manifest.json").exists()
    opened = atlas(tmp_path / "all")
    assert opened.table.equals(one.table)
    joined = gathered([tmp_path / "all", importance("third")], beside=tmp_path)
    assert sorted(joined.tables["sources"]["folder"].to_pylist()) == [
        "",
        "all/other/importance",
        "all/tiny/importance",
    ]
    gathered([importance("fourth")]).save(tmp_path / "all")  # an atlas is replaced
    assert atlas(tmp_path / "all").models == ["fourth"]


def test_a_result_is_not_replaced_by_an_atlas(tmp_path: Path) -> None:
    importance().save(tmp_path / "out")
    with pytest.raises(StoreError, match="it holds a importance result of another plan"):
        gathered([importance()]).save(tmp_path / "out")
    with pytest.raises(StoreError, match="a result of importance, and no atlas"):
        atlas(tmp_path / "out")


def test_an_atlas_of_atlases_is_that_of_all_results() -> None:
    results = [kept("survey.treebank"), kept("relations.weight"), kept("coref.halves"), importance("other")]
    at_once = gathered(results)
    in_steps = gathered([gathered(results[:2]), gathered(results[2:])])
    assert not reasons(in_steps)
    for name in ("heads", "portraits", "disagreements", "stands_out"):
        rows = [sorted(map(repr, _without_source(one.tables[name].to_pylist()))) for one in (at_once, in_steps)]
        assert rows[0] == rows[1], name
    check_atlas(in_steps.tables)


def _without_source(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "source"} for row in rows]


def test_figures_of_further_tables_are_kept() -> None:
    import pyarrow as pa

    one = gathered([importance()])
    more = Atlas.of({**one.tables, "texts": pa.table({"model": ["tiny"], "text": [0], "corpus": ["sample"]})})
    again = gathered([more, importance(print_="b")])
    assert again.tables["texts"].to_pylist() == [{"model": "tiny (aaaaaa)", "text": 0, "corpus": "sample"}]


def test_heads_that_share_keys_are_counted() -> None:
    result = importance()
    sharing = {"stream": ["encoder"] * 2, "layer": [0, 0], "head": [0, 1], "key_head": [0, 0]}
    one = gathered([Result(result.manifest, {**result.tables, "sharing": sharing}), kept("survey.plain")])
    by_model = {(row["model"], row["stream"]): row for row in one.tables["models"].to_pylist()}
    assert by_model["tiny (aaaaaa)" if "tiny (aaaaaa)" in one.models else "tiny", "encoder"]["key_heads"] == 1
    assert MODEL["name"] == "tiny"


def opened_as(family: str, letters: str, name: str = "tiny", layers: int = 1) -> Result:
    result = importance(print_=letters)
    streams = {"encoder": {"layers": layers, "heads": 2}}
    model = dict(result.manifest.model) | {"class": family, "name": name, "streams": streams}
    return Result(Manifest("importance", model=model, corpus={"name": letters}), result.tables)


def test_a_model_with_and_without_a_task_head_is_one() -> None:
    one = gathered([opened_as("BertModel", "a"), opened_as("BertForMaskedLM", "b")])
    assert one.models == ["tiny"]
    (row,) = one.tables["models"].to_pylist()
    assert (row["family"], row["fingerprint"]) == ("BertForMaskedLM + BertModel", f"{'b' * 16} + {'a' * 16}")
    assert one.remarks[0] == (
        "tiny was opened as BertForMaskedLM and BertModel, with a task head and without: taken for one model."
    )
    again = gathered([one, opened_as("BertModel", "a"), opened_as("BertForTokenClassification", "d")])
    assert again.models == ["tiny"]
    assert again.tables["models"].num_rows == 1


def test_two_of_one_class_or_of_other_sizes_are_not_one() -> None:
    two = gathered([opened_as("BertModel", "a"), opened_as("BertForMaskedLM", "b"), opened_as("BertModel", "c")])
    assert sorted(two.models) == ["tiny (aaaaaa)", "tiny (bbbbbb)", "tiny (cccccc)"]
    sizes = gathered([opened_as("BertModel", "a"), opened_as("BertForMaskedLM", "b", layers=3)])
    assert sorted(sizes.models) == ["tiny (aaaaaa)", "tiny (bbbbbb)"]
