"""attlas clusters as a person meets it: what it says, what it writes, what it refuses, and that it can be resumed."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import attlas

import twins
from attlas.capture import load
from attlas.run.progress import Silent
from attlas.store import Manifest, Result
from attlas.studies.clusters.call import clusters

PROSE = "The farmer slept.\n\nNobody noticed the old bridge.\n\nIt rained.\n\nWe stayed in.\n"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a twin, in a place to work in with one good text."""
    monkeypatch.chdir(tmp_path)
    twins.model("bert").save_pretrained(tmp_path / "twin")
    twins.tokenizer(False).save_pretrained(tmp_path / "twin")
    (tmp_path / "tale.txt").write_text(PROSE, encoding="utf-8")
    return tmp_path / "twin"


def test_the_whole_way(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "clusters", "tale.txt", "--model", model, "--quiet")
    assert (said.status, said.err) == (0, "")
    folder = Path("clusters-twin-tale.txt")
    assert said.out.splitlines()[0] == "twin on tale.txt: 2 passages, 32 pieces"
    assert "untrained" in said.out
    assert "The two heads most alike are" in said.out
    assert said.out.splitlines()[-1] == f"report: {folder / 'report.html'}"
    result = Result.open(folder)
    assert list(result.tables) == ["clusters", "pairs", "joins", "layer_pairs", "togetherness"]
    assert result.manifest.plan["options"]["pairs"], "plain text is read in pairs where the model knows them"
    again = attlas(capfd, "clusters", "tale.txt", "--model", model, "--quiet", "--single")
    again.refuses("clusters-twin-tale.txt")


def test_bad_input(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def refused(*options: object) -> None:
        attlas(capfd, "clusters", *options[:-1], "--model", model, "--out", "out", "--quiet").refuses(
            str(options[-1])
        )
        assert not Path("out").exists()

    Path("empty.txt").write_text("", encoding="utf-8")
    refused("empty.txt", "there are no words in this file")
    refused("nowhere.txt", "nowhere.txt")
    refused("tale.txt", "--relations", "nowhere", "nowhere: there is no such folder")
    Result(Manifest("survey"), {"heads": {"layer": [0]}}).save("survey")
    refused("tale.txt", "--relations", "survey", "give the folder of a run of attlas relations")
    refused("tale.txt", "--max-pieces", 4000, "4000 pieces are asked for")
    refused("tale.txt", "--long", "fold", "choose one of cut, refuse, skip")
    refused("tale.txt", "--max-pieces", 4, "leaves no room for two texts")


class Stop(Silent):
    """Breaks off after so many batches, as a person at the keyboard would."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def advance(self, pieces: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("batches", [2, 6])
def test_broken_off_in_either_part_and_resumed(model: Path, batches: int) -> None:
    """Four passages make four batches of the model, then four of the twin."""
    subject = load(model)
    options = {"pairs": False, "budget": 1, "checkpoint_every": 0.0}
    whole = clusters(subject, "tale.txt", **options)
    with pytest.raises(KeyboardInterrupt):
        clusters(subject, "tale.txt", out="torn", progress=Stop(batches), **options)
    assert not Path("torn/manifest.json").exists()
    resumed = clusters(subject, "tale.txt", out="torn", resume=True, **options)
    for name, table in whole.tables.items():
        assert resumed.tables[name].equals(table), name
