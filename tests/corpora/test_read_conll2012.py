"""Coreference columns in both layouts."""

import pytest

from attlas.corpora import read_conll2012
from attlas.corpora.source import Source
from attlas.errors import CorpusError
from attlas.text import Document


def parse(text: str) -> list[Document]:
    return read_conll2012(Source.of_text(text, name="a.conll"))


def short(*columns: str) -> str:
    rows = [f"{index}\tw{index}\t{column}" for index, column in enumerate(columns)]
    return "\n".join(["# begin document ", *rows, "# end document", ""])


def mentions(document: Document) -> list[tuple[int, int, str]]:
    assert document.mentions is not None
    return [(m.start, m.stop, m.chain) for m in document.mentions]


def test_nested_crossing_and_repeated_brackets() -> None:
    (document,) = parse(short("(4(1)", "_", "4)(2)", "(1", "(2", "1)", "2)(3(3)", "3)"))
    expected = [(0, 3, "4"), (0, 1, "1"), (2, 3, "2"), (3, 6, "1"), (4, 7, "2"), (6, 8, "3"), (6, 7, "3")]
    assert mentions(document) == expected
    assert document.name == "a.conll, document 1"
    assert document.xpos is None


def test_a_closing_bracket_takes_the_mention_opened_last() -> None:
    (document,) = parse(short("(1", "(1", "1)", "1)"))
    assert mentions(document) == [(0, 4, "1"), (1, 3, "1")]


FULL = """#begin document (bc/cctv/00/cctv_0001); part 003
bc/cctv 3 0 The DT (NP* the - - - * (0|(12
bc/cctv 3 1 -LRB- -LRB- * - - - - * -
bc/cctv 3 2 farmer NN *) - - - - * 0)
bc/cctv 3 3 /. . * - - - - * 12)

bc/cctv 3 0 He PRP * - - - - * (0)
bc/cctv 3 1 ran VBD * - - - - * -
#end document
"""


def test_the_full_layout() -> None:
    (document,) = parse(FULL)
    assert document.name == "a.conll, bc/cctv/00/cctv_0001, part 003"
    assert document.forms == ("The", "(", "farmer", ".", "He", "ran")
    assert document.xpos == ("DT", "-LRB-", "NN", ".", "PRP", "VBD")
    assert mentions(document) == [(0, 4, "12"), (0, 3, "0"), (4, 5, "0")]
    assert [tuple(s) for s in document.sentences] == [(0, 4), (4, 6)]


def test_an_underscore_is_no_tag() -> None:
    """A file that leaves the column of tags empty has none, and one that knows some keeps these."""
    tags = {" DT (": " _ (", "-LRB- -LRB-": "-LRB- _", " NN ": " _ ", " . *": " _ *", " PRP ": " _ ", " VBD ": " _ "}
    untagged = FULL
    for tag, nothing in tags.items():
        untagged = untagged.replace(tag, nothing)
    (document,) = parse(untagged)
    assert document.xpos is None
    (document,) = parse(FULL.replace(" DT ", " _ "))
    assert document.xpos is not None
    assert document.xpos[:3] == ("_", "-LRB-", "NN")


def test_sentences_also_end_where_the_index_starts_over() -> None:
    (document,) = parse(FULL.replace("\n\n", "\n"))
    assert [tuple(s) for s in document.sentences] == [(0, 4), (4, 6)]


def test_without_any_marks_sentences_are_found_by_rule() -> None:
    words = ["He", "ran", ".", "She", "sat", "."]
    rows = "\n".join(f"{k}\t{word}\t_" for k, word in enumerate(words))
    (document,) = parse(f"# begin document x\n{rows}\n# end document\n")
    assert [tuple(s) for s in document.sentences] == [(0, 3), (3, 6)]
    assert document.mentions == ()


def test_an_empty_word_is_left_out() -> None:
    (document,) = parse("# begin document x\n0\ta\t(1\n1\t\t_\n2\tb\t1)\n# end document\n")
    assert document.text == "a b"
    assert mentions(document) == [(0, 2, "1")]


def test_several_documents_in_a_file() -> None:
    assert [d.name for d in parse(short("(1)") + short("_"))] == ["a.conll, document 1", "a.conll, document 2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (short("_", "(7", "(8)", "_"), r"^a\.conll, line 3: the mention of chain 7 that begins here never ends"),
        (short("(2", "3)", "2)"), "line 3: a mention of chain 3 ends here that never began .*chain 2 from line 2"),
        (short("(1", "1))"), r"line 3: the coreference '1\)\)' is not made of"),
        (short("4"), "line 2: the coreference '4'"),
        ("# begin document x\n0\ta\n", "line 2: 2 columns where 3"),
        ("# begin document x\n0 a b c\n", "line 2: 4 columns where 3"),
        ("# begin document x\nzero\ta\t_\n", "line 2: the word's index is 'zero'"),
        ("# begin document x\n0\ta\t_\n2\tb\t_\n", "line 3: the index 2 comes where 1 or 0 should follow"),
        ("# begin document x\n0\ta\t_\n1\t\t(1)\n", "line 3: a mention begins or ends at an empty word"),
        ("0\ta\t_\n", "line 1: a word outside"),
        ("# end document\n", "line 1: a document ends here that has not begun"),
        ("# begin document x\n0\ta\t_\n# begin document y\n", "line 1: .* no end before line 3"),
        ("# begin document x\n0\ta\t_\n", "line 1: .* has no '#end document'"),
        ("# begin document x\n# end document\n", "line 1: .* has no words"),
        ("\n", "no '#begin document'"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        parse(text)


def test_a_column_of_dashes_has_no_tags_even_at_words_that_are_dashes() -> None:
    for tag in ("-", "_", "*"):
        rows = [f"a 0 0 He {tag} * -", f"a 0 1 - {tag} * -"]
        (document,) = read_conll2012(Source.of_text("\n".join(["#begin document (a)", *rows, "#end document"])))
        assert document.xpos is None
    (document,) = read_conll2012(Source.of_text("#begin document (a)\n0\tHe\t_\n1\t-\t_\n#end document"))
    assert document.xpos is None
