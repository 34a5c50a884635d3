"""What the published definitions of roles say of a head, and what closing the heads of a role does."""

from __future__ import annotations

from collections.abc import Iterator

from attlas.evidence.saying import SURE, Saying
from attlas.studies.roles.behaviour import BEHAVIOURS

_EVEN = "(an even spread: {chance})"
LEVEL = 0.05  # of what closing does, whose p is a rank among some hundred sets
_PAIRS = "of the pairs (by chance {chance})"


def _said(definition: str, role: str, sentence: str, *, bar: float = 0.08, part: str = "does") -> Saying:
    """A figure of a definition that is tested against its chance level."""
    return Saying(role, sentence, "heads", where={"definition": definition}, p_below=SURE, bar=bar, part=part)


def _below(definition: str, sentence: str, *only_with: str) -> Saying:
    """A figure that is small where the definition is met."""
    return Saying("dormant", sentence, "heads", where={"definition": definition}, p_below=SURE, below=True, best=0.0,
                  bar=0.3, part="writes", only_with=only_with)  # fmt: skip


def _maps() -> Iterator[Saying]:
    for key, what in (
        ("plural", "a noun to its plural"), ("past", "a verb to its past form"),
        ("capital", "a country to its capital"), ("capitalised", "a word to its capital letter"),
    ):  # fmt: skip
        yield _said(f"maps_{key}", "mapping", f"maps {what}: {{value}} {_PAIRS}", part="writes")
        yield _said(f"maps_{key}_suppressed", "mapping", f"takes away what would map {what}: {{value}} {_PAIRS}",
                    part="writes")  # fmt: skip


def _closed() -> Iterator[Saying]:
    """What closing all heads of a role does; of roles that should not matter, whether they do not."""
    for behaviour in BEHAVIOURS:
        with_others = f"closed together with the other heads chosen for {behaviour.title}"
        tells = f"{behaviour.measured}, changes by {{value}} (without as many others: {{chance}})"
        yield Saying(
            "needed" if behaviour.rises else "dormant", f"matters little, {with_others}: {tells}"
            if not behaviour.rises else f"is needed, {with_others}: {tells}",
            "effects", "change", {"role": behaviour.key}, part="without", p_below=LEVEL, below=not behaviour.rises,
            best=None if behaviour.rises else 0.0, beyond=0.0 if behaviour.rises else None,
        )  # fmt: skip


SAYINGS = (
    _said("prefix_matching", "induction", "puts, in random pieces said twice, {value} on what followed a piece the "
          f"first time {_EVEN}"),
    _said("induction_text", "induction", "puts, where a piece of text occurred before, {value} on what followed it "
          f"{_EVEN}"),
    _said("duplicate", "same_piece", "puts, in random pieces said twice, {value} on the same piece before "
          f"{_EVEN}"),
    _said("duplicate_text", "same_piece", "puts, where a piece of text occurred before, {value} on it "
          f"{_EVEN}"),
    _said("previous_random", "previous", f"puts, in random pieces, {{value}} on the previous one {_EVEN}"),
    _said("previous_text", "previous", f"puts, in text, {{value}} of its attention on the previous piece {_EVEN}"),
    _said("sink", "sink", "rests on the first piece in {value:percent} of the texts (an even spread: "
          "{chance:percent})", bar=0.3, part="rests"),
    _said("first_key", "first", f"gives the first piece of a text {{value}} of its attention {_EVEN}", bar=0.3,
          part="rests"),
    _said("sink_bare", "sink", "rests on the first piece even where no beginning piece stands there, in "
          "{value:percent} of the texts (an even spread: {chance:percent})", bar=0.3, part="rests"),
    _said("second_sink", "sink", "rests on a piece after the first in {value:percent} of the texts (an even "
          "spread: {chance:percent})", bar=0.3, part="rests"),
    Saying("sink", "puts {value} of its attention on its learned sink, and so on no piece", "heads",
           where={"definition": "learned_sink"}, level=0.0, bar=0.3, part="rests"),
    _below("sink_value", "takes little from the first piece, on which it rests: its value has {value} of the length "
           "of an average one", "first", "sink"),
    _below("second_value", "takes little from a piece after the first on which it rests: its value has {value} of "
           "the length of an average one", "sink"),
    _below("dormant", "adds little: {value} of the length that an average head of its layer adds"),
    _said("copying", "copying", "writes the pieces that it reads: {value}, where 0 is an even spread and 1 is all",
          part="writes"),
    Saying("copying", "copies by its weights: {value}, where 1 is all and 0 is chance", "heads",
           where={"definition": "copying_weights"}, exact=True, bar=0.5, part="writes"),
    _said("successor", "successor", "writes the next of an order, such as of days or numbers: {value} of the time "
          "(by chance {chance})", part="writes"),
    *_maps(),
    _said("retrieval", "retrieval", "copies the answer from far away while the model writes it: {value} of its "
          f"pieces {_EVEN}", bar=0.05),
    _said("retrieval_forced", "retrieval", "attends to the answer far away that is being written: {value} of its "
          f"pieces {_EVEN}", bar=0.05),
    _said("query_focused", "retrieval", "looks from a question at the document that answers it: {value} more than "
          "without the question", bar=0.05),
    _said("distant", "far", "puts, in long texts, {value} of its attention on all but the first 4 and the last 64 "
          f"pieces {_EVEN}"),
    _said("lookback", "far", "looks back at the given text rather than at what was written: {value} (an even spread: "
          "{chance})"),
    _said("instruction", "instruction", "looks at the instruction rather than at the data: {value} (an even spread: "
          "{chance})"),
    *_closed(),
)  # fmt: skip
