"""Results of the first format, in which tables and columns had other names, are read under present names."""

from __future__ import annotations

from pathlib import Path

import pytest

from attlas.store import Manifest, Result
from attlas.studies import Study, studies

RENAMED = [
    study
    for study in studies().values()
    if study.page
    and any(schema.was != schema.table or any(c.was for c in schema.columns) for schema in study.load_page().schemas)
]


@pytest.mark.parametrize("study", RENAMED, ids=lambda study: study.name)
def test_old_names_become_present_ones(study: Study, tmp_path: Path) -> None:
    schemas = study.load_page().schemas
    old = {
        schema.was: {column.was or column.name: [next(iter(column.were), 0)] for column in schema.columns}
        for schema in schemas
    }
    folder = Result(Manifest(study.name, schema=1), old).save(tmp_path / "old")
    opened = Result.open(folder)
    for schema in schemas:
        row = opened.rows(schema.table)[0]
        assert list(row) == list(schema.names)
        for column in schema.columns:
            if column.were:
                assert row[column.name] == next(iter(column.were.values()))


def test_there_are_some() -> None:
    assert {study.name for study in RENAMED} >= {"ablate", "relations", "coref"}
