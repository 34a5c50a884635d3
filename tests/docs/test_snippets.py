"""Every command and every piece of Python on README and the pages of docs runs as it stands there.

Each page has a world of its own: a folder with small files and tiny models under the names that the page uses. Its
blocks run there in order, commands in this process through the real command line, Python in one namespace. What is
not run is listed here with the reason; a block that is neither run nor listed fails its page.
"""

from __future__ import annotations

import ast
import gzip
import inspect
import io
import re
import sys
import tomllib
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from command_line import attlas, made_once
from page_snippets import FENCE, ROOT, Command, blocks_of, commands_of, pages
from page_worlds import BUNDLED, Shelf, build_world

import attlas as attlas_itself
from attlas import translate_train
from attlas.corpora import read, sample
from attlas.models import bundled
from attlas.studies import ENTRY_POINTS, studies
from attlas.studies.prune import speed
from attlas.views.server import Server
from tools.same_figures.inputs import Inputs, make_inputs

NOT_RUN = {  # (page, language of the block): why
    ("architecture.md", "text"): "a picture of the flow",
    ("atlas.md", "text"): "questions to an atlas of several studies, which tests/evidence/test_finding.py asks",
    ("corpora.md", "text"): "examples of formats, which tests/corpora/test_formats.py reads",
    ("export.md", "sh"): "a result of a real model; tests/cli/test_export_command.py exports from an invented one",
    ("own-study.md", "toml"): "a part of the example's pyproject.toml; tests/cli/test_own_study.py installs it",
    ("roles-through.md", "sh"): "checkpoints of a training; tests/studies/test_roles_through.py has some",
    ("scale.md", "text"): "commands that start a cluster, or need one; tests/run/test_ray.py has one",
    ("spans.md", "text"): "lines of a file",
    ("streams.md", "text"): "corpora that are larger than memory; tests/run/test_streamed.py has small ones",
    ("tune.md", "text"): "what a command once printed",
}
SMALLER = {  # what is added to a command, so that it is soon done: options of size, and fewer probes and twins
    "translate-train": "--epochs 1 --layers 1 --width 16 --ffn 16 --vocabulary 100 --max-pieces 40",
    "tune": "--epochs 1 --limit 8",
    "parse": "--epochs 1 --limit 6",
    "prune": "--steps 2 --limit 6",
    "layers": "--epochs 1 --limit 16 --no-singles",
    "layers case": "",
    "layers convert": "",
    "layers together": "",
    "faith chunking": "--epochs 1 --limit 6 --heads 2 --width 8 --ffn 8 --weights 1 --instances 4 --seeds 2 "
    "--middle 1 --guided 1",
    "faith": "--limit 4 --adversary-steps 3 --permutations 3 --steps 2",
    "faith freeze": "--limit 4",
    "keywords study": "--limit 6 --steps 2 --folds 2",
    "keywords compare": "--limit 4",
    "keywords tune": "--limit 6 --steps 1 --epochs 1",
    **dict.fromkeys(("survey", "noop", "ablate", "importance"), "--limit 6"),
    **dict.fromkeys(("heads", "relations", "clusters", "norms", "align"), "--limit 6 --twins 1"),
    "coref": "--twins 1",
    "roles": "--texts 12",
    "atlas": "--limit 6 --twins 1 --only survey,relations",
    "atlas many": "--limit 6 --only norms",
    "atlas join": "",
}
# of every command, of pip, of an own study, of the sweep, of a benchmark
NOT_OURS = ("--help", "--no-deps", "--depth", "--real", "--before")
REAL = ("README.md", "head_mask.md")  # whose Python looks at the bundled model itself, where it is installed
PAGES = {name: path for name, path in pages().items() if blocks_of(path)}
PARAGRAPHS = 40  # of the sample's 120
EXAMPLE = ROOT / "examples" / "own_study"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tools.same_figures.inputs.TALES", 8)
        return make_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def short_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first paragraphs of the sample, under its name."""
    lines = gzip.decompress((ROOT / "src" / "attlas" / "corpora" / sample.FILE).read_bytes()).splitlines()
    path = tmp_path_factory.mktemp("sample") / sample.FILE
    path.write_bytes(gzip.compress(b"\n".join(lines[:PARAGRAPHS])))
    return path


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """The models of all pages, each written once."""
    return Shelf(tmp_path_factory.mktemp("shelf"))


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model in the place of the bundled one."""
    folder = tmp_path_factory.mktemp("bundled") / "all-MiniLM-L6-v2"
    BUNDLED.save(folder)
    return folder


@pytest.fixture
def installed_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The study of another package as if it had been installed, and a command line that has found it."""
    about = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = tmp_path / "site" / "own_study.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n")
    entries = "".join(f"{name} = {place}\n" for name, place in about["entry-points"][ENTRY_POINTS].items())
    (folder / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{entries}")
    for place in (folder.parent, EXAMPLE / "src"):
        monkeypatch.syspath_prepend(str(place))
    monkeypatch.delitem(sys.modules, "attlas.cli.app", raising=False)
    studies.cache_clear()
    yield
    studies.cache_clear()


@pytest.mark.parametrize("page", PAGES)
def test_every_snippet_runs(
    page: str, request: pytest.FixtureRequest, inputs: Inputs, shelf: Shelf, stand_in: Path, short_sample: Path,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    installed = bundled.bundled_folder()
    build_world(tmp_path, page, inputs, shelf)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTLAS_MODELS", str(tmp_path / "no-models"))
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    monkeypatch.setattr(Server, "run", asked_once(Server.run))
    if not page.startswith("layers"):  # whose parts need all tags
        monkeypatch.setattr(sample, "FILE", str(short_sample))
    monkeypatch.setattr(speed, "REPEATS", 1)
    if page == "own-study.md":
        request.getfixturevalue("installed_example")
    monkeypatch.setattr("attlas.translate_train", partial(translate_train, epochs=1, layers=1, width=16, ffn=16))
    namespace: dict[str, Any] = {}
    for block in blocks_of(PAGES[page]):
        where = f"{page}, line {block.line}"
        if block.language == "python":
            monkeypatch.setattr(
                bundled, "bundled_folder", lambda: installed if page in REAL and installed else stand_in
            )
            with redirect_stdout(io.StringIO()):
                exec(compile(block.text, where, "exec"), namespace)
        elif (page, block.language) in NOT_RUN:
            continue
        elif block.language == "sh":
            monkeypatch.setattr(bundled, "bundled_folder", lambda: stand_in)
            for command in commands_of(block):
                run(command, where, capfd)
        elif block.language == "json":
            Path("lines.jsonl").write_text(block.text, encoding="utf-8")
            assert len(read("lines.jsonl").documents) == len(block.text.splitlines()), where
        else:
            assert (page, block.language) in NOT_RUN, f"{where}: this block is neither run nor listed with a reason"


def run(command: Command, where: str, capfd: pytest.CaptureFixture[str]) -> None:
    """One command; those that are not ours are held to what this checkout says."""
    program, *arguments = command.words
    if program == "attlas":
        said = attlas(capfd, *arguments, *smaller(arguments))
        assert said.status == 0, (where, command.words, said.err)
        if command.into is not None:
            Path(command.into).write_text(said.out, encoding="utf-8")
        return
    check = {"make": is_target, "pip": can_be_installed}.get(program)
    assert check is not None, f"{where}: nothing here knows how to try {program!r}"
    check(where, *arguments)


def smaller(arguments: list[str]) -> list[str]:
    """The options of size for a command, by its first two words or its first."""
    return SMALLER.get(" ".join(arguments[:2]), SMALLER.get(arguments[0], "")).split()


def is_target(where: str, *targets: str) -> None:
    """The Makefile has these targets."""
    known = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(targets) <= set(known), (where, targets)


def can_be_installed(where: str, install: str, *wanted: str) -> None:
    """Folders of this checkout, wheels of attlas that are built from it, or what its extras ask for."""
    assert install == "install", where
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = about["optional-dependencies"]
    for name in (name for name in wanted if not name.startswith("-")):
        folder, _, asked = name.partition("[")
        if asked:
            assert set(asked.rstrip("]").split(",")) <= extras.keys(), (where, name)
        built = Path(folder).name.startswith(f"{about['name']}-{about['version']}-") and name.endswith(".whl")
        is_folder = folder.startswith(".") and (ROOT / folder / "pyproject.toml").exists()
        assert built or is_folder or name in extras["demo"], (where, name)


def asked_once(run: Callable[[Server], None]) -> Callable[[Server], None]:
    """A server that ends when it has handed out its page; in a thread of its own, since a browser that another
    test has left open keeps the event loop of this one."""

    def asked(self: Server) -> None:
        with ThreadPoolExecutor(1) as pool:
            serving = pool.submit(run, self)
            try:
                browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
                with browser.open(self.address, timeout=30) as answer:
                    page = answer.read().decode()
            finally:
                self.stop()
            serving.result(timeout=30)
        assert "<html" in page

    return asked


def test_what_is_listed_as_not_run_is_there() -> None:
    present = {(name, block.language) for name, path in PAGES.items() for block in blocks_of(path)}
    assert set(NOT_RUN) <= present


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page: str) -> None:
    path = pages()[page]
    links = re.findall(r"\]\((?!http)([^)#]+)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("page", pages())
def test_options_in_prose_are_those_of_commands(page: str) -> None:
    from attlas.cli.app import app

    known = set(NOT_OURS)
    commands = [made_once(app)]
    for command in commands:
        known |= {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        commands += getattr(command, "commands", {}).values()
    prose = FENCE.sub("", pages()[page].read_text(encoding="utf-8"))
    named = re.findall(r"(?<![\w-])--[a-z][a-z-]*", " ".join(re.findall(r"`([^`\n]+)`", prose)))
    assert sorted(set(named) - known) == []


def test_the_reference_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    made = import_module("building.reference").text()
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == made, "run python docs/build.py reference"


@pytest.mark.parametrize("page", pages())
def test_calls_in_prose_fit_what_is_called(page: str) -> None:
    """``attlas.faith("tuned", "texts.tsv")`` in a sentence has arguments that the call takes."""
    prose = FENCE.sub("", pages()[page].read_text(encoding="utf-8"))
    for code in re.findall(r"`(attlas\.\w+\([^`]+\))`", prose):
        call = ast.parse(" ".join(code.split()), mode="eval").body
        while isinstance(call, ast.Call) and not isinstance(call.func.value, ast.Name):  # type: ignore[attr-defined]
            call = call.func.value  # type: ignore[attr-defined]  # of load(...).look(...), the first
        assert isinstance(call, ast.Call), code
        assert isinstance(call.func, ast.Attribute), code
        taken = inspect.signature(getattr(attlas_itself, call.func.attr))
        taken.bind_partial(*call.args, **{str(keyword.arg): keyword.value for keyword in call.keywords})
