"""The matrices that are found of a model's heads are those that made what stood at the seam."""

from __future__ import annotations

import pytest
import torch
import transformers

import twins
from attlas.capture import Fold, Subject
from attlas.ids import Site
from attlas.models import AttentionCall
from attlas.models.circuits import through
from attlas.studies.roles.readout import found_circuits, why_no_circuits


def causal(family: str) -> Subject:
    torch.manual_seed(2)
    model = transformers.AutoModelForCausalLM.from_config(twins.config(family)).eval()
    twins.spread(model)
    with torch.no_grad():  # gains that can be told from none
        for name, parameter in model.named_parameters():
            if "norm" in name or "ln_" in name:
                parameter.add_(torch.rand_like(parameter))
    return Subject.of(model, twins.tokenizer(True), family)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3", "qwen3", "gpt_neox"])
def test_values_of_the_first_layer_are_embeddings_through_the_norm_and_w_v(family: str) -> None:
    subject = causal(family)
    circuits = found_circuits(subject)
    batch, calls = subject.batch(["The farmer offered apples."]), {}

    def take(call: AttentionCall) -> None:
        calls[call.site] = call.values[0].float()

    with torch.no_grad(), subject.use(Fold(take)):
        states = subject.model(**batch.inputs, output_hidden_states=True).hidden_states
    assert not circuits.missing
    for site, weights in circuits.sites.items():
        assert isinstance(site, Site)
        state = states[site.layer][0]
        read = through(weights.before, state)
        ours = torch.einsum("nd,hdw->hnw", read, weights.value)
        theirs = calls[site]
        apart = [part - part.mean(1, keepdim=True) for part in (ours, theirs)] if family == "gpt2" else [ours, theirs]
        cosine = torch.nn.functional.cosine_similarity(*(part.flatten(1) for part in (ours, theirs)))
        if family in ("llama", "gemma3", "qwen3"):  # no biases: equal but for one positive scale for each piece
            scale = (theirs.norm(dim=-1) / ours.norm(dim=-1)).mean(0)
            assert torch.allclose(ours * scale[None, :, None], theirs, atol=1e-4)
        else:
            assert cosine.min() > 0.5
            assert apart[0].shape == apart[1].shape
    assert (circuits.sites[next(iter(circuits.sites))].after is not None) == (family == "gemma3")


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3"])
def test_logits_are_the_final_state_through_its_norm(family: str) -> None:
    subject = causal(family)
    circuits, batch, seen = found_circuits(subject), subject.batch(["The farmer slept."]), []
    final = [m for m in subject.model.base_model.modules() if "norm" in type(m).__name__.lower()][-1]
    handle = final.register_forward_hook(lambda module, args, output: seen.append(args[0]))
    with torch.no_grad():
        logits = subject.run(batch).logits[0].float()
    handle.remove()
    ours = circuits.logits(seen[0][0].float())
    for mine, theirs in zip(ours, logits, strict=True):
        if family == "gpt2":  # whose final norm has a bias
            assert torch.corrcoef(torch.stack([mine, theirs]))[0, 1] > 0.9
        else:
            assert torch.allclose(mine * (theirs.norm() / mine.norm()), theirs, atol=1e-3)


def test_a_model_without_a_vocabulary_at_its_end_is_told_so() -> None:
    subject = Subject.of(twins.model("llama"), twins.tokenizer(True), "headless")
    assert "language-model head" in why_no_circuits(subject)
