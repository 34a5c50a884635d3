"""attlas align from the command line: a folder and a file of links, and one sentence when it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import attlas

import twins
from attlas.store import Result
from bitexts import PAIRS

GOLD = "\n".join(links for *_, links in PAIRS) + "\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    for family in ("marian", "llama", "bert"):
        twins.model(family).save_pretrained(made / family)
        twins.tokenizer(family in twins.CAUSAL).save_pretrained(made / family)
    twins.model("marian", 1).save_pretrained(made / "back")
    twins.tokenizer(False).save_pretrained(made / "back")
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "pairs.txt": "".join(f"{a} ||| {b}\n" for a, b, _ in PAIRS),
        "pairs.gold": GOLD,
        "short.gold": "0-0\n",
        "one.gold": "1-1\n6-5\n1-1\n1-1\n1-1\n",
        "far.gold": GOLD.replace("1-3", "1-7"),
        "none.gold": "\n" * len(PAIRS),
        "gap.txt": "Hello ||| Hallo\n\nYes ||| Ja\n",
        "half.txt": "Hello |||\n",
        "prose.txt": "It rained.\n\nWe stayed in.\n",
        "de.txt": "Hallo .\nJa .\n",
        "en.txt": "Hello .\n",
        "blank.txt": "Hello .\n\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_links_scores_and_a_page(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(
        capfd, "align", "pairs.txt", "--gold", "pairs.gold", "--model", models / "marian", "--back", models / "back",
        "--aligners", "diagonal", "--pharaoh", "links", "--out", "out", "--quiet",
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    for phrase in ("by norm", "grow-diag-final-and", "untrained twin", "the diagonal", "report: out/"):
        assert phrase in said.out, said.out
    assert "The links that were handed out are those of norm, input, layer" in " ".join(said.out.split())
    result = Result.open("out")
    written = (place / "links").read_text(encoding="utf-8").split("\n")
    assert written == [*(row["predicted"] for row in result.tables["links"].to_pylist()), ""]
    assert (place / "out" / "report.html").exists()


def test_an_encoder_without_gold(place: Path, models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(
        capfd, "align", "pairs.txt", "--model", models / "bert", "--aligners", "none", "--out", "out", "--quiet"
    )
    assert (said.status, said.err) == (0, "")
    assert "of words have a link" in " ".join(said.out.split())
    assert (place / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["pairs.txt", "--gold", "short.gold"], ["short.gold, line 2: 1 lines of links for 5 pairs"]),
        (["pairs.txt", "--gold", "one.gold"], ["one.gold, line 2: the link 6-5 is outside", "--one-indexed"]),
        (["pairs.txt", "--gold", "pairs.gold", "--one-indexed"], ["pairs.gold, line 1: the link 0-0 is outside"]),
        (
            ["pairs.txt", "--gold", "far.gold"],
            ["far.gold, line 3: the link 1-7 is outside its pair of 2 and 7 words"],
        ),
        (["pairs.txt", "--gold", "none.gold"], ["the gold has no link at all"]),
        (["pairs.txt", "--gold", "nowhere.gold"], ["nowhere.gold: there is no such file"]),
        (["gap.txt"], ["gap.txt, line 2"]),
        (["half.txt"], ["half.txt, line 1: the target side has no words"]),
        (["prose.txt"], ["prose.txt: there is no translation here to align with", "|||"]),
        (["de.txt", "--target", "en.txt"], ["de.txt, line 2: 2 lines, but en.txt has 1"]),
        (["de.txt", "--target", "blank.txt"], ["blank.txt, line 2: this line has no words"]),
        (["pairs.txt", "--model", "llama"], ["reads a single text from left to right"]),
        (["pairs.txt", "--model", "bert", "--stream", "cross"], ["has no cross attention; it reads two sentences"]),
        (["pairs.txt", "--stream", "encoder"], ["reads one sentence at a time"]),
        (["pairs.txt", "--aligners", "giza"], ["there is no aligner 'giza'"]),
        (["pairs.txt", "--max-pieces", "4"], ["nothing is left of the bitext to align"]),
        (["pairs.txt", "--layer", "9"], ["there is no layer 9"]),
        (["pairs.txt", "--side", "left"], ["there is no side 'left'; choose output, input, to source, to target"]),
        (["pairs.txt", "--one-indexed"], ["one_indexed says how the file of gold links counts"]),
        (["pairs.txt", "--back", "marian"], ["is the model itself"]),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    arguments: list[str], phrases: list[str], place: Path, models: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(place.iterdir())
    known = {"llama", "bert", "marian"}
    given = [str(models / argument) if argument in known else argument for argument in arguments]
    if "--model" not in given:
        given += ["--model", str(models / "marian")]
    said = attlas(capfd, "align", *given, "--out", "out", "--pharaoh", "links", "--quiet")
    said.refuses(*phrases)
    assert sorted(place.iterdir()) == before
