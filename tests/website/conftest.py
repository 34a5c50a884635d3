"""Sites of made-up atlases, opened in a real browser from the disk and from a server; no complaint, and no request
that leaves the folder, is let pass."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.invented_atlas import invented
from made_up_sites import COMMAND, FOUR, ONE, REMARK, Open

from attlas.website import write_site
from browsers import Heard, Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="session")
def one_tables() -> dict[str, Any]:
    return invented(ONE)


@pytest.fixture(scope="session")
def four_tables() -> dict[str, Any]:
    return invented(FOUR)


@pytest.fixture(scope="session")
def one(one_tables: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of one model, with a page of the viewer and one of a study where its links lead."""
    folder = tmp_path_factory.mktemp("one")
    for page, title in (("tiny/texts/0.html", "the viewer"), ("tiny/survey/report.html", "a study")):
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text(f"<!doctype html><title>{title}</title><p>{title}", encoding="utf-8")
    write_site(one_tables, folder, command=COMMAND, version="0.1.0", year="2026", remarks=[REMARK])
    return folder


@pytest.fixture(scope="session")
def four(four_tables: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of four models of two streams, some of whose heads share their keys."""
    folder = tmp_path_factory.mktemp("four")
    write_site(four_tables, folder, command=COMMAND, version="0.1.0", year="2026")
    return folder


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not told."""


@pytest.fixture
def open_site(tabs: Tabs) -> Iterator[Open]:
    """Opens the site of a folder at a fragment and waits until the page is whole; ``served``: by a local server."""
    faults: list[str] = []
    opened: list[Page] = []
    servers: list[ThreadingHTTPServer] = []
    roots: list[str] = []
    heard: Heard = {
        "console": lambda message: faults.append(f"{message.type}: {message.text}"),
        "pageerror": lambda error: faults.append(str(error)),
        "dialog": lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()),
        "request": lambda request: (
            None if request.url.startswith((*roots, "data:", "blob:", "about:")) else faults.append(request.url)
        ),
    }

    def open_folder(folder: Path, fragment: str = "", *, served: bool = False, **options: Any) -> Page:
        if served:
            server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            servers.append(server)
            root = f"http://127.0.0.1:{server.server_port}/"
        else:
            root = folder.as_uri() + "/"
        roots.append(root)
        page = tabs.lend(heard, offline=not served, **options)
        opened.append(page)
        page.set_default_timeout(15_000)
        page.goto(f"{root}index.html{fragment}")
        page.wait_for_selector("html[data-ready=true]", timeout=30_000, state="attached")
        return page

    yield open_folder
    for page in opened:
        tabs.take_back(page)
    for server in servers:
        server.shutdown()
        server.server_close()
    assert not faults
