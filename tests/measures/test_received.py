"""What words receive, against loops over the word-level matrix."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attlas.errors import CapabilityError
from attlas.measures.received import received
from attlas.measures.words import group
from attlas.text import Segmentation

ONE = Segmentation(("[CLS]", "play", "##ing", "chess", ".", "[SEP]"), (-1, 0, 0, 1, 2, -1), (-1, 0, 0, 0, 0, -1), 3)
OTHER = Segmentation(("[CLS]", "go", "[SEP]"), (-1, 1, -1), (-1, 0, -1), 2)  # its first word has no piece


def attention(causal: bool = False) -> torch.Tensor:
    torch.manual_seed(3)
    scores = torch.randn(2, 3, 6, 6, dtype=torch.float64)
    hidden = torch.zeros(2, 1, 6, 6, dtype=torch.bool)
    hidden[1, ..., 3:] = True  # padding of the shorter text
    if causal:
        hidden = hidden | torch.ones(6, 6, dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -1e9).softmax(-1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("over", ["mean", "max"])
def test_a_loop_over_words_gives_the_same(over: str, causal: bool) -> None:
    weights = attention(causal)
    fast = received(weights, group([ONE, OTHER], 6), over, causal=causal)
    assert fast.shape == (2, 3, 3)
    for row, segmentation in enumerate((ONE, OTHER)):
        pieces = {word: [at for at, of in enumerate(segmentation.words) if of == word] for word in range(3)}
        for head in range(3):
            own = weights[row, head].numpy()
            for word in range(3):
                readers = [query for query in pieces if pieces[query] and (not causal or query >= word)]
                paid = [np.mean([own[q, pieces[word]].sum() for q in pieces[query]]) for query in readers]
                slow = (np.mean(paid) if over == "mean" else np.max(paid)) if pieces[word] else 0.0
                assert fast[row, head, word].item() == pytest.approx(slow, abs=1e-12)


def test_shares_of_words_sum_to_less_than_one() -> None:
    fast = received(attention(), group([ONE, OTHER], 6))
    assert (fast.sum(-1) < 1).all()
    assert (fast >= 0).all()


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(CapabilityError, match="by 'median'; choose one of mean, max"):
        received(attention(), group([ONE, OTHER], 6), "median")
