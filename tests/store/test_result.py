"""Results: from columns to Arrow, to a folder and back, and the folders that are refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from attlas.errors import StoreError
from attlas.ids import Stream
from attlas.store import (
    Manifest,
    Result,
    load_checkpoint,
    require_free,
    save_checkpoint,
    tables_from_columns,
    versions_here,
)
from attlas.store import folder as folder_module

PLAN = {"study": "survey", "options": {"layers": (0, 1)}}


def manifest(**changes: Any) -> Manifest:
    values: dict[str, Any] = {
        "study": "survey",
        "plan": PLAN,
        "versions": {"attlas": "0.1.0"},
        "model": {"name": "twin", "fingerprint": "abc"},
        "corpus": {"name": "farm.txt", "sha256": "def", "counts": {"documents": 3}},
        "seed": 5,
        "skipped": {"longer than 512 pieces": 2},
        "started": "2026-01-02T03:04:05+00:00",
        "seconds": 1.5,
    }
    return Manifest(**(values | changes))


def result(value: float = 0.5, **changes: Any) -> Result:
    heads = {
        "stream": [Stream.ENCODER, Stream.ENCODER, Stream.CROSS],
        "layer": np.arange(3),
        "quantity": ["entropy", "distance", None],
        "value": [value, float("nan"), 1.0],
        "kept": [True, False, True],
    }
    return Result(manifest(**changes), {"heads": heads, "layers": {"layer": [0]}})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_comes_back_from_its_folder_as_it_was(tmp_path: Path) -> None:
    saved = result()
    assert saved.save(tmp_path / "deep" / "out") == tmp_path / "deep" / "out"
    opened = Result.open(tmp_path / "deep" / "out")
    assert names(tmp_path / "deep" / "out") == ["heads.parquet", "layers.parquet", "manifest.json"]
    assert opened.manifest == saved.manifest
    assert list(opened.tables) == ["heads", "layers"]
    assert opened.table.schema.equals(saved.table.schema)
    assert opened.table.drop_columns(["value"]).equals(saved.table.drop_columns(["value"]))
    np.testing.assert_array_equal(opened.table["value"].to_numpy(), [0.5, np.nan, 1.0])
    assert opened.table["stream"].to_pylist() == ["encoder", "encoder", "cross"]
    assert opened.to_pandas("layers").shape == (1, 1)
    assert opened.to_pandas()["quantity"].tolist()[:2] == ["entropy", "distance"]


def test_text_columns_become_dictionaries_and_numbers_stay() -> None:
    schema = result().table.schema
    for column in ("stream", "quantity"):
        assert pa.types.is_dictionary(schema.field(column).type)
    assert [schema.field(column).type for column in ("layer", "value", "kept")] == [
        pa.int64(),
        pa.float64(),
        pa.bool_(),
    ]


def test_arrow_tables_are_taken_as_they_are() -> None:
    table = pa.table({"word": ["a", "b"]})
    assert Result(manifest(), {"words": table}).table is table
    assert tables_from_columns({"words": table})["words"] is table


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({}, "no table"),
        ({"heads": {"a": [1, 2], "b": [1]}}, r"'heads': its columns differ in length \(a: 2, b: 1\)"),
        ({"../heads": {"a": [1]}}, "must be lower-case"),
        ({"Heads": {"a": [1]}}, "must be lower-case"),
    ],
)
def test_tables_that_cannot_be(tables: dict[str, Any], words: str) -> None:
    with pytest.raises(StoreError, match=words):
        Result(manifest(), tables)


def test_a_mixed_column_is_named() -> None:
    with pytest.raises(StoreError, match="table 'heads', column 'b'"):
        _ = Result(manifest(), {"heads": {"b": [1, "x"]}}).table
    with pytest.raises(StoreError, match="no table 'x' here; the tables are heads, layers"):
        result().to_pandas("x")


def test_the_page_is_escaped_and_short() -> None:
    shown = Result(
        manifest(corpus={"name": "<b>farm</b>"}),
        {"words": {"<i>": ["<script>alert(1)</script>"] + ["b"] * 30, "value": [1 / 3] * 31}, "more": {"a": []}},
    )._repr_html_()
    assert "<script>" not in shown
    assert "<i>" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;" in shown
    assert shown.count("<tr>") == 11
    assert "0.3333" in shown
    assert "10 of 31 rows" in shown
    assert "Further tables: more" in shown


def test_manifest_holds_plain_values_and_says_what_is_wrong() -> None:
    made = manifest()
    assert made.plan["options"] == {"layers": [0, 1]}
    assert Manifest.from_json(made.to_json()) == made
    assert set(versions_here()) >= {"attlas", "python", "torch", "transformers", "numpy"}
    with pytest.raises(StoreError, match="plan, rate: nan of type float"):
        manifest(plan={"rate": float("nan")})


def older(text: str) -> str:
    """A manifest as it was before there were checksums."""
    fields = json.loads(text)
    del fields["checksum"], fields["checksums"]
    return json.dumps({**fields, "schema": 2})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[:40], "line 4: this is not JSON"),
        (lambda text: "[1]", "an object was expected, and a list came"),
        (lambda text: "{}", "no schema number"),
        (
            lambda text: text.replace('"schema": 3', '"schema": 99'),
            "schema 99 and this attlas reads up to 3; use a newer",
        ),
        (lambda text: text.replace('"seed": 5', '"seed": 6'), "does not agree with its own checksum"),
        (lambda text: older(text).replace('"seed": 5', '"seed": "5"'), "'seed' came as str"),
        (lambda text: older(text).replace('"seed"', '"sead"'), "'seed' came as nothing"),
    ],
)
def test_broken_manifests(tmp_path: Path, change: Any, words: str) -> None:
    path = result().save(tmp_path) / "manifest.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(StoreError, match=words) as caught:
        Result.open(tmp_path)
    assert str(path) in str(caught.value)


def test_folders_that_hold_no_whole_result(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such folder"):
        Result.open(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"no manifest\.json here"):
        Result.open(tmp_path)
    out = result().save(tmp_path / "out")
    (out / "layers.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(StoreError, match=r"layers\.parquet: this table does not agree with the checksum"):
        Result.open(out)
    (out / "layers.parquet").unlink()
    with pytest.raises(StoreError, match=r"layers\.parquet: the manifest lists this table"):
        Result.open(out)
    (out / "manifest.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(StoreError, match="this is not text"):
        Result.open(out)


def test_the_same_plan_may_be_saved_again_and_leaves_other_files_alone(tmp_path: Path) -> None:
    result(0.25).save(tmp_path)
    (tmp_path / "report.html").write_text("a page")
    result(0.75).save(tmp_path)
    assert Result.open(tmp_path).table["value"][0].as_py() == 0.75
    assert names(tmp_path) == ["heads.parquet", "layers.parquet", "manifest.json", "report.html"]


def test_an_own_checkpoint_makes_way(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, PLAN, {"a": np.ones(2)}, {"batches": 1})
    result().save(tmp_path)
    assert names(tmp_path) == ["heads.parquet", "layers.parquet", "manifest.json"]


def test_what_is_in_the_way_stays(tmp_path: Path) -> None:
    foreign, other, paused, file = (tmp_path / name for name in ("foreign", "other", "paused", "file"))
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    result(plan={"study": "survey", "options": {}}).save(other)
    save_checkpoint(paused, {"seed": 1}, {"a": np.ones(2)}, {})
    file.write_text("a file")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for folder, words in [
        (foreign, r"holds thesis\.tex, which is no result; choose another --out or delete it"),
        (other, "holds a survey result of another plan; choose another --out or delete it"),
        (paused, "holds the checkpoint of another plan; choose another --out or delete it"),
        (file, "a folder is needed"),
    ]:
        with pytest.raises(StoreError, match=words):
            result().save(folder)
        with pytest.raises(StoreError, match=words):
            require_free(folder, PLAN)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_hidden_files_are_not_content(tmp_path: Path) -> None:
    (tmp_path / ".gitkeep").write_text("")
    result().save(tmp_path)
    assert Result.open(tmp_path).manifest.seed == 5


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    result().save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert Result.open(tmp_path / "real").manifest.seed == 5


class Killed(BaseException):
    """Stands for a kill: no handler catches it."""


STEPS = {"rename": Path.rename, "replace": Path.replace, "rmdir": Path.rmdir}


def save_killed_at(step: int, value: float, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Save, but stop before the given step that changes the folder's names. Tells whether it was stopped."""
    taken = 0
    with monkeypatch.context() as patch:
        for kind, unpatched in STEPS.items():

            def stepped(path: Path, *args: Any, real: Any = unpatched) -> Any:
                nonlocal taken
                if taken == step:
                    raise Killed
                taken += 1
                return real(path, *args)

            patch.setattr(Path, kind, stepped)
        try:
            result(value).save(folder)
        except Killed:
            return True
    return False


@pytest.mark.parametrize("start", ["nothing", "checkpoint", "result"])
def test_a_kill_between_any_two_steps_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    seen = set()
    for step in range(20):
        folder = tmp_path / str(step)
        if start == "checkpoint":
            save_checkpoint(folder, PLAN, {"a": np.ones(2)}, {"batches": 1})
        if start == "result":
            result(0.25).save(folder)
        killed = save_killed_at(step, 0.75, folder, monkeypatch)
        if folder_module.locate(folder, "manifest.json").exists():
            opened = Result.open(folder)
            found = "new" if opened.table["value"][0].as_py() == 0.75 else "old"
            assert opened.tables["layers"].num_rows == 1
        else:
            found = "nothing"
            assert start != "result"
            assert start != "checkpoint" or load_checkpoint(folder) is not None
        seen.add(found)
        result(0.9).save(folder)  # whatever was left, the next save goes through and cleans up
        assert Result.open(folder).table["value"][0].as_py() == 0.9
        assert names(folder) == ["heads.parquet", "layers.parquet", "manifest.json"]
        if not killed:
            break
    assert not killed
    assert step >= 5
    assert seen == ({"old", "new"} if start == "result" else {"nothing", "new"})


def test_a_kill_while_the_files_are_written_leaves_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result(0.25).save(tmp_path)

    def killed(path: Path) -> None:
        raise Killed

    monkeypatch.setattr(folder_module, "sync", killed)
    with pytest.raises(Killed):
        result(0.75).save(tmp_path)
    assert Result.open(tmp_path).table["value"][0].as_py() == 0.25


def test_a_real_kill(tmp_path: Path) -> None:
    """A child saves over and over and is killed; what is there opens, whole."""
    program = """
import sys
from attlas.store import Manifest, Result
n = 0
while True:
    n += 1
    tables = {"heads": {"value": [n] * 1000}, "layers": {"value": [n] * 10}}
    Result(Manifest("survey"), tables).save(sys.argv[1])
    if n == 1:
        print("ready", flush=True)
"""
    for delay in (0.05, 0.11, 0.17):
        child = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        try:
            child.wait(delay)
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        child.stdout.close()
        opened = Result.open(tmp_path / "out")
        values = {name: set(table["value"].to_pylist()) for name, table in opened.tables.items()}
        assert len(values["heads"]) == 1
        assert values["heads"] == values["layers"]
        assert opened.table.num_rows == 1000


def test_writing_where_one_cannot_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="a folder is needed, and this is a file"):
        result().save(tmp_path / "file" / "out")


def test_importing_needs_no_heavy_package() -> None:
    program = (
        "import sys, attlas.stats, attlas.store, attlas.run\n"
        "heavy = {'torch', 'transformers', 'pyarrow', 'pandas', 'rich', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "r = attlas.store.Result(attlas.store.Manifest('survey'), {'heads': {'layer': [0]}})\n"
        "print(r, 'pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "Result(survey: heads with 1 rows) False\n"


def test_manifest_file_is_json_that_others_can_read(tmp_path: Path) -> None:
    result().save(tmp_path)
    loaded = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert loaded["tables"] == ["heads", "layers"]
    assert loaded["corpus"]["counts"] == {"documents": 3}
