"""The grammar of ``find`` against the same questions asked in plain Python, and what it refuses."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_results import kept, roles_result, sure

from attlas.errors import AttlasError
from attlas.evidence.atlas import Atlas
from attlas.evidence.example import example
from attlas.evidence.finding import Index
from attlas.store import Manifest, Result
from attlas.studies.joining import gathered

Figures = dict[str, list[float]]
Test = Callable[[Figures, int], bool]
SIGNS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
KNOWN = ("previous", "cls", "sep", "sep.norm", "entropy", "det.to", "det", "all.from")


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return gathered([kept("survey.plain"), kept("relations.weight")])


@pytest.fixture(scope="module")
def heads(atlas: Atlas) -> dict[tuple[int, int], Figures]:
    """The figures of each head by name, and under every beginning of it."""
    found: dict[tuple[int, int], Figures] = {}
    for row in atlas.table.to_pylist():
        figures = found.setdefault((row["layer"], row["head"]), {})
        parts = row["quantity"].split(".")
        for count in range(1, len(parts) + 1):
            figures.setdefault(".".join(parts[:count]), [])
        figures[row["quantity"]].append(row["value"])
    for figures in found.values():
        exact = {name for name, values in figures.items() if values}
        for name in set(figures) - exact:
            figures[name] = [value for other in exact if other.startswith(f"{name}.") for value in figures[other]]
    return found


@st.composite
def questions(draw: st.DrawFn, deep: int = 3) -> tuple[str, Test]:
    kind = draw(st.sampled_from(("figure", "layer", "and", "or", "not", "brackets") if deep else ("figure", "layer")))
    if kind == "figure":
        name, sign = draw(st.sampled_from(KNOWN)), draw(st.sampled_from(list(SIGNS)))
        number = draw(st.sampled_from([".5", "0.25", "0", "-1", "1e-3", "2.", "−0.5"]))
        value = float(number.replace("−", "-"))
        return f"{name} {sign} {number}", lambda own, layer: any(SIGNS[sign](x, value) for x in own.get(name, []))
    if kind == "layer":
        sign, layer_ = draw(st.sampled_from(list(SIGNS))), draw(st.integers(0, 3))
        return f"layer{sign}{layer_}", lambda own, layer: SIGNS[sign](layer + 1, layer_)
    if kind in ("and", "or"):
        (one, first), (other, second) = draw(questions(deep - 1)), draw(questions(deep - 1))
        one, other = (f"({text})" if " or " in text and kind == "and" else text for text in (one, other))
        if kind == "and":
            return f"{one} and {other}", lambda own, layer: first(own, layer) and second(own, layer)
        return f"{one} or {other}", lambda own, layer: first(own, layer) or second(own, layer)
    text, test = draw(questions(deep - 1))
    if kind == "not":
        return f"not ({text})", lambda own, layer: not test(own, layer)
    return f"( {text} )", test


@settings(max_examples=100)
@given(question=questions())
def test_a_question_finds_what_python_finds(
    atlas: Atlas, heads: dict[tuple[int, int], Figures], question: tuple[str, Test]
) -> None:
    text, test = question
    found = {(head.layer, head.head) for head in atlas.find(text)}
    assert found == {place for place, own in heads.items() if test(own, place[0])}


def test_and_binds_more_than_or() -> None:
    labels = [head.label for head in example().find("previous > .9 or cls > .4 and obj > .7")]
    assert labels == ["1-1", "1-2"]
    assert [head.label for head in example().find("(previous > .9 or cls > .4) and obj > .7")] == ["1-1"]


def test_figures_are_compared_with_figures() -> None:
    assert [head.label for head in example().find("obj > cls")] == ["1-1", "1-2"]
    assert [head.label for head in example().find("cls >= obj")] == ["2-1", "2-2"]


def test_a_head_without_the_figure_is_not_found_either_way() -> None:
    one = gathered([kept("survey.plain"), roles_result()])
    assert one.find("previous >= 0 and stream:encoder")
    assert not one.find("previous >= 0 and stream:decoder")
    assert not one.find("previous < 0 and stream:decoder")
    assert one.find("not previous >= 0 and stream:decoder")


def test_roles_models_and_streams() -> None:
    one = example()
    assert [head.label for head in one.find("role:syntax")] == ["1-1", "1-2"][: len(one.find("role:syntax"))]
    assert len(one.find("model:tiny")) == 4 == len(one.find("model: 'TIN' and stream:encoder"))
    assert [head.label for head in one.find("role:cls and not role:previous")] == ["2-2"]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("previus > .5", "no figure is called 'previus' (at letter 1 of the question); near it: previous"),
        ("previous >", "the question ends where a number or a figure was expected"),
        ("previous", "the question ends where one of > >= < <= was expected"),
        ("previous > .5 obj > .1", "“and” or “or” was expected, not 'obj' (at letter 15"),
        ("(previous > .5", "a closing bracket is missing"),
        ("previous > .5)", "“and” or “or” was expected, not ')'"),
        ("previous = .5", "'= .5' at letter 9 is no part of a question"),
        ("previous > and", "a number or a figure was expected, not 'and'"),
        ("not", "the question ends where a figure, or model:, stream:, role: was expected"),
        ("", "the question ends where a figure"),
        (".5 > previous", "a name of a figure was expected, not '.5'"),
        ("role:sintax", "no head here has the role 'sintax' (at letter 1 of the question); there are: cls, "),
        ("model:bert", "no head here has the model 'bert' (at letter 1 of the question); there are: tiny"),
        ("zebra > .5", "no figure is called 'zebra' (at letter 1 of the question); the column quantity of"),
        (5, "a question is text, such as 'previous > .5', not int"),
        ("other/previous > .1", "no figure is called 'other/previous'"),
        ("__import__('os') > 1", "after '__import__' one of > >= < <= was expected, not '('"),
        ("(" * 60 + "previous > 1" + ")" * 60, "more than 50 deep"),
        ("not " * 60 + "previous > 1", "more than 50 deep"),
    ],
)
def test_what_is_no_question_is_refused_in_a_sentence(question: Any, told: str) -> None:
    with pytest.raises(AttlasError) as refused:
        example().find(question)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_name_that_two_studies_have_is_refused_unless_the_study_is_told() -> None:
    one = gathered([kept("survey.plain"), kept("norms.named")])
    names = {study: {name for name, own in Index(one).names if own == study} for study in ("survey", "norms")}
    name = min(names["survey"] & names["norms"])
    with pytest.raises(AttlasError, match=rf"2 studies have a figure '{name}': say (survey|norms)/"):
        one.find(f"{name} > 0")
    both = one.find(f"survey/{name} >= 0"), one.find(f"norms/{name} >= 0")
    assert all(both)


@settings(max_examples=150)
@given(st.text("previous cl.()<>=andort0123456789:'\" -", max_size=40))
def test_whatever_is_asked_ends_well_or_in_a_sentence(text: str) -> None:
    with contextlib.suppress(AttlasError):
        example().find(text)


def test_words_are_searched_in_the_order_of_evidence() -> None:
    one = gathered([sure("survey.bundled"), sure("relations.bundled")])
    hits = one.search("previous", most=100)
    assert hits
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert "previous" in hits[0].sentence
    assert [hit.score for hit in one.search("previous", most=3)] == scores[:3]
    assert one.search("zebra crossing") == []
    assert one.search("of the") == []


def test_doing_nothing_comes_before_nothing_to_say() -> None:
    one = gathered([kept("survey.treebank")])
    hits = one.search("nothing", most=100)
    silent = [hit.sentence.startswith("shows nothing that stands out") for hit in hits]
    assert any(silent)
    assert silent == sorted(silent)


def test_a_search_finds_roles_by_other_words() -> None:
    found: dict[str, Any] = {}
    for words in ("object", "[CLS]", "before", "nothing at all"):
        found[words] = [hit.head.label for hit in example().search(words)]
    assert found["object"] == ["1-1", "1-2"][: len(found["object"])]
    assert found["[CLS]"] == ["2-2", "1-1"]
    assert found["before"][0] == "1-2"


def test_the_questions_of_the_documentation_are_answered() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "atlas.md").read_text(encoding="utf-8")
    block = page.partition("```text\nobj > .5")[2].partition("```")[0]
    lines = [f"obj > .5{line}" if at == 0 else line for at, line in enumerate(block.strip("\n").splitlines())]
    questions = [line.split("  ")[0].strip() for line in lines]
    assert len(questions) == 5
    rows = [
        {"stream": "encoder", "layer": 0, "head": 0, "measure": measure, "quantity": name, "value": value,
         "low": value, "high": value, "chance": 0.05, "n": 10.0}
        for name, value in (("first", 0.1), ("cls", 0.2), ("previous", 0.4), ("next", 0.1), ("after_same_piece", 0.6))
        for measure in ("weight", "norm")
    ]  # fmt: skip
    model = {"name": "smollm2", "streams": {"encoder": {"layers": 4, "heads": 4}}}
    manifest = Manifest("survey", model=model, corpus={"name": "kept"})
    survey = Result(manifest, {"heads": {name: [row[name] for row in rows] for name in rows[0]}})
    others = [kept(case, model=model) for case in ("relations.weight", "norms.named")]
    both = gathered([survey, *others, kept("survey.plain", model=model, corpus={"name": "another"})])
    for question in questions:
        both.find(question)
    assert [head.label for head in both.find(questions[-1])] == ["1-1"]
