"""Hostile requests to ``attlas serve``: each must be answered or refused, and the server must outlive them all.

The real server runs in a process of its own on this machine's loopback address, with the bundled model, and is ended
when the requests are done. They go through plain sockets, four at a time, so that nothing on the way puts them right:
broken lines and headers, bodies that nest, lie about their length or never end, wrong names, tokens and cookies, ways
out of the folder, models that may not be opened. What is at fault: an answer of 5xx, a connection that stays silent
although all was sent, a file of others in an answer, and a good question that is not answered with the right numbers
afterwards.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.fuzz.asking import TEXT, Known, request
from tools.fuzz.forked import Outcome

SECRET = "a line that nobody may read"
PATIENCE, OPENING = 30.0, 300.0  # seconds for an answer, when all was sent; and for the first, which opens a model
AT_ONCE = 4
NO_HTTP = b"Invalid HTTP request received."  # as the library of the server says it
STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")
Told = tuple[str, str]  # the kind of an outcome, and more of it


class Target(Known):
    """A server to send requests to."""

    @classmethod
    def of(cls, address: str, model: str, outside: Path) -> Target:
        """The server behind an address with a token, after its cookie was fetched and a look was made."""
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", address)
        assert found is not None, address
        port, token = int(found[1]), found[2]
        led = exchange(port, [f"GET /?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()], shut=True)
        cookie = re.search(rb"set-cookie: ([^;\r]+)", led)
        assert cookie is not None, led
        target = cls(port, token, cookie[1].decode(), model, outside)
        return replace(target, look=target.asked()["id"])

    def get(self, path: str) -> bytes:
        """The body of an answer to a good request, which must be 200."""
        return self._answer(f"GET {path} HTTP/1.1", b"")

    def asked(self) -> dict[str, Any]:
        """The answer to a good question."""
        body = json.dumps({"questions": [{"model": self.model, "text": TEXT}]}).encode()
        answer: dict[str, Any] = json.loads(self._answer("POST /api/look HTTP/1.1", body))
        return answer

    def numbers(self) -> NDArray[np.float32]:
        """A row of attention as the server gives it, after a look of its own."""
        return np.frombuffer(self.get(f"/api/row/{self.asked()['id']}/0/0/0/0/1"), np.float32)

    def _answer(self, line: str, body: bytes) -> bytes:
        head = f"{line}\r\nHost: 127.0.0.1:{self.port}\r\nX-Attlas-Token: {self.token}\r\nConnection: close\r\n"
        sent = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        answer = exchange(self.port, [sent], patience=OPENING)
        assert answer.startswith(b"HTTP/1.1 200"), answer[:300]
        return answer.partition(b"\r\n\r\n")[2]


def outcomes(
    seed: int, indices: Sequence[int], keep: Path | None = None, target: Target | None = None
) -> Iterator[Outcome]:
    """What came of each of these requests, and last of good ones after them."""
    with tempfile.TemporaryDirectory() as name, _given(target, Path(name)) as known:
        before = known.numbers()
        if target is None and not np.allclose(before, _right_numbers(), atol=1e-6):
            yield Outcome(-1, "wrong", "a good question, before all the others")
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for index, (kind, told) in zip(indices, threads.map(partial(attempt, known, seed), indices), strict=True):
                outcome = Outcome(index, kind, told)
                yield outcome
                if outcome.at_fault and keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{index}").write_bytes(b"".join(request(known, seed, index)[0]))
        try:
            same = np.array_equal(known.numbers(), before)
            yield Outcome(-1, "answered" if same else "wrong", "a good question, after all the others")
        except (AssertionError, OSError) as error:
            yield Outcome(-1, "hang", f"a good question was not answered any more: {error!r:.200}")


def attempt(target: Target, seed: int, index: int) -> Told:
    """Send one request, and judge what comes back."""
    parts, whole = request(target, seed, index)
    told = b"".join(parts)[:150]
    try:
        answer = exchange(target.port, parts, shut=not whole)
    except TimeoutError:
        return ("hang", f"no answer to {told!r}") if whole else ("waited for", "")
    except OSError as error:
        return "closed", type(error).__name__
    if SECRET.encode() in answer or b"root:x:" in answer:
        return "leak", f"a file of others in the answer to {told!r}"
    statuses = STATUS.findall(answer)
    if any(status.startswith(b"5") for status in statuses):
        return "5xx", f"{answer[:100]!r} to {told!r}"
    if not statuses:
        return "closed", ""
    if statuses[0].startswith(b"4") and not _one_sentence(answer):
        return "traceback", f"no sentence: {answer[-200:]!r} to {told!r}"
    return ("refused" if statuses[0].startswith(b"4") else "answered"), ""


def exchange(port: int, parts: Sequence[bytes], *, shut: bool = False, patience: float = PATIENCE) -> bytes:
    """Send bytes, part by part, and give all that comes back until the server closes or falls silent; with ``shut``
    say that nothing more will come."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):  # it had enough, and may have said why
            for part in parts:
                connection.sendall(part)
            if shut:
                connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while part := connection.recv(1 << 16):
                answer += part
                if _is_whole(answer, bare=parts[0].startswith(b"HEAD ")):
                    break
    return answer


def _is_whole(answer: bytes, *, bare: bool) -> bool:
    """Whether an answer has ended; one to HEAD tells the length of what it leaves out."""
    head, blank, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: ([0-9]+)", head)
    return bool(blank) and (bare or (length is not None and len(body) >= int(length[1])))


def _one_sentence(answer: bytes) -> bool:
    """Whether a refusal is an object with one sentence, or one line of the library's own; HEAD has neither."""
    body = answer.partition(b"\r\n\r\n")[2]
    if not body or NO_HTTP in body:
        return True
    said = json.loads(body)
    return list(said) == ["error"] and "\n" not in said["error"]


def _right_numbers() -> NDArray[np.float32]:
    """The same row of the same model, looked at in this process."""
    from attlas.capture import load
    from attlas.ids import Stream

    return np.asarray(load().look(TEXT).weights[Stream.ENCODER][0, 0, 1], np.float32)


@contextmanager
def _given(target: Target | None, folder: Path) -> Iterator[Target]:
    """The target that was given, or a server of our own for as long as it is needed."""
    if target is not None:
        yield target
        return
    outside = forbidden(folder / "outside")
    with serving(folder) as address:
        from attlas.models import bundled

        yield Target.of(address, bundled.resolve(None)[0], outside)


def forbidden(folder: Path) -> Path:
    """A folder that no answer may know of: a secret, and a model whose configuration keeps waiting who opens it."""
    (folder / "model").mkdir(parents=True)
    (folder / "secret.txt").write_text(SECRET, encoding="utf-8")
    os.mkfifo(folder / "model" / "config.json")
    return folder


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """``attlas serve`` in a process of its own; gives the address that it prints."""
    command = [sys.executable, "-m", "attlas", "serve", "--models", "none/allowed"]
    with open(folder / "said", "wb") as said:
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said, text=True, cwd=folder,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    limit = threading.Timer(1800, server.kill)
    limit.start()
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        yield line.removeprefix("attlas is at ").strip()
        assert server.poll() is None, "the server has ended"
    finally:
        limit.cancel()
        server.send_signal(signal.SIGINT)
        try:
            server.wait(20)
        finally:
            server.kill()
