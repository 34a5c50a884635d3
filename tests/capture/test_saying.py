"""What a model says, against its own outputs, and what heads add, against the whole written out."""

from __future__ import annotations

import pytest
import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.capture.saying import lens, saying
from attlas.errors import CapabilityError
from attlas.ids import Stream

TEXT = "The farmer asked the designer."


def subject_of(family: str, kind: str) -> Subject:
    """A twin with a head of its own."""
    torch.manual_seed(1)
    config = twins.config(family)
    if kind in ("AutoModelForSequenceClassification", "AutoModelForTokenClassification"):
        config.num_labels = 3
    model = getattr(transformers, kind).from_config(config).eval()
    twins.spread(model)
    return Subject.of(model, twins.tokenizer(family in twins.CAUSAL), family)


def test_the_next_pieces_are_those_of_the_models_own_logits() -> None:
    subject = subject_of("llama", "AutoModelForCausalLM")
    capture = subject.look(TEXT)
    said = saying(subject, capture)
    assert said is not None
    ids = torch.tensor([subject.pieces.tokenizer(TEXT)["input_ids"]])
    with torch.no_grad():
        shares = subject.model(input_ids=ids).logits[0].softmax(-1)
    assert said.kind == "next"
    assert len(said.top) == ids.shape[1] == len(said.actual) + 1
    for place, told in enumerate(said.top):
        assert [share for _, share in told] == pytest.approx(shares[place].topk(5).values.tolist(), abs=1e-6)
    following = [float(shares[place, ids[0, place + 1]]) for place in range(ids.shape[1] - 1)]
    assert list(said.actual) == pytest.approx(following, abs=1e-6)


def test_what_was_written_is_told_with_what_it_was_written_with() -> None:
    subject = subject_of("llama", "AutoModelForCausalLM")
    capture = subject.look_generating("The farmer", max_new_pieces=6)
    said = saying(subject, capture)
    assert said is not None
    first = capture.written
    assert first == len(subject.pieces.tokenizer("The farmer")["input_ids"])
    scene = capture.scene()
    assert scene.strands[0].queries.written == first
    for place in range(first, len(capture.source.pieces)):
        assert said.actual[place - 1] == pytest.approx(said.top[place - 1][0][1]), "greedy: the likeliest each time"


@pytest.mark.parametrize(
    ("family", "kind", "told"),
    [
        ("bert", "AutoModelForMaskedLM", "masked"),
        ("bert", "AutoModelForSequenceClassification", "label"),
        ("bert", "AutoModelForTokenClassification", "tag"),
    ],
)
def test_masks_labels_and_tags(family: str, kind: str, told: str) -> None:
    subject = subject_of(family, kind)
    said = saying(subject, subject.look(TEXT))
    assert said is not None
    assert said.kind == told
    batch = subject.batch([TEXT])
    with torch.no_grad():
        shares = subject.run(batch).logits[0].softmax(-1)
    if told == "label":
        names = [name for name, _ in said.top[0]]
        assert names == [subject.labels[at] for at in shares.argsort(descending=True).tolist()]
        return
    assert len(said.top) == len(shares)
    for place, row in enumerate(said.top):
        assert row[0][1] == pytest.approx(float(shares[place].max()), abs=1e-6)


def test_models_without_a_head_say_nothing() -> None:
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")
    capture = subject.look(TEXT)
    assert saying(subject, capture) is None
    with pytest.raises(CapabilityError, match="no language-model head"):
        lens(subject, capture, 0)


def test_the_lens_of_a_head_is_its_output_through_gain_and_unembedding() -> None:
    subject = subject_of("llama", "AutoModelForCausalLM")
    capture = subject.look(TEXT)
    place = 4
    told = lens(subject, capture, place)
    assert len(told) == 12
    model = subject.model
    for layer in range(3):
        weights = capture.weights[Stream.DECODER][layer]
        values = capture.values[Stream.DECODER][layer]
        output = model.model.layers[layer].self_attn.o_proj.weight
        for head in range(4):
            mixed = sum(weights[head, place, key] * values[head, key] for key in range(place + 1))
            written = output[:, 8 * head : 8 * head + 8] @ mixed
            scores = model.lm_head.weight @ (written * model.model.norm.weight)
            best = scores.topk(3)
            found = told[f"decoder {layer + 1}-{head + 1}"]
            assert [score for _, score in found] == pytest.approx(best.values.tolist(), rel=1e-4)


def test_the_header_has_the_lens_of_the_last_place() -> None:
    subject = subject_of("llama", "AutoModelForCausalLM")
    said = saying(subject, subject.look(TEXT))
    assert said is not None
    count = len(said.top)
    assert count - 1 in said.lens
    assert set(said.header()["lens"]) == {str(place) for place in said.lens}
