"""Who the server lets in, and what comes out."""

from __future__ import annotations

import contextlib
import json
import random
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from serving import HOSTILE, TEXT, Answer, ask, ask_look, look, running

from attlas.corpora.limits import Limits
from attlas.errors import PlanError
from attlas.views import Scene
from attlas.views.payload import decode, pack
from attlas.views.question import MOST_WRITTEN, Question
from attlas.views.server import KEPT, MOST_BYTES, WAITING, Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as made:
        yield made


def test_only_who_knows_the_token_is_let_in(server: Server) -> None:
    question = {"questions": [{"model": "one", "text": TEXT}]}
    assert ask(server, "/").status == 200
    assert ask(server, "/api/look", method="POST", body=question).status == 200
    for token in ("", "wrong", server.token[:-1], server.token + "x"):
        for refused in (
            ask(server, "/", token=token),
            ask(server, "/api/look", method="POST", token=token, body=question),
            ask(server, "/api/block/abc/0", token=token),
            ask(server, "/api/row/abc/0/0/0/0/0", token=token),
            ask(server, "/no/such/page", token=token),
        ):
            assert refused.status == 403
            assert "token is missing or wrong" in refused.error
    assert ask(server, "/?token=%C3%A9%ff").status == 403
    assert ask(server, "/api/look", method="POST", token="\xe9", body=question).status == 403


def test_the_token_counts_only_where_it_belongs(server: Server) -> None:
    question = {"questions": [{"model": "one", "text": TEXT}]}
    path = f"/api/look?token={server.token}"
    assert ask(server, path, method="POST", token="", body=question).status == 403
    assert ask(server, "/?", **{"X-Attlas-Token": server.token}).status == 403
    assert ask(server, "/?", Cookie=f"token={server.token}").status == 403


def test_the_token_is_exchanged_for_a_cookie(server: Server) -> None:
    led = ask(server, "/", token=server.token)
    assert (led.status, led.headers["location"]) == (303, "/")
    cookie, *rules = led.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(rules)
    assert server.token not in cookie
    assert ask(server, "/", token="", Cookie=cookie).status == 200
    question = {"questions": [{"model": "one", "text": TEXT}]}

    def asked(**headers: str) -> int:
        return ask(server, "/api/look", method="POST", token="", body=question, **headers).status

    ours = {"X-Attlas-Asking": "1", "Cookie": cookie}
    assert asked(**ours, Origin=f"http://127.0.0.1:{server.port}") == 200
    assert asked(Cookie=cookie) == 403  # as a form of another port could send it
    assert asked(**ours, Origin=f"http://127.0.0.1:{server.port + 1}") == 403
    assert asked(**{**ours, "Cookie": cookie[:-1]}) == 403


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/block/{name}/" + "9" * 5_000, None, 404),
        ("/api/row/{name}/0/0/0/0/" + "9" * 5_000, None, 404),
        ("/" + "x" * 30_000, None, 404),
        ("/api/look", b"[" * 200_000, 422),
        ("/api/look", b'{"a":' * 100_000, 422),
        ("/api/look", b'{"questions": [{"model": "one", "text": "a", "write": ' + b"9" * 5_000 + b"}]}", 422),
        ("/api/look", {"questions": [{"model": "m" * 10_000, "text": "a"}]}, 422),
        ("/api/look", {"questions": [{"model": "unreadable", "text": "a"}]}, 422),
    ],
)
def test_monstrous_requests_are_refused(path: str, body: Any, status: int) -> None:
    def look_at_disk(question: Question) -> Scene:
        if question.model == "unreadable":
            raise OSError(36, "File name too long")
        return look(question)

    with running(look_at_disk) as server:
        name = json.loads(ask_look(server, {"model": "one", "text": TEXT}).body)["id"]
        refused = ask(server, path.format(name=name), method="GET" if body is None else "POST", body=body)
        assert (refused.status, len(refused.error) < 200) == (status, True)


def test_random_requests_are_never_our_mistake(server: Server) -> None:
    """Lines, headers and bodies by lot, through the socket itself: a refusal, or no answer at all, but no 5xx."""
    draw, cookie = random.Random(0), f"Cookie: attlas-{server.port}={server.pass_word}"
    parts = [
        "/",
        "?",
        "token=",
        "[::1",
        "*",
        "http://[",
        "%00",
        "%ff",
        "api/look",
        "api/block/",
        "..",
        "#",
        "\xff",
        "9" * 300,
    ]
    bodies = [
        b"",
        b"{}",
        b"[1",
        b'{"questions": [{"model": {}}]}',
        b'{"questions": [{"text": null}, 3]}',
        b"\x00" * 99,
    ]
    for _ in range(300):
        target = "".join(draw.choices(parts, k=draw.randint(1, 4)))
        body = draw.choice(bodies)
        lines = [
            f"{draw.choice(['GET', 'POST', 'PUT', 'HEAD', 'OPTIONS', 'get'])} {target} HTTP/1.1",
            f"Host: 127.0.0.1:{server.port}",
            draw.choice([f"X-Attlas-Token: {server.token}", cookie, "Cookie: ;;=,=\xff"]),
            draw.choice(["X-Attlas-Asking: 1", "Origin: null", "A: " + "b" * 500]),
            f"Content-Length: {draw.choice([len(body), len(body), 0, -1, 10**30])}",
            "Connection: close",
        ]  # fmt: skip
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(65536):
                    answer += part
        assert not re.match(rb"HTTP/1.1 5", answer), (lines, answer)


def test_no_more_looks_wait_than_may() -> None:
    free = threading.Event()

    def slow(question: Question) -> Scene:
        assert free.wait(20)
        return look(question)

    with running(slow) as server:
        answers: list[Answer] = []
        threads = [
            threading.Thread(target=lambda: answers.append(ask_look(server, {"model": "one", "text": "a b"})))
            for _ in range(WAITING + 2)
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 10
        while len(answers) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        free.set()
        for thread in threads:
            thread.join(20)
    assert sorted(answer.status for answer in answers) == [200] * WAITING + [429] * 2


def test_two_servers_have_two_tokens(server: Server) -> None:
    with running() as other:
        assert other.token != server.token
        assert ask(other, "/", token=server.token).status == 403


def test_only_our_own_name_is_answered(server: Server) -> None:
    port = server.port
    assert ask(server, "/", host=f"localhost:{port}").status == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "localhost", f"127.0.0.1:{port + 1}",
                 f"127.0.0.1:{port}.evil.example", f"[::1]:{port}", "0.0.0.0"):  # fmt: skip
        refused = ask(server, "/", host=host)
        assert refused.status == 403
        assert "answers only as" in refused.error


def test_it_listens_on_this_machine_alone(server: Server) -> None:
    assert server.address.startswith("http://127.0.0.1:")
    if sys.platform == "linux":
        with pytest.raises(ConnectionRefusedError):  # bound to every address, this would be answered
            socket.create_connection(("127.0.0.2", server.port), timeout=5)


def test_every_answer_has_our_headers_and_none_for_other_sites(server: Server) -> None:
    found = json.loads(ask_look(server, {"model": "one", "text": TEXT}).body)
    for answer in (
        ask(server, "/"),
        ask(server, "/", token="wrong"),
        ask(server, "/nowhere"),
        ask_look(server, {"model": "one", "text": ""}),
        ask_look(server, {"model": "one", "text": "break it"}),
        ask(server, f"/api/block/{found['id']}/0", Origin="http://evil.example"),
        ask(server, "/api/look", method="OPTIONS", Origin="http://evil.example",
            **{"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-attlas-token"}),
    ):  # fmt: skip
        assert not [name for name in answer.headers if name.startswith("access-control") or name == "set-cookie"]
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_the_policy_lets_only_the_pages_own_script_run(server: Server) -> None:
    first, second = ask(server, "/"), ask(server, "/")
    policies = [answer.headers["content-security-policy"] for answer in (first, second)]
    nonces = [re.findall("script-src 'nonce-([^']+)';", policy) for policy in policies]
    assert [len(each) for each in nonces] == [1, 1]
    assert nonces[0] != nonces[1]
    html = first.body.decode()
    assert re.findall('<script[^>]* nonce="([^"]+)"', html) == nonces[0]
    assert "unsafe" not in policies[0].replace("style-src 'unsafe-inline'", "")
    outside = html.partition('<script type="module"')[0]
    assert re.findall('(?:src|href)="([^"]*)"', outside) == ["data:,"]
    assert server.token not in html


def test_names_of_models_cannot_break_the_page() -> None:
    with running(models=(HOSTILE, "ordinary")) as hostile:
        html = ask(hostile, "/").body.decode()
    assert HOSTILE not in html
    settings = re.findall('<script type="application/json" id="attlas-settings">(.*?)</script>', html)
    assert json.loads(settings[0])["models"] == [HOSTILE, "ordinary"]


def test_large_requests_are_refused_with_a_sentence(server: Server) -> None:
    question = {"model": "one", "text": TEXT, "second": ""}
    frame = len(json.dumps({"questions": [question]}))
    fits = ask_look(server, {**question, "second": " " * (MOST_BYTES - frame)})
    assert fits.status == 200
    large = ask_look(server, {**question, "second": " " * (MOST_BYTES - frame + 1)})
    assert large.status == 413
    assert f"{MOST_BYTES + 1:,} bytes" in large.error
    chunks = (b" " * 100_000 for _ in range(40))
    unannounced = ask(server, "/api/look", method="POST", body=chunks, **{"Transfer-Encoding": "chunked"})
    assert unannounced.status == 413
    assert "4,000,000 bytes" in unannounced.error


@pytest.mark.parametrize(
    ("exact_cells", "code", "tolerance"), [(10**9, "f32", 0.0), (0, "u8", 1 / 255)], ids=["exact", "rounded"]
)
def test_blocks_decode_to_the_weights_and_rows_are_exact(exact_cells: int, code: str, tolerance: float) -> None:
    questions = [Question("one", TEXT), Question("two", "Another text", "Un texte")]
    asked = [{"model": q.model, "text": q.text, "second": q.second} for q in questions]
    with running(exact_cells=exact_cells) as server:
        answer = ask_look(server, *asked)
        found = json.loads(answer.body)
        assert [scene["model"] for scene in found["header"]["scenes"]] == ["one", "two"]
        for s, question in enumerate(questions):
            scene = look(question)
            for t, expected in enumerate(scene.strands):
                spec = found["header"]["scenes"][s]["strands"][t]["weights"]
                assert spec["code"] == code
                layers, heads, queries, _ = expected.weights.shape
                for layer in range(layers):
                    for head in range(heads):
                        index = spec["first"] + layer * heads + head
                        block = ask(server, f"/api/block/{found['id']}/{index}")
                        matrix = decode(block.body, spec["code"], spec["columns"])
                        true = expected.weights[layer, head]
                        assert np.all(np.abs(matrix - true) <= tolerance * true.max(-1, keepdims=True))
                    for query in range(queries):
                        row = ask(server, f"/api/row/{found['id']}/{s}/{t}/{layer}/1/{query}")
                        assert np.array_equal(np.frombuffer(row.body, "<f4"), expected.weights[layer, 1, query])


def test_what_does_not_exist_is_said_to_be_missing(server: Server) -> None:
    found = json.loads(ask_look(server, {"model": "one", "text": TEXT}).body)
    name, pieces = found["id"], len(TEXT.split()) + 2
    assert ask(server, f"/api/row/{name}/0/0/2/3/{pieces - 1}").status == 200
    blocks = pack([look(Question("one", TEXT))]).size
    assert ask(server, f"/api/block/{name}/{blocks - 1}").status == 200
    for path, sentence in (
        (f"/api/block/{name}/{blocks}", f"there is no block {blocks}; this answer has {blocks}"),
        (f"/api/block/{name}/-1", "is nothing that this server knows"),
        ("/api/block/unknown/0", f"only the last {KEPT} looks are kept"),
        (f"/api/row/{name}/1/0/0/0/0", "there is no scene 1; this answer has 1"),
        (f"/api/row/{name}/0/1/0/0/0", "there is no strand 1; this scene has 1"),
        (f"/api/row/{name}/0/0/3/0/0", "there is no layer at place 3; this strand has 3"),
        (f"/api/row/{name}/0/0/0/4/0", "there is no head at place 4; this strand has 4"),
        (f"/api/row/{name}/0/0/0/0/{pieces}", f"there is no query at place {pieces}"),
        (f"/api/row/{name}/0/0/0/0/-1", "is nothing that this server knows"),
        ("/api/row/unknown/0/0/0/0/0", "look again"),
        ("/static/viewer.js", "is nothing that this server knows"),
    ):
        missing = ask(server, path)
        assert (missing.status, sentence in missing.error) == (404, True), (path, missing)
    assert ask(server, "/api/look").status == 405


def test_only_the_last_looks_are_kept(server: Server) -> None:
    names = [json.loads(ask_look(server, {"model": "one", "text": "a b"}).body)["id"] for _ in range(KEPT + 1)]
    assert [ask(server, f"/api/block/{name}/0").status for name in names] == [404] + [200] * KEPT


def test_fewer_are_kept_where_they_are_large(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attlas.views.server.in_force", lambda: Limits(weights=1))
    names = [json.loads(ask_look(server, {"model": "one", "text": "a b"}).body)["id"] for _ in range(2)]
    assert [ask(server, f"/api/block/{name}/0").status for name in names] == [404, 200]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"not json", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        ([], "one question, or two"),
        ({"questions": []}, "one question, or two"),
        ({"questions": [{"model": "one", "text": "a"}] * 3}, "one question, or two"),
        ({"questions": ["a"]}, "an object with model and text, and this is str"),
        ({"questions": [{"model": "one", "text": 3}]}, "text must be a text, and this is int"),
        ({"questions": [{"model": "one", "text": " \n"}]}, "the text is empty; give at least one word"),
        ({"questions": [{"model": " ", "text": "a"}]}, "no model is named"),
        ({"questions": [{"model": "one", "text": "a", "write": -1}]}, f"0 to {MOST_WRITTEN} pieces, not -1"),
        ({"questions": [{"model": "one", "text": "a", "write": True}]}, "not True"),
        ({"questions": [{"model": "one", "text": "a", "write": 1.5}]}, "not 1.5"),
        (b'{"questions": [{"model": "one", "text": "a \\ud800"}]}', "half a character"),
        ({"questions": [{"model": "one", "text": "refuse"}]}, "one does not read this"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(server: Server, body: Any, sentence: str) -> None:
    refused = ask(server, "/api/look", method="POST", body=body)
    assert refused.status == 422
    assert sentence in refused.error


def test_our_own_mistakes_are_logged_and_not_shown(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    broken = ask_look(server, {"model": "one", "text": "break it"})
    assert broken.status == 500
    assert broken.error == "something went wrong inside attlas (ZeroDivisionError); its terminal says more"
    assert "a secret of ours" not in broken.body.decode()
    deadline = time.monotonic() + 5
    while "a secret of ours" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "a secret of ours" in caplog.text
    assert ask_look(server, {"model": "one", "text": TEXT}).status == 200


def test_looks_wait_for_each_other_while_the_page_stays_alive() -> None:
    at_work, most, free = [], [], threading.Event()

    def slow(question: Question) -> Scene:
        at_work.append(question)
        most.append(len(at_work))
        assert free.wait(20)
        at_work.pop()
        return look(question)

    with running(slow) as server:
        answers: list[Answer] = []
        threads = [
            threading.Thread(target=lambda: answers.append(ask_look(server, {"model": "one", "text": "a b"})))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 10
        while not server.busy:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert ask(server, "/").status == 200
        time.sleep(0.2)
        free.set()
        for thread in threads:
            thread.join(20)
        assert [answer.status for answer in answers] == [200] * 3
        assert most == [1, 1, 1]
        assert not server.busy


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PlanError, match=f"port {port} of this machine cannot be had .*already in use") as error:
            Server(look, [], port=port)
    assert "\n" not in str(error.value)
    with pytest.raises(PlanError, match="port 70000"):
        Server(look, [], port=70000)
