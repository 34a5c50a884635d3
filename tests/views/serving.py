"""The server of ``attlas serve`` with invented scenes, and requests by hand."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from scenes import reading, strand

from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.views import Scene
from attlas.views.question import Question
from attlas.views.server import Server

TEXT = "The farmer offered apples to the housekeeper"
HOSTILE = "</script><script>window.broken = true</script><img src=x onerror='window.broken = true'>"


def look(question: Question) -> Scene:
    """A scene whose numbers follow from the question; a text that says so is refused, or breaks."""
    if "refuse" in question.text:
        raise CapabilityError(f"{question.model} does not read this")
    if "break" in question.text:
        raise ZeroDivisionError("a secret of ours")
    source = reading(("[CLS]", *question.text.split(), "[SEP]"))
    seed = sum(map(ord, question.text + question.model))
    strands = [strand(Stream.ENCODER, source, seed=seed)]
    if question.second:
        target = reading(("[CLS]", *question.second.split()))
        strands.append(strand(Stream.CROSS, target, source, seed=seed + 1))
    return Scene(question.model, tuple(filter(None, (question.text, question.second))), tuple(strands))


@contextmanager
def running(
    answer: Callable[[Question], Scene] = look, models: tuple[str, ...] = ("one", "two"), **options: Any
) -> Iterator[Server]:
    """A server that answers while a ``with`` block lasts."""
    server = Server(answer, models, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        """The sentence, which must be all there is."""
        said: dict[str, str] = json.loads(self.body)
        assert list(said) == ["error"]
        assert "\n" not in said["error"]
        return said["error"]


def ask(
    server: Server, path: str, *, method: str = "GET", token: str | None = None, host: str | None = None,
    body: Any = None, **headers: str,
) -> Answer:  # fmt: skip
    """One request by hand; the page is asked for with its cookie, the rest with the token, unless one is given."""
    if path == "/" and token is None:
        headers["Cookie"] = f"attlas-{server.port}={server.pass_word}"
    token = server.token if token is None else token
    if path == "/" and "Cookie" not in headers:
        path = f"/?token={token}"
    elif path != "/" and token:
        headers["X-Attlas-Token"] = token
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    content = body if body is None or isinstance(body, bytes) or hasattr(body, "__next__") else json.dumps(body)
    connection.request(
        method, path, content, {"Host": host or f"127.0.0.1:{server.port}", **headers},
        encode_chunked=hasattr(body, "__next__"),
    )  # fmt: skip
    answer = connection.getresponse()
    found = Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    connection.close()
    return found


def ask_look(server: Server, *questions: Any) -> Answer:
    """Ask for a look."""
    return ask(server, "/api/look", method="POST", body={"questions": list(questions)})
