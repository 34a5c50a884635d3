"""Every supported family, as a tiny random twin, against the model library's own eager attention."""

from __future__ import annotations

import pytest
import torch

import twins
from attlas.capture import Recorder, Subject, examine
from attlas.capture.check import TARGETS, TEXTS, eager_weights, output_of, prove
from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.models.private import ModuleStack

FAMILIES = tuple(twins.TWINS)
PRIVATE = {"mpnet", "gpt_neo"}


def subject_of(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


@pytest.fixture(scope="module", params=FAMILIES)
def subject(request: pytest.FixtureRequest) -> Subject:
    return subject_of(request.param)


def texts(subject: Subject) -> list:
    return list(zip(TEXTS, TARGETS, strict=True)) if subject.pieces.translating else list(TEXTS)


def test_the_streams_are_told_apart(subject: Subject) -> None:
    if subject.name in twins.TRANSLATING:
        expected = (Stream.ENCODER, Stream.DECODER, Stream.CROSS)
    else:
        expected = (Stream.DECODER,) if subject.name in twins.CAUSAL else (Stream.ENCODER,)
    assert subject.streams == expected
    assert all(subject.heads(site) == 4 for site in subject.sites)
    assert subject.layout.private == (subject.name in PRIVATE)


def test_untouched_output_is_the_plain_models(subject: Subject) -> None:
    plain = twins.model(subject.name, attn_implementation="eager")
    batch = subject.batch(texts(subject))
    with torch.no_grad():
        ours, theirs = output_of(subject.run(batch)), output_of(plain(**batch.inputs))
    side = batch.target or batch.source
    assert torch.allclose(ours[side.real], theirs[side.real], atol=1e-5)


def test_weights_equal_the_eager_models_in_a_padded_batch(subject: Subject) -> None:
    batch = subject.batch(texts(subject))
    recorder = Recorder(["weights"])
    with torch.no_grad(), subject.use(recorder):
        subject.run(batch)
    theirs = eager_weights(subject, batch)
    assert set(theirs) == set(subject.sites)
    for site, weights in theirs.items():
        side = batch.queries(site.stream)
        ours = recorder.get(site).transpose(1, 2)[side.real]
        assert torch.allclose(ours, weights.transpose(1, 2)[side.real], atol=1e-5), site


def test_a_batch_equals_its_texts_one_by_one(subject: Subject) -> None:
    given = texts(subject)
    together, recorder = subject.batch(given), Recorder(["weights"])
    with torch.no_grad(), subject.use(recorder):
        subject.run(together)
    for row, text in enumerate(given):
        alone = subject.look(text)
        for stream, weights in alone.weights.items():
            q, k = weights.shape[-2:]
            for layer in range(weights.shape[0]):
                site = next(s for s in subject.sites if s.stream is stream and s.layer == layer)
                assert torch.allclose(recorder.get(site)[row, :, :q, :k], weights[layer], atol=1e-5)


def test_sentence_pairs(subject: Subject) -> None:
    if not subject.pieces.pairs:
        pytest.skip("this family takes no sentence pairs")
    capture = subject.look((TEXTS[0], TEXTS[1]))
    batch = subject.batch([(TEXTS[0], TEXTS[1])])
    for site, weights in eager_weights(subject, batch).items():
        assert torch.allclose(capture.weights[site.stream][site.layer], weights[0], atol=1e-5)
    documents = set(capture.source.documents)
    assert documents == {-1, 0, 1}
    assert capture.source.word_count == len(capture.passage.first.words) + len(capture.passage.second.words)


def test_the_doctor_finds_nothing_wrong(subject: Subject) -> None:
    prove(subject)
    findings = {finding.name: finding for finding in examine(subject, full=True)}
    assert not [finding for finding in findings.values() if finding.passed is False]
    assert findings["queries and keys can be seen"].passed is (None if subject.name in PRIVATE else True)


def test_norms_equal_vectors_that_are_really_built(subject: Subject) -> None:
    capture = subject.look(texts(subject)[0])
    for site in subject.sites:
        values, matrix = capture.values[site.stream][site.layer], subject.output_matrix(site)
        weights = capture.weights[site.stream][site.layer]
        built = torch.einsum("hqk,hkw,hwd->hqkd", weights, values, matrix).norm(dim=-1)
        assert torch.allclose(capture.norms[site.stream][site.layer], built, atol=1e-5)


def test_hidden_states_are_the_models(subject: Subject) -> None:
    capture = subject.look(texts(subject)[0], hidden_states=True)
    layers = {stream: subject.shape(stream)[0] for stream in subject.streams}
    assert {stream: len(states) for stream, states in capture.hidden_states.items()} == {
        stream: count + 1 for stream, count in layers.items() if stream is not Stream.CROSS
    }


def test_queries_and_keys_rebuild_the_weights() -> None:
    subject = subject_of("llama")
    capture = subject.look(TEXTS[0])
    q, k = capture.queries[Stream.DECODER], capture.keys[Stream.DECODER]
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    hidden = torch.ones(q.shape[-2], q.shape[-2]).triu(1).bool()
    assert torch.allclose(scores.masked_fill(hidden, -1e30).softmax(-1), capture.weights[Stream.DECODER], atol=1e-5)


def test_a_private_family_refuses_queries_with_its_reason() -> None:
    subject = subject_of("mpnet")
    with pytest.raises(CapabilityError, match="keeps its softmax private"):
        subject.require("queries and keys")
    with pytest.raises(CapabilityError, match="private"), subject.use(Recorder(["queries"])):
        subject.run(subject.batch(["Hello."]))


def test_shared_layers_are_counted_anew_in_every_pass() -> None:
    subject = subject_of("albert")
    assert len(subject.seam.sites) == 1
    recorder = Recorder(["weights"])
    batch = subject.batch(["Nobody noticed."])
    with torch.no_grad(), subject.use(recorder):
        subject.run(batch)
        subject.run(batch)
    for site in subject.sites:
        first, second = recorder.kept[site]["weights"]
        assert torch.equal(first, second)


def test_following_modules_ends_also_after_an_error() -> None:
    class Broken(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise RuntimeError("broken")

    model, stack = Broken(), ModuleStack()
    with stack.follow([model]), pytest.raises(RuntimeError):
        model(torch.ones(1))
    assert not stack.running
    assert not model._forward_pre_hooks
    assert not model._forward_hooks


def test_a_model_that_nobody_holds_is_let_go() -> None:
    import gc
    import weakref

    subject = subject_of("bert")
    model = weakref.ref(subject.model)
    del subject
    gc.collect()
    assert model() is None
