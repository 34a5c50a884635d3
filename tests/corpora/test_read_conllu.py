"""CoNLL-U: text, spans, layers, and every way a tree can be wrong."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attlas.corpora import read_conllu
from attlas.corpora.conllu import divide, read_articles
from attlas.corpora.source import Source
from attlas.errors import CorpusError
from attlas.text import ROOT, Document, Span


def row(number: object, form: str, head: object = 0, relation: str = "root", misc: str = "_", upos: str = "X") -> str:
    return "\t".join([str(number), form, form.lower(), upos, "_", "_", str(head), relation, "_", misc])


def joined(number: str, form: str, misc: str = "_") -> str:
    return "\t".join([number, form, *["_"] * 7, misc])


def parse(*lines: str, unit: str = "sentence") -> list[Document]:
    return read_conllu(Source.of_text("\n".join(lines) + "\n", name="a.conllu"), unit)


HELLO = [row(1, "Hello", 0, misc="SpaceAfter=No"), row(2, "!", 1, "punct")]


def test_layers_are_read_and_a_column_of_underscores_is_no_layer() -> None:
    (document,) = parse("# sent_id = s7", *HELLO)
    assert document.name == "a.conllu, s7"
    assert document.text == "Hello!"
    assert document.lemmas == ("hello", "!")
    assert document.upos == ("X", "X")
    assert document.xpos is None
    assert document.governors == (ROOT, 0)
    assert document.relations == ("root", "punct")


def test_the_text_comment_wins_when_it_has_the_words() -> None:
    (document,) = parse("# text = Hello  !", *HELLO)
    assert document.text == "Hello  !"
    assert document.forms == ("Hello", "!")


@pytest.mark.parametrize("text", ["Goodbye!", "Hello", "Hello!!", "hello!"])
def test_a_text_comment_that_does_not_fit_is_rebuilt(text: str) -> None:
    (document,) = parse(f"# text = {text}", *HELLO)
    assert document.text == "Hello!"


def test_words_with_spaces_inside() -> None:
    (document,) = parse("# text = 20 000 francs", row(1, "20 000", 2, "nummod"), row(2, "francs"))
    assert document.forms == ("20 000", "francs")


def test_a_multiword_range_that_its_words_spell() -> None:
    (document,) = parse(
        "# text = I don't.",
        row(1, "I", 2, "nsubj"),
        joined("2-3", "don't", "SpaceAfter=No"),
        row(2, "do"),
        row(3, "n't", 2, "advmod"),
        row(4, ".", 2, "punct"),
    )
    assert document.text == "I don't."
    assert document.forms == ("I", "do", "n't", ".")


def test_a_multiword_range_that_its_words_do_not_spell_keeps_the_surface() -> None:
    lines = [joined("1-2", "Aux"), row(1, "à", 3, "case"), row(2, "les", 3, "det"), row(3, "armes")]
    for comment in ("# text = Aux armes", "# other"):
        (document,) = parse(comment, *lines)
        assert document.text == "Aux armes"
        assert document.forms == ("A", "ux", "armes")
        assert document.lemmas == ("à", "les", "armes")


def test_more_words_than_characters_share_the_last() -> None:
    (document,) = parse(joined("1-3", "zu"), row(1, "a", 0), row(2, "b", 1, "x"), row(3, "c", 1, "x"))
    assert [tuple(span) for span in document.words] == [(0, 1), (1, 2), (1, 2)]


@given(
    surface=st.text(alphabet="abc", min_size=1, max_size=8),
    forms=st.lists(st.text(alphabet="abc", min_size=1, max_size=6), min_size=1, max_size=5),
)
def test_dividing_covers_the_range_in_order(surface: str, forms: list[str]) -> None:
    spans = divide(Span(10, 10 + len(surface)), surface, forms)
    assert len(spans) == len(forms)
    assert all(span.length >= 1 for span in spans)
    assert spans[0].start == 10
    assert spans[-1].stop == 10 + len(surface)
    if len(surface) >= len(forms):
        assert all(a.stop == b.start for a, b in pairwise(spans))
    else:
        assert all(a.start <= b.start for a, b in pairwise(spans))


def test_empty_nodes_are_left_out() -> None:
    (document,) = parse(joined("0.1", "Go"), row(1, "Home", 0), joined("1.1", "went"), row(2, "!", 1, "punct"))
    assert document.forms == ("Home", "!")


def test_documents_join_sentences_and_paragraphs() -> None:
    documents = parse(
        "# newdoc id = d1",
        "# newpar",
        *HELLO,
        "",
        *HELLO,
        "",
        "# newpar id = p2",
        row(1, "You", 2, "x"),
        row(2, "came"),
        "",
        "# newdoc",
        *HELLO,
        unit="document",
    )
    first, second = documents
    assert first.name == "a.conllu, d1"
    assert first.text == "Hello! Hello!\n\nYou came"
    assert first.governors == (ROOT, 0, ROOT, 2, 5, ROOT)
    assert [tuple(s) for s in first.sentences] == [(0, 2), (2, 4), (4, 6)]
    assert second.name == "a.conllu, document 2"


def test_sentences_are_grouped_by_newdoc_and_otherwise_kept_together() -> None:
    text = "\n".join(["# newdoc", *HELLO, "", *HELLO, "", "# newdoc", "", *HELLO])
    assert [len(article) for article in read_articles(Source.of_text(text))] == [2, 1]
    plain = "\n".join([*HELLO, "", *HELLO])
    (article,) = read_articles(Source.of_text(plain, name="b"))
    assert [document.name for document in article] == ["b, sentence 1", "b, sentence 2"]


@pytest.mark.parametrize(
    ("lines", "line", "reason"),
    [
        (["1\tHello\tx"], 1, "3 columns where CoNLL-U has 10"),
        (["Hello there."], 1, "1 column where CoNLL-U has 10"),
        ([*HELLO, row(4, "x", 1, "dep")], 3, "the id 4 comes where 3 should follow"),
        ([row("a", "x")], 1, "the id 'a' is neither"),
        ([row("²", "x")], 1, "the id '²' is neither"),
        ([row(1, " ")], 1, "the form of 1 is empty"),
        ([*HELLO, "", row(1, "x"), row(2, "y", 19, "dep")], 5, "the governor 19 is outside this 2-word sentence"),
        ([row(1, "x", "_")], 1, r"the governor \(HEAD\) is '_', not a number"),
        ([row(1, "x", -1)], 1, "not a number"),
        ([row(1, "x", 0, "_")], 1, r"the relation \(DEPREL\) is missing"),
        (["# text = x y", row(1, "x", 2, "a"), row(2, "y", 1, "b")], 2, "has no root"),
        ([row(1, "a"), row(2, "b", 4, "x"), row(3, "c", 1, "x"), row(4, "d", 2, "x")], 2, "cycle: 2, 4"),
        ([row(1, "a"), row(2, "b", 2, "x")], 2, "cycle: 2$"),
        ([joined("1-3", "abc"), row(1, "a"), row(2, "b", 1, "x")], 1, "ends at 3, after the last word 2"),
        ([joined("1-2", "ab"), row(1, "a"), joined("2-3", "bc"), row(2, "b", 1, "x")], 3, "overlaps"),
        ([row(1, "a"), joined("2-1", "ab")], 2, "runs backwards"),
        (["# text = nothing", "", *HELLO], 2, "no words"),
    ],
)
def test_errors_name_file_line_and_reason(lines: list[str], line: int, reason: str) -> None:
    with pytest.raises(CorpusError, match=rf"^a\.conllu, line {line}: .*{reason}"):
        parse(*lines)


def test_several_roots_are_let_pass() -> None:
    (document,) = parse(row(1, "a"), row(2, "b"))
    assert document.governors == (ROOT, ROOT)


def test_an_empty_file_and_an_unknown_unit_are_refused() -> None:
    with pytest.raises(CorpusError, match="no sentence"):
        parse("# only a comment")
    with pytest.raises(CorpusError, match="'sentence' or 'document', not 'page'"):
        parse(*HELLO, unit="page")


def test_a_dash_is_no_tag_unless_the_word_is_one() -> None:
    rows = [
        "1\tHe\the\t-\tPRP\t_\t0\troot\t_\t_",
        "2\t-\t-\t-\t-\t_\t1\tpunct\t_\t_",
        "3\tran\trun\t_\t-\t_\t1\tdep\t_\t_",
    ]
    (document,) = read_conllu(Source.of_text("\n".join(rows)))
    assert (document.upos, document.xpos) == (None, ("PRP", "-", "_"))
