"""attlas keywords tune from the command line: taggers, curves and scores in one folder, a run that goes on after it
was stopped, and one sentence where something does not fit."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch
import transformers
from command_line import attlas

import twins
from attlas.capture import load
from attlas.corpora import read
from attlas.store import Result
from attlas.studies.keywords_tune.call import keywords_tune
from attlas.studies.keywords_tune.tagged import phrases_of, tag_documents
from attlas.studies.shared.cutting.removal import Removal
from attlas.studies.shared.keywords.scoring import given_in
from attlas.tasks import Tagging

WORDS = ("the", "near", "station", "children", "apples", "asked", "bridge")
SMALL = ("--epochs", 2, "--learning-rate", 6e-3, "--batch-size", 4, "--steps", 4)


def abstracts(count: int, seed: int = 0) -> str:
    """Texts in which "old" and the word after it are the key phrase; one more stands nowhere."""
    draw = random.Random(seed)
    lines = []
    for number in range(count):
        words = [draw.choice(WORDS) for _ in range(draw.randint(4, 9))]
        what = draw.choice(("bridge", "storm", "farmer"))
        place = draw.randrange(len(words) + 1)
        words[place:place] = ["old", what]
        lines.append(json.dumps({"id": str(number), "text": " ".join(words), "keyphrases": [f"Old {what}s", "moon"]}))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models") / "bert"
    torch.manual_seed(0)
    transformers.BertModel(twins.config("bert")).save_pretrained(made)
    twins.tokenizer(causal=False).save_pretrained(made)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for seed, (name, count) in enumerate((("train", 60), ("dev", 12), ("test", 12))):
        (tmp_path / f"{name}.jsonl").write_text(abstracts(count, seed), encoding="utf-8")
    (tmp_path / "absent.jsonl").write_text('{"text": "It rained.", "keyphrases": ["moon"]}\n', encoding="utf-8")
    (tmp_path / "plain.txt").write_text("It rained.\n", encoding="utf-8")
    return tmp_path


def test_taggers_curves_and_scores(place: Path, model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "test.jsonl").write_text(
        abstracts(12, 2) + '{"text": "It rained.", "keyphrases": []}\n', encoding="utf-8"
    )
    said = attlas(
        capfd, "keywords", "tune", "train.jsonl", "--validation", "dev.jsonl", "--test", "test.jsonl", "--model",
        model, "--keep", ".25", "--retune", "--out", "out", "--quiet", *SMALL,
    )  # fmt: skip
    assert (said.status, said.err) == (0, ""), said
    assert "note: test texts without a key phrase: 1" in said.out
    result = Result.open("out")
    assert list(result.tables) == ["scores", "ablation", "curve", "training", "whole"]
    scores = {(row["stage"], row["unit"], row["at"], row["gold"]): row for row in result.rows("scores")}
    tuned = scores["tuned", "phrases", "M", "all"]
    assert 0.4 < tuned["f1"] <= 2 / 3  # every second phrase stands nowhere
    assert scores["tuned", "phrases", "M", "present"]["f1"] > 0.6
    assert (tuned["published"], scores["pruned", "phrases", "M", "all"]["published"]) == (0.36, 0.37)
    assert {row["stage"] for row in result.rows("scores")} == {"tuned", "pruned", "retuned"}
    assert [(row["stage"], row["heads"], row["kept"]) for row in result.rows("whole")] == [
        ("tuned", 12, 1.0), ("pruned", 3, 0.25), ("retuned", 3, 0.25)
    ]  # fmt: skip
    curve = {(row["order"], row["draw"], row["removed"]): row for row in result.rows("curve")}
    assert {order for order, _, _ in curve} == {"importance", "worst first", "best first", "random"}
    assert curve["worst first", 0, 0]["score"] == pytest.approx(scores["tuned", "spans", "", ""]["f1"])
    assert curve["worst first", 0, 9]["score"] == pytest.approx(scores["pruned", "spans", "", ""]["f1"])
    assert curve["worst first", 0, 3]["score"] >= curve["best first", 0, 3]["score"]
    ablation = sorted(result.rows("ablation"), key=lambda row: row["rank"])
    assert [row["change"] for row in ablation] == sorted(row["change"] for row in ablation)
    assert {path.name for path in Path("out").iterdir() if path.is_dir()} == {
        "model", "ablation", "removal", "pruned", "retuned"
    }  # fmt: skip
    assert all(Path("out", part, "report.html").exists() for part in ("ablation", "removal"))

    smaller = load("out/pruned", task_head="tagging")
    assert sum(map(len, smaller.kept.values())) == 3
    documents = [document for document in read("test.jsonl").documents if document.keyphrases]
    wanted = [given_in(document).all for document in documents]
    for stage, folder in (("tuned", "model"), ("pruned", "pruned"), ("retuned", "retuned")):
        tagged = tag_documents(Tagging(load(f"out/{folder}", task_head="tagging"), "keyphrases"), documents)
        found = [phrases_of(document, each) for document, each in zip(documents, tagged, strict=True)]
        common = sum(len({p.stems for p in one} & set(given)) for one, given in zip(found, wanted, strict=True))
        total = sum(len({p.stems for p in one}) + len(given) for one, given in zip(found, wanted, strict=True))
        assert scores[stage, "phrases", "M", "all"]["f1"] == pytest.approx(2 * common / total), stage


@pytest.mark.campaign
def test_a_stopped_run_goes_on_to_the_same_numbers(
    place: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(out: str | None, **more: object) -> Result:
        parts = {"validation": "dev.jsonl", "test": "test.jsonl"}
        return keywords_tune(model, "train.jsonl", **parts, epochs=1, steps=2, budget=64, out=out, **more)

    expected = run(None)
    assert [row["chosen"] for row in expected.rows("choosing")].count(True) == 1
    update, calls = Removal.update, []

    def stop(self: Removal, *args: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        update(self, *args)

    monkeypatch.setattr(Removal, "update", stop)
    with pytest.raises(KeyboardInterrupt):
        run("out")
    assert [path.name for path in Path("out").iterdir()] == [".parts"]
    before = (place / "out/.parts/model/model.safetensors").stat().st_mtime_ns
    common = ("keywords", "tune", "train.jsonl", "--validation", "dev.jsonl", "--test", "test.jsonl")
    common += ("--model", model, "--epochs", 1, "--steps", 2, "--budget", 64, "--device", "cpu", "--out", "out")
    common += ("--quiet",)
    attlas(capfd, *common).refuses("an earlier run was interrupted here", "--resume")
    attlas(capfd, *common, "--keep", ".5", "--resume").refuses("another plan", "keep: was null, is now 0.5")
    resumed = run("out", resume=True)
    assert (place / "out/model/model.safetensors").stat().st_mtime_ns == before
    for name in expected.manifest.tables:
        assert resumed.tables[name].equals(expected.tables[name]), name
    assert not [path for path in Path("out").iterdir() if path.name.startswith((".", "checkpoint"))]
    assert run("out", resume=True).tables["scores"].equals(expected.tables["scores"])


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["plain.txt"], ["plain.txt", "it has no key phrases", "JSON lines"]),
        (["absent.jsonl"], ["absent.jsonl", "no key phrase occurs in any of its texts"]),
        (["train.jsonl", "--validation", "absent.jsonl"], ["absent.jsonl", "no key phrase occurs"]),
        (["train.jsonl", "--test", "absent.jsonl"], ["absent.jsonl", "no key phrase occurs"]),
        (["train.jsonl", "--validation", "train.jsonl"], ["train.jsonl holds the very texts of train"]),
        (["train.jsonl", "--keep", "1"], ["from 0 up to, but not, 1"]),
        (["train.jsonl", "--max-pieces", "600"], ["600 pieces are asked for", "holds 128"]),
        (["nowhere.jsonl"], ["there is no such file"]),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    arguments: list[str], phrases: list[str], place: Path, model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    attlas(capfd, "keywords", "tune", *arguments, "--model", model, "--out", "out", "--quiet").refuses(*phrases)
    assert not Path("out").exists()


@pytest.mark.parametrize("command", ["tune", "ablate", "importance", "faith"])
def test_key_phrases_are_a_task_like_any_other(
    command: str, place: Path, model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = attlas(capfd, command, "absent.jsonl", "--task", "tagging:keyphrases", "--out", "out", "--quiet")
    said.refuses("absent.jsonl: no key phrase occurs in any of its texts")
