"""Nothing within a layer waits for the device: while the model runs, studies ask for no number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import twins
from attlas.capture import Subject
from attlas.measures.rows import matrix_statistics
from attlas.models import Example
from attlas.studies.clusters.passes import Clusters
from attlas.studies.coref.mentions import question_of
from attlas.studies.coref.passes import Coref, Window
from attlas.studies.norms.passes import Norms
from attlas.studies.relations.passes import Choice, Relations
from attlas.studies.shared import watching
from attlas.studies.survey.passes import Survey
from attlas.text import ROOT, Document, Mention, Passage

WAITING = {"_local_scalar_dense", "nonzero", "is_nonzero", "equal", "_unique2", "masked_select", "tolist"}
TREE = Document.from_words(
    ["Nobody", "noticed", "her", "apples", "."],
    upos=["PRON", "VERB", "PRON", "NOUN", "PUNCT"],
    governors=[1, ROOT, 3, 1, 1],
    relations=["nsubj", "root", "nmod", "obj", "punct"],
    mentions=(Mention(0, 1, "a"), Mention(2, 3, "a"), Mention(3, 4, "b")),
)


class Waits(TorchDispatchMode):
    """Counts the operations that have to wait for a device, and refuses to bring anything over."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()
        self.all = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        self.all += 1
        self.seen[name] += name in WAITING
        if name == "index":  # by places, not by what is true
            self.seen["index by truth"] += any(i is not None and i.dtype == torch.bool for i in args[1])
        return func(*args, **(kwargs or {}))


def examples_of(subject: Subject) -> Sequence[Example]:
    return subject.pieces.encode_all([Passage(TREE), Passage(TREE.slice(0, 4))])


def relations_of(subject: Subject) -> Relations:
    study = Relations(subject, ("all", "nsubj", "obj"))
    bundle = study.empty()
    study.update(bundle, examples_of(subject))
    study.choice = study.choose(bundle)
    assert isinstance(study.choice, Choice)
    return study


def waits_of(study: Any, batch: Sequence[Example], monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], int]:
    """What a study asks for while the model runs over a batch; the model itself is not looked at."""
    mode = Waits()
    ready = study.prepare(batch)
    passes = ready.passes.values() if isinstance(ready, watching.Ready) else [ready[1]]
    for pass_ in passes:
        for name in ("take", "land"):
            monkeypatch.setattr(pass_, name, partial(_within, mode, getattr(pass_, name)))
    study.launch(ready)
    return +mode.seen, mode.all


def _within(mode: Waits, work: Any, *given: Any) -> Any:
    with mode:
        return work(*given)


@pytest.mark.parametrize("family", ["bert", "llama"])
@pytest.mark.parametrize("name", ["survey", "norms", "relations", "clusters"])
def test_no_study_asks_for_a_number_within_a_pass(name: str, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)
    made = {"survey": lambda: Survey(subject, tags=("NOUN", "VERB"), edges=True, ranks={"her": 1}),
            "norms": lambda: Norms(subject), "relations": lambda: relations_of(subject),
            "clusters": lambda: Clusters(subject)}  # fmt: skip
    study = made[name]()
    if name == "survey":
        study.statistics = partial(matrix_statistics)  # the tiles of a CPU look at numbers, which is no matter there
    if name == "clusters":  # so do distances on a CPU, where no kernel is
        kernel = "attlas.studies.clusters.passes.divergences_of_texts"
        monkeypatch.setattr(kernel, lambda rows, queries, keys: _nothing(rows, queries))
    if name == "norms":
        monkeypatch.setattr("attlas.studies.norms.passes.statistics", matrix_statistics)
    seen, asked = waits_of(study, examples_of(subject), monkeypatch)
    assert asked
    assert not seen


def _nothing(rows: torch.Tensor, queries: Sequence[int]) -> Any:
    from attlas.measures.divergence import Distances

    heads = len(rows)
    return Distances(torch.zeros(len(queries), heads * (heads - 1) // 2), torch.zeros(len(queries), heads))


def test_coref_asks_for_no_number_within_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")
    windows = [
        Window(one.passage, one.source, unit=number, question=question_of(one.passage.first), number=number)
        for number, one in enumerate(examples_of(subject))
    ]
    seen, asked = waits_of(Coref(subject), windows, monkeypatch)
    assert asked
    assert not seen
