"""attlas atlas: all that fits in one folder, killed and resumed, joined, of many models; and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Apart, attlas, one_thread

from attlas.errors import AttlasError
from attlas.making import running
from attlas.making.call import make_atlas
from attlas.making.joining import join_atlas
from attlas.making.state import STATE, State
from attlas.store import Result
from attlas.studies.reporting import open_result
from tools.same_figures.inputs import Inputs, make_inputs

QUICK = ("--limit", "8", "--twins", "1", "--budget", "120", "--quiet")
FIT = ("survey", "relations", "clusters", "coref", "noop", "norms", "roles")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def whole(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The atlas of a tiny model on a treebank, as the command's function makes it."""
    out = tmp_path_factory.mktemp("whole") / "atlas"
    with one_thread():
        make_atlas(inputs["bert"], inputs["treebank one"], out=out, limit=8, twins=1, budget=120)
    return out


@pytest.fixture(scope="module")
def decoder(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The atlas of another model, of few studies."""
    out = tmp_path_factory.mktemp("decoder") / "atlas"
    with one_thread():
        make_atlas(inputs["llama"], inputs["treebank one"], out=out, limit=8, twins=1, only="survey,importance")
    return out


def figures(folder: Path) -> list[dict[str, Any]]:
    """The table of all heads."""
    return Result.open(folder).rows("heads")


def test_everything_that_fits_lies_in_one_folder(whole: Path, inputs: Inputs) -> None:
    assert sorted(place.name for place in (whole / "bert").iterdir() if place.is_dir()) == sorted(
        [*FIT, "examples", "texts"]
    )
    for study in FIT:
        assert open_result(whole / "bert" / study).manifest.study == study
    told = {row["study"] for row in figures(whole)}
    assert told == {*FIT}
    atlas = Result.open(whole)
    assert (atlas.manifest.study, atlas.manifest.model["name"]) == ("atlas", "bert")
    left_out = {row["given"]: row["reason"] for row in atlas.rows("left_out") if row["model"] == "bert"}
    assert left_out["align of bert"] == (
        "does not fit: bert does not translate, and words are aligned by a model that does"
    )
    assert left_out["importance of bert"].startswith("does not fit: bert has no head for a task on treebank.conllu")
    examples = atlas.rows("examples")
    assert {row["example"] for row in examples} <= {"best", "typical", "fails"}
    assert all((whole / row["page"]).is_file() for row in atlas.rows("texts"))


def test_pages_link_up_down_and_to_each_other(whole: Path) -> None:
    page = (whole / "bert" / "survey" / "report.html").read_text(encoding="utf-8")
    links = re.findall(r'href="(\.\./[^"]+)"', page)
    assert links[0] == "../../index.html"
    assert "../relations/report.html" in links
    assert all((whole / "bert" / "survey" / link).resolve().is_file() for link in links)
    down = [row["folder"] for row in Result.open(whole).rows("sources")]
    assert all((whole / folder / "report.html").is_file() for folder in down)


def test_it_goes_on_where_it_was_killed(
    whole: Path, inputs: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "atlas"
    line = (
        "atlas",
        inputs["treebank one"],
        "--model",
        inputs["bert"],
        "--out",
        out,
        *QUICK,
        "--checkpoint-every",
        "0",
    )
    apart = Apart(*line)
    end = time.monotonic() + 300
    while not (out / "bert" / "coref" / "manifest.json").exists():
        assert time.monotonic() < end
        assert not apart.ended
        time.sleep(0.02)
    apart.kill()
    attlas(capfd, *line).refuses("an atlas of this model was begun here; go on with --resume")
    attlas(capfd, *line[:-1], "1", "--seed", "2", "--resume").refuses("has another plan", "seed: was 0, is now 2")
    ran: list[str] = []
    carry_out = running._run

    def noting(models: Any, step: Any, *rest: Any) -> None:
        ran.append(step.study.name)
        carry_out(models, step, *rest)

    monkeypatch.setattr(running, "_run", noting)
    with one_thread():
        said = attlas(capfd, *line, "--resume")
    assert said.status == 0, said
    assert "heads" not in ran, "three results were finished before the kill"
    assert set(ran) <= {"coref", "noop", "norms", "roles"}
    assert figures(out) == figures(whole)
    assert Result.open(out).rows("examples") == Result.open(whole).rows("examples")
    ran.clear()
    (out / ".tryingabc.new").touch()  # as a kill leaves it that comes very early
    examples = out / "bert" / "examples"
    there = sorted(examples.iterdir())
    (examples / ".saved").mkdir()
    for path in there:  # and one between two of the last steps of saving
        path.rename(examples / ".saved" / path.name)
    again = attlas(capfd, *line, "--resume", "--json")
    assert sorted(examples.iterdir()) == there
    assert not list(out.glob(".trying*"))
    assert (again.status, ran) == (0, [])
    told = json.loads(again.out)
    assert told["page"] == str(out / "index.html")
    assert {row["study"]: row["state"] for row in told["models"]["bert"]} == {
        **dict.fromkeys(FIT, "done"), "align": "does not fit", "importance": "does not fit"
    }  # fmt: skip


def test_a_study_that_fails_is_told_and_the_rest_goes_on(
    inputs: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from attlas.studies.norms import call as norms
    from attlas.studies.survey import call as survey

    def refused(*given: Any, **more: Any) -> None:
        raise AttlasError("the moon is down")

    def mistaken(*given: Any, **more: Any) -> None:
        raise ZeroDivisionError("nothing\nand more")

    out = tmp_path / "atlas"
    line = ("atlas", inputs["plain one"], "--model", inputs["bert"], "--only", "clusters,norms,survey", "--out", out)
    with monkeypatch.context() as patch:
        patch.setattr(norms, "begin", refused)
        patch.setattr(survey, "begin", mistaken)
        said = attlas(capfd, *line, *QUICK)
    assert said.status == 1, said
    assert "  norms on plain.txt: failed: the moon is down\n" in said.out
    assert "survey on plain.txt: failed: it was stopped by an error that was not foreseen (Zero" in said.out
    assert "  clusters on plain.txt: done\n" in said.out
    assert (out / "index.html").is_file()
    mended = attlas(capfd, *line, *QUICK, "--resume")
    assert (mended.status, mended.out.count(": done\n")) == (0, 3), mended
    assert mended.out.splitlines()[-1] == f"atlas: {out / 'index.html'}"


def test_where_every_study_fails_it_is_said_why(
    inputs: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: the reasons of the studies, of which the first name the file."""
    from attlas.studies.survey import call as survey

    def refused(*given: Any, **more: Any) -> None:
        raise AttlasError("out/checkpoint: the checkpoint cannot be written (No space left on device)")

    out = tmp_path / "atlas"
    line = ("atlas", inputs["plain one"], "--model", inputs["bert"], "--only", "survey", "--out", out, *QUICK)
    with monkeypatch.context() as patch:
        patch.setattr(survey, "begin", refused)
        attlas(capfd, *line).refuses("no study came to its end (survey: out/checkpoint: the checkpoint cannot be")
    assert attlas(capfd, *line, "--resume").status == 0


@pytest.mark.parametrize("name", ["site", "index.html", "manifest.json", "heads.parquet", "Site.new"])
def test_a_model_may_be_called_like_a_file_of_the_atlas(
    name: str, inputs: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(inputs["bert"], tmp_path / name)
    out = tmp_path / "atlas"
    line = ("atlas", inputs["plain one"], "--model", tmp_path / name, "--only", "survey", "--out", out, *QUICK)
    said = attlas(capfd, *line)
    assert (said.status, attlas(capfd, *line, "--resume").status) == (0, 0), said
    (own,) = out.glob(f"{name}-*")
    assert (own / "survey" / "report.html").is_file()
    assert figures(out)


@pytest.mark.parametrize("left", [[], ["steps.json.new"]])
def test_a_run_that_was_killed_before_its_plan_was_written_goes_on(
    left: list[str], inputs: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "atlas"
    (out / "bert").mkdir(parents=True)
    for name in left:
        (out / "bert" / name).write_text('{"plan": ')
    line = ("atlas", inputs["plain one"], "--model", inputs["bert"], "--only", "survey", "--out", out, *QUICK)
    assert attlas(capfd, *line, "--resume").status == 0
    assert not list(out.rglob("*.new"))


def test_what_is_wrong_is_refused_before_the_work(
    inputs: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "atlas"
    line = ("atlas", inputs["plain one"], "--model", inputs["bert"], "--out", out)
    attlas(capfd, *line, "--with", "cooking").refuses("there is no study 'cooking' that takes part in an atlas")
    attlas(capfd, *line, "--task", "mlm").refuses("there is no task 'mlm'")
    attlas(capfd, "atlas", tmp_path / "nowhere.txt", "--model", inputs["bert"], "--out", out).refuses("nowhere.txt")
    attlas(capfd, "atlas", inputs["plain one"], "--model", tmp_path, "--out", out).refuses(tmp_path.name)
    attlas(capfd, *line, "--only", "relations").refuses(
        "no study fits bert (relations: plain.txt has no dependency trees; a treebank (CoNLL-U) has them)"
    )
    assert not out.exists()
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    attlas(capfd, *line, "--only", "norms").refuses("it holds notes.txt, which is no atlas")


def test_results_made_before_are_joined(
    whole: Path, decoder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    loose = tmp_path / "loose"
    shutil.copytree(whole / "bert" / "norms", loose / "again")
    shutil.copytree(whole / "bert" / "norms", loose / "hurt")
    table = loose / "hurt" / "norms.parquet"
    table.write_bytes(table.read_bytes()[:-40])
    (loose / "begun" / "checkpoint").mkdir(parents=True)
    out = tmp_path / "all"
    said = attlas(capfd, "atlas", "join", whole, decoder, loose, tmp_path / "none", "--out", out, "--quiet")
    assert said.status == 0, said
    assert f"left out: {loose / 'again'}: the same result is in {whole / 'bert' / 'norms'}\n" in said.out
    assert f"left out: {loose / 'hurt'}: " in said.out
    assert "does not agree with the checksum" in said.out
    assert f"left out: {loose / 'begun'}: a run was cut off here; finish it with --resume\n" in said.out
    assert f"left out: {tmp_path / 'none'}: there is no such folder\n" in said.out
    atlas = Result.open(out)
    left_out = {row["given"]: row["reason"] for row in atlas.rows("left_out") if not row["model"]}
    assert left_out[str(loose / "begun")] == "a run was cut off here; finish it with --resume"
    assert set(left_out) >= {str(loose / "hurt"), str(tmp_path / "none")}
    assert sorted({row["model"] for row in atlas.rows("heads")}) == ["bert", "llama"]
    assert len(figures(out)) == len(figures(whole)) + len(figures(decoder))
    assert atlas.rows("examples") == Result.open(whole).rows("examples"), "none of the other has a sentence"
    assert all((out / row["page"]).is_file() for row in atlas.rows("texts"))
    assert all((out / row["folder"] / "report.html").is_file() for row in atlas.rows("sources"))
    attlas(capfd, "atlas", "join", whole, "--out", out).refuses("it is not empty")
    attlas(capfd, "atlas", "join", loose / "begun", "--out", tmp_path / "new").refuses("there is nothing to join")
    assert not (tmp_path / "new").exists()


def test_other_versions_and_corpora_are_told(whole: Path, decoder: Path, tmp_path: Path) -> None:
    place, manifest = whole / "bert" / "survey", Result.open(whole / "bert" / "survey").manifest
    changed = replace(
        manifest, versions={**manifest.versions, "attlas": "9.9"}, corpus={**manifest.corpus, "name": "a book"}
    )
    shutil.copytree(place, tmp_path / "older")
    (tmp_path / "older" / "manifest.json").write_text(changed.to_json(), encoding="utf-8")
    made = join_atlas([tmp_path / "older", decoder], tmp_path / "all")
    first, second = made.remarks
    assert re.fullmatch(
        r"The figures are of attlas \S+ and 9\.9; a definition may have changed between them\.", first
    )
    assert second == (
        "survey read other texts of one model than of another: a book (bert); treebank.conllu (llama). Figures "
        "differ by that, too."
    )
    site = (tmp_path / "all" / "site" / "data" / "index.js").read_text(encoding="utf-8")
    assert all(remark in site for remark in (first, second))


def test_two_atlases_of_one_model_on_other_texts_are_joined(whole: Path, tmp_path: Path) -> None:
    second = tmp_path / "second" / "bert"
    for name in ("survey", "examples"):
        shutil.copytree(whole / "bert" / name, second / name)
        manifest = replace(Result.open(second / name).manifest, corpus={"name": "a book", "sha256": "f" * 64})
        (second / name / "manifest.json").write_text(manifest.to_json(), encoding="utf-8")
    shutil.copytree(whole / "bert" / "texts", second / "texts")
    made = join_atlas([whole, second], tmp_path / "both")
    sources = {(row["study"], row["corpus"]) for row in made.atlas.tables["sources"].to_pylist()}
    assert len(sources) == len(FIT) + 1
    assert made.atlas.tables["examples"].equals(Result.open(whole).tables["examples"])
    assert [dict(row) for row in made.left_out] == [
        {"given": str(second / "examples"), "reason": "examples of bert on other texts are there already"}
    ]


def test_many_models_are_gone_through(
    inputs: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tmp_path / "models.txt"
    names.write_text(f"# tiny ones\n{inputs['bert']}\nno/such-model\n\n{inputs['llama']}  # a decoder\n")
    out = tmp_path / "all"
    line = ("atlas", "many", names, inputs["plain one"], "--out", out, "--only", "survey", *QUICK)
    said = attlas(capfd, *line)
    assert said.status == 1, said
    assert re.search(r"^failed: no/such-model: .*no model 'no/such-model'", said.out, flags=re.MULTILINE)
    assert said.out.splitlines()[-1] == f"atlas: {out / 'index.html'}"
    assert {row["model"] for row in figures(out)} == {"bert", "llama"}
    assert said.out.count("no/such-model: ") == 1
    assert "no/such-model" in {row["given"] for row in Result.open(out).rows("left_out")}
    ran: list[str] = []
    monkeypatch.setattr(running, "_run", lambda models, step, *rest: ran.append(step.study.name))
    names.write_text(f"{inputs['bert']}\n{inputs['llama']}\n")
    again = attlas(capfd, *line)
    assert (again.status, ran) == (0, []), again
    names.write_text("no/such-model\n")
    other = ("atlas", "many", names, inputs["plain one"], "--out", tmp_path / "other", "--only", "survey", *QUICK)
    attlas(capfd, *other).refuses("no model 'no/such-model'")
    attlas(capfd, "atlas", "many", tmp_path / "none.txt", "--out", out).refuses("the list of models cannot be read")


def test_a_folder_of_results_gets_an_index(whole: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "runs"
    for study in ("survey", "norms"):
        shutil.copytree(whole / "bert" / study, folder / study)
    shutil.copytree(folder / "norms", folder / "hurt")
    (folder / "hurt" / "manifest.json").write_text("{}")
    said = attlas(capfd, "report", folder)
    assert (said.status, said.out) == (0, f"report: {folder / 'index.html'}\n")
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "2 results in runs" in page
    assert 'href="survey/report.html"' in page
    assert "it has no schema number" in page
    assert "↑ All results" in (folder / "survey" / "report.html").read_text(encoding="utf-8")
    attlas(capfd, "report", folder, "--out", tmp_path / "page.html").refuses("leave out --out")
    (tmp_path / "empty").mkdir()
    attlas(capfd, "report", tmp_path / "empty").refuses("no manifest.json here")


def test_a_damaged_state_is_one_sentence(
    whole: Path, inputs: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "atlas"
    (out / "bert").mkdir(parents=True)
    (out / "bert" / STATE).write_text('{"plan": [')
    attlas(
        capfd, "atlas", inputs["plain one"], "--model", inputs["bert"], "--out", out, "--only", "norms", "--resume"
    ).refuses("this does not say what an atlas did")
    assert State.of(whole / "bert") is not None
