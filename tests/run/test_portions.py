"""Runs in parts: merged in any order they are the whole run, and what does not belong together is refused."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from spread import STUDIES, cases_in_parts, documents, same_tables, subject_for, takes_parts

import twins
from attlas.errors import PlanError, StoreError
from attlas.run.portions import Left, Merged
from attlas.store import Result
from attlas.store.portion import read_portion, save_portion
from attlas.studies import studies
from attlas.studies.keywords_study.call import keywords_study
from attlas.studies.survey.call import survey
from attlas.text import Document

PARTS = 7


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A survey in seven parts."""
    place = tmp_path_factory.mktemp("parts")
    return in_parts("survey", place, PARTS)


def in_parts(study: str, place: Path, of: int, **how: Any) -> list[Path]:
    folders = [place / f"part-{number}" for number in range(1, of + 1)]
    for number, folder in enumerate(folders, 1):
        left = STUDIES[study](subject_for(study), out=folder, part=f"{number}/{of}", **how)
        assert isinstance(left, Left)
        assert str(left).startswith(f"part {number}/{of} of {study}: ")
    return folders


@pytest.mark.parametrize("seed", range(3))
def test_seven_parts_in_any_order_are_the_whole(parts: list[Path], seed: int, tmp_path: Path) -> None:
    folders = random.Random(seed).sample(parts, PARTS)
    merged = STUDIES["survey"](subject_for("survey"), engine=Merged(folders), out=tmp_path / "out")
    whole = STUDIES["survey"](subject_for("survey"))
    same_tables(merged, whole, 1e-12)
    assert merged.manifest.plan == whole.manifest.plan
    assert merged.manifest.corpus == whole.manifest.corpus
    same_tables(Result.open(tmp_path / "out"), merged, 0.0)
    assert not (tmp_path / "out" / "checkpoint").exists()


CASES = cases_in_parts(Path("never written"))
STAGES = {"relations": 2, "coref": 2, "ablate": 2, "ablate with means": 3, "roles": 2}


@pytest.mark.parametrize("case", [name for name in CASES if name != "survey"])
def test_every_study_that_takes_parts_is_the_whole_of_seven(case: str, tmp_path: Path) -> None:
    subject, study = subject_for(case), CASES[case]
    orders, how = [random.Random(seed).sample(range(PARTS), PARTS) for seed in range(3)], dict[str, Any]()
    whole = study(subject)
    for stage in count(1):
        folders = [tmp_path / f"stage {stage}" / str(number) for number in range(1, PARTS + 1)]
        for number, folder in enumerate(folders, 1):
            assert isinstance(study(subject, out=folder, part=f"{number}/{PARTS}", **how), Left)
        refuse_what_does_not_belong(folders)
        made = [
            study(subject, engine=Merged([folders[at] for at in order]), out=tmp_path / f"merged {stage} {turn}")
            for turn, order in enumerate(orders)
        ]
        if not isinstance(made[0], Left):
            break
        assert f"do all parts once more with --after {made[0].folder}" in str(made[0])
        how = {"after": made[0].folder}
    assert stage == STAGES.get(case, 1)
    for merged in made:
        same_tables(merged, whole, 1e-9)
        assert merged.manifest.plan == whole.manifest.plan
    same_tables(made[1], made[0], 0.0)  # parts are merged by their numbers, whatever order they come in


def refuse_what_does_not_belong(folders: list[Path]) -> None:
    """A part that is missing, there twice, or of another plan."""
    with pytest.raises(PlanError, match=r"^of 7 parts number 4 is missing$"):
        Merged([*folders[:3], *folders[4:]])
    twice, foreign = (folders[0].with_name(name) for name in ("twice", "foreign"))
    shutil.copytree(folders[4], twice)
    with pytest.raises(PlanError, match=r"^of 7 parts number 5 came more than once; give each once$"):
        Merged([*folders, twice])
    shutil.copytree(folders[6], foreign)
    portion = read_portion(foreign)
    assert portion is not None
    save_portion(foreign, replace(portion, plan={**portion.plan, "seed": 99}))
    with pytest.raises(PlanError, match=r"the plans are not the same \(seed: was 0, is now 99\)"):
        Merged([*folders[:6], foreign])


def test_studies_that_refuse_parts_are_those_that_say_why(tmp_path: Path) -> None:
    for name, study in studies().items():
        call = study.load_call()
        assert takes_parts(call, tmp_path / "out") == (name in CASES), name
    assert not (tmp_path / "out").exists()


def test_more_parts_than_batches_are_merged_all_the_same(tmp_path: Path) -> None:
    texts = [Document.from_text("It rained. We stayed in."), Document.from_text("The sun came out.")]
    subject = subject_for("survey")
    folders = [tmp_path / str(number) for number in range(4)]
    for number, folder in enumerate(folders):
        survey(subject, texts, out=folder, part=f"{number + 1}/4")
    same_tables(survey(subject, texts, engine=Merged(folders)), survey(subject, texts), 0.0)


def test_missing_and_doubled_parts_are_refused_with_their_numbers(parts: list[Path], tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"^of 7 parts numbers 2, 7 are missing$"):
        Merged([*parts[:1], *parts[2:6]])
    with pytest.raises(PlanError, match=r"^of 7 parts number 3 is missing$"):
        Merged(parts[:2] + parts[3:])
    again = tmp_path / "again"
    survey(subject_for("survey"), documents(), budget=64, out=again, part="3/7")
    with pytest.raises(PlanError, match=r"^of 7 parts number 3 came more than once; give each once$"):
        Merged([*parts, again])
    with pytest.raises(PlanError, match="a folder was given twice"):
        Merged([*parts, parts[0]])
    (other,) = in_parts("survey", tmp_path / "whole", 1)
    with pytest.raises(PlanError, match=r"this is one of 1 parts, and .* one of 7"):
        Merged([*parts[:6], other])


def test_parts_of_other_plans_are_refused_with_the_difference(parts: list[Path], tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    survey(subject_for("survey"), documents(), budget=64, seed=5, out=foreign, part="7/7")
    with pytest.raises(PlanError, match=r"the plans are not the same .*seed: was 0, is now 5"):
        Merged([*parts[:6], foreign])
    with pytest.raises(PlanError, match=r"the plans are not the same \(.*corpus, sha256: was .*is now"):
        survey(subject_for("survey"), documents(20), budget=64, engine=Merged(parts))


def test_damaged_parts_are_refused_by_their_checksum(tmp_path: Path) -> None:
    folders = in_parts("survey", tmp_path, 2)
    bundle = folders[1] / "checkpoint" / "state.npz"
    data = bytearray(bundle.read_bytes())
    data[len(data) // 2] ^= 1
    bundle.write_bytes(data)
    with pytest.raises(StoreError, match=r"state\.npz: it does not agree with its checksum, so it was damaged"):
        STUDIES["survey"](subject_for("survey"), engine=Merged(folders))
    about = folders[0] / "part.json"
    about.write_text(about.read_text().replace('"number": 1', '"number": 2'))
    with pytest.raises(StoreError, match=r"part\.json: it does not agree with its own checksum"):
        Merged(folders)


def test_a_part_is_no_result_and_says_so(parts: list[Path], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"this is part 3 of 7 of a survey and no result; join all of them with"):
        Result.open(parts[2])
    with pytest.raises(PlanError, match="no part of a run lies here"):
        Merged([tmp_path])
    assert sorted(path.name for path in parts[2].iterdir()) == ["checkpoint", "part.json"]
    assert json.loads((parts[2] / "part.json").read_text())["count"] == 7


def test_a_part_is_resumed_but_no_other_in_its_place(parts: list[Path], tmp_path: Path) -> None:
    subject = subject_for("survey")
    left = survey(subject, documents(), budget=64, out=parts[2], part="3/7", resume=True)
    assert isinstance(left, Left)
    with pytest.raises(PlanError, match='batching, part: was "3/7", is now "4/7"'):
        survey(subject, documents(), budget=64, out=parts[2], part="4/7", resume=True)
    with pytest.raises(PlanError, match='batching, part: was "3/7", is now not set'):
        survey(subject, documents(), budget=64, out=parts[2], resume=True)


BAD = {
    "0/3": "--part 0/3 is none of 3 parts; write 1/3 to 3/3",
    "4/3": "--part 4/3 is none of 3 parts",
    "a/b": "--part a/b is no part; write for example 3/16",
    "3": "--part 3 is no part",
    "1/0": "--part 1/0 is no part",
    "-1/3": "--part -1/3 is no part",
}


@pytest.mark.parametrize("part", BAD)
def test_what_is_no_part_is_refused(part: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=BAD[part]):
        survey(None, "no such file", part=part, out=tmp_path / "out")


def test_what_does_not_go_together_is_refused_before_the_work(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(PlanError, match="give --engine or --part, but not both"):
        survey(None, "no such file", part="1/3", engine="ray", out=out)
    with pytest.raises(PlanError, match="give its folder"):
        survey(None, "no such file", part="1/3")
    with pytest.raises(PlanError, match="--after goes with --part"):
        survey(None, "no such file", after=out, out=out)
    with pytest.raises(PlanError, match="no merged stage lies here"):
        survey(subject_for("survey"), documents(), part="1/3", after=tmp_path, out=out)
    with pytest.raises(PlanError, match="keywords study cannot be done in parts: what words receive is written"):
        keywords_study(None, "no such file", part="1/3", out=out)
    with pytest.raises(PlanError, match="there is no engine 'spark'"):
        survey(None, "no such file", engine="spark")
    with pytest.raises(PlanError, match="--workers goes with the workers of Ray"):
        survey(None, "no such file", workers=3)
    assert not out.exists()


def test_a_head_that_is_trained_on_the_way_is_refused(tmp_path: Path) -> None:
    from attlas.studies.noop.call import noop

    texts = [Document.from_words(s.split(), upos=["X"] * len(s.split())) for s in twins.SENTENCES]
    with pytest.raises(PlanError, match="noop cannot be done in parts: it goes step by step"):
        noop(subject_for("survey"), texts, "tagging:upos", part="1/2", out=tmp_path / "out")
