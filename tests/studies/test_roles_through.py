"""Roles through training: curves are those of single checkpoints, chosen on one half and scored on the other."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from test_roles_long import causal

from attlas import load
from attlas.errors import ModelError, PlanError
from attlas.ids import Stream
from attlas.run.setting import as_corpus
from attlas.studies.reporting import page_of
from attlas.studies.roles import places
from attlas.studies.roles.checkpoints import Checkpoint, checkpoints_of
from attlas.studies.roles.definitions import DEFINITIONS
from attlas.studies.roles.passes import SeamScores
from attlas.studies.roles.scores import scored
from attlas.studies.roles.texts import Setting, repeated
from attlas.studies.roles.through import roles_through

ASKED = ["prefix_matching", "duplicate", "retrieval_forced"]


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three checkpoints of a tiny model, each with other weights."""
    folder = tmp_path_factory.mktemp("training")
    for step, spread in ((2, 0.2), (10, 1.0), (100, 2.5)):
        subject = causal("llama").twin(step)
        with torch.no_grad():
            for name, parameter in subject.model.named_parameters():
                if parameter.dim() == 2 and "embed" not in name:
                    parameter.normal_(0, spread / parameter.shape[1] ** 0.5)
        subject.save(folder / f"step-{step}")
    return folder


def test_curves_are_those_of_single_checkpoints(training: Path, tmp_path: Path) -> None:
    result = roles_through([training], definitions=ASKED, texts=12, out=tmp_path / "out")
    assert [row["step"] for row in result.rows("checkpoints")] == [2, 10, 100]
    rows = [row for row in result.rows("curves") if row["definition"] == "prefix_matching"]
    asked = [DEFINITIONS["prefix_matching"]]
    ends = None
    for step in (100, 10, 2):
        subject = load(training / f"step-{step}")
        part = SeamScores(subject, asked)
        bundle = part.empty()
        part.update(bundle, repeated(Setting(subject, as_corpus("sample"), 12)))
        own = scored(bundle, Stream.DECODER)
        first, second = own.mean(1)[..., 0], own.mean(2)[..., 0]
        now = np.unravel_index(first.argmax(), first.shape)
        ends = now if ends is None else ends
        for which, place in (("now", now), ("end", ends)):
            (row,) = [row for row in rows if row["step"] == step and row["which"] == which]
            assert (row["layer"], row["head"]) == tuple(map(int, place))
            assert row["value"] == pytest.approx(float(second[place]), abs=1e-6)
            assert row["low"] <= row["value"] <= row["high"]
    assert "roles" in page_of(result)


def test_a_killed_run_goes_on(training: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = roles_through([training], definitions=ASKED[:1], texts=12)
    plain, seen = places.prefix_matching, [0]

    def dies(given: object) -> object:
        seen[0] += 1
        if seen[0] > 9:
            raise KeyboardInterrupt
        return plain(given)  # type: ignore[arg-type]

    monkeypatch.setattr(places, "prefix_matching", dies)
    with pytest.raises(KeyboardInterrupt):
        roles_through([training], definitions=ASKED[:1], texts=12, out=tmp_path / "out", checkpoint_every=0)
    monkeypatch.undo()
    again = roles_through([training], definitions=ASKED[:1], texts=12, out=tmp_path / "out", resume=True)
    assert again.rows("curves") == whole.rows("curves")


def test_checkpoints_are_put_in_order(training: Path) -> None:
    assert [one.step for one in checkpoints_of([training])] == [2, 10, 100]
    assert [one.step for one in checkpoints_of(["b/x", "a/y"])] == [1, 2]
    assert [one.step for one in checkpoints_of(["a@step-" + "1" * 30, "a@step-" + "9" * 200])] == [1, 2]
    with pytest.raises(PlanError, match="named twice"):
        checkpoints_of(["a", "a"])
    with pytest.raises(PlanError, match="there is no such checkpoint"):
        checkpoints_of([training / "step-2", training / "step-3"])


def test_a_revision_is_a_folder_of_the_cache(training: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "models--somebody--tiny"
    shutil.copytree(training / "step-2", model / "snapshots" / ("a" * 40))
    (model / "refs").mkdir()
    (model / "refs" / "step100").write_text("a" * 40)
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert Path(Checkpoint("step100", 100, "somebody/tiny@step100").folder()).name == "a" * 40
    with pytest.raises(ModelError, match=r"the revision 'step7' of 'somebody/tiny' cannot be had"):
        Checkpoint("step7", 7, "somebody/tiny@step7").folder()


def test_what_is_no_training_is_refused(training: Path, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="this is one checkpoint alone"):
        roles_through([training / "step-2"])
    with pytest.raises(PlanError, match="there is no definition 'shyness'"):
        roles_through([training], definitions="shyness")
    with pytest.raises(PlanError, match="neither a checkpoint"):
        roles_through([_empty(tmp_path)])


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"
