"""The questions that ``attlas doctor`` puts to a model, each a function of a :class:`Patient`.

A patient (:mod:`attlas.capture.patient`) is a model on the seam and the library's own eager attention to hold it
against: the same model switched over, or another one with the same weights (a tiny twin, :mod:`attlas.capture.tiny`).
Where a whole layer or model can be asked by one lot (some heads of every layer closed at once), it is; ``full`` asks
head by head.

A question that fails where the library's own two ways, fused and eager, differ just as much is not a fault of ours,
and counts as not asked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attlas.capture.check import (
    TEXTS,
    Finding,
    as_library,
    at_real_pieces,
    has_sinks,
    output_of,
    reported,
    room_of_one,
)
from attlas.capture.instruments import Gates, Override
from attlas.capture.patient import Heard, Patient, state_of
from attlas.capture.selection import Selection
from attlas.errors import AttlasError, CapabilityError
from attlas.ids import HeadId, Site, Stream
from attlas.models import Batch, Side
from attlas.models.depth import declared_layers
from attlas.models.hooks import Hooks
from attlas.models.seam import HEADS_LEFT

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

ASKED_LAYERS = {True: 2, False: 1}  # layers of a tiny twin, or of a whole model, asked one by one, unless all are
WRITTEN = {True: 3, False: 2}  # pieces that these are let write: the last step of each has a cache
_SILENT = "the library reports no weights for this family"
_AT_ODDS = "the library's own two ways, fused and eager, differ here: neither says what is true"
_STREAMED = "its layers are streamed, and this needs all of them in memory"
_BOUND = "a pruned model with a position bias runs at the seam alone"


def _bound(patient: Patient) -> bool:
    """Whether the seam hands a pruned model the part of its position bias that it needs."""
    subject = patient.subject
    return not subject.layout.private and any(hasattr(module, HEADS_LEFT) for module in subject.seam.sites)


def compared(name: str, patient: Patient, ours: Tensor, theirs: Tensor, batch: Batch | None = None) -> Finding:
    """Two outputs beside each other; with a batch the other is the library's, whose two ways must agree.

    >>> from attlas.capture import load
    >>> compared("the same", Patient(load()), torch.ones(1), torch.ones(1)).passed
    True
    """
    error = float((ours.float() - theirs.float()).abs().max())
    passed: bool | None = error <= patient.room(theirs)
    if not passed and batch is not None and not patient.agrees_with_itself(batch, theirs):
        return Finding(name, None, error, _AT_ODDS)
    return Finding(name, passed, error)


def _name(question: Callable[..., Finding]) -> str:
    """A question in words: what its docstring says."""
    return str(question.__doc__).strip()


def _untouched(patient: Patient) -> Finding:
    """untouched output equals the plain model's"""
    name = _name(_untouched)
    if _bound(patient):
        return Finding(name, None, note=_BOUND)
    return compared(name, patient, patient.plain, patient.library.output, patient.batch)


def _same_with_recorder(patient: Patient) -> Finding:
    """output is the same while recording"""
    return compared(_name(_same_with_recorder), patient, patient.recorded.output, patient.plain)


def _counted(patient: Patient) -> Finding:
    """layers are those of its configuration"""
    subject, name = patient.subject, _name(_counted)
    declared = declared_layers(subject.model.config, subject.streams)
    if not declared:
        return Finding(name, None, note="its configuration does not say how many there are")
    for stream, expected in declared.items():
        count = sum(site.stream is stream for site in subject.sites)
        if count != expected:
            return Finding(name, False, note=f"{count} of the {stream}, where its configuration has {expected}")
    return Finding(name, True)


def _eager_weights_equal(patient: Patient) -> Finding:
    """weights equal the eager model's"""
    name = _name(_eager_weights_equal)
    if _bound(patient):
        return Finding(name, None, note=_BOUND)
    seen = patient.recorded
    return _weights(name, patient, seen.weights, patient.library, patient.batch, seen.room)


def _weights(
    name: str, patient: Patient, ours: Mapping[Site, Tensor], theirs: Heard, batch: Batch, room: float
) -> Finding:
    """Weights beside those that the library reports: the same streams, layers, heads, and rows of real pieces."""
    if not theirs.weights:
        return Finding(name, None, note=_SILENT)
    lost, more = ([str(s) for s in a if s not in b] for a, b in ((theirs.weights, ours), (ours, theirs.weights)))
    if lost or more:
        return Finding(name, False, note=f"{(lost or more)[0]} is {'not seen' if lost else 'not there'}")
    worst = 0.0
    for site, known in theirs.weights.items():
        side = batch.queries(site.stream)
        assert side is not None
        if ours[site].shape != known.shape:
            shapes = f"{tuple(ours[site].shape)} where the library has {tuple(known.shape)}"
            return Finding(name, False, note=f"{site}: {shapes}")
        mine, true = (rows.transpose(1, 2)[side.real] for rows in (ours[site], known))
        if has_sinks(patient.subject):  # some families report rows before the sink has taken its part, some after
            read = (mine.sum(-1, keepdim=True) > 0.01) & (true.sum(-1, keepdim=True) > 0.01)  # else nothing is left
            mine, true = (torch.where(read, rows / rows.sum(-1, keepdim=True), 0.0) for rows in (mine, true))
        worst = max(worst, float((mine - true).abs().max().nan_to_num(float("inf"))))
    if worst > room and not patient.agrees_with_itself(batch, theirs.output):
        return Finding(name, None, worst, _AT_ODDS)
    return Finding(name, worst <= room, worst)


def _rows(patient: Patient) -> Finding:
    """rows sum to one"""
    worst = max(float((each.float().sum(-1) - 1).abs().max()) for each in patient.recorded.weights.values())
    if has_sinks(patient.subject):
        return Finding(_name(_rows), None, worst, "this family has sinks, which take a part of every row")
    return Finding(_name(_rows), worst <= room_of_one(patient.subject), worst)


def _mask_holds(patient: Patient) -> Finding:
    """nothing goes to padding or to what comes later"""
    worst = 0.0
    for site, weights in patient.recorded.weights.items():
        keys, queries = patient.batch.keys(site.stream), patient.batch.queries(site.stream)
        assert keys is not None
        assert queries is not None
        hidden = ~keys.real[:, None, None, :].expand_as(weights)
        if site.stream is Stream.DECODER:
            hidden = hidden | torch.ones_like(weights, dtype=torch.bool).triu(1)
        leaked = (weights * hidden).sum(-1).transpose(1, 2)[queries.real]
        worst = max(worst, float(leaked.max()))
    return Finding(_name(_mask_holds), worst <= 1e-6, worst)


def _outputs_follow(patient: Patient) -> Finding:
    """heads give the products of their weights and values"""
    seen = patient.recorded
    room = patient.room(torch.tensor(seen.largest))
    return Finding(_name(_outputs_follow), seen.apart <= room, seen.apart)


def _pairs(patient: Patient) -> Finding:
    """a sentence pair equals the eager model's"""
    name = _name(_pairs)
    if not patient.subject.pieces.pairs:
        return Finding(name, None, note="this model takes no sentence pairs")
    batch = patient.subject.batch([(TEXTS[0], TEXTS[1])])
    seen = patient.record(batch)
    return _weights(name, patient, seen.weights, patient.hear(batch), batch, seen.room)


def _left_padding(patient: Patient) -> Finding:
    """padded on the left the output is the eager model's, too"""
    name, turned = _name(_left_padding), patient.turned
    if patient.subject.pieces.own is not Stream.DECODER:
        return Finding(name, None, note="only decoders are padded on the left")
    if _bound(patient):
        return Finding(name, None, note=_BOUND)
    seen, theirs = turned.recorded, turned.library
    finding = compared(name, turned, seen.output, theirs.output, turned.batch)
    if not finding.passed or not theirs.weights:
        return finding
    return _weights(name, turned, seen.weights, theirs, turned.batch, seen.room)


def _gates(patient: Patient, *, full: bool = False) -> Finding:
    """a closed gate is a head cut out of W_O, and opening all changes nothing"""
    name, patient = _name(_gates), patient.brief
    subject, batch = patient.subject, patient.batch
    room, worst = patient.room(patient.plain), 0.0
    lots = _each_head(subject) if full else [_by_lot(subject, seed) for seed in range(2 if patient.tiny else 1)]
    for lot in lots:
        gated = patient.run(batch, Gates(lot))
        if torch.equal(gated, patient.plain):
            return Finding(name, False, note=f"closing heads of {next(iter(lot))} changes nothing")
        known = {site: xi for site, xi in lot.items() if site in subject.layout.projections}
        if len(known) < len(lot):
            gated = patient.run(batch, Gates(known))
        with _cut_out(subject, known):
            worst = max(worst, float((patient.run(batch) - gated).abs().max()))
    opened = patient.run(batch, Gates({site: torch.ones(subject.heads(site)) for site in subject.sites}))
    worst = max(worst, float((opened - patient.plain).abs().max()))
    return Finding(name, worst <= room, worst)


def _speaking(subject: Subject) -> list[Site]:
    """Sites that have heads left; a layer that lost all of them is silent."""
    return [site for site, kept in subject.kept.items() if kept]


def _by_lot(subject: Subject, seed: int) -> dict[Site, Tensor]:
    """About half of the heads of every site closed, one at least, and one left open where there are two."""
    draw = random.Random(seed)
    lot = {}
    for site in _speaking(subject):
        heads = subject.heads(site)
        closed = draw.sample(range(heads), max(1, heads // 2))
        lot[site] = torch.ones(heads).index_fill(0, torch.tensor(closed), 0.0)
    return lot


def _each_head(subject: Subject) -> Iterator[dict[Site, Tensor]]:
    for site in _speaking(subject):
        for head in range(subject.heads(site)):
            yield dict(Gates.closed([HeadId(*site, head)], subject.layout.heads).xi)


@contextmanager
def _cut_out(subject: Subject, lot: Mapping[Site, Tensor]) -> Iterator[None]:
    """The model with heads' parts of what W_O is fed multiplied by gates, for the length of a ``with`` block. A W_O
    that serves several layers is counted off."""
    served: dict[nn.Module, list[Site]] = {}
    for site in subject.sites:
        if site in subject.layout.projections:
            served.setdefault(subject.layout.projections[site], []).append(site)

    def cutting(sites: list[Site]) -> Callable[..., tuple[Any, ...]]:
        turn = 0

        def cut(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
            nonlocal turn
            site = sites[turn % len(sites)]
            turn += 1
            if site not in lot:
                return args
            xi = lot[site].to(args[0])
            return (args[0] * xi.repeat_interleave(args[0].shape[-1] // len(xi)), *args[1:])

        return cut

    with Hooks() as hooks:
        for projection, sites in served.items():
            hooks.before(projection, cutting(sites))
        yield


def _gradient(patient: Patient) -> Finding:
    """gates get a gradient"""
    subject, batch = patient.subject, patient.brief.batch
    try:
        subject.require_gradients()
    except CapabilityError as error:
        return Finding(_name(_gradient), None, note=str(error))
    xi = {site: torch.ones(subject.heads(site), requires_grad=True) for site in subject.sites}
    with torch.enable_grad(), subject.frozen(), subject.use(Gates(xi)):
        total = at_real_pieces(output_of(subject.run(batch)), batch).float().square().sum()
        slopes = torch.autograd.grad(total, list(xi.values()), allow_unused=True)
    speaking = _speaking(subject)
    missing = [
        site for site, slope in zip(xi, slopes, strict=True)
        if site in speaking and (slope is None or not bool(slope.any()))
    ]  # fmt: skip
    note = f"none reaches {missing[0]}" if missing else ""
    return Finding(_name(_gradient), not missing, note=note)


def _override(patient: Patient, *, full: bool = False) -> Finding:
    """frozen weights change nothing, uniform ones do"""
    patient = patient.brief
    subject, batch, plain = patient.subject, patient.batch, patient.plain
    frozen = patient.run(batch, Override.frozen(patient.recorded.weights))
    sites = _speaking(subject)
    asked = sites if full else random.Random(0).sample(sites, min(ASKED_LAYERS[patient.tiny], len(sites)))
    moved = all(
        not torch.equal(patient.run(batch, Override.uniform(Selection(layers=site))), plain) for site in asked
    )
    error = float((frozen - plain).abs().max())
    return Finding(_name(_override), error <= patient.room(plain) and moved, error)


def _projection(patient: Patient) -> Finding:
    """W_O is found: layers are rebuilt from weights, values and W_O"""
    subject, name = patient.subject, _name(_projection)
    if subject.layout.unproven:
        site, error = max(subject.layout.unproven.items(), key=lambda item: item[1])
        return Finding(name, False, error, f"what is fed the heads of {site} does not rebuild it: norms are refused")
    if not subject.has_norms:
        lost = sum(site not in subject.layout.projections for site in subject.sites)
        return Finding(name, None, note=f"not at {lost} of {len(subject.sites)} layers: norms will be refused")
    seen = patient.recorded
    if isinstance(seen.rebuilt, Exception):
        raise seen.rebuilt
    worst = max(seen.rebuilt.values())
    return Finding(name, worst <= patient.room(seen.output), worst)


def _queries(patient: Patient) -> Finding:
    """queries and keys can be seen"""
    seen = patient.subject.has_queries
    note = "" if seen else "its softmax is private: no neuron view, and statistics go by the matrix"
    return Finding(_name(_queries), True if seen else None, note=note)


SLOWER = {"torch": "torch's own kernel, several times slower", "matrix": "the matrix in some layers"}


def _fused(patient: Patient) -> Finding:
    """statistics without the matrix equal those with it"""
    worst = patient.recorded.fused
    if isinstance(worst, Exception):
        raise worst
    ways = patient.recorded.ways
    if not worst:
        note = f"statistics go by the matrix: {ways.get('matrix', 'nothing was seen')}"
        return Finding(_name(_fused), None, note=note)
    room = max(1e-4, 40 * torch.finfo(patient.subject.model.dtype).eps, patient.recorded.room)
    slow = ", ".join(f"by {SLOWER[way]}: {why}" for way, why in ways.items() if way in SLOWER)
    return Finding(_name(_fused), max(worst) <= room, max(worst), note=slow)


def _writing(patient: Patient) -> Finding:
    """what is seen while it writes is one pass over what was written"""
    subject, name = patient.subject, _name(_writing)
    if Stream.DECODER not in subject.streams or not subject.model.can_generate() or subject.missing:
        return Finding(name, None, note="it does not write")
    if subject.block is not None:
        return Finding(name, None, note=_STREAMED)
    prompt, written = TEXTS[0 if patient.tiny else 1], WRITTEN[patient.tiny]  # a twin has windows to leave behind
    options: dict[str, Any] = {"min_new_tokens": written, "do_sample": False, "num_beams": 1}
    more = {"max_new_tokens": written, "max_length": None, "return_dict_in_generate": True, "output_attentions": True}
    given = subject.batch([prompt])
    model: Any = subject.model if patient.eager is None else patient.eager
    try:
        with torch.no_grad(), subject.seam.alone(), as_library(model, "eager"):
            said_by_library = model.generate(**given.inputs, **options, **more)
    except Exception as error:
        return Finding(name, None, note=f"the library itself does not write ({said(error)})")
    if said_by_library.sequences.dim() != 2:
        return Finding(name, None, note="what it writes is no text")
    batch = _as_read(given, said_by_library.sequences[:, :-1])
    seen = subject.look_generating(prompt, max_new_pieces=written, **options)
    ours = {
        Site(stream, layer): weights[number][None, : subject.heads(Site(stream, layer))]
        for stream, weights in seen.weights.items()
        for number, layer in enumerate(seen.layers[stream])
    }
    whole, room = patient.hear(batch), patient.recorded.room
    finding = _weights(name, patient, ours, whole, batch, room)
    if finding.passed is False:
        in_steps = Heard(whole.output, {**whole.weights, **_of_steps(said_by_library, batch)})
        again = _weights(name, patient, ours, in_steps, batch, room)
        if again.passed:
            note = f"as in the library's own steps, which are {finding.error or 0:.0e} from its pass"
            return Finding(name, True, again.error, note)
    return finding


def _as_read(given: Batch, read: Tensor) -> Batch:
    """What was written as one pass over it, by a decoder alone or beside the source."""
    assert given.source is not None
    side = Side(given.source.encoded, torch.ones_like(read, dtype=torch.bool))
    if given.own is Stream.ENCODER:
        return Batch({**given.inputs, "decoder_input_ids": read}, given.source, side, given.own)
    return Batch({"input_ids": read}, side, None, given.own)


def _of_steps(generated: Any, batch: Batch) -> dict[Site, Tensor]:
    """The weights of a decoder that the library's own steps report, each row where its query stands."""
    names = ("attentions", "decoder_attentions", "cross_attentions")
    kinds = {name: getattr(generated, name) for name in names if getattr(generated, name, None)}
    strips: dict[Site, list[Tensor]] = {}
    for step in range(len(next(iter(kinds.values()), ()))):
        told = SimpleNamespace(**{name: steps[step] for name, steps in kinds.items()})
        for site, strip in reported(told, batch).items():
            strips.setdefault(site, []).append(strip)
    laid = {}
    for site, parts in strips.items():
        stop, rows = 0, []
        queries, keys = batch.queries(site.stream), batch.keys(site.stream)
        assert queries is not None
        assert keys is not None
        total = keys.real.shape[1]
        for part in parts:
            stop += part.shape[2]
            dropped = 0 if site.stream is Stream.CROSS else max(0, stop - part.shape[3])  # by a cache that slides
            rows.append(nn.functional.pad(part, (dropped, total - dropped - part.shape[3])))
        laid[site] = torch.cat(rows, 2)[:, :, -queries.real.shape[1] :]
    return laid


def _as_it_was(patient: Patient) -> Finding:
    """the model is as it was before it was looked at"""
    name, now = _name(_as_it_was), state_of(patient.subject.model)
    changed = [what for what, before in patient.state.items() if now[what] != before]
    if changed or patient.subject.model.training or patient.subject.seam.instruments:
        return Finding(name, False, note=f"left behind: {', '.join(changed) or 'an instrument, or training mode'}")
    patient = patient.brief
    return compared(name, patient, patient.run(patient.batch), patient.plain)


QUESTIONS: tuple[Callable[..., Finding], ...] = (
    _untouched, _same_with_recorder, _counted, _eager_weights_equal, _rows, _mask_holds, _outputs_follow, _pairs,
    _left_padding, _gates, _gradient, _override, _projection, _queries, _fused, _writing, _as_it_was,
)  # fmt: skip
_BY_HEAD = (_gates, _override)


def answers(
    patient: Patient, *, full: bool = False, advance: Callable[[str], object] = lambda question: None
) -> list[Finding]:
    """Put all questions to a patient; what raises an error has failed.

    >>> from attlas.capture import load
    >>> {finding.passed for finding in answers(Patient(load()))} == {True, None}
    True
    """
    with suppress(Exception):  # which the first question tells of
        _ = patient.brief.plain  # before anything was put on the model: the last question goes by it
    findings = []
    for question in QUESTIONS:
        name = _name(question)
        try:
            findings.append(question(patient, full=full) if question in _BY_HEAD else question(patient))
        except Exception as error:
            findings.append(Finding(name, False, note=said(error)))
        advance(name)
    return findings


def said(error: Exception) -> str:
    """What an error says, in a line: a sentence of our own, or that of another with its kind.

    >>> said(AttlasError("it has no decoder")), said(KeyError("site"))
    ('it has no decoder', "KeyError: 'site'")
    """
    told = (str(error).splitlines() or [""])[0][:120]
    return told if isinstance(error, AttlasError) else f"{type(error).__name__}: {told}"
