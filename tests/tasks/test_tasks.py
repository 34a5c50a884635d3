"""Tasks: losses against the model library's own, scores against seqeval, copies against one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from seqeval.metrics import f1_score

import twins
from attlas.capture import Subject
from attlas.corpora import Corpus
from attlas.errors import AttlasError, CapabilityError, CorpusError
from attlas.run.setting import as_corpus
from attlas.run.tasks import read_for_task, require_layer, task_for
from attlas.stats import METRICS
from attlas.tasks import READ_SCORES, make_task
from attlas.tasks.tagging import spans, wordwise
from attlas.text import Chunk, Document

HEADED = {
    "causal-lm": ("llama", "AutoModelForCausalLM"),
    "masked-lm": ("bert", "AutoModelForMaskedLM"),
    "translation": ("marian", "AutoModelForSeq2SeqLM"),
    "tagging:chunks": ("bert", "AutoModelForTokenClassification"),
    "tagging:upos": ("bert", "AutoModelForTokenClassification"),
    "classification": ("roberta", "AutoModelForSequenceClassification"),
    "similarity": ("bert", "AutoModel"),
}
TAGS = ("O", "B-NP", "I-NP", "B-VP", "I-VP")
LABELS = {"tagging:chunks": TAGS, "tagging:upos": ("NOUN", "VERB", "X"), "classification": ("bad", "good")}


def subject(task: str, **options: Any) -> Subject:
    family, auto = HEADED[task]
    config = twins.config(family)
    if task in LABELS:
        labels = options.pop("labels", LABELS[task])
        config.id2label, config.label2id = dict(enumerate(labels)), {label: n for n, label in enumerate(labels)}
    torch.manual_seed(0)
    model = getattr(transformers, auto).from_config(config).eval()
    twins.spread(model)
    return Subject.of(model, twins.tokenizer(family in twins.CAUSAL), family)


def corpus() -> Corpus:
    made = []
    for number, sentence in enumerate(twins.SENTENCES[:4]):
        plain = Document.from_text(sentence)
        count = len(plain.words)
        chunks = (Chunk(0, 2, "NP"), Chunk(2, 3, "VP"), Chunk(3, min(6, count), "NP"))
        made.append(
            replace(plain, upos=tuple(["NOUN", "VERB", "X", "NOUN"] * 9)[:count], chunks=chunks,
                    name=f"text {number}", label=("good", "bad", "good", "bad")[number])
        )  # fmt: skip
    return as_corpus(made)


def fitting(task: str) -> Corpus:
    whole = corpus()
    other = Document.from_text(twins.SENTENCES[1])
    if task == "translation":
        return as_corpus([replace(document, translation=other) for document in whole.documents])
    if task == "similarity":
        texts = enumerate(whole.documents)
        return as_corpus([replace(document, pair=other, label=str(number)) for number, document in texts])
    return whole


@pytest.mark.parametrize("name", ["causal-lm", "masked-lm", "translation", "classification"])
def test_the_loss_is_the_librarys_own(name: str) -> None:
    """Text by text, in a padded batch, against ``labels=`` given to the model itself."""
    model = subject(name)
    task = task_for(model, name, fitting(name), score=READ_SCORES.get(name))
    examples = read_for_task(task, fitting(name)).examples
    question = task.ask(examples)
    scored = task.judge(question, model.run(question.batch, **task.options))
    for row, example in enumerate(examples):
        alone = task.ask([example])
        labels = alone.labels
        if name == "causal-lm":  # the library shifts these itself
            labels = torch.cat([torch.full((1, 1), -100), labels[:, :-1]], 1)
        if name == "classification":
            labels = labels[0]
        own = model.model(**alone.batch.inputs, labels=labels).loss
        assert scored.mean[row].item() == pytest.approx(own.item(), rel=1e-4)


def test_chunk_f1_equals_seqeval() -> None:
    model = subject("tagging:chunks")
    task = task_for(model, "tagging:chunks", corpus())
    examples = read_for_task(task, corpus()).examples
    question = task.ask(examples)
    output = model.run(question.batch)
    scored = task.judge(question, output)
    given, found = [], []
    for row, example in enumerate(examples):
        tags, logits = wordwise(example, "chunks"), []
        for word in range(len(tags)):
            pieces = [p for p, w in enumerate(example.source.segmentation.words) if w == word]
            logits.append(output.logits[row, pieces].mean(0))
        given.append(tags)
        found.append([TAGS[int(scores.argmax())] for scores in logits])
    assert METRICS["f1"].score(scored.marks) == pytest.approx(f1_score(given, found))
    right = sum(a == b for one, other in zip(given, found, strict=True) for a, b in zip(one, other, strict=True))
    assert float(scored.right.sum()) == right


def test_spans_equal_seqeval_on_random_tags() -> None:
    """Also where I follows O or another label, as an untrained model has it."""
    rng = np.random.default_rng(0)
    kind = torch.tensor([-1, 0, 0, 1, 1])
    begins = torch.tensor([False, True, False, True, False])
    for _ in range(50):
        given, found = torch.from_numpy(rng.integers(0, 5, (2, 3, 12)))
        (starts, kinds, ends), (others, other_kinds, other_ends) = (spans(begins[t], kind[t]) for t in (given, found))
        common = (starts & others & (kinds == other_kinds) & (ends == other_ends)).sum()
        ours = METRICS["f1"].of([float(common), float(others.sum()), float(starts.sum())])
        words = [[[TAGS[int(tag)] for tag in row] for row in side] for side in (given, found)]
        assert ours == pytest.approx(f1_score(*words, zero_division=0), nan_ok=True)


@pytest.mark.parametrize("name", list(HEADED))
def test_copies_give_what_one_gives(name: str) -> None:
    model = subject(name)
    task = task_for(model, name, fitting(name), score=READ_SCORES.get(name))
    question = task.ask(read_for_task(task, fitting(name)).examples)
    with torch.no_grad():
        once = task.judge(question, model.run(question.batch, **task.options))
        thrice = question.repeated(3)
        copies = task.judge(thrice, model.run(thrice.batch, **task.options))
    for one, all_three in zip(once, copies, strict=True):
        for part in all_three.unflatten(0, (3, -1)):
            torch.testing.assert_close(part, one, rtol=1e-4, atol=1e-5)
    assert thrice.owners.shape[0] == thrice.batch.inputs["input_ids"].shape[0]


def test_with_and_without_gradient_the_loss_is_the_same() -> None:
    model = subject("causal-lm")
    task = task_for(model, "causal-lm", corpus())
    question = task.ask(read_for_task(task, corpus()).examples)
    with torch.no_grad():
        plain = task.judge(question, model.run(question.batch, **task.options))
    graph = task.judge(question, model.run(question.batch, **task.options))
    assert graph.total.requires_grad
    for one, other in zip(plain, graph, strict=True):
        torch.testing.assert_close(one, other.detach(), rtol=1e-5, atol=1e-5)


def test_a_translation_model_writes_and_is_scored() -> None:
    model = subject("translation")
    task = task_for(model, "translation", fitting("translation"))
    assert task.writes
    question = task.ask(read_for_task(task, fitting("translation")).examples[:2])
    marks = task.answer(question)
    assert marks.shape == (2, 10)
    with model.gated({"cross": torch.zeros(2, 4), "encoder": torch.zeros(3, 4)}):
        assert task.answer(question).shape == (2, 10)


def test_similarity_is_the_cosine_of_mean_states() -> None:
    model = subject("similarity")
    task = task_for(model, "similarity", fitting("similarity"))
    examples = read_for_task(task, fitting("similarity")).examples
    marks = task.answer(task.ask(examples))
    for row, example in enumerate(examples):
        document = example.passage.first
        assert document.pair is not None
        one, other = (model.run(model.batch([d])).last_hidden_state[0].mean(0) for d in (document, document.pair))
        assert float(marks[row, 0]) == pytest.approx(torch.cosine_similarity(one, other, dim=0).item(), abs=1e-5)
    assert marks[:, 1].tolist() == [0, 1, 2, 3]


REFUSALS: list[tuple[str, Any, type[AttlasError], str]] = [
    ("classification", {"labels": ("yes", "no")}, CapabilityError, "are not those that the head of roberta knows"),
    ("tagging:chunks", {"labels": ("NOUN", "VERB")}, CapabilityError, "none of which begins a chunk"),
]


@pytest.mark.parametrize(("name", "options", "kind", "words"), REFUSALS)
def test_labels_that_do_not_fit_are_refused(name: str, options: Any, kind: type[AttlasError], words: str) -> None:
    with pytest.raises(kind, match=words):
        task_for(subject(name, **options), name, corpus())


def test_what_is_unknown_is_left_out_and_counted() -> None:
    model = subject("tagging:upos", labels=("NOUN", "VERB", "ADJ"))
    reading = read_for_task(task_for(model, "tagging:upos", corpus()), corpus())
    assert reading.skipped["words whose label the model does not know"] > 0
    strange = as_corpus([*corpus().documents, replace(corpus().documents[0], label="strange")])
    reading = read_for_task(task_for(subject("classification"), "classification", strange), strange)
    assert reading.skipped["with a label that the model does not know"] == 1


@pytest.mark.parametrize("name", ["tagging:xpos", "similarity", "translation"])
def test_a_corpus_without_what_a_task_needs_is_refused(name: str) -> None:
    with pytest.raises(CorpusError, match=f"which the task {name} needs"):
        require_layer(corpus(), name)


def test_a_model_without_the_head_is_told_to_be_trained() -> None:
    with pytest.raises(CapabilityError, match="attlas tune DATA --task classification"):
        task_for(subject("similarity"), "classification", corpus())
    with pytest.raises(CapabilityError, match="opened without the head"):
        make_task(subject("similarity"), "causal-lm")
