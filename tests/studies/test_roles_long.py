"""Roles in long texts equal a loop over the eager model's own weights; texts are what they say; refusals are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
import transformers
from test_roles_naive import eager_weights
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import twins
from attlas.capture import Subject, load
from attlas.errors import CapabilityError
from attlas.ids import HeadId, Stream
from attlas.run.setting import as_corpus
from attlas.studies.roles import long_texts, sentences, writing
from attlas.studies.roles.asked import AskedScores
from attlas.studies.roles.closing import Misses, SpanLoss
from attlas.studies.roles.definitions import DEFINITIONS
from attlas.studies.roles.passes import SeamScores
from attlas.studies.roles.scores import scored
from attlas.studies.roles.texts import Setting

SMOLLM2 = Path("~/.cache/attlas-models/smollm2").expanduser()
Spans = Mapping[str, tuple[int, int]]
Loop = Callable[[np.ndarray, tuple[int, ...], Spans], "float | list[float] | None"]


@lru_cache(None)
def words() -> Any:
    """A tokenizer that knows the words of our sentences."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    texts = [*sentences.FILLER, *sentences.INSTRUCTIONS, *sentences.WHERE, *sentences.WHO, *sentences.WHAT]
    texts += [f"{fact.said} {fact.where}. {fact.question}" for fact in sentences.facts(np.random.default_rng(0), 24)]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts * 2,
        trainers.BpeTrainer(
            vocab_size=1500, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
        ),
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )


@lru_cache(None)
def causal(family: str, window: int = 256) -> Subject:
    """A tiny twin with room for a needle."""
    config = twins.config(family)
    config.vocab_size, config.bos_token_id, config.eos_token_id, config.pad_token_id = len(words()), 0, 1, 1
    if family == "gpt2":
        config.n_positions = window
    else:
        config.max_position_embeddings = window
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    twins.spread(model)
    return Subject.of(model, words(), family)


def setting_of(subject: Subject, texts: int = 3, pieces: int | None = None) -> Setting:
    return Setting(subject, as_corpus("sample"), texts, max_pieces=pieces)


def copied(name: str) -> Loop:
    def loop(weights: np.ndarray, ids: tuple[int, ...], spans: Spans) -> float:
        taken = set()
        for place in range(*spans[name]):
            key = max(range(place), key=lambda at: weights[place - 1, at])
            if key in range(*spans["needle"]) and ids[key] == ids[place]:
                taken.add(key)
        return len(taken) / (spans["needle"][1] - spans["needle"][0])

    return loop


def lookback(weights: np.ndarray, ids: tuple[int, ...], spans: Spans) -> list[float]:
    begin, end = spans["written"]
    ratios = []
    for step in range(begin, end - 1):
        given = [weights[step, key] for key in range(begin)]
        own = [weights[step, key] for key in range(begin, step + 1)]
        ratios.append(np.mean(given) / (np.mean(given) + np.mean(own)))
    return ratios


def distant(weights: np.ndarray, ids: tuple[int, ...], spans: Spans) -> list[float]:
    return [
        sum(weights[query, key] for key in range(4, query - 63)) for query in range(128, len(ids))
    ]  # all but the first 4 and the last 64


def heavy(weights: np.ndarray, ids: tuple[int, ...], spans: Spans) -> float:
    columns = sorted((sum(weights[query, key] for query in range(len(ids))) for key in range(len(ids))), reverse=True)
    return sum(columns[: round(len(ids) / 10)]) / sum(columns)


def windowed(weights: np.ndarray, ids: tuple[int, ...], spans: Spans) -> float:
    before = len(ids) - 32
    votes = [sum(weights[query, key] for query in range(before, len(ids))) for key in range(before)]
    pooled = [sum(votes[max(0, at - 2) : at + 3]) / 5 for at in range(before)]
    return sum(sorted(pooled, reverse=True)[: round(before / 10)]) / sum(pooled)


def receiver(weights: np.ndarray, ids: tuple[int, ...], spans: Spans) -> float:
    places = [range(*spans[f"s{number}"]) for number in range(len(spans))]
    vertical = []
    for early in range(len(places) - 4):
        means = [
            np.mean([weights[query, key] for query in places[late] for key in places[early]])
            for late in range(early + 4, len(places))
        ]
        vertical.append(np.mean(means))
    return float(scipy.stats.kurtosis(vertical))


def instructed(weights: np.ndarray, ids: tuple[int, ...], spans: Spans) -> float:
    masses = [sum(weights[-1, key] for key in range(*spans[name])) for name in ("instruction", "data")]
    return masses[0] / sum(masses)


NAIVE: dict[str, tuple[Loop, Callable[[Setting], list[Any]]]] = {
    "retrieval_forced": (copied("answer"), long_texts.needles),
    "retrieval": (copied("written"), writing.written),
    "lookback": (lookback, writing.written),
    "distant": (distant, long_texts.long_texts),
    "heavy_hitters": (heavy, long_texts.long_texts),
    "window_hitters": (windowed, long_texts.long_texts),
    "receiver": (receiver, long_texts.sentences),
    "instruction": (instructed, long_texts.instructions),
}


def compare(subject: Subject, setting: Setting, *, flat: bool = False) -> None:
    for make in dict.fromkeys(make for _, make in NAIVE.values()):
        asked = [DEFINITIONS[key] for key, (_, own) in NAIVE.items() if own is make]
        texts = make(setting)
        study = SeamScores(subject, asked, setting)
        bundle = study.empty()
        study.update(bundle, texts)
        ours = scored(bundle, Stream.DECODER)
        chance = ours.chance
        weights = [eager_weights(subject, text.source.ids) for text in texts]
        for number, definition in enumerate(asked):
            loop = NAIVE[definition.key][0]
            for layer, head in np.ndindex(ours.mean().shape[:2]):
                found = [
                    loop(own[layer][head], text.source.ids, text.spans)
                    for text, own in zip(texts, weights, strict=True)
                ]
                cases = np.concatenate([np.atleast_1d(one) for one in found])
                if np.isnan(cases).all():  # a window that sees none of it
                    assert np.isnan(ours.mean()[layer, head, number]), definition.key
                    continue
                expected = np.nanmean(cases)
                close = 1e-5 * max(1.0, abs(float(expected)))  # a kurtosis may be in the hundreds
                assert ours.mean()[layer, head, number] == pytest.approx(expected, abs=close), definition.key
            assert np.isfinite(chance[-1, number])  # the first layers of gemma3 see six pieces


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3", "qwen3"])
def test_scores_equal_a_loop_over_eager_weights(family: str) -> None:
    subject = causal(family)
    compare(subject, setting_of(subject, texts=2))


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3", "qwen3"])
def test_question_and_document_equal_a_loop(family: str) -> None:
    subject = causal(family)
    texts = long_texts.documents(setting_of(subject, texts=2))
    study = AskedScores(subject, [DEFINITIONS["query_focused"]])
    bundle = study.empty()
    study.update(bundle, texts)
    ours = scored(bundle, Stream.DECODER)
    expected = np.zeros(ours.mean().shape[:2])
    for one in texts:
        maps = [(eager_weights(subject, text.source.ids), text.spans) for text in (one.real, one.null)]
        for layer, head in np.ndindex(expected.shape):
            gains = []
            for key in range(*one.real.spans["gold"]):
                got = [
                    np.mean([own[layer][head][query, key] for query in range(*spans["question"])])
                    for own, spans in maps
                ]
                gains.append(got[0] - got[1])
            bar = np.mean(gains) - 2 * np.std(gains)
            expected[layer, head] += sum(gain for gain in gains if gain >= bar) / len(texts)
    assert np.abs(ours.mean()[..., 0] - expected).max() < 1e-5
    assert np.isfinite(ours.chance).all()


def test_chance_is_that_of_even_weights() -> None:
    subject = causal("llama")
    setting = setting_of(subject, texts=2)
    for key in ("lookback", "distant", "heavy_hitters", "window_hitters", "receiver", "instruction"):
        loop, make = NAIVE[key]
        texts = make(setting)
        study = SeamScores(subject, [DEFINITIONS[key]], setting)
        bundle = study.empty()
        study.update(bundle, texts)
        even = [np.tril(np.ones((t.length, t.length))) / np.arange(1, t.length + 1)[:, None] for t in texts]
        found = [loop(own, text.source.ids, text.spans) for own, text in zip(even, texts, strict=True)]
        expected = np.mean(np.concatenate([np.atleast_1d(one) for one in found]))
        assert scored(bundle, Stream.DECODER).chance[0, 0] == pytest.approx(expected, abs=1e-4), key


def test_a_head_that_copies_the_needle_scores_one_and_one_that_does_not_nothing() -> None:
    subject = causal("llama")
    text = long_texts.needles(setting_of(subject, texts=2))[1]
    (first, last), (begin, end) = text.spans["needle"], text.spans["answer"]
    assert last - first == end - begin >= 4
    copier = np.full((text.length, text.length), 1e-6)
    for step in range(end - begin):
        copier[begin + step - 1, first + step] = 1.0
    assert copied("answer")(copier, text.source.ids, text.spans) == 1.0
    late = np.roll(copier, 1, axis=0)  # looks one piece too late
    assert copied("answer")(late, text.source.ids, text.spans) < 0.5


def test_needles_stand_at_all_depths_and_answers_are_theirs() -> None:
    subject = causal("llama")
    texts = long_texts.needles(setting_of(subject, texts=12))
    depths = [text.spans["needle"][0] / text.length for text in texts]
    assert min(depths) < 0.25
    assert max(depths) > 0.5
    assert np.corrcoef(depths, range(12))[0, 1] > 0.97
    for text in texts:
        needle, answer = (text.source.ids[slice(*text.spans[name])] for name in ("needle", "answer"))
        assert needle == answer
        assert text.length <= 256
        assert text.spans["answer"][1] == text.length
    tested = long_texts.needles_to_test(setting_of(subject, texts=12))
    said = [words().decode(text.source.ids[slice(*text.spans["question"])]) for text in (*texts, *tested)]
    assert len(set(said)) == len(said)  # none of those that test is among those that choose


def test_a_question_that_asks_nothing_leaves_the_documents_as_they_are() -> None:
    one = long_texts.documents(setting_of(causal("llama"), texts=2))[1]
    same = one.real.spans["question"][0]
    assert one.real.source.ids[:same] == one.null.source.ids[:same]
    assert words().decode(one.null.source.ids[same:]).strip() == "N/A"
    gold = words().decode(one.real.source.ids[slice(*one.real.spans["gold"])])
    asked = words().decode(one.real.source.ids[slice(*one.real.spans["question"])])
    assert gold.strip().startswith("The ")
    assert gold.split(" keeps")[0].strip().removeprefix("The ") in asked


def test_a_context_too_short_is_told_in_one_sentence() -> None:
    subject = causal("llama")
    for make, size in ((long_texts.needles, 80), (long_texts.documents, 80), (long_texts.long_texts, 60)):
        with pytest.raises(
            CapabilityError, match=r"the context of llama is too short: .* and a text may have"
        ) as told:
            make(setting_of(subject, pieces=size))
        assert "\n" not in str(told.value)


def test_a_model_that_recalls_nothing_has_no_score_of_the_first_kind() -> None:
    setting = setting_of(causal("llama"), texts=4)
    with pytest.raises(CapabilityError, match=r"llama recalls the needle in 0 of 4 texts, and .* from 25% on"):
        writing.recalled(setting)
    assert len(writing.written(setting)) == 4  # the others go on with what was written


def test_recall_is_a_share_of_words() -> None:
    assert writing.recall("under the old oak", "It is under the OLD oak.") == 1.0
    assert writing.recall("the the cat", "the dog") == pytest.approx(1 / 3)
    assert writing.recall("under the oak", "") == 0.0


def test_written_weights_are_those_of_writing() -> None:
    """What was written is read again, and the rows are those with which the model wrote."""
    subject = causal("llama")
    text, _ = writing.runs(setting_of(subject, texts=2))[0]
    begin, end = text.spans["written"]
    prompt = torch.tensor([text.source.ids[:begin]])
    with torch.no_grad():
        greedy = subject.model.generate(prompt, do_sample=False, max_new_tokens=end - begin, max_length=None)
    assert tuple(greedy[0].tolist())[:end] == text.source.ids[:end]


class AnswerLoss(SpanLoss):
    """The loss of the pieces of an answer."""

    span = "answer"


@pytest.mark.parametrize("kind", [AnswerLoss, Misses])
def test_what_is_measured_of_an_answer_is_that_of_its_pieces(kind: type[SpanLoss]) -> None:
    subject = causal("llama")
    texts = long_texts.needles_to_test(setting_of(subject, texts=4))
    losses = kind(subject, texts)
    closed = [HeadId(Stream.DECODER, 1, 2)]
    with torch.no_grad(), subject.gated(closed):
        ours = losses.of(subject.run(losses.batch, **losses.options))
        for number, text in enumerate(texts):
            logits = subject.model(torch.tensor([text.source.ids])).logits[0].log_softmax(-1)
            places = range(*text.spans["answer"])
            if kind is Misses:
                own = [float(int(logits[place - 1].argmax()) != text.source.ids[place]) for place in places]
            else:
                own = [-float(logits[place - 1, text.source.ids[place]]) for place in places]
            assert float(ours[0, number]) == pytest.approx(np.mean(own), abs=1e-4)


@pytest.mark.skipif(not SMOLLM2.exists(), reason="smollm2 is not in the cache")
def test_scores_of_a_real_model_equal_a_loop() -> None:
    subject = load(SMOLLM2, device="cpu")
    compare(subject, setting_of(subject, texts=1, pieces=224))
