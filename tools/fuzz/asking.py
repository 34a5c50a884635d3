"""Requests made to break a server: broken lines and headers, bodies that nest, lie about their length or never end,
wrong names, tokens and cookies, ways out of the folder, models that may not be opened.

Request k of a seed is always the same, but for what the server itself has drawn: its port, token and cookie.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.fuzz.mutants import mutated

TEXT = "The farmer offered apples to the housekeeper."


@dataclass(frozen=True)
class Known:
    """What an attacker may know of a server: its port, token and cookie, a model that it opens, the name of a look
    that was made, and a place on the disk that is none of its business."""

    port: int
    token: str
    cookie: str
    model: str
    outside: Path
    look: str = ""


METHODS = (
    "GET", "GET", "GET", "POST", "POST", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT",
    "get", "G\x00T", "", "X" * 5000, "PRI",
)  # fmt: skip
DIGITS = ("0", "1", "00", "-1", "9" * 5000, "9" * 9, "1e3", "0x1", "\u0661", "%30", " 1", "1/..", "nan", "")
PLACES = (
    "/../../../../etc/passwd", "/..%2f..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
    "/api/../../etc", "/static/app.js", "/api/look/", "/api", "/?token=", "/?token=%ff%00", "/" + "x" * 30_000,
    "/%00", "/\x00", "*", "http://evil.example/", "http://[", "/#", "/?" + "a=b&" * 5000, "/\xff\xfe", "/%",
    "/api/look?x=" + "y" * 20_000, "", " ", "/api/block", "/favicon.ico", "/..\\..\\etc\\passwd", "/{{7*7}}",
    "/</script><img src=x>",
)  # fmt: skip
HEADERS = (
    "Range: bytes=0-9", "Range: bytes=" + "0-1," * 3000, "Upgrade: websocket\r\nConnection: Upgrade",
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXA=",
    "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
    "Expect: 100-continue", "Content-Encoding: gzip", "Content-Type: text/html", "Content-Type: \x00",
    "A: " + "b" * 70_000, "\r\n".join(f"H{number}: x" for number in range(2000)), "Folded: a\r\n b", "No colon",
    ": empty", "A\x00B: c", "Origin: http://evil.example", "Origin: null", "X-Forwarded-Host: evil.example",
    "Referer: http://evil.example", "Cookie: ;;=,=\xff", "Cookie: " + "a=b; " * 3000, "Accept: \xff",
    "X-HTTP-Method-Override: DELETE", "If-None-Match: *", "Accept-Encoding: gzip;q=nan",
    "Connection: keep-alive, close, \x01", "Content-Disposition: x", "Trailer: Host",
)  # fmt: skip
WORDS = (
    "</script><img src=x onerror=alert(1)>", "\u202e\u2066abc", "\u200b\u200b", "\x00", "a\x00b", "\ud800",
    "\U0001f600" * 99, "e" + "\u0301" * 20_000, "\ufdfa" * 9, "\x1b[2J", "{{7*7}}", "a " * 5_000, "w" * 900_000, " ",
    "", "\u2028", "[MASK] [SEP]", "<s>" * 50, "../../etc/passwd", "'; DROP TABLE heads;--", "1",
    "\r\nX-Injected: yes",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 1.5, -1, 10**400, [], {}, [[]], "x", 500, 501, "9", float("nan"), float("inf"), {"": None},
)  # fmt: skip
WRONG = {  # what may be wrong with a request, and how often
    "body": 10, "path": 6, "headers": 4, "framing": 3, "known": 2, "method": 2, "host": 1, "all": 1,
}  # fmt: skip
GARBAGE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 99, b"\x00" * 1000, b"\r\n" * 1000, b"GET", b"\n",
    b"HELP\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n",
    b"\xff" * 70_000, b"GET  /  HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\nHost: x\n\n",
    b"POST /api/look HTTP/1.1\r\nContent-Length: 5\r\n\r\n{",
)  # fmt: skip

NO_QUESTIONS = (
    b"[" * 200_000, b'{"a":' * 200_000, b'{"questions":' + b"[" * 100_000 + b"]" * 100_000 + b"}", b"", b"null",
    b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b"\x1f\x8b\x08\x00" + b"\x00" * 50, b'"' + b"\\u0000" * 9 + b'"',
    b"x" * 1_100_000, b"9" * 5_000,
    b'{"questions": [{"model": "one", "text": "a", "write": ' + b"9" * 5_000 + b"}]}",
    b'{"questions": [{"text": "a"}], "questions": 3}', b"-" * 99, b'{"questions": [' + b"{}," * 50_000 + b"{}]}",
)  # fmt: skip


def request(target: Known, seed: int, index: int) -> tuple[list[bytes], bool]:
    """Request number ``index``, in the parts in which it is sent, and whether it is a whole one, to which an answer
    must come while the connection is open. One or two things are wrong with it, so that some come far."""
    draw = random.Random(f"{seed} {index}")
    wrong = draw.choices(list(WRONG), list(WRONG.values()), k=draw.choice((1, 1, 2)))
    if "all" in wrong:
        return [draw.choice(GARBAGE)], False
    look = "path" not in wrong
    method = draw.choice(METHODS) if "method" in wrong else "POST" if look else draw.choice(("GET", "GET", "HEAD"))
    version = draw.choice(("HTTP/1.0", "HTTP/3.14", "", "http/1.1")) if "method" in wrong else "HTTP/1.1"
    lines = [f"{method} {'/api/look' if look else _path(draw, target)} {version}"]
    lines.append(draw.choice(_hosts(target)) if "host" in wrong else f"Host: 127.0.0.1:{target.port}")
    lines.append(_known(draw, target, right="known" not in wrong))
    if "headers" in wrong:
        lines += draw.sample(HEADERS, draw.choice((1, 1, 2, 4)))
    body = b"" if not look else _body(draw, target) if "body" in wrong else _question(target)
    framing, parts, whole = _framed(draw, body) if "framing" in wrong else _as_it_is(body)
    head = "\r\n".join([*lines, *framing]) + "\r\n\r\n"
    return [head.encode("utf-8", "surrogateescape") if draw.random() < 0.5 else _latin(head), *parts], whole


def _as_it_is(body: bytes) -> tuple[list[str], list[bytes], bool]:
    return [f"Content-Length: {len(body)}"], [body], True


def _question(target: Known) -> bytes:
    return json.dumps({"questions": [{"model": target.model, "text": TEXT}]}).encode()


def _latin(head: str) -> bytes:
    return head.encode("latin-1", "replace")


def _hosts(target: Known) -> list[str]:
    return [
        "Host: evil.example", f"Host: localhost:{target.port}", "Host: ", "X: no host",
        f"Host: 127.0.0.1:{target.port}.evil", f"Host: 127.0.0.1:{target.port}\r\nHost: evil.example",
        "Host: " + "h" * 60_000, "Host: 127.0.0.1", "Host: \xff", f"Host: [::1]:{target.port}",
        f"host: 127.0.0.1:{target.port}", "Host: 127.0.0.1:99999999999999999999",
    ]  # fmt: skip


def _known(draw: random.Random, target: Known, *, right: bool) -> str:
    """What the sender shows: the token or the cookie; or neither, or nearly."""
    shown = [f"X-Attlas-Token: {target.token}"] * 12 + [f"Cookie: {target.cookie}\r\nX-Attlas-Asking: 1"] * 4
    wrong = [
        f"X-Attlas-Token: {target.token[:-1]}", f"X-Attlas-Token: {target.token}x", "X-Attlas-Token: \xff",
        "X: nothing", f"Cookie: {target.cookie}", f"Cookie: {target.cookie[:-1]}\r\nX-Attlas-Asking: 1",
        f"Authorization: Bearer {target.token}", f"X-Attlas-Token: {target.token}\r\nX-Attlas-Token: x",
        "Cookie: " + target.cookie * 2 + "\r\nX-Attlas-Asking: 1",
    ]  # fmt: skip
    return draw.choice(shown if right else wrong)


def _path(draw: random.Random, target: Known) -> str:
    what = draw.random()
    if what < 0.4:
        places = (
            f"/../..{target.outside}/secret.txt",
            f"/%2e%2e{target.outside}/secret.txt",
            f"//{target.outside}/secret.txt",
        )
        return draw.choice((*PLACES, *places))
    name = draw.choice((target.look, target.look, "0" * 16, "..", "%2e%2e", "x" * 10_000, "\x00", "*", ""))
    if what < 0.6:
        return f"/api/block/{name}/{draw.choice(DIGITS)}"
    if what < 0.9:
        return "/api/row/" + "/".join([name, *draw.choices(DIGITS, k=draw.choice((5, 5, 5, 4, 6)))])
    return draw.choice(
        ("/", "/api/look", "/api/pdf", "/api/room", "/api/written", "/api/stop", f"/?token={target.token}")
    )


def _body(draw: random.Random, target: Known) -> bytes:
    """A question that is wrong in some way, or bytes that are none."""
    what = draw.random()
    if what < 0.15:
        return draw.choice(NO_QUESTIONS)
    models = (
        *[target.model] * 16, "m" * 10_000, "/etc", "../" * 30 + "etc", str(target.outside),
        f"{target.outside}/model", f"file://{target.outside}", "~/.ssh", "/proc/self", "/dev",
        "http://evil.example/model", "..", ".", "", " ", "\x00", "\ud800", "org/" + "n" * 300, "a/b/c/d", "CON",
        "${HOME}", "\u202etreb", "gpt2; rm -rf /",
    )  # fmt: skip
    question: dict[str, Any] = {"model": draw.choice(models), "text": draw.choice((TEXT, TEXT, *WORDS))}
    if draw.random() < 0.3:
        field = draw.choice(("model", "text", "second", "write", "other", "__proto__"))
        question[field] = draw.choice((*VALUES, *WORDS))
    if draw.random() < 0.2:
        question["write"] = draw.choice((3, 0, *VALUES))
    if draw.random() < 0.2:
        question["second"] = draw.choice(WORDS)
    asked: Any = draw.choice(
        ([question],) * 6 + ([question] * 2, [question] * 3, [], question, [question, None], "x")
    )
    body = json.dumps(draw.choice(({"questions": asked},) * 9 + (asked,))).encode()
    return mutated(draw, body) if draw.random() < 0.2 else body


def _framed(draw: random.Random, body: bytes) -> tuple[list[str], list[bytes], bool]:
    """Headers that say how long a body is, its parts, and whether all of it is sent."""
    how = draw.choice(("short", "long", "odd", "chunked", "chunked", "endless", "broken", "both", "none"))
    length = f"Content-Length: {len(body)}"
    if how == "short":
        return [f"Content-Length: {len(body) // 2}"], [body], False
    if how == "long":
        return [f"Content-Length: {len(body) + draw.choice((1, 10**6, 10**30))}"], [body], False
    if how == "odd":
        odd = draw.choice(("-1", "1e3", "0x10", " ", "9" * 5000, f"{len(body)}, {len(body)}", "+5", "\u0665"))
        return [f"Content-Length: {odd}"], [body], False
    chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:40], body[40:]) if piece]
    if how == "chunked":
        return ["Transfer-Encoding: chunked"], [*chunks, b"0\r\n\r\n"], True
    if how == "endless":
        return ["Transfer-Encoding: chunked"], [*chunks, *[b"3e8\r\n" + b"x" * 1000 + b"\r\n"] * 2_000], False
    if how == "broken":
        broken = draw.choice(
            (b"zz\r\n", b"-1\r\n", b"ffffffffffffffff\r\nx", b"5\r\nab", b"0" * 9999 + b"\r\n", b"3;" + b"x" * 70_000)
        )
        return ["Transfer-Encoding: chunked"], [*chunks, broken], False
    if how == "both":
        return [length, "Transfer-Encoding: chunked"], [*chunks, b"0\r\n\r\n"], False
    return ["Connection: close"], [body], False
