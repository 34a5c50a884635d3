"""One sentence across layers: the probes' own probabilities in a table, and what is refused before any work."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import twins
from attlas.capture import Subject
from attlas.capture.reading import read_documents
from attlas.errors import AttlasError, ModelError, StoreError, TextError
from attlas.models import Example
from attlas.pages.laws import check_page
from attlas.probes.edges import kept
from attlas.probes.edges.kept import load_kept
from attlas.studies.layers_case.call import Asked, layers_case, read_span
from attlas.studies.layers_case.page import PAGE
from attlas.text import Document, Span
from edge_runs import run_folder

TEXT = "The farmer offered apples to the housekeeper."


def subject(seed: int = 0, family: str = "bert") -> Subject:
    return Subject.of(twins.model(family, seed), twins.tokenizer(family in twins.CAUSAL), "twin")


@pytest.fixture(scope="module")
def bert() -> Subject:
    return subject()


@pytest.fixture(scope="module")
def runs(bert: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    run_folder(folder / "a-pos", bert, "pos")
    run_folder(folder / "b-roles", bert, "roles", paired=True, labels=["ARG0", "ARG1"], seed=1)
    run_folder(folder / "c-heads", bert, "entities", labels=["PER", "LOC"], over="heads", seed=2)
    run_folder(folder / "d-none", bert, "relations", probes=False)
    return folder


@pytest.mark.parametrize(("written", "read"), [
    ("2:3", Asked(Span(2, 3))), (" 0 : 2 , 4:5 ", Asked(Span(0, 2), Span(4, 5))),
    ("pos, proto-roles=1:2", Asked(Span(1, 2), None, ("pos", "proto-roles"))),
])  # fmt: skip
def test_spans_are_read_as_they_are_written(written: str, read: Asked) -> None:
    assert read_span(written) == read
    assert read_span(str(read)) == read


@pytest.mark.parametrize("written", ["", "2", "a:b", "1:2:3", "1:2,", "1:2,3:4,5:6", "-1:2", "1-2", "=1:2", "pos="])
def test_what_is_no_span_is_refused(written: str) -> None:
    with pytest.raises(TextError, match="a span is written A:B"):
        read_span(written)


def test_the_table_holds_what_the_probes_say(bert: Subject, runs: Path, tmp_path: Path) -> None:
    result = layers_case(bert, TEXT, ["1:2", "0:2,3:4"], [runs], out=tmp_path / "out")
    check_page(PAGE, result)
    rows = result.table.to_pylist()
    example = read_documents(bert, [Document.from_text(TEXT)]).examples[0]
    for name, edge, spans in (
        ("a-pos", 0, (Span(1, 2), None)),
        ("b-roles", 1, (Span(0, 2), Span(3, 4))),
        ("c-heads", 0, (Span(1, 2), None)),
    ):
        probes = load_kept(runs / name)
        expected = probes.probabilities(bert, example, *spans)
        mine = [row for row in rows if row["run"] == name]
        assert {row["edge"] for row in mine} == {edge}
        assert len(mine) == expected.size
        for row in mine:
            at, label = probes.levels.index(row["layer"]), probes.labels.index(row["label"])
            assert row["value"] == pytest.approx(expected[at, label])
    first = rows[0]
    assert (first["first"], first["second"], first["first_words"]) == ("1:2", None, "farmer")
    pair = next(row for row in rows if row["second"])
    assert (pair["first_words"], pair["second_words"]) == ("The farmer", "apples")
    words = result.tables["words"].to_pydict()
    assert "".join(map("".join, zip(words["form"], words["after"], strict=True))) == TEXT
    about = {row["run"]: row for row in result.tables["runs"].to_pylist()}
    assert (about["a-pos"]["score"], about["a-pos"]["score_at_0"], about["a-pos"]["train"]) == (0.9, 0.7, 90)
    assert (about["c-heads"]["over"], about["b-roles"]["paired"]) == ("heads", True)
    labels = result.tables["labels"].to_pylist()
    assert {row["label"] for row in labels if row["run"] == "b-roles"} == {"ARG0", "ARG1"}
    assert [row["value"] for row in labels] == pytest.approx([0.6] * len(labels))  # the mean over two seeds
    assert result.manifest.skipped == {"runs that kept no probes (d-none)": 1}


def test_levels_and_labels_come_as_the_probes_have_them(bert: Subject, tmp_path: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    class Fake(NamedTuple):
        task: str = "pos"
        labels: tuple[str, ...] = ("NN", "VB")
        paired: bool = False
        model: dict[str, str] = {"name": "twin", "fingerprint": bert.fingerprint}  # noqa: RUF012
        over: str = "layers"
        levels: tuple[int, ...] = (0, 2)

        def probabilities(
            self, subject: Subject, example: Example, first: Span, second: Span | None
        ) -> NDArray[np.float64]:
            assert (example.passage.first.forms[first.start], second) == ("apples", None)
            return np.array([[0.1, 0.2], [0.3, 0.4]])

    monkeypatch.setattr(kept, "load_kept", lambda folder: Fake())
    run = run_folder(tmp_path / "run", bert, "pos", probes=False)
    rows = layers_case(bert, "it has apples", [Asked(Span(2, 3))], [run]).table.to_pylist()
    assert [(row["layer"], row["label"], row["value"]) for row in rows] == [
        (0, "NN", 0.1), (0, "VB", 0.2), (2, "NN", 0.3), (2, "VB", 0.4),
    ]  # fmt: skip


def test_tasks_may_be_named(bert: Subject, runs: Path) -> None:
    result = layers_case(bert, TEXT, ["pos=1:2", "2:3"], [runs])
    rows = result.table.to_pylist()
    assert {(row["edge"], row["task"]) for row in rows} == {(0, "pos"), (1, "pos"), (1, "entities")}
    assert result.manifest.skipped["runs of pairs of spans, of which none was asked about (b-roles)"] == 1


def test_words_may_be_given(bert: Subject, runs: Path) -> None:
    result = layers_case(bert, ["ca", "n't", "stop"], ["0:2"], [runs / "a-pos"])
    assert result.table.column("first_words").to_pylist()[0] == "ca n't"


def test_runs_of_one_name_are_told_apart(bert: Subject, tmp_path: Path) -> None:
    folders = [run_folder(tmp_path / name / "pos", bert, "pos", seed=seed) for seed, name in enumerate("ab")]
    result = layers_case(bert, TEXT, ["1:2"], folders)
    assert result.tables["runs"].column("run").to_pylist() == ["a/pos", "b/pos"]
    values = {row["run"]: row["value"] for row in result.table.to_pylist()}
    assert values["a/pos"] != values["b/pos"]


@pytest.mark.parametrize("family", ["gpt2", "marian"])
def test_causal_models_and_encoders_of_translators(family: str, tmp_path: Path) -> None:
    model = subject(family=family)
    run = run_folder(tmp_path / "run", model, "pos")
    result = layers_case(model, TEXT, ["1:3"], [run])
    assert sorted(set(result.table.column("layer").to_pylist())) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "spans", "places", "kind", "phrases"),
    [
        (TEXT, ["6:9"], ["."], TextError, ["6:9 is outside the 8 words", "0 The, 1 farmer"]),
        (TEXT, ["3:3"], ["."], TextError, ["3:3 is empty"]),
        (TEXT, ["0:1,7:9"], ["."], TextError, ["7:9 is outside"]),
        (TEXT, [], ["."], TextError, ["no span was asked about", "--span", "2 offered"]),
        ("  ", ["0:1"], ["."], TextError, ["no words"]),
        (TEXT, ["0:1"], [], StoreError, ["no run was named"]),
        (TEXT, ["0:1"], ["nowhere"], StoreError, ["nowhere: there is no such folder"]),
        (TEXT, ["0:1"], ["d-none"], StoreError, ["no probes here"]),
        (TEXT, ["0:1"], ["b-roles"], StoreError, ["0:1: none of these runs (roles) labels single spans", "a pair"]),
        (TEXT, ["roles=0:1"], ["a-pos", "b-roles"], StoreError, ["none of these runs (roles) labels single"]),
        (TEXT, ["parts=0:1"], ["a-pos", "b-roles"], StoreError, ["is of the task parts", "of pos, roles"]),
        (TEXT, ["0:1,2:3"], ["a-pos"], StoreError, ["(pos) labels pairs of spans", "a single span"]),
        ("the farmer " * 80, ["0:1"], ["a-pos"], TextError, ["pieces"]),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(
    text: str, spans: list[str], places: list[str], kind: type[AttlasError], phrases: list[str], bert: Subject,
    runs: Path, tmp_path: Path,
) -> None:  # fmt: skip
    with pytest.raises(kind) as refused:
        layers_case(bert, text, spans, [runs / place for place in places], out=tmp_path / "out")
    for phrase in phrases:
        assert phrase in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_other_models_are_refused(bert: Subject, runs: Path, tmp_path: Path) -> None:
    other = subject(seed=1)
    with pytest.raises(ModelError, match="trained on twin, and twin has other weights"):
        layers_case(other, TEXT, ["0:1"], [runs / "a-pos"])
    with pytest.raises(ModelError, match=r"the runs are of twin, which is not found by that name .* say --model"):
        layers_case(None, TEXT, ["0:1"], [runs / "a-pos"])
    one = run_folder(tmp_path / "other", other, "pos")
    with pytest.raises(StoreError, match="take runs of one model"):
        layers_case(bert, TEXT, ["0:1"], [runs / "a-pos", one])
