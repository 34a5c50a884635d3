"""The experiment of parsing probes under test: treebanks that differ from part to part, and a structural probe that
is told where it is right.

In the training part every word depends on the one before it, in the test part on the one after it. Whoever chooses an
offset or a layer on the part that is scored, takes the model for its twin or says so in the wrong row, gets another
answer than the one asked for here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "probes"))
import planted

from attlas.capture import Subject
from attlas.probes.reading import Reader
from attlas.probes.structural import StructuralProbe
from attlas.probes.writing import Writer
from attlas.studies.parse.call import parse
from attlas.text import Document

SMALL: dict[str, Any] = {"epochs": 1, "rank": 4}


def turned(documents: list[Document]) -> list[Document]:
    """Every word depends on the one after it, the last is the root."""
    made = []
    for text in documents:
        words = [text.word(at) for at in range(len(text.words))]
        last = len(words) - 2
        made.append(
            Document.from_words(
                words, name=text.name, upos=text.upos, governors=[*range(1, last + 1), -1, last],
                relations=[*["obj"] * last, "root", "punct"],
            )
        )  # fmt: skip
    return made


def parts() -> dict[str, Any]:
    return {
        "corpus": planted.treebank(20),
        "validation": planted.treebank(8, 1),
        "test": turned(planted.treebank(20, 2)),
    }


def test_rows_say_whose_probe_it_is_and_the_twin_is_not_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model, read = planted.subject(), {}
    begin = Writer.__init__

    def noting(self: Writer, subject: Subject, features: Any, **how: Any) -> None:
        read[features.folder.name] = subject
        begin(self, subject, features, **how)

    monkeypatch.setattr(Writer, "__init__", noting)
    result = parse(model, **parts(), **SMALL)
    assert read["trained"] is model
    assert read["untrained"] is not model
    assert {row["probe"]: row["who"] for row in result.rows("parse")} == {
        "right-branching": "none", "best fixed offset": "none", "distances + vectors": "none", "attention": "model",
        "attention + vectors": "model", "structural probe": "model", "untrained: attention": "twin",
        "untrained: attention + vectors": "twin", "untrained: structural probe": "twin",
    }  # fmt: skip
    effects = {who: [row["effect"] for row in result.rows("head_weights") if row["who"] == who]
               for who in ("model", "twin")}  # fmt: skip
    assert effects["model"] != effects["twin"]


def test_the_offset_is_chosen_on_the_training_part() -> None:
    result = parse(planted.subject(), **parts(), **SMALL, structural=False)
    rows = {row["probe"]: row for row in result.rows("parse")}
    assert rows["best fixed offset"]["chosen"] == "offset -1"
    assert rows["best fixed offset"]["validation"] == 1
    assert rows["best fixed offset"]["value"] < 0.2
    assert rows["right-branching"]["value"] > 0.6  # the last word, the root, has none after it
    (more,) = [row for row in result.rows("differences")
               if (row["probe"], row["other"]) == ("best fixed offset", "right-branching")]  # fmt: skip
    assert more["value"] == pytest.approx(rows["best fixed offset"]["value"] - rows["right-branching"]["value"])
    assert more["low"] <= more["value"] <= more["high"] < 0


def test_the_layer_of_the_structural_probe_is_chosen_on_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layer 1 is right on validation and layer 2 on test."""
    now = {"part": ""}
    batches = Reader.batches

    def noting(self: Reader, part: str, shuffled: bool = False) -> Any:
        for batch in batches(self, part, shuffled):
            now["part"] = part
            yield batch

    def told(self: StructuralProbe, states: torch.Tensor) -> torch.Tensor:
        layers, sentences, words, _ = states.shape
        places = torch.arange(words)
        near = (places[:, None] - places[None]).abs().float()
        far = near.clone()
        far[0], far[:, 0] = 0.5, 0.5  # all hang on the first word
        far[0, 0] = 0
        right = {"dev": 1, "test": 2}.get(now["part"], 0)
        distances = torch.stack([near if layer == right else far for layer in range(layers)])
        return distances[:, None].repeat(1, sentences, 1, 1) + 0 * self.projection.sum()

    monkeypatch.setattr(Reader, "batches", noting)
    monkeypatch.setattr(StructuralProbe, "forward", told)
    result = parse(planted.subject(), **parts(), **SMALL)
    (row,) = [row for row in result.rows("parse") if row["probe"] == "structural probe"]
    assert row["chosen"] == "layer 1"
    assert (row["validation"], row["value"] < 0.9) == (1, True)


def test_several_twins_are_other_draws_and_rows_have_their_mean_and_their_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw, how = Subject.twin, {**parts(), **SMALL, "test": planted.treebank(20, 2), "structural": False}
    probe, other = "untrained: attention + vectors", "attention"

    def figures(result: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        (row,) = [row for row in result.rows("parse") if row["probe"] == probe]
        (more,) = [row for row in result.rows("differences") if (row["probe"], row["other"]) == (probe, other)]
        return row, more

    both = figures(parse(planted.subject(), **how, twins=2))
    singles = []
    for number in range(2):
        monkeypatch.setattr(Subject, "twin", lambda self, seed=0, number=number: draw(self, number))
        singles.append(figures(parse(planted.subject(), **how)))
    values = [row["value"] for row, _ in singles]
    assert values[0] != values[1]
    assert both[0]["value"] == pytest.approx(sum(values) / 2)
    assert (both[0]["twins"], both[0]["n"]) == (2, singles[0][0]["n"])
    assert (both[0]["twins_low"], both[0]["twins_high"]) == pytest.approx((min(values), max(values)))
    assert both[1]["value"] == pytest.approx(sum(more["value"] for _, more in singles) / 2)
    assert [row["twins_low"] for row, _ in singles] == [None, None], "a single draw has no spread"
