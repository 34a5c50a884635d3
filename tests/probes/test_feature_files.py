"""What probes read lies on disk, is what the model computed, and never comes into memory as a whole."""

from __future__ import annotations

import json
import mmap
import os
import tracemalloc
from pathlib import Path

import numpy as np
import planted
import pytest
import torch

from attlas.capture import Subject
from attlas.errors import StoreError
from attlas.models import Example
from attlas.probes.files import Features, Room, check_room
from attlas.probes.reading import Reader
from attlas.probes.trees import Part, Tree, tree_of
from attlas.probes.writing import Writer, as_written, items_of, room_for
from attlas.text import Document, Passage, regroup


def written(
    folder: Path, family: str, count: int = 9, measure: str = "weight"
) -> tuple[Subject, list[Example], Part, Features]:
    subject = planted.subject(family)
    documents = [
        *planted.treebank(count),
        Document.from_words(["it", "'s", "apples"], space_after=[False, True, True], governors=[2, 2, -1]),
    ]
    examples = subject.pieces.encode_all([Passage(document) for document in documents])
    part = Part.of("train", [tree_of(example) for example in examples])
    features = Features(folder, [part], room_for(subject, states=True), {})
    writer, items = Writer(subject, features, measure=measure), items_of([part], {"train": examples})
    bundle = writer.empty()
    writer.update(bundle, items[:4])
    writer.update(bundle, items[4:])
    return subject, examples, part, features


def test_files_of_which_one_is_gone_are_not_used_again(tmp_path: Path) -> None:
    """What is made in its place holds nothing but zeros."""
    part = Part.of("train", [Tree((1, -1), (1, 0), (True, True), ("", ""))])
    Features(tmp_path, [part], Room(heads=3, layers=1, size=2), {}).finish()
    again = Features(tmp_path, [part], Room(heads=3, layers=1, size=2), {})
    assert (again.kept, again.finished) == (True, True)
    (tmp_path / "train-attention.bin").unlink()
    without = Features(tmp_path, [part], Room(heads=3, layers=1, size=2), {})
    assert (without.kept, without.finished) == (False, False)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system keeps no room")
def test_the_disk_keeps_room_for_what_is_not_written_yet(tmp_path: Path) -> None:
    """Else a disk that fills up meanwhile would end the process when a mapping is written to."""
    part = Part.of("train", [Tree((1, -1), (1, 0), (True, True), ("", ""))] * 2000)
    Features(tmp_path, [part], Room(heads=12), {})
    file = os.stat(tmp_path / "train-attention.bin")
    assert file.st_blocks * 512 >= file.st_size == 2000 * 9 * 12 * 2


@pytest.mark.parametrize("measure", ["weight", "norm"])
@pytest.mark.parametrize("family", ["bert", "llama", "marian", "gpt2"])
def test_files_hold_the_attention_and_the_states_of_words(tmp_path: Path, family: str, measure: str) -> None:
    subject, examples, part, features = written(tmp_path, family, measure=measure)
    own = subject.pieces.own
    for example, tree, (words, row) in zip(examples, part.trees, part.places, strict=True):
        seen = subject.look(example.passage.first, hidden_states=True)
        segmentation = example.source.segmentation
        found = features.block("train", "attention", words)[row]
        weights = seen.weights[own].flatten(0, 1).numpy()
        if measure == "norm":
            matrices = torch.stack([subject.output_matrix(site) for site in subject.sites if site.stream is own])
            vectors = torch.einsum("lhkw,lhwd->lhkd", seen.values[own], matrices.detach()).flatten(0, 1)
            weights = (torch.from_numpy(weights)[..., None] * vectors[:, None]).norm(dim=-1).numpy()
        groups = [
            *(segmentation.pieces_of(word) for word in tree.kept),
            [p for p, w in enumerate(segmentation.words) if w < 0],
        ]
        for i, from_ in enumerate(groups):
            for j, to in enumerate(groups):
                slow = [
                    sum(weights[k, p, q] for p in from_ for q in to) / max(1, len(from_)) for k in range(len(weights))
                ]
                assert found[i, j] == pytest.approx(np.array(slow), abs=2e-3, rel=1e-3)
        states = features.block("train", "states", words)[:, row]
        for place, pieces in enumerate(groups[:-1]):
            mean = seen.hidden_states[own][:, list(pieces)].mean(1).numpy()
            assert states[:, place] == pytest.approx(mean, abs=5e-3, rel=5e-3)


def test_regrouping_is_that_of_the_text_package(tmp_path: Path) -> None:
    subject, examples, part, features = written(tmp_path, "bert", 4)
    (words, row), example = part.places[0], examples[0]
    weights = subject.look(example.passage.first).weights[subject.pieces.own][0, 0].numpy()
    between = regroup(weights, example.source.segmentation)
    inner = features.block("train", "attention", words)[row, :words, :words, 0]
    assert inner == pytest.approx(between[1:-1, 1:-1], abs=1e-3)


def test_batches_come_from_the_mapping(tmp_path: Path) -> None:
    *_, part, features = written(tmp_path, "bert")
    words = part.groups[0].words
    base = features.block("train", "attention", words)
    while isinstance(base, np.ndarray):
        base = base.base  # type: ignore[assignment]
    assert isinstance(base, mmap.mmap)
    reader = Reader(features, {"train": part}, None, "attention", 64, torch.device("cpu"))
    before = next(iter(reader.batches("train"))).given.clone()
    path = tmp_path / "train-attention.bin"
    path.write_bytes(bytes(path.stat().st_size))  # behind its back
    assert before.abs().sum() > 0
    assert next(iter(reader.batches("train"))).given.abs().sum() == 0


def test_reading_takes_little_memory_of_large_files(tmp_path: Path) -> None:
    tree = Tree(tuple(range(20)), (20, *range(19)), (True,) * 20, ("dep",) * 20)
    part = Part.of("train", [tree] * 500)
    features = Features(tmp_path, [part], Room(heads=100), {})
    size = (tmp_path / "train-attention.bin").stat().st_size
    assert size == 500 * 21 * 21 * 100 * 2 == features.room.bytes([part])["attention"]
    reader = Reader(features, {"train": part}, None, "attention", 100, torch.device("cpu"))
    tracemalloc.start()
    seen = sum(len(batch.members) for batch in reader.batches("train", shuffled=True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == 500
    assert peak < size / 20


def test_an_index_says_whose_files_these_are(tmp_path: Path) -> None:
    part = Part.of("dev", [Tree((0, 1), (1, 2), (True, True), ("", ""))])
    first = Features(tmp_path, [part], Room(heads=2), {"model": "a"})
    assert not first.kept
    first.block("dev", "attention", 2)[:] = 1
    assert not first.finished
    first.finish()
    same = Features(tmp_path, [part], Room(heads=2), {"model": "a"})
    assert same.finished
    assert same.block("dev", "attention", 2).min() == 1
    other = Features(tmp_path, [part], Room(heads=2), {"model": "b"})
    assert not other.kept
    assert not other.finished
    assert other.block("dev", "attention", 2).max() == 0
    assert json.loads((tmp_path / "index.json").read_text())["parts"]["dev"] == [{"words": 2, "sentences": [0]}]
    other.delete()
    assert not tmp_path.exists()


def test_a_disk_that_is_too_small_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_room(tmp_path / "not" / "there", {"attention": 10**6}, most=1.0)
    with pytest.raises(StoreError, match=r"would take 9.0 GB .*--max-disk allows 8 GB; allow more \(--max-disk 9\)"):
        check_room(tmp_path, {"attention": 4 * 10**9, "states": 5 * 10**9}, most=8.0)
    monkeypatch.setattr("shutil.disk_usage", lambda place: type("Usage", (), {"free": 10**9}))
    with pytest.raises(StoreError, match=r"has 1.0 GB free"):
        check_room(tmp_path, {"attention": 2 * 10**9}, most=8.0)
    check_room(tmp_path, {"attention": 2 * 10**9}, most=8.0, there=10**9)


def test_what_has_changed_on_the_disk_is_seen(tmp_path: Path) -> None:
    """A bit of any file that was written, or a file that is gone: read as it is, it would give other figures."""
    _, examples, part, features = written(tmp_path, "bert", 4)
    items, room = items_of([part], {"train": examples}), features.room
    features.finish()
    again = Features(tmp_path, [part], room, {})
    assert again.finished
    assert as_written(again, items)
    for name in ("train-attention.bin", "train-states.bin"):
        path = tmp_path / name
        whole = path.read_bytes()
        path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
        assert not as_written(Features(tmp_path, [part], room, {}), items)
        path.write_bytes(whole)
    path = tmp_path / "train-distances.bin"
    path.write_bytes(bytes(path.stat().st_size))
    assert Features(tmp_path, [part], room, {}).block("train", "distances", part.groups[0].words).any()
    (tmp_path / "train-states.bin").unlink()
    assert not Features(tmp_path, [part], room, {}).kept


def test_nothing_is_written_behind_a_link(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("somebody's")
    place = tmp_path / "files"
    place.mkdir()
    for name in ("train-attention.bin", "checksums"):
        (place / name).symlink_to(other)
    Features(place, [Part.of("train", [Tree((0, 1), (1, 2), (True, True), ("", ""))])], Room(heads=3), {})
    assert other.read_text() == "somebody's"
