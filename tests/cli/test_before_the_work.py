"""What a run could not use in the end is refused before the model is opened, in one sentence, and leaves nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from command_line import attlas

import twins
from attlas import capture
from attlas.errors import PlanError
from attlas.studies.translate_train.call import translate_train
from attlas.whole import write_whole

WRITES = ["survey", "relations", "importance", "prune", "faith"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, where no model can be opened."""

    def opened(*name: Any, **how: Any) -> Any:
        raise AssertionError(f"a model was opened: {name}")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(capture, "load", opened)
    return tmp_path


@pytest.mark.parametrize("seed", ["-1", str(2**63), "1" + "0" * 30])
@pytest.mark.parametrize("command", [["survey", "sample"], ["prune", "sample"], ["demo"]])
def test_seeds(place: Path, capfd: pytest.CaptureFixture[str], command: list[str], seed: str) -> None:
    attlas(capfd, *command, "--seed", seed).refuses(
        "a seed is a whole number from 0 to 9223372036854775807", "--seed"
    )
    assert not list(place.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="names are not bytes there")
@pytest.mark.parametrize("arguments", [["survey", "\udcff.txt"], ["view", "a", "--out", "\udcff.html"]])
def test_names_that_are_not_utf8(place: Path, capfd: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    (place / "\udcff.txt").write_text("The farmer slept.")
    attlas(capfd, *arguments).refuses("is not UTF-8", "rename it")
    assert len(list(place.iterdir())) == 1


@pytest.mark.parametrize("command", WRITES)
@pytest.mark.parametrize(("out", "phrase"), [("a" * 300, "too long"), ("/proc/attlas/out", "cannot be written")])
def test_places_of_results(
    place: Path, capfd: pytest.CaptureFixture[str], command: str, out: str, phrase: str
) -> None:
    if out.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("no such place here")
    attlas(capfd, command, "sample", "--out", out).refuses(phrase, "choose another --out")
    assert not list(place.iterdir())


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a folder that one may not enter")
def test_a_folder_that_one_may_not_enter(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "closed").mkdir(mode=0)
    attlas(capfd, "survey", "sample", "--out", "closed/out").refuses("Permission denied", "choose another --out")
    attlas(capfd, "view", "a", "--out", "closed/a.html").refuses("Permission denied", "choose another --out")


def test_pages(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    attlas(capfd, "view", "Hi.", "--out", "a" * 300 + ".html").refuses("too long", "choose another --out")
    attlas(capfd, "view", "Hi.", "--out", place).refuses("is a folder; give the name of a file")
    assert not list(place.iterdir())


@pytest.mark.parametrize("text", [[""], [" \n"], ["--file", os.devnull]])
def test_texts_without_a_word(capfd: pytest.CaptureFixture[str], text: list[str]) -> None:
    attlas(capfd, "view", *text).refuses("the text is empty; give at least one word")


@pytest.mark.parametrize(
    "command", [["survey", "sample"], ["tune", "sample"], ["doctor"], ["view", "Hi."], ["serve"]]
)
def test_devices(place: Path, capfd: pytest.CaptureFixture[str], command: list[str]) -> None:
    attlas(capfd, *command, "--device", "foo").refuses("there is no device 'foo'; try cpu")
    assert not list(place.iterdir())


def test_how_every_model_is_to_be_opened(capfd: pytest.CaptureFixture[str]) -> None:
    """A server that was told no model opens none until it is asked to."""
    attlas(capfd, "serve", "--dtype", "foo").refuses("no number format 'foo'; try float32")
    attlas(capfd, "serve", "--dtype", "int8").refuses("attention cannot be measured in int8")
    attlas(capfd, "serve", "--device-map", "\u202eabc").refuses("there is no device map")


def test_the_system_refusing_is_one_sentence(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a disk is full."""

    def full(*name: Any, **how: Any) -> Any:
        raise OSError(28, "No space left on device", str(place / "model.safetensors"))

    monkeypatch.setattr(capture, "load", full)
    attlas(capfd, "survey", "sample").refuses("model.safetensors", "No space left on device")


def test_a_full_disk_tells_the_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*page\.html"):
        write_whole(place / "page.html", "<p>")
    assert not list(place.iterdir())


@pytest.fixture
def models(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small model that can be opened again."""
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))
    return tmp_path_factory.mktemp("models")


def test_a_training_that_diverges(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    twins.model("bert").save_pretrained(models)
    twins.tokenizer(False).save_pretrained(models)
    Path("texts.tsv").write_text("sentence\tlabel\n" + "a good film\t1\na bad film\t0\n" * 20)
    said = attlas(
        capfd, "tune", "texts.tsv", "--task", "classification", "--model", models, "--learning-rate", "1e30",
        "--epochs", "2", "--out", "out", "-q",
    )  # fmt: skip
    said.refuses("the training diverged", "train at a lower rate (--learning-rate)")


@pytest.mark.parametrize("command", [["norms"], ["noop", "--task", "causal-lm"]])
def test_texts_of_letters_without_width(models: Path, capfd: pytest.CaptureFixture[str], command: list[str]) -> None:
    import transformers

    transformers.GPT2LMHeadModel(twins.config("gpt2")).save_pretrained(models)
    twins.tokenizer(True).save_pretrained(models)
    Path("thin.txt").write_text("\u200b\u200c \u200d\n\n\u200b\u200b \u200b\n", encoding="utf-8")
    said = attlas(capfd, *command, "thin.txt", "--model", models, "--out", "out", "-q")
    assert "Traceback" not in said.err
    assert (said.status == 0) == Path("out/report.html").exists() == Path("out/manifest.json").exists(), said


@pytest.mark.parametrize(
    ("command", "phrase"),
    [
        (["coref", "sample", "--measure", "length"], "there is no measure 'length'"),
        (["keywords", "sample", "--measure", "length"], "there is no measure 'length'"),
        (["keywords", "sample", "--over", "sum"], "taken over queries by 'sum'"),
        (["keywords", "sample", "--top", "0"], "at least one phrase"),
        (["keywords", "study", "sample", "--kind", "mean"], "'mean' is no kind of attention"),
        (["keywords", "compare", "sample", "--methods", "first,magic"], "there is no method 'magic'"),
        (["survey", "sample", "--long", "away"], "long texts cannot be dealt with by 'away'"),
        (["ablate", "sample", "--task", "tagging:upos", "--score", "bleu"], "cannot be scored by 'bleu'"),
        (["tune", "sample", "--task", "tagging:upos", "--score", "bleu"], "cannot be scored by 'bleu'"),
        (["ablate", "sample", "--heads", "third"], "'third' does not name a head"),
        (["norms", "sample", "--heads", "3-1,\u200b"], "does not name a head"),
        (["align", "pairs.txt", "--head", "6"], "'6' does not name a head"),
        (["align", "pairs.txt", "--layer", "last"], "'last' does not name a layer"),
        (["align", "pairs.txt", "--side", "left"], "there is no side 'left'"),
        (["align", "pairs.txt", "--stream", "decoder"], "decoder attention joins no two sentences"),
        (["align", "pairs.txt", "--pharaoh", "/proc/links"], "choose another --pharaoh"),
        (["align", "pairs.txt", "--direction", "up"], "there is no direction 'up'"),
        (["faith", "sample", "--erase", "burn"], "words cannot be erased by 'burn'"),
        (["view", "Hi.", "--layers", "all"], "'all' does not name a layer"),
        (["view", "Hi.", "--heads", "x"], "'x' does not name a head"),
        (["view", "Hi.", "--reckoned", "--rows", "5000-5200"], "'5000-5200' does not name rows"),
        (["view", "Hi.", "--reckoned", "--rows", "9..3"], "ends before it begins"),
        (["view", "Hi.", "--rows", "3"], "--rows belongs to --reckoned"),
        (["view", "Hi.", "--survey", "nowhere"], "nowhere: there is no such folder"),
        (["view", "Hi.", "--atlas", "nowhere"], "nowhere: there is no such folder"),
        (["tune", "sample", "--learning-rate", "nan"], "nan is no number to work with"),
        (["tune", "sample", "--batch-size", "1" + "0" * 30], "nothing can be counted so far"),
        (["parse", "word.conllu"], "no sentence has a word with a governor to find"),
    ],
)
def test_words_and_numbers(place: Path, capfd: pytest.CaptureFixture[str], command: list[str], phrase: str) -> None:
    """What no model could make sense of."""
    (place / "pairs.txt").write_text("It rains . ||| Es regnet .\n")
    (place / "word.conllu").write_text("1\tRain\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n")
    attlas(capfd, *command).refuses(phrase)
    assert len(list(place.iterdir())) == 2


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2Ja", "\u202ea", "\u200b"])
def test_names_that_would_move_the_cursor(capfd: pytest.CaptureFixture[str], name: str) -> None:
    said = attlas(capfd, "survey", f"{name}.txt")
    said.refuses("there is no such file")
    assert said.err.rstrip("\n").isprintable()


def test_a_sentence_is_no_longer_than_anybody_reads(capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "survey", "sample", "--format", "x" * 100_000)
    said.refuses("xxx ... ", "conllu")
    assert len(said.err) < 2000


@pytest.mark.parametrize("option", ["--width", "--ffn", "--vocabulary", "--layers", "--heads"])
def test_sizes_that_no_model_has(capfd: pytest.CaptureFixture[str], option: str) -> None:
    """Which ended in an overflow of the arithmetic library."""
    said = attlas(capfd, "translate-train", "pairs.txt", option, str(2**62))
    assert said.status == 2
    assert f"Error: Invalid value for '{option}'" in said.err
    with pytest.raises(PlanError, match=f"{option} is too large"):
        translate_train("pairs.txt", **{option.removeprefix("--"): 2**62})
