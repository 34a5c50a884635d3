"""Scores that ask for values, outputs and the weights alone equal loops over the library's own modules."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from test_roles_naive import corpus, eager_weights, imp

import twins
from attlas.capture import Subject
from attlas.ids import HeadId, Stream
from attlas.studies.roles import ordinals, weighed
from attlas.studies.roles.alone import AloneScores
from attlas.studies.roles.closing import SpanLoss
from attlas.studies.roles.copying import _drawn
from attlas.studies.roles.definitions import DEFINITIONS
from attlas.studies.roles.first_block import fed_forward
from attlas.studies.roles.loudest import loudest_table
from attlas.studies.roles.ordinals import Pair
from attlas.studies.roles.own_gates import OwnGateScores
from attlas.studies.roles.passes import SeamScores
from attlas.studies.roles.readout import own_gates_of, why_no_own_gates
from attlas.studies.roles.scores import scored
from attlas.studies.roles.texts import Setting, natural, repeated, repeated_to_close

FAMILIES = ["llama", "gpt2", "gemma3", "qwen3"]


def causal(family: str) -> Subject:
    """A twin whose norms have gains that can be told from none, and values of very different lengths."""
    torch.manual_seed(3)
    model = transformers.AutoModelForCausalLM.from_config(twins.config(family)).eval()
    twins.spread(model)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or "ln_" in name:
                parameter.add_(torch.rand_like(parameter))
    return Subject.of(model, twins.tokenizer(True), family)


def layers_of(model: Any) -> list[Any]:
    return list(model.transformer.h if hasattr(model, "transformer") else model.model.layers)


def gain(norm: Any) -> np.ndarray:
    own = norm.weight.detach().double().numpy()
    return 1 + own if "Gemma" in type(norm).__name__ else own


def matrices(model: Any, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """W_V, (head, hidden, width), and W_O, (head, width, hidden), from modules by their names."""
    block, heads = layers_of(model)[layer], model.config.num_attention_heads
    if hasattr(block, "attn"):
        value = block.attn.c_attn.weight.detach()[:, -model.config.hidden_size :].double().numpy()
        output = block.attn.c_proj.weight.detach().double().numpy()
    else:
        value = block.self_attn.v_proj.weight.detach().T.double().numpy()
        output = block.self_attn.o_proj.weight.detach().T.double().numpy()
    wide = output.shape[0] // heads
    shared = heads * wide // value.shape[1]
    values = [value[:, (head // shared) * wide :][:, :wide] for head in range(heads)]
    return np.stack(values), output.reshape(heads, wide, -1)


def values_of(subject: Subject, ids: tuple[int, ...], layer: int) -> np.ndarray:
    """The values of a layer, (head, key, width), from what its own module gives."""
    block, seen = layers_of(subject.model)[layer], []
    module = block.attn.c_attn if hasattr(block, "attn") else block.self_attn.v_proj
    handle = module.register_forward_hook(lambda module, args, output: seen.append(output[0].double().numpy()))
    with torch.no_grad():
        subject.model(torch.tensor([ids]))
    handle.remove()
    heads, wide = subject.model.config.num_attention_heads, matrices(subject.model, layer)[1].shape[1]
    given = seen[0][:, -heads * wide :] if hasattr(block, "attn") else seen[0]
    shared = heads * wide // given.shape[1]
    return np.stack([given[:, (head // shared) * wide :][:, :wide] for head in range(heads)])


def ours(subject: Subject, keys: list[str], texts: list[Any], setting: Setting) -> Any:
    study = SeamScores(subject, [DEFINITIONS[key] for key in keys], setting)
    bundle = study.empty()
    study.update(bundle, texts)
    return scored(bundle, Stream.DECODER).mean()


@pytest.mark.parametrize("family", FAMILIES)
def test_value_norms_and_dormant_heads_equal_a_loop(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from attlas.studies.roles import sinks

    monkeypatch.setattr(sinks, "BAR", 0.06)  # which random heads pass, too
    subject = causal(family)
    setting = Setting(subject, corpus(), texts=3, max_pieces=40)
    texts = natural(setting)
    found = ours(subject, ["sink_value", "second_value", "dormant"], texts, setting)
    maps = [eager_weights(subject, text.source.ids) for text in texts]
    second = 0
    for layer in range(found.shape[0]):
        output = matrices(subject.model, layer)[1]
        first, later, lengths = [], [[] for _ in output], []
        for text, weights in zip(texts, maps, strict=True):
            values = values_of(subject, text.source.ids, layer)
            norms = np.linalg.norm(values, axis=-1)
            first.append([own[0] / own[1:].mean() for own in norms])
            for head, own in enumerate(weights[layer]):
                seen_enough = [k for k in range(1, len(own)) if (own[:, k] > 0).sum() * 2 >= len(own)]
                later[head] += [norms[head, k] / norms[head, 1:].mean() for k in seen_enough if imp(own, k) > 0.06]
            written = [np.mean([np.linalg.norm(row @ values[head] @ output[head]) for row in weights[layer][head]])
                       for head in range(len(output))]  # fmt: skip
            lengths.append(np.array(written) / np.mean(written))
        assert found[layer, :, 0] == pytest.approx(np.mean(first, 0), rel=1e-4)
        assert found[layer, :, 2] == pytest.approx(np.mean(lengths, 0), abs=1e-4)
        for head, cases in enumerate(later):
            second += len(cases)
            assert np.isnan(found[layer, head, 1]) if not cases else True
            assert not cases or found[layer, head, 1] == pytest.approx(np.mean(cases), rel=1e-4)
    assert second > 0


@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_copying_by_behaviour_equals_a_loop(family: str) -> None:
    subject = causal(family)
    setting = Setting(subject, corpus(), texts=2, max_pieces=40)
    texts = repeated(setting)
    found = ours(subject, ["copying"], texts, setting)[..., 0]
    model = subject.model
    unembedding = model.lm_head.weight.detach().double().numpy() * gain(model.model.norm)
    expected = np.zeros(found.shape)
    for text in texts:
        maps = eager_weights(subject, text.source.ids)
        first, last = text.spans["again"]
        again = torch.zeros(text.length, dtype=torch.bool)
        again[first:last] = True
        for layer in range(found.shape[0]):
            block, output = layers_of(model)[layer], matrices(model, layer)[1]
            after = gain(block.post_attention_layernorm) if family == "gemma3" else 1.0
            values = values_of(subject, text.source.ids, layer)
            for head in range(found.shape[1]):
                for place in _drawn(text.unit, again).tolist():
                    logits = unembedding @ (after * (maps[layer][head][place] @ values[head] @ output[head]))
                    mass = np.maximum(logits - logits.mean(), 0)
                    had = sorted(set(text.source.ids[1 : place + 1]))
                    even = len(had) / len(logits)
                    share = (mass[had].sum() / mass.sum() - even) / (1 - even)
                    expected[layer, head] += share / (2 * len(texts))
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3"])
def test_copying_by_weights_is_that_of_the_whole_matrix(family: str) -> None:
    subject = causal(family)
    model = subject.model
    study = weighed.WeightScores(subject, [DEFINITIONS["copying_weights"]], Setting(subject, None))  # type: ignore[arg-type]
    bundle = study.empty()
    study.update(bundle, ordinals.the_weights(None))  # type: ignore[arg-type]
    found = scored(bundle, Stream.DECODER).mean()[..., 0]
    embedding = model.get_input_embeddings()(torch.arange(len(model.lm_head.weight))).detach().double().numpy()
    unembedding = model.lm_head.weight.detach().double().numpy()
    for layer, block in enumerate(layers_of(model)):
        value, output = matrices(model, layer)
        if family == "gpt2":
            centre = np.eye(32) - 1 / 32
            before, last = centre * gain(block.ln_1), centre * gain(model.transformer.ln_f)
            after = np.eye(32)
        else:
            before, last = np.diag(gain(block.input_layernorm)), np.diag(gain(model.model.norm))
            after = np.diag(gain(block.post_attention_layernorm)) if family == "gemma3" else np.eye(32)
        for head in range(len(value)):
            whole = embedding @ before @ value[head] @ output[head] @ after @ last @ unembedding.T
            eigen = np.linalg.eigvals(whole)
            assert found[layer, head] == pytest.approx(eigen.real.sum() / np.abs(eigen).sum(), abs=1e-4)


def read_of(model: Any, piece: int, begin: int) -> list[np.ndarray]:
    """The embedding of a piece, and what the first block's feed-forward part makes of it, by calling the modules."""
    block = model.model.layers[0]
    with torch.no_grad():
        state = model.get_input_embeddings()(torch.tensor([[begin, piece]]))[:, -1:]
        fed = block.mlp(block.post_attention_layernorm(state))
    return [part[0, 0].double().numpy() for part in (state, fed)]


def test_pairs_successors_and_loudest_pieces_equal_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = causal("llama")
    model, begin = subject.model, subject.pieces.tokenizer.bos_token_id
    pieces = [200, 210, 220, 230, 240, 250]
    assert np.allclose(fed_forward(subject, pieces)[2], read_of(model, 220, begin)[1], atol=1e-5)
    pairs = [Pair(one, other, unit) for unit, (one, other) in enumerate(pairwise(pieces))]
    monkeypatch.setattr(weighed, "ordinal_pieces", lambda subject: set(pieces))
    monkeypatch.setattr(weighed, "TOP", 60)  # of some 300 pieces: some hit, some do not
    keys = ["successor", "maps_plural", "maps_plural_suppressed"]
    study = weighed.WeightScores(subject, [DEFINITIONS[key] for key in keys], Setting(subject, None))  # type: ignore[arg-type]
    bundle = study.empty()
    study.update(bundle, pairs)
    found = scored(bundle, Stream.DECODER).mean()
    unembedding = model.lm_head.weight.detach().double().numpy() * gain(model.model.norm)
    setting = Setting(subject, None)  # type: ignore[arg-type]
    loudest = loudest_table(setting)
    rows = {(layer, head): at for at, (layer, head) in
            enumerate(zip(loudest["layer"], loudest["head"], strict=True))}  # fmt: skip
    from attlas.studies.roles.texts import ordinary_pieces

    asked = ordinary_pieces(setting, setting.draw("loudest"), 4096, 5)
    for layer, block in enumerate(layers_of(model)):
        value, output = matrices(model, layer)
        for head in range(len(value)):

            def written(piece: int, v: Any = value[head], o: Any = output[head], block: Any = block,
                        of: int = min(layer, 1)) -> np.ndarray:  # fmt: skip
                return gain(block.input_layernorm) * read_of(model, piece, begin)[of] @ v @ o

            logits = [unembedding @ written(pair.first) for pair in pairs]
            next_one = [pieces[int(np.argmax(own[pieces]))] == pair.second
                        for own, pair in zip(logits, pairs, strict=True)]  # fmt: skip
            top = [(own > own[pair.second]).sum() < 60 for own, pair in zip(logits, pairs, strict=True)]
            low = [(own < own[pair.second]).sum() < 60 for own, pair in zip(logits, pairs, strict=True)]
            assert found[layer, head] == pytest.approx([np.mean(next_one), np.mean(top), np.mean(low)])
            lengths = np.array([np.linalg.norm(written(piece)) for piece in asked])
            told = loudest["value"][rows[layer, head]]
            assert told == pytest.approx(lengths.max() / lengths.mean(), rel=1e-4)
            first = subject.pieces.tokenizer.decode([asked[int(lengths.argmax())]]).strip()
            assert loudest["pieces"][rows[layer, head]].startswith(first)


def test_every_head_alone_costs_what_a_full_pass_without_it_says() -> None:
    subject = causal("llama")
    setting = Setting(subject, corpus(), texts=4, max_pieces=40)
    texts = repeated_to_close(setting)
    assert len(texts) == 16
    study = AloneScores(subject, [DEFINITIONS["induction_alone"]])
    bundle = study.empty()
    study.update(bundle, texts)
    found = scored(bundle, Stream.DECODER).mean()[..., 0]
    losses = SpanLoss(subject, texts)

    def cost() -> float:
        with torch.no_grad():
            return float(losses.of(subject.run(losses.batch, **losses.options)).mean())

    whole = cost()
    for layer, head in [(0, 1), (1, 3), (2, 0)]:
        with subject.gated([HeadId(Stream.DECODER, layer, head)]):
            assert found[layer, head] == pytest.approx(cost() - whole, abs=1e-4)


def gated(family: str) -> Subject:
    """A tiny model with gates of its own, every second layer with attention."""
    small = {
        "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
        "intermediate_size": 48, "max_position_embeddings": 128, "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16, "linear_num_key_heads": 2,
        "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
        "layer_types": ["linear_attention", "full_attention"] * 2,
    }  # fmt: skip
    words = twins.tokenizer(True)
    config = transformers.Qwen3NextConfig(
        **small, vocab_size=len(words), pad_token_id=0, bos_token_id=1, eos_token_id=2
    )
    torch.manual_seed(4)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    twins.spread(model)
    return Subject.of(model, words, family)


def test_gates_of_gated_attention_are_found_and_their_mean_is_theirs() -> None:
    subject = gated("qwen3_next")
    setting = Setting(subject, corpus(), texts=3, max_pieces=40)
    texts = natural(setting)
    assert why_no_own_gates(subject) == ""
    assert [site.layer for site in own_gates_of(subject)] == [0, 1]
    study = OwnGateScores(subject, [DEFINITIONS["own_gate"]])
    bundle = study.empty()
    study.update(bundle, texts)
    found = scored(bundle, Stream.DECODER).mean()[..., 0]
    seen: dict[int, list[torch.Tensor]] = {}
    blocks = [block for block in subject.model.model.layers if hasattr(block, "self_attn")]
    for layer, block in enumerate(blocks):

        def note(module: Any, args: Any, output: Any, layer: int = layer) -> None:
            gate = output[0].view(output.shape[1], 4, 16)[..., 8:]
            seen.setdefault(layer, []).append(gate.sigmoid().mean((0, 2)))

        block.self_attn.q_proj.register_forward_hook(note)
    for text in texts:
        with torch.no_grad():
            subject.model(torch.tensor([text.source.ids]), use_cache=False)
    expected = torch.stack([torch.stack(seen[layer]).mean(0) for layer in range(2)]).numpy()
    assert found == pytest.approx(expected, abs=1e-5)
    assert float(np.ptp(found)) > 0.01


@pytest.mark.parametrize("family", ["llama", "gpt_oss", "gemma3"])
def test_what_stands_between_heads_and_w_o_is_no_gate_unless_it_is_one(family: str) -> None:
    subject = causal(family)
    assert own_gates_of(subject) == {}
    assert why_no_own_gates(subject) == f"{family} has no gates of its own between its heads and W_O"
