"""Studies are found: every folder has a record, a call, a page or what prints it, a doc page and a test."""

from __future__ import annotations

import inspect
import pkgutil
from pathlib import Path

import pytest

import attlas
import attlas.studies
from attlas.cli.commands import command_for
from attlas.pages.laws import check_schema
from attlas.run.parameters import help_of, role_of
from attlas.studies import GROUPS, Study, studies

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
OWN = [study for study in studies().values() if study.call.startswith("attlas.studies.")]
FOLDERS = [module.name for module in pkgutil.iter_modules(attlas.studies.__path__) if module.ispkg]
NAMES = [study.name for study in OWN]


def test_every_folder_has_a_record() -> None:
    assert sorted({"shared", *(study.python_name for study in OWN)}) == sorted(FOLDERS)


@pytest.mark.parametrize("study", OWN, ids=NAMES)
def test_a_record_says_where_everything_is(study: Study) -> None:
    assert study.group in GROUPS
    assert study.page or study.after or study.name == "heads"  # which gives results of other studies
    assert study.load_call().__name__ == study.python_name
    assert getattr(attlas, study.python_name) is study.load_call()
    if study.page:
        assert study.name.startswith(study.load_page().study)  # layers together has the page of layers
    if study.after:
        assert callable(study.load_after())


@pytest.mark.parametrize("study", OWN, ids=NAMES)
def test_a_study_has_a_doc_page_and_a_test(study: Study) -> None:
    family = study.words[0]
    pages = [path.read_text(encoding="utf-8") for path in DOCS.glob("*.md") if path.stem != "reference"]
    assert (DOCS / f"{study.name}.md").exists() or any(f"attlas {' '.join(study.words)} " in page for page in pages)
    tests = [path for path in HERE.parents[0].rglob("test_*.py") if study.python_name in path.stem]
    assert tests or study.python_name in (HERE / f"test_{family}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("study", OWN, ids=NAMES)
def test_parameters_come_in_one_order_and_each_is_described(study: Study) -> None:
    parameters = list(inspect.signature(study.load_call()).parameters.values())
    roles = [role_of(parameter) for parameter in parameters]
    for earlier, later in (("model", "corpus"), ("corpus", "progress")):
        if earlier in roles and later in roles:
            assert roles.index(earlier) < roles.index(later)
    for parameter in parameters:
        assert role_of(parameter) == "progress" or help_of(parameter) is not None, parameter.name
        if help_of(parameter) is not None:
            assert f"{parameter.name}:" in (study.load_call().__doc__ or "")
    names = {parameter.name for parameter in parameters}
    assert not names & {"select", "dev", "rate", "treebank"}, names
    own = inspect.signature(inspect.unwrap(study.load_call())).parameters
    assert len([name for name in own if name != "running"]) <= 12


@pytest.mark.parametrize("study", OWN, ids=NAMES)
def test_its_command_can_be_made(study: Study) -> None:
    assert "corpus" not in inspect.signature(study.load_call()).parameters or "corpus" in inspect.signature(
        command_for(study)
    ).parameters  # fmt: skip


@pytest.mark.parametrize("study", [study for study in OWN if study.page], ids=lambda study: study.name)
def test_names_of_columns_follow_one_rule(study: Study) -> None:
    for schema in study.load_page().schemas:
        check_schema(schema)
        assert schema.meaning, f"{study.name}: what the table {schema.table!r} holds is not said"
