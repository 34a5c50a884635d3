"""Edges of documents: what is refused, and what is left of them in a slice."""

import pytest

from attlas.errors import TextError
from attlas.text import Document, Edge, Span

WORDS = ["The", "old", "farmer", "slept", "."]


def test_a_slice_keeps_the_edges_that_lie_inside() -> None:
    edges = (
        Edge(Span(0, 3), labels=("NP",)),
        Edge(Span(2, 3), labels=("NN",)),
        Edge(Span(3, 4), labels=("VBD",)),
        Edge(Span(3, 5), labels=()),
    )
    cut = Document.from_words(WORDS, edges=edges).slice(1, 4)
    assert cut.edges == (Edge(Span(1, 2), labels=("NN",)), Edge(Span(2, 3), labels=("VBD",)))


def test_of_a_pair_both_spans_must_lie_inside() -> None:
    pair = Edge(Span(3, 4), Span(0, 3), ("ARG0",), ("ARG0", "ARG1"))
    document = Document.from_words(WORDS, edges=[pair])
    assert document.slice(0, 4).edges == (pair,)
    assert document.slice(1, 4).edges == ()
    later = Document.from_words(["So", *WORDS], edges=[pair.moved(1)])
    assert later.slice(1, 6).edges == (pair,)


def test_no_edges_are_not_the_same_as_no_layer() -> None:
    assert Document.from_words(WORDS).slice(0, 2).edges is None
    assert Document.from_words(WORDS, edges=()).slice(0, 2).edges == ()


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (Edge(Span(2, 6)), "tale: edge 2:6 is outside its 5 words"),
        (Edge(Span(2, 2)), "tale: edge 2:2 is outside"),
        (Edge(Span(-1, 2)), "tale: edge -1:2 is outside"),
        (Edge(Span(0, 1), Span(4, 9)), "tale: edge 4:9 is outside"),
        (Edge(Span(0, 1), labels=("a", " ")), "a label of an edge is empty"),
        (Edge(Span(0, 1), labels=(3,)), "no string"),  # type: ignore[arg-type]
        (Edge(Span(0, 1), labels=("a", "a")), "given twice"),
        (Edge(Span(0, 1), labels=("a",), among=("b", "")), "a label asked about of an edge is empty"),
        (
            Edge(Span(0, 1), labels=("a",), among=("b", "c")),
            "the label 'a' of an edge is not among those asked about",
        ),
    ],
)
def test_what_does_not_fit_is_refused(edge: Edge, message: str) -> None:
    with pytest.raises(TextError, match=message):
        Document.from_words(WORDS, name="tale", edges=[edge])
