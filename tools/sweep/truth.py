"""What is true of a model, said by the model library alone.

Weights are those that an eager model reports (``output_attentions``), or, where it reports none, those that its own
``eager_attention_forward`` gives back. A closed head is a slice of nought in what the output projection is fed, and
that projection is found by its name; or a head of nought in what the eager function gives back.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tools.sweep.building import PAD, VOCABULARY

LONG, SHORTER, SHORT, TARGET = 26, 11, 5, 9
PROJECTIONS = re.compile(
    r"(^|\.)(o_proj|out_proj|dense|c_proj|[wW]o|o|out_lin|out_layer|to_out|linear_out|o_lin|proj_out|attn_out|project_out"
    r"|dense_output|output_linear|output_projection|resid_proj|attention_out|out)(\.0|\.linear)?$"
)
ATTENTION = re.compile(r"attn|attention|mixer", re.IGNORECASE)
NOT_TEXT = re.compile(
    r"vision|visual|image|audio|speech|linear_attn|mamba|experts|mlp|patcher|qformer|bottleneck|indexer",
    re.IGNORECASE,
)
RECURRENT = re.compile(
    r"Lightning|Mamba|Delta|(?<!Kimi)LinearAttention|RecurrentBlock|ShortConv|SSM"
)  # classes that are no attention
REPORTS_SCORES = {"squeezebert"}  # where the library calls attention what is not yet through the softmax
LINEAR = ("Linear", "Conv1D", "QuantLinear")
CROSS = re.compile(r"cross|encoder_attn|encdec|enc_dec|encoderattention", re.IGNORECASE)


@dataclass
class Case:
    """The inputs of one pass and which of their pieces are real."""

    name: str
    inputs: dict[str, Tensor]
    own: Tensor
    target: Tensor | None = None


@dataclass
class Truth:
    """What the eager twin says of one pass: its output, and weights by stream."""

    output: Tensor
    weights: dict[str, list[Tensor]]
    said_by: str


@dataclass
class Call:
    """One call of an output projection in a pass: which, in which stream, and what it gave."""

    module: nn.Module
    name: str
    stream: str
    turn: int
    width: int
    output: Tensor
    bias: Tensor | None


def cases_for(model: Any) -> list[Case]:
    """A padded batch of two texts longer than any window, padded right and, for a decoder, left; and a short text."""
    draw = torch.Generator().manual_seed(1)

    def pieces(count: int, rows: int = 2) -> Tensor:
        return torch.randint(5, VOCABULARY - 25, (rows, count), generator=draw)

    translating = model.config.is_encoder_decoder
    cases = []
    for side in ("right", "left"):
        ids, mask = pieces(LONG), torch.ones(2, LONG, dtype=torch.bool)
        padding = slice(SHORTER, None) if side == "right" else slice(0, LONG - SHORTER)
        mask[1, padding] = False
        ids[~mask] = PAD
        case = Case(f"padded {side}", {"input_ids": ids, "attention_mask": mask.long()}, mask)
        if translating:
            target = torch.ones(2, TARGET, dtype=torch.bool)
            target[1, TARGET - 3 :] = False
            case.inputs |= {"decoder_input_ids": pieces(TARGET), "decoder_attention_mask": target.long()}
            case.target = target
        if side == "right" or not translating:
            cases.append(case)
    short = Case("short", {"input_ids": pieces(SHORT, 1)}, torch.ones(1, SHORT, dtype=torch.bool))
    if translating:
        short.inputs["decoder_input_ids"], short.target = pieces(4, 1), torch.ones(1, 4, dtype=torch.bool)
    return [*cases, short]


def run(model: Any, case: Case, **options: Any) -> Any:
    """One pass, by the same lot where a model draws any."""
    torch.manual_seed(0)
    with torch.no_grad():
        return model(**case.inputs, **options)


def output_of(result: Any) -> Tensor:
    """The main output of a pass: logits where there are some, else the first states that it gives."""
    for name in ("logits", "last_hidden_state"):
        if isinstance(getattr(result, name, None), Tensor):
            return getattr(result, name).clone()  # type: ignore[no-any-return]
    tensors = [value for value in result.values() if isinstance(value, Tensor) and value.is_floating_point()]
    return tensors[0].clone()


def real(output: Tensor, case: Case) -> Tensor:
    """Output at real pieces."""
    mask = case.target if case.target is not None else case.own
    return output[mask] if output.shape[:2] == mask.shape else output


def truth_of(eager: Any, case: Case, **options: Any) -> Truth:
    """What the eager twin reports of a pass, by stream; where it reports nothing, what its own function gave back."""
    reports: dict[str, list[Tensor]] = {}
    with overheard() as calls:
        result = run(eager, case, output_attentions=True, **options)
    names = {
        "encoder_attentions": "encoder",
        "decoder_attentions": "decoder",
        "cross_attentions": "cross",
        "attentions": "",
    }
    for name, stream in names.items():
        reported = [layer for layer in getattr(result, name, None) or () if isinstance(layer, Tensor)]
        if eager.config.model_type in REPORTS_SCORES:
            reported = [layer.softmax(-1) for layer in reported]
        layers = [layer for layer in reported if is_softmax(layer)]
        if layers:
            reports[stream or _own_stream(eager, layers)] = layers
    if reports:
        return Truth(output_of(result), reports, "output_attentions")
    return Truth(output_of(result), {_own_stream(eager, calls): calls} if calls else {}, "eager_attention_forward")


def is_softmax(layer: Tensor) -> bool:
    """Whether what a layer reports are weights: linear attention reports numbers that are not."""
    return bool(layer.min() >= -1e-6) and bool(layer.float().sum(-1).max() <= 1 + 1e-3)


def _own_stream(model: Any, layers: list[Tensor]) -> str:
    """Whether a model that has one stream looks ahead."""
    square = [layer for layer in layers if layer.dim() == 4 and layer.shape[-1] == layer.shape[-2]]
    ahead = any(bool(layer[0].float().triu(1).abs().max() > 1e-9) for layer in square)
    return "encoder" if ahead else "decoder"


@contextmanager
def overheard() -> Iterator[list[Tensor]]:
    """The weights that the library's own eager functions give back, in the order of their calls."""
    calls: list[Tensor] = []

    def listening(function: Any) -> Any:
        def attend(*args: Any, **options: Any) -> Any:
            result = function(*args, **options)
            if isinstance(result, tuple) and len(result) > 1 and isinstance(result[1], Tensor):
                calls.append(result[1])
            return result

        return attend

    name = "eager_attention_forward"
    modules = [
        m for key, m in list(sys.modules.items()) if key.startswith("transformers.models.") and name in vars(m)
    ]
    kept = [(module, getattr(module, name)) for module in modules]
    try:
        for module, function in kept:
            setattr(module, name, listening(function))
        yield calls
    finally:
        for module, function in kept:
            setattr(module, name, function)


def projection_calls(model: Any, case: Case, own: str, fed: re.Pattern[str] | None = None) -> list[Call]:
    """The output projections of attention, found by their names, in the order in which one pass calls them; or the
    modules that are fed the heads instead."""
    translating = model.config.is_encoder_decoder
    calls: list[Call] = []
    handles = []
    for name, module in model.named_modules():
        parent = name.rpartition(".")[0]
        holder = type(model.get_submodule(parent)).__name__
        if not (fed or PROJECTIONS).search(name) or not ATTENTION.search(f"{parent} {holder}"):
            continue
        if NOT_TEXT.search(name) or RECURRENT.search(holder):
            continue
        if fed is None and not isinstance(module, nn.Linear) and type(module).__name__ not in LINEAR:
            continue
        stream = own
        if translating:
            stream = "cross" if CROSS.search(name) else "decoder" if "decoder" in name else "encoder"

        def note(module: nn.Module, args: Any, output: Tensor, name: str = name, stream: str = stream) -> None:
            turn = sum(call.module is module for call in calls)
            bias = getattr(module, "bias", None)
            calls.append(Call(module, name, stream, turn, args[0].shape[-1], output, bias))

        handles.append(module.register_forward_hook(note))
    try:
        run(model, case)
    finally:
        for handle in handles:
            handle.remove()
    return calls


@contextmanager
def zeroed(model: nn.Module, call: Call, head: int, width: int, beside: str = "") -> Iterator[None]:
    """A head's slice of what an output projection is fed is nought, at one call of a pass. Where a module ``beside``
    the attention adds something to every head, (batch, head, query, width), that something stays."""
    turn = 0
    added: Tensor | int = 0

    def cut(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        nonlocal turn
        turn += 1
        if turn - 1 != call.turn:
            return args
        fed = args[0].clone()
        fed[..., head * width : (head + 1) * width] = added
        return (fed, *args[1:])

    def keep(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        nonlocal added
        added = output[:, head]

    handles = [call.module.register_forward_pre_hook(cut)]
    if beside:
        block = call.name.rpartition(".attention.")[0]
        (name,) = (name for name, _ in model.named_modules() if name.startswith(block) and name.endswith(beside))
        handles.append(model.get_submodule(name).register_forward_hook(keep))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def without_part(model: nn.Module, name: str, head: int) -> Iterator[None]:
    """A head's part of a W_O that is one parameter, (hidden, head, width), is nought."""
    whole = model.get_parameter(name)
    kept = whole[:, head].clone()
    try:
        whole.data[:, head] = 0
        yield
    finally:
        whole.data[:, head] = kept


@contextmanager
def silenced(model: nn.Module, layer: int, head: int) -> Iterator[None]:
    """A head gives nought wherever the eager function of the model's own file is called for a layer: for families in
    which heads are mixed before a projection that could be found by its name."""
    home: Any = sys.modules[type(model).__module__]
    attend = home.eager_attention_forward

    def silent(module: nn.Module, *args: Any, **options: Any) -> Any:
        output, *more = attend(module, *args, **options)
        if module.layer_idx == layer:
            output = output.clone()
            output[:, :, head] = 0
        return output, *more

    home.eager_attention_forward = silent
    try:
        yield
    finally:
        home.eager_attention_forward = attend
