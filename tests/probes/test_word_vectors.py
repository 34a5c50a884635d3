"""Word vectors from files of several kinds; what is wrong in a file is said with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.errors import CorpusError
from attlas.probes.trees import Part, tree_of
from attlas.probes.vectors import digest, find_vectors, read_vectors
from attlas.text import Document, Passage

LINES = "the 0.5 1 2\nCat 3 4 5\ncat 6 7 8\n. . . 9 9 9\n"


def test_text_files_plain_and_packed(tmp_path: Path) -> None:
    plain, packed, counted = tmp_path / "a.txt", tmp_path / "a.txt.gz", tmp_path / "b.vec"
    plain.write_text(LINES)
    packed.write_bytes(gzip.compress(LINES.encode()))
    counted.write_text("4 3\n" + LINES)
    for path in (plain, packed, counted):
        words, size = read_vectors(path, {"the", "cat", ". . .", "dog"})
        assert size == 3
        assert {word: vector.tolist() for word, vector in words.items()} == {
            "the": [0.5, 1, 2],
            "cat": [6, 7, 8],
            ". . .": [9, 9, 9],
        }
    assert digest(str(plain)) != digest(str(packed))


def test_an_array_with_its_word_list(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.float16).reshape(3, 2))
    with pytest.raises(CorpusError, match="word list"):
        read_vectors(tmp_path / "a.npy", {"cat"})
    (tmp_path / "vocab.txt.gz").write_bytes(gzip.compress(b"the\ncat\ndog\n"))
    assert read_vectors(tmp_path / "a.npy", {"cat"})[0]["cat"].tolist() == [2, 3]
    (tmp_path / "vocab.txt").write_text("the\ncat\n")
    with pytest.raises(CorpusError, match=r"vocab.txt: 2 words for the 3 rows of a.npy"):
        read_vectors(tmp_path / "a.npy", {"cat"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the 1 2\ncat 1\n", "line 2: 2 numbers after the word were expected"),
        ("the 1 2\ncat 1 x\n", "line 2: 'x' is no number"),
        ("the 1 2\ncat 1 nan\n", "line 2: NaN or infinity"),
        ("the\n", "line 1: a word and its numbers were expected"),
        ("", "there are no vectors"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(CorpusError, match=said):
        read_vectors(path, {"cat"})


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file of word vectors"):
        read_vectors(tmp_path / "none.txt", set())
    (tmp_path / "bytes.txt").write_bytes(b"caf\xe9 1 2\n")
    with pytest.raises(CorpusError, match="not UTF-8"):
        read_vectors(tmp_path / "bytes.txt", set())
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(LINES.encode() * 100)[:40])
    with pytest.raises(CorpusError, match="cannot be read"):
        read_vectors(tmp_path / "cut.txt.gz", set())
    (tmp_path / "a.npy").write_bytes(b"nothing")
    with pytest.raises(CorpusError, match="no array"):
        read_vectors(tmp_path / "a.npy", set())


def test_words_are_looked_up_in_lower_case_and_the_unknown_are_zero(tmp_path: Path) -> None:
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "tiny")
    text = Document.from_words(["The", "farmer", "asked"], governors=[1, 2, -1])
    example = subject.pieces.encode(Passage(text))
    part = Part.of("train", [tree_of(example)])
    path = tmp_path / "a.txt"
    path.write_text("the 3 4\nfarmer 0 1\n")
    vectors = find_vectors(str(path), subject, [part], {"train": [example]})
    ids = vectors.ids["train"][3][0]
    assert (vectors.known, vectors.total) == (2, 3)
    assert np.square(vectors.table[1:]).sum(1).mean() == pytest.approx(1)
    assert vectors.table[ids[0]] == pytest.approx(np.array([3, 4]) / np.sqrt(13))
    assert vectors.table[ids[2]].tolist() == [0, 0]
    own = find_vectors("input", subject, [part], {"train": [example]})
    pieces = [example.source.ids[piece] for piece in example.source.segmentation.pieces_of(1)]
    table = subject.model.get_input_embeddings().weight.detach().numpy()  # type: ignore[union-attr]
    wanted = table[pieces].mean(0)
    found = own.table[own.ids["train"][3][0, 1]]
    assert found / np.linalg.norm(found) == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-5)
    path.write_text("nothing 3 4\n")
    with pytest.raises(CorpusError, match="none of the treebank's 3 words"):
        find_vectors(str(path), subject, [part], {"train": [example]})
