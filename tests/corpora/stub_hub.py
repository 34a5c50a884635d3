"""A hub on loopback that serves datasets as far as `datasets` asks for them: their files, a tree, and information.

It can drop connections on the way (as many as ``/drop/N`` asks for), answer that a dataset is gated, and counts what
it was asked for.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

REVISION = "1234567890abcdef1234567890abcdef12345678"


@dataclass
class Hub:
    """Datasets by name, each with its files; ``drops`` of the next answers with bytes break off in the middle."""

    datasets: Mapping[str, Mapping[str, bytes]]
    gated: tuple[str, ...] = ()
    drops: int = 0
    address: str = ""
    asked: list[str] = field(default_factory=list)
    sent: Counter[str] = field(default_factory=Counter)


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """The hub at work, at its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _answer(self, hub)

        do_HEAD = do_POST = do_GET

        def log_message(self, *what: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(handler: BaseHTTPRequestHandler, hub: Hub) -> None:
    parts = urlsplit(handler.path)
    path = unquote(parts.path)
    hub.asked.append(f"{handler.command} {handler.path}")
    length = int(handler.headers.get("Content-Length") or 0)
    body = handler.rfile.read(length) if length else b""
    if match := re.fullmatch(r"/drop/(\d+)", path):
        hub.drops = int(match[1])
        _send_json(handler, {})
        return
    if match := re.fullmatch(r"/api/datasets/((?:[^/]+/)?[^/]+)(?:/(revision|tree|paths-info)/([^/]+)(/.*)?)?", path):
        name, what, revision, below = match.groups()
        if not _allowed(handler, hub, name):
            return
        if revision not in (None, "main", REVISION):
            _refuse(handler, 404, "RevisionNotFound")
        elif what in (None, "revision"):
            _send_json(handler, _information(name, hub.datasets[name]))
        elif what == "tree":
            under = (below or "").strip("/")
            found = [e for e in _entries(hub.datasets[name]) if not under or e["path"].startswith(f"{under}/")]
            if under and not found:
                _refuse(handler, 404, "EntryNotFound")
            else:
                _send_json(handler, found)
        else:
            wanted = (
                json.loads(body)["paths"] if body.startswith(b"{") else re.findall(r"paths=([^&]+)", body.decode())
            )
            entries = {entry["path"]: entry for entry in _entries(hub.datasets[name])}
            _send_json(handler, [entries[unquote(path)] for path in wanted if unquote(path) in entries])
        return
    if match := re.fullmatch(r"/datasets/((?:[^/]+/)?[^/]+)/resolve/([^/]+)/(.*)", path):
        name, _, file = match.groups()
        if _allowed(handler, hub, name):
            if file in hub.datasets[name]:
                _send_file(handler, hub, file, hub.datasets[name][file])
            else:
                _refuse(handler, 404, "EntryNotFound")
        return
    _refuse(handler, 404, "EntryNotFound")


def _allowed(handler: BaseHTTPRequestHandler, hub: Hub, name: str) -> bool:
    if name not in hub.datasets:
        _refuse(handler, 401, "RepoNotFound")
        return False
    if name in hub.gated:
        _refuse(handler, 401, "GatedRepo")
        return False
    return True


def _information(name: str, files: Mapping[str, bytes]) -> dict[str, object]:
    return {
        "_id": "1", "id": name, "sha": REVISION, "private": False, "gated": False, "disabled": False, "tags": [],
        "downloads": 0, "likes": 0, "lastModified": "2026-01-01T00:00:00.000Z",
        "createdAt": "2026-01-01T00:00:00.000Z",
        "siblings": [{"rfilename": file} for file in files],
    }  # fmt: skip


def _entries(files: Mapping[str, bytes]) -> list[dict[str, object]]:
    folders = sorted({file.rpartition("/")[0] for file in files} - {""})
    listed: list[dict[str, object]] = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": f} for f in folders]
    return listed + [
        {"type": "file", "oid": _oid(data), "size": len(data), "path": file} for file, data in sorted(files.items())
    ]


def _oid(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _send_file(handler: BaseHTTPRequestHandler, hub: Hub, file: str, data: bytes) -> None:
    start, stop, status = 0, len(data), 200
    if match := re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("Range", "")):
        start, status = int(match[1]), 206
        stop = min(int(match[2]) + 1 if match[2] else stop, stop)
    if start > len(data) or (status == 206 and start == len(data)):
        _refuse(handler, 416, "")
        return
    part = data[start:stop]
    handler.send_response(status)
    for name, value in {
        "Content-Length": len(part), "Accept-Ranges": "bytes", "ETag": f'"{_oid(data)}"', "X-Repo-Commit": REVISION,
        "Content-Type": "application/octet-stream",
        **({"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"} if status == 206 else {}),
    }.items():  # fmt: skip
        handler.send_header(name, str(value))
    handler.end_headers()
    if handler.command == "HEAD":
        return
    hub.sent[file] += len(part)
    if hub.drops > 0 and len(part) > 1:
        hub.drops -= 1
        handler.wfile.write(part[: len(part) // 2])
        handler.wfile.flush()
        handler.close_connection = True
        handler.connection.close()
        return
    handler.wfile.write(part)


def _send_json(handler: BaseHTTPRequestHandler, answer: object) -> None:
    data = json.dumps(answer).encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(data)


def _refuse(handler: BaseHTTPRequestHandler, status: int, code: str) -> None:
    handler.send_response(status)
    handler.send_header("X-Error-Code", code)
    handler.send_header("X-Error-Message", code)
    handler.send_header("Content-Length", "0")
    handler.end_headers()
