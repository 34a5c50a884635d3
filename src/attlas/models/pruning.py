"""Heads taken out of the weights: queries, keys, values and the output matrix, so that a model is really smaller.

A :class:`Plan` says, by the names of modules, which columns of which matrix stay. It is made by looking
(:mod:`attlas.models.projections`) and can be carried out on any model of the same class and configuration, also on
one whose weights are not read yet: that is how a pruned folder is opened again. What was kept stands in the
configuration (:data:`RECORD`), in the numbers that heads had in the whole model.

Three things are worth knowing. Heads that share keys and values go as a group or not at all. A layer that
loses all its heads keeps the shape of one group with an output matrix of zeros, since the model library cannot
reshape nothing: its attention adds the output bias and no more. And where a family computes the width of a head from
their number (BERT, GPT-2, Marian ...) only attlas can open the smaller model; where it does not (Llama, Qwen, Gemma
...) and all layers keep equally many, the configuration itself says so and any program can.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attlas.errors import CapabilityError, ModelError
from attlas.ids import Site, Stream
from attlas.models.projections import Users, find_users
from attlas.models.seam import HEADS_LEFT
from attlas.models.sites import Layout

if TYPE_CHECKING:
    from transformers import PreTrainedModel

RECORD = "attlas_pruned"

# What modules and configurations call these three numbers; changed only where the value is what it was before.
HEADS = ("num_attention_heads", "num_heads", "n_heads", "n_head")
GROUPS = ("num_key_value_heads", "num_kv_heads", "multi_query_group_num")
WIDTHS = ("all_head_size", "inner_dim", "split_size", "embed_dim", "kv_inner_dim")

Kept = dict[Site, tuple[int, ...]]


@dataclass(frozen=True)
class Plan:
    """What to cut, by the names of modules.

    ``columns`` are the outputs that a linear module keeps, ``inputs`` those that an output matrix keeps,
    ``silent`` the output matrices of layers without a head, ``attributes`` what attention modules are to be told,
    ``sinks`` parameters with one number per head, ``left`` how many heads a position bias is made for and which of
    them are there, ``heads`` how many there are at each site afterwards.

    >>> Plan({}, {}, set(), {}, {}, {}, {}).columns
    {}
    """

    columns: dict[str, Tensor]
    inputs: dict[str, Tensor]
    silent: set[str]
    attributes: dict[str, dict[str, int]]
    sinks: dict[str, Tensor]
    left: dict[str, tuple[int, list[int]]]
    heads: dict[Site, int]
    private: bool = False


def cut(
    model: PreTrainedModel, layout: Layout, kept: Mapping[Site, Sequence[int]], inputs: dict[str, Tensor]
) -> Layout:
    """Take all heads but those kept out of the weights of a model, in place; sites not named keep all of theirs.

    The model must have no seam on it. What was kept is written into its configuration.

    >>> from attlas.models.adopting import adopt, probing_inputs
    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> model, site = BertModel(BertConfig(**small)), Site(Stream.ENCODER, 0)
    >>> cut(model, adopt("tiny", model, None).layout, {site: [1]}, probing_inputs(model)).heads[site]
    1
    >>> model.encoder.layer[0].attention.self.query.weight.shape, kept_heads(model.config)[site]
    (torch.Size([4, 8]), (1,))
    """
    before = kept_heads(model.config) or {site: tuple(range(count)) for site, count in layout.heads.items()}
    now = {site: tuple(sorted(set(kept.get(site, range(count))))) for site, count in layout.heads.items()}
    unknown = [site for site in kept if site not in layout.heads]
    if unknown:
        raise CapabilityError(f"{type(model).__name__} has no {unknown[0]}")
    now |= {site: () for site in now if not before[site]}
    users = find_users(model, layout, inputs)
    made = _plan(model, layout, now, users)
    carry_out(model, made)
    record = {site: tuple(before[site][head] for head in heads) for site, heads in now.items()}
    whole = _whole_numbers(model.config, layout, users)
    _write(model.config, record, whole, plain=False)
    counts = {(made.heads[site], _groups_left(users, site, now[site])) for site in made.heads}
    if len(counts) == 1 and not made.left and all(now.values()):
        _say_plainly(model, counts.pop(), record, whole, inputs)
    return replace(layout, heads=dict(made.heads))


def plan_of(model: PreTrainedModel, layout: Layout, inputs: dict[str, Tensor]) -> Plan:
    """The plan that makes of a whole model what its configuration's record says was kept.

    >>> from attlas.models.adopting import adopt, probing_inputs
    >>> from transformers import BertConfig, BertModel
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> model = BertModel(BertConfig(**small, attlas_pruned={"kept": {"encoder": [[1]]}, "plain": False}))
    >>> list(plan_of(model, adopt("tiny", model, None).layout, probing_inputs(model)).heads.values())
    [1]
    """
    kept = kept_heads(model.config)
    if kept is None or set(kept) != set(layout.heads):
        raise ModelError(
            f"the record {RECORD!r} in the configuration does not fit the layers of {type(model).__name__}; "
            "the folder may be damaged, so prune the whole model again"
        )
    return _plan(model, layout, kept, find_users(model, layout, inputs))


def kept_heads(config: Any) -> Kept | None:
    """What the configuration of a pruned model says was kept, in the whole model's numbers; None for a whole model.

    >>> from transformers import BertConfig
    >>> kept_heads(BertConfig()) is None
    True
    >>> kept_heads(BertConfig(attlas_pruned={"kept": {"encoder": [[0, 3], []]}, "plain": False}))
    {Site(stream=<Stream.ENCODER: 'encoder'>, layer=0): (0, 3), Site(stream=<Stream.ENCODER: 'encoder'>, layer=1): ()}
    """
    record = getattr(config, RECORD, None)
    if record is None:
        return None
    try:
        return {
            Site(Stream(stream), layer): tuple(int(head) for head in heads)
            for stream, layers in record["kept"].items()
            for layer, heads in enumerate(layers)
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"the record {RECORD!r} in the configuration cannot be read ({error!r})") from error


def loads_plainly(config: Any) -> bool:
    """Whether the model of a configuration can be opened by any program: whole, or pruned evenly in a family whose
    configuration can say so.

    >>> from transformers import BertConfig
    >>> loads_plainly(BertConfig()), loads_plainly(BertConfig(attlas_pruned={"kept": {}, "plain": False}))
    (True, False)
    """
    record = getattr(config, RECORD, None)
    return record is None or bool(record.get("plain"))


def carry_out(model: nn.Module, plan: Plan) -> None:
    """Cut a model to a plan, in place.

    >>> model = nn.Sequential(nn.Linear(4, 6))
    >>> carry_out(model, Plan({"0": torch.tensor([0, 1, 4])}, {}, set(), {}, {}, {}, {}))
    >>> model[0]
    Linear(in_features=4, out_features=3, bias=True)
    """
    for name, keep in plan.columns.items():
        _keep_outputs(model.get_submodule(name), keep)
    for name, keep in plan.inputs.items():
        _keep_inputs(model.get_submodule(name), keep, silent=name in plan.silent)
    for name, attributes in plan.attributes.items():
        for attribute, value in attributes.items():
            setattr(model.get_submodule(name), attribute, value)
    for name, keep in plan.sinks.items():
        owner, _, parameter = name.rpartition(".")
        module = model.get_submodule(owner)
        setattr(module, parameter, _part(getattr(module, parameter), keep, 0))
    for name, left in plan.left.items():
        module = model.get_submodule(name)
        if plan.private and not hasattr(module, HEADS_LEFT):  # the seam does it for all others
            module.register_forward_pre_hook(_narrow, with_kwargs=True)
        setattr(module, HEADS_LEFT, left)


def _plan(model: nn.Module, layout: Layout, kept: Mapping[Site, Sequence[int]], users: Users) -> Plan:
    """Which columns go: those that only heads use that go."""
    names = {module: name for name, module in model.named_modules()}
    label = type(model).__name__
    stays: dict[Site, list[int]] = {}
    for site, heads in kept.items():
        wrong = [head for head in heads if not 0 <= head < layout.heads[site]]
        if wrong:
            raise CapabilityError(
                f"{label} has no head {wrong[0]} at {site}; it has heads 0 to {layout.heads[site] - 1}"
            )
        for group in users.groups[site]:
            if 0 < len(set(group) & set(heads)) < len(group):
                some = ", ".join(str(head) for head in group)
                raise CapabilityError(
                    f"{label}: heads {some} of {site} share their keys and values, and only whole groups can be "
                    "taken out of the weights; cut all of them or none (gates can close single ones)"
                )
        stays[site] = sorted(heads) or list(users.groups[site][0])
    for sites in layout.modules.values():
        if len({tuple(kept[site]) for site in sites}) > 1:
            raise CapabilityError(
                f"{label}: {len(sites)} layers share one matrix, so a head can only be taken out of all of them "
                "(gates can close it in one)"
            )
    lost = {site: sorted(set(range(layout.heads[site])) - set(stays[site])) for site in stays}
    columns: dict[str, Tensor] = {}
    for module, found in users.columns.items():
        used = torch.stack([rows.any(0) for rows in found.values()]).any(0)
        needed = torch.stack([rows[stays[site]].any(0) for site, rows in found.items()]).any(0)
        if bool((used & ~needed).any()):
            columns[names[module]] = (needed | ~used).nonzero().flatten()
    made = Plan(columns, {}, set(), {}, {}, {}, {site: len(stays[site]) for site in layout.heads}, layout.private)
    for module, sites in layout.modules.items():
        site, name = sites[0], names[module]
        if kept[site] and not lost[site]:
            continue
        projection = names[_output(layout, site, label)]
        made.inputs[projection] = _head_columns(layout, site, stays[site])
        if not kept[site]:
            made.silent.add(projection)
        if lost[site]:
            biased = site in users.biased
            made.attributes[name] = _attributes(module, layout, site, users, stays[site], biased)
            if site in users.sinks:
                made.sinks[f"{name}.{users.sinks[site]}"] = torch.tensor(stays[site])
            if biased or layout.private:
                total, earlier = getattr(module, HEADS_LEFT, (layout.heads[site], range(layout.heads[site])))
                made.left[name] = (total, [earlier[head] for head in stays[site]])
    return made


def _attributes(
    module: nn.Module, layout: Layout, site: Site, users: Users, stays: list[int], biased: bool
) -> dict[str, int]:
    """What an attention module must be told anew; one with a position bias goes on making it for all heads."""
    heads, width = layout.heads[site], _inputs(layout.projections[site]) // layout.heads[site]
    groups = len(users.groups[site])
    per_group = heads // groups
    changes = {name: (heads * width, len(stays) * width) for name in WIDTHS}
    if not biased:
        changes |= {name: (heads, len(stays)) for name in HEADS}
        changes |= {name: (groups, len(stays) // per_group) for name in GROUPS}
    return {
        name: after for name, (before, after) in changes.items() if getattr(module, name, None) == before != after
    }


def _output(layout: Layout, site: Site, label: str) -> nn.Module:
    if site not in layout.projections:
        raise CapabilityError(
            f"{label}: no matrix W_O takes the heads of {site} as they leave attention (a gate, a norm, a "
            "convolution or a router comes between, or it is no linear layer), so heads cannot be taken out of the "
            "weights; gates can close them"
        )
    return layout.projections[site]


def _head_columns(layout: Layout, site: Site, heads: Sequence[int]) -> Tensor:
    """The inputs of W_O that some heads feed."""
    width = _inputs(layout.projections[site]) // layout.heads[site]
    return torch.cat([torch.arange(head * width, (head + 1) * width) for head in heads])


def _inputs(projection: nn.Module) -> int:
    weight: Tensor = projection.weight  # type: ignore[assignment]
    return weight.shape[1] if isinstance(projection, nn.Linear) else weight.shape[0]


def _groups_left(users: Users, site: Site, heads: Sequence[int]) -> int:
    return sum(group[0] in heads for group in users.groups[site])


def _part(parameter: Tensor, keep: Tensor, axis: int) -> nn.Parameter:
    part = parameter.detach().index_select(axis, keep.to(parameter.device)).clone()
    return nn.Parameter(part, requires_grad=parameter.requires_grad)


def _keep_outputs(module: nn.Module, keep: Tensor) -> None:
    linear = isinstance(module, nn.Linear)
    module.weight = _part(module.weight, keep, 0 if linear else 1)  # type: ignore[arg-type]
    if isinstance(module.bias, Tensor):
        module.bias = _part(module.bias, keep, 0)
    setattr(module, "out_features" if linear else "nf", len(keep))


def _keep_inputs(module: nn.Module, keep: Tensor, *, silent: bool) -> None:
    linear = isinstance(module, nn.Linear)
    module.weight = _part(module.weight, keep, 1 if linear else 0)  # type: ignore[arg-type]
    if silent:
        with torch.no_grad():
            module.weight.zero_()
    setattr(module, "in_features" if linear else "nx", len(keep))


def _narrow(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Of a position bias that a private family makes for all heads, hand on that of the heads which are left."""
    total, left = getattr(module, HEADS_LEFT)

    def part(given: Any) -> Any:
        bias = isinstance(given, Tensor) and given.dim() == 4 and given.shape[1] == total
        return given[:, left] if bias else given

    return tuple(part(given) for given in args), {name: part(given) for name, given in kwargs.items()}


def _say_plainly(
    model: PreTrainedModel, counts: tuple[int, int], kept: Kept, whole: dict[str, int], inputs: dict[str, Tensor]
) -> None:
    """Let the configuration itself say how many heads there are, if the library can build that: we try and see."""
    config = copy.deepcopy(model.config)
    _tell(config, {name: counts[name in GROUPS] for name in whole})
    config._attn_implementation = "eager"
    try:
        written = type(config).from_dict(json.loads(config.to_json_string()))  # as it will be read from its file
        with torch.device("meta"):
            shapes = {name: tensor.shape for name, tensor in type(model)(written).state_dict().items()}
        if shapes != {name: tensor.shape for name, tensor in model.state_dict().items()}:
            return
        fresh = type(model)(written).to(device=model.device, dtype=model.dtype)  # type: ignore[call-arg]
        fresh.load_state_dict(model.state_dict())
        with torch.no_grad():
            ours, theirs = model(**inputs)[0], fresh.train(False)(**inputs)[0]
    except Exception:  # the library refuses in many ways, and all of them mean no
        return
    if torch.allclose(ours, theirs, rtol=1e-3, atol=1e-3 * float(ours.abs().max())):
        _tell(model.config, {name: counts[name in GROUPS] for name in whole})
        _write(model.config, kept, whole, plain=True)


def _whole_numbers(config: Any, layout: Layout, users: Users) -> dict[str, int]:
    """How many heads and groups the configuration of the whole model speaks of, by the names it has for them."""
    record = getattr(config, RECORD, None)
    if record is not None:
        numbers: dict[str, int] = record["whole"]
        return numbers
    site = next(iter(layout.heads))
    counts = [dict.fromkeys(HEADS, layout.heads[site]), dict.fromkeys(GROUPS, len(users.groups[site]))]
    text = config.get_text_config()
    known = {name: count for names in counts for name, count in names.items() if getattr(text, name, None) == count}
    aliases = getattr(text, "attribute_map", {})
    return {name: count for name, count in known.items() if name not in aliases}


def _tell(config: Any, numbers: Mapping[str, int]) -> None:
    for name, number in numbers.items():
        setattr(config.get_text_config(), name, number)


def _write(config: Any, kept: Kept, whole: dict[str, int], *, plain: bool) -> None:
    """Record what was kept; a configuration that cannot say it plainly speaks of the whole model."""
    layers: dict[str, list[list[int]]] = {}
    for site, heads in kept.items():
        layers.setdefault(site.stream.value, []).append(list(heads))
    if not plain:
        _tell(config, whole)
    setattr(config, RECORD, {"kept": layers, "whole": whole, "plain": plain})
