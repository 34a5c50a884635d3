"""A damaged result folder is one sentence from ``attlas report`` and ``attlas verify``, whatever is wrong in it."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import attlas
from pyarrow import parquet

from attlas.errors import StoreError
from attlas.store import Manifest, Result
from attlas.views.card import read_card
from attlas.views.figures import read_survey

COLUMNS: dict[str, list[Any]] = {
    "stream": ["encoder"] * 4, "layer": [0, 0, 1, 1], "head": [0, 1, 0, 1], "value": [0.5, 0.2, 0.1, 0.4],
    "low": [0.4, 0.1, 0.05, 0.3], "high": [0.6, 0.3, 0.2, 0.5], "normalised": [0.9, 0.3, 0.2, 0.9],
    "signed": [0.1, 0.2, -0.1, 0.0], "n": [9] * 4,
}  # fmt: skip
STRANGE = [None, 3, -1, 10**30, 1.5, "x", [], {}, [[1]], {"name": {}}, True, "\ud800", "</script>"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound result of the format that had no checksums, in which damage is not told by them."""
    monkeypatch.chdir(tmp_path)
    described = {"name": "tiny", "streams": {"encoder": {"layers": 2, "heads": 2}}}
    manifest = Manifest(
        "importance", {"options": {"task": "causal-lm"}}, model=described, corpus={"name": "a.txt", "documents": 3},
        skipped={"too long": 2}, started="2026-01-01T00:00:00+00:00",
    )  # fmt: skip
    place = Result(manifest, {"importance": COLUMNS}).save(tmp_path / "out")
    rewrite(place, lambda fields: None)
    return place


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a manifest, and leave it as one that has no checksums."""
    path = folder / "manifest.json"
    fields = json.loads(path.read_text())
    fields["schema"], fields["checksums"] = 2, {}
    fields.pop("checksum", None)
    change(fields)
    path.write_text(json.dumps(fields))


def one_sentence(capfd: pytest.CaptureFixture[str], folder: Path, *phrases: str) -> None:
    attlas(capfd, "report", folder).refuses(*phrases)
    said = attlas(capfd, "verify", folder)
    assert (said.status, said.err, said.out.count("\n")) == (1, "", 1), said
    for phrase in phrases:
        assert phrase in said.out, said


def test_the_sound_one(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Else the refusals below might have another reason."""
    assert attlas(capfd, "report", folder).status == 0
    assert attlas(capfd, "verify", folder).status == 0


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("[" * 200_000, "nests so deep"),
        ('{"a":' * 900 + "1" + "}" * 900, "so attlas did not write it"),
        ('{"schema": ' + "9" * 5_000 + "}", "counts so far"),
        ("[]", "an object was expected"),
        ("", "this is not JSON"),
    ],
)
def test_manifests_that_are_none(folder: Path, capfd: pytest.CaptureFixture[str], text: str, phrase: str) -> None:
    (folder / "manifest.json").write_text(text)
    one_sentence(capfd, folder, "manifest.json", phrase)


def test_a_manifest_that_nests_deep(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    depth = sys.getrecursionlimit() * 3 // 4
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace('"causal-lm"', "[" * depth + "]" * depth))
    one_sentence(capfd, folder, "nests so deep")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tables", [3]), ("tables", ["../importance"]), ("tables", ["importance", "importance"]),
        ("skipped", {"too long": "many"}), ("versions", {"python": 3}), ("model", {"name": []}),
        ("corpus", {"name": 7}), ("study", "\ud800"), ("study", "9" * 5000),
    ],
)  # fmt: skip
def test_wrong_types_inside(folder: Path, capfd: pytest.CaptureFixture[str], field: str, value: Any) -> None:
    rewrite(folder, lambda fields: fields.update({field: value}))
    one_sentence(capfd, folder, "manifest.json", "make the result again")


def store(folder: Path, table: pa.Table) -> None:
    parquet.write_table(table, folder / "importance.parquet")


@pytest.mark.parametrize(
    ("columns", "phrase"),
    [
        ({name: cells for name, cells in COLUMNS.items() if name != "value"}, "column 'value' is missing"),
        ({**COLUMNS, "value": COLUMNS["stream"], "stream": COLUMNS["value"]}, "column 'value' holds no numbers"),
        ({**COLUMNS, "layer": [[0]] * 4}, "column 'layer' holds no numbers"),
    ],
)
def test_columns_that_are_not_those_of_the_schema(
    folder: Path, capfd: pytest.CaptureFixture[str], columns: dict[str, list[Any]], phrase: str
) -> None:
    store(folder, pa.table(columns))
    one_sentence(capfd, folder, "importance.parquet: its columns are not those of importance", phrase)


def test_damage_by_lot_is_never_a_traceback(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Any value of a manifest replaced by a strange one, any column by another, or by one of another type."""
    draw, sound = random.Random(0), folder.parent / "sound"
    shutil.copytree(folder, sound)
    refused = 0
    for _ in range(60):
        shutil.rmtree(folder)
        shutil.copytree(sound, folder)
        if draw.random() < 0.7:
            rewrite(folder, lambda fields: replace_one(fields, draw))
        else:
            names = draw.sample(list(COLUMNS), len(COLUMNS) - draw.randint(0, 1))
            cells = [draw.choice([COLUMNS[draw.choice(names)], ["x"] * 4, [None] * 4, [[1]] * 4]) for _ in names]
            store(folder, pa.table(dict(zip(names, cells, strict=True))))
        for command in ("report", "verify"):
            said = attlas(capfd, command, folder)
            assert "Traceback" not in said.err + said.out
            refused += said.status != 0
    assert refused > 30


def replace_one(value: Any, draw: random.Random) -> None:
    """Walk down a manifest to a place, and put something strange there."""
    while True:
        key = draw.choice(list(value) if isinstance(value, dict) else list(range(len(value))))
        inner = value[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.7:
            value = inner
        else:
            value[key] = draw.choice(STRANGE)
            return


@pytest.mark.parametrize("name", ["manifest.json", "importance.parquet"])
@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "folder"])
def test_what_is_no_plain_file_is_not_read(
    folder: Path, capfd: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    """A pipe would keep whoever reads it waiting, and a device never ends."""
    path = folder / name
    path.unlink()
    make: dict[str, Callable[[], object]] = {
        "pipe": lambda: os.mkfifo(path), "device": lambda: path.symlink_to("/dev/zero"),
        "loop": lambda: path.symlink_to(path), "folder": path.mkdir,
    }  # fmt: skip
    make[kind]()
    one_sentence(capfd, folder, str(folder))


def sealed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a manifest, and write its checksums anew."""
    path = folder / "manifest.json"
    fields = json.loads(path.read_text())
    fields.pop("checksum", None)
    tables = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.parquet")}
    fields |= {"schema": 3, "checksums": tables}
    change(fields)
    own = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps({**fields, "checksum": own}))


@pytest.mark.parametrize(
    ("field", "value", "phrase"),
    [
        ("plan", {"options": 3}, "'plan', 'options' is no object"),
        ("corpus", {"name": "a.txt", "pieces": "many"}, "'corpus', 'pieces' is no number"),
        ("checksums", {}, "has no checksum of importance.parquet"),
    ],
)
def test_a_manifest_with_right_checksums_that_makes_no_sense(
    folder: Path, capfd: pytest.CaptureFixture[str], field: str, value: Any, phrase: str
) -> None:
    sealed(folder, lambda fields: fields.update({field: value}))
    one_sentence(capfd, folder, phrase, "make the result again")


def test_the_page_of_an_opened_result_is_one_sentence_too(folder: Path) -> None:
    """`Result.page` has ended in a KeyError where `attlas report` said what is wrong."""
    store(folder, pa.table({name: cells for name, cells in COLUMNS.items() if name != "value"}))
    result = Result.open(folder)
    with pytest.raises(StoreError, match="column 'value' is missing"):
        result.page()


def test_no_name_steers_the_terminal(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = folder.rename(folder.with_name("\x1b[31mout\n"))
    said = attlas(capfd, "verify", place)
    assert (said.status, said.out.count("\n")) == (0, 1)
    assert "\x1b" not in said.out
    refused = attlas(capfd, "report", place / "nowhere")
    assert (refused.status, refused.err.count("\n"), "\x1b" in refused.err) == (2, 1, False)


SURVEY: dict[str, list[Any]] = {
    "stream": ["encoder"] * 2, "layer": [0, 1], "head": [0, 0], "measure": ["weight"] * 2, "quantity": ["sep"] * 2,
    "value": [0.5, 0.2],
}  # fmt: skip
CARD = {
    "figure": ["gradient"], "name": ["like"], "value": [0.2], "low": [0.1], "high": [0.3], "verdict": ["holds"],
    "says": ["alike"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("study", "tables", "read"),
    [
        ("survey", {"heads": {**SURVEY, "layer": [0, None]}}, read_survey),
        ("survey", {"heads": {**SURVEY, "stream": ["no", "stream"]}}, read_survey),
        ("survey", {"heads": {**SURVEY, "value": ["high", "low"]}}, read_survey),
        ("faith", {"card": {**CARD, "value": ["high"]}}, read_card),
    ],
)
def test_what_reads_results_of_others_says_so_in_a_sentence(
    study: str, tables: dict[str, Any], read: Callable[[Path], Any], tmp_path: Path
) -> None:
    place = Result(Manifest(study, model={"name": "tiny"}), tables).save(tmp_path / "out")
    with pytest.raises(StoreError, match=r"out: what is written there does not make sense .*; make the result again"):
        read(place)
