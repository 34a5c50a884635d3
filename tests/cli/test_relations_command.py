"""attlas relations and attlas heads from the command line, and the page in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import attlas

import twins
from attlas.store import Result

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NOUNS = ("farmer", "bridge", "station", "storm", "engineer", "children", "designer", "housekeeper")


def treebank(nouns: tuple[str, ...]) -> str:
    """Sentences such as "The farmer slept .", every two of them a document."""
    lines = []
    for number, noun in enumerate(nouns):
        lines += [f"# newdoc id = d{number}"] * (number % 2 == 0) + [f"# sent_id = s-{noun}"]
        words = [
            ("The", "DET", 2, "det"),
            (noun, "NOUN", 3, "nsubj"),
            ("slept", "VERB", 0, "root"),
            (".", "PUNCT", 3, "punct"),
        ]
        lines += [f"{k}\t{w}\t_\t{pos}\t_\t_\t{g}\t{r}\t_\t_" for k, (w, pos, g, r) in enumerate(words, start=1)]
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models") / "twin"
    twins.model("bert").save_pretrained(made)
    twins.tokenizer(False).save_pretrained(made)
    return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tree.conllu").write_text(treebank(NOUNS), encoding="utf-8")
    Path("other.conllu").write_text(treebank(("cat", "dog")), encoding="utf-8")
    Path("tale.txt").write_text("The farmer slept.\n\nIt rained.\n", encoding="utf-8")
    Path("one.conllu").write_text(treebank(("farmer",)), encoding="utf-8")
    return tmp_path


def test_a_run_ends_with_a_table_and_a_page(place: Path, model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "relations", "tree.conllu", "--model", model, "-q", "-o", "out")
    assert (said.status, said.err) == (0, "")
    assert "nsubj" in said.out
    assert "The single head that was best on other texts" in said.out
    assert said.out.endswith("report: out/report.html\n")
    result = Result.open("out")
    assert list(result.tables) == ["relations", "relation_heads", "offsets", "examples"]
    assert (result.manifest.corpus["chosen_on"], result.manifest.corpus["scored_on"]) == (4, 4)
    rows = {row["relation"]: row for row in result.table.to_pylist() if row["best"]}
    assert rows["det"]["offset"] == 1
    assert rows["det"]["baseline"] == 1.0  # the next word is always right here
    assert rows["all"]["n"] == 8
    said = attlas(
        capfd,
        "relations",
        "tree.conllu",
        "--choose-on",
        "other.conllu",
        "--measure",
        "norm",
        "--model",
        model,
        "-q",
        "-o",
        "norm",
    )
    assert said.status == 0
    assert Result.open("norm").manifest.corpus["chosen_on"] == 2


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (("relations", "tale.txt"), ("tale.txt", "no governors and relations", "CoNLL-U")),
        (("relations", "tree.conllu", "--choose-on", "tale.txt"), ("tale.txt", "no governors and relations")),
        (("relations", "one.conllu"), ("one.conllu", "cannot be divided into 2 parts")),
        (("relations", "tree.conllu", "--measure", "weights"), ("no measure 'weights'", "weight or norm")),
        (("relations", "nowhere.conllu"), ("nowhere.conllu",)),
        (("relations", "tree.conllu", "--max-pieces", "4"), ("nothing is left",)),
        (("heads", "tale.txt"), ("tale.txt", "no governors and relations")),
    ],
)  # fmt: skip
def test_one_sentence_and_nothing_left_behind(
    place: Path, model: Path, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], phrases: tuple[str, ...]
) -> None:
    attlas(capfd, *arguments, "--model", model, "-q", "-o", "out").refuses(*phrases)
    assert not Path("out").exists()


def test_heads_leaves_three_results_with_a_page_each(
    place: Path, model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = attlas(capfd, "heads", "tree.conllu", "--model", model, "-q", "-o", "out")
    assert (said.status, said.err) == (0, "")
    for name in ("survey", "relations", "clusters"):
        assert f"report: out/{name}/report.html" in said.out
        assert Path("out", name, "report.html").exists()
        assert Result.open(f"out/{name}").manifest.study == name


@pytest.mark.browser
def test_the_page_draws_and_an_example_opens_in_the_head_view(
    place: Path, model: Path, capfd: pytest.CaptureFixture[str], browser: Browser
) -> None:
    nouns = tuple(f"{noun}{ending}" for noun in NOUNS for ending in ("", "s", "x", "er", "ing", "ed"))
    Path("large.conllu").write_text(treebank(nouns), encoding="utf-8")
    assert attlas(capfd, "relations", "large.conllu", "--model", model, "-q", "-o", "out").status == 0
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((place / "out" / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("figure svg.marks").count() == 2
    assert page.locator("#answer").bounding_box()["y"] < page.locator("figure svg").first.bounding_box()["y"] < 500
    cells = page.locator("#figure-relation-map .mark-rect.role-mark path").count()
    assert cells >= 2 * 3 * 4  # the grid and the heads of three layers
    button = page.locator("button.look").first
    button.click()
    page.wait_for_selector("dialog[open] .attlas[data-drawn]")
    readout = page.locator("dialog .attlas-readout").inner_text()
    assert "attends to" in readout or "attended" in readout or "from" in readout
    page.locator("dialog .attlas-close").click()
    page.wait_for_selector("dialog canvas", state="detached")  # the viewer is taken down when it is closed
    assert page.locator("dialog[open]").count() == 0
    assert complaints == []
    page.close()
