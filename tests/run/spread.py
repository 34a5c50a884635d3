"""Small studies on a tiny model, as they are spread over workers and parts, and how their tables are compared.

:func:`in_parts` walks over all studies: one that takes ``--part`` and has no case of its own in :data:`STUDIES` is
called like any other, with a corpus that has every annotation, so that a new study is covered by itself.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.errors import AttlasError
from attlas.run.parameters import role_of
from attlas.store import Result
from attlas.studies import studies
from attlas.studies.ablate.call import ablate
from attlas.studies.align.call import align
from attlas.studies.clusters.call import clusters
from attlas.studies.coref.call import coref
from attlas.studies.importance.call import importance
from attlas.studies.noop.call import noop
from attlas.studies.norms.call import norms
from attlas.studies.relations.call import relations
from attlas.studies.roles.call import roles
from attlas.studies.roles.through import roles_through
from attlas.studies.survey.call import survey
from attlas.text import Document, Mention


def documents(count: int = 24) -> list[Document]:
    """Short texts of some lengths, each with governors and relations, mentions, parts of speech, a pair, a label."""
    texts = []
    for number in range(count):
        words = twins.SENTENCES[number % 4].split()[: 4 + number % 7]
        governors = [-1, *range(len(words) - 1)]
        labels = ["root", *(("det", "nsubj", "obj")[place % 3] for place in range(len(words) - 1))]
        mentions = (Mention(0, 2, "a", 1), Mention(2, 3, "a" if number % 2 else "b"), Mention(3, 4, "a"))
        texts.append(
            Document.from_words(
                words, name=f"text {number}", governors=governors, relations=labels, label=str(number % 5),
                upos=[("DET", "NOUN", "VERB")[place % 3] for place in range(len(words))], mentions=mentions,
                pair=Document.from_text(twins.SENTENCES[(number + 1) % 4]),
            )
        )  # fmt: skip
    return texts


def bitext(count: int = 24) -> list[Document]:
    """The same texts, each with a translation: its words the other way round."""
    return [
        replace(text, pair=None, translation=Document.from_words(text.text.split()[::-1]))
        for text in documents(count)
    ]


STUDIES: dict[str, Callable[..., Any]] = {
    "survey": lambda subject, **how: survey(subject, documents(), budget=64, **how),
    "relations": lambda subject, **how: relations(subject, documents(), twins=1, budget=64, **how),
    "coref": lambda subject, **how: coref(subject, documents(), twins=1, budget=64, **how),
    "ablate": lambda subject, **how: ablate(subject, documents(), "similarity", budget=96, **how),
    "ablate with means": lambda subject, **how: ablate(
        subject, documents(), "similarity", budget=96, means=True, **how
    ),
    "norms": lambda subject, **how: norms(subject, documents(), twins=1, budget=64, **how),
    "clusters": lambda subject, **how: clusters(subject, documents(), twins=1, budget=64, **how),
    "importance": lambda subject, **how: importance(subject, documents(), "similarity", budget=96, **how),
    "align": lambda subject, **how: align(subject, bitext(), aligners=(), twins=1, budget=64, **how),
    "noop": lambda subject, **how: noop(subject, documents(), "masked-lm", twins=1, budget=96, **how),
    "roles": lambda subject, **how: roles(
        subject, documents(), definitions=ROLES, texts=12, max_pieces=24, twins=1, budget=150, **how
    ),
    "roles-through": lambda subject, **how: roles_through(
        checkpoints(subject), definitions=ROLES, corpus=documents(), texts=12, max_pieces=24, budget=150, **how
    ),
}
CLASSES = {
    "noop": ("BertForMaskedLM", "bert"), "align": ("MarianMTModel", "marian"),
    "roles": ("GPT2LMHeadModel", "gpt2"), "roles-through": ("GPT2LMHeadModel", "gpt2"),
}  # fmt: skip
ROLES = "prefix_matching,copying,previous_text,first_key"


@lru_cache
def subject_for(study: str) -> Subject:
    """A tiny model; all studies of one test share it, but those that need a head for masked pieces, or a
    translator."""
    if study not in CLASSES:
        return Subject.of(twins.model("bert"), twins.tokenizer(False), "twin")
    name, family = CLASSES[study]
    torch.manual_seed(0)
    model = getattr(transformers, name)(twins.config(family))
    twins.spread(model)
    return Subject.of(model.eval(), twins.tokenizer(False), family)


@lru_cache
def _trained() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def checkpoints(subject: Subject) -> list[str]:
    """The folders of two checkpoints: a model, and its untrained twin as the one before."""
    folders = [Path(_trained().name) / f"step-{step}" for step in (1, 2)]
    for folder, model in zip(folders, (subject.twin(1), subject), strict=True):
        if not folder.exists():
            model.save(folder)
    return [str(folder) for folder in folders]


def takes_parts(call: Callable[..., Any], out: Path) -> bool:
    """Whether a study goes in parts: it has the parameter, and does not refuse it. Nothing is done for it, for the
    corpus does not exist."""
    parameters = inspect.signature(call).parameters
    if not {"part", "engine"} <= parameters.keys():  # one without the other is a part of a corpus
        return False
    given = {
        name: "no such file"
        for name, parameter in parameters.items()
        if role_of(parameter) == "corpus" or parameter.default is inspect.Parameter.empty
    }
    try:
        call(**given, part="1/2", out=out)
    except AttlasError as error:
        return "cannot be done in parts" not in str(error)
    raise AssertionError("a study has been done on a corpus that does not exist")


def cases_in_parts(out: Path) -> dict[str, Callable[..., Any]]:
    """A case, or several, for every study that takes ``--part``; one without a case of its own is called plainly."""
    cases = dict(STUDIES)
    for name, study in studies().items():
        call = study.load_call()
        if not takes_parts(call, out):
            cases = {case: made for case, made in cases.items() if case.split()[0] != name}
        elif name not in cases:
            more = {"twins": 1} if "twins" in inspect.signature(call).parameters else {}
            cases[name] = partial(_plainly, call, **more)
    return cases


def _plainly(call: Callable[..., Any], subject: Subject, **how: Any) -> Any:
    return call(subject, documents(), budget=64, **how)


def same_tables(one: Result, other: Result, apart: float) -> None:
    """Two results have the same tables: to the bit, or with numbers so far apart at most."""
    assert list(one.tables) == list(other.tables)
    for name, table in one.tables.items():
        assert table.column_names == other.tables[name].column_names
        for column in table.column_names:
            mine, theirs = table.column(column).to_pylist(), other.tables[name].column(column).to_pylist()
            if apart and pa.types.is_floating(table.column(column).type):
                values = np.array(mine, float), np.array(theirs, float)
                np.testing.assert_allclose(*values, rtol=apart, atol=apart, err_msg=f"{name}, {column}")
            else:
                assert repr(mine) == repr(theirs), f"{name}, {column}"  # which tells every bit, and NaN too
