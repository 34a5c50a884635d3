"""A study of another package: installed, listed, killed and resumed, with a page; and one that is broken."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import Said, one_thread

import twins
from attlas.cli import main
from attlas.errors import StudyWarning
from attlas.store import Result, load_checkpoint
from attlas.studies import studies

if TYPE_CHECKING:
    from playwright.sync_api import Page

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "own_study"
LINES = """# newdoc id = {name}
1\tAda\t_\tPROPN\t_\t_\t2\tnsubj\t_\t_
2\tsaid\t_\tVERB\t_\t_\t0\troot\t_\t_
3\tshe\t_\tPRON\t_\t_\t4\tnsubj\t_\t_
4\tslept\t_\tVERB\t_\t_\t2\tccomp\t_\t_

"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages that has the example, and one whose study is broken."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(folder), str(EXAMPLE)], check=True, capture_output=True)
    about = folder / "attlas_broken-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: attlas-broken\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text("[attlas.studies]\nbroken = attlas_broken:STUDY\n")
    (folder / "attlas_broken.py").write_text("raise RuntimeError('the moon is down\\nand out')\n")
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and a treebank."""
    folder = tmp_path_factory.mktemp("place")
    twins.model("bert").save_pretrained(folder / "bert")
    twins.tokenizer(False).save_pretrained(folder / "bert")
    (folder / "talk.conllu").write_text("".join(LINES.format(name=name) for name in range(60)), encoding="utf-8")
    (folder / "plain.txt").write_text("It rained.\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def installed(site: Path) -> Iterator[None]:
    """Both packages found by this process, too, and a command line that knows of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        for name in ("attlas.cli.app", *(name for name in sys.modules if name.startswith("attlas_pronouns"))):
            patch.delitem(sys.modules, name, raising=False)
        studies.cache_clear()
        with pytest.warns(StudyWarning, match="the moon is down"):
            studies()
        yield
    for name in [name for name in sys.modules if name.startswith("attlas_pronouns")]:
        del sys.modules[name]
    studies.cache_clear()


@pytest.fixture(scope="module")
def whole(installed: None, place: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    """The result of a run that was left alone, and what was said of it."""
    folder = tmp_path_factory.mktemp("whole") / "result"
    said = here(*asked(place, folder), "--json")
    assert said.status == 0, said
    return folder, said


def here(*words: str) -> Said:
    """A command in this process, with one thread as those apart have."""
    status: object = 0
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err), one_thread():
        patch.setattr(sys, "argv", ["attlas", *words])
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    return Said(status, out.getvalue(), err.getvalue())


def command(site: Path, *words: str) -> tuple[list[str], dict[str, str]]:
    source = str(Path(__file__).resolve().parents[2] / "src")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join((str(site), source))}
    return [sys.executable, "-m", "attlas", *words], environment


def asked(place: Path, out: Path) -> list[str]:
    corpus, model = str(place / "talk.conllu"), str(place / "bert")
    return ["pronouns", corpus, "--model", model, "--unit", "sentence", "--budget", "12", "--checkpoint-every", "0",
            "--out", str(out)]  # fmt: skip


def test_it_is_listed_and_a_broken_one_is_a_warning_in_one_line(site: Path, installed: None) -> None:
    line, environment = command(site, "--help")
    help_text = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=300)
    assert help_text.returncode == 0
    assert "pronouns" in help_text.stdout
    assert "broken" not in help_text.stdout
    assert help_text.stderr == "attlas: the study 'broken' was left out: the moon is down\n"
    options = here("pronouns", "--help").out
    for option in ("--model", "--resume", "--limit", "--out", "--format", "--json"):
        assert option in options


def test_killed_and_resumed_it_gives_what_it_gives_left_alone(
    site: Path, place: Path, whole: tuple[Path, Said], tmp_path: Path
) -> None:
    told = json.loads(whole[1].out)
    assert told["study"] == "pronouns"
    assert told["findings"][0].startswith("Head ")
    line, environment = command(site, *asked(place, tmp_path / "cut"))
    child = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while child.poll() is None and time.monotonic() < deadline:
        checkpoint = load_checkpoint(tmp_path / "cut")
        if checkpoint is not None and checkpoint.progress["batches"] > 3:
            break
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert load_checkpoint(tmp_path / "cut") is not None, "it was not killed on its way"
    again = here(*asked(place, tmp_path / "cut"))
    assert again.status == 2
    assert "go on with --resume" in again.err
    resumed = here(*asked(place, tmp_path / "cut"), "--resume")
    assert resumed.status == 0, resumed.err
    tables = [Result.open(folder).table for folder in (whole[0], tmp_path / "cut")]
    assert tables[0].equals(tables[1])
    assert tables[0].num_rows == 12


def test_a_corpus_without_parts_of_speech_is_refused(installed: None, place: Path, tmp_path: Path) -> None:
    refused = here("pronouns", str(place / "plain.txt"), "--model", str(place / "bert"), "--out", str(tmp_path / "x"))
    assert refused.status == 2
    assert refused.err.splitlines()[-1] == (
        "attlas: plain.txt: it has no parts of speech, which this study needs; give a CoNLL-U file"
    )
    assert not (tmp_path / "x").exists()


def test_it_is_at_most_eighty_lines_of_python() -> None:
    assert sum(len(path.read_text().splitlines()) for path in EXAMPLE.rglob("*.py")) <= 80


@pytest.mark.browser
def test_its_page(whole: tuple[Path, Said], open_report: Callable[[Path], Page]) -> None:
    from attlas.pages.laws import check_page

    check_page(studies()["pronouns"].load_page(), Result.open(whole[0]))
    page = open_report(whole[0])
    answer = page.locator("#answer").inner_text()
    assert "chance 0." in answer
    assert " to 0." in answer
    assert page.locator("#figure-map svg.marks").is_visible()
