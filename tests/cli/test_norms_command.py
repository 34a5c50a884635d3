"""attlas norms from the command line: what it says when all is well, one sentence when not, and going on after a
kill."""

from __future__ import annotations

from pathlib import Path

import pytest
import transformers
from command_line import attlas

import twins
from attlas.run import local
from attlas.store import Result
from attlas.studies.norms.call import norms

PROSE = "The farmer slept, and rain fell.\n\nNobody noticed the old bridge.\n\nIt rained, and we stayed in.\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    for folder, family, name in (
        ("encoder", "bert", "BertModel"),
        ("causal", "gpt2", "GPT2LMHeadModel"),
        ("odd", "gemma2", "Gemma2ForCausalLM"),
        ("translator", "marian", "MarianMTModel"),
    ):
        getattr(transformers, name)(twins.config(family)).save_pretrained(made / folder)
        twins.tokenizer(family in twins.CAUSAL).save_pretrained(made / folder)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prose.txt").write_text(PROSE, encoding="utf-8")
    (tmp_path / "empty.txt").write_text("", encoding="utf-8")
    (tmp_path / "pairs.txt").write_text("the cat . ||| le chat .\nit slept ||| il dort\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("model", "corpus", "streams", "note"),
    [
        ("encoder", "prose.txt", {"encoder"}, ""),
        ("odd", "prose.txt", {"decoder"}, "mixing ratios: what its attention is added to was not found"),
        ("translator", "pairs.txt", {"encoder", "decoder", "cross"}, ""),
    ],
)
def test_every_kind_of_model(
    model: str, corpus: str, streams: set[str], note: str, place: Path, models: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    said = attlas(capfd, "norms", corpus, "--model", models / model, "--single", "--out", "out", "--quiet")
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines()[-1] == "report: out/report.html"
    words = " ".join(said.out.split())
    assert "are negatively related" in words
    assert note in words
    result = Result.open(place / "out")
    assert set(result.tables["norms"].column("stream").to_pylist()) == streams
    assert ("mixing" in result.tables) is (model != "odd")
    for name in ("norms", "norms_layers", "spearman", "mixing"):
        if name in result.tables:
            twin = "twin_weight" if name.startswith("norms") else "twin"
            assert any(value is not None for value in result.tables[name].column(twin).to_pylist()), name


@pytest.mark.parametrize(
    ("model", "corpus", "options", "phrases"),
    [
        ("encoder", "empty.txt", [], ["empty.txt"]),
        ("encoder", "prose.txt", ["--heads", "9-1"], ["no head 9-1", "3 layers of 4 heads"]),
        ("encoder", "prose.txt", ["--heads", "third"], ["'third'", "layer and head counted from 1"]),
        ("translator", "pairs.txt", ["--heads", "1-1"], ["may be in encoder", "cross 1-1"]),
        ("encoder", "prose.txt", ["--max-pieces", "4000"], ["window"]),
        ("causal", "prose.txt", ["--pairs"], ["takes no sentence pairs"]),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    model: str, corpus: str, options: list[str], phrases: list[str], place: Path, models: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    said = attlas(capfd, "norms", corpus, "--model", models / model, "--out", "out", "--quiet", *options)
    said.refuses(*phrases)
    assert not (place / "out").exists()


@pytest.mark.campaign
def test_a_killed_run_goes_on_to_the_same_numbers(
    place: Path, models: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("norms", "prose.txt", "--model", models / "encoder", "--single", "--budget", "12", "--quiet")
    whole = norms(str(models / "encoder"), place / "prose.txt", pairs=False, budget=12, out="whole")
    saved, kept = [], local.save_checkpoint

    def save(*args: object, **kwargs: object) -> None:
        kept(*args, **kwargs)
        saved.append(args[-1])
        if len(saved) == 5:  # three batches of the model, and two of its twin
            raise KeyboardInterrupt

    monkeypatch.setattr(local, "save_checkpoint", save)
    attlas(capfd, *command, "--out", "half", "--checkpoint-every", "0")
    assert saved[:5] == ["", "", "", "untrained", "untrained"]
    assert not (place / "half" / "manifest.json").exists()
    monkeypatch.undo()
    monkeypatch.chdir(place)
    assert attlas(capfd, *command, "--out", "half", "--resume").status == 0
    one, other = Result.open(place / "whole"), Result.open(place / "half")
    assert one.manifest.plan == other.manifest.plan == whole.manifest.plan
    assert list(one.tables) == list(other.tables)
    for name in one.tables:
        assert one.tables[name].equals(other.tables[name]), name
