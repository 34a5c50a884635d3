"""Adversaries and guided taggers: their losses against loops, padding left out, and what each can and cannot see."""

from __future__ import annotations

import math

import pytest
import torch

from attlas.capture import Override, Recorder, Subject
from attlas.errors import PlanError
from attlas.ids import Site, Stream
from attlas.models.mixer import make_mixer
from attlas.models.tagger import TaggerSizes, make_tagger, make_word_tokenizer
from attlas.tasks.guided import Adversary, Guided, divergence, even_guide, guided_by, random_guide
from attlas.tasks.recipe import Recipe
from attlas.tasks.tagging import Tagging
from attlas.tasks.training import train
from attlas.text import Chunk, Document, Passage

SITE = Site(Stream.ENCODER, 0)
LABELS = ["B-NP", "B-VP", "I-NP", "O"]
SENTENCES = [
    Document.from_words(
        ["the", "dog", "saw", "a", "cat", "."], chunks=(Chunk(0, 2, "NP"), Chunk(2, 3, "VP"), Chunk(3, 5, "NP"))
    ),
    Document.from_words(["a", "cat", "ran"], chunks=(Chunk(0, 2, "NP"), Chunk(2, 3, "VP"))),
]
SIZES = TaggerSizes(width=16, ffn=16, dropout=0.0)


@pytest.fixture(scope="module")
def words():
    return make_word_tokenizer([document.text for document in SENTENCES] * 2)


def tagger(words, seed=0):
    return Subject(make_tagger(words, LABELS, SIZES, seed=seed))


def examples(subject):
    return subject.pieces.encode_all([Passage(document) for document in SENTENCES])


def attention(subject, batch):
    recorder = Recorder({"weights"})
    with subject.use(recorder):
        logits = subject.run(batch).logits
    return logits.double(), recorder.get(SITE).double()


def test_every_word_is_a_piece_and_nothing_else_is(words):
    subject = tagger(words)
    assert [example.length for example in examples(subject)] == [6, 3]
    assert subject.pieces.tokenizer.tokenize("The 7 DOGS") == ["the", "[UNK]", "[UNK]"]


@pytest.mark.parametrize("kind", ["kl", "kl-reversed", "jsd"])
@pytest.mark.parametrize("per_key", [False, True])
def test_the_loss_of_an_adversary_is_that_of_a_loop_over_words_and_heads(words, kind, per_key):
    original, subject = tagger(words), tagger(words, seed=1)
    task = Adversary(subject, "chunks", original, 0.7, kind, per_key=per_key)
    question = task.ask(examples(subject))
    found = task.judge(question, task.run(question))
    here, own = attention(subject, question.batch)
    there, other = attention(original, question.batch)
    for row, length in enumerate((6, 3)):
        expected = 0.0
        for word in range(length):
            tag = int(there[row, word].argmax())
            expected -= here[row, word].log_softmax(-1)[tag].item()
            far = 0.0
            for head in range(4):
                p, q = other[row, head, word, :length].tolist(), own[row, head, word, :length].tolist()
                if kind == "kl":
                    far += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
                elif kind == "kl-reversed":
                    far += sum(b * math.log(b / a) for a, b in zip(p, q, strict=True))
                else:
                    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
                    far += sum(a * math.log(a / m) for a, m in zip(p, middle, strict=True)) / 2
                    far += sum(b * math.log(b / m) for b, m in zip(q, middle, strict=True)) / 2
            expected -= 0.7 * far / 4 / (length if per_key else 1)
        assert found.total[row].item() == pytest.approx(expected, abs=1e-5)


def test_padding_changes_nothing(words):
    original, subject = tagger(words), tagger(words, seed=1)
    task = Adversary(subject, "chunks", original, 1.0)
    together, alone = task.ask(examples(subject)), task.ask(examples(subject)[1:])
    totals = [task.judge(question, task.run(question)).total[-1].item() for question in (together, alone)]
    assert totals[0] == pytest.approx(totals[1], abs=1e-5)


def test_an_adversary_moves_its_attention_away_and_keeps_the_tags(words):
    original = tagger(words)
    texts = examples(original)
    train(Tagging(original, "chunks"), texts, recipe=Recipe(epochs=60, rate=3e-3))
    subject = tagger(words, seed=1)
    task = Adversary(subject, "chunks", original, 0.05, "jsd")
    before = divergence(
        {SITE: attention(original, task.ask(texts).batch)[1]}, task.run(task.ask(texts)).weights, "jsd"
    )
    train(task, texts, recipe=Recipe(epochs=200, rate=3e-3))
    question = task.ask(texts)
    after = divergence(question.weights, task.run(question).weights, "jsd")
    known = question.labels >= 0
    assert after[known].mean() > before[known].mean() + 0.1
    assert torch.equal(task.scores(question, task.run(question)).argmax(-1)[known], question.tags[known])


def test_a_model_guided_by_itself_is_itself(words):
    subject = tagger(words)
    plain, guided = Tagging(subject, "chunks"), Guided(subject, "chunks", guided_by(subject))
    question = guided.ask(examples(subject))
    assert torch.allclose(guided.run(question).logits, plain.run(question).logits, atol=1e-6)


def test_queries_and_keys_of_a_guided_model_learn_nothing(words):
    subject = tagger(words)
    task = Guided(subject, "chunks", even_guide(SITE, 4))
    question = task.ask(examples(subject))
    task.judge(question, task.run(question)).total.sum().backward()
    layer = subject.model.electra.encoder.layer[0].attention.self
    assert layer.query.weight.grad is None or not layer.query.weight.grad.any()
    assert layer.value.weight.grad.any()


def test_a_mixer_sees_only_what_the_mixing_matrix_brings(words):
    subject = Subject(make_mixer(words, LABELS, SIZES))
    batch = subject.batch([["the", "dog", "saw"], ["the", "cat", "saw"]])
    alone = torch.eye(3).expand(2, 4, 3, 3)
    with subject.use(Override.frozen({SITE: alone})):
        apart = subject.run(batch).logits
    with subject.use(Override.uniform()):
        mixed = subject.run(batch).logits
    assert (apart[0, 0] - apart[1, 0]).abs().max() < 1e-4 * apart.abs().max()
    size = mixed.abs().max()
    assert (mixed[0, 0] - mixed[1, 0]).abs().max() > 0.05 * size
    assert (mixed[0, 0] - mixed[0, 2]).abs().max() < 1e-4 * size


def test_a_mixer_has_no_parameters_of_attention(words):
    names = [name for name, _ in Subject(make_mixer(words, LABELS, SIZES)).model.named_parameters()]
    linear = [f"{part}.{kind}" for part in ("inner", "outer", "classifier") for kind in ("weight", "bias")]
    assert names == ["words.weight", *linear]


def test_random_attention_is_of_the_text_and_the_seed(words):
    subject = tagger(words)
    texts = examples(subject)
    task = Guided(subject, "chunks", random_guide(SITE, 4, 0))
    together, alone = task.ask(texts).weights[SITE], task.ask(texts[1:]).weights[SITE]
    assert torch.equal(together[1, :, :3, :3], alone[0])
    assert torch.allclose(together[1, :, :3].sum(-1), torch.ones(4, 3))
    assert not together[1, :, :3, 3:].any()
    other = Guided(subject, "chunks", random_guide(SITE, 4, 1)).ask(texts).weights[SITE]
    assert not torch.equal(other, together)


def test_an_unknown_divergence_is_refused():
    with pytest.raises(PlanError, match="choose kl, kl-reversed or jsd"):
        divergence({}, {}, "hellinger")
