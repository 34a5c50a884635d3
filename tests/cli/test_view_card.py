"""``attlas view --card`` and ``attlas serve --card``: the card of the very model that is shown, or one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import attlas

import twins
from attlas.capture import Subject, load
from attlas.store import Manifest, Result

TEXT = "The farmer asked the designer."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a twin that has a head for labels."""
    import transformers

    folder = tmp_path_factory.mktemp("models") / "labeller"
    made = transformers.AutoModelForSequenceClassification.from_config(twins.config("bert")).eval()
    twins.spread(made)
    made.save_pretrained(folder)
    twins.tokenizer(False).save_pretrained(folder)
    return folder


def card(folder: Path, subject: Subject | None, study: str = "faith", **about: Any) -> Path:
    """A folder with a card of a model, as the study writes it."""
    columns = ("figure", "name", "value", "low", "high", "verdict", "says")
    rows = [
        ("uniform", "uniform attention", 0.01, None, None, "holds", "so"),
        ("paragraph", "", None, None, None, "", "All."),
    ]
    described = {**(subject.describe() if subject else {"name": "nobody"}), **about}
    tables = {
        "card": {name: [row[place] for row in rows] for place, name in enumerate(columns)},
        "whole": {"task": ["classification"]},
    }
    return Result(Manifest(study, model=described, corpus={"name": "reviews"}), tables).save(folder)


def test_the_page_has_the_card(model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = card(tmp_path / "faith", load(model, task_head="classification"))
    said = attlas(capfd, "view", TEXT, "--model", model, "--card", folder, "--out", tmp_path / "page.html")
    assert (said.status, said.err) == (0, "")
    found = re.search(r'id="attlas-header">(.*?)</script>', (tmp_path / "page.html").read_text(encoding="utf-8"))
    assert found is not None
    header = json.loads(found[1])
    assert header["card"]["title"] == "Faithfulness card: labeller, classification on reviews"
    assert header["card"]["scenes"] == [0]
    assert [figure["key"] for figure in header["card"]["figures"]] == ["uniform"]
    assert header["scenes"][0]["model"] == "labeller"


def test_other_models_and_other_weights_are_refused(
    model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = ("--out", tmp_path / "page.html")
    other = card(tmp_path / "other", None)
    said = attlas(capfd, "view", TEXT, "--model", model, "--card", other, *page)
    said.refuses("other: this card is of nobody, not of labeller; give the card of the model that is shown")
    older = card(tmp_path / "older", load(model, task_head="classification"), fingerprint="0123456789abcdef")
    said = attlas(capfd, "view", TEXT, "--model", model, "--card", older, *page)
    said.refuses("older: this card is of another labeller than the one shown", "0123456789abcdef")
    survey = card(tmp_path / "survey", None, study="survey")
    attlas(capfd, "view", TEXT, "--card", survey, *page).refuses("is a result of the study 'survey'")
    attlas(capfd, "view", TEXT, "--card", tmp_path / "none", *page).refuses("none: there is no such folder")
    assert not (tmp_path / "page.html").exists()


def test_the_app_refuses_a_card_of_a_model_it_does_not_offer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = card(tmp_path / "other", None)
    attlas(capfd, "serve", "--card", folder).refuses("other: this card is of nobody, not of ")


def test_in_a_notebook(model: Path, tmp_path: Path) -> None:
    subject = load(model, task_head="classification")
    folder = card(tmp_path / "faith", subject)
    shown = subject.look(TEXT).view(card=folder, widget=False)
    assert "Faithfulness card: labeller" in shown.data
