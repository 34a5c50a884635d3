"""Takes the pictures that stand in these pages, by the Chromium of this machine.

    python docs/picture.py report FOLDER NAME ID ...
                                                pictures/NAME-light.png and -dark.png: these sections or figures of a report page
    python docs/picture.py views [LONG.txt]     pictures/view-*.png: each view of the farmer sentences, on the bundled
                                                model and on smollm2; of a long text, if one is given, the matrix
    python docs/picture.py atlas FOLDER         pictures/atlas-*.png: the first page of an atlas
    python docs/picture.py joint                pictures/view-joint-*.png: all heads of a layer together
    python docs/picture.py written              pictures/view-text-written-*.png: a chat that smollm2 has gone on with;
                                                pictures/view-*-translation-*.png: what opus-mt-en-fr has written
    python docs/picture.py screens              pictures/view-*-phone-*.png and -wide-*.png: small and large windows
    python docs/picture.py running [PAGE]       pictures/view-text-30000-*.png: a long text, of a random model; its page
                                                may be one that tools/screens.py has kept
    python docs/picture.py rows [PAGE]          pictures/view-matrix-rows-*.png: some rows of a very long text, likewise

Run from a checkout with the extra ``dev``.
"""

from __future__ import annotations

import atexit
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for tools.screens
PICTURES = Path(__file__).resolve().parent / "pictures"
SENTENCES = {
    "": ("The farmer offered apples to the housekeeper, because he had too many of them.", "he", "farmer"),
    "-designer": ("The farmer asked the designer what she was working on", "she", "designer"),
}


@cache
def browser() -> Browser:
    """One browser for all pictures."""
    from playwright.sync_api import sync_playwright

    started = sync_playwright().start()
    atexit.register(started.stop)
    return started.chromium.launch(executable_path="/usr/bin/chromium", args=["--headless", "--no-sandbox"])


@contextmanager
def opened(page: Path, fragment: str, scheme: str, width: int, height: int) -> Iterator[Page]:
    """A page in the browser, drawn and at rest."""
    tab = browser().new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    tab.goto(page.resolve().as_uri() + fragment)
    tab.wait_for_selector("html[data-ready=true], .attlas[data-drawn]", timeout=120_000)
    tab.wait_for_timeout(1500)
    yield tab
    tab.close()


def report(folder: Path, name: str, sections: Sequence[str]) -> None:
    """Some sections or figures of a report page, by their ids, one after the other."""
    from attlas.studies.reporting import write_report

    page = write_report(folder)
    for scheme in ("light", "dark"):
        with opened(page, "", scheme, 1200, 1500) as tab:
            places = [tab.locator(f"#{section}").bounding_box() for section in sections]
            tops, ends = zip(*((box["y"], box["y"] + box["height"]) for box in places if box), strict=True)
            clip: Any = {"x": 0, "y": min(tops) - 24, "width": 1200, "height": max(ends) - min(tops) + 48}
            tab.screenshot(path=PICTURES / f"{name}-{scheme}.png", full_page=True, clip=clip)


def views(long: Path | None) -> None:
    """Each view of each model, at the head that goes most strongly from the pronoun to the one it may stand for."""
    from attlas import load
    from attlas.capture.saying import saying
    from attlas.views import write_page

    folder = Path(tempfile.mkdtemp())
    for name, model in (("minilm", None), ("smollm2", "smollm2")):
        subject = load(model)
        for suffix, (text, pronoun, antecedent) in SENTENCES.items():
            capture = subject.look(text)
            stream = subject.streams[0]
            pieces = capture.queries_of(stream).pieces
            query, key = pieces.index(pronoun), pieces.index(antecedent)
            strongest = int(capture.weights[stream][:, :, query, key].argmax())
            layer, head = divmod(strongest, capture.weights[stream].shape[1])
            said = saying(subject, capture)
            page = write_page(folder / f"{name}{suffix}.html", [replace(capture.scene(), saying=said)])
            chosen = f"layer={layer}&head={head}&heads={head}&query={query}"
            places = {
                "head": (chosen, 720),
                "model": ("", 1000),
                "neuron": (chosen, 820),
                "matrix": (f"layer={layer}&heads={head}", 820),
                "text": (f"layer={layer}&heads={head}&picked={query}", 760),
            }
            for view, (fragment, height) in places.items():
                if view == "head" or not suffix:
                    _shoot(page, f"#view={view}&{fragment}", f"view-{view}-{name}{suffix}", height)
    if long is not None:
        subject = load("smollm2")
        capture = subject.look(long.read_text(encoding="utf-8"), layers="13")
        page = write_page(folder / "long.html", [capture.scene()], kind="matrix", layer=12, head=4, heads=[4])
        _shoot(page, "", "view-matrix-long", 900)
        _shoot(page, "#view=text", "view-text-long", 900)


def joint() -> None:
    """The joint norms of every layer of the bundled model, with the residual, and one of them enlarged."""
    from attlas import load
    from attlas.views import write_page

    capture = load().look(SENTENCES[""][0], joint="residual")
    page = write_page(Path(tempfile.mkdtemp()) / "joint.html", [capture.scene("residual")], kind="model")
    _shoot(page, "#layer=5&open=yes", "view-joint", 640)


def written() -> None:
    """A chat that smollm2 has gone on with, in its regions, at the last piece; a translation, where it opens."""
    from attlas.views import write_page
    from tools.screens import answer, translation

    folder = Path(tempfile.mkdtemp())
    scene = answer()
    last = scene.strands[0].queries.length - 1
    _shoot(write_page(folder / "chat.html", [scene], kind="text"), f"#picked={last}", "view-text-written", 820)
    page = write_page(folder / "fr.html", [translation()])
    for view in ("head", "matrix", "text"):
        _shoot(page, f"#view={view}", f"view-{view}-translation", 820)


def screens() -> None:
    """The views in the smallest and the largest window."""
    from attlas import load
    from attlas.views import write_page

    folder = Path(tempfile.mkdtemp())
    for name, model in (("minilm", None), ("smollm2", "smollm2")):
        page = write_page(folder / f"{name}.html", [load(model).look(SENTENCES[""][0]).scene()])
        for view in ("head", "model", "neuron", "matrix", "text"):
            if model is None:
                _shoot(page, f"#view={view}", f"view-{view}-phone", 1100, 360)
            elif view in ("model", "matrix"):
                _shoot(page, f"#view={view}", f"view-{view}-wide", 1440, 2560)


def running(made: Path | None) -> None:
    """The running text of thirty thousand pieces, of a random model whose rows are reckoned."""
    from attlas.views import write_page
    from tools import screens

    page = made or write_page(Path(tempfile.mkdtemp()) / "long.html", [screens.running()])
    _shoot(page, "#view=text", "view-text-30000", 820)


def rows(made: Path | None) -> None:
    """The matrix of some rows of a hundred thousand pieces, of a random model."""
    from attlas.views import write_page
    from tools import screens

    page = made or write_page(Path(tempfile.mkdtemp()) / "rows.html", [screens.rows()])
    _shoot(page, "#view=matrix", "view-matrix-rows", 820)


def atlas(folder: Path) -> None:
    """The first screen of an atlas."""
    _shoot(folder / "index.html", "", "atlas", 640)


def _shoot(page: Path, fragment: str, name: str, height: int, width: int = 1180) -> None:
    for scheme in ("light", "dark"):
        with opened(page, fragment, scheme, width, height) as tab:
            tab.screenshot(path=PICTURES / f"{name}-{scheme}.png")
            print(f"picture: {PICTURES.name}/{name}-{scheme}.png")


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    match sys.argv[1:]:
        case ["report", folder, name, *sections] if sections:
            report(Path(folder), name, sections)
        case ["views", *rest]:
            views(Path(rest[0]) if rest else None)
        case ["atlas", folder]:
            atlas(Path(folder))
        case ["joint"]:
            joint()
        case ["written"]:
            written()
        case ["screens"]:
            screens()
        case ["running", *rest]:
            running(Path(rest[0]) if rest else None)
        case ["rows", *rest]:
            rows(Path(rest[0]) if rest else None)
        case _:
            sys.exit(__doc__)
