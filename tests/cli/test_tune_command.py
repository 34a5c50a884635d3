"""attlas tune from the command line: a model folder that any program loads, a run that survives a kill, and one
sentence where something does not fit."""

from __future__ import annotations

import json
import random
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from command_line import Apart, attlas, one_thread

import twins
from attlas import load
from attlas.run.tuning import tune
from attlas.store.tensors import load_arrays

WORDS = ("the", "old", "bridge", "near", "station", "children", "storm", "apples")


def table(count: int, seed: int = 0, *, pairs: bool = False) -> str:
    """A text is about the farmer or the engineer; of a pair, the second text is."""
    draw = random.Random(seed)
    rows = ["sentence1\tsentence2\tlabel" if pairs else "sentence\tlabel"]
    for _ in range(count):
        words, who = [draw.choice(WORDS) for _ in range(draw.randint(2, 7))], draw.choice(("farmer", "engineer"))
        words.insert(draw.randrange(len(words) + 1), who)
        rows.append("\t".join(([draw.choice(WORDS)] if pairs else []) + [" ".join(words), who]))
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    for folder, family, name in (
        ("bert", "bert", "BertModel"),
        ("gpt2", "gpt2", "GPT2LMHeadModel"),
        ("llama", "llama", "LlamaForCausalLM"),
        ("marian", "marian", "MarianMTModel"),
    ):
        torch.manual_seed(0)
        model = getattr(transformers, name)(twins.config(family))
        if family == "bert":
            twins.spread(model)
        if family in twins.CAUSAL:
            model.config.pad_token_id = None  # as GPT-2 and Llama come
        model.save_pretrained(made / folder)
        twins.tokenizer(family in twins.CAUSAL).save_pretrained(made / folder)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("train.tsv", table(120)),
        ("dev.tsv", table(40, seed=1)),
        ("pairs.tsv", table(60, pairs=True)),
        ("same.tsv", "sentence\tlabel\n" + "It rained.\tgood\n" * 20),
        ("other.tsv", "sentence\tlabel\nIt rained.\tbad\nWe slept.\tfarmer\n"),
        ("scale.tsv", "sentence\tlabel\n" + "".join(f"It rained.\t{n / 7:.2f}\n" for n in range(40))),
        ("plain.txt", "It rained.\n\nWe stayed in.\n\nNobody slept.\n\nThe storm was old.\n"),
        ("bitext.txt", "the old storm ||| la vieille tempête\nthe bridge ||| le pont\n" * 6),
        ("tags.conllu", "1\tstorm\t_\tNOUN\t_\t_\t0\troot\t_\t_\n2\tslept\t_\tVERB\t_\t_\t1\tdep\t_\t_\n\n" * 12),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_model_folder_that_any_program_loads(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(
        capfd, "tune", "train.tsv", "--task", "classification", "--validation", "dev.tsv", "--model",
        models / "bert", "--out", "out",
        "--epochs", 4, "--learning-rate", 3e-3, "--batch-size", 8, "--quiet",
    )  # fmt: skip
    assert (said.status, said.err) == (0, ""), said
    assert "learned from 120 texts of train.tsv, judged on 40 held out" in said.out
    assert "try: attlas ablate dev.tsv --task classification --model out" in said.out
    names = {path.name for path in Path("out").iterdir()}
    assert names >= {"config.json", "model.safetensors", "tokenizer.json", "training.json"}
    assert not any(name.endswith((".bin", ".pt", ".pkl")) or name.startswith((".", "checkpoint")) for name in names)
    record = json.loads(Path("out/training.json").read_text(encoding="utf-8"))
    assert record["labels"] == ["engineer", "farmer"]
    assert record["score"]["value"] > 0.85 > record["majority"]
    assert record["plan"]["corpus"]["name"] == "train.tsv"
    assert record["plan"]["corpus"]["validation"]["name"] == "dev.tsv"
    assert [row["epoch"] for row in record["curve"]] == list(range(len(record["curve"])))

    plain = transformers.AutoModelForSequenceClassification.from_pretrained("out").eval()
    ours = load("out", task_head="classification")
    assert plain.config.id2label == {0: "engineer", 1: "farmer"}
    assert "attlas" not in Path("out/config.json").read_text(encoding="utf-8")
    assert (ours.task_head, ours.missing, ours.labels) == ("classification", (), ("engineer", "farmer"))
    assert ours.fingerprint == record["fingerprint"]
    words = transformers.AutoTokenizer.from_pretrained("out")
    with torch.no_grad():
        expected = plain(**words("the old farmer near the station", return_tensors="pt")).logits
        found = ours.run(ours.batch(["the old farmer near the station"])).logits
    assert torch.allclose(found, expected, atol=1e-5)
    again = attlas(
        capfd, "tune", "train.tsv", "--task", "classification", "--validation", "dev.tsv", "--model",
        models / "bert", "--out", "out",
        "--epochs", 4, "--learning-rate", 3e-3, "--batch-size", 8, "--resume",
    )  # fmt: skip
    assert "the training was finished already" in again.err
    assert again.out == said.out
    as_json = attlas(
        capfd, "tune", "train.tsv", "--task", "classification", "--validation", "dev.tsv", "--model",
        models / "bert", "--out", "out",
        "--epochs", 4, "--learning-rate", 3e-3, "--batch-size", 8, "--resume", "--json",
    )  # fmt: skip
    assert json.loads(as_json.out) == {**record, "folder": "out"}


@pytest.mark.parametrize(
    ("task", "data", "model", "head"),
    [
        ("classification", "pairs.tsv", "bert", "classification"),
        ("classification", "train.tsv", "gpt2", "classification"),
        ("classification", "train.tsv", "llama", "classification"),
        ("tagging:upos", "tags.conllu", "bert", "tagging"),
        ("masked-lm", "plain.txt", "bert", "masked-lm"),
        ("causal-lm", "plain.txt", "gpt2", "causal-lm"),
        ("translation", "bitext.txt", "marian", "seq2seq"),
        ("similarity", "numbers.tsv", "bert", None),
    ],
)
def test_every_task(
    task: str, data: str, model: str, head: str | None, place: Path, models: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"the old storm\tthe {word}\t{n}\n" for n, word in enumerate(WORDS * 3))
    Path("numbers.tsv").write_text("sentence1\tsentence2\tscore\n" + rows, encoding="utf-8")
    said = attlas(
        capfd, "tune", data, "--task", task, "--model", models / model, "--out", "out", "--epochs", 1,
        "--learning-rate", 1e-3,
        "--batch-size", 16, "--quiet",
    )  # fmt: skip
    assert (said.status, said.err) == (0, ""), said
    subject = load("out", task_head=head)
    assert (subject.task_head, subject.missing) == (head, ())
    record = json.loads(Path("out/training.json").read_text(encoding="utf-8"))
    assert record["task"] == task
    assert record["curve"][1]["loss"] > 0
    if model in twins.CAUSAL:
        assert subject.model.config.pad_token_id is not None


def without_time(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    del read["started"], read["seconds"]
    return read


@pytest.mark.campaign
@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL")
def test_a_killed_run_goes_on_to_the_same_bits(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is killed in a process of its own and resumed in this one; one thread here as there."""
    asked = [
        "tune",
        "train.tsv",
        "--task",
        "classification",
        "--model",
        str(models / "bert"),
        "--epochs",
        "3",
        "--learning-rate",
        "1e-3",
    ]
    asked += ["--batch-size", "8", "--patience", "9", "--checkpoint-every", "0"]
    child = Apart(*asked, "--out", "torn")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not child.ended:
        state = load_arrays(Path("torn/checkpoint/training.safetensors"))
        if state is not None and state[1]["numbers"]["step"] > 16:
            break
        time.sleep(0.01)
    child.kill()
    assert [path.name for path in Path("torn").iterdir()] == ["checkpoint"]

    attlas(capfd, *asked, "--out", "torn", "-q").refuses("an earlier run was interrupted here", "--resume")
    attlas(capfd, *asked, "--out", "torn", "--resume", "-q", "--seed", "1").refuses(
        "another plan", "seed: was 0, is now 1"
    )
    with one_thread():
        resumed = attlas(capfd, *asked, "--out", "torn", "--resume")
        whole = attlas(capfd, *asked, "--out", "whole", "-q")
    assert (resumed.status, whole.status) == (0, 0), (resumed, whole)
    step = re.search(r"resuming after (\d+) of 42 steps", resumed.err)
    assert step is not None, resumed
    assert 16 < int(step[1]) < 42
    assert Path("torn/model.safetensors").read_bytes() == Path("whole/model.safetensors").read_bytes()
    assert without_time(Path("torn")) == without_time(Path("whole"))


def test_a_subject_is_trained_in_place(place: Path, models: Path) -> None:
    first = tune(models / "bert", "train.tsv", "classification", epochs=1, limit=40)
    before = first.subject.fingerprint
    second = tune(first.subject, "dev.tsv", "classification", epochs=1, learning_rate=1e-3)
    assert second.subject is first.subject
    assert second.folder is None
    assert second.subject.fingerprint != before
    assert second.record["plan"]["model"]["fingerprint"] == before


def test_a_head_of_other_labels_is_made_anew(place: Path, models: Path) -> None:
    tune(models / "bert", "train.tsv", "classification", epochs=1, out="one")
    Path("moods.tsv").write_text("sentence\tlabel\n" + "the storm\tbad\nthe bridge\tgood\n" * 10, encoding="utf-8")
    from attlas.models import open_to_train

    kept = open_to_train("one", task_head="classification", labels=["farmer", "engineer"])
    fresh = open_to_train("one", task_head="classification", labels=["bad", "good"])
    assert kept.model.config.id2label == {0: "engineer", 1: "farmer"}
    weights = [opened.model.state_dict() for opened in (kept, fresh, load("one", task_head="classification"))]
    head, pooler = "classifier.weight", "bert.pooler.dense.weight"
    assert torch.equal(weights[0][head], weights[2][head])
    assert fresh.model.config.id2label == {0: "bad", 1: "good"}
    assert not torch.equal(weights[1][head], weights[2][head])
    assert torch.equal(weights[1][pooler], weights[2][pooler])


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["sorting", "train.tsv"], ["there is no task 'sorting'", "classification"]),
        (["classification", "gone.tsv"], ["gone.tsv: there is no such file"]),
        (["classification", "plain.txt"], ["plain.txt: it has no labels of whole texts", "classification needs"]),
        (["tagging:upos", "train.tsv"], ["train.tsv: it has no upos"]),
        (["classification", "same.tsv"], ["same.tsv: all of its texts have the label 'good'", "needs two"]),
        (["classification", "scale.tsv"], ["scale.tsv: its ", "numbers on a scale", "similarity"]),
        (
            ["classification", "train.tsv", "--validation", "other.tsv"],
            ["other.tsv: its label 'bad'", "engineer, farmer"],
        ),
        (
            ["classification", "train.tsv", "--validation", "plain.txt"],
            ["plain.txt: it has no labels of whole texts"],
        ),
        (["similarity", "train.tsv"], ["train.tsv: it has no pairs of texts"]),
        (["causal-lm", "plain.txt"], ["bert cannot be put to the task causal-lm"]),
        (["classification", "train.tsv", "--only-head", "--learning-rate", "-1"], ["learning rate must be above 0"]),
        (["similarity", "pairs.tsv"], ["is no number, which the task similarity needs"]),
        (["classification", "train.tsv", "--dtype", "bfloat16", "--device", "cpu"], ["bfloat16 needs a GPU"]),
        (["classification", "train.tsv", "--dtype", "float16"], ["float32 or bfloat16, not in float16"]),
        (["classification", "train.tsv", "--score", "bleu"], ["cannot be scored by 'bleu'"]),
        (["classification", "train.tsv", "--out", "train.tsv"], ["a folder is needed, and this is a file"]),
        (["classification", "train.tsv", "--out", "full"], ["full: it holds letter.txt, which is no result"]),
        (["classification", "train.tsv", "--out", "done"], ["done: it holds a model", "another plan", "--out"]),
        (["classification", "train.tsv", "--label", "mood"], ["there is no column 'mood'"]),
    ],
)
def test_bad_input(
    arguments: list[str], phrases: list[str], place: Path, models: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("full").mkdir()
    Path("full/letter.txt").write_text("Dear", encoding="utf-8")
    Path("done").mkdir()
    Path("done/training.json").write_text(json.dumps({"plan": {"study": "tune", "seed": 7}}), encoding="utf-8")
    out = [] if "--out" in arguments else ["--out", "out"]
    task, data, *rest = arguments
    asked = ["tune", data, "--task", task, *rest, "--model", models / "bert", *out, "--quiet"]
    attlas(capfd, *asked).refuses(*phrases)
    assert not Path("out").exists()


def test_an_encoder_decoder_does_not_classify(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = ("tune", "train.tsv", "--task", "classification", "--model", models / "marian", "--out", "out", "--quiet")
    attlas(capfd, *asked).refuses("marian has an encoder and a decoder", "choose a model with only one of them")
