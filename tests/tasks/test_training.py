"""The trainer on tiny twins: it learns, repeats itself to the bit, stops in time, and touches only what it may."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.errors import CapabilityError, NumberError, PlanError
from attlas.models import Example
from attlas.tasks import Task, Translation, make_task
from attlas.tasks.protocol import NOTHING, compare_all, compare_labels
from attlas.tasks.recipe import Recipe, in_batches, padded, schedule
from attlas.tasks.training import Pass, Trainer, better, judge_all, train
from attlas.text import Chunk, Document, Passage

WORDS = ("the", "old", "bridge", "near", "station", "children", "storm", "apples", "nobody", "outside")
QUICK = Recipe(epochs=6, rate=3e-3, batch_size=8, patience=6)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def texts(count: int, seed: int = 0) -> list[Document]:
    """A text is about the farmer or the engineer, somewhere among other words; the farmer is twice as frequent."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        words = [draw.choice(WORDS) for _ in range(draw.randint(2, 8))]
        who = draw.choice(("farmer", "farmer", "engineer"))
        place = draw.randrange(len(words) + 1)
        words.insert(place, who)
        tags = ["NOUN" if word == who else "X" for word in words]
        chunks = (Chunk(place, place + 1, who),)
        made.append(Document.from_words(words, label=who, upos=tags, chunks=chunks))
    return made


def subject(
    kind: str, family: str = "bert", labels: tuple[str, ...] = ("engineer", "farmer"), **more: Any
) -> Subject:
    config = twins.config(family)
    config.update({"num_labels": len(labels), "id2label": dict(enumerate(labels)), **more})
    config.label2id = {label: number for number, label in enumerate(labels)}
    torch.manual_seed(0)
    model = getattr(transformers, kind)(config)
    if family == "bert":
        twins.spread(model)  # as it is made, it takes long to begin to learn
    return Subject.of(model, twins.tokenizer(family in twins.CAUSAL), "tiny")


def examples(of: Subject, count: int, seed: int = 0) -> list[Example]:
    return of.pieces.encode_all([Passage(document) for document in texts(count, seed)])


def classifying(family: str = "bert", **more: Any) -> tuple[Task, list[Example], list[Example]]:
    names = {"bert": "Bert", "gpt2": "GPT2", "llama": "Llama"}
    made = subject(f"{names[family]}ForSequenceClassification", family, **more)
    return make_task(made, "classification"), examples(made, 96), examples(made, 60, seed=1)


def weights(task: Task) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in task.subject.model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_a_classifier_learns(family: str) -> None:
    task, learned, held = classifying(family)
    majority = sum(example.passage.first.label == "farmer" for example in held) / len(held)
    passes = train(task, learned, held, QUICK)
    best = max(one.score or 0 for one in passes)
    assert best > 0.85 > 0.75 > majority
    assert judge_all(task, held, QUICK)[1] == best  # the best weights are left in the model
    assert not task.subject.model.training


def test_tags_and_chunks_are_learned() -> None:
    labels = {"upos": ("NOUN", "X"), "chunks": ("B-engineer", "B-farmer", "O")}
    for layer, tags in labels.items():
        made = subject("BertForTokenClassification", labels=tags)
        passes = train(
            make_task(made, f"tagging:{layer}"), examples(made, 96), examples(made, 40, seed=1),
            Recipe(epochs=5, rate=3e-3, batch_size=8),
        )  # fmt: skip
        assert (passes[0].score or 0) < 0.9 < max(one.score or 0 for one in passes), layer


def test_language_is_learned() -> None:
    made = subject("LlamaForCausalLM", "llama")
    passes = train(make_task(made, "causal-lm"), examples(made, 64), examples(made, 20, seed=1), QUICK)
    assert passes[-1].score < 0.5 * passes[0].score  # type: ignore[operator]


def test_a_run_that_is_taken_up_again_repeats_the_whole_one_to_the_bit() -> None:
    recipe = Recipe(epochs=3, rate=1e-3, batch_size=16, seed=5, patience=9)
    task, learned, held = classifying()
    whole = Trainer(task, learned, held, recipe)
    for _ in whole.moments():
        pass
    expected = weights(task)
    for stop in (0, 4, 6, 7, 16):  # before training, within a pass, and around its judging
        task, learned, held = classifying()
        torn = Trainer(task, learned, held, recipe)
        going = iter(torn.moments())
        for _ in range(stop + 1):
            next(going)
        arrays, numbers = torn.state()
        arrays = {name: array.copy() for name, array in arrays.items()}
        task, learned, held = classifying()
        with torch.no_grad():  # the weights must come from the state
            for parameter in task.subject.model.parameters():
                parameter.zero_()
        resumed = Trainer(task, learned, held, recipe)
        resumed.restore(arrays, numbers)
        torch.manual_seed(stop)  # and chance from the recipe alone
        for _ in resumed.moments():
            pass
        assert same(weights(task), expected), stop
        assert resumed.passes == whole.passes


def translating() -> tuple[Task, list[Example], list[Example]]:
    made = subject("MarianMTModel", "marian")
    task = Translation(made, "perplexity", smoothing=0.1)
    passages = [Passage(one, two) for one, two in zip(texts(60), texts(60, seed=1), strict=True)]
    found = made.pieces.encode_all(passages)
    return task, found[:48], found[48:]


def test_batches_by_pieces_are_full_fixed_and_of_like_length() -> None:
    task, learned, held = translating()
    recipe = Recipe(epochs=2, batch_pieces=90, seed=3)
    trainer = Trainer(task, learned, held, recipe)
    first, second = trainer._order(0), trainer._order(1)
    assert len(first) == len(second) == trainer.steps_per_epoch
    assert [id(batch) for batch in first] != [id(batch) for batch in second]
    assert {id(batch) for batch in first} == {id(batch) for batch in second}
    assert sorted(id(one) for batch in first for one in batch) == sorted(map(id, learned))
    assert all(padded(batch) <= 90 for batch in first)
    assert sum(map(padded, first)) < 1.15 * sum(one.length for one in learned)
    assert [len(batch) for batch in in_batches(learned[:3], Recipe(batch_pieces=1))] == [1, 1, 1]
    assert [len(batch) for batch in in_batches(learned[:5], Recipe(batch_size=2))] == [2, 2, 1]


def test_batches_by_pieces_are_taken_up_again_to_the_bit() -> None:
    recipe = Recipe(
        epochs=3, rate=1e-3, seed=5, patience=9, batch_pieces=90, betas=(0.9, 0.98), falling="root", clip=0.0
    )
    task, learned, held = translating()
    whole = Trainer(task, learned, held, recipe)
    for _ in whole.moments():
        pass
    assert whole.passes[-1].loss < whole.passes[1].loss  # type: ignore[operator]
    expected = weights(task)
    for stop in (3, 11):
        task, learned, held = translating()
        torn = Trainer(task, learned, held, recipe)
        going = iter(torn.moments())
        for _ in range(stop + 1):
            next(going)
        arrays, numbers = torn.state()
        arrays = {name: array.copy() for name, array in arrays.items()}
        task, learned, held = translating()
        resumed = Trainer(task, learned, held, recipe)
        resumed.restore(arrays, numbers)
        for _ in resumed.moments():
            pass
        assert same(weights(task), expected), stop
        assert resumed.passes == whole.passes


def test_a_smoothed_loss_is_that_of_a_plain_loop() -> None:
    torch.manual_seed(0)
    logits = torch.randn(3, 5, 7, requires_grad=True)
    labels = torch.randint(0, 7, (3, 5)).masked_fill(torch.rand(3, 5) < 0.3, NOTHING)
    total, count, right = compare_all(logits, labels, 0.1)
    for text in range(3):
        losses, hits = [], 0
        for place in range(5):
            if labels[text, place] != NOTHING:
                logs = torch.log_softmax(logits[text, place], -1)
                losses.append(-0.9 * logs[labels[text, place]] - 0.1 * logs.mean())
                hits += int(logs.argmax() == labels[text, place])
        assert total[text].item() == pytest.approx(sum(losses).item(), rel=1e-5)  # type: ignore[union-attr]
        assert (count[text].item(), right[text].item()) == (len(losses), hits)
    for ours, theirs in zip(compare_all(logits, labels), compare_labels(logits, labels), strict=True):
        assert torch.allclose(ours, theirs)
    task, _, held = translating()  # what is held out is judged without smoothing
    plain = Translation(task.subject, "perplexity")
    assert judge_all(task, held, QUICK) == judge_all(plain, held, QUICK)


def test_a_halted_run_ends_after_its_pass() -> None:
    task, learned, held = classifying()
    trainer = Trainer(task, learned, held, QUICK)
    for moment in trainer.moments():
        if moment.judged is not None and moment.judged.epoch == 2:
            trainer.halt()
    assert [one.epoch for one in trainer.passes] == [0, 1, 2]


def test_another_seed_gives_another_model() -> None:
    found = []
    for seed in (0, 0, 1):
        task, learned, held = classifying()
        train(task, learned, held, Recipe(epochs=1, batch_size=16, seed=seed))
        found.append(weights(task))
    assert same(found[0], found[1])
    assert not same(found[0], found[2])


def test_only_the_head_is_touched() -> None:
    task, learned, held = classifying()
    before = weights(task)
    train(task, learned, held, Recipe(epochs=2, rate=1e-2, batch_size=16, only_head=True))
    after = weights(task)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"classifier.weight", "classifier.bias"}
    assert all(parameter.requires_grad for parameter in task.subject.model.parameters())


def test_a_head_that_shares_its_weights_cannot_be_trained_alone() -> None:
    made = subject("GPT2LMHeadModel", "gpt2")
    with pytest.raises(CapabilityError, match=r"no head of its own for causal-lm .*without --only-head"):
        train(make_task(made, "causal-lm"), examples(made, 8), recipe=Recipe(only_head=True))


def test_it_stops_in_time_and_puts_the_best_weights_back() -> None:
    """At a rate that destroys the model, what was there before training is the best."""
    task, learned, held = classifying()
    train(task, learned, held, QUICK)
    before, score = weights(task), judge_all(task, held, QUICK)[1]
    passes = train(task, learned, held, Recipe(epochs=9, rate=0.5, batch_size=16, patience=2))
    assert [one.epoch for one in passes] == [0, 1, 2]
    assert [one.best for one in passes] == [True, False, False]
    assert passes[0].score == score
    assert same(weights(task), before)


def test_without_texts_held_out_all_passes_are_done() -> None:
    task, learned, _ = classifying()
    passes = train(task, learned, recipe=Recipe(epochs=4, batch_size=32, patience=1))
    assert [(one.epoch, one.score) for one in passes] == [(0, None), (1, None), (2, None), (3, None), (4, None)]


def test_the_loss_is_the_mean_over_predictions() -> None:
    """Of a pass at a rate of nearly nothing, in a model without dropout, against a plain loop."""
    task, _, held = classifying(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = task.subject.model
    losses = []
    with torch.no_grad():
        for example in held:
            batch = task.subject.pieces.batch([example])
            wanted = torch.tensor([task.subject.labels.index(example.passage.first.label or "")])
            losses.append(torch.nn.functional.cross_entropy(model(**batch.inputs).logits, wanted).item())
    passes = train(task, held, held, Recipe(epochs=1, rate=1e-12, batch_size=16))
    assert passes[0].held_loss == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert passes[1].loss == pytest.approx(passes[0].held_loss, rel=1e-5)


def test_better_goes_by_the_score_and_else_by_the_loss() -> None:
    accuracy, _, _ = classifying()
    made = subject("LlamaForCausalLM", "llama")
    perplexity = make_task(made, "causal-lm")
    old = Pass(1, 1, 1.0, 1.0, 5.0, True)
    for task, score, expected in ((accuracy, 6.0, True), (accuracy, 4.0, False), (perplexity, 4.0, True)):
        assert better(task, Pass(2, 2, 1.0, 1.5, score, False), old) is expected
    assert better(accuracy, Pass(2, 2, 1.0, 0.9, 5.0, False), old)
    assert not better(accuracy, Pass(2, 2, 1.0, 1.0, 5.0, False), old)


def test_the_rate_rises_and_falls() -> None:
    found = [schedule(step, 40, 0.1) for step in range(40)]
    assert found[3] == max(found) == 1.0
    assert all(a < b for a, b in pairwise(found[:4]))
    assert all(a > b for a, b in pairwise(found[4:]))
    assert found[-1] > 0
    assert schedule(0, 1, 0.1) == 1.0
    root = [schedule(step, 40, 0.1, "root") for step in range(40)]
    assert root[:4] == found[:4]
    assert root[15] == pytest.approx(0.5)


def test_what_cannot_be() -> None:
    task, learned, held = classifying()
    with pytest.raises(NumberError, match=r"the loss is (nan|inf) at step \d+ of 60; train at a lower rate"):
        train(task, learned, held, Recipe(epochs=5, rate=1e25, batch_size=8))
    with pytest.raises(PlanError, match="no text to learn from"):
        train(task, [], held)
    with pytest.raises(PlanError, match="batch size of at least 1, not 0"):
        Recipe(batch_size=0)
    with pytest.raises(PlanError, match="batch pieces of at least 1, not 0"):
        Recipe(batch_pieces=0)
    with pytest.raises(PlanError, match="learning rate must be above 0"):
        Recipe(rate=0.0)
    task.subject.model.half()  # type: ignore[no-untyped-call]
    with pytest.raises(CapabilityError, match="needs its weights in float32"):
        train(task, learned, held)
