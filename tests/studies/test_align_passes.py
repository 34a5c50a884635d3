"""Alignment from attention: links and counts against a plain loop over the library's own attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.ids import HeadId, Stream
from attlas.stats import Ledger
from attlas.studies.align.passes import Alignment, stream_for
from attlas.studies.align.tables import Method
from attlas.text import Passage, Segmentation
from attlas.text.links import marks
from bitexts import best, document, documents, eager, subject


def read(study: Alignment, texts: list[Any], *, together: bool = True) -> Any:
    """All texts through a study, in one batch or one by one."""
    items = list(enumerate(study.subject.pieces.encode_all([Passage(text, text.translation) for text in texts])))
    bundle = study.empty()
    for batch in [items] if together else [[item] for item in items]:
        study.update(bundle, batch)
    return bundle


def all_heads(model: Any, stream: Stream) -> list[HeadId]:
    layers, heads = model.shape(stream)
    return [HeadId(stream, layer, head) for layer in range(layers) for head in range(heads)]


def joined(vectors: Tensor, weights: Tensor) -> dict[int | None, list[Tensor]]:
    """The matrices of a layer by head, and of all heads together: its weights, then its norms, (query, key), from
    vectors f(x) (head, key, hidden) and weights (head, query, key)."""
    found: dict[int | None, list[Tensor]] = {}
    brought = weights[..., None] * vectors[:, None]  # (head, query, key, hidden): what is never built elsewhere
    for head in range(len(weights)):
        found[head] = [weights[head], brought[head].norm(dim=-1)]
    found[None] = [weights.mean(0), brought.sum(0).norm(dim=-1)]
    return found


def by_hand(matrix: Tensor, asking: list[tuple[int, int]], answering: list[tuple[int, int]]) -> dict[int, int]:
    """What each word picks, given (query, word) and (key, word or a number below zero for what is no word)."""
    picked = {}
    for word in sorted({word for _, word in asking}):
        rows = [matrix[query] for query, owner in asking if owner == word]
        scores: dict[int, float] = {}
        for key, owner in answering:
            scores[owner] = scores.get(owner, 0.0) + sum(float(row[key]) for row in rows) / len(rows)
        owners = sorted(scores, key=lambda owner: (owner < 0, owner))
        choice = owners[best([scores[owner] for owner in owners])]
        if choice >= 0:
            picked[word] = choice
    return picked


@pytest.mark.parametrize("family", ["marian", "bart"])
def test_cross_attention_is_read_as_a_plain_loop_reads_it(family: str) -> None:
    texts, model, plain = documents(), subject(family), eager(family)
    study = Alignment(model, texts, heads=all_heads(model, Stream.CROSS))
    bundle = read(study, texts)
    values: list[Tensor] = []
    for layer in plain.decoder.layers:
        layer.encoder_attn.v_proj.register_forward_hook(lambda module, args, output: values.append(output))
    norms = np.zeros((2, 2, 5))
    pieces = np.zeros(2)
    for number, text in enumerate(texts):
        example = model.pieces.encode(Passage(text, text.translation))
        assert example.target is not None
        values.clear()
        with torch.no_grad():
            found = plain(**model.pieces.batch([example]).inputs, output_attentions=True).cross_attentions
        keys = [(key, word if word >= 0 else -1 - key) for key, word in enumerate(example.source.segmentation.words)]
        words = list(enumerate(example.target.segmentation.words))
        for place, (side, step) in enumerate((("output", 1), ("input", 0))):
            asking = [(query - step, word) for query, word in words if word >= 0]
            pieces[place] += len(asking) * len(keys)
            for layer, weights in enumerate(found):
                out = plain.decoder.layers[layer].encoder_attn.out_proj.weight.detach()
                split = values[layer][0].view(-1, 4, 8).transpose(0, 1)
                vectors = torch.stack([split[head] @ out[:, 8 * head : 8 * head + 8].T for head in range(4)])
                for head, matrices in joined(vectors, weights[0]).items():
                    rows = matrices[1][[query for query, _ in asking]]
                    norms[place, layer, 0 if head is None else 1 + head] += float(rows.sum())
                    for measure, matrix in zip(("weight", "norm"), matrices, strict=True):
                        wanted = by_hand(matrix, asking, keys)
                        method = Method(measure, side, layer, head)
                        links = study.links(study.picks(bundle, side), method)[number]
                        assert links == {(source, target) for target, source in wanted.items()}, method
                        assert text.links is not None
                        counted = study.marks(bundle)[number, study.number(method)]
                        assert counted.tolist() == list(marks(links, text.links))
    np.testing.assert_allclose(bundle["norms"].result().value, norms / pieces[:, None, None], rtol=1e-4)


def test_an_encoder_over_both_is_read_as_a_plain_loop_reads_it() -> None:
    texts, model, plain = documents(), subject("bert"), eager("bert")
    study = Alignment(model, texts, heads=all_heads(model, Stream.ENCODER))
    bundle = read(study, texts)
    values: list[Tensor] = []
    for layer in plain.encoder.layer:
        layer.attention.self.value.register_forward_hook(lambda module, args, output: values.append(output))
    for number, text in enumerate(texts):
        example = model.pieces.encode(Passage(text, text.translation))
        values.clear()
        with torch.no_grad():
            found = plain(**model.pieces.batch([example]).inputs, output_attentions=True).attentions
        cut: Segmentation = example.source.segmentation
        special = [(key, -1 - key) for key, document in enumerate(cut.documents) if document < 0]
        sides = [
            [(key, word - document * len(text.words)) for key, (word, document) in enumerate(
                zip(cut.words, cut.documents, strict=True)) if document == side]
            for side in (0, 1)
        ]  # fmt: skip
        for side, picking in (("to source", 1), ("to target", 0)):
            for layer, weights in enumerate(found):
                out = plain.encoder.layer[layer].attention.output.dense.weight.detach()
                split = values[layer][0].view(-1, 4, 8).transpose(0, 1)
                vectors = torch.stack([split[head] @ out[:, 8 * head : 8 * head + 8].T for head in range(4)])
                for head, matrices in joined(vectors, weights[0]).items():
                    for measure, matrix in zip(("weight", "norm"), matrices, strict=True):
                        wanted = by_hand(matrix, sides[picking], sides[1 - picking] + special)
                        method = Method(measure, side, layer, head)
                        links = study.links(study.picks(bundle, side), method)[number]
                        turned = {(own, other) if picking == 0 else (other, own) for own, other in wanted.items()}
                        assert links == turned, method
                        assert text.links is not None
                        counted = study.marks(bundle)[number, study.number(method)]
                        assert counted.tolist() == list(marks(links, text.links))


@pytest.mark.parametrize("family", ["marian", "t5", "bert", "mpnet"])
def test_batch_mates_do_not_matter(family: str) -> None:
    texts, model = documents(), subject(family)
    study = Alignment(model, texts)
    one, other = read(study, texts), read(study, texts, together=False)
    for side in study.sides:
        assert np.array_equal(study.picks(one, side), study.picks(other, side))
    assert np.array_equal(study.marks(one), study.marks(other))
    for part in ("norms", "linked"):
        np.testing.assert_allclose(one[part].result().value, other[part].result().value, rtol=1e-4)


@pytest.mark.parametrize("family", ["marian", "bert"])
def test_without_competition_every_word_has_a_link(family: str) -> None:
    texts, model = documents(gold=False), subject(family)
    free, bound = (Alignment(model, texts, compete=compete) for compete in (False, True))
    assert not free.scored
    assert "marks" not in set(free.empty())
    assert read(free, texts)["linked"].result().value.min() == 1.0
    linked = read(bound, texts)["linked"].result().value
    assert linked.min() < 0.95
    chosen = [study.picks(read(study, texts), study.sides[0]) for study in (free, bound)]
    assert (chosen[1] >= 0).any()
    assert np.array_equal(chosen[0][chosen[1] >= 0], chosen[1][chosen[1] >= 0])  # a word that wins wins without them


def test_a_word_without_a_piece_has_no_link_and_is_not_picked() -> None:
    texts = [document("a b", "c d e")]
    model = subject("marian")
    study = Alignment(model, texts, compete=False)
    example = model.pieces.encode(Passage(texts[0], texts[0].translation))
    assert example.target is not None
    for side in (example.source, example.target):  # as if the tokenizer had glued the last two words together
        words = tuple(min(word, max(side.segmentation.words) - 1) for word in side.segmentation.words)
        object.__setattr__(side, "segmentation", Segmentation(
            side.segmentation.pieces, words, side.segmentation.documents, side.segmentation.word_count
        ))  # fmt: skip
    bundle = study.empty()
    study.update(bundle, [(0, example)])
    picks = study.picks(bundle, "input")
    assert (picks[-1] == -1).all()
    assert (picks[:-1] == 0).all()
    assert isinstance(bundle["links input"], Ledger)


def test_models_without_such_attention_are_refused() -> None:
    assert stream_for(subject("marian")) is Stream.CROSS
    assert stream_for(subject("bert"), "encoder") is Stream.ENCODER
    for family, asked, reason in [
        ("llama", None, "reads a single text from left to right, without cross attention; alignment needs"),
        ("llama", "cross", "reads a single text from left to right"),
        ("bert", "cross", "bert 0 has no cross attention; it reads two sentences at once"),
        ("marian", "encoder", "the encoder of marian 0 reads one sentence at a time; its cross attention"),
        ("marian", "decoder", "decoder attention joins no two sentences; choose cross or encoder"),
        ("bert", "sideways", "sideways attention joins no two sentences"),
    ]:
        with pytest.raises(CapabilityError, match=reason):
            stream_for(subject(family), asked)
