"""A flipped bit in what lies on the disk is told in a sentence, or did no harm; it is never read as another value."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attlas.errors import StoreError
from attlas.run import journal
from attlas.store import Manifest, Result
from attlas.store.checkpoint import load_checkpoint, save_checkpoint
from attlas.store.tensors import load_arrays, save_arrays

FLIPS = 250


def flipped(path: Path, seed: int = 0) -> Iterator[int]:
    """The file with one bit flipped, many times over, each at another place."""
    whole, draw = path.read_bytes(), random.Random(seed)
    for _ in range(FLIPS):
        place = draw.randrange(len(whole) * 8)
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(bytes(damaged))
        yield place
    path.write_bytes(whole)


def told(read: Callable[[], Any], truth: Any) -> bool:
    """Whether damage was told in a sentence; what is read without one must be the truth."""
    try:
        found = repr(read())
    except StoreError:
        return True
    assert found == repr(truth)
    return False


def result() -> Result:
    draw = np.random.default_rng(0)
    columns = {"layer": list(range(40)), "value": draw.normal(size=40).tolist(), "word": ["the", "a"] * 20}
    manifest = Manifest("survey", plan={"seed": 3, "words": ["the"]}, model={"name": "tiny"}, corpus={"texts": 12})
    return Result(manifest, {"heads": columns, "layers": {"layer": [0, 1], "value": [0.25, 0.5]}})


def read_all(folder: Path) -> Any:
    opened = Result.open(folder)
    return opened.manifest, [opened.rows(name) for name in opened.manifest.tables]


@pytest.mark.parametrize("name", ["heads.parquet", "layers.parquet", "manifest.json"])
def test_of_a_result(name: str, tmp_path: Path) -> None:
    folder = result().save(tmp_path / "out")
    truth = read_all(folder)
    caught = [told(lambda: read_all(folder), truth) for _ in flipped(folder / name)]
    assert sum(caught) >= 0.99 * FLIPS  # a bit of white space in a manifest says nothing
    assert repr(read_all(folder)) == repr(truth)


def test_of_a_checkpoint(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, {"seed": 0}, {"sums": np.arange(50.0), "n": np.arange(7)}, {"batches": 3})
    truth = load_checkpoint(tmp_path)
    caught = [told(lambda: load_checkpoint(tmp_path), truth) for _ in flipped(tmp_path / "checkpoint" / "state.npz")]
    assert sum(caught) > 0.5 * FLIPS  # dates and such in a zip file say nothing


def test_of_the_arrays_of_a_training_run(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    save_arrays(path, {"weight": np.arange(60.0).reshape(6, 10), "bias": np.ones(3, np.float32)}, {"step": 3})
    truth = load_arrays(path)
    caught = [told(lambda: load_arrays(path), truth) for _ in flipped(path)]
    assert sum(caught) >= 0.9 * FLIPS  # the padding of its header says nothing


def test_of_a_journal(tmp_path: Path) -> None:
    path = tmp_path / ".toy.jsonl"
    records = [{"plan": {"seed": 0}}, *({"item": number, "value": number / 7} for number in range(20))]
    path.write_text("".join(map(journal._line, records)), encoding="utf-8")
    for _ in flipped(path):
        found = journal._whole_lines(path)
        assert found == records[: len(found)], "what is kept is right, and the rest is done again"
        assert len(found) < len(records)


def test_a_result_without_checksums_still_opens(tmp_path: Path) -> None:
    """Folders of before: their manifests have another schema and no checksums."""
    import json

    folder = result().save(tmp_path / "out")
    file = folder / "manifest.json"
    older = json.loads(file.read_text(encoding="utf-8"))
    del older["checksum"], older["checksums"]
    file.write_text(json.dumps({**older, "schema": 2}), encoding="utf-8")
    assert Result.open(folder).manifest.checksums == {}
    file.write_text(json.dumps(older), encoding="utf-8")
    with pytest.raises(StoreError, match="does not agree with its own checksum"):
        Result.open(folder)
