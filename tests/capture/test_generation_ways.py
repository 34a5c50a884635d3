"""However a model is told to write, the map is that of one pass over the whole text, or it is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

import twins
from attlas.capture import Recorder, Subject
from attlas.errors import CapabilityError
from attlas.ids import Stream

PROMPT, PIECES = "The farmer", 9
FORCED = {"min_new_tokens": PIECES}


def writer(family: str, auto: str = "AutoModelForCausalLM") -> Subject:
    torch.manual_seed(0)
    made = getattr(transformers, auto).from_config(twins.config(family)).eval()
    twins.spread(made)
    return Subject.of(made, twins.tokenizer(family in twins.CAUSAL), family)


def in_one_pass(subject: Subject, **options: Any) -> list[torch.Tensor]:
    """The weights of every layer when the text that is written is read at once, without a cache."""
    settings = {"do_sample": False, "max_new_tokens": PIECES, **FORCED, **options}
    recorder = Recorder(["weights"])
    with torch.no_grad():
        written = subject.model.generate(**subject.batch([PROMPT]).inputs, **settings)
        with subject.use(recorder):
            subject.model(input_ids=written[:, :-1], use_cache=False)
    return [recorder.get(site)[0] for site in subject.sites]


@pytest.mark.parametrize("family", ["llama", "gpt2", "mistral"])
@pytest.mark.parametrize(
    "options", [{"use_cache": False}, {"num_beams": 3}, {"num_beams": 4, "length_penalty": 2.0}], ids=str
)
def test_every_way_gives_the_map_of_one_pass(family: str, options: dict[str, Any]) -> None:
    subject = writer(family)
    stitched = subject.look_generating(PROMPT, max_new_pieces=PIECES, **FORCED, **options)
    whole = in_one_pass(subject, **options)
    for ours, theirs in zip(stitched.weights[Stream.DECODER], whole, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)
    assert stitched.values[Stream.DECODER].shape[-2] == whole[0].shape[-1]


def test_a_cache_of_fixed_size_has_room_that_is_not_attended_to() -> None:
    subject = writer("llama")
    options = {"cache_implementation": "static"}
    stitched = subject.look_generating(PROMPT, max_new_pieces=PIECES, **FORCED, **options)
    plain = subject.look_generating(PROMPT, max_new_pieces=PIECES, **FORCED)
    for kind in ("weights", "values", "keys", "queries"):
        ours, theirs = (getattr(capture, kind)[Stream.DECODER] for capture in (stitched, plain))
        assert torch.allclose(ours, theirs, atol=1e-5), kind


def test_beams_of_a_translation_follow_the_text_that_was_chosen() -> None:
    subject = writer("marian", "AutoModelForSeq2SeqLM")
    capture = subject.look_generating("The farmer slept.", max_new_pieces=6, min_new_tokens=6, num_beams=3)
    batch, recorder = subject.batch(["The farmer slept."]), Recorder(["weights"])
    with torch.no_grad():
        written = subject.model.generate(
            **batch.inputs, do_sample=False, num_beams=3, max_new_tokens=6, min_new_tokens=6
        )
        with subject.use(recorder):
            subject.model(**batch.inputs, decoder_input_ids=written[:, :-1])
    for site in subject.sites:
        assert torch.allclose(capture.weights[site.stream][site.layer], recorder.get(site)[0], atol=1e-5), site


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_return_sequences": 2, "num_beams": 2}, "num_return_sequences"),
        ({"prompt_lookup_num_tokens": 2}, "prompt_lookup_num_tokens cannot be looked at, since pieces are looked up"),
        ({"cache_implementation": "quantized"}, "'quantized'.*'dynamic', 'static'"),
        ({"past_key_values": object()}, "past_key_values"),
    ],
)
def test_other_orders_are_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(CapabilityError, match=said):
        writer("llama").look_generating(PROMPT, **options)


def test_pieces_that_the_tokenizer_has_no_name_for_are_called_by_their_number() -> None:
    """A model may have room for more pieces than its tokenizer knows, and write one of them."""
    config = twins.config("llama")
    known = config.vocab_size
    config.vocab_size = known + 50
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        model.lm_head.weight[:known] = 0.0
    seen = Subject.of(model, twins.tokenizer(True)).look_generating("The farmer", max_new_pieces=3)
    assert seen.source.pieces[-1].startswith("[")
    assert int(seen.source.pieces[-1][1:-1]) >= known
