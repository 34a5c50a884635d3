"""The faithfulness card: read from a result, beside the model it is of, and beside no other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cards import HOSTILE, ROWS, card_folder, card_result
from scenes import scene

from attlas.errors import StoreError
from attlas.store import Manifest, Result
from attlas.views import page, show, write_page
from attlas.views.card import Card, card_of, read_card
from attlas.views.payload import pack

SHAPE = {"streams": {"encoder": {"layers": 3, "heads": 4}}}


def test_a_card_is_what_the_result_says(tmp_path: Path) -> None:
    card = read_card(card_folder(tmp_path / "out", model="tiny", fingerprint="ab", dtype="float32", **SHAPE))
    assert (card.model, card.task, card.corpus, card.fingerprint) == ("tiny", "classification", "reviews", "ab")
    assert card.title == "Faithfulness card: tiny, classification on reviews"
    assert card.sums_up == "1 of 6 holds, 4 do not, 1 cannot be told"
    assert [figure.number for figure in card.figures] == ["0.21", "0.15", "0.013", "0.61", "−0.0040", "0.25"]
    assert [figure.interval for figure in card.figures] == [
        "0.18 to 0.24", "0.11 to 0.19", "0.010 to 0.018", "0.59 to 0.63", "−0.015 to 0.0070", "",
    ]  # fmt: skip
    assert card.paragraph == ROWS[-1][-1]
    assert card.streams == (("encoder", 3, 4),)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (
            Result(Manifest("survey"), {"heads": {"layer": [0]}}),
            "is a result of the study 'survey'; give the --out of",
        ),
        (Result(Manifest("faith"), {"whole": {"task": ["tagging"]}}), "there is no card in it"),
        (
            Result(Manifest("faith"), {"card": {"figure": ["a"], "name": ["a"]}}),
            "has no value or low or high or verdict",
        ),
        (card_result(rows=[("a", "a", 1.0, None, None, "maybe", "")]), "'maybe', which is no verdict"),
    ],
)
def test_what_is_no_card_is_refused_in_a_sentence(result: Result, says: str) -> None:
    with pytest.raises(StoreError, match=re.escape(says)) as refused:
        card_of(result, "out")
    assert str(refused.value).startswith("out: ")
    assert "\n" not in str(refused.value)


def test_a_card_of_another_model_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    folder = card_folder(tmp_path / "out", model="owner/tiny", **SHAPE)
    assert pack([scene("tiny")], card=folder).header["card"]["scenes"] == [0]
    assert pack([scene("b"), scene("tiny")], card=folder).header["card"]["scenes"] == [1]
    with pytest.raises(StoreError, match=r"out: this card is of owner/tiny, not of a model; give the card of"):
        write_page(tmp_path / "page.html", [scene()], card=folder)
    with pytest.raises(StoreError, match="with 3 layers of 4 encoder heads, and layer 5 and head 4 are shown"):
        page([scene("tiny", layers=5)], card=folder)
    with pytest.raises(StoreError, match="not of a model"):
        show([scene()], card=folder, widget=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_weights_are_told_apart_where_the_number_format_is_the_same() -> None:
    card = card_of(card_result(fingerprint="ab12", dtype="float32"))
    card.require_weights("ab12", "float32")
    card.require_weights("cd34", "bfloat16")
    with pytest.raises(StoreError, match=r"another a model than the one shown.*ab12 and cd34"):
        card.require_weights("cd34", "float32")


def test_the_header_without_a_card_is_as_before() -> None:
    assert set(pack([scene()]).header) == {"version", "scenes", "start"}


def test_a_card_has_a_title_whatever_is_known() -> None:
    assert Card("tiny", "", "", (), "").title == "Faithfulness card: tiny"


def test_a_card_cannot_break_out_of_a_page(tmp_path: Path) -> None:
    html = page([scene(HOSTILE)], card=card_of(card_result(HOSTILE)))
    header = re.search(r'id="attlas-header">(.*?)</script>', html)
    assert header is not None
    assert json.loads(header[1])["card"]["figures"][-1]["says"] == HOSTILE
    assert "<img" not in html
