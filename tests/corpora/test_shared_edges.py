"""The edges of real corpora, against the counts that are published with them and against naive counts."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attlas.corpora import Corpus, read_edge_parts, read_edges
from attlas.text import Edge

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DATA.is_dir(), reason="the corpora that lie outside the repo are not there"),
]


def edges(corpus: Corpus) -> list[Edge]:
    return [edge for document in corpus.documents for edge in document.edges or ()]


def labels(corpus: Corpus) -> Counter[str]:
    return Counter(label for edge in edges(corpus) for label in edge.labels)


def raw(path: str) -> Iterator[str]:
    with gzip.open(DATA / path, "rt", encoding="utf-8", newline="\n") as file:
        yield from file


def entries(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in raw(path)]


def test_treebank() -> None:
    """Words and sentences as published (25,147 and 2,001 in dev); every sentence has one root."""
    path = "ud_english_ewt/en_ewt-ud-dev.conllu.gz"
    rows = [line.split("\t") for line in raw(path) if re.match(r"[0-9]+\t", line)]
    tagged = read_edges("pos", DATA / path)
    assert len(edges(tagged)) == len(rows) == 25147
    assert labels(tagged) == Counter(row[4] for row in rows)
    governed = read_edges("dependencies", DATA / path)
    assert len(edges(governed)) == 25147 - 2001
    assert labels(governed) == Counter(row[7] for row in rows if row[6] != "0")
    assert len({*labels(governed), "root"}) == 49
    for document in governed.documents[:200]:
        for edge in document.edges or ():
            assert edge.second is not None
            assert (document.governors or ())[edge.first.start] == edge.second.start


@pytest.mark.parametrize(
    ("part", "sentences", "arguments", "constituents"), [("dev", 1888, 8985, 20172), ("test", 1981, 8716, 19896)]
)
def test_propbank_and_constituents(part: str, sentences: int, arguments: int, constituents: int) -> None:
    path = f"ewt_srl_constituents/{part}.jsonl.gz"
    lines = entries(path)
    phrases = read_edges("constituents", DATA / path)
    assert len(phrases.documents) == sentences
    given = [(at, *phrase) for at, line in enumerate(lines) for phrase in line["constituents"]]
    assert len(given) == constituents
    assert labels(phrases) == Counter(label for _, label, *_ in set(given))  # some are given twice
    assert len(edges(phrases)) == len({(at, *span) for at, _, *span in given})
    roles = read_edges("roles", DATA / path)
    assert len(edges(roles)) == arguments
    assert labels(roles) == Counter(role for line in lines for frame in line["srl"] for role, *_ in frame["args"])
    assert len({roles.articles[k] for k in range(len(roles.documents))}) == len(
        {line["id"].rpartition("-")[0] for line in lines if any(frame["args"] for frame in line["srl"])}
    )


def test_emerging_entities() -> None:
    parts = read_edge_parts("entities", DATA / "wnut17")
    assert {part: len(edges(corpus)) for part, corpus in parts.items()} == {"train": 1975, "dev": 836, "test": 1079}
    assert labels(parts["test"]) == {
        "location": 150,
        "group": 165,
        "person": 429,
        "creative-work": 142,
        "corporation": 66,
        "product": 127,
    }


def test_proto_roles() -> None:
    parts = read_edge_parts("proto-roles", DATA / "uds_spr")
    assert {part: len(edges(corpus)) for part, corpus in parts.items()} == {"train": 5669, "dev": 751, "test": 670}
    lines = entries("uds_spr/spr_dev.jsonl.gz")
    assert labels(parts["dev"]) == Counter(
        name for line in lines for name, value in line["props"].items() if value > 0
    )
    asked = Counter(len(edge.among or ()) for edge in edges(parts["dev"]))
    assert asked == {14: 632, 4: 119}
    assert len({label for edge in edges(parts["train"]) for label in edge.among or ()}) == 18
    words = {line["id"]: line["tokens"] for line in lines if "tokens" in line}
    at = iter(lines)
    for document in parts["dev"].documents:
        for edge in document.edges or ():
            line = next(at)
            assert edge.second is not None
            assert document.word(edge.first.start) == words[line["id"]][line["pred"] - 1]
            assert document.word(edge.second.start) == words[line["id"]][line["arg"] - 1]


def test_relations() -> None:
    parts = read_edge_parts("relations", DATA / "semeval2010_task8")
    assert {part: (len(edges(corpus)), len(labels(corpus))) for part, corpus in parts.items()} == {
        "train": (8000, 19),
        "test": (2717, 19),
    }
    sentences = [line for line in raw("semeval2010_task8/TEST_FILE_FULL.TXT.gz") if re.match(r"[0-9]+\t", line)]
    for document, sentence in zip(parts["test"].documents, sentences, strict=True):
        (edge,) = document.edges or ()
        for number, span in enumerate(edge.spans, start=1):
            marked = re.search(f"<e{number}>(.*)</e{number}>", sentence)
            assert marked is not None
            first, last = document.words[span.start], document.words[span.stop - 1]
            assert document.text[first.start : last.stop] == marked[1].strip()


def test_coreference() -> None:
    """All documents of the division are there, and nearly all of their mentions (some are cut by passages)."""
    parts = read_edge_parts("coreference", DATA / "ontogum_coref")
    assert {part: len(set(corpus.articles)) for part, corpus in parts.items()} == {
        "train": 177,
        "dev": 30,
        "test": 30,
    }
    assert all(corpus.left_out == () for corpus in parts.values())
    rows = (DATA / "ontogum_coref" / "splits.tsv").read_text(encoding="utf-8").split()
    split = dict(zip(rows[1::2], rows[::2], strict=True))
    for part, corpus in parts.items():
        assert {split[document.name.partition(".conll")[0]] for document in corpus.documents} == {part}
        assert max(len(document.words) for document in corpus.documents) <= 100
        same, other = labels(corpus)["same"], labels(corpus)["other"]
        assert 0.9 * same < other <= same
    with zipfile.ZipFile(DATA / "ontogum_coref" / "ontogum_coref.zip") as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    cells = [line.split("\t")[2] for text in texts.values() for line in text.split("\n") if line.count("\t") == 2]
    assert sum(cell.count("(") for cell in cells) == 32629
    for document in parts["test"].documents:
        for edge in document.edges or ():
            assert edge.second is not None
            assert edge.second.stop <= edge.first.start
            chains = [
                {m.chain for m in document.mentions or () if (m.start, m.stop) == tuple(span)} for span in edge.spans
            ]
            together = bool(chains[0] & chains[1])
            assert together if edge.labels == ("same",) else chains[0] != chains[1]
