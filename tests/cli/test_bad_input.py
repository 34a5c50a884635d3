"""Whatever a person does wrong ends as one sentence, with nothing half done left behind."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import attlas

import twins
from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.studies.survey.passes import Survey

PROSE = "The farmer slept.\n\nNobody noticed the old bridge.\n\nIt rained.\n\nWe stayed in.\n"
LONG = "The farmer asked the designer what she was working on. " * 40


def save(folder: Path, family: str, model: Any = None, tokenizer: Any = None) -> None:
    (twins.model(family) if model is None else model).save_pretrained(folder)
    (tokenizer or twins.tokenizer(family in twins.CAUSAL)).save_pretrained(folder)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of twins: sound ones, and some with a fault each."""
    from transformers import ByT5Tokenizer

    made = tmp_path_factory.mktemp("models")
    save(made / "bert", "bert")
    save(made / "gpt2", "gpt2")
    save(made / "slow", "bert", tokenizer=ByT5Tokenizer())
    twins.model("bert").save_pretrained(made / "mute")
    for name, layer in (("nan", 1), ("hidden-nan", 2)):
        damaged: Any = twins.model("bert")
        with torch.no_grad():
            if name == "nan":
                damaged.encoder.layer[layer].attention.self.query.weight[0, 0] = float("nan")
            else:  # after the last attention, where no weight of attention shows it
                damaged.encoder.layer[layer].output.dense.weight[0, 0] = float("nan")
        save(made / name, "bert", damaged)
    (made / "empty").mkdir()
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with one good text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.txt").write_text(PROSE, encoding="utf-8")
    return tmp_path


def survey(capfd: pytest.CaptureFixture[str], corpus: str, model: Path, *options: object) -> Any:
    return attlas(capfd, "survey", corpus, "--model", model, "--out", "out", "--quiet", *options)


def test_the_good_text_is_fine(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Else the refusals below might have another reason."""
    said = survey(capfd, "good.txt", models / "bert")
    assert (said.status, said.err) == (0, "")
    assert (place / "out" / "heads.parquet").exists()


@pytest.mark.parametrize(
    ("model", "phrases"),
    [
        ("mute", ["mute has no tokenizer", "put its tokenizer files beside config.json"]),
        ("slow", ["slow has only a slow tokenizer (ByT5Tokenizer)", "use a model with a fast tokenizer"]),
        ("nan", ["NaN", "nan (encoder.layer.1.attention.self.query.weight)", "get an undamaged copy"]),
        ("hidden-nan", ["NaN", "hidden-nan (encoder.layer.2.output.dense.weight)", "get an undamaged copy"]),
        ("empty", ["empty is not a model folder: it has no config.json;", "give a folder"]),
    ],
)
def test_models(
    place: Path, models: Path, capfd: pytest.CaptureFixture[str], model: str, phrases: Sequence[str]
) -> None:
    survey(capfd, "good.txt", models / model).refuses(*phrases)
    attlas(capfd, "doctor", models / model).refuses(*phrases)
    assert not (place / "out").exists()


def test_an_unknown_model(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = survey(capfd, "good.txt", Path("nobody/knows-this"))
    said.refuses("no model 'nobody/knows-this'", "check the spelling, or give the path of a folder")
    assert not (place / "out").exists()


def test_a_private_softmax_is_named_as_the_reason() -> None:
    subject = Subject.of(twins.model("mpnet"), twins.tokenizer(False), "mpnet")
    with pytest.raises(CapabilityError) as error:
        subject.require("queries and keys")
    assert "\n" not in str(error.value)
    assert "mpnet: this family keeps its softmax private" in str(error.value)
    Subject.of(twins.model("bert"), twins.tokenizer(False)).require("queries and keys")


def row(number: int, governor: int, columns: int = 10) -> str:
    relation = "dep" if governor else "root"
    return "\t".join([str(number), "word", "word", "NOUN", "_", "_", str(governor), relation, "_", "_"][:columns])


CORPORA: dict[str, tuple[str, str | bytes, list[str]]] = {
    "empty": ("a.txt", "", ["a.txt: there are no words in this file"]),
    "blank lines": ("a.txt", "\n  \n\t\n\r\n", ["a.txt: there are no words in this file"]),
    "binary": ("a.txt", bytes(range(256)), ["a.txt: this is a binary file", "a corpus is text in UTF-8"]),
    "Latin-1": ("a.txt", b"one\ncaf\xe9\n", ["a.txt, line 2: byte 0xe9 is not UTF-8", "convert the file to UTF-8"]),
    "UTF-16": ("a.txt", "Hi.".encode("utf-16"), ["a.txt: this is text in UTF-16", "convert it to UTF-8"]),
    "a zip archive": ("a.zip", b"PK\x03\x04 and more", ["a.zip: this is a zip archive", "unpack it"]),
    "gzip cut short": ("a.gz", gzip.compress(PROSE.encode())[:-9], ["a.gz: the gzip data is damaged", "again"]),
    "JSON": ("a.json", '{"a": 1}\n', ["a.json: this looks like JSON", "name one of them to read it anyway"]),
    "a table": ("a.tsv", "a\tb\n" * 5, ["a.tsv: this looks like a table of 2 columns", "name one of them"]),
    "prose as CoNLL-U": (
        "a.conllu",
        PROSE,
        ["a.conllu: the ending promises conllu", "plain text", "name its format"],
    ),
    "column count": ("a.conllu", f"{row(1, 0)}\n{row(2, 1, 9)}\n", ["a.conllu, line 2: 9 columns", "has 10"]),
    "governor out of range": (
        "a.conllu",
        f"{row(1, 0)}\n{row(2, 9)}\n",
        ["a.conllu, line 2: the governor 9 is outside this 2-word sentence"],
    ),
    "cycle": ("a.conllu", f"{row(1, 0)}\n{row(2, 3)}\n{row(3, 2)}\n", ["a.conllu, line 2", "a cycle: 2, 3"]),
    "no root": ("a.conllu", f"{row(1, 2)}\n{row(2, 1)}\n", ["a.conllu, line 1", "no root"]),
    "a sentence without words": (
        "a.conllu",
        f"{row(1, 0)}\n\n# sent_id = 2\n# text = \n\n",
        ["a.conllu, line 5", "has no words; leave it out"],
    ),
    "a document without words": (
        "a.jsonl",
        '{"text": "Hi there.", "keyphrases": []}\n{"text": " ", "keyphrases": []}\n',
        ["a.jsonl, line 2", "has no words; leave it out"],
    ),
    "half a pair": ("a.txt", "the house ||| das Haus\nthe ||| \n", ["a.txt, line 2: the target side has no words"]),
    "chunks with two columns": ("a.txt", "The DT B-NP\n" * 60 + "end NN\n", ["a.txt, line 61: 2 columns", "3"]),
}


@pytest.mark.parametrize("case", CORPORA)
def test_corpora(place: Path, models: Path, capfd: pytest.CaptureFixture[str], case: str) -> None:
    name, content, phrases = CORPORA[case]
    (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    survey(capfd, name, models / "bert").refuses(*phrases)
    assert sorted(path.name for path in place.iterdir()) == sorted(["good.txt", name])


def test_corpora_that_are_no_file(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    survey(capfd, "gone.txt", models / "bert").refuses("gone.txt: there is no such file")
    survey(capfd, str(models), models / "bert").refuses(f"{models}: this is a folder; give one of its files")
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("model", "options", "phrases"),
    [
        ("bert", ["--format", "nonsense"], ["'nonsense' is no format", "conllu, conll2000"]),
        ("bert", ["--format", "conllu"], ["good.txt, line 1: 1 column where CoNLL-U has 10"]),
        ("bert", ["--format", "parallel"], ["good.txt: two parallel files are needed"]),
        ("gpt2", ["--pairs"], ["gpt2 takes no sentence pairs", "--single"]),
        ("bert", ["--max-pieces", "100000"], ["100000 pieces are asked for", "bert holds 128", "ask for fewer"]),
        ("bert", ["--max-pieces", "4"], ["4 pieces leaves no room for two texts", "ask for at least 5"]),
        ("bert", ["--long", "away"], ["'away'", "choose one of cut, refuse, skip"]),
        ("bert", ["--long", "skip", "--max-pieces", "5"], ["nothing is left", "--single"]),
        ("bert", ["--dtype", "float1"], ["no number format 'float1'", "float32, bfloat16 or float16"]),
        ("bert", ["--dtype", "int8"], ["int8", "try float32, bfloat16, float16"]),
        ("bert", ["--device", "toaster"], ["there is no device 'toaster'", "try cpu"]),
        ("bert", ["--device", "meta"], ["there is no device 'meta'", "try cpu"]),
        ("bert", ["--device", "cuda:99"], ["the device 'cuda:99' cannot be used", "try cpu"]),
    ],
)
def test_options(
    place: Path,
    models: Path,
    capfd: pytest.CaptureFixture[str],
    model: str,
    options: Sequence[str],
    phrases: Sequence[str],
) -> None:
    survey(capfd, "good.txt", models / model, *options).refuses(*phrases)
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["surve"], "No such command 'surve'. Did you mean 'survey'"),
        (["survey"], "Missing argument"),
        (["survey", "good.txt", "--modell", "x"], "No such option: --modell"),
        (["survey", "good.txt", "--limit", "0"], "'--limit'"),
        (["survey", "good.txt", "--budget", "many"], "'--budget'"),
    ],
)
def test_a_command_that_cannot_be_parsed(
    place: Path, capfd: pytest.CaptureFixture[str], arguments: Sequence[str], sentence: str
) -> None:
    said = attlas(capfd, *arguments)
    assert said.status == 2
    assert said.err.splitlines()[0].startswith("Usage: attlas")
    assert said.err.splitlines()[-1].startswith("Error: ")
    assert sentence in said.err
    assert "Traceback" not in said.err


def test_text_longer_than_the_window(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "long.txt").write_text(f"{LONG}\n\n{PROSE}", encoding="utf-8")
    said = survey(capfd, "long.txt", models / "bert", "--long", "refuse", "--single")
    said.refuses("long.txt, paragraph 1", "the window holds 128", "shorten it, or let it be cut (--long cut)")
    assert not (place / "out").exists()


def test_a_translation_longer_than_the_limit(place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    save(place / "bart", "bart")
    (place / "pairs.txt").write_text(f"Nobody noticed. ||| Nobody noticed.\n{LONG} ||| {LONG}\n", encoding="utf-8")
    said = survey(capfd, "pairs.txt", place / "bart", "--long", "refuse")
    said.refuses("pairs.txt, pair 2", "128 are allowed", "--long skip")
    assert not (place / "out").exists()


def test_an_out_folder_that_is_in_use(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "out").mkdir()
    (place / "out" / "thesis.tex").write_text("years of work")
    for options in ([], ["--resume"]):
        said = survey(capfd, "good.txt", models / "bert", *options)
        said.refuses("out: it holds thesis.tex, which is no result", "choose another --out or delete it")
    assert [path.name for path in (place / "out").iterdir()] == ["thesis.tex"]
    assert (place / "out" / "thesis.tex").read_text() == "years of work"


def test_an_out_that_is_a_file(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "out").write_text("years of work")
    survey(capfd, "good.txt", models / "bert").refuses("out: a folder is needed, and this is a file", "--out")
    assert (place / "out").read_text() == "years of work"


def test_a_result_of_another_plan(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert survey(capfd, "good.txt", models / "bert").status == 0
    before = {path.name: path.read_bytes() for path in (place / "out").iterdir()}
    for options in (["--seed", "1"], ["--seed", "1", "--resume"]):
        said = survey(capfd, "good.txt", models / "bert", *options)
        said.refuses("out: it holds a survey result of another plan", "choose another --out or delete it")
    assert {path.name: path.read_bytes() for path in (place / "out").iterdir()} == before


@pytest.fixture
def interrupted(
    place: Path, models: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder of a run that was interrupted from the keyboard in its third batch."""
    (place / "long.txt").write_text(f"{LONG}\n\n{PROSE}", encoding="utf-8")
    launch, calls = Survey.launch, iter(range(100))

    def stopping(self: Survey, ready: Any) -> Any:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return launch(self, ready)

    with monkeypatch.context() as patch:
        patch.setattr(Survey, "launch", stopping)
        said = survey(capfd, "long.txt", models / "bert", "--budget", "1")
    assert (said.status, said.out, said.err) == (130, "", "attlas: interrupted\n")
    assert [path.name for path in (place / "out").iterdir()] == ["checkpoint"]
    return place / "out"


def test_an_interrupted_run_without_resume(
    interrupted: Path, models: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = (interrupted / "checkpoint" / "state.npz").read_bytes()
    again = survey(capfd, "long.txt", models / "bert", "--budget", "1")
    again.refuses("checkpoint/state.npz", "go on with --resume, or delete this file")
    other = survey(capfd, "long.txt", models / "bert", "--budget", "1", "--seed", "5")
    other.refuses("out: it holds the checkpoint of another plan", "choose another --out or delete it")
    attlas(capfd, "report", "out").refuses("out: no manifest.json here", "finish the run with --resume")
    assert (interrupted / "checkpoint" / "state.npz").read_bytes() == before


def test_a_resume_whose_plan_differs(interrupted: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = (interrupted / "checkpoint" / "state.npz").read_bytes()
    differing: list[tuple[Path, list[str], list[str]]] = [
        (models / "bert", ["--budget", "1", "--seed", "5"], ["seed: was 0, is now 5"]),
        (models / "bert", ["--budget", "1", "--single"], ["options, pairs: was true, is now false"]),
        (models / "gpt2", ["--budget", "1"], ['model, name: was "bert", is now "gpt2"', "model, fingerprint: was"]),
    ]
    for model, options, phrases in differing:
        said = survey(capfd, "long.txt", model, "--resume", *options)
        said.refuses("out/checkpoint", *phrases, "go back to it, or delete it")
    Path("long.txt").write_text(PROSE, encoding="utf-8")
    said = survey(capfd, "long.txt", models / "bert", "--resume", "--budget", "1")
    said.refuses("corpus, sha256: was", "go back to it, or delete it")
    assert (interrupted / "checkpoint" / "state.npz").read_bytes() == before


def test_a_resume_of_a_damaged_checkpoint(interrupted: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = interrupted / "checkpoint" / "state.npz"
    path.write_bytes(path.read_bytes()[:1000])
    said = survey(capfd, "long.txt", models / "bert", "--resume", "--budget", "1")
    said.refuses("checkpoint/state.npz: this checkpoint cannot be read", "delete it to start over")


def test_reports_of_what_is_no_result(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    attlas(capfd, "report", "gone").refuses("gone: there is no such folder", "give the --out of a finished run")
    attlas(capfd, "report", models).refuses(f"{models}: no manifest.json here", "give another folder")
    attlas(capfd, "report", "good.txt").refuses("good.txt: there is no such folder")
    assert [path.name for path in place.iterdir()] == ["good.txt"]


def test_reports_of_damaged_results(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert survey(capfd, "good.txt", models / "bert").status == 0
    shutil.copytree("out", "cut")
    (place / "cut" / "manifest.json").write_text((place / "out" / "manifest.json").read_text()[:200])
    attlas(capfd, "report", "cut").refuses("cut/manifest.json, line", "this is not JSON", "must be made again")
    shutil.copytree("out", "foreign")
    (place / "foreign" / "manifest.json").write_text(json.dumps({"name": "somebody's web page"}))
    attlas(capfd, "report", "foreign").refuses("foreign/manifest.json", "attlas did not write it")
    shutil.copytree("out", "torn")
    (place / "torn" / "heads.parquet").write_bytes(b"PAR1")
    attlas(capfd, "report", "torn").refuses(
        "torn/heads.parquet: this table does not agree with the checksum", "make the result again"
    )
    (place / "torn" / "heads.parquet").unlink()
    attlas(capfd, "report", "torn").refuses("torn/heads.parquet", "the file is not there", "make the result again")
