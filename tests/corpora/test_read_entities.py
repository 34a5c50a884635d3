"""Coreference in the last column of CoNLL-U."""

from __future__ import annotations

import pytest

from attlas.corpora import read, read_conllu
from attlas.corpora.source import Source
from attlas.errors import CorpusError

# two sentences as GUM and CorefUD write them: nested mentions, one that ends where another begins, an empty node
GUM = """# newdoc id = tale
# global.Entity = eid-etype-head-other
# sent_id = tale-1
# text = The old farmer's cat slept.
1	The	the	DET	DT	_	3	det	_	Entity=(e2-animal-4(e1-person-3
2	old	old	ADJ	JJ	_	3	amod	_	_
3	farmer	farmer	NOUN	NN	_	5	nmod:poss	_	SpaceAfter=No
4	's	's	PART	POS	_	3	case	_	Entity=e1)
5	cat	cat	NOUN	NN	_	6	nsubj	_	Entity=e2)
6	slept	sleep	VERB	VBD	_	0	root	_	SpaceAfter=No
7	.	.	PUNCT	.	_	6	punct	_	_

# sent_id = tale-2
# text = He saw it.
1	He	he	PRON	PRP	_	2	nsubj	_	Entity=(e1-person-1)
2	saw	see	VERB	VBD	_	0	root	_	_
2.1	_	_	_	_	_	_	_	2:dep	Entity=(e1-person-1)
3	it	it	PRON	PRP	_	2	obj	_	SpaceAfter=No|Entity=(e2-animal-1)
4	.	.	PUNCT	.	_	2	punct	_	_
"""


def test_mentions_and_head_words_of_a_document() -> None:
    (document,) = read_conllu(Source.of_text(GUM, name="a.conllu"), unit="document")
    assert document.mentions is not None
    told = [(m.chain, " ".join(document.forms[m.start : m.stop]), document.word(m.head)) for m in document.mentions]
    assert told == [
        ("e2", "The old farmer 's cat", "cat"),
        ("e1", "The old farmer 's", "farmer"),
        ("e1", "He", "He"),
        ("e2", "it", "it"),
    ]


def test_by_sentence_they_are_counted_from_its_start() -> None:
    one, two = read_conllu(Source.of_text(GUM, name="a.conllu"))
    assert one.mentions is not None
    assert two.mentions is not None
    assert [tuple(m) for m in two.mentions] == [(0, 1, "e1", 0), (2, 3, "e2", 2)]


def test_a_sentence_without_mentions_has_none_beside_one_that_has() -> None:
    plain = GUM.split("\n\n")[1].replace("Entity=(e1-person-1)", "_").replace("|Entity=(e2-animal-1)", "")
    *_, last = read_conllu(Source.of_text(GUM + "\n" + plain, name="a.conllu"))
    assert last.mentions == ()
    assert read(Source.of_text(plain, name="b.conllu")).documents[0].mentions is None


def test_parts_and_empty_nodes_at_the_edges() -> None:
    rows = [
        "1\tTurn\tturn\tVERB\t_\t_\t0\troot\t_\tEntity=(e1[1/2]-event-1)",
        "2\tit\tit\tPRON\t_\t_\t1\tobj\t_\tEntity=(e2-thing-1)",
        "3\toff\toff\tADP\t_\t_\t1\tcompound:prt\t_\tEntity=(e1[2/2]-event-1)",
        "3.1\t_\t_\t_\t_\t_\t_\t_\t_\tEntity=(e3-person-1",
        "4\tplease\tplease\tINTJ\t_\t_\t1\tdiscourse\t_\tEntity=e3)",
    ]
    (document,) = read_conllu(Source.of_text("\n".join(rows), name="a.conllu"))
    assert document.mentions is not None
    assert [tuple(m) for m in document.mentions] == [(0, 1, "e1", 0), (1, 2, "e2", 1), (3, 4, "e3", 3)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Entity=e2)", "Entity=e9)", r"a\.conllu, line 9: a mention of e9 ends here that never began"),
        ("Entity=e2)", "_", r"line 5: the mention of e2 that begins here never ends"),
        ("Entity=e2)", "Entity=e2))", r"line 9: Entity=e2\)\) is not made of"),
        ("eid-etype", "etype-GRP", "line 5: the chain must come first in Entity=, and global.Entity is etype-GRP"),
    ],
)
def test_errors(old: str, new: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_conllu(Source.of_text(GUM.replace(old, new), name="a.conllu"))
