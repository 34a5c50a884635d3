"""The commands as a person meets them, and what they must not import."""

from __future__ import annotations

import ast
import errno
import json
import re
import resource
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from command_line import attlas

import attlas as package
import twins
from attlas.models import bundled
from attlas.store import Manifest, Result

SOURCE = Path(package.__file__).parent
HEAVY = ("torch", "transformers", "pyarrow", "altair", "vl_convert", "pandas", "scipy", "sklearn")
IMPORT = "import attlas"
HELP = """
import contextlib, io, sys
from attlas.cli import main
sys.argv = ["attlas", "--help"]
with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
    main()
assert "survey" in said.getvalue()
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a twin, in an otherwise empty place to work in."""
    monkeypatch.chdir(tmp_path)
    twins.model("bert").save_pretrained(tmp_path / "twin")
    twins.tokenizer(False).save_pretrained(tmp_path / "twin")
    return tmp_path / "twin"


def report_of(out: str) -> Path:
    """The page that the last line names."""
    last = out.splitlines()[-1]
    assert last.startswith("report: "), out
    return Path(last.removeprefix("report: "))


@pytest.mark.real
def test_a_demo_of_no_study_is_refused_before_a_model_is_opened(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attlas.capture.load", lambda *_: pytest.fail("a model was opened"))
    attlas(capfd, "demo", "--out", tmp_path / "demo", "--only", "cooking").refuses("no study 'cooking'")
    assert not (tmp_path / "demo").exists()


def test_demo(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if bundled.bundled_folder() is None:
        pytest.skip("the bundled model is not installed (extra demo)")
    line = ("demo", "--out", tmp_path / "demo", "--only", "survey", "--limit", 8, "--quiet")
    said = attlas(capfd, *line)
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines()[-1] == f"atlas: {tmp_path / 'demo' / 'index.html'}"
    assert (tmp_path / "demo" / "index.html").is_file()
    view = tmp_path / "demo" / "view.html"
    assert f"view: {view}" in said.out
    assert "weight: entropy" in view.read_text(encoding="utf-8"), "heads can be sorted by the survey just made"
    result = Result.open(tmp_path / "demo")
    assert result.manifest.model["name"] in said.out
    assert result.manifest.corpus["name"] == "sample"
    assert attlas(capfd, *line) == said, "it can be run again"


def test_doctor(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "doctor", model)
    assert said.status == 0
    assert said.err.splitlines()[-1].startswith("doctor: 35 of 35 questions")
    assert said.out.startswith("twin (BertModel): encoder 3 x 4; seen at the seam; window 128 pieces; fingerprint ")
    verdicts = re.findall(r"^ (yes|no|-) ", said.out, flags=re.MULTILINE)
    assert len(verdicts) >= 10
    assert "no" not in verdicts


def test_doctor_and_report_for_programs(model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "doctor", model, "--json")
    told = json.loads(said.out)
    assert (said.status, said.err) == (0, "")
    assert told["model"]["streams"]["encoder"]["heads"] == 4
    assert {"name", "passed", "error", "note"} == told["findings"][0].keys()
    heads = {"stream": ["encoder"], "layer": [0], "head": [0], "value": [0.5], "low": [0.4], "high": [0.6]}
    heads |= {"normalised": [1.0], "signed": [0.1], "n": [3]}
    Result(Manifest("importance", {"options": {}}), {"importance": heads}).save(tmp_path / "out")
    told = json.loads(attlas(capfd, "report", tmp_path / "out", "--json").out)
    assert told["report"] == str(tmp_path / "out" / "report.html")
    assert told["study"] == "importance"
    assert told["findings"][0].startswith("1 of 1 heads")


def test_survey_tells_what_was_skipped(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    paragraphs = ["The farmer slept.", "Nobody noticed the old bridge. " * 20, "It rained."]
    Path("tale.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    said = attlas(capfd, "survey", "tale.txt", "--model", model)
    assert said.status == 0
    assert "twin on tale.txt: " in said.out
    skipped = Result.open("survey-twin-tale.txt").manifest.skipped
    assert skipped
    assert "cut at a sentence end to fit 64 pieces" in skipped
    notes = re.findall(r"^note: (.*): ([0-9,]+)$", said.out, flags=re.MULTILINE)
    assert {reason: int(count.replace(",", "")) for reason, count in notes} == skipped
    assert report_of(said.out) == Path("survey-twin-tale.txt") / "report.html"
    assert report_of(said.out).exists()
    lines = said.err.splitlines()
    assert lines[0].startswith("survey: 0 of ")
    assert lines[-1].endswith(" left")


def test_survey_says_so_when_nothing_was_skipped(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("tale.txt").write_text("The farmer slept.\n\nIt rained.", encoding="utf-8")
    said = attlas(capfd, "survey", "tale.txt", "--model", model, "--quiet", "--out", "a folder 'with' \"names\"")
    assert (said.status, said.err) == (0, "")
    assert "note:" not in said.out
    assert report_of(said.out) == Path("a folder 'with' \"names\"", "report.html")
    again = attlas(capfd, "report", "a folder 'with' \"names\"", "--out", "page.html")
    assert again.out == "report: page.html\n"
    assert Path("page.html").read_bytes() == report_of(said.out).read_bytes()


def test_a_text_of_one_paragraph_is_not_paired(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("one.txt").write_text("word", encoding="utf-8")
    said = attlas(capfd, "survey", "one.txt", "--model", model, "--quiet", "--out", "out")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("twin on one.txt: 1 passage, ")
    assert Result.open("out").manifest.plan["options"]["pairs"] is False


def test_survey_tells_which_side_of_a_translation_it_did_not_read(
    model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    twins.model("bart").save_pretrained("bart")
    twins.tokenizer(False).save_pretrained("bart")
    Path("tale.txt").write_text("The farmer slept.\n\nIt rained.", encoding="utf-8")
    Path("pairs.txt").write_text("The farmer slept . ||| Der Bauer schläft .", encoding="utf-8")
    notes = {
        ("pairs.txt", "twin"): "note: translation that this model does not read: 1\n",
        ("tale.txt", "bart"): "note: without a translation, so that the encoder alone was read: 2\n",
        ("pairs.txt", "bart"): "",
    }
    for (corpus, name), note in notes.items():
        said = attlas(capfd, "survey", corpus, "--model", name, "--quiet", "--out", f"{corpus}-{name}")
        assert (said.status, said.err) == (0, "")
        assert re.findall(r"^note: .*\n", said.out, flags=re.MULTILINE) == [note] * bool(note)
    streams = Result.open("pairs.txt-bart").table.column("stream").unique().to_pylist()
    assert streams == ["encoder", "decoder", "cross"]


def test_the_page_is_there_though_nobody_hears_of_it(
    model: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    Path("tale.txt").write_text("The farmer slept.\n\nIt rained.", encoding="utf-8")
    monkeypatch.setattr("attlas.pages.terminal.print_page", closed)
    said = attlas(capfd, "survey", "tale.txt", "--model", model, "--quiet", "--out", "out")
    assert (said.status, said.err) == (1, "")
    assert Path("out", "report.html").exists()


def test_version(capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "--version")
    assert (said.status, said.out, said.err) == (0, f"attlas {version('attlas')}\n", "")


def test_help_names_every_command(capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "--help")
    assert said.status == 0
    for command in ("demo", "survey", "report", "doctor"):
        assert re.search(rf"^  {command} ", said.out, flags=re.MULTILINE)
        assert attlas(capfd, command, "--help").out.startswith(f"Usage: attlas {command} ")


@pytest.mark.parametrize("code", [IMPORT, HELP])
def test_nothing_heavy_is_imported(code: str) -> None:
    check = f"import sys\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", f"{code}\n{check}"], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


def seconds(code: str) -> float:
    """The processor time of a fresh interpreter, the best of three: what else the machine does is not counted."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


@pytest.mark.parametrize("code", [IMPORT, HELP])
def test_starting_is_quick(code: str) -> None:
    assert seconds(code) - seconds("pass") < 1.0


def test_every_public_name_is_there() -> None:
    assert package.__all__ == sorted(set(package.__all__))
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="nonsense"):
        package.nonsense  # noqa: B018


def root_imports(code: str, inside: str) -> list[int]:
    """Lines that import the package root; ``inside`` is the package that relative imports start from."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = inside.split(".")[: -(node.level - 1) or None] if node.level else []
            names = [".".join([*up, *([node.module] if node.module else [])])]
        else:
            continue
        found += [node.lineno] * ("attlas" in names)
    return found


def test_root_imports_are_found() -> None:
    """Else the test below could not fail."""
    assert root_imports("import attlas", "attlas.cli") == [1]
    assert root_imports("def f():\n    from attlas import load", "attlas.cli") == [2]
    assert root_imports("from .. import load", "attlas.cli") == [1]
    assert root_imports("from . import load", "attlas") == [1]
    assert root_imports('"""\n>>> import attlas\n"""\nimport attlas.ids\nfrom attlas.ids import Site', "attlas") == []
    assert root_imports("from . import load\nfrom ..ids import Site", "attlas.cli") == []


def test_no_module_imports_the_package_root() -> None:
    modules = sorted(SOURCE.rglob("*.py"))
    assert len(modules) > 50
    for path in modules:
        inside = ".".join(["attlas", *path.relative_to(SOURCE).parent.parts])
        assert root_imports(path.read_text(encoding="utf-8"), inside) == [], path


def test_the_package_can_be_run_as_a_module() -> None:
    for arguments, said in (
        (["--version"], version("attlas")),
        (["report", "no-such-folder"], "attlas: no-such-folder"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "attlas", *arguments], capture_output=True, text=True, check=False
        )
        assert said in done.stdout + done.stderr
