"""A classifier that has learned nothing, through ablate, importance, prune, noop and tune: one red line, and no
verdict; and a translator with random weights, the same."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import torch
import transformers
from command_line import attlas
from rich.console import Console

import twins
from attlas.capture import Subject, load
from attlas.pages.terminal import print_page
from attlas.run.tuning import tune
from attlas.store import Result
from attlas.studies import studies
from attlas.studies.prune.call import prune
from attlas.text import Document

WORDS = ("the", "old", "bridge", "near", "station", "children", "storm", "apples")
LINE = "The model has not shown that it can do this task: its accuracy of"
VERDICTS = (
    "matter at p", "costs most", "gains most", "lose no", "make up half", "depends most", "can go", "has fallen by",
    "never falls", "at its best", "rank correlation", "even when all are gone", "try: attlas", "where heads",
    "rides on", "other keys", "put more than half",
)  # fmt: skip


def documents(count: int, seed: int, *, known: bool) -> list[Document]:
    """Texts about a farmer or an engineer, whose label says which, or is drawn by lot."""
    draw, made = random.Random(seed), []
    for _ in range(count):
        words, who = [draw.choice(WORDS) for _ in range(4)], draw.choice(("farmer", "engineer"))
        label = who if known else draw.choice(("farmer", "engineer"))
        made.append(Document.from_words([*words, who], label=label))
    return made


def table(count: int, seed: int, *, known: bool) -> str:
    rows = [f"{document.text}\t{document.label}" for document in documents(count, seed, known=known)]
    return "\n".join(["sentence\tlabel", *rows]) + "\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nothing")
    config = twins.config("bert")
    config.id2label, config.label2id = {0: "engineer", 1: "farmer"}, {"engineer": 0, "farmer": 1}
    torch.manual_seed(1)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    twins.spread(model)
    model.save_pretrained(folder / "random")
    twins.tokenizer(False).save_pretrained(folder / "random")
    for name, known in (("lot.tsv", False), ("known.tsv", True)):
        (folder / name).write_text(table(120, 0, known=known), encoding="utf-8")
    (folder / "dev.tsv").write_text(table(40, 5, known=True), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("study", "arguments"),
    [
        ("ablate", ("--choose-on", "known.tsv")),
        ("importance", ()),
        ("prune", ("--choose-on", "known.tsv", "--steps", "3", "--keep", ".5", "--no-speed")),
        ("noop", ("--twins", "2")),
    ],
)
def test_what_the_user_sees_is_the_red_line_and_no_verdict(
    study: str,
    arguments: tuple[str, ...],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(place)
    how = ("--task", "classification", "--model", "random", "--out", study, "--quiet")
    said = attlas(capfd, study, "lot.tsv", *how, *arguments)
    assert said.status == 0, said
    told = " ".join(said.out.split())
    assert told.count(LINE) == 1
    assert not [verdict for verdict in VERDICTS if verdict in told]
    assert "always giving the most frequent label" in told
    page = (place / study / "report.html").read_text(encoding="utf-8")
    assert page.count(LINE) == 1
    assert 'class="warning"' in page
    answer = page[page.index('id="answer"') :]
    found = page.partition('id="found"')[2].partition("<section")[0]
    assert not [verdict for verdict in VERDICTS if verdict in answer.partition("</p>")[0] + found]
    console = Console(width=300, force_terminal=True, color_system="standard", record=True)
    print_page(studies()[study].load_page(), Result.open(study), console)
    assert f"\x1b[31m{LINE}" in console.export_text(styles=True)


@pytest.mark.parametrize(
    ("study", "arguments", "score"),
    [
        ("ablate", ("--heads", "cross 1-1", "--no-survivors", "--no-importance"), "BLEU"),
        ("noop", ("--twins", "1"), "perplexity"),
    ],
)
def test_a_translator_with_random_weights_gets_the_red_line_too(
    study: str,
    arguments: tuple[str, ...],
    score: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    model = transformers.MarianMTModel(twins.config("marian"))
    twins.spread(model)
    model.save_pretrained("random")
    twins.tokenizer(False).save_pretrained("random")
    lines = [f"{text.text} ||| {text.text.lower()}" for text in documents(20, 0, known=True)]
    Path("bitext.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = attlas(
        capfd,
        study,
        "bitext.txt",
        "--task",
        "translation",
        "--model",
        "random",
        "--out",
        "out",
        "--quiet",
        *arguments,
    )
    assert said.status == 0, said
    told = " ".join(said.out.split())
    assert told.count("has not shown that it can do this task") == 1
    guess = {"BLEU": "giving the translation of another text", "perplexity": "how frequent each piece is"}[score]
    assert f"its {score} of" in told
    assert guess in told
    assert not [verdict for verdict in VERDICTS if verdict in told]


def test_prune_writes_no_model_unless_asked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    for save in (False, True):
        model = load("random", task_head="classification")
        out = place / f"pruned {save}"
        result = prune(
            model, "lot.tsv", "classification", heads="1-1", speed=False, out=out, **({"save": True} if save else {})
        )
        assert (out / "config.json").exists() == save
        assert (result.rows("sizes")[1]["file"] is not None) == save


def test_tune_does_not_recommend_to_go_on(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    said = attlas(
        capfd, "tune", "lot.tsv", "--task", "classification", "--model", "random", "--only-head", "--epochs", "1",
        "--out", "tuned", "--quiet",
    )  # fmt: skip
    assert said.status == 0, said
    assert said.out.startswith(LINE)
    assert "try:" not in said.out
    assert "model: tuned" in said.out


def test_of_a_model_that_learned_something_there_is_no_such_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    how = ("--task", "classification", "--epochs", "4", "--learning-rate", "3e-3", "--batch-size", "8", "--quiet")
    without = attlas(capfd, "tune", "known.tsv", *how, "--model", "random", "--out", "knows")
    assert LINE not in without.out
    assert "try: attlas ablate TEXTS-IT-HAS-NOT-SEEN --task classification --model knows" in without.out
    assert "ablate known.tsv" not in without.out
    said = attlas(
        capfd, "ablate", "dev.tsv", "--task", "classification", "--model", "knows", "--out", "done", "--quiet"
    )
    assert LINE not in said.out
    told = " ".join(said.out.split())
    assert re.search(r"\d+ of 12 heads matter at p < 0.01 \(Holm's correction\) to the accuracy of", told)
    assert re.search(r"Most of all suffers layer \d of the encoder: with \d-\d alone", told)
    assert "rank correlation with the size of the change of loss" in told


def test_a_subject_that_is_trained_in_place_knows_how_it_stands(place: Path) -> None:
    model = load(place / "random", task_head="classification")
    assert isinstance(model, Subject)
    tuned = tune(model, documents(60, 3, known=False), "classification", epochs=1, only_head=True)
    assert tuned.record["warning"].startswith(LINE) == (tuned.record["standing"]["gain_low"] <= 0)
    assert tuned.record["standing"]["units"] == tuned.record["texts"]["held_out"]
