"""attlas serve as a conversation: chats, seeds, stopping, what is being written, files, earlier looks."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from serving import ask, ask_look

import twins
from attlas.capture import Subject
from attlas.capture.answering import Shelf, chat_prompt, look, room_told, scene_of
from attlas.errors import CapabilityError, TextError
from attlas.ids import Stream
from attlas.text import Document
from attlas.views.question import Question
from attlas.views.server import Server
from attlas.views.writing import COLUMNS, Writing
from browsers import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEMPLATE = (
    "{% for m in messages %}"
    "{% if m.role == 'system' and 'no' in m.content %}{{ raise_exception('no system') }}{% endif %}"
    "<{{ m.role }}> {{ m.content }} {% endfor %}{% if add_generation_prompt %}<assistant> {% endif %}"
)


@pytest.fixture(scope="module")
def subject() -> Subject:
    tokenizer = twins.tokenizer(True)
    tokenizer.chat_template = TEMPLATE
    import torch
    import transformers

    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(twins.config("llama")).eval()
    return Subject.of(model, tokenizer, "llama")


def shelf_of(subject: Subject) -> Shelf:
    return Shelf(lambda name, task_head: subject)


def test_a_chat_goes_through_the_models_own_template(subject: Subject) -> None:
    assert chat_prompt(subject, "The farmer slept.") == "<user> The farmer slept. <assistant> "
    assert chat_prompt(subject, "Hi.", "Be kind.").startswith("<system> Be kind. <user> Hi.")
    with pytest.raises(CapabilityError, match="its chat template refuses this"):
        chat_prompt(subject, "Hi.", "no")
    read = look(shelf_of(subject), Question("llama", "The farmer slept.", chat=True))
    assert read.passage.first.text.startswith("<user> The farmer")


def test_a_seed_draws_the_same_again_and_leaves_others_alone(subject: Subject) -> None:
    import torch

    def written(seed: int | None) -> tuple[str, ...]:
        question = Question("llama", "The farmer", write=12, seed=seed)
        return look(shelf_of(subject), question).source.pieces

    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    first = written(1)
    assert torch.rand(1) == before, "the draws of others are as if nothing had been"
    assert first == written(1)
    assert len({written(seed) for seed in range(4)}) > 1
    assert written(None) == written(None)


def test_writing_is_told_piece_by_piece_and_stops_when_wished(subject: Subject) -> None:
    class Stopping(Writing):
        def grow(self, text: str, pieces: int, looked: Any = None) -> bool:
            super().grow(text, pieces, looked)
            seen.append((text, pieces))
            if pieces == 5:
                self.stop()
            return not self.stopped

    seen: list[tuple[str, int]] = []
    writing = Stopping()
    shelf, question = shelf_of(subject), Question("llama", "The farmer", write=40)
    stopped = look(shelf, question, writing=writing)
    assert [pieces for _, pieces in seen] == [1, 2, 3, 4, 5]
    assert not writing.writing
    whole = look(shelf, question)
    count = len(stopped.source.pieces)
    assert count < len(whole.source.pieces)
    assert stopped.source.pieces == whole.source.pieces[:count], "stopping changes nothing of what was written"
    saying = scene_of(shelf, question, stopped).saying
    assert saying is not None
    assert len(saying.top) == count


def test_the_map_that_grows_is_that_of_the_answer(subject: Subject) -> None:
    grown: list[np.ndarray] = []

    class Kept(Writing):
        def grow(self, text: str, pieces: int, looked: Any = None) -> bool:
            grown.append(looked)
            return super().grow(text, pieces, looked)

    writing = Kept()
    capture = look(shelf_of(subject), Question("llama", "The farmer slept.", write=9), writing=writing)
    weights = capture.weights[Stream.DECODER].numpy().mean((0, 1))
    read = len(capture.source.pieces) - 8  # the last piece was written and never read
    assert writing.told(0)["read"] == read
    assert [len(row) for row in grown] == list(range(read, read + 9))
    for at, row in enumerate(grown):
        np.testing.assert_allclose(row, weights[read - 1 + at, : read + at], atol=1e-5)
    assert len(writing.told(4)["rows"]) == 5


def test_what_was_read_is_pooled_by_the_largest() -> None:
    writing, row = Writing(), np.zeros(10_000)
    row[[0, 5_017, 9_999]] = 0.5, 0.3, 0.2
    writing.grow("a", 1, row)
    writing.grow("a b", 2, np.append(row, 0.1))
    first, second = writing.rows
    assert (len(first), len(second)) == (COLUMNS, COLUMNS + 1)
    assert [at for at, shade in enumerate(first) if shade] == [0, 5_017 * COLUMNS // 10_000, COLUMNS - 1]
    assert (first[0], max(first[1:]), first[-1]) == (255, 255, round(255 * (0.2 / 0.3) ** 0.5))
    assert second[-1] == round(255 * (0.1 / 0.3) ** 0.5)


def test_what_a_look_takes_is_told(subject: Subject) -> None:
    told = room_told(shelf_of(subject), Question("llama", "The farmer slept.", write=10))
    pieces = subject.pieces.length(Document.from_text("The farmer slept.")) + 10
    assert told.startswith(f"Reading {pieces} pieces with 12 heads: {pieces**2 * 12:,} weights")
    assert re.search(r"\), in about \d+ s\.$", told)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"chat": "yes"}, "chat must be true or false"),
        ({"seed": -1}, "a seed is a whole number"),
        ({"seed": True}, "a seed is a whole number"),
        ({"seed": 1.5}, "a seed is a whole number"),
        ({"chat": True, "second": "b"}, "a chat has no second text"),
        ({"system": "a"}, "a system text belongs to a chat"),
        ({"chat": True, "system": "\ud800"}, "half a character"),
    ],
)
def test_questions_that_make_no_sense_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TextError, match=sentence):
        Question.of({"model": "m", "text": "a", **given})


class Slow:
    """A model that writes a word every moment until it is stopped, and then is looked at."""

    def __init__(self, subject: Subject) -> None:
        self.shelf, self.writing = shelf_of(subject), Writing()
        self.asked: list[Question] = []

    def look(self, question: Question) -> Any:
        self.asked.append(question)
        if question.write:
            self.writing.begin()
            for at in range(200):
                if not self.writing.grow("word " * at, at, np.full(5 + at, 0.1)):
                    break
                time.sleep(0.05)
            self.writing.end()
        short = Question(question.model, "The farmer slept.")
        return scene_of(self.shelf, short, look(self.shelf, short))


@pytest.fixture
def app(subject: Subject) -> Iterator[tuple[Server, Slow]]:
    slow = Slow(subject)
    server = Server(
        slow.look, ["llama", "other"], writing=slow.writing, room=lambda q: f"Reading {len(q.text)} letters.",
        sizes={"llama": "270 MB"},
    )  # fmt: skip
    running = threading.Thread(target=server.run)
    running.start()
    yield server, slow
    server.stop()
    running.join()


def test_routes_of_a_conversation_need_the_token_too(app: tuple[Server, Slow]) -> None:
    server, slow = app
    question = {"model": "llama", "text": "Hi", "write": 200}
    body = {"questions": [question]}
    for method, path in (("POST", "/api/room"), ("GET", "/api/written"), ("POST", "/api/stop")):
        assert ask(server, path, method=method, body=body if method == "POST" else None, token="").status == 403
    assert json.loads(ask(server, "/api/room", method="POST", body=body).body) == {"told": ["Reading 2 letters."]}
    assert ask(server, "/api/room", method="POST", body={"questions": [{"text": ""}]}).status == 422
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(ask_look(server, question)))
    waiting.start()
    while not slow.writing.pieces:
        time.sleep(0.01)
    told = json.loads(ask(server, "/api/written").body)
    assert told["writing"]
    assert told["text"].startswith("word ") or told["pieces"] <= 1
    assert told["rows"][0] == [255] * 5
    assert json.loads(ask(server, "/api/written?since=1").body)["rows"][0] == [255] * 6
    assert json.loads(ask(server, "/api/written?since=-1x").body)["rows"][0] == [255] * 5
    ask(server, "/api/stop", method="POST", body={})
    waiting.join(20)
    assert answers[0].status == 200
    assert slow.writing.pieces < 199


@pytest.mark.browser
def test_a_chat_is_asked_watched_stopped_and_asked_again(
    app: tuple[Server, Slow], tabs: Tabs, tmp_path: Path
) -> None:
    server, slow = app
    complaints: list[str] = []
    heard = {
        "console": lambda message: complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
    }
    page: Page = tabs.lend(heard)
    page.goto(server.address)
    page.wait_for_selector("textarea[name=text]")
    assert "llama (270 MB)" in page.locator("select[name=model]").inner_text()
    hidden = page.locator("#attlas-system")
    assert not hidden.is_visible()
    page.locator("input[name=chat]").check()
    assert hidden.is_visible()
    assert page.locator("input[name=write]").input_value() == "40", "a chat is to be answered"
    page.locator("textarea[name=text]").fill("Who has bread? <b>")
    page.locator("textarea[name=system]").fill("Be kind.")
    page.locator("input[name=seed]").fill("7")
    page.keyboard.press("Control+Enter")
    stop = page.locator("[data-action=stop]")
    stop.wait_for(state="visible", timeout=15_000)
    assert "word word" in page.locator(".attlas-status").inner_text()
    growing = page.locator(".attlas-growing")
    assert growing.is_visible()
    rows = int(growing.get_attribute("data-rows") or 0)
    page.wait_for_function(
        "(before) => Number(document.querySelector('.attlas-growing').dataset.rows) > before", arg=rows
    )
    stop.click()
    page.wait_for_function("() => document.querySelector('.attlas-status').textContent.startsWith('Seen')")
    assert not stop.is_visible()
    assert not growing.is_visible()
    asked = slow.asked[-1]
    assert (asked.text, asked.system) == ("Who has bread? <b>", "Be kind.")
    assert (asked.chat, asked.seed, asked.write) == (True, 7, 40)
    assert "chat=yes" in page.url

    page.locator("input[name=chat]").uncheck()
    page.locator("input[name=write]").fill("0")
    file = tmp_path / "text.txt"
    file.write_text("A text from a file. " * 100, encoding="utf-8")
    page.locator("input[type=file]").set_input_files(file)
    page.wait_for_function("() => document.querySelector('textarea[name=text]').value.startsWith('A text from')")
    page.get_by_role("button", name="Look").click()
    page.wait_for_function("() => !document.querySelector('select[name=looks]').hidden")
    assert slow.asked[-1].text.startswith("A text from a file.")
    page.locator("select[name=looks]").select_option(label="llama: Who has bread? <b>")
    stop.wait_for(state="visible", timeout=15_000)
    stop.click()
    page.wait_for_function("() => document.querySelector('.attlas-status').textContent.startsWith('Seen')")
    assert slow.asked[-1].chat
    assert page.locator("textarea[name=system]").input_value() == "Be kind."

    for name, content, sentence in (
        ("large.txt", b"a" * 1_000_000, "900,000 are the most"),
        ("latin.txt", b"caf\xe9", "is not UTF-8"),
    ):
        (tmp_path / name).write_bytes(content)
        page.locator("input[type=file]").set_input_files(tmp_path / name)
        refused = "(part) => document.querySelector('.attlas-refusal').textContent.includes(part)"
        page.wait_for_function(refused, arg=sentence)
    tabs.take_back(page)
    assert complaints == []
