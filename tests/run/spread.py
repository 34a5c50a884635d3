"""Small studies on a tiny model, as they are spread over workers and parts, and how their tables are compared."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

import twins
from attlas.capture import Subject
from attlas.store import Result
from attlas.studies.ablate.call import ablate
from attlas.studies.clusters.call import clusters
from attlas.studies.importance.call import importance
from attlas.studies.norms.call import norms
from attlas.studies.relations.call import relations
from attlas.studies.survey.call import survey
from attlas.text import Document


def documents(count: int = 24) -> list[Document]:
    """Short texts of some lengths, with governors and relations, and each with a pair and a label."""
    texts = []
    for number in range(count):
        words = twins.SENTENCES[number % 4].split()[: 4 + number % 7]
        governors = [-1, *range(len(words) - 1)]
        labels = ["root", *(("det", "nsubj", "obj")[place % 3] for place in range(len(words) - 1))]
        texts.append(
            Document.from_words(
                words, name=f"text {number}", governors=governors, relations=labels, label=str(number % 5),
                pair=Document.from_text(twins.SENTENCES[(number + 1) % 4]),
            )
        )  # fmt: skip
    return texts


STUDIES: dict[str, Any] = {
    "survey": lambda subject, **how: survey(subject, documents(), budget=64, **how),
    "relations": lambda subject, **how: relations(subject, documents(), twins=1, budget=64, **how),
    "ablate": lambda subject, **how: ablate(subject, documents(), "similarity", budget=96, **how),
    "norms": lambda subject, **how: norms(subject, documents(), twins=1, budget=64, **how),
    "clusters": lambda subject, **how: clusters(subject, documents(), twins=1, budget=64, **how),
    "importance": lambda subject, **how: importance(subject, documents(), "similarity", budget=96, **how),
}


@lru_cache
def subject_for(study: str) -> Subject:
    """A tiny model; all studies of one test share it."""
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "twin")


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
