"""Importance: gradients of gates against finite differences and against one text at a time; the command; the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from noop_models import CLASSES, TEXTS, subject

from attlas.capture import Gates
from attlas.errors import StoreError
from attlas.pages.laws import check_page
from attlas.run.setting import as_corpus
from attlas.run.tasks import read_for_task, task_for
from attlas.store import Manifest, Result
from attlas.studies.importance.call import importance
from attlas.studies.importance.page import PAGE
from attlas.studies.shared.cutting.importance import Importance, derivatives, per_layer
from attlas.tasks import READ_SCORES

if TYPE_CHECKING:
    from playwright.sync_api import Page

FAMILIES = ["bert", "mpnet", "llama", "gpt2", "gemma2", "marian", "t5"]


def set_up(family: str) -> tuple[Any, Any, list[Any]]:
    model, texts = subject(family), as_corpus(TEXTS)
    name = CLASSES[family][1]
    task = task_for(model, name, texts, score=READ_SCORES.get(name))
    return model, task, read_for_task(task, texts).examples


@pytest.mark.parametrize("family", FAMILIES)
def test_derivatives_equal_finite_differences_and_do_not_depend_on_the_batch(family: str) -> None:
    model, task, examples = set_up(family)
    _, together = derivatives(task, task.ask(examples), model.sites)
    question = task.ask(examples[1:2])
    _, alone = derivatives(task, question, model.sites)
    for site in model.sites:
        torch.testing.assert_close(together[site][1], alone[site][0], rtol=2e-3, atol=2e-5)

    def loss(site: Any, head: int, xi: float) -> float:
        gates = torch.ones(model.heads(site))
        gates[head] = xi
        with torch.no_grad(), model.use(Gates({site: gates})):
            return task.judge(question, model.run(question.batch, **task.options)).mean.item()

    for site, head in [(model.sites[0], 1), (model.sites[-1], 3), (model.sites[len(model.sites) // 2], 0)]:
        slope = (loss(site, head, 1.01) - loss(site, head, 0.99)) / 0.02
        assert alone[site][0, head].item() == pytest.approx(slope, rel=0.05, abs=2e-3)


def test_the_study_is_the_mean_size_over_texts() -> None:
    model, task, examples = set_up("llama")
    study = Importance(task)
    bundle, split = study.empty(), study.empty()
    study.update(bundle, examples)
    for example in examples:
        study.update(split, [example])
    sizes = [
        np.stack([derivatives(task, task.ask([example]), model.sites)[1][site][0].abs() for site in model.sites])
        for example in examples
    ]
    wanted = np.mean(sizes, axis=0)
    np.testing.assert_allclose(bundle["decoder-size"].result().value, wanted, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(split["decoder-size"].result().value, wanted, rtol=1e-3, atol=1e-6)
    rows = study.tables(bundle)["importance"]
    assert rows["head"] == [0, 1, 2, 3] * 3
    np.testing.assert_allclose(rows["normalised"], per_layer(wanted).ravel(), rtol=1e-3)
    assert np.square(np.reshape(rows["normalised"], (3, 4))).sum(1) == pytest.approx(1.0)


def ablation(model: Any, fingerprint: str | None = None) -> Result:
    rng = np.random.default_rng(0)
    places = [(site, head) for site in model.sites for head in range(model.heads(site))]
    table = {
        "stream": [site.stream.value for site, _ in places],
        "layer": [site.layer for site, _ in places],
        "head": [head for _, head in places],
        "change": rng.normal(size=len(places)).tolist(),
        "loss_change": rng.normal(size=len(places)).tolist(),
    }
    about = {"name": "other", "fingerprint": fingerprint or model.fingerprint}
    return Result(Manifest("ablate", model=about), {"ablation": table})


def test_measured_changes_stand_beside_and_are_correlated() -> None:
    from scipy.stats import spearmanr

    model, _, _ = set_up("bert")
    measured = ablation(model)
    result = importance(model, TEXTS, "masked-lm", ablation=measured)
    rows = result.tables["importance"].to_pylist()
    given = measured.tables["ablation"].column("loss_change").to_pylist()
    assert [row["loss_change"] for row in rows] == given
    agreement = result.tables["correlation"].to_pylist()[0]
    wanted = spearmanr([row["value"] for row in rows], np.abs(given)).statistic
    assert agreement["spearman"] == pytest.approx(wanted)
    assert agreement["spearman_low"] <= wanted <= agreement["spearman_high"]
    check_page(PAGE, result)


def test_an_ablation_of_another_model_is_refused() -> None:
    model, _, _ = set_up("bert")
    with pytest.raises(StoreError, match="whose weights are not bert's"):
        importance(model, TEXTS, "masked-lm", ablation=ablation(model, "0000"))
    with pytest.raises(StoreError, match="'ablate' was expected, and this is 'survey'"):
        importance(model, TEXTS, "masked-lm", ablation=Result(Manifest("survey"), {"heads": {"layer": [0]}}))


@pytest.mark.browser
@pytest.mark.parametrize("family", ["bert", "marian"])
def test_the_page_is_drawn(family: str, open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    model, _, _ = set_up(family)
    importance(model, TEXTS, CLASSES[family][1], ablation=ablation(model), out=tmp_path / "out")
    page = open_report(tmp_path / "out")
    assert page.locator("#figure-map .mark-rect.role-mark path").count() >= 12
    assert page.locator("#figure-measured .mark-symbol.role-mark path").count() == 12
    assert "heads" in page.locator("#answer").inner_text()
    found = page.locator("#found").inner_text()
    warned = page.locator(".warning").inner_text()  # random weights do neither task better than chance
    assert "has not shown that it can do this task: its perplexity" in warned
    assert "rank correlation" not in found
    heads = sum(model.heads(site) for site in model.sites)
    assert page.locator("#table .listing table.sortable tbody tr").count() == heads
