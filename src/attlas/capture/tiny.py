"""A class is proven on a tiny twin of its own configuration.

What a real model does with texts longer than its window, or with more keys than its sparse attention chooses, no
text of a few words can show. So the doctor makes a tiny model of the same class and configuration, with windows and
choices of a few pieces and weights drawn wide (:mod:`attlas.models.shrinking`), and a second one with the same
weights that is never ours. The first is read before it is adopted and afterwards, and all questions of
:mod:`attlas.capture.asking` are put to it, with the second to say what is true.

A twin that cannot be built, or that the library itself cannot read with, is a question that could not be asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from attlas.capture.asking import QUESTIONS, answers, compared, said
from attlas.capture.check import TARGETS, TEXTS, Finding, at_real_pieces, output_of
from attlas.capture.look import as_passage
from attlas.capture.patient import Patient
from attlas.models import Pieces
from attlas.models.shrinking import tiny, with_attention, words

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

OF_TWIN = "tiny twin: "  # how its questions begin
BUILT = "a tiny twin of its class can be asked"
ADOPTED = "adopting it changes nothing"
QUESTIONS_OF_TWIN = 1 + len(QUESTIONS)


class Twins(NamedTuple):
    """Two tiny models with the same weights, one to be adopted and one that stays the library's; a tokenizer, and
    what both gave before anything of ours was near them.

    >>> Twins._fields[:2]
    ('model', 'eager')
    """

    model: Any
    eager: Any
    tokenizer: Any
    plain: Tensor
    known: Tensor


def twins_of(subject: Subject) -> Twins:
    """Tiny twins of a model's class and configuration, which have read the doctor's texts.

    >>> from attlas.capture import load
    >>> twins = twins_of(load())
    >>> type(twins.model).__name__, bool(torch.allclose(twins.plain, twins.known, atol=1e-4))
    ('BertModel', True)
    """
    model = tiny(subject.model)
    eager = with_attention(model, "eager")
    tokenizer = words((*TEXTS, *TARGETS), subject.pieces.tokenizer.model_input_names)
    pieces = Pieces("a tiny twin", tokenizer, model, subject.pieces.own)
    texts: Any = zip(TEXTS, TARGETS, strict=True) if pieces.translating else TEXTS
    batch = pieces.batch(pieces.encode_all([as_passage(text) for text in texts]))
    options = {"use_cache": False} if batch.target is not None else {}
    with torch.no_grad():
        plain, known = (at_real_pieces(output_of(each(**batch.inputs, **options)), batch) for each in (model, eager))
    return Twins(model, eager, tokenizer, plain, known)


def examine_twin(subject: Subject, *, advance: Callable[[str], object] = lambda question: None) -> list[Finding]:
    """All questions, put to a tiny twin of a model's class.

    >>> from attlas.capture import load
    >>> findings = examine_twin(load())
    >>> findings[0].name, {finding.passed for finding in findings} == {True, None}
    ('tiny twin: adopting it changes nothing', True)
    """
    try:
        twins = twins_of(subject)
    except Exception as error:
        for _ in range(QUESTIONS_OF_TWIN):
            advance(BUILT)
        return [Finding(BUILT, None, note=f"it cannot be built ({said(error)})")]
    try:
        twin = type(subject).of(twins.model, twins.tokenizer, f"a tiny {type(twins.model).__name__}")
        patient = Patient(twin, twins.eager)
        before = twins.known if twin.layout.private else twins.plain
        findings = [compared(ADOPTED, patient, patient.plain, before)]
        advance(ADOPTED)
        findings += answers(patient, advance=advance)
    except Exception as error:
        findings = [Finding(ADOPTED, False, note=said(error))]
    return [Finding(f"{OF_TWIN}{told.name}", told.passed, told.error, told.note) for told in findings]
