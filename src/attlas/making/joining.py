"""An atlas of results that were made before: of one model or of several, by studies alone or as atlases.

The results are copied beside each other (tables, manifest and pages, not what studies have kept on the way), so that
the new atlas is whole by itself. What cannot be part of it is told, each in a sentence, and the rest goes on.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from attlas.errors import AttlasError, PlanError, StoreError
from attlas.making.made import Made
from attlas.making.places import EXAMPLES, TEXTS, begun_in, is_atlas, of_model, results_in
from attlas.making.state import DONE, Outcome, State
from attlas.run.progress import Progress, Silent
from attlas.run.session import slug
from attlas.store import Manifest
from attlas.store.folder import MANIFEST, locate
from attlas.store.lock import holding
from attlas.studies import studies
from attlas.studies.reporting import open_result


@dataclass(frozen=True)
class Found:
    """A result that was found, and where.

    >>> Found(Path("out"), Manifest("survey", model={"name": "tiny"})).key
    ('', 'survey', '')
    """

    folder: Path
    manifest: Manifest
    fingerprint: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Model, study and corpus: of each combination an atlas has one."""
        corpus = self.manifest.corpus
        return (
            str(self.manifest.model.get("fingerprint", "")),
            self.manifest.study,
            str(corpus.get("sha256") or corpus.get("name") or ""),
        )


def join_atlas(
    folders: Iterable[Path | str], out: Path | str, *, progress: Progress | None = None, command: str = ""
) -> Made:
    """Make one atlas of results that were made before, in folders of results, of several results, or of atlases.

    >>> join_atlas(["no such folder"], "no such atlas")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: there is nothing to join: no such folder: there is no such folder
    """
    from attlas.making.finishing import finish

    given = list(dict.fromkeys(Path(each) for each in folders))
    folder, told = Path(out), progress or Silent()
    left_out: list[dict[str, str]] = []
    found = list(_found(given, left_out))
    kept = _distinct(found, left_out)
    if not any(each.manifest.study != EXAMPLES for each in kept):
        why = "; ".join(f"{row['given']}: {row['reason']}" for row in left_out[:3])
        raise PlanError(f"there is nothing to join: {why or 'no folder has a result of a study'}")
    if folder.is_dir() and any(not place.name.startswith(".") for place in folder.iterdir()):
        raise StoreError(f"{folder}: it is not empty; choose another --out or delete it")
    with holding(folder):
        for each in kept:
            told.note(f"{each.folder}: {each.manifest.study} of {each.manifest.model.get('name')}")
            if not _copy(each, folder):
                reason = f"examples of {each.manifest.model.get('name')} on other texts are there already"
                left_out.append({"given": str(each.folder), "reason": reason})
        line = command or shlex.join(["attlas", "atlas", "join", *map(str, given), "--out", str(folder)])
        return finish(folder, told, line, left_out)


def _found(given: Sequence[Path], left_out: list[dict[str, str]]) -> Iterator[Found]:
    """The results in folders, each opened and so held against its checksums; what is none is noted."""
    for folder in given:
        if not folder.is_dir():
            reason = "it is no folder" if folder.exists() else "there is no such folder"
            left_out.append({"given": str(folder), "reason": reason})
            continue
        alone = locate(folder, MANIFEST).is_file() and not is_atlas(folder)
        places = [folder] if alone else list(results_in(folder))
        unfinished = list(begun_in(folder))
        left_out += [
            {"given": str(place), "reason": "a run was cut off here; finish it with --resume"} for place in unfinished
        ]
        if not places and not unfinished:
            left_out.append({"given": str(folder), "reason": "there is no result in it"})
        for place in places:
            try:
                result = open_result(place)
                if result.manifest.study not in studies() and result.manifest.study != EXAMPLES:
                    raise StoreError(f"there is no study {result.manifest.study!r} here that could tell what it says")
                yield Found(place, result.manifest, result.fingerprint)
            except AttlasError as error:
                left_out.append({"given": str(place), "reason": str(error).removeprefix(f"{place}: ")})


def _distinct(found: Sequence[Found], left_out: list[dict[str, str]]) -> list[Found]:
    """Of each model, study and corpus the result that was begun last."""
    last: dict[tuple[str, str, str], Found] = {}
    for each in found:
        there = last.get(each.key)
        if there is None or each.manifest.started > there.manifest.started:
            last[each.key] = each
    for each in found:
        kept = last[each.key]
        if kept is not each and each.manifest.study != EXAMPLES:
            same = kept.fingerprint == each.fingerprint
            why = "the same result" if same else f"one that was begun later, at {kept.manifest.started}"
            left_out.append({"given": str(each.folder), "reason": f"{why} is in {kept.folder}"})
    return list(last.values())


def _copy(each: Found, folder: Path) -> bool:
    """Copy a result into the place of its model: its manifest and tables, and the pages of examples, of which a model
    has one set; whether it was copied."""
    model = each.manifest.model
    own = of_model(folder, str(model.get("name", "a model")), str(model.get("fingerprint", "")))
    place = own / each.manifest.study
    if each.manifest.study == EXAMPLES and place.exists():
        return False
    if place.exists():  # of another corpus
        place = own / f"{each.manifest.study}-{slug(str(each.manifest.corpus.get('name', 'other')))}"
    place.mkdir(parents=True)
    for name in (*(f"{table}.parquet" for table in each.manifest.tables), MANIFEST):
        shutil.copyfile(locate(each.folder, name), place / name)
    if each.manifest.study == EXAMPLES:
        pages = each.folder.parent / TEXTS
        if pages.is_dir():
            shutil.copytree(pages, own / TEXTS)
    state = State.of(own) or State({"joined": True, "model": dict(model)})
    if each.manifest.study != EXAMPLES:
        corpus = str(each.manifest.corpus.get("name", ""))
        state.add(Outcome(place.name, DONE, "", corpus, each.manifest.seconds))
    state.write(own)
    return True
