"""What a survey says of a head: where its attention goes, how broadly, along which edges, and to copies."""

from __future__ import annotations

from collections.abc import Iterator

from attlas.evidence.saying import Saying

LEAST = 0.08  # of the way from chance to all: what is less is not worth a sentence
HALF = 0.5
EVEN = 0.9  # of the entropy of an even spread
_EVEN = "(an even spread: {chance})"
_PLACES = {"previous": "the previous piece", "next": "the next piece", "self": "the piece itself"}
_RESTS = {"first": "the first piece", "cls": "[CLS]", "sep": "[SEP]", "punctuation": "periods and commas"}
_TAGS = {
    "ADJ": "adjectives", "ADP": "prepositions", "ADV": "adverbs", "AUX": "auxiliaries", "CCONJ": "conjunctions",
    "DET": "determiners", "NOUN": "nouns", "NUM": "numerals", "PRON": "pronouns", "PROPN": "proper names",
    "SCONJ": "subordinating conjunctions", "VERB": "verbs", "PUNCT": "punctuation", "PART": "particles",
}  # fmt: skip


def _where() -> Iterator[Saying]:
    """The places that a head looks at, and those on which it rests."""
    for name, place in _PLACES.items():
        yield Saying(name, f"puts {{value}} of its attention on {place} {_EVEN}", "heads", where={"quantity": name},
                     bar=LEAST)  # fmt: skip
    for name, place in _RESTS.items():
        asked = {"quantity": name}
        yield Saying(name, f"rests on {place}, with {{value}} of its attention {_EVEN}", "heads", where=asked,
                     part="rests", beyond=HALF)  # fmt: skip
        yield Saying(name, f"puts {{value}} of its attention on {place} {_EVEN}", "heads", where=asked, part="rests",
                     bar=LEAST, upto=HALF)  # fmt: skip


SAYINGS = (
    *_where(),
    Saying("near", f"keeps {{value}} of its attention within 8 pieces {_EVEN}", "heads", where={"quantity": "within"},
           bar=0.3, unless=tuple(_PLACES)),
    Saying("broad", "spreads its attention almost evenly: an entropy of {value} nats, of {chance} if it were the "
           "same to all", "heads", where={"quantity": "entropy"}, times=EVEN, best="chance"),
    Saying("syntax", f"gives {{value}} of a word's attention to the word that governs it {_EVEN}", "heads",
           where={"quantity": "to_governor"}, bar=0.2),
    Saying("syntax", f"gives {{value}} of a word's attention to words that depend on it {_EVEN}", "heads",
           where={"quantity": "to_dependent"}, bar=0.2),
    Saying("same_piece", f"puts, where a piece occurred before, {{value}} on it {_EVEN}", "heads",
           where={"quantity": "same_piece"}, bar=LEAST),
    Saying("induction", f"puts, where a piece occurred before, {{value}} on what followed it {_EVEN}", "heads",
           where={"quantity": "after_same_piece"}, bar=LEAST),
    Saying("induction", "puts, where two pieces in a row occurred before, {value} on what followed them "
           f"{_EVEN}", "heads", where={"quantity": "after_same_pair"}, bar=LEAST),
    Saying("word_class", "gives {pos} {value} of what goes from word to word (their share: {chance})", "pos",
           where={"direction": "to"}, words={"pos": _TAGS.get}, bar=0.25, most=1),
    Saying("dormant", "gives its weight to short vectors: weight and length have a rank correlation of {value}",
           "spearman", part="writes", below=True, level=0.0, best=-1.0, bar=0.3),
)  # fmt: skip
