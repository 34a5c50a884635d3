"""attlas prune from the command line: a folder that is a result and a model, and one sentence when it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers
from command_line import attlas

import twins
from attlas.capture import load
from attlas.pages.laws import check_page
from attlas.store import Result
from attlas.studies.prune.call import prune
from attlas.studies.prune.page import PAGE

WORDS = ("The farmer slept.", "Nobody noticed the old bridge.", "It rained, and we stayed in.", "She asked him.")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    for folder, family, name in (
        ("classifier", "bert", "BertForSequenceClassification"),
        ("causal", "llama", "LlamaForCausalLM"),
        ("embedder", "bert", "BertModel"),
    ):
        torch.manual_seed(0)
        config = twins.config(family)
        if folder == "classifier":
            config.id2label, config.label2id = {0: "bad", 1: "good"}, {"bad": 0, "good": 1}
        model = getattr(transformers, name)(config)
        twins.spread(model)
        model.save_pretrained(made / folder)
        twins.tokenizer(family in twins.CAUSAL).save_pretrained(made / folder)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"{text}\t{('bad', 'good')[number % 2]}" for number, text in enumerate(WORDS * 2)]
    (tmp_path / "labels.tsv").write_text("\n".join(["sentence\tlabel", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "prose.txt").write_text("\n\n".join(WORDS), encoding="utf-8")
    return tmp_path


def test_a_folder_is_a_result_and_a_model(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(
        capfd, "prune", "labels.tsv", "--task", "classification", "--model", models / "classifier", "--keep", ".5",
        "--steps", "4", "--no-speed", "--out", "out", "--retune", "labels.tsv", "--quiet", "--save",
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    told = " ".join(said.out.split())
    assert "passages, 33 pieces The model has not shown that it can do this task: its accuracy" in told  # by chance
    assert "The smaller model was written because it was asked for." in told
    assert "With heads removed" not in told
    assert "The smaller model has 6 of 12 heads" in told
    assert "only attlas.load opens it" in told
    result = Result.open("out")
    assert list(result.tables) == ["curve", "shares", "order", "whole", "sizes"]
    check_page(PAGE, result)
    curve = result.tables["curve"].to_pylist()
    assert {(row["order"], row["draw"]) for row in curve} == {("importance", 0), ("loss", 0)} | {
        ("random", draw) for draw in range(3)
    }
    assert [row["units"] for row in curve if row["order"] == "loss"] == [0, 3, 6, 9, 12]
    ends = {(row["score"], row["loss"]) for row in curve if row["units"] in (0, 12)}
    assert len(ends) == 2  # all curves begin and end in the same models
    whole, cut, retuned = result.tables["sizes"].to_pylist()
    assert (whole["heads"], cut["heads"], retuned["stage"]) == (12, 6, "retuned")
    assert cut["difference"] < 1e-5
    assert cut["file"] < whole["file"]
    half = next(row for row in curve if row["order"] == "importance" and row["units"] == 6)
    assert (cut["score"], cut["loss"]) == (half["score"], half["loss"])
    smaller = load("out", task_head="classification")
    gone = [row["head"] in smaller.kept[site] for row in result.tables["order"].to_pylist() for site in smaller.sites
            if (site.stream.value, site.layer) == (row["stream"], row["layer"])]  # fmt: skip
    assert gone == [not row["cut"] for row in result.tables["order"].to_pylist()]
    assert not [path.name for path in (place / "out").iterdir() if path.name.startswith(".")]
    assert attlas(capfd, "doctor", "out").status == 0
    assert attlas(capfd, "view", WORDS[0], "--model", "out", "--out", "page.html").status == 0


def test_a_layer_that_loses_all_heads_is_told_of(
    place: Path, models: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = attlas(
        capfd, "prune", "labels.tsv", "--task", "classification", "--model", models / "classifier", "--no-speed",
        "--heads", "3-1,3-2,3-3,3-4", "--out", "out", "--retune", "labels.tsv", "--quiet", "--save",
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    again = load("out", task_head="classification")
    assert not again.layout.projections[again.sites[2]].weight.any()  # no head comes back by training again
    assert "1 layer has lost all heads: attention there adds its output bias and nothing else" in " ".join(
        said.out.split()
    )


def test_groups_go_whole_and_evenly(place: Path, models: Path) -> None:
    subject = load(models / "causal", task_head="causal-lm")
    result = prune(
        subject, place / "prose.txt", "causal-lm", by="importance", steps=2, keep=0.5, even=True, speed=False,
        out=place / "out", save=True,
    )  # fmt: skip
    rows = result.tables["order"].to_pylist()
    assert [row["unit"] for row in rows] == [number // 2 for number in range(12)]
    assert all(one["cut"] == other["cut"] for one, other in zip(rows[::2], rows[1::2], strict=True))
    assert [sum(row["cut"] for row in rows if row["layer"] == layer) for layer in range(3)] == [2, 2, 2]
    assert result.tables["sizes"].to_pylist()[1]["plain"] is True
    assert transformers.AutoModelForCausalLM.from_pretrained(place / "out").config.num_attention_heads == 2


def test_named_heads_are_removed_and_speed_is_measured(place: Path, models: Path) -> None:
    subject = load(models / "classifier", task_head="classification")
    result = prune(subject, place / "labels.tsv", "classification", heads=["1-1", "2-3", "3-1", "3-2", "3-3", "3-4"])
    assert list(result.tables) == ["order", "whole", "sizes", "speed"]
    check_page(PAGE, result)
    cut = {(row["layer"], row["head"]) for row in result.tables["order"].to_pylist() if row["cut"]}
    assert cut == {(0, 0), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3)}
    sizes = result.tables["sizes"].to_pylist()[1]
    assert (sizes["heads"], sizes["silent_layers"], sizes["plain"]) == (6, 1, False)
    speed = result.tables["speed"].to_pylist()
    assert [(row["batch"], row["length"]) for row in speed[:4]] == [(1, 32), (8, 32), (64, 32), (1, 128)]
    assert speed[0]["whole"] > 0
    assert speed[-1]["reason"] == "longer than the window of 128 pieces"


def test_an_interrupted_run_goes_on_to_the_same_numbers(
    place: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from attlas.studies.shared.cutting.removal import Removal

    def run(out: str, **options: object) -> Result:
        subject = load(models / "classifier", task_head="classification")
        return prune(
            subject, place / "labels.tsv", "classification", steps=3, keep=0.6, speed=False, out=place / out,
            budget=16, checkpoint_every=0, save=True, **options,
        )  # fmt: skip

    expected = run("whole")
    update, calls = Removal.update, []

    def stop(self: Removal, *args: object) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        update(self, *args)

    monkeypatch.setattr(Removal, "update", stop)
    with pytest.raises(KeyboardInterrupt):
        run("out")
    resumed = run("out", resume=True)
    for name in ("curve", "shares", "order"):
        assert resumed.tables[name].equals(expected.tables[name]), name
    assert load(place / "out").kept == load(place / "whole").kept


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["classification", "labels.tsv", "--heads", "4-1"], ["there is no head 4-1"]),
        (["classification", "labels.tsv", "--keep", "1.5"], ["from 0 up to", "1.5"]),
        (["classification", "labels.tsv", "--keep", ".5", "--heads", "1-1"], ["but not both"]),
        (["classification", "labels.tsv", "--by", "age"], ["importance, loss, score or both", "'age'"]),
        (["classification", "labels.tsv", "--choose-on", "labels.tsv"], ["the very texts that are scored"]),
        (["classification", "labels.tsv", "--retune", "labels.tsv"], ["nothing to train again"]),
        (["classification", "labels.tsv", "--keep", ".5", "--retune", "prose.txt"], ["no labels of whole texts"]),
        (["classification", "labels.tsv", "--ablation", "nowhere"], ["there is no such folder"]),
        (["classification", "prose.txt"], ["no labels of whole texts"]),
        (["tagging:upos", "sample"], ["are not those that the head of classifier knows"]),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    arguments: list[str], phrases: list[str], place: Path, models: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    task, data, *rest = arguments
    asked = ["prune", data, "--task", task, *rest, "--model", models / "classifier", "--out", "out", "--quiet"]
    said = attlas(capfd, *asked)
    said.refuses(*phrases)
    assert not (place / "out").exists()


def test_half_a_group_is_refused(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(
        capfd,
        "prune",
        "prose.txt",
        "--task",
        "causal-lm",
        "--model",
        models / "causal",
        "--heads",
        "2-1",
        "--out",
        "o",
    )
    said.refuses("heads 2-1, 2-2 of the decoder share their keys and values", "name all of them or none")
