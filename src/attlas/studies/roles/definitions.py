"""All definitions, trial by trial: what ``attlas roles`` asks of a model.

A module that holds further ones gives them as a tuple of trials, and stands in :data:`TRIALS`. It imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from attlas.ids import Stream
from attlas.studies.roles.definition import CAUSAL, WITHIN, Definition, Trial
from attlas.studies.roles.long_definitions import LONG_TRIALS

_PLACES = "attlas.studies.roles.places"
_SINKS = "attlas.studies.roles.sinks"
_TEXTS = "attlas.studies.roles.texts"
_READ = "attlas.studies.roles.readout"
_NORMS = f"{_READ}:why_no_norms"
_OVER_ONE = (0.0, inf)
REPEATED = Trial(
    "repeated", "random pieces, said twice", f"{_TEXTS}:repeated",
    (
        Definition(
            "prefix_matching", "prefix matching", "Olsson et al. 2022",
            "Mean weight, over the pieces of the second copy, on what followed their earlier occurrence.",
            f"{_PLACES}:prefix_matching", CAUSAL,
        ),
        Definition(
            "duplicate", "duplicate piece", "Wang et al. 2023",
            "Mean weight, over the pieces of the second copy, on the same piece in the first.",
            f"{_PLACES}:duplicate", WITHIN,
        ),
        Definition(
            "previous_random", "previous piece, random pieces", "Olsson et al. 2022",
            "Mean weight on the piece before, in texts of random pieces.", f"{_PLACES}:previous", WITHIN,
        ),
        Definition(
            "copying", "copying by behaviour", "Olsson et al. 2022",
            "Of what the head writes, read in pieces (through the norms' gains and the unembedding; centred over the "
            "vocabulary, cut at 0), the share on pieces of the text so far, scaled so that an even spread is 0 and "
            "all of it 1; at two queries of each second copy.",
            "attlas.studies.roles.copying:copies", CAUSAL, (-1.0, 1.0), 0.0, check=f"{_READ}:why_no_circuits",
        ),
    ),
)  # fmt: skip
NATURAL = Trial(
    "natural", "texts of the corpus, the beginning piece before them", f"{_TEXTS}:natural",
    (
        Definition(
            "previous_text", "previous piece on text", "Wang et al. 2023",
            "Mean weight on the piece before, in texts of the corpus.", f"{_PLACES}:previous", WITHIN,
        ),
        Definition(
            "next_text", "next piece on text", "Clark et al. 2019",
            "Mean weight on the piece after, in texts of the corpus.", f"{_PLACES}:following",
            frozenset({Stream.ENCODER}),
        ),
        Definition(
            "own_text", "own piece on text", "Clark et al. 2019",
            "Mean weight of a piece on itself, in texts of the corpus.", f"{_PLACES}:own", WITHIN,
        ),
        Definition(
            "duplicate_text", "previous occurrence on text", "attlas",
            "Mean weight on earlier occurrences of the same piece, over the pieces of text that have one.",
            f"{_PLACES}:duplicate", WITHIN,
        ),
        Definition(
            "induction_text", "induction on text", "attlas",
            "Mean weight on what followed earlier occurrences of the same piece, over the pieces that have one.",
            f"{_PLACES}:prefix_matching", CAUSAL,
        ),
        Definition(
            "sink", "sink rate", "Gu et al. 2025",
            "Share of texts of 64 pieces whose first key gets more than 0.3 from an average query that can see it.",
            f"{_SINKS}:rests", WITHIN,
        ),
        Definition(
            "first_key", "mass on the first key", "Xiao et al. 2024",
            "Mean weight of a query on the first key of a text.", f"{_SINKS}:first_share", WITHIN,
        ),
        Definition(
            "second_sink", "secondary sink rate", "attlas, by the bar of Gu et al. 2025",
            "Share of texts in which a key after the first gets more than 0.3 from an average query that can see it; "
            "keys that less than half of the queries can see do not count.",
            f"{_SINKS}:second_sink", WITHIN,
        ),
        Definition(
            "sink_value", "value norm of the first key", "Gu et al. 2025",
            "Length of the first key's value over that of an average other key: sinks have short values.",
            f"{_SINKS}:first_value", WITHIN, _OVER_ONE, 1.0, below=True,
        ),
        Definition(
            "second_value", "value norm of secondary sinks", "attlas",
            "Length of the value of a secondary sink over that of an average key after the first, in texts that have "
            "one.",
            f"{_SINKS}:second_value", WITHIN, _OVER_ONE, 1.0, below=True,
        ),
        Definition(
            "dormant", "dormant by output norm", "Sandoval-Segura et al. 2025",
            "Mean length of what the head gives (its values through W_O, before any norm that follows), over that of "
            "an average head of its layer: dormant heads give little.",
            f"{_SINKS}:written", WITHIN, _OVER_ONE, 1.0, below=True, check=_NORMS,
        ),
        Definition(
            "learned_sink", "learned sink", "gpt-oss, OpenAI 2025",
            "Mean share of a query's weight that goes to the head's learned sink, and so to no key.",
            f"{_SINKS}:learned", WITHIN, (0.0, 1.0), None, check=f"{_READ}:why_no_sinks",
        ),
    ),
)  # fmt: skip
BARE = Trial(
    "bare", "the same texts without a beginning piece", f"{_TEXTS}:natural_without_beginning",
    (
        Definition(
            "sink_bare", "sink rate without a beginning piece", "Gu et al. 2025",
            "The sink rate where texts begin with their own first piece.", f"{_SINKS}:rests", CAUSAL,
        ),
    ),
)  # fmt: skip
GATED = Trial(
    "gated", "texts of the corpus, with the gates that a model has itself", f"{_TEXTS}:natural",
    (
        Definition(
            "own_gate", "the model's own gate", "Qiu et al. 2025 (gated attention)",
            "Mean value of the gate that the model itself puts on what a head gives, over its coordinates and all "
            "pieces: heads of small gates are held back.",
            streams=CAUSAL, within=_OVER_ONE, chance=None, below=True, check=f"{_READ}:why_no_own_gates",
        ),
    ),
    "attlas.studies.roles.own_gates:OwnGateScores",
)  # fmt: skip
ALONE = Trial(
    "alone", "random pieces, said twice, with every head closed in turn", f"{_TEXTS}:repeated_to_close",
    (
        Definition(
            "induction_alone", "induction in context", "after Olsson et al. 2022",
            "Rise of the loss on the second copy of 16 random pieces, in nats a piece, when the head alone is "
            "closed.",
            streams=CAUSAL, within=(-inf, inf), chance=0.0,
            check="attlas.studies.roles.closing:why_no_loss",
        ),
    ),
    "attlas.studies.roles.alone:AloneScores", by_name=True,
)  # fmt: skip
_CIRCUITS = f"{_READ}:why_no_circuits"
_READINGS = "attlas.studies.roles.first_block:why_no_readings"
_WEIGHED = "attlas.studies.roles.weighed:WeightScores"
_ORDINALS = "attlas.studies.roles.ordinals"
_READS = (
    "Heads of the first layer read embeddings, others what the first block's feed-forward part makes of these; norms "
    "count with their gains."
)
WEIGHTS = Trial(
    "weights", "no text: the weights alone", f"{_ORDINALS}:the_weights",
    (
        Definition(
            "copying_weights", "copying by weights", "Elhage et al. 2021",
            "Sum of the real parts of the eigenvalues of W_E W_V W_O W_U over the sum of their sizes: 1 where all "
            "are positive, -1 where all are negative. Norms count with their gains.",
            streams=CAUSAL, within=(-1.0, 1.0), chance=0.0, exact=True, check=_CIRCUITS,
        ),
    ),
    _WEIGHED, "model",
)  # fmt: skip
SUCCESSION = Trial(
    "ordinals", "ordinals of one piece: days, months, numbers in words, letters", f"{_ORDINALS}:ordinals",
    (
        Definition(
            "successor", "successor", "Gould et al. 2024",
            "Share of ordinals whose next one is, among all ordinals, what the head would write most of when it "
            f"attends to them. {_READS}",
            streams=CAUSAL, check=_READINGS,
        ),
    ),
    _WEIGHED, "ordinal",
)  # fmt: skip


def _relation(key: str, title: str, texts: str) -> Trial:
    """A relation of words, written and suppressed."""
    reading = (
        "Share of pairs whose other word is among the ten pieces that the head would {} when it attends to "
        f"the first. {_READS}"
    )
    named = (
        (key, title, "write most of"),
        (f"{key}_suppressed", f"{title}, suppressed", "take most from"),
    )  # fmt: skip
    definitions = tuple(
        Definition(
            f"maps_{name}",
            f"mapping: {called}",
            "Elhelo & Geva 2025 (MAPS)",
            reading.format(does),
            streams=CAUSAL,
            check=_READINGS,
        )
        for name, called, does in named
    )
    return Trial(
        f"pairs_{key}", f"pairs of words of one piece: {title}", f"{_ORDINALS}:{texts}", definitions, _WEIGHED, "pair"
    )


RELATED = (
    _relation("plural", "word to plural", "plurals"),
    _relation("past", "verb to past form", "pasts"),
    _relation("capital", "country to capital", "capitals"),
    _relation("capitalised", "word to its capital letter", "capitalised"),
)
TRIALS: tuple[Trial, ...] = (
    REPEATED, NATURAL, BARE, GATED, WEIGHTS, SUCCESSION, *RELATED, *LONG_TRIALS, ALONE,
)  # fmt: skip
DEFINITIONS: dict[str, Definition] = {
    definition.key: definition for trial in TRIALS for definition in trial.definitions
}


def check_asked(given: str | Sequence[str]) -> None:
    """Refuse what is neither a definition nor a kind of texts.

    >>> check_asked("prefix_matching, natural")
    >>> check_asked("shyness")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: there is no definition and no kind of texts 'shyness'; choose ...
    """
    from attlas.errors import PlanError
    from attlas.run.parameters import names_of

    known = [*(trial.key for trial in TRIALS), *DEFINITIONS]
    for name in names_of(given):
        if name not in known:
            raise PlanError(
                f"there is no definition and no kind of texts {name!r}; choose some of {', '.join(known)}"
            )
