"""attlas layers as a call: a run in parts that can be killed, its tables, and what it refuses."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import attlas.probes.edges.kept as under_kept
import twins
from attlas.capture import Subject, load
from attlas.errors import CapabilityError, CorpusError, PlanError, StoreError, TextError
from attlas.pages.laws import check_page
from attlas.probes.edges.kept import load_kept
from attlas.probes.edges.series import Asked, Series, Spec
from attlas.run.progress import Silent
from attlas.run.session import Run
from attlas.store import Result
from attlas.studies.layers.call import layers
from attlas.studies.layers.page import PAGE
from attlas.studies.layers.passes import Work
from attlas.text import Document, Edge, Passage, Span

SMALL: dict[str, Any] = {"epochs": 2, "step_pieces": 48, "checkpoint_every": 0.0}


def subject(family: str = "bert") -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def texts(label: Callable[[str], str] = lambda word: str(len(word) // 3), *, paired: bool = False) -> list[Document]:
    made = []
    for number, sentence in enumerate(twins.SENTENCES[:4] * 3):
        words = sentence.split()[number % 4 :]
        edges = tuple(
            Edge(Span(at, at + 1), Span(at - 1, at) if paired else None, (label(word),))
            for at, word in enumerate(words)
            if at or not paired
        )
        made.append(Document.from_words(words, edges=edges, name=f"text {number}"))
    return made


class Listener(Silent):
    def __init__(self, stop_at: str = "") -> None:
        self.heard: list[str] = []
        self.stop_at = stop_at

    def start(self, description: str, total: int, done: int = 0) -> None:
        self.note(description)

    def note(self, text: str) -> None:
        self.heard.append(text)
        if self.stop_at and self.stop_at in text:
            raise KeyboardInterrupt


def rows(result: Result) -> dict[str, list[dict[str, Any]]]:
    return {name: table.to_pylist() for name, table in result.tables.items()}


@pytest.mark.parametrize("family", ["bert", "llama", "t5"])
def test_a_run_gives_all_tables_for_every_kind_of_model(family: str, tmp_path: Path) -> None:
    result = layers(subject(family), texts(), "spans", out=tmp_path / "run", **SMALL)
    check_page(PAGE, result)
    scores = rows(result)["scores"]
    assert {(r["who"], r["labels"], r["series"]) for r in scores} == {
        (model, *kind)
        for model in ("model", "twin")
        for kind in (("gold", "cumulative"), ("gold", "single"), ("control", "cumulative"), ("gold", "linear"))
    }
    assert sorted({r["layer"] for r in scores}) == [0, 1, 2, 3]
    assert all(0 <= r["value"] <= 1 for r in scores)
    weights = [r for r in rows(result)["weights"] if r["who"] == "model" and r["labels"] == "gold"]
    assert sum(r["value"] for r in weights) == pytest.approx(1)
    about = result.manifest.corpus["tasks"]["spans"]
    assert about["labels"] > 1
    assert about["store_bytes"] > 0
    assert about["parts"]["train"]["edges"] > 50
    assert not (tmp_path / "run" / ".states").exists()
    assert sorted(p.name for p in (tmp_path / "run").iterdir() if p.name.startswith(("check", "."))) == []


@pytest.mark.parametrize("stop_at", ["states-model", "epoch 1 of 2", "seed 1", "states-twin"])
def test_a_killed_run_goes_on_to_the_same_numbers(stop_at: str, tmp_path: Path) -> None:
    model = subject()
    options = {**SMALL, "seeds": 2, "singles": False, "budget": 64}
    whole = layers(model, texts(), "spans", out=tmp_path / "whole", **options)
    with pytest.raises(KeyboardInterrupt):
        layers(model, texts(), "spans", out=tmp_path / "cut", progress=Listener(stop_at), **options)
    if stop_at != "states-model":
        with pytest.raises(PlanError, match="go on with --resume"):
            layers(model, texts(), "spans", out=tmp_path / "cut", **options)
    resumed = layers(model, texts(), "spans", out=tmp_path / "cut", resume=True, **options)
    assert rows(resumed) == rows(whole)
    first, second = (load_kept(tmp_path / name).series.state_dict() for name in ("whole", "cut"))
    assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(
    ("labels", "among", "one"),
    [([0, 1], [2, 2], True), ([0, 2], [2, 2], False), ([0, 1], [2, 0], False), ([2, 2], [0, 1], False)],
)
def test_one_label_is_forced_where_each_edge_has_one_of_all(labels: list[int], among: list[int], one: bool) -> None:
    """Sets 0 and 1 are single labels, set 2 is both."""
    train = SimpleNamespace(labels=np.array(labels), among=np.array(among))
    known = SimpleNamespace(table=lambda: np.array([[True, False], [False, True], [True, True]]))
    work: Any = SimpleNamespace(edges=SimpleNamespace(layouts={"train": train}, known=known))
    assert Work._one_label(work) is one


def test_heads_can_be_mixed_instead_of_layers() -> None:
    result = layers(subject(), texts(), "spans", over="heads", twin="none", **SMALL)
    weights = [r for r in rows(result)["weights"] if r["labels"] == "gold"]
    assert [(r["layer"], r["head"]) for r in weights] == [(layer, head) for layer in (1, 2, 3) for head in range(4)]
    assert sorted({r["layer"] for r in rows(result)["scores"]}) == [1, 2, 3]


def test_a_store_that_is_too_large_is_refused_before_the_model_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    model = subject()
    ran: list[int] = []
    monkeypatch.setattr(Run, "carry", lambda *args, **options: ran.append(1))
    with pytest.raises(
        StoreError, match=r"the states would take .* on disk .*--max-disk allows 1e-06 GB; allow more"
    ):
        layers(model, texts(), "spans", max_disk=1e-6, **SMALL)
    assert not ran


def test_labels_that_training_has_not_seen(tmp_path: Path) -> None:
    model, rare = subject(), texts()
    edges = rare[0].edges or ()
    rare[0] = replace(rare[0], edges=(edges[0]._replace(labels=("strange",)), *edges[1:]))
    listener = Listener()
    result = layers(model, texts(), "spans", validation=texts(), test=rare, twin="none", progress=listener, **SMALL)
    said = [text for text in listener.heard if "never seen" in text]
    assert said == [
        "1 of 117 edges of the test part have labels that training has never seen ('strange'); they count as missed"
    ]
    assert result.manifest.corpus["tasks"]["spans"]["unseen"]["test"] == {"strange": 1}
    strange = texts(lambda word: f"strange {len(word)}")
    with pytest.raises(CorpusError, match=r"117 of the 117 edges of the test part have labels that training has nev"):
        layers(model, texts(), "spans", validation=texts(), test=strange, **SMALL)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"over": "neurons"}, PlanError, "'neurons' cannot be mixed; choose one of layers, heads"),
        ({"lengths": "long"}, PlanError, "states cannot be divided by 'long' lengths; choose one of usual, own"),
        ({"seeds": 0}, PlanError, "seeds must be at least 1"),
        ({"learning_rate": 0.0}, PlanError, "the learning rate must be above 0"),
        ({"resume": True}, PlanError, "resuming needs the folder"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        layers(subject(), texts(), "spans", **{**SMALL, **options})


def test_parts_of_single_spans_and_pairs_do_not_go_together() -> None:
    with pytest.raises(CorpusError, match="single spans and others pairs"):
        layers(subject(), texts(), "spans", validation=texts(), test=texts(paired=True), **SMALL)


@pytest.mark.parametrize(("family", "lengths"), [("bert", "usual"), ("llama", "own")])
def test_kept_probes_say_what_the_series_said(
    family: str, lengths: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, seen = subject(family), []
    kept_as = under_kept.keep

    def keep(path: Path, series: Series, specs: Sequence[Spec], *rest: Any) -> None:
        seen.append(copy.deepcopy(series))
        kept_as(path, series, specs, *rest)

    monkeypatch.setattr(under_kept, "keep", keep)
    layers(model, texts(paired=True), "spans", out=tmp_path / "run", twin="none", **SMALL)
    kept = load_kept(tmp_path / "run")
    assert (kept.task, kept.paired, kept.levels, kept.lengths) == ("spans", True, (0, 1, 2, 3), lengths)
    document = texts()[0]
    example = model.pieces.encode(Passage(document))
    found = kept.probabilities(model, example, Span(1, 2), Span(0, 1))

    (series,) = seen
    words = np.array(example.source.segmentation.words)
    spans = [int(end) for word in (1, 0) for end in (np.flatnonzero(words == word)[[0, -1]] + (0, 1))]
    with torch.no_grad():
        states = torch.stack(model.run(model.pieces.batch([example]), output_hidden_states=True).hidden_states)
        usual = torch.tensor(kept.scales).view(-1, 1, 1, 1)
        states /= usual if lengths == "usual" else states.square().mean(-1, keepdim=True).sqrt()
        asked = Asked(states, torch.tensor([[spans]]), torch.ones(1, 1, dtype=torch.bool))
        wanted = torch.sigmoid(series(asked)[:4, 0])
    assert found == pytest.approx(wanted.numpy(), abs=2e-3)

    other = kept.probabilities(model, example, Span(3, 4), Span(0, 1))
    assert not np.allclose(found, other)
    with pytest.raises(TextError, match="is asked about a pair of spans"):
        kept.probabilities(model, example, Span(1, 2))
    small = load()
    with pytest.raises(CapabilityError, match=r"has 7 layers to mix, .*trained on 4"):
        kept.probabilities(small, small.pieces.encode(Passage(document)), Span(1, 2), Span(0, 1))
