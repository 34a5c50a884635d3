"""Every study that declares figures of heads keeps the laws of evidence, and the laws notice what breaks them."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from kept_results import cases, kept, roles_result, study_of

from attlas.evidence.gathering import Told
from attlas.evidence.laws import check_atlas, check_evidence
from attlas.evidence.saying import Saying
from attlas.pages.page import Page
from attlas.store import Manifest, Result
from attlas.store.schema import PLACE, Column, Schema
from attlas.studies import studies
from attlas.studies.joining import told_of

VALUE = Column("value", "share", "share", ends=("low", "high"), chance="chance", head=True)
KINDED = Schema("heads", "", *PLACE, Column("kind", "kind"), VALUE, keys=("kind",))


def result(schema: Schema, **columns: object) -> Result:
    count = len(next(iter(columns.values())))  # type: ignore[arg-type]
    place = {"stream": ["encoder"] * count, "layer": [0] * count, "head": list(range(count))}
    model = {"name": "m", "streams": {"encoder": {"layers": 1, "heads": count}}}
    return Result(Manifest("mine", model=model), {schema.table: {**place, **columns}})  # type: ignore[dict-item]


def told(*schemas: Schema, sayings: tuple[Saying, ...] = ()) -> Told:
    return Told(Page("mine", "", lambda tables: None, schemas=schemas), sayings)


@pytest.mark.parametrize("case", cases())
def test_a_study_keeps_the_laws(case: str) -> None:
    check_evidence(told_of(study_of(case)), kept(case))


def test_roles_keep_the_laws() -> None:
    check_evidence(told_of("roles"), roles_result())


def test_every_study_with_figures_is_asked() -> None:
    asked = {study_of(case) for case in cases()} | {"roles"}
    with_figures = {
        name
        for name, study in studies().items()
        if study.page and any(schema.figures or schema.pair for schema in study.load_page().schemas)
    }
    assert with_figures <= asked
    assert {"survey", "relations", "coref", "norms", "noop", "clusters", "importance", "ablate"} <= with_figures
    assert all(study.load_sayings() for name, study in studies().items() if study.sayings)


def test_rows_that_are_not_told_apart_are_noticed() -> None:
    flat = Schema("heads", "", *PLACE, Column("kind", "kind"), VALUE, keys=())
    columns = {"kind": ["a", "b"], "value": [0.5, 0.6], "low": [0.4] * 2, "high": [0.7] * 2, "chance": [0.1] * 2}
    one = Result(
        Manifest("mine"), {"heads": {"stream": ["encoder"] * 2, "layer": [0, 0], "head": [1, 1], **columns}}
    )  # fmt: skip
    with pytest.raises(AssertionError, match="two rows of"):
        check_evidence(told(flat), one)
    check_evidence(told(KINDED), one)


def test_two_quantities_of_one_name_are_noticed() -> None:
    double = Schema("heads", "", *PLACE, Column("kind", "kind"), VALUE, Column("share", "s", "share", head=True),
                    keys=("kind",))  # fmt: skip
    clash = Schema("more", "", *PLACE, Column("kind", "kind"), VALUE, keys=("kind",))
    own = result(double, kind=["share"], value=[0.5], low=[0.4], high=[0.6], chance=[0.1], share=[0.2])
    check_evidence(told(double), own)
    tables = {**own.tables, "more": own.table}
    check_evidence(told(double, clash), Result(own.manifest, tables))  # its name stands before
    twice = Schema("heads", "", *PLACE, Column("kind", "kind"), VALUE,
                   Column("share", "s", "share", head=True, quantity="value"),
                   Column("other", "o", "share", head=True, quantity="value"), keys=("kind",))  # fmt: skip
    own = result(twice, kind=["a"], value=[0.5], low=[0.4], high=[0.6], chance=[0.1], share=[0.2], other=[0.1])
    with pytest.raises(AssertionError, match=r"two quantities are called 'a\.value'"):
        check_evidence(told(twice), own)


def test_a_figure_that_gives_nothing_is_noticed() -> None:
    lost = Schema("heads", "", *PLACE, Column("value", "v", "share", head=True), Column("more", "m", head=True),
                  keys=())  # fmt: skip
    with pytest.raises(AssertionError, match="has not the figure"):
        check_evidence(told(lost), result(lost, value=[0.5]))


@pytest.mark.parametrize("column", ["low", "value", "chance"])
def test_sentences_that_are_not_true_are_noticed(column: str) -> None:
    from attlas.evidence.example import example

    tables = dict(example().tables)
    check_atlas(tables)
    heads = tables["heads"]
    values = [0.99 if column == "chance" else 0.0] * heads.num_rows
    tables["heads"] = heads.set_column(heads.column_names.index(column), column, pa.array(values))
    with pytest.raises(AssertionError, match="this is not so"):
        check_atlas(tables)


def test_an_order_that_is_not_that_of_evidence_is_noticed() -> None:
    from attlas.evidence.example import example

    tables = dict(example().tables)
    portraits = tables["portraits"]
    strength = pa.array([value["order"] / 10 for value in portraits.to_pylist()])
    tables["portraits"] = portraits.set_column(portraits.column_names.index("strength"), "strength", strength)
    with pytest.raises(AssertionError, match="the strongest sentence is not the first"):
        check_atlas(tables)


def test_claims_stand_in_every_row_of_every_told_table() -> None:
    from attlas.evidence.example import example

    for name in ("portraits", "disagreements", "stands_out"):
        for row in example().tables[name].to_pylist():
            assert json.loads(row["claims"]), row["sentence"]
