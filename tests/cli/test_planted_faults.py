"""Faults that are planted on purpose, in attlas or in the way it meets a model: the default doctor says no to each.

Each is one function or method that is replaced by one that is slightly wrong. The models are tiny, and those with a
window or a choice of keys have one that is longer than the doctor's texts, as real ones have: such faults are seen on
the doctor's own twin of the class alone. Without a fault every one of these models gets no "no".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import torch
from command_line import attlas

import attlas.cli.doctor as command
import twins
from attlas.capture import Gates, Recorder, Subject, generation
from attlas.ids import Stream
from attlas.measures import kernels
from attlas.models import adopting, private, seam, sites
from attlas.models.seam import AttentionCall, Seam
from attlas.models.shrinking import drawn, words
from tools.sweep.building import tiny_config
from tools.sweep.families import frozen, model_class

FAMILIES = {family.kind: family for family in frozen()}
BEYOND = 100  # pieces, which is more than the doctor's texts have


def tiny(kind: str, **settings: Any) -> Any:
    config = tiny_config(FAMILIES[kind])
    config.update(settings)
    return drawn(model_class(FAMILIES[kind]), config)


def with_adapters() -> Any:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    torch.manual_seed(0)
    adapter = peft.LoraConfig(target_modules=["o_proj"], r=4, init_lora_weights=False)
    return peft.get_peft_model(tiny("llama"), adapter).eval()


MODELS: dict[str, Callable[[], Any]] = {
    "bert": lambda: twins.model("bert"),
    "llama": lambda: tiny("llama", num_key_value_heads=2),
    "mistral": lambda: tiny("mistral", sliding_window=BEYOND),
    "deepseek": lambda: tiny("deepseek_v32", index_topk=BEYOND),
    "minimax": lambda: tiny("minimax_m3_vl_text", index_topk_blocks=BEYOND),
    "gemma2": lambda: tiny("gemma2", attn_logit_softcapping=5.0),
    "gpt_oss": lambda: tiny("gpt_oss"),
    "t5": lambda: tiny("t5"),
    "diffllama": lambda: tiny("diffllama"),
    "mpnet": lambda: twins.model("mpnet"),
    "albert": lambda: twins.model("albert"),
    "with adapters": with_adapters,
}


def subject_of(name: str) -> Subject:
    from attlas.capture.check import TARGETS, TEXTS

    return Subject.of(MODELS[name](), words((*TEXTS, *TARGETS)), name)


class Fault(NamedTuple):
    """A model, where a fault is planted, what stands there then, and whether it is there when the model is opened."""

    model: str
    place: Any
    name: str
    wrong: Callable[[Any], Any]
    early: bool = False


def without(field: str) -> Callable[[Any], Any]:
    """A method of a call that does not know one of its fields."""
    return lambda right: lambda call, *args: right(replace(call, **{field: None}), *args)


def changed(change: Callable[..., Any]) -> Callable[[Any], Any]:
    """A function whose result is changed; the change is told its arguments."""
    return lambda right: lambda *args, **options: change(right(*args, **options), *args)


def ignoring(argument: str) -> Callable[[Any], Any]:
    """A function that swallows an argument."""

    def wrong(right: Any) -> Any:
        return lambda *args, **options: right(*args, **{**options, argument: None})

    return wrong


def one_further(seen: Any, *_: Any) -> Any:
    return seen if seen is None else seen | torch.nn.functional.pad(seen, (1, 0), value=True)[..., :-1]


def swapped(stream: Stream, *_: Any) -> Stream:
    return {Stream.DECODER: Stream.CROSS, Stream.CROSS: Stream.DECODER}.get(stream, stream)


def without_the_last(layout: Any, *_: Any) -> Any:
    last = list(layout.heads)[-1]
    for found in (layout.heads, layout.projections):
        found.pop(last)
    module = next(module for module, own in layout.modules.items() if last in own)
    layout.modules[module].remove(last)
    if not layout.modules[module]:
        del layout.modules[module]
    return layout


def of_the_base(layout: Any, *_: Any) -> Any:
    for site, projection in layout.projections.items():
        layout.projections[site] = getattr(projection, "base_layer", projection)
    return layout


def transposed(right: Any) -> Any:
    def wrong(projection: Any, heads: int) -> torch.Tensor:
        return projection.weight.reshape(heads, -1, projection.weight.shape[1])

    return wrong.__code__


def blind_to_windows(right: Any) -> Any:
    from transformers import AttentionMaskInterface
    from transformers.masking_utils import causal_mask_function, sdpa_mask

    def wrong() -> None:
        right()
        AttentionMaskInterface.register(
            seam.NAME, lambda *args, **options: sdpa_mask(*args, **{**options, "mask_function": causal_mask_function})
        )

    return wrong


def rolled(right: Any) -> Any:
    return lambda gates, call, output: right(Gates({s: xi.roll(1) for s, xi in gates.xi.items()}), call, output)


def across(right: Any) -> Any:
    """Gates on every fourth number of what W_O is fed, and not on the numbers of a head."""

    def wrong(gates: Any, call: Any, output: torch.Tensor) -> torch.Tensor:
        other = output.flatten(2).unflatten(2, (output.shape[3], output.shape[2])).transpose(2, 3)
        return right(gates, call, other).transpose(2, 3).flatten(2).unflatten(2, output.shape[2:])

    return wrong


def staying_on(right: Any) -> Any:
    @contextmanager
    def wrong(self: Seam, *instruments: Any) -> Any:
        with right(self, *instruments):
            yield
        self.instruments = list(instruments)

    return wrong


def leaving_it_training(right: Any) -> Any:
    @contextmanager
    def wrong(self: Seam, *instruments: Any) -> Any:
        with right(self, *instruments):
            yield
        self.model.train()

    return wrong


def every_call_a_turn(right: Any) -> Any:
    def wrong(finder: Any, *args: Any) -> None:
        right(finder, *args)
        finder.seen[-1].turn = len(finder.seen)

    return wrong


def rounding(layout: Any, model: Any) -> Any:
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16().float()
    return layout


def of_another_head(right: Any) -> Any:
    return property(lambda call: right.fget(call).flip(1))


def pair_of_another(pair: Any, *_: Any) -> Any:
    return pair if pair is None else pair._replace(weights=pair.weights.flip(1))


FAULTS: dict[str, Fault] = {
    "a dropped mask": Fault("bert", AttentionCall, "visible", changed(lambda seen, *_: None)),
    "the mask of a padded batch shifted by one": Fault(
        "bert", AttentionCall, "visible", changed(lambda seen, *_: None if seen is None else seen.roll(1, -1))
    ),
    "a causal mask that is off by one": Fault("llama", AttentionCall, "visible", changed(one_further)),
    "a window ignored": Fault("mistral", seam, "register", blind_to_windows, early=True),
    "an argument swallowed": Fault("deepseek", seam, "attend", ignoring("indices"), early=True),
    "a choice of blocks ignored": Fault("minimax", seam, "_of_blocks", changed(lambda seen, *args: args[3])),
    "a soft cap ignored": Fault("gemma2", AttentionCall, "scores", without("softcap")),
    "sinks ignored": Fault("gpt_oss", AttentionCall, "_softmax", without("sinks")),
    "a position bias dropped": Fault("t5", AttentionCall, "scores", without("bias")),
    "the model's scaling ignored": Fault("t5", seam, "attend", ignoring("scaling"), early=True),
    "grouped keys repeated in the wrong order": Fault(
        "llama", seam, "_ungroup", lambda right: lambda keys, heads: keys.repeat(1, heads // keys.shape[1], 1, 1)
    ),
    "values of another head": Fault("bert", AttentionCall, "values", of_another_head),
    "weights of another head, through a private softmax": Fault("mpnet", private, "_pair", changed(pair_of_another)),
    "a head too few": Fault("bert", Recorder, "_heads", changed(lambda kept, *_: kept[:, :-1])),
    "streams swapped": Fault("t5", sites, "_stream", changed(swapped), early=True),
    "a layer counted twice": Fault("diffllama", sites._Finder, "note", every_call_a_turn, early=True),
    "a layer missed": Fault("bert", sites, "find_sites", changed(without_the_last), early=True),
    "W_O of the base layer, below an adapter": Fault(
        "with adapters", sites, "find_sites", changed(of_the_base), early=True
    ),
    "W_O read without its adapter": Fault(
        "with adapters", sites, "_measured",
        lambda right: lambda projection: right(getattr(projection, "base_layer", projection)), early=True,
    ),
    "W_O transposed": Fault("bert", sites.output_matrix, "__code__", transposed, early=True),
    "gates that act on the next head": Fault("albert", Gates, "finish", rolled),
    "gates that act across heads": Fault("bert", Gates, "finish", across),
    "gates without a gradient": Fault("bert", Gates, "finish", changed(lambda output, *_: output.detach())),
    "an instrument that stays on": Fault("bert", Seam, "put_on", staying_on),
    "weights rounded when a model is adopted": Fault("bert", adopting, "layout_of", changed(rounding), early=True),
    "dropout left on by a look": Fault("bert", Seam, "put_on", leaving_it_training),
    "strips of what is written shifted by one": Fault(
        "llama", generation, "_stitch", changed(lambda whole, *_: whole.roll(1, 1))
    ),
    "statistics of another temperature": Fault(
        "bert", kernels, "attend_in_tiles",
        lambda right: lambda scored, *more: right(scored._replace(scale=1.01 * scored.scale), *more),
    ),
}  # fmt: skip


def asked(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> tuple[object, list[str]]:
    """The exit status of the default doctor, and the questions that it answers with no."""
    monkeypatch.setattr(command, "as_subject", lambda opening: subject)
    said = attlas(capfd, "doctor", "--json")
    return said.status, [told["name"] for told in json.loads(said.out)["findings"] if told["passed"] is False]


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fault = FAULTS[name]
    subject = None if fault.early else subject_of(fault.model)
    monkeypatch.setattr(fault.place, fault.name, fault.wrong(vars_of(fault.place)[fault.name]))
    status, failed = asked(subject or subject_of(fault.model), monkeypatch, capfd)
    assert failed
    assert status == 1


def vars_of(place: Any) -> Any:
    """What stands at a place; a function keeps its code elsewhere."""
    return {"__code__": place.__code__} if hasattr(place, "__code__") else {n: _found(place, n) for n in dir(place)}


def _found(place: Any, name: str) -> Any:
    return next((vars(kind)[name] for kind in getattr(place, "__mro__", [place]) if name in vars(kind)), None)


@pytest.mark.parametrize("name", MODELS)
def test_without_a_fault_nothing_fails(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    status, failed = asked(subject_of(name), monkeypatch, capfd)
    assert (status, failed) == (0, [])


@pytest.fixture(autouse=True)
def registered_anew() -> Any:
    """The library keeps what was registered with it; after a fault it gets the right functions again."""
    yield
    seam.register()
