"""attlas translate-train from the command line: from files to a model folder, a kill survived, and one sentence where
something does not fit."""

from __future__ import annotations

import json
import lzma
import re
import sys
import time
from pathlib import Path

import pytest
from command_line import Apart, attlas, one_thread

from attlas.store.tensors import load_arrays

WHO = {"Der Bauer": "The farmer", "Die Köchin": "The cook", "Niemand": "Nobody", "Das Kind": "The child"}
DOES = {"sieht": "sees", "repariert": "repairs", "vergisst": "forgets", "mag": "likes", "kauft": "buys"}
WHAT = {"die alte Brücke": "the old bridge", "den Apfel des Kindes": "the child's apple"}
ROWS = [(f"{a} {b} {c}.", f"{x} {y} {z}.") for a, x in WHO.items() for b, y in DOES.items() for c, z in WHAT.items()]
TINY = [
    "--layers",
    "1",
    "--heads",
    "2",
    "--width",
    "16",
    "--ffn",
    "16",
    "--vocabulary",
    "150",
    "--learning-rate",
    "3e-3",
]
TINY += ["--batch-pieces", "100", "--device", "cpu"]


def table(rows: list[tuple[str, str]]) -> str:
    return "".join(f"{a}\t{b}\n" for a, b in rows)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.tsv.xz").write_bytes(lzma.compress(table(ROWS[:30]).encode()))
    for name, text in (
        ("dev.tsv", table(ROWS[30:35])),
        ("test.src-tgt", "".join(f"{a} ||| {b}\n" for a, b in ROWS[35:])),
        ("more.de", "".join(f"{a}\n" for a, _ in ROWS[:9])),
        ("more.en", "".join(f"{b}\n" for _, b in ROWS[:9])),
        ("short.en", "".join(f"{b}\n" for _, b in ROWS[:8])),
        ("gap.en", "".join(f"{b}\n" for _, b in ROWS[:8]) + "\n"),
        ("plain.txt", "It rained.\n\nWe stayed in.\n"),
        ("empty.tsv", ""),
        ("broken.tsv", table(ROWS[:20]) + "Der Rest fehlt.\n"),
        ("hollow.tsv", table(ROWS[:20]) + "Der Rest fehlt.\t\n"),
        ("three.tsv", "a b\tc d\te f\n" * 4),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_from_files_to_a_model(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(
        capfd, "translate-train", "train.tsv.xz", "more.de", "--target", "more.en", "--validation", "dev.tsv",
        "--test", "test.src-tgt", "--out", "out", "--epochs", 2, *TINY,
    )  # fmt: skip
    assert said.status == 0, said
    assert "learned from 39 pairs of train.tsv + more.de" in said.out
    assert re.search(r"validation dev\.tsv: BLEU \d+\.\d\d \(greedy\), 5 pairs", said.out)
    assert re.search(r"test test\.src-tgt: BLEU \d+\.\d\d \(greedy\), 5 pairs", said.out)
    assert said.out.endswith("model: out\ntry: attlas align BITEXT --model out\n")
    assert "training for translation: epoch 2 of 2" in said.err
    record = json.loads(Path("out/training.json").read_text(encoding="utf-8"))
    assert record["sizes"] == {"layers": 1, "heads": 2, "width": 16, "ffn": 16, "dropout": 0.3}
    assert record["plan"]["corpus"]["test test.src-tgt"]["format"] == "bitext"
    assert {"tokenizers", "sacrebleu", "torch"} <= record["versions"].keys()
    assert record["pieces"]["unknown"] == 0
    assert record["pieces_per_second"] > 0


def test_its_model_can_be_cut_and_viewed(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = attlas(capfd, "translate-train", "train.tsv.xz", "--out", "m", "--epochs", 1, *TINY, "-q")
    assert (made.status, made.err) == (0, ""), made
    cut = attlas(
        capfd,
        "ablate",
        "dev.tsv",
        "--task",
        "translation",
        "--model",
        "m",
        "--score",
        "perplexity",
        "--out",
        "cut",
        "-q",
    )
    assert cut.status == 0, cut
    seen = attlas(
        capfd, "view", "Der Bauer sieht den Apfel.", "--and", "The farmer sees.", "--model", "m", "--out", "v.html"
    )
    assert seen.status == 0, seen


@pytest.mark.campaign
@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL")
def test_a_killed_run_goes_on_to_the_same_bits(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = ["translate-train", "train.tsv.xz", "--validation", "dev.tsv", "--epochs", "12", *TINY]
    asked += ["--checkpoint-every", "0"]
    child = Apart(*asked, "--out", "torn")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not child.ended:
        state = load_arrays(Path("torn/checkpoint/training.safetensors"))
        if state is not None and state[1]["numbers"]["step"] > 9:
            break
        time.sleep(0.01)
    child.kill()
    assert [path.name for path in Path("torn").iterdir()] == ["checkpoint"]
    with one_thread():
        resumed = attlas(capfd, *asked, "--out", "torn", "--resume")
        whole = attlas(capfd, *asked, "--out", "whole", "-q", "--checkpoint-every", "60")
    assert (resumed.status, whole.status) == (0, 0), (resumed, whole)
    assert re.search(r"resuming after \d+ of \d+ steps", resumed.err)
    for name in ("model.safetensors", "tokenizer.json"):
        assert Path("torn", name).read_bytes() == Path("whole", name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["gone.tsv"], ["gone.tsv: there is no such file"]),
        (["empty.tsv"], ["empty.tsv: there are no words in this file"]),
        (["plain.txt"], ["plain.txt: it has no translations; give a bitext", "--target"]),
        (["three.tsv"], ["three.tsv: this looks like a table of 3 columns"]),
        (["broken.tsv"], ["broken.tsv, line 21: no tab where a pair of sentences has one"]),
        (["hollow.tsv"], ["hollow.tsv, line 21: the target side has no words"]),
        (["more.de", "--target", "short.en"], ["more.de, line 9: 9 lines, but short.en has 8"]),
        (["more.de", "--target", "gap.en"], ["gap.en, line 9: this line has no words"]),
        (["train.tsv.xz", "--target", "more.en"], ["more.en: this is a file of translations (--target) more"]),
        (["train.tsv.xz", "--validation", "train.tsv.xz"], ["train.tsv holds the very pairs of train.tsv"]),
        (
            ["train.tsv.xz", "--validation-target", "more.en"],
            ["--validation-target is for the translations of --validation"],
        ),
        (["train.tsv.xz", "--width", "30", "--heads", "4"], ["a width of 30 cannot be shared by 4 heads"]),
        (["train.tsv.xz", "--dtype", "bfloat16"], ["training in bfloat16 needs a GPU"]),
        (["train.tsv.xz", "--format", "conllu"], ["'conllu' is no format of a bitext"]),
        (["train.tsv.xz", "--out", "dev.tsv"], ["a folder is needed, and this is a file"]),
    ],
)
def test_bad_input(arguments: list[str], phrases: list[str], place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = sorted(path.name for path in place.iterdir())
    sizes = [] if "--width" in arguments else TINY
    out = [] if "--out" in arguments else ["--out", "out"]
    attlas(capfd, "translate-train", *arguments, *sizes, *out, "--epochs", 1, "-q").refuses(*phrases)
    assert sorted(path.name for path in place.iterdir()) == before


def test_broken_lines_are_counted_where_that_is_wished(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "translate-train", "broken.tsv", "--skip-broken", "--out", "out", "--epochs", 1, *TINY, "-q")
    assert said.status == 0, said
    assert "note: broken.tsv: 1 lines are no pair, first line 21" in said.out
