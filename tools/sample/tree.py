"""A dependency tree that knows the order of its words.

Every phrase of the sample grammar is a :class:`Node`: one word with the phrases that depend on it, those that stand
to its left and those to its right. Reading a node out from left to right gives the sentence, and because each
subtree is read out in one go, the tree is projective whatever the grammar does. A node carries all gold that hangs on
the word: lemma, tags, relation, and the chain of coreference that its phrase belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tools.sample.morphology import indefinite

_OBLIQUE_FORMS = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them"}


@dataclass(frozen=True)
class Node:
    """A word and what depends on it, in order.

    ``person`` is what a verb agrees with, ``chain`` names what the phrase refers to, ``together`` what the whole
    coordination refers to that starts here, ``glued`` says that no space stands before the word.

    >>> barn = Node("barn", "barn", "NOUN", "NN").before(Node("the", "the", "DET", "DT", "det"))
    >>> [node.form for node in barn.words()]
    ['the', 'barn']
    """

    form: str
    lemma: str
    upos: str
    xpos: str
    relation: str = "root"
    left: tuple[Node, ...] = ()
    right: tuple[Node, ...] = ()
    person: str = "3s"
    chain: str | None = None
    together: str | None = None
    glued: bool = False

    def to(self, relation: str) -> Node:
        """The same phrase in another relation; personal pronouns take the case that goes with it.

        >>> Node("she", "she", "PRON", "PRP").to("obj").form
        'her'
        """
        form = self.form
        if self.xpos == "PRP":
            subject = relation.startswith("nsubj")
            form = self.lemma if subject else _OBLIQUE_FORMS.get(self.lemma, self.lemma)
        return replace(self, relation=relation, form=form)

    def before(self, *nodes: Node) -> Node:
        """With further dependents at the far left.

        >>> Node("barn", "barn", "NOUN", "NN").before(Node("old", "old", "ADJ", "JJ", "amod")).left[0].form
        'old'
        """
        return replace(self, left=nodes + self.left)

    def after(self, *nodes: Node) -> Node:
        """With further dependents at the far right.

        >>> Node("stop", "stop", "VERB", "VB").after(Node("!", "!", "PUNCT", ".", "punct")).right[0].form
        '!'
        """
        return replace(self, right=self.right + nodes)

    def about(self, chain: str | None) -> Node:
        """The same phrase, known to refer to something.

        >>> Node("barn", "barn", "NOUN", "NN").about("barn").chain
        'barn'
        """
        return replace(self, chain=chain)

    def words(self) -> Iterator[Node]:
        """All words of the phrase, from left to right.

        >>> len(list(Node("barn", "barn", "NOUN", "NN").words()))
        1
        """
        for child in self.left:
            yield from child.words()
        yield self
        for child in self.right:
            yield from child.words()

    def links(self) -> Iterator[tuple[Node, Node | None]]:
        """Each word from left to right together with its governor, which is None for this node itself.

        >>> sentence = Node("slept", "sleep", "VERB", "VBD").before(Node("she", "she", "PRON", "PRP", "nsubj"))
        >>> [(word.form, governor and governor.form) for word, governor in sentence.links()]
        [('she', 'slept'), ('slept', None)]
        """
        yield from self._links(None)

    def _links(self, governor: Node | None) -> Iterator[tuple[Node, Node | None]]:
        for child in self.left:
            yield from child._links(self)
        yield self, governor
        for child in self.right:
            yield from child._links(self)


@dataclass(frozen=True)
class Word:
    """One word of a sentence read out: its spelling in place, and the place of its governor (-1 for the root).

    >>> Word("Slept", Node("slept", "sleep", "VERB", "VBD"), -1).spelling
    'Slept'
    """

    spelling: str
    node: Node
    governor: int


def read_out(sentence: Node) -> list[Word]:
    """Put a tree into a line: articles meet the next word, sentences and quotations begin with a capital.

    >>> article = Node("a", "a", "DET", "DT", "det")
    >>> [w.spelling for w in read_out(Node("apple", "apple", "NOUN", "NN").before(article))]
    ['An', 'apple']
    """
    links = list(sentence.links())
    place = {id(node): index for index, (node, _) in enumerate(links)}
    if len(place) != len(links):
        raise ValueError("a phrase was used twice in one sentence")
    words: list[Word] = []
    capital = True
    for index, (node, governor) in enumerate(links):
        spelling = node.form
        if node.lemma == "a" and node.relation == "det":
            spelling = indefinite(links[index + 1][0].form)
        if capital and node.upos != "PUNCT":
            spelling = spelling[0].upper() + spelling[1:]
            capital = False
        if node.xpos == "``":
            capital = True
        words.append(Word(spelling, node, -1 if governor is None else place[id(governor)]))
    return words
