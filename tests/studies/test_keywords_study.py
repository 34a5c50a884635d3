"""The study of key words against naive loops and other people's code: heads, regression, mix, and sets of heads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from planted_attention import planted
from scipy.optimize import minimize
from scipy.stats import wilcoxon
from sklearn.metrics import f1_score, roc_auc_score

import twins
from attlas.capture import Subject
from attlas.ids import HeadId
from attlas.studies.keywords_study import steps
from attlas.studies.keywords_study.heads import (
    FLOOR,
    auc_within,
    head_columns,
    mean_and_interval,
    seen_by_heads,
    signed_rank,
)
from attlas.studies.keywords_study.mixing import learn_mix
from attlas.studies.keywords_study.passes import Part, Received, Writer, items_of, lay_out
from attlas.studies.keywords_study.predicting import (
    best_threshold,
    cross_validated,
    folds_of,
    learn,
    rows_of,
    word_scores,
)
from attlas.studies.keywords_study.selecting import Candidate, weights_by
from attlas.studies.keywords_study.tables import whole_row
from attlas.studies.shared.keywords.choice import Choice
from attlas.studies.shared.keywords.weighing import KINDS, Kind, weigh
from attlas.text import Document
from attlas.text.stems import stemmer

KIND = Kind("weight", "mean")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def random_part(rng: np.random.Generator, documents: int = 8, name: str = "a") -> Part:
    """Documents of one or two windows; the first has no key word, and the second nothing else."""
    texts, windows = [], [0]
    for number in range(documents):
        texts.append(Document.from_words([f"w{at}" for at in range(6 + number)]))
        if number % 2:
            windows.append(windows[-1] + 4)
        windows.append(sum(len(text.words) for text in texts))
    starts = np.cumsum([0, *(len(text.words) for text in texts)])
    key = rng.random(starts[-1]) < 0.4
    key[: starts[1]], key[starts[1] : starts[2]] = False, True
    key[starts[2:-1]], key[starts[2:-1] + 1] = True, False
    return Part(name, tuple(texts), (), starts, np.array(windows), key)


def test_heads_are_what_a_loop_says(rng: np.random.Generator, tmp_path: Path) -> None:
    """Document by document, word by word; with ties, zeros, and documents of two windows."""
    part = random_part(rng)
    values = rng.integers(0, 6, (3, part.words)).astype(np.float32) / 10
    received = Received(tmp_path, {"a": part}, [KIND], 3, {})
    received.write("a", 0, values[None, None])
    seen = seen_by_heads(received, "a", KIND)
    assert len(seen.even) == len(part.documents) - 2
    for row, document in enumerate(range(2, len(part.documents))):
        words = range(part.starts[document], part.starts[document + 1])
        for head in range(3):
            share = {}
            for start, stop in zip(part.windows[:-1], part.windows[1:], strict=True):
                for word in range(start, stop):
                    share[word] = values[head, word] / values[head, start:stop].mean()
            key, other = [w for w in words if part.key[w]], [w for w in words if not part.key[w]]
            expected = np.mean([values[head, w] for w in key]) - np.mean([values[head, w] for w in other])
            assert seen.relative[row, head] == pytest.approx(expected, abs=1e-6)
            chances = {w: max(share[w], FLOOR) / len(words) for w in words}
            entropy = -np.mean([np.log(chances[w]) for w in key])
            assert seen.even[row] - seen.saved[row, head] == pytest.approx(entropy, abs=1e-5)
            wins = [(share[k] > share[o]) + (share[k] == share[o]) / 2 for k in key for o in other]
            assert seen.auc[row, head] == pytest.approx(np.mean(wins), abs=1e-6)
    blocks = [some for some, _, _ in received.blocks("a", KIND, most=20)]
    assert len(blocks) > 2
    assert [number for some in blocks for number in range(some.start, some.stop)] == list(range(8))


def test_auc_is_scikit_learns(rng: np.random.Generator) -> None:
    values, key = rng.integers(0, 5, (60, 4)).astype(np.float32), rng.random(60) < 0.3
    edges = np.array([0, 20, 60])
    for row, (start, stop) in enumerate(((0, 20), (20, 60))):
        for column in range(4):
            expected = roc_auc_score(key[start:stop], values[start:stop, column])
            assert auc_within(values, key, edges)[row, column] == pytest.approx(expected)


def test_significance_and_intervals(rng: np.random.Generator) -> None:
    values = rng.normal(0.3, 1, (80, 3))
    values[:, 2] = 0
    assert signed_rank(values)[:2].tolist() == [wilcoxon(values[:, column]).pvalue for column in (0, 1)]
    assert signed_rank(values)[2] == 1
    mean, low, high = mean_and_interval(values)
    error = values.std(0) / np.sqrt(80)
    np.testing.assert_allclose(high - low, 2 * 1.96 * error, rtol=0.12)
    assert (low <= mean).all()
    columns = head_columns(seen_by_heads(planted(times=6), "scored on", KIND))
    assert columns["auc"] == [1.0, 0.5, 0.0]
    assert columns["p"][0] == pytest.approx(columns["p_corrected"][0] / 3)  # the second head never differs
    assert columns["p"][1] == 1
    assert head_columns(seen_by_heads(planted(times=5), "scored on", KIND))["p_corrected"] == [None] * 3  # 15 texts


def test_the_threshold_is_the_best(rng: np.random.Generator) -> None:
    scores, key = rng.integers(0, 12, 50).astype(np.float64), rng.random(50) < 0.4
    found = f1_score(key, scores > best_threshold(scores, key))
    assert found == pytest.approx(max(f1_score(key, scores > bar) for bar in np.arange(-0.5, 11)))


def test_folds_keep_documents_apart(rng: np.random.Generator) -> None:
    """Every document is held out once, each fold has its share of those that matter, and what is learned without a
    document does not change with its key words."""
    part = random_part(rng, 14)
    folds = folds_of(np.arange(14), part.mixed, 3, 0)
    assert sorted(np.bincount(folds[part.mixed])) == [4, 4, 4]
    x = rng.normal(size=(part.words, 4)).astype(np.float32)
    x[:, 2] += 2 * part.key
    first = list(cross_validated(x, part, 3, [1, 4], 0))
    assert sorted(np.concatenate([held for held, _ in first]).tolist()) == list(range(14))
    held, learned = first[0]
    rows = rows_of(part, held)
    turned = part.key.copy()
    turned[rows] = rng.permutation(turned[rows])
    assert (turned != part.key).any()
    training = np.setdiff1d(np.arange(14), held)
    again = learn(
        np.where(np.isin(np.arange(part.words), rows)[:, None], 9, x), replace(part, key=turned), training, 0, [1, 4]
    )
    assert learned.order == again.order
    assert learned.order[0] == 2
    for one, other in zip(learned.fitted, again.fitted, strict=True):
        assert (one.columns, one.threshold, one.c) == (other.columns, other.threshold, other.c)
        assert one.weights.tolist() == other.weights.tolist()


def test_words_are_scored_as_scikit_learn_does(rng: np.random.Generator) -> None:
    part = random_part(rng)
    scores = rng.normal(size=part.words) + part.key
    made = word_scores(part, scores, scores > 0.5)
    assert made["f1"] == pytest.approx(f1_score(part.key, scores > 0.5))
    assert made["low"] < made["f1"] < made["high"]
    pairs = [slice(*part.starts[number : number + 2]) for number in range(2, len(part.documents))]
    assert made["auc"] == pytest.approx(np.mean([roc_auc_score(part.key[some], scores[some]) for some in pairs]))


def test_the_mix_is_the_best_there_is(rng: np.random.Generator) -> None:
    """No other shares, gamma and constant have less cross-entropy, as another optimizer sees it."""
    x = np.abs(rng.normal(size=(400, 3))).astype(np.float32)
    key = x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=400) > 1.5
    mixed = learn_mix(x, key)
    assert mixed.shares.argmax() == 0
    standard = (x - x.mean(0)) / x.std(0)

    def loss(numbers: np.ndarray) -> float:
        shares = np.exp(numbers[:3]) / np.exp(numbers[:3]).sum()
        scores = numbers[3] * (standard @ shares) + numbers[4]
        return float(np.logaddexp(0, np.where(key, -scores, scores)).mean())

    ours = loss(np.array([*np.log(mixed.shares), mixed.gamma, mixed.bias]))
    theirs = minimize(
        loss, np.array([0, 0, 0, 1.0, 0]), method="Nelder-Mead", options={"maxiter": 1500, "xatol": 1e-7}
    )
    assert ours <= theirs.fun + 1e-6


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_heads_weigh_as_the_tool_does(family: str, tmp_path: Path) -> None:
    """What a candidate gives words is what the tool gives them with the same heads, also in several windows."""
    subject = Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)
    documents = [Document.from_text(" ".join(twins.SENTENCES[:3])), Document.from_text(twins.SENTENCES[3])]
    documents = [replace(document, keyphrases=("farmer", "bridge")) for document in documents]
    part = lay_out("a", subject, documents, 40)
    assert len(part.examples) > len(documents)
    received = Received(tmp_path, {"a": part}, KINDS, 12, {})
    study = Writer(subject, received)
    for item in items_of({"a": part}):
        study.update(study.empty(), [item])
    heads = (1, 6, 11)
    for kind in KINDS:
        (found,) = weights_by(received, "a", [Candidate(kind, "", heads)])
        chosen = tuple(HeadId(subject.pieces.own, *divmod(head, 4)) for head in heads)
        expected = [one[1] for one in weigh(subject, documents, Choice(chosen, *kind, ""), max_pieces=40)]
        np.testing.assert_allclose(found, np.concatenate(expected), rtol=2e-4, atol=1e-5)
    again = Received(tmp_path, {"a": part}, KINDS, 12, {})
    again.require_as_written(items_of({"a": part}))
    assert again.kept
    file = tmp_path / "a.bin"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    again.require_as_written(items_of({"a": part}))
    assert not again.kept, "a bit has changed on the disk"


def test_files_of_another_plan_are_begun_again(tmp_path: Path) -> None:
    received = planted(folder=tmp_path)
    kept = Received(tmp_path, received.parts, received.kinds, 3, {"model": "planted"})
    assert kept.kept
    assert kept.read("scored on", KIND).sum() > 0
    other = Received(tmp_path, received.parts, received.kinds, 3, {"model": "another"})
    assert not other.kept
    assert other.read("scored on", KIND).sum() == 0
    assert torch.is_grad_enabled()


def test_every_step_finds_the_planted_head() -> None:
    """The first of three heads gives the key word most; in each step it is what is found."""
    received, how = planted(), {"seed": 0, "say": lambda text: None}
    heads = steps.head_step(received, **how)
    assert heads["kinds"][0]["choosing_auc"] == pytest.approx([1.0, 0.5, 0.0])
    assert (heads["n"], steps.best_kind(heads, received.kinds)) == (6, KIND)
    phrases = steps.phrase_step(received, heads, 3, stemmer(), **how)
    assert (phrases["heads"], phrases["kind"]) == ([0], ["weight", "mean"])
    regression = steps.regression_step(received, KIND, 2, [1, 3], **how)
    found = [(row["part"], row["heads"], row["f1"]) for row in regression["rows"]]
    assert found == [(part, count, 1.0) for part in ("cross-validated", "scored on") for count in (1, 3)]
    mix = steps.mix_step(received, KIND, **how)
    assert (mix["share"][0] > 0.9, mix["predictor"]["f1"]) == (True, 1.0)
    others = steps.predictor_step(received, KIND, [1.0, 0.5, 0.0], stemmer(), **how)["rows"]
    scores = {row["predictor"]: round(row["f1"], 2) for row in others}
    assert (scores["every word"], scores["best head"]) == (0.33, 1.0)
    twin = steps.twin_step(received, KIND, **how)
    assert (twin["auc"][0], twin["predictor"]["f1"]) == ([1.0, 0.5, 0.0], 1.0)
    row = whole_row(received.parts["scored on"], stemmer(), "english", KIND)
    assert (row["words"], row["key_words"], row["given"], row["present"]) == (30, 6, 6, 6)
