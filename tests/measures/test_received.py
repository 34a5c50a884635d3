"""What words receive, against loops over the word-level matrix."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attlas.errors import CapabilityError
from attlas.measures import received as module
from attlas.measures.received import received, received_by_call
from attlas.measures.words import group
from attlas.models import AttentionCall
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


@pytest.mark.parametrize("kind", ["plain", "causal", "padded", "softcap"])
@pytest.mark.parametrize("over", ["mean", "max"])
@pytest.mark.parametrize("block", [1, 2 * 3 * 6 * 2, 1 << 21])
def test_a_call_gives_what_its_matrix_gives(
    kind: str, over: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(module.BLOCKS, "cpu", block)
    torch.manual_seed(4)
    query, key, value = torch.randn(3, 2, 3, 6, 8)
    mask = torch.ones(2, 1, 6, 6, dtype=torch.bool)
    mask[1, ..., 3:] = False
    call = AttentionCall(
        "site", query, key, value, mask if kind == "padded" else None, 0.5, kind == "causal",
        softcap=1.0 if kind == "softcap" else None,
    )  # fmt: skip
    words, lengths = group([ONE, OTHER], 6), torch.rand(2, 3, 6)
    for scale in (None, lengths):
        weights = call.weights() if scale is None else call.weights() * scale[:, :, None]
        slow = received(weights, words, over, causal=kind == "causal")
        fast = received_by_call(call, words, over, lengths=scale, causal=kind == "causal")
        assert torch.allclose(fast, slow, atol=1e-6)
    assert float(slow.abs().max()) > 0.01


@pytest.mark.parametrize("over", ["mean", "max"])
def test_never_the_whole_matrix(over: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is asked for all of its weights at once says so."""
    monkeypatch.setitem(module.BLOCKS, "cpu", 2 * 3 * 6 * 2)
    sizes = []
    whole = AttentionCall.weights

    def watched(call: AttentionCall, rows: slice | None = None) -> torch.Tensor:
        found = whole(call, rows)
        sizes.append(found.shape[2])
        return found

    monkeypatch.setattr(AttentionCall, "weights", watched)
    query = torch.randn(2, 3, 6, 8)
    received_by_call(AttentionCall("site", query, query, query, None, 0.5), group([ONE, OTHER], 6), over)
    assert max(sizes, default=0) <= 3  # the pieces of two words, not all six
