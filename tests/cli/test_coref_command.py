"""attlas coref from the command line: well, killed and gone on with, and one sentence when something is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import attlas

import twins
from attlas.capture import load
from attlas.store import Result
from attlas.studies.coref.call import coref
from attlas.studies.coref.passes import Coref

TEXT = "The farmer saw the designer . He asked her what she was working on ."
BRACKETS = ["(1", "1)", "_", "(2", "2)", "_", "(1)", "_", "(2)", "_", "(2)", "_", "_", "_", "_"]


def tale(name: str, brackets: Sequence[str] = BRACKETS) -> str:
    words = list(zip(TEXT.split(), brackets, strict=True))
    rows = [f"{k if k < 6 else k - 6}\t{word}\t{bracket}" for k, (word, bracket) in enumerate(words)]
    return "\n".join([f"# begin document {name}", *rows, "# end document", ""])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models") / "bert"
    twins.model("bert").save_pretrained(made)
    twins.tokenizer(False).save_pretrained(made)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of four tales, two of them in one file, and a file that is damaged."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tales").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "tales" / f"{name}.conll").write_text(tale(name), encoding="utf-8")
    (tmp_path / "tales" / "d.conll").write_text(tale("d").replace("1)", "7)"), encoding="utf-8")
    (tmp_path / "two.conll").write_text(tale("x") + tale("y"), encoding="utf-8")
    return tmp_path


def test_a_folder_and_another_to_choose_on(place: Path, model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "coref", "tales", "--choose-on", "two.conll", "--model", model, "--out", "out", "--quiet")
    assert (said.status, said.err) == (0, "")
    assert "bert on tales: 5 passages" in said.out
    assert "note: file left out: d.conll, line" in said.out
    for who in ("best head", "nearest", "head match", "sieve", "untrained twin", "chance"):
        assert who in said.out
    assert said.out.splitlines()[-1] == "report: out/report.html"
    manifest = Result.open("out").manifest
    assert manifest.plan["corpus"]["choose_on"]["name"] == "two.conll"
    assert manifest.corpus["mentions_chosen_on"] == 2 * 3
    assert manifest.corpus["mentions_scored_on"] == 3 * 3
    assert any(reason.startswith("file left out: d.conll") for reason in manifest.skipped)


def test_a_treebank_is_read_by_document(place: Path, model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = []
    for name in ("a", "b"):
        rows += [f"# newdoc id = {name}", "1\tEmma\t_\tPROPN\t_\t_\t2\tnsubj\t_\tEntity=(e1-person-1)"]
        rows += ["2\tslept\t_\tVERB\t_\t_\t0\troot\t_\t_", ""]
        rows += [
            "1\tShe\t_\tPRON\t_\t_\t2\tnsubj\t_\tEntity=(e1-person-1)",
            "2\tslept\t_\tVERB\t_\t_\t0\troot\t_\t_",
            "",
        ]
    (place / "tales.conllu").write_text("\n".join(rows), encoding="utf-8")
    said = attlas(capfd, "coref", "tales.conllu", "--model", model, "--out", "out", "--quiet", "--measure", "norm")
    assert (said.status, said.err) == (0, "")
    kinds = Result.open("out").table.column("kind").to_pylist()
    assert set(kinds) == {"all", "pronoun"}


@pytest.mark.campaign
def test_killed_in_any_part_and_resumed(place: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = load(model)
    alone = coref(subject, "tales", choose_on="two.conll", budget=20)
    launch = Coref.launch
    calls = 0

    def dying(self: Coref, ready: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls % 3 == 0:
            raise KeyboardInterrupt
        return launch(self, ready)

    monkeypatch.setattr(Coref, "launch", dying)
    result = None
    deaths = 0
    while result is None:
        try:
            again = {"resume": True} if deaths else {}
            result = coref(subject, "tales", choose_on="two.conll", budget=20, out=place / "out", **again)
        except KeyboardInterrupt:
            deaths += 1
    assert deaths > 3
    for name, table in alone.tables.items():
        assert table.equals(result.tables[name])


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["prose.txt"], ["prose.txt: it has no mentions", "CoNLL-2012 or OntoGUM (.conll), or CoNLL-U with Entity="]),
        (["one.conll"], ["one.conll", "it cannot be divided into 2 parts: it has a single document"]),
        (["singles.conll"], ["no mention with an antecedent in its window to choose heads on", "--choose-on"]),
        (["two.conll", "--choose-on", "single.conll"], ["no mention with an antecedent", "to choose heads on"]),
        (["two.conll", "--max-pieces", "4"], ["no mention with an antecedent", "--max-pieces"]),
        (["two.conll", "--max-pieces", "4096"], ["4096 pieces are asked for and the window of"]),
        (["two.conll", "--measure", "weights"], ["no measure 'weights'; choose weight or norm"]),
        (["two.conll", "--choose-on", "nowhere"], ["nowhere: there is no such file"]),
        (["empty"], ["this is a folder; give one of its files (it holds no .conll or .conllu files)"]),
        (["tales/d.conll"], ["a mention of chain 7 ends here that never began"]),
    ],
)
def test_one_sentence(
    arguments: list[str], phrases: list[str], place: Path, model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (place / "prose.txt").write_text("The farmer slept.\n", encoding="utf-8")
    (place / "one.conll").write_text(tale("one"), encoding="utf-8")
    single = tale("s", ["(1)"] + ["_"] * 14)
    (place / "single.conll").write_text(single, encoding="utf-8")
    (place / "singles.conll").write_text(single + single, encoding="utf-8")
    (place / "empty").mkdir()
    attlas(capfd, "coref", *arguments, "--model", model, "--out", "out", "--quiet").refuses(*phrases)
    assert not (place / "out").exists()
