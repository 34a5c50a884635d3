"""Which heads weigh a text: chosen by a study, shipped for a model that one was made of, or taken by rule.

The rule, for a model that nothing is known of: all heads of the last layer, by norms where the model lets them be
computed, else by weights. It was found on the training part of Inspec: for all-MiniLM-L6-v2 no choice of heads does
much better, for e5-small the best choice is two points of F1 ahead of it; see ``docs/results/keywords_study.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attlas.capture import Subject
from attlas.capture.measuring import require_measure
from attlas.errors import CapabilityError, PlanError
from attlas.ids import HeadId, Stream
from attlas.measures.received import check_over
from attlas.run.parameters import names_of
from attlas.store import Result
from attlas.store.damage import told_as_damage
from attlas.studies.shared.keywords.phrases import LONGEST

# Layers and heads, by the fingerprint of the weights; as ``attlas keywords study`` chose them on the training part of
# Inspec (see docs/results/keywords_study.md).
SHIPPED: dict[str, tuple[tuple[int, int], ...]] = {
    "babac23c7f6e44f3": (  # all-MiniLM-L6-v2
        (5, 10), (5, 7), (5, 8), (5, 3), (5, 4), (5, 2), (5, 11), (5, 5), (5, 6), (4, 3), (5, 1), (4, 1),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """Heads, by which measure they are read (weight or norm), and whether by the mean or the max over queries; and
    the most words of a phrase, where a study has seen what key phrases look like.

    >>> Choice((HeadId("encoder", 5, 9),), "norm", "mean", "by hand").measure
    'norm'
    """

    heads: tuple[HeadId, ...]
    measure: str
    over: str
    why: str
    longest: int = LONGEST

    @property
    def options(self) -> dict[str, Any]:
        """What the plan of a run says of it."""
        heads = [[head.layer, head.head] for head in self.heads]
        return {"heads": heads, "measure": self.measure, "over": self.over, "why": self.why}

    @property
    def layers(self) -> dict[int, list[int]]:
        """The heads of each layer."""
        found: dict[int, list[int]] = {}
        for head in self.heads:
            found.setdefault(head.layer, []).append(head.head)
        return found


def choose_heads(
    subject: Subject,
    study: Path | str | Result | None = None,
    heads: Sequence[str] | str | None = None,
    measure: str | None = None,
    over: str = "mean",
) -> Choice:
    """The heads that weigh a text for a model: those that are named by their labels, those that a study chose (a
    result or its folder), those that are shipped for this model, or those of the rule, whichever comes first.
    ``measure`` and ``over`` hold for named heads and for the rule.

    >>> from attlas.capture import load
    >>> choice = choose_heads(load())
    >>> choice.measure, choice.over, choice.why
    ('norm', 'mean', 'shipped with attlas for this model')
    >>> choose_heads(load(), heads="6-11", measure="weight").why
    'named by hand'
    """
    if study is not None and (heads is not None or measure is not None):
        raise PlanError("the study says which heads are read and how; leave out --heads and --measure, or the study")
    if measure is not None:
        require_measure(subject, measure)
    named = None if heads is None else _named(subject, heads)
    check_over(over)
    usual = "norm" if subject.has_norms else "weight"
    if named is not None:
        return Choice(named, measure or usual, over, "named by hand")
    if study is not None:
        if isinstance(study, Result):
            return from_study(study, subject)
        with told_as_damage(study):
            return from_study(Result.open(study), subject)
    if measure is None and subject.fingerprint in SHIPPED:
        shipped = tuple(HeadId(subject.pieces.own, *place) for place in SHIPPED[subject.fingerprint])
        return Choice(shipped, "norm", "mean", "shipped with attlas for this model")
    return last_layer(subject, measure or usual, over)


def _named(subject: Subject, heads: Sequence[str] | str) -> tuple[HeadId, ...]:
    """Heads by their labels, each once; refused where one does not read the text."""
    labels = names_of(heads)
    if not labels:
        raise PlanError("no head was named; give at least one, such as 6-11")
    for label in labels:
        if not isinstance(label, str):
            raise PlanError(f"{label!r} does not name a head; write layer and head from 1 on, such as '6-11'")
    named = tuple(dict.fromkeys(subject.named(labels)))
    for head in named:
        if head.stream is not subject.pieces.own:
            raise PlanError(f"{head} does not read the text; name heads of the {subject.pieces.own}")
    return named


def last_layer(subject: Subject, measure: str, over: str = "mean") -> Choice:
    """All heads of the last layer."""
    stream = subject.pieces.own
    site = [site for site in subject.sites if site.stream is stream][-1]
    every = tuple(HeadId(stream, site.layer, head) for head in range(subject.heads(site)))
    return Choice(every, measure, over, "by rule: all heads of the last layer")


def from_study(study: Result, subject: Subject) -> Choice:
    """The heads that ``attlas keywords study`` chose, after a look at whether it was made of this model."""
    manifest = study.manifest
    if manifest.study != "keywords-study" or "choice" not in study.tables:
        raise CapabilityError(
            f"these are results of attlas {manifest.study.replace('-', ' ')}; heads are chosen by attlas keywords "
            "study"
        )
    if manifest.model.get("fingerprint") != subject.fingerprint:
        raise CapabilityError(
            f"these heads were chosen for {manifest.model.get('name')}, whose weights are not those of "
            f"{subject.name}; give a study of this model"
        )
    rows = study.tables["choice"].to_pylist()
    heads = tuple(HeadId(Stream(row["stream"]), row["layer"], row["head"]) for row in rows)
    longest = rows[0].get("longest") or LONGEST
    return Choice(heads, rows[0]["measure"], rows[0]["over"], "chosen by a study", longest)
