"""What heads may be found to do: records, from which names, colours of maps and words to search by follow.

A study does not invent what a head does: its sayings (:mod:`attlas.evidence.saying`) name one of these roles, so that
two studies that find the same thing call it the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

RESTING = "rest"


@dataclass(frozen=True)
class Role:
    """Something that heads do.

    ``does`` reads on from a head's name. Roles of one ``family`` go together, and those that say so (``goes_with``).
    A role that shows only ``sometimes`` (where a piece has occurred before, at a mention, within a phrase)
    contradicts nothing: it is a further part of the sentence. ``terms`` are further words that people search by.

    >>> ROLES["induction"].title, ROLES["induction"].agrees(ROLES["first"]), ROLES["syntax"].agrees(ROLES["cls"])
    ('induction', True, False)
    """

    key: str
    title: str
    does: str
    meaning: str
    terms: str = ""
    family: str = ""
    sometimes: bool = False
    goes_with: tuple[str, ...] = ()

    def agrees(self, other: Role) -> bool:
        """Whether a head can be both without a contradiction."""
        mine, theirs = (role.family or role.key for role in (self, other))
        together = other.key in self.goes_with or self.key in other.goes_with
        return mine == theirs or self.sometimes or other.sometimes or together


_ROLES = (
    Role("previous", "previous piece", "looks at the previous piece", "Its attention goes to the piece before.",
         "before left neighbour preceding"),
    Role("next", "next piece", "looks at the next piece", "Its attention goes to the piece after.",
         "after right neighbour following"),
    Role("self", "the piece itself", "looks at the piece itself", "Its attention stays on the piece that asks.",
         "itself own identity diagonal"),
    Role("near", "nearby", "looks nearby", "Its attention stays within some pieces, without a fixed place.",
         "local close neighbourhood distance", goes_with=("previous", "next", "self", "syntax")),
    Role("syntax", "syntax", "follows syntax", "It finds the words that a word depends on, or that depend on it.",
         "governor dependent dependency relation parse tree grammar subject object verb noun syntactic"),
    Role("coreference", "coreference", "finds antecedents", "From a mention it finds an earlier one of the same.",
         "mention antecedent pronoun anaphora entity coref", sometimes=True),
    Role("induction", "induction", "does induction", "Where something occurred before, it looks at what followed.",
         "copy repeat followed prefix matching in-context", sometimes=True),
    Role("same_piece", "same piece", "looks at the same piece", "It looks at earlier occurrences of the piece.",
         "duplicate token repeated earlier occurrence", sometimes=True),
    Role("retrieval", "retrieval", "retrieves", "It finds, far away, what answers a question.",
         "needle haystack answer long context", sometimes=True),
    Role("far", "far away", "looks far away", "It looks at what is far away in long texts.", "distant long context"),
    Role("alignment", "alignment", "aligns words", "It finds the words that are translations of each other.",
         "translation translate bitext source target cross", sometimes=True),
    Role("keywords", "key words", "knows key words", "Words inside key phrases receive more than others.",
         "keyword keyphrase phrase topic important words", sometimes=True),
    Role("word_class", "parts of speech", "prefers a part of speech", "It looks at words of some part of speech.",
         "part of speech pos tag class noun verb adjective determiner", sometimes=True),
    Role("instruction", "instruction", "looks at the instruction", "It looks at what it is told to do.",
         "prompt system tracker injection"),
    Role("copying", "copying", "copies", "What it attends to, it writes.", "copy output ov circuit writes",
         "", True),
    Role("successor", "successor", "writes the next of an order", "From a day, month or number it writes the next.",
         "ordinal order number day month letter increment", "", True),
    Role("mapping", "mapping of words", "maps words to words", "From a word it writes a related one.",
         "plural past capital relation maps", "", True),
    Role("first", "first piece", "rests on the first piece", "Much of its attention rests on the first piece.",
         "beginning bos start sink", RESTING),
    Role("cls", "[CLS]", "rests on [CLS]", "Much of its attention rests on the piece that opens a text.",
         "cls special bos start", RESTING),
    Role("sep", "[SEP]", "rests on [SEP]", "Much of its attention rests on the piece that closes a text.",
         "sep special eos end separator", RESTING),
    Role("punctuation", "periods and commas", "rests on periods and commas",
         "Much of its attention rests on periods and commas.", "punctuation period comma full stop", RESTING),
    Role("sink", "sink", "has a sink", "In many texts one piece takes much of its attention and has little to give.",
         "attention sink parked", RESTING),
    Role("dormant", "does little", "does little", "What it adds is small, or of no use.",
         "nothing dormant idle no-op noop asleep inactive null does nothing", RESTING),
    Role("broad", "spreads evenly", "spreads evenly", "Its attention is almost the same to all.",
         "uniform average even entropy bag"),
    Role("needed", "needed", "is needed", "Without it a task goes worse.",
         "important matters matter importance cut ablation prune loss task"),
    Role("harmful", "in the way", "is in the way", "Without it a task goes better.", "harmful worse cut ablation"),
    Role("alike", "like another", "attends like another", "Another head attends almost as it does.",
         "similar redundant cluster same"),
    Role("other", "other", "does something else", "What a study of another package found, or nothing at all.",
         "unknown mixed mixes"),
)  # fmt: skip
ROLES: dict[str, Role] = {role.key: role for role in _ROLES}


def role_rows() -> Iterator[dict[str, Any]]:
    """The roles as rows of the table ``roles``.

    >>> next(role_rows())["role"]
    'previous'
    """
    for order, role in enumerate(_ROLES):
        yield {"role": role.key, "title": role.title, "meaning": role.meaning, "terms": role.terms, "order": order}
