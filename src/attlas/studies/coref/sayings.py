"""What coreference says of a head: whose antecedents it finds, against the best simple rule."""

from __future__ import annotations

from attlas.evidence.saying import SURE, Saying

_KINDS = {"all": "a mention", "pronoun": "a pronoun", "proper": "a name", "nominal": "a noun phrase"}
_SETS = {"mentions": "other mention", "preceding": "earlier mention"}
_RIGHT = "{value} right (the best simple rule: {chance})"

SAYINGS = tuple(
    Saying("coreference", f"finds the antecedent of {{kind}}, as the {{candidates}} that {looks} most: {_RIGHT}",
           "coref_heads", where={"direction": way}, words={"kind": _KINDS.get, "candidates": _SETS.get}, p_below=SURE,
           bar=0.05)
    for way, looks in (("to", "it looks at"), ("from", "looks at it"))
)  # fmt: skip
