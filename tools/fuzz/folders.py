"""Damaged result folders: each is read as a user would, and must give the right result or one sentence.

The seeds are small results of every study, and runs that were cut off (:mod:`tools.fuzz.results`). What is at fault:
a traceback, a sentence that is none, a value that differs from what was written where no checksum was written anew,
a resumed run that comes to other figures, more than 10 seconds of processor time, more than 2 GB.
"""

from __future__ import annotations

import io
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attlas.cli import _in_words, main
from attlas.errors import AttlasError
from attlas.store import Result
from tools.fuzz.damage import ELSEWHERE, PLAIN, SEALED
from tools.fuzz.forked import Outcome, forked
from tools.fuzz.results import Seeds, make

LONGEST = 2000  # characters of a sentence
SECONDS, MEGABYTES = 10.0, 2000
RESUMED = 0.25  # of all mutants are runs that are resumed


def outcomes(
    seed: int, indices: Sequence[int], keep: Path | None = None, seeds: Seeds | None = None
) -> Iterator[Outcome]:
    """What came of each of these mutants."""
    _prepare()
    return judged(mutant, seed, indices, keep, seeds)


def judged(
    damage: Callable[[Seeds, int, int, Path], Mutant], seed: int, indices: Sequence[int], keep: Path | None,
    seeds: Seeds | None,
) -> Iterator[Outcome]:  # fmt: skip
    """What comes of folders that are damaged in some way, each in a process of its own."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        sources = seeds or make(Path(name) / "seeds")

        def attempt(index: int) -> str:
            return damage(sources, seed, index, Path(name) / "mutant").judged()

        for outcome in forked(attempt, indices, seconds=SECONDS, megabytes=MEGABYTES):
            yield outcome
            if outcome.at_fault and keep is not None:
                damage(sources, seed, outcome.index, keep / f"{outcome.index}")


@dataclass(frozen=True)
class Mutant:
    """A damaged folder: where it lies, what was done to it, and how it is read."""

    folder: Path
    damage: str
    read: Callable[[], str]

    def judged(self) -> str:
        """The kind of its outcome; what is at fault is raised, with what was done to it."""
        try:
            kind = self.read()
            elsewhere = self.folder.parent / "elsewhere"
            if elsewhere.exists() and elsewhere.read_text(encoding="utf-8") != ELSEWHERE:
                raise AssertionError("something was written behind a link")
        except MemoryError:
            raise
        except Exception as error:
            told = f"{type(error).__name__} | {self.damage} | {error}"
            raise AssertionError(told).with_traceback(error.__traceback__) from None
        return kind


def mutant(seeds: Seeds, seed: int, index: int, folder: Path) -> Mutant:
    """Damage a copy of a folder in a way that the numbers decide."""
    draw = random.Random(f"{seed} {index}")
    shutil.rmtree(folder, ignore_errors=True)
    if draw.random() < RESUMED and seeds.cut_off:
        name, other = (draw.choice(list(seeds.cut_off)) for _ in range(2))
        shutil.copytree(seeds.cut_off[name], folder)
        damage = draw.choice(PLAIN)(draw, folder, seeds.cut_off[other])
        return Mutant(folder, f"{name}: {damage}", lambda: resumed(seeds, name, folder))
    study, other = (draw.choice(list(seeds.results)) for _ in range(2))
    shutil.copytree(seeds.results[study], folder, ignore=shutil.ignore_patterns("report.html"))
    sealed = draw.random() < 0.6
    damage = draw.choice(SEALED if sealed else PLAIN)(draw, folder, seeds.results[other])
    truth = None if sealed else seeds.results[study]
    return Mutant(folder, f"{study}: {damage}", lambda: read(folder, truth, seeds))


def resumed(seeds: Seeds, name: str, folder: Path) -> str:
    """Go on with a damaged run: it comes to what it must, or is refused."""
    try:
        came = seeds.resume(name, folder)
    except AttlasError as error:
        sentence(str(error))
        return "refused"
    except OSError as error:  # of which the command makes a sentence
        sentence(_in_words(error))
        return "refused"
    if came != seeds.truth[name.partition(" ")[0]]:
        raise AssertionError("the resumed run came to other figures")
    return "resumed"


def opened(folder: Path, truth: Path | None) -> Result | None:
    """A damaged result, None where it is refused; with ``truth``, it must be what lies there."""
    try:
        result = Result.open(folder)
    except AttlasError as error:
        sentence(str(error))
        return None
    if truth is not None and contents(result) != contents(Result.open(truth)):
        raise AssertionError("other values were read")
    return result


def read(folder: Path, truth: Path | None, seeds: Seeds) -> str:
    """Read a damaged result by all that reads results."""
    result = opened(folder, truth)
    verified, shown = command("verify", folder), command("report", folder)
    if (result is None) and not (verified and shown):
        raise AssertionError("what cannot be opened was verified or shown")
    if verified and not shown:
        raise AssertionError("what was refused by verify was shown")
    if result is not None:
        for use in (lambda: result.page(folder / "page.html"), *_uses(result.manifest.study, folder, seeds)):
            try:
                use()
            except AttlasError as error:
                sentence(str(error))
    return "refused" if result is None or shown else "as it was" if truth is not None else "read"


def contents(result: Result) -> str:
    """All that a result says."""
    return repr((result.manifest, [result.rows(name) for name in result.manifest.tables]))


def command(*words: object) -> str:
    """What a command says when it refuses, nothing where it works; anything else is raised."""
    told, said = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["attlas", *map(str, words)]
    try:
        with redirect_stdout(said), redirect_stderr(told):
            main()
    except SystemExit as end:
        refused = told.getvalue() + (said.getvalue() if words[0] == "verify" else "")
        if end.code:
            sentence(refused.removesuffix("\n"))
            return refused
    finally:
        sys.argv = before
    if "Traceback" in told.getvalue():
        raise AssertionError(told.getvalue()[-300:])
    return ""


def sentence(said: str) -> None:
    """Refuse what is no sentence: several lines, endless, not to be encoded, or a command to a terminal."""
    if not said or "\n" in said or len(said) > LONGEST or "\x1b" in said:
        raise AssertionError(f"no sentence: {said[:200]!r}")
    said.encode()


def _uses(study: str, folder: Path, seeds: Seeds) -> list[Callable[[], Any]]:
    """What other commands do with a result of this study."""
    import attlas
    from attlas.capture import load
    from attlas.studies.clusters.call import known_heads
    from attlas.studies.exporting import KINDS
    from attlas.studies.shared.keywords.choice import choose_heads
    from attlas.views.card import read_card
    from attlas.views.figures import read_survey

    def exported(kind: str, by: str) -> Callable[[], Any]:
        asked = ("export", "heads", folder, "--as", kind, "--by", by, "--out", folder.parent / f"heads-{kind}")
        return lambda: command(*asked)

    of, quick = seeds.inputs, {"limit": 4, "budget": 64}
    match study:
        case "faith":
            return [lambda: read_card(folder).to_dict()]
        case "survey":
            return [lambda: read_survey(folder), exported("csv", "entropy"), exported("duo-tsv", "entropy")]
        case "roles":
            return [exported(kind, "duplicate") for kind in KINDS]
        case "relations":
            return [lambda: known_heads(load(of["bert"]), folder)]
        case "keywords-study":
            return [lambda: choose_heads(load(of["bert"]), folder)]
        case "ablate":
            model, texts, task = of["classifier"], of["labelled two"], "classification"
            return [lambda: attlas.importance(model, texts, task, ablation=folder, **quick),
                    lambda: attlas.prune(model, texts, task, by="score", ablation=folder, steps=2, speed=False,
                                         choose_on=of["labelled three"], **quick)]  # fmt: skip
        case "layers":
            return [lambda: attlas.layers_together([folder]),
                    lambda: attlas.layers_case(of["bert"], "The old farmer slept.", ["1:3"], [folder])]  # fmt: skip
        case "align":
            from attlas.studies.align.baselines import add_baselines

            return [lambda: add_baselines(folder, of["bitext one"], names=("diagonal",))]
    return []


def _prepare() -> None:
    """What every child would do anew: commands, pages and charts are made once."""
    import functools

    import typer.main

    from attlas.studies import studies

    typer.main.get_command = functools.cache(typer.main.get_command)
    for study in studies().values():
        if study.page:
            study.load_page()
