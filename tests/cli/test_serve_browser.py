"""``attlas serve`` as a person meets it: the command, the models behind it, and a real model in a real browser."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import transformers
from command_line import attlas

import twins
from attlas.capture import Subject, load
from attlas.capture.answering import Shelf, look
from attlas.corpora import limited
from attlas.corpora.limits import look_limits
from attlas.errors import CapabilityError, TextError
from attlas.ids import Stream
from attlas.models import bundled
from attlas.store import Manifest, Result
from attlas.views.question import Question
from attlas.views.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TEXT = "The farmer offered apples to the housekeeper, because he had too many of them."
COMMAND = "from attlas.cli import main; main()"
SLOW = (
    f"import time; from attlas.capture import answering; answering.look = lambda *_, **__: time.sleep(120); {COMMAND}"
)
HEADS = {"bert": "AutoModel", "llama": "AutoModelForCausalLM", "bart": "AutoModelForSeq2SeqLM"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with an encoder, a model that writes on, and one that translates."""
    made = tmp_path_factory.mktemp("models")
    for family, auto in HEADS.items():
        model = getattr(transformers, auto).from_config(twins.config(family))
        twins.spread(model)
        model.save_pretrained(made / family)
        twins.tokenizer(family in twins.CAUSAL).save_pretrained(made / family)
    (made / "no-model").mkdir()
    return made


class Library(Shelf):
    """A shelf that remembers what it has opened."""

    def __init__(self, folder: Path) -> None:
        self.opened: list[tuple[str, str | None]] = []
        self.folder = folder
        super().__init__(self.open)

    def open(self, name: str, *, task_head: str | None) -> Subject:
        self.opened.append((name, task_head))
        return load(self.folder / name, task_head=task_head)


def test_the_models_folder_is_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTLAS_MODELS", str(folder))
    assert bundled.listed() == ("bart", "bert", "llama")
    monkeypatch.setenv("ATTLAS_MODELS", str(folder / "nowhere"))
    assert bundled.listed() == ()


def test_a_pair_is_read_by_an_encoder(folder: Path) -> None:
    scene = look(Library(folder), Question("bert", "The farmer slept.", "She worked.")).scene()
    assert scene.texts == ("The farmer slept.", "She worked.")
    (strand,) = scene.strands
    assert (strand.stream, set(strand.queries.documents)) == (Stream.ENCODER, {-1, 0, 1})
    expected = load(folder / "bert").look("The farmer slept.", "She worked.").weights[Stream.ENCODER]
    assert np.allclose(strand.weights, expected.numpy(), atol=1e-6)


def test_a_causal_model_writes_on_only_when_asked(folder: Path) -> None:
    library = Library(folder)
    read = look(library, Question("llama", "The farmer")).scene()
    written = look(library, Question("llama", "The farmer", write=5)).scene()
    again = look(library, Question("llama", "The farmer")).scene()
    assert library.opened == [("llama", None)]
    (before,), (after,) = read.strands, written.strands
    assert after.queries.length > before.queries.length
    assert after.queries.pieces[: before.queries.length] == before.queries.pieces
    size = before.queries.length
    assert np.allclose(after.weights[:, :, :size, :size], before.weights, atol=1e-5)
    assert np.allclose(after.weights.sum(-1), 1, atol=1e-4)
    assert np.allclose(again.strands[0].weights, before.weights, atol=1e-6)


def test_a_translation_is_written_where_none_is_given(folder: Path) -> None:
    library = Library(folder)
    given = look(library, Question("bart", "The farmer slept.", "Der Bauer schläft.")).scene()
    assert library.opened == [("bart", None)]
    written = look(library, Question("bart", "The farmer slept.")).scene()
    assert library.opened == [("bart", None), ("bart", "seq2seq")]
    for scene in (given, written):
        assert [strand.stream for strand in scene.strands] == [Stream.ENCODER, Stream.DECODER, Stream.CROSS]
    assert given.texts == ("The farmer slept.", "Der Bauer schläft.")
    assert np.allclose(given.strands[0].weights, written.strands[0].weights, atol=1e-6)
    short = look(library, Question("bart", "The farmer slept.", write=3)).scene()
    assert short.strands[1].queries.length <= 4


def test_a_model_that_lies_here_is_opened_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTLAS_MODELS", str(folder))
    library = Library(folder)
    look(library, Question("bart", "The farmer slept."))
    look(library, Question("bart", "The farmer slept.", "Der Bauer schläft."))
    look(library, Question("llama", "The farmer", write=3))
    assert library.opened == [("bart", "seq2seq"), ("llama", None)]
    for name in ("bart", "llama", "bert"):  # what is not needed is not opened
        library = Library(folder)
        look(library, Question(name, "The farmer", "" if name == "llama" else "Der Bauer"))
        assert library.opened == [(name, None)]
    with pytest.raises(CapabilityError, match="bert cannot write"):
        look(library, Question("bert", "The farmer", write=3))


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (Question("bert", TEXT, write=3), "bert cannot write"),
        (Question("llama", TEXT, "Another."), "llama reads one text, not pairs"),
        (Question("llama", "farmer " * 20, write=120), "and 120 to write do not fit into the window of llama"),
        (Question("bart", "farmer " * 200), "do not fit into the window of bart, which holds 128; shorten the text$"),
        (Question("bert", "farmer " * 200), "the window of bert holds 128"),
    ],
)
def test_what_a_model_cannot_do_is_one_sentence(folder: Path, question: Question, sentence: str) -> None:
    with pytest.raises((CapabilityError, TextError), match=sentence) as error:
        look(Library(folder), question)
    assert "\n" not in str(error.value)


def test_attention_that_would_fill_the_memory_is_refused(folder: Path) -> None:
    length = len(load(folder / "bert").look(TEXT).source.pieces)
    with limited(look_limits(f"weights={12 * length**2}")):  # of three layers with four heads
        assert look(Library(folder), Question("bert", TEXT)).scene().strands[0].queries.length == length
    too_many = pytest.raises(TextError, match=f"{length} pieces with 12 heads are .* no more than 11 heads")
    with limited(look_limits(f"weights={12 * length**2 - 1}")), too_many:
        look(Library(folder), Question("bert", TEXT))


def test_the_two_models_used_last_stay_open() -> None:
    opened: list[str] = []

    def opening(name: str, *, task_head: str | None) -> str:
        opened.append(name)
        return name.upper()

    shelf = Shelf(opening)
    assert [shelf.get(name) for name in "abacab"] == list("ABACAB")
    assert opened == list("abcb")
    with pytest.raises(ZeroDivisionError):
        Shelf(lambda name, task_head: 1 / 0).get("a")


def test_a_taken_port_and_an_unknown_model_are_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        attlas(capfd, "serve", "--port", port).refuses(f"port {port} of this machine cannot be had")
    attlas(capfd, "serve", "--model", "nobody/knows-this").refuses("no model 'nobody/knows-this'")


def known_of(model: str, folder: Path) -> tuple[Path, Path]:
    """The folders of a survey and of an atlas that know something of a model's heads."""
    places = [(layer, head) for layer in range(6) for head in range(12)]
    heads = {"stream": ["encoder"] * 72, "layer": [at for at, _ in places], "head": [head for _, head in places]}
    figures = {"measure": ["weight"] * 72, "quantity": ["sep"] * 72, "value": [head / 12 for _, head in places]}
    said = ["looks at the word before" if head == 4 else "does something else" for _, head in places]
    survey = Result(
        Manifest("survey", model={"name": model}),
        {"heads": heads | figures, "portraits": heads | {"sentence": said}},
    )
    roles = {"role": ["previous", "other"], "title": ["previous piece", "something else"]}
    portraits = heads | {
        "model": [model] * 72, "order": [0] * 72, "part": ["does"] * 72, "sentence": said,
        "role": ["previous" if head == 4 else "other" for _, head in places],
    }  # fmt: skip
    atlas = Result(Manifest("atlas"), {"models": {"model": [model]}, "roles": roles, "portraits": portraits})
    return survey.save(folder / "survey"), atlas.save(folder / "atlas")


def test_what_is_known_of_no_model_that_is_offered_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    survey, atlas = known_of("another", tmp_path)
    attlas(capfd, "serve", "--survey", survey).refuses("survey: this survey is of another, not of ")
    attlas(capfd, "serve", "--atlas", atlas).refuses("atlas: this atlas is of another, not of ")
    attlas(capfd, "serve", "--atlas", survey).refuses(
        "an atlas is needed, and it holds a result of the study 'survey'"
    )
    attlas(capfd, "serve", "--survey", atlas).refuses("a survey is needed to sort heads by, and it holds a result of")
    attlas(capfd, "serve", "--survey", tmp_path / "none").refuses("none: there is no such folder")


def test_the_page_is_opened_where_that_is_asked_for(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(Server, "run", lambda self: time.sleep(0.2))
    said = attlas(capfd, "serve", "--open")
    assert (said.status, said.out) == (0, f"attlas is at {opened[0]}\n")
    attlas(capfd, "serve")
    assert len(opened) == 1


@contextmanager
def served(code: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The real command in a process of its own, and the address it prints."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, "serve", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        assert process.stdout
        line = process.stdout.readline()
        found = re.fullmatch(r"attlas is at (http://127\.0\.0\.1:\d+/\?token=\S+)\n", line)
        assert found, (line, process.stderr and process.stderr.read())
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


def interrupt(process: subprocess.Popen[str]) -> None:
    """Ctrl-C ends the command soon, with no complaint."""
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert re.fullmatch("The address is for you alone.*\nstopped\n", said), said


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on POSIX")
def test_ctrl_c_ends_it_even_while_a_model_reads() -> None:
    with served(SLOW) as (process, address):
        url = urlsplit(address)
        answers: list[http.client.HTTPResponse] = []

        def ask() -> None:
            connection = http.client.HTTPConnection(url.netloc, timeout=60)
            body = json.dumps({"questions": [{"model": "all-MiniLM-L6-v2", "text": "a"}]})
            connection.request("POST", "/api/look", body, {"X-Attlas-Token": parse_qs(url.query)["token"][0]})
            answers.append(connection.getresponse())

        first = http.client.HTTPConnection(url.netloc, timeout=60)
        first.request("GET", f"{url.path}?{url.query}")
        first.getresponse().read()  # it is up; what waits to be let in when it ends is only cut off
        first.close()
        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(2)
        assert asking.is_alive()
        began = time.monotonic()
        interrupt(process)
        assert time.monotonic() - began < 20
        asking.join(20)
        assert answers[0].status == 503
        assert "stopped while it looked" in json.load(answers[0])["error"]


@pytest.mark.browser
@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on POSIX")
def test_the_bundled_model_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    if bundled.bundled_folder() is None:
        pytest.skip("the bundled model is not installed (extra demo)")
    complaints: list[str] = []
    survey, atlas = known_of("all-MiniLM-L6-v2", tmp_path)
    with served(COMMAND, "--survey", str(survey), "--atlas", str(atlas)) as (process, address):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                complaints.append(request.url) if urlsplit(request.url).netloc != urlsplit(address).netloc else None
            ),
        )
        page.goto(f"{address}#layer=0")  # with all heads of the first layer
        page.get_by_label("Text", exact=True).fill(TEXT)
        assert page.get_by_label("Model", exact=True).input_value() == "all-MiniLM-L6-v2"
        page.get_by_role("button", name="Look").click()
        page.wait_for_selector("#attlas-viewer[data-drawn]", timeout=120_000)
        page.locator("#attlas-viewer").focus()
        for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"):  # the second layer, the third piece
            page.keyboard.press(key)
        readout = page.locator(".attlas-readout")
        page.wait_for_selector(".attlas-readout:has-text('farmer attends to')")
        said = readout.inner_text()
        page.locator("button[data-view=model]").click()
        page.locator("[data-name=words]").fill("previous word")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelectorAll('.attlas-table tbody tr').length === 6")
        found_heads = page.locator(".attlas-table tbody tr td:first-child").all_inner_texts()
        page.get_by_label("Sort").select_option("weight: [SEP]")
        page.wait_for_selector(".attlas-notice:has-text('Sorted by “weight: [SEP]”')")
        context.close()
        interrupt(process)
    seen = load().look(TEXT)
    mean = seen.weights[Stream.ENCODER][1].mean(0)[2].numpy()
    best = np.argsort(-mean)[:6]
    found = re.findall(r"(\S+) (0\.\d+)", said.partition("attends to ")[2])
    assert [label for label, _ in found] == [seen.source.pieces[key] for key in best]
    assert [float(value) for _, value in found] == pytest.approx(mean[best], abs=6e-4)
    assert "layer 2" in said
    assert found_heads == [f"{layer}-5" for layer in range(1, 7)]
    assert not complaints
