"""The no-op test: gradients against the eager model's own and against finite differences, sums against loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from noop_models import CLASSES, TEXTS, headed, subject

import twins
from attlas.capture import Override, Recorder, Subject
from attlas.capture.reading import read_documents
from attlas.errors import CapabilityError, CorpusError
from attlas.ids import Site, Stream
from attlas.measures.quantities import CLASSES as KINDS
from attlas.studies.noop.call import noop
from attlas.studies.noop.passes import KEYS, NoOp, forward_and_back
from attlas.studies.noop.tables import tables
from attlas.studies.noop.training import Learner, Training
from attlas.studies.shared.piece_classes import mark
from attlas.tasks import NOTHING, Task, make_task
from attlas.text import Document

FAMILIES = list(CLASSES)


MORE = [Document.from_text(f"Nobody noticed {word}, it is said.") for word in ("rain", "snow", "apples", "bridges")]


def examples_of(model: Subject) -> list[Any]:
    return read_documents(model, TEXTS).examples


def eager_gradients(family: str, task: Task, example: Any) -> tuple[float, dict[Stream, list[torch.Tensor]]]:
    """The loss and dL/d alpha of one text, by the model library alone: its eager weights, its own loss."""
    model = headed(family)
    model.set_attn_implementation("eager")
    question = task.ask([example])
    labels = question.labels
    if task.name == "causal-lm":  # the library shifts these itself
        labels = torch.cat([torch.full((1, 1), NOTHING), labels[:, :-1]], 1)
    output = model(**question.batch.inputs, labels=labels, output_attentions=True)
    parts = {
        Stream.ENCODER: "encoder_attentions",
        Stream.DECODER: "decoder_attentions",
        Stream.CROSS: "cross_attentions",
    }
    if task.name != "translation":
        parts = {task.streams[0]: "attentions"}
    weights = {stream: list(getattr(output, part)) for stream, part in parts.items()}
    flat = [layer for layers in weights.values() for layer in layers]
    made = iter(torch.autograd.grad(output.loss, flat))
    return output.loss.item(), {stream: [next(made) for _ in layers] for stream, layers in weights.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_equal_those_of_the_eager_model(family: str) -> None:
    """In a padded batch, against the library's own loss and weights, text by text."""
    model = subject(family)
    task = make_task(model, CLASSES[family][1], seed=3)
    examples = examples_of(model)
    question = task.ask(examples)
    passed = forward_and_back(model, task, question)
    for row, example in enumerate(examples):
        value, wanted = eager_gradients(family, task, example)
        assert float(passed.scored.mean[row]) == pytest.approx(value, rel=1e-4)
        for stream, layers in wanted.items():
            for layer, gradient in enumerate(layers):
                _, _, queries, keys = gradient.shape
                ours = passed.gradients[Site(stream, layer)][row, :, :queries, :keys]
                visible = passed.kept.weights[Site(stream, layer)][row, :, :queries, :keys] > 0
                torch.testing.assert_close(ours[visible], gradient[0][visible], rtol=2e-3, atol=2e-6)


@pytest.mark.parametrize("family", ["bert", "llama", "marian"])
def test_gradients_equal_finite_differences(family: str) -> None:
    model = Subject.of(headed(family).double(), twins.tokenizer(family in twins.CAUSAL), family)
    task = make_task(model, CLASSES[family][1])
    question = task.ask(examples_of(model)[1:2])
    passed = forward_and_back(model, task, question)

    def at(site: Site, head: int, query: int, key: int, step: float) -> float:
        def moved(call: Any) -> torch.Tensor:
            weights = call.weights().clone()
            if call.site == site:
                weights[0, head, query, key] += step
            return weights

        with torch.no_grad(), model.use(Override(make=moved)):
            logits = model.run(question.batch).logits
            known = question.labels != NOTHING
            return float(torch.nn.functional.cross_entropy(logits[known], question.labels[known]))

    for site, head, query, key in [(model.sites[0], 1, 2, 0), (model.sites[-1], 3, 2, 1), (model.sites[1], 0, 1, 1)]:
        # no smaller step: a softmax keeps the digits of float32, in whatever format the model is
        slope = (at(site, head, query, key, 1e-3) - at(site, head, query, key, -1e-3)) / 2e-3
        assert float(passed.gradients[site][0, head, query, key]) == pytest.approx(slope, rel=1e-2, abs=1e-4)


@pytest.mark.parametrize("family", ["bert", "llama", "marian"])
def test_sums_equal_naive_loops_and_do_not_depend_on_the_batch(family: str) -> None:
    model = subject(family)
    task = make_task(model, CLASSES[family][1])
    examples = examples_of(model)
    study = NoOp(model, task)
    together, alone = study.empty(), study.empty()
    study.update(together, examples)
    for example in examples:
        study.update(alone, [example])
    for name in together:
        one, other = together[name].result(), alone[name].result()
        np.testing.assert_allclose(one.value, other.value, rtol=2e-3, atol=1e-7)
        np.testing.assert_allclose(one.n, other.n)
    rows = {
        (row["stream"], row["layer"], row["head"], row["keys"]): row
        for row in _rows(tables(study, together, [together])["noop"])
    }
    for stream in task.streams:
        site, head = Site(stream, 1), 2
        naive = {key: _naive(study, examples, site, head, key) for key in KEYS}
        for key in KEYS:
            texts = naive[key]
            kept = [text for text in texts if text["pairs"]]
            if not kept:
                assert (stream.value, 1, head, key) not in rows
                continue
            row = rows[stream.value, 1, head, key]
            assert row["n"] == len(kept)
            assert row["pairs"] == sum(text["pairs"] for text in texts)
            assert row["value"] == pytest.approx(np.mean([text["g"] / text["pairs"] for text in kept]), rel=1e-3)
            assert row["paid"] == pytest.approx(np.mean([text["paid"] / text["pairs"] for text in kept]), rel=1e-3)
            queries = sum(text["queries"] if key in KINDS else text["pairs"] for text in texts)
            assert row["weight"] == pytest.approx(sum(text["alpha"] for text in texts) / queries, rel=1e-3)
            assert row["norm"] == pytest.approx(sum(text["norm"] for text in texts) / queries, rel=1e-3)
            both = [
                (text, rival) for text, rival in zip(texts, naive["other"], strict=True)
                if text["pairs"] and rival["pairs"]
            ]  # fmt: skip
            above = sum(text["g"] / text["pairs"] for text, _ in both)
            below = sum(rival["g"] / rival["pairs"] for _, rival in both)
            assert row["relative"] == pytest.approx(above / below, rel=1e-3)


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _naive(study: NoOp, examples: list[Any], site: Site, head: int, key: str) -> list[dict[str, float]]:
    """Sums over the pairs of one class or place of key, text by text, in plain Python."""
    found = []
    for example in examples:
        question = study.task.ask([example])
        passed = forward_and_back(study.subject, study.task, question)
        keys = question.batch.keys(site.stream)
        assert keys is not None
        documents: Any = [example.passage.documents]
        if study.subject.pieces.translating:
            documents = [[example.passage.documents[1 if keys is question.batch.target else 0]]]
        classes = mark(keys, documents, (), {}).classes[0]
        if question.altered is not None:
            classes[question.altered[0]] = torch.tensor([0.0, 0, 0, 0, 1])
        alpha, gradient = passed.kept.weights[site][0, head].detach(), passed.gradients[site][0, head]
        norms = _norms(study.subject, question, site, head)
        sums = {"g": 0.0, "paid": 0.0, "alpha": 0.0, "norm": 0.0, "pairs": 0, "queries": len(alpha)}
        for i, j in np.ndindex(*alpha.shape):
            place = {0: "self", -1: "previous", 1: "next"}.get(j - i) if site.stream is not Stream.CROSS else None
            fits = place == key if key not in KINDS else classes[j].argmax() == KINDS.index(key)
            if fits and not (site.stream is Stream.DECODER and j > i):
                sums["pairs"] += 1
                sums["g"] += abs(float(gradient[i, j]))
                sums["alpha"] += float(alpha[i, j])
                sums["norm"] += float(norms[i, j] / norms[i].sum())
                sums["paid"] += float(alpha[i, j]) * abs(float(gradient[i, j]))
        found.append(sums)
    return found


def _norms(subject: Subject, question: Any, site: Site, head: int) -> torch.Tensor:
    """||alpha f(x)|| of one head on one text, from the vectors themselves."""
    recorder = Recorder(["weights", "values"])
    with torch.no_grad(), subject.use(recorder):
        subject.run(question.batch)
    vectors = recorder.get(site, "values")[0, head] @ subject.output_matrix(site)[head]
    return (recorder.get(site)[0, head][..., None] * vectors).norm(dim=-1).detach()


def test_the_masked_draw_depends_on_text_and_seed_alone() -> None:
    model = subject("bert")
    examples = read_documents(model, [Document.from_text(" ".join(twins.SENTENCES[:4])), *TEXTS]).examples
    tasks = [make_task(model, "masked-lm", seed=seed).ask(examples) for seed in (0, 0, 1)]
    assert torch.equal(tasks[0].labels, tasks[1].labels)
    assert torch.equal(tasks[0].batch.inputs["input_ids"], tasks[1].batch.inputs["input_ids"])
    assert not torch.equal(tasks[0].labels, tasks[2].labels)
    alone = make_task(model, "masked-lm", seed=0).ask(examples[1:2])
    assert alone.labels[0].tolist() == tasks[0].labels[1, : alone.labels.shape[1]].tolist()
    predicted = (tasks[0].labels != NOTHING).sum(-1).tolist()
    pieces = [sum(not role for role in example.source.roles) for example in examples]
    assert predicted == [max(1, round(0.15 * count)) for count in pieces]
    for row, example in enumerate(examples):
        for place, label in enumerate(tasks[0].labels[row].tolist()):
            if label != NOTHING:
                assert (example.source.ids[place], example.source.roles[place]) == (label, "")
    assert tasks[0].altered is not None
    assert not (tasks[0].altered & (tasks[0].labels == NOTHING)).any()


def test_a_twin_stands_in_every_row_and_the_parameters_stay_as_they_were(tmp_path: Path) -> None:
    model = subject("llama")
    asked = [parameter.requires_grad for parameter in model.model.parameters()]
    result = noop(model, [*TEXTS, *MORE], out=tmp_path / "out", budget=32)
    assert [parameter.requires_grad for parameter in model.model.parameters()] == asked
    assert all(parameter.grad is None for parameter in model.model.parameters())
    assert result.manifest.plan["options"]["task"] == "causal-lm"
    for name in ("noop", "noop_layers"):
        rows = result.tables[name].to_pylist()
        assert {row["keys"] for row in rows} == {"cls", "punctuation", "other", "self", "previous"}
        assert all(row["twin"] is not None and row["twin_weight"] is not None for row in rows)
        assert all(row["twin"] != row["value"] and row["twins"] == 5 for row in rows)
        assert all(0 <= row["low"] <= row["value"] <= row["high"] for row in rows)
    loss = result.tables["loss"].to_pylist()[0]
    assert loss["chance"] == pytest.approx(np.log(model.model.config.vocab_size))
    assert loss["twin"] == pytest.approx(loss["chance"], abs=0.3)
    layers = result.tables["noop_layers"].to_pylist()
    assert all(row["relative"] == pytest.approx(1.0) for row in layers if row["keys"] == "other")
    for layer in range(3):
        shares = [row for row in layers if row["layer"] == layer and row["keys"] in KINDS]
        assert sum(row["paid_share"] for row in shares) == pytest.approx(1.0)
        assert sum(row["weight"] for row in shares) == pytest.approx(1.0, abs=1e-5)
        assert sum(row["norm"] for row in shares) == pytest.approx(1.0, abs=1e-5)
        assert sum(row["twin_norm"] for row in shares) == pytest.approx(1.0, abs=1e-5)
    mine = [row for row in layers if row["keys"] == "punctuation"]
    assert all(row["relative_low"] <= row["relative"] <= row["relative_high"] for row in mine)


def separable(count: int = 40) -> list[Document]:
    """Sentences whose tags follow from their words."""
    kinds = {"farmer": "NOUN", "bridge": "NOUN", "the": "DET", "slept": "VERB", "asked": "VERB", "old": "ADJ"}
    draw = np.random.default_rng(0)
    texts = []
    for number in range(count):
        words = [str(word) for word in draw.choice(list(kinds), 6)]
        texts.append(Document.from_words(words, upos=[kinds[word] for word in words], name=str(number)))
    return texts


def plain(family: str = "bert") -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


@pytest.mark.parametrize("family", ["bert", "llama", "marian"])
def test_a_small_head_is_trained_on_one_half_and_measured_on_the_other(family: str) -> None:
    result = noop(plain(family), separable(30), task="tagging:upos", budget=256)
    found = result.tables["loss"].to_pylist()[0]
    assert found["majority_tag"] in ("NOUN", "VERB")
    assert found["accuracy"] > found["chance_accuracy"]
    assert found["value"] < found["chance"]
    assert found["passes"] >= 1
    assert result.manifest.corpus["passages"] + result.manifest.corpus["training passages"] == 30
    assert set(result.table.column("stream").to_pylist()) == {"decoder" if family == "llama" else "encoder"}
    assert min(result.table.column("value").to_pylist()) >= 0


def test_training_stops_when_the_held_out_texts_get_no_better_and_keeps_the_best() -> None:
    learner = Learner.fresh(tags=2, width=3)
    losses = [1.0, 0.5, 0.499, 0.6, 0.4]
    for number, loss in enumerate(losses):
        if learner.numbers["stopped"]:
            break
        learner.map[:] = number
        learner.numbers["held_sum"], learner.numbers["held_count"] = 10 * loss, 10.0
        learner.end_pass()
    assert learner.numbers["epochs"] == 4
    assert learner.numbers["best_epoch"] == 3
    assert (learner.best == 2).all()


@pytest.fixture(scope="module")
def whole() -> Any:
    return noop(plain(), separable(24), task="tagging:upos", budget=32)


@pytest.mark.parametrize(("study", "at"), [(Training, 30), (NoOp, 2), (NoOp, 5)])
def test_an_interrupted_run_goes_on_to_the_same_bits(
    study: Any, at: int, whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted while it trains a head, measures the model, or measures its twin."""
    texts, options = separable(24), {"task": "tagging:upos", "budget": 32, "checkpoint_every": 0.0}
    left, real = [at], study.update

    def counted(self: Any, bundle: Any, batch: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        real(self, bundle, batch)

    monkeypatch.setattr(study, "update", counted)
    with pytest.raises(KeyboardInterrupt):
        noop(plain(), texts, out=tmp_path / "out", **options)
    again = noop(plain(), texts, out=tmp_path / "out", resume=True, **options)
    for name, table in whole.tables.items():
        assert again.tables[name].to_pylist() == table.to_pylist(), name
    assert not list((tmp_path / "out").glob("checkpoint/*"))


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(CapabilityError, match="opened without that head"):
        noop(plain(), TEXTS, task="masked-lm")
    with pytest.raises(CapabilityError, match="there is no loss 'mlm'"):
        noop(plain(), TEXTS, task="mlm")
    with pytest.raises(CorpusError, match="no xpos"):
        noop(plain(), TEXTS, task="tagging:xpos")
    with pytest.raises(CapabilityError, match="offers no language-model loss"):
        noop(plain(), [Document.from_text("It rained.")])
    alone = [Document.from_text("It rained.")]
    with pytest.raises(CorpusError, match="no translations"):
        noop(subject("marian"), alone, task="translation")
