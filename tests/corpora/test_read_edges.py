"""The tasks of edge probing, made from small files of every format that serves them."""

from __future__ import annotations

import json
import random
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest

from attlas.corpora import (
    EDGE_TASKS,
    Corpus,
    edges_in,
    edges_of,
    is_paired,
    read,
    read_edge_parts,
    read_edges,
    write_spans,
)
from attlas.corpora.edges import PASSAGE, passages
from attlas.corpora.source import Source
from attlas.errors import CorpusError
from attlas.text import Chunk, Document, Edge, Mention, Span

TREE = """# newdoc id = tale
# sent_id = tale-1
1\tEmma\tEmma\tPROPN\tNNP\t_\t2\tnsubj\t_\tEntity=(e1-person)
2\tslept\tsleep\tVERB\tVBD\t_\t0\troot\t_\t_

# sent_id = tale-2
1\tShe\tshe\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(e1-person)
2\tdreamed\tdream\tVERB\tVBD\t_\t0\troot\t_\t_
"""
NAMES = "in\tO\nPuerto\tB-place\nMontt\tI-place\n\nnobody\tO\n"
TALE = "# begin document\n0\tEmma\t(1)\n1\tsaw\t_\n2\tLima\t(2)\n3\tand\t_\n4\tshe\t(1)\n# end document\n"
BANK = {
    "id": "blog-0001",
    "tokens": ["He", "wants", "to", "run"],
    "xpos": ["PRP", "VBZ", "TO", "VB"],
    "constituents": [["S", 2, 4], ["VP", 2, 4], ["NP", 0, 1], ["VP", 2, 4]],
    "srl": [
        {"frame": "want.01", "i": 1, "args": [["ARG0", 0, 1], ["ARG1", 2, 4]]},
        {"i": 3, "args": [["ARG0", 0, 1]]},
    ],
}
ROLES = [
    {"id": "s1", "pred": 2, "arg": 1, "props": {"sentient": 1.5, "was_used": -0.1, "volition": 0.0}},
    {"id": "s1", "pred": 2, "arg": 3, "props": {"manner": -2}, "tokens": ["He", "ran", "home"]},
    {"id": "s2", "pred": 1, "arg": 2, "props": {"location": 1}, "tokens": ["Ran", "home"]},
]
NOMINALS = (
    '1\t"The <e1>factory</e1>\'s <e2>steam engines</e2> stood."\nProduct-Producer(e2,e1)\nComment: odd\n\n'
    '2\t"A <e2>cup</e2> of <e1>tea</e1>"\nOther\nComment:\n'
)


def lines(*entries: object, name: str = "a.jsonl") -> Source:
    return Source.of_text("\n".join(json.dumps(entry) for entry in entries), name=name)


def test_the_tasks_are_those_of_the_paper_in_its_order() -> None:
    assert [(name, task.paired) for name, task in EDGE_TASKS.items()] == [
        ("pos", False),
        ("constituents", False),
        ("dependencies", True),
        ("entities", False),
        ("roles", True),
        ("coreference", True),
        ("proto-roles", True),
        ("relations", True),
        ("spans", None),
    ]


def test_parts_of_speech_of_a_treebank() -> None:
    corpus = read_edges("pos", Source.of_text(TREE, name="a.conllu"))
    assert corpus.documents[0].edges == (
        Edge(Span(0, 1), labels=("NNP",)),
        Edge(Span(1, 2), labels=("VBD",)),
    )
    assert corpus.articles == (0, 0)
    universal = TREE.replace("NNP", "_").replace("VBD", "_").replace("PRP", "_")
    corpus = read_edges("pos", Source.of_text(universal, name="a.conllu"))
    assert [edge.labels for edge in corpus.documents[0].edges or ()] == [("PROPN",), ("VERB",)]
    gaps = TREE.replace("PRP", "_")
    corpus = read_edges("pos", Source.of_text(gaps, name="a.conllu"))
    assert [edge.first for edge in corpus.documents[1].edges or ()] == [Span(1, 2)]


def test_dependencies_are_dependent_and_governor() -> None:
    corpus = read_edges("dependencies", Source.of_text(TREE, name="a.conllu"))
    assert [document.edges for document in corpus.documents] == [(Edge(Span(0, 1), Span(1, 2), ("nsubj",)),)] * 2
    document = Document.from_words(["a", "b", "c"], governors=[None, -1, 1], relations=["x", "root", "y"])
    assert edges_of("dependencies", document) == (Edge(Span(2, 3), Span(1, 2), ("y",)),)


def test_entities_and_texts_without_any() -> None:
    corpus = read_edges("entities", Source.of_text(NAMES, name="a.conll"))
    assert [(document.text, document.edges) for document in corpus.documents] == [
        ("in Puerto Montt", (Edge(Span(1, 3), labels=("place",)),))
    ]
    with pytest.raises(CorpusError, match=r"a\.txt: no text of it has a span for the task entities"):
        read_edges("entities", Source.of_text("in\tO\nit\tO\n", name="a.txt"))


def test_constituents_of_the_same_words_are_one_edge() -> None:
    corpus = read_edges("constituents", lines(BANK))
    assert corpus.documents[0].edges == (Edge(Span(2, 4), labels=("S", "VP")), Edge(Span(0, 1), labels=("NP",)))
    assert (corpus.format, corpus.documents[0].name) == ("propbank", "a.jsonl, blog-0001")


def test_roles_are_predicate_and_argument() -> None:
    corpus = read_edges("roles", lines(BANK))
    assert corpus.documents[0].edges == (
        Edge(Span(1, 2), Span(0, 1), ("ARG0",)),
        Edge(Span(1, 2), Span(2, 4), ("ARG1",)),
        Edge(Span(3, 4), Span(0, 1), ("ARG0",)),
    )
    assert [edge.labels for edge in read_edges("pos", lines(BANK)).documents[0].edges or ()][2:] == [("TO",), ("VB",)]
    assert read(lines(BANK)).annotations == ("xpos",)


def test_sentences_of_one_document_are_one_article() -> None:
    entries = [{**BANK, "id": label} for label in ("blog-0001", "mail-0001", "blog-0002", None)]
    assert read_edges("roles", lines(*entries)).articles == (0, 0, 1, 2)


def test_proto_roles_say_what_was_asked() -> None:
    corpus = read_edges("proto-roles", lines(*ROLES))
    assert [document.edges for document in corpus.documents] == [
        (
            Edge(Span(1, 2), Span(0, 1), ("sentient",), ("sentient", "was_used", "volition")),
            Edge(Span(1, 2), Span(2, 3), (), ("manner",)),
        ),
        (Edge(Span(0, 1), Span(1, 2), ("location",), ("location",)),),
    ]


def test_relations_between_marked_nominals() -> None:
    corpus = read_edges("relations", Source.of_text(NOMINALS.replace("\n", "\r\n"), name="TRAIN.TXT"))
    first, second = corpus.documents
    assert first.text == "The factory's steam engines stood."
    assert first.forms == ("The", "factory", "'s", "steam", "engines", "stood", ".")
    assert first.edges == (Edge(Span(1, 2), Span(3, 5), ("Product-Producer(e2,e1)",)),)
    assert second.edges == (Edge(Span(3, 4), Span(1, 2), ("Other",)),)
    assert corpus.format == "semeval"


@pytest.mark.parametrize("format", ["conll2012", "conllu"])
def test_coreference_within_a_passage(format: str) -> None:
    text = TALE if format == "conll2012" else TREE
    corpus = read_edges("coreference", Source.of_text(text, name="a." + format))
    (document,) = corpus.documents
    if format == "conllu":
        assert document.edges == (Edge(Span(2, 3), Span(0, 1), ("same",)),)  # nobody else to compare with
        assert document.name == "a.conllu, tale, passage 1"
    else:
        assert document.edges == (
            Edge(Span(4, 5), Span(0, 1), ("same",)),
            Edge(Span(4, 5), Span(2, 3), ("other",)),
        )


def naive_pairs(document: Document) -> tuple[set[tuple[Span, Span]], set[tuple[Span, Span]]]:
    """Every mention with its nearest earlier one, and all that could be drawn as "other"."""
    same, other = set(), set()
    for mention in document.mentions or ():
        nearest = None
        for one in document.mentions or ():
            before = one.stop <= mention.start and one.chain == mention.chain
            if before and (nearest is None or (one.stop, one.start) > (nearest.stop, nearest.start)):
                nearest = one
        if nearest is None:
            continue
        later = Span(mention.start, mention.stop)
        same.add((later, Span(nearest.start, nearest.stop)))
        for one in document.mentions or ():
            if one.stop <= mention.start and one.chain != mention.chain:
                other.add((later, Span(one.start, one.stop)))
    return same, other


def test_pairs_of_mentions_against_a_naive_loop() -> None:
    draw = random.Random(5)
    for number in range(40):
        mentions = {
            (start, min(start + draw.randint(1, 3), 20)): str(draw.randint(0, 3))
            for start in draw.sample(range(20), draw.randint(0, 10))
        }
        document = Document.from_words(
            [f"w{number}-{k}" for k in range(20)],
            mentions=[Mention(*span, chain) for span, chain in mentions.items()],
        )
        edges = edges_of("coreference", document, seed=3)
        same, other = naive_pairs(document)
        assert {(edge.first, edge.second) for edge in edges if edge.labels == ("same",)} == same
        drawn = [(edge.first, edge.second) for edge in edges if edge.labels == ("other",)]
        assert set(drawn) <= other
        assert {later for later, _ in drawn} == {later for later, _ in other}
        assert len(drawn) == len({later for later, _ in drawn})


def test_the_seed_draws_the_other_mention() -> None:
    mentions = [*(Mention(k, k + 1, str(k)) for k in range(12)), Mention(12, 13, "0")]
    document = Document.from_words([f"w{k}" for k in range(13)], mentions=mentions)
    drawn = [edges_of("coreference", document, seed) for seed in range(12)]
    assert drawn == [edges_of("coreference", document, seed) for seed in range(12)]
    assert len(set(drawn)) > 3


def test_passages_hold_whole_sentences_and_lose_nothing() -> None:
    lengths = [30, 50, 20, 1, 120, 250, 40, 60, 60]
    starts = [sum(lengths[:k]) for k in range(len(lengths) + 1)]
    sentences = list(pairwise(starts))
    document = Document.from_words([f"w{k}" for k in range(starts[-1])], sentences=sentences, name="a")
    found = list(passages(document))
    assert [word for passage in found for word in passage.forms] == list(document.forms)
    assert [len(passage.words) for passage in found] == [100, 1, 100, 20, 100, 100, 90, 60, 60]
    assert max(len(passage.words) for passage in found) <= PASSAGE


CASES = {
    "pos": Source.of_text(TREE, name="a.conllu"),
    "constituents": lines(BANK),
    "dependencies": Source.of_text(TREE, name="a.conllu"),
    "entities": Source.of_text(NAMES, name="a.conll"),
    "roles": lines(BANK),
    "coreference": Source.of_text(TALE, name="a.conll"),
    "proto-roles": lines(*ROLES),
    "relations": Source.of_text(NOMINALS, name="a.txt"),
}


@pytest.mark.parametrize("task", CASES)
def test_a_converted_file_gives_the_same_edges(tmp_path: Path, task: str) -> None:
    corpus = read_edges(task, CASES[task])
    write_spans(tmp_path / "a.jsonl.gz", corpus.documents, corpus.articles)
    again = read_edges(task, tmp_path / "a.jsonl.gz")
    assert again.format == "spans"
    assert again.articles == corpus.articles
    for one, other in zip(corpus.documents, again.documents, strict=True):
        assert (one.name, one.text, one.words, one.edges) == (other.name, other.text, other.words, other.edges)
    assert read_edges("spans", tmp_path / "a.jsonl.gz").documents == again.documents
    assert is_paired(again) is EDGE_TASKS[task].paired


def test_what_a_file_cannot_serve_is_said_in_one_sentence() -> None:
    serves = {
        "conllu": ("pos", "dependencies", "coreference"),
        "conll2000": ("entities",),
        "conll2012": ("coreference",),
        "propbank": ("pos", "constituents", "roles"),
        "uds": ("proto-roles",),
        "semeval": ("relations",),
    }
    sources = {read(source).format: source for source in CASES.values()}
    assert set(sources) == set(serves)
    for format, source in sources.items():
        for task in EDGE_TASKS:
            if task in serves[format]:
                assert read_edges(task, source).documents
                continue
            with pytest.raises(CorpusError) as caught:
                read_edges(task, source)
            assert f"{source.name}: the task {task} needs {EDGE_TASKS[task].needs}" in str(caught.value)
            assert f"this, read as {format}, has none" in str(caught.value)
    with pytest.raises(CorpusError, match=r"'ner' is no task of edge probing; there are pos, constituents"):
        read_edges("ner", sources["conllu"])
    with pytest.raises(CorpusError, match="needs constituents"):
        read_edges("constituents", lines({key: BANK[key] for key in ("tokens", "srl")}))


def test_documents_that_are_read_already() -> None:
    sample = read("sample")
    corpus = edges_in("dependencies", sample)
    words = [word for document in corpus.documents for word in document.edges or ()]
    assert len(words) == sum(len(d.words) - (d.governors or ()).count(-1) for d in sample.sentences().documents)
    assert read_edges("dependencies", "sample").documents == corpus.documents
    assert all(len(document.sentences) == 1 for document in corpus.documents)
    document = Document.from_words(["a", "b"], chunks=[Chunk(0, 2, "NP")], edges=[Edge(Span(0, 1), labels=("X",))])
    assert edges_of("entities", document) == (Edge(Span(0, 1), labels=("X",)),)


@pytest.mark.parametrize(
    ("source", "task", "message"),
    [
        (lines({**BANK, "xpos": ["X"]}), "roles", "line 1: the field 'xpos' is no list of 4 tags"),
        (lines({**BANK, "constituents": [["NP", 2, 9]]}), "constituents", "constituent NP 2:9 is outside its 4"),
        (lines({**BANK, "constituents": [["NP", 2]]}), "constituents", r"the constituent \['NP', 2\] is not"),
        (lines({**BANK, "srl": [{"i": 9, "args": []}]}), "roles", "the predicate 9 is outside its 4 words"),
        (lines({**BANK, "srl": [{"args": []}]}), "roles", "a predicate has not both"),
        (lines({**BANK, "tokens": ["a", " "]}), "roles", "word 1 of its tokens is empty"),
        (lines(ROLES[0]), "proto-roles", "line 1: no pair of the sentence s1 gives its words"),
        (lines({**ROLES[2], "arg": 3}), "proto-roles", "the argument 3 is outside its 2 words, counted from 1"),
        (lines({**ROLES[2], "pred": 0}), "proto-roles", "the predicate 0 is outside"),
        (lines({**ROLES[2], "props": {"a": "b"}}), "proto-roles", "a property has a value that is no number"),
        (lines({**ROLES[2], "props": {}}), "proto-roles", "'props' is not there or has no properties"),
        (Source.of_text('1\t"a <e1>b</e1> <e2>c</e2>"\n\n'), "relations", "line 1: no relation follows"),
        (Source.of_text('1\t"a <e1>b</e1> <e2>c</e2>"'), "relations", "line 1: no relation follows"),
        (Source.of_text('1\t"a <e1>b</e1> <e2>c"\nOther\n'), "relations", "line 1: </e2> is missing"),
        (Source.of_text('1\t"a <e1></e1> <e2>c</e2>"\nOther\n'), "relations", "no word between <e1> and"),
        (Source.of_text('1\t"<e1>b</e1> <e1>c</e2>"\nOther\n'), "relations", "<e1> comes twice"),
        (Source.of_text('1\t"<e1>b</e1> <e2>c</e2>"\nOther\nmore text\n'), "relations", "line 3: this is neither"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(source: Source, task: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_edges(task, source)


def tales(*names: str) -> dict[str, str]:
    return {f"{name}.conll": TALE.replace("Emma", name) for name in names}


def packed(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def first_words(parts: dict[str, Corpus]) -> dict[str, list[str]]:
    return {part: [d.word(0) for d in corpus.documents] for part, corpus in parts.items()}


@pytest.mark.parametrize("kind", ["folder", "archive", "archive in a folder"])
def test_a_file_of_splits_divides_documents(tmp_path: Path, kind: str) -> None:
    files = tales("ann", "bob", "cid", "dan")
    if kind == "folder":
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        place = tmp_path
    else:
        place = packed(tmp_path / "tales.zip", {f"deep/{name}": text for name, text in files.items()})
    (tmp_path / "splits.tsv").write_text("train\tann\nDevelopment\tbob\ntrain\tcid\n")
    place = tmp_path if kind == "archive in a folder" else place
    parts = read_edge_parts("coreference", place)
    assert first_words(parts) == {"train": ["ann", "cid"], "dev": ["bob"]}
    assert {part: corpus.articles for part, corpus in parts.items()} == {"train": (0, 2), "dev": (1,)}
    assert len({corpus.sha256 for corpus in parts.values()}) == 2
    assert read_edges("coreference", place, part="dev").documents == parts["dev"].documents
    assert [d.word(0) for d in read_edges("coreference", place).documents] == ["ann", "bob", "cid", "dan"]
    with pytest.raises(CorpusError, match=r"it has no part 'test'; there is train, dev"):
        read_edges("coreference", place, part="test")
    (tmp_path / "mine.tsv").write_text("train\tdan\ntest\tann\ntest\tgone\n")
    mine = read_edge_parts("coreference", place, splits=tmp_path / "mine.tsv")
    assert first_words(mine) == {"train": ["dan"], "test": ["ann"]}
    assert mine["test"].left_out == (
        "1 of 2 documents that mine.tsv puts into test are not here or have nothing to ask about, such as gone",
    )


def test_a_file_that_cannot_be_read_is_told_in_its_own_part(tmp_path: Path) -> None:
    place = packed(tmp_path / "a.zip", {**tales("ann", "bob"), "cid.conll": TALE.replace("(1)", "1)")})
    (tmp_path / "splits.tsv").write_text("train\tann\ntrain\tcid\ntest\tbob\n")
    parts = read_edge_parts("coreference", place)
    assert [why.partition(":")[0] for why in parts["train"].left_out] == [
        "cid.conll, line 2",
        "1 of 2 documents that splits.tsv puts into train are not here or have nothing to ask about, such as cid",
    ]
    assert parts["test"].left_out == ()


def test_splits_also_divide_the_documents_of_one_file(tmp_path: Path) -> None:
    two = TREE + "\n" + TREE.replace("tale", "saga")
    splits = Source.of_text("train\tsaga\ntest\ttale\n", name="s.tsv")
    for task, texts in (("coreference", 1), ("pos", 2)):
        parts = read_edge_parts(task, Source.of_text(two, name="a.conllu"), splits=splits)
        assert {part: len(corpus.documents) for part, corpus in parts.items()} == {"train": texts, "test": texts}
        assert all("saga" in document.name for document in parts["train"].documents)
    bank = lines(BANK, {**BANK, "id": "mail-0001"})
    parts = read_edge_parts("roles", bank, splits=Source.of_text("train\tblog\ntest\tmail\n"))
    assert [d.name for d in parts["test"].documents] == ["a.jsonl, mail-0001"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("train ann\n", "line 1: this is not the name of a part, a tab"),
        ("train\tann\ntest\tann\n", "line 2: the document ann is divided already in line 1"),
        ("test\tann\n", r"no document is put into train \(only into test\)"),
        ("train\tann\ntest\tann.conll\n", "puts ann.conll, document 1, passage 1 into train and into test"),
        ("train\tann\ntest\teve\n", "none of the 1 documents that splits.tsv puts into test is here, such as eve"),
    ],
)
def test_splits_that_make_no_sense(tmp_path: Path, content: str, message: str) -> None:
    place = packed(tmp_path / "a.zip", tales("ann", "bob"))
    (tmp_path / "splits.tsv").write_text(content)
    with pytest.raises(CorpusError, match=message):
        read_edge_parts("coreference", place)


def test_files_are_parts_by_their_names(tmp_path: Path) -> None:
    for name, word in (("wnut17TRAIN.conll", "ann"), ("emerging.dev.conll", "bob"), ("b-test.annotated", "cid")):
        (tmp_path / name).write_text(NAMES.replace("in", word, 1))
    (tmp_path / "latest-training-notes.md").mkdir()
    (tmp_path / "README.md").write_text("about the contest")
    parts = read_edge_parts("entities", tmp_path)
    assert first_words(parts) == {"train": ["ann"], "dev": ["bob"], "test": ["cid"]}
    assert parts["dev"].name == "emerging.dev.conll"
    whole = read_edges("entities", tmp_path)
    assert ([d.word(0) for d in whole.documents], whole.articles) == (["ann", "bob", "cid"], (0, 1, 2))
    given = read_edge_parts("entities", tmp_path, dev=tmp_path / "b-test.annotated")
    assert first_words(given)["dev"] == ["cid"]
    (tmp_path / "valid.conll").write_text(NAMES)
    with pytest.raises(CorpusError, match=r"2 files could be its dev part \(emerging.dev.conll, valid.conll\)"):
        read_edge_parts("entities", tmp_path)


def test_what_comes_undivided_is_all_for_training(tmp_path: Path) -> None:
    assert list(read_edge_parts("entities", Source.of_text(NAMES))) == ["train"]
    for name, text in tales("ann", "bob").items():
        (tmp_path / name).write_text(text)
    assert first_words(read_edge_parts("coreference", tmp_path)) == {"train": ["ann", "bob"]}
    with pytest.raises(CorpusError, match="it has no part 'test'; there is train"):
        read_edges("coreference", tmp_path, part="test")


def test_archives_as_corpora(tmp_path: Path) -> None:
    place = packed(tmp_path / "a.zip", {**tales("ann", "bob"), "__MACOSX/x.conll": "", "README": "hi"})
    corpus = read(place)
    assert [document.name for document in corpus.documents] == ["ann.conll, document 1", "bob.conll, document 1"]
    assert (corpus.name, corpus.articles, corpus.left_out) == ("a.zip", (0, 1), ())
    with pytest.raises(
        CorpusError, match=r"this is a zip archive; unpack it and give one of its files \(it holds no"
    ):
        read(packed(tmp_path / "b.zip", {"a.txt": "hello", "b.txt": "hello"}))
    alone = read(packed(tmp_path / "c.zip", {"a.txt": "Hello there."}))
    assert (alone.name, alone.format) == ("a.txt", "plain")
    (tmp_path / "cut.zip").write_bytes(place.read_bytes()[:100])
    with pytest.raises(CorpusError, match="this is a zip archive; unpack it"):
        read(tmp_path / "cut.zip")
    damaged = place.read_bytes().replace(b"ann\t(1)", b"anx\t(1)")
    (tmp_path / "damaged.zip").write_bytes(damaged)
    (why,) = read(tmp_path / "damaged.zip").left_out
    assert why == "ann.conll: the zip archive is damaged; fetch it again"


def test_pairs_of_mentions_are_those_of_the_definition() -> None:
    """Against the definition written out, with the same draws."""
    for trial in range(60):
        draw = random.Random(trial)
        starts = [draw.randrange(20) for _ in range(draw.randrange(2, 30))]
        drawn = [Mention(start, start + draw.randrange(1, 4), draw.choice("abc"), trial) for start in starts]
        text = Document.from_words(["w"] * 24, mentions=drawn, name="a")
        same_draws, expected = random.Random(f"0\n{text.text}"), []
        mentions = sorted(drawn, key=lambda mention: (mention.start, mention.stop, mention.chain))
        for mention in mentions:
            earlier = [other for other in mentions if other.stop <= mention.start]
            same = [other for other in earlier if other.chain == mention.chain]
            others = [other for other in earlier if other.chain != mention.chain]
            if same:
                nearest = max(same, key=lambda other: (other.stop, other.start))
                expected.append((mention[:2], nearest[:2], "same"))
                if others:
                    expected.append((mention[:2], same_draws.choice(others)[:2], "other"))
        edges = edges_of("coreference", text)
        assert [(tuple(edge.first), tuple(edge.second or ()), edge.labels[0]) for edge in edges] == expected
