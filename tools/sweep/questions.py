"""What is asked of a family: attlas against the model library, and never against attlas's own arithmetic.

A tiny model is built twice with the same weights: *plain*, which attlas adopts, and *eager*, which stays the library's
own and says what is true. Weights are those that the eager twin reports (``output_attentions``), or, where it reports
none, those that its own ``eager_attention_forward`` gives back. A closed head is a slice of nought in what the eager
twin's output projection is fed, and that projection is found by its name. What is seen while writing is one full pass of
the eager twin over all that was written.

Every answer is *exact*, *wrong* (with the number), *refused* (with the sentence), a *traceback* (its last line), or *not
asked* (with the reason).
"""

from __future__ import annotations

import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tools.sweep.building import EOS, PAD, VOCABULARY, WIDTH, build, twin_of
from tools.sweep.families import Family

EXACT, WRONG, REFUSED, TRACEBACK, NOT_ASKED, NO = "exact", "wrong", "refused", "traceback", "not asked", "says no"
TOLERANCE = 1e-5
LONG, SHORTER, SHORT, TARGET = 26, 11, 5, 9
PROJECTIONS = re.compile(
    r"(^|\.)(o_proj|out_proj|dense|c_proj|wo|o|out_lin|out_layer|to_out|linear_out|o_lin|proj_out|attn_out|project_out"
    r"|dense_output|output_linear|output_projection|resid_proj|attention_out|out)(\.0|\.linear)?$"
)
ATTENTION = re.compile(r"attn|attention|mixer", re.IGNORECASE)
NOT_TEXT = re.compile(
    r"vision|visual|image|audio|speech|linear_attn|mamba|experts|mlp|patcher|qformer|bottleneck|indexer", re.IGNORECASE
)
RECURRENT = re.compile(r"Linear(?!$)|Lightning|Mamba|Delta|Recurrent|Conv|KDA|Mixer2|SSM")  # classes that are no attention
CROSS = re.compile(r"cross|encoder_attn|encdec|enc_dec|encoderattention", re.IGNORECASE)
# Families whose heads do not go into W_O as they are: the module that is fed them instead (a norm of all heads), and the
# width of a head where W_O takes more than heads.
FED = {"bitnet": re.compile(r"attn_sub_norm$")}
HEAD_WIDTHS = {"convbert": WIDTH}
# Questions of the doctor whose answer is "no" for every family with a private softmax.
EXPECTED_NO = {"queries and keys can be seen"}


@dataclass
class Answer:
    """What came out of one question."""

    verdict: str
    number: float | None = None
    note: str = ""


@dataclass
class Sheet:
    """All answers of one family, and the class that follows from them."""

    family: str
    model: str
    answers: dict[str, Answer] = field(default_factory=dict)
    way: str = ""
    streams: str = ""
    reason: str = ""
    text_alone: bool = True
    library: float | None = None  # how far the library's own two ways, plain and eager, are apart
    said_by: str = ""

    @property
    def kind(self) -> str:
        """The class of a family."""
        verdicts = {answer.verdict for answer in self.answers.values()}
        if self.reason:
            return "not built"
        if WRONG in verdicts:
            return "wrong"
        if TRACEBACK in verdicts:
            return "traceback"
        if self.answers["adopt"].verdict == REFUSED:
            return "refused"
        return "fallback" if self.way == "softmax" else "exact"

    def row(self) -> dict[str, Any]:
        """One line of the table."""
        return {"family": self.family, "model": self.model, "class": self.kind, "way": self.way, "streams": self.streams,
                "reason": self.reason, "text_alone": self.text_alone, "library": self.library, "said_by": self.said_by,
                "answers": {name: asdict(answer) for name, answer in self.answers.items()}}  # fmt: skip


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


def asked(family: Family) -> Sheet:
    """All answers of a family. What is wrong by little is asked again in double precision, which tells a fault from the
    rounding of large scores."""
    sheet = ask(family)
    little = [name for name, a in sheet.answers.items() if a.verdict == WRONG and a.number is not None and a.number < 1e-2]
    again = ask(family, torch.float64).answers if little else {}
    for name in little:
        if name in again and again[name].verdict == EXACT:
            rounding = f"{sheet.answers[name].number:.1e} in float32, by rounding"
            sheet.answers[name] = Answer(EXACT, again[name].number, rounding)
    return sheet


def ask(family: Family, dtype: torch.dtype = torch.float32) -> Sheet:
    """Put all questions to a family; one that cannot be built says why."""
    sheet = Sheet(family.kind, family.model)
    try:
        plain = build(family, dtype=dtype)
        eager = twin_of(plain, "eager")
    except Exception as error:
        sheet.reason = last_line(error)
        return sheet
    cases = cases_for(eager)
    try:
        before = {case.name: output_of(run(plain, case)) for case in cases}
        truths = {case.name: truth_of(eager, case) for case in cases}
    except Exception as error:
        sheet.text_alone = False
        sheet.reason = "" if wants_more(error) else f"does not run: {last_line(error)}"
        if not sheet.reason:
            sheet.answers["adopt"] = refusal_of(lambda: adopt(plain, family))
            sheet.answers["adopt"].note += f" [the model itself: {last_line(error)}]"
        return sheet
    sheet.library = max(relative(real(before[c.name], c), real(truths[c.name].output, c)) for c in cases)
    sheet.said_by = truths[cases[0].name].said_by
    _Questions(sheet, family, plain, eager, cases, before, truths).ask()
    return sheet


class _Questions:
    """The questions, which share a model, its twin, and what is true."""

    def __init__(
        self, sheet: Sheet, family: Family, plain: Any, eager: Any, cases: list[Case], before: dict[str, Tensor],
        truths: dict[str, Truth],
    ) -> None:  # fmt: skip
        self.sheet, self.family, self.plain, self.eager = sheet, family, plain, eager
        self.cases, self.before, self.truths = cases, before, truths
        self.words = tokenizer()

    def ask(self) -> None:
        """Ask all; without a subject only what a refusal must leave as it was."""
        self.subject: Any = None
        self.put("adopt", self.adopted)
        if self.subject is None:
            self.put("untouched", lambda: self.same_bits({c.name: self.before[c.name] for c in self.cases}))
        else:
            self.sheet.way = "softmax" if self.subject.layout.private else "seam"
            self.sheet.streams = ", ".join(
                f"{stream} {len([s for s in self.subject.sites if s.stream is stream])}" for stream in self.subject.streams
            )
            self.put("untouched", self.untouched)
            self.put("watched", self.watched)
            self.put("weights", lambda: self.weights(self.subject))
            self.put("gates", self.gates)
            self.put("norms", self.norms)
            self.put("generation", self.generation)
            self.put("doctor", self.doctor)
            self.put("after the doctor", self.after_the_doctor)
        self.put("load", self.loaded)

    def put(self, name: str, question: Callable[[], Answer]) -> None:
        """Ask one question; whatever is raised is an answer too."""
        self.sheet.answers[name] = answered(question)

    def adopted(self) -> Answer:
        self.subject = adopt(self.plain, self.family)
        return Answer(EXACT)

    def untouched(self) -> Answer:
        """The same bits as before adoption; for a private softmax, those of the eager model."""
        private = self.subject.layout.private
        return self.same_bits({c.name: self.truths[c.name].output if private else self.before[c.name] for c in self.cases})

    def same_bits(self, expected: dict[str, Tensor]) -> Answer:
        worst, note = 0.0, ""
        for case in self.cases:
            ours = output_of(run(self.plain, case))
            apart = distance(real(ours, case), real(expected[case.name], case))
            if apart > worst:
                worst, note = apart, f"another output after adoption ({case.name})"
        if 0 < worst <= TOLERANCE:
            note += ": the same but for rounding, and not the same bits"
        return Answer(EXACT if worst == 0 else WRONG, worst, note)

    def watched(self) -> Answer:
        from attlas.capture import Recorder

        worst, note = 0.0, ""
        for case in self.cases:
            plain = self.truths[case.name].output if self.subject.layout.private else self.before[case.name]
            with self.subject.use(Recorder(["weights"])):
                apart = relative(real(output_of(run(self.plain, case)), case), real(plain, case))
            if apart > worst:
                worst, note = apart, f"another output while watched ({case.name})"
        return judged(worst, note)

    def weights(self, subject: Any, truths: dict[str, Truth] | None = None) -> Answer:
        from attlas.capture import Recorder

        answers = []
        for case in self.cases:
            recorder = Recorder(["weights"])
            with subject.use(recorder):
                run(subject.model, case)
            ours: dict[str, list[Tensor]] = {}
            for site in sorted(recorder.kept, key=lambda site: site.layer):
                kept = recorder.kept[site]["weights"]
                if len(kept) != 1:
                    return Answer(WRONG, None, f"{site} was recorded {len(kept)} times in one pass")
                ours.setdefault(site.stream.value, []).append(kept[0])
            answers.append(compared(ours, (truths or self.truths)[case.name], case))
        return worst_of(answers)

    def gates(self) -> Answer:
        from attlas.capture import Gates
        from attlas.ids import HeadId, Site, Stream

        case = self.cases[0]
        truth = self.truths[case.name]
        calls = projection_calls(self.eager, case, self.own, FED.get(self.family.kind))
        answers = []
        for stream, layers in truth.weights.items():
            here = [call for call in calls if call.stream == stream]
            if len(here) != len(layers):
                answers.append(Answer(NOT_ASKED, None, f"{len(here)} output projections by name for {len(layers)} layers of the {stream}"))
                continue
            for layer, (call, weights) in enumerate(zip(here, layers, strict=True)):
                heads = weights.shape[1]
                width = HEAD_WIDTHS.get(self.family.kind, call.width // heads)
                if call.width % heads:
                    answers.append(Answer(NOT_ASKED, None, f"{call.name} takes {call.width} numbers, which {heads} heads do not share"))
                    continue
                site = Site(Stream(stream), layer)
                for head in {0, heads - 1}:
                    with zeroed(call, head, width):
                        cut = output_of(run(self.eager, case))
                    with self.subject.use(Gates.closed([HeadId(*site, head)], self.subject.layout.heads)):
                        ours = output_of(run(self.plain, case))
                    effect = relative(real(cut, case), real(truth.output, case))
                    apart = relative(real(ours, case), real(cut, case))
                    note = f"closing head {head} of {site}; the true effect is {effect:.0e}"
                    answers.append(judged(apart, note) if effect > 10 * TOLERANCE else Answer(NOT_ASKED, None, f"closing head {head} of {site} has no effect"))
        return worst_of(answers)

    @property
    def own(self) -> str:
        """The stream of a model that has one."""
        streams = list(self.truths[self.cases[0].name].weights)
        return streams[0] if len(streams) == 1 else "decoder"

    def norms(self) -> Answer:
        from attlas.ids import Site, Stream

        text, target = self.texts()
        capture = self.subject.look(text, target) if target else self.subject.look(text)
        if not self.subject.has_norms:
            self.subject.require("norms")
        ids = self.inputs_of(text, target)
        case = Case("look", ids, torch.ones_like(ids["input_ids"], dtype=torch.bool))
        calls = projection_calls(self.eager, case, self.own)
        answers = []
        for stream, weights in capture.weights.items():
            here = [call for call in calls if call.stream == stream.value]
            if len(here) != len(weights):
                answers.append(Answer(NOT_ASKED, None, f"{len(here)} output projections by name for {len(weights)} layers of the {stream}"))
                continue
            for layer, call in enumerate(here):
                site = Site(Stream(stream), capture.layers[stream][layer])
                matrix = self.subject.output_matrix(site)
                vectors = torch.einsum("hqk,hkw,hwd->hqkd", weights[layer], capture.values[stream][layer], matrix)
                lengths = distance(capture.norms[stream][layer], vectors.norm(dim=-1))
                rebuilt = vectors.sum((0, 2))
                apart = relative(rebuilt, call.output[0] - (0 if call.bias is None else call.bias))
                answers.append(judged(max(apart, lengths), f"{site} is not rebuilt from weights, values and W_O"))
        return worst_of(answers)

    def generation(self) -> Answer:
        if not self.eager.can_generate():
            return Answer(NOT_ASKED, None, "it does not write")
        if "decoder" not in self.sheet.streams:
            return Answer(NOT_ASKED, None, "it has no decoder")
        text, _ = self.texts()
        ids = self.inputs_of(text, None)
        options = {"do_sample": False, "num_beams": 1, "max_new_tokens": 5, "max_length": None}
        try:
            with torch.no_grad(), overheard() as steps:
                written = self.eager.generate(**ids, attention_mask=torch.ones_like(ids["input_ids"]), **options)
        except Exception as error:
            return Answer(NOT_ASKED, None, f"the library itself does not write: {last_line(error)}")
        capture = self.subject.look_generating(text, max_new_pieces=5)
        if self.eager.config.is_encoder_decoder:
            whole = {**ids, "decoder_input_ids": written[:, :-1]}
        else:
            whole = {"input_ids": written[:, :-1]}
        case = Case("written", whole, torch.ones_like(whole["input_ids"], dtype=torch.bool))
        truth = truth_of(self.eager, case)
        ours = {stream.value: [layer[None] for layer in weights] for stream, weights in capture.weights.items()}
        answer = compared(ours, truth, case)
        if answer.verdict == WRONG and answer.number is not None and self.as_in_steps(ours, steps):
            note = f"as in the library's own steps, which are {answer.number:.1e} from its full pass"
            return Answer(EXACT, None, note)
        return answer

    def as_in_steps(self, ours: dict[str, list[Tensor]], steps: list[Tensor]) -> bool:
        """Whether the rows that were seen are those of the library's own steps, where these differ from a full pass."""
        layers = ours.get("decoder", [])
        if set(ours) != {"decoder"} or not layers or len(steps) % len(layers):
            return False
        for number, layer in enumerate(layers):
            rows = torch.cat([torch.nn.functional.pad(s, (0, layer.shape[-1] - s.shape[-1])) for s in steps[number :: len(layers)]], 2)
            if rows.shape != layer.shape or distance(rows, layer) > TOLERANCE:
                return False
        return True

    def doctor(self) -> Answer:
        from attlas.capture import examine

        failed = [f for f in examine(self.subject) if f.passed is False and f.name not in EXPECTED_NO]
        note = "; ".join(f"{f.name} ({f.note or f'{f.error:.1e}' if f.note or f.error is not None else 'no'})" for f in failed)
        return Answer(NO if failed else EXACT, None, note)

    def after_the_doctor(self) -> Answer:
        """The doctor leaves a model as it found it: its output, and what can be recorded of it."""
        answer = self.untouched()
        return answer if answer.verdict == WRONG else self.weights(self.subject)

    def loaded(self) -> Answer:
        import attlas

        with tempfile.TemporaryDirectory() as folder:
            try:
                self.eager.save_pretrained(folder)
            except Exception as error:
                return Answer(NOT_ASKED, None, f"the library itself does not save it: {last_line(error)}")
            self.words.save_pretrained(folder)
            subject = attlas.load(folder, dtype=self.plain.dtype)
            answer = self.weights(subject)
            if answer.verdict != WRONG or answer.number is None:
                return answer
            try:
                theirs = type(subject.model).from_pretrained(folder, attn_implementation="eager", dtype=self.plain.dtype)
                truths = {case.name: truth_of(theirs.eval(), case) for case in self.cases}
            except Exception:
                return answer
        again = self.weights(subject, truths)
        if again.verdict == EXACT:
            again.note = f"as the library itself opens it, which is {answer.number:.1e} from what was saved"
        return again

    def texts(self) -> tuple[str, str | None]:
        text = "the farmer offered apples to the old housekeeper because he had too many of them and nobody noticed ."
        return text, "an engineer repaired the bridge ." if self.eager.config.is_encoder_decoder else None

    def inputs_of(self, text: str, target: str | None) -> dict[str, Tensor]:
        ids = {"input_ids": torch.tensor([self.words(text)["input_ids"]])}
        if target is not None:
            start = self.eager.config.decoder_start_token_id
            words = self.words(target)["input_ids"]
            ids["decoder_input_ids"] = torch.tensor([[PAD if start is None else start, *words[:-1]]])
        return ids


def adopt(model: Any, family: Family) -> Any:
    """Take a model onto the seam."""
    from attlas.capture import Subject

    return Subject.of(model, tokenizer(), family.kind)


def answered(question: Callable[[], Answer]) -> Answer:
    """The answer to a question, with errors told apart: what attlas says on purpose, and what is its own mistake."""
    from attlas.errors import AttlasError

    try:
        with torch.no_grad():
            return question()
    except AttlasError as error:
        return Answer(REFUSED, None, str(error))
    except Exception as error:
        return Answer(TRACEBACK, None, last_line(error))


def refusal_of(question: Callable[[], Any]) -> Answer:
    """What is said of a model that wants more than text."""
    return answered(lambda: Answer(EXACT, None, "adopted" if question() else ""))


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
    """One pass."""
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


def truth_of(eager: Any, case: Case) -> Truth:
    """What the eager twin reports of a pass, by stream; where it reports nothing, what its own function gave back."""
    reports: dict[str, list[Tensor]] = {}
    with overheard() as calls:
        result = run(eager, case, output_attentions=True)
    names = {"encoder_attentions": "encoder", "decoder_attentions": "decoder", "cross_attentions": "cross", "attentions": ""}
    for name, stream in names.items():
        layers = [layer for layer in getattr(result, name, None) or () if isinstance(layer, Tensor) and is_softmax(layer)]
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
    modules = [m for key, m in list(sys.modules.items()) if key.startswith("transformers.models.") and name in vars(m)]
    kept = [(module, getattr(module, name)) for module in modules]
    try:
        for module, function in kept:
            setattr(module, name, listening(function))
        yield calls
    finally:
        for module, function in kept:
            setattr(module, name, function)


def compared(ours: dict[str, list[Tensor]], truth: Truth, case: Case) -> Answer:
    """Weights by stream and layer against the truth, at real pieces."""
    if not truth.weights:
        return Answer(NOT_ASKED, None, "the library reports no weights")
    if set(ours) != set(truth.weights):
        return Answer(WRONG, None, f"streams {sorted(ours)} where the library has {sorted(truth.weights)}")
    answers = []
    for stream, layers in truth.weights.items():
        if len(ours[stream]) != len(layers):
            return Answer(WRONG, None, f"{len(ours[stream])} layers in the {stream} where the library has {len(layers)}")
        rows = case.target if stream != "encoder" and case.target is not None else case.own
        keys = case.own if stream == "cross" else rows
        for layer, (mine, true) in enumerate(zip(ours[stream], layers, strict=True)):
            where = f"{stream} layer {layer}, {case.name}"
            if mine.shape != true.shape:
                shapes = f"{tuple(mine.shape)} where the library has {tuple(true.shape)}"
                strange = true.dim() != 4 or true.shape[-1] != keys.shape[1]
                answers.append(Answer(NOT_ASKED if strange else WRONG, None, f"{where}: {shapes}"))
                continue
            if rows.shape == (mine.shape[0], mine.shape[2]):
                mine, true = mine.transpose(1, 2)[rows], true.transpose(1, 2)[rows]
            answers.append(judged(distance(mine, true), where))
    return worst_of(answers)


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


def projection_calls(model: Any, case: Case, own: str, fed: re.Pattern[str] | None = None) -> list[Call]:
    """The output projections of attention, found by their names, in the order in which one pass calls them; or the
    modules that are fed the heads instead."""
    translating = model.config.is_encoder_decoder
    calls: list[Call] = []
    handles = []
    for name, module in model.named_modules():
        parent = name.rpartition(".")[0]
        if not ((fed or PROJECTIONS).search(name) and ATTENTION.search(parent)) or NOT_TEXT.search(name):
            continue
        if RECURRENT.search(type(model.get_submodule(parent)).__name__):
            continue
        if fed is None and not isinstance(module, nn.Linear) and type(module).__name__ != "Conv1D":
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
def zeroed(call: Call, head: int, width: int) -> Iterator[None]:
    """A head's slice of what an output projection is fed is nought, at one call of a pass."""
    turn = 0

    def cut(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        nonlocal turn
        turn += 1
        if turn - 1 != call.turn:
            return args
        fed = args[0].clone()
        fed[..., head * width : (head + 1) * width] = 0
        return (fed, *args[1:])

    handle = call.module.register_forward_pre_hook(cut)
    try:
        yield
    finally:
        handle.remove()


def distance(one: Tensor, other: Tensor) -> float:
    """The largest difference; infinite for other shapes, or where only one is not a number."""
    if one.shape != other.shape:
        return float("inf")
    if not one.numel():
        return 0.0
    apart = (one.double() - other.double()).abs()
    apart[(one == other) | (one.isnan() & other.isnan())] = 0
    return float(apart.nan_to_num(float("inf")).max())


def relative(one: Tensor, other: Tensor) -> float:
    """The largest difference, against the size of the numbers where they are larger than one."""
    return distance(one, other) / max(1.0, float(other.abs().nan_to_num(0).max()) if other.numel() else 1.0)


def judged(apart: float, note: str) -> Answer:
    """Exact within the tolerance, or wrong."""
    return Answer(EXACT, apart) if apart <= TOLERANCE else Answer(WRONG, apart, note)


def worst_of(answers: list[Answer]) -> Answer:
    """The answer that weighs most; of equals the largest number."""
    order = [TRACEBACK, WRONG, NOT_ASKED, EXACT]
    if not answers:
        return Answer(NOT_ASKED, None, "nothing to compare")
    return min(answers, key=lambda a: (order.index(a.verdict), -(a.number if a.number is not None else float("inf"))))


def wants_more(error: BaseException) -> bool:
    """Whether a model complains of inputs that it was not given."""
    said = re.compile(r"pixel|bbox|image|audio|input_features|specify|missing \d+ required|None|visual|feature", re.IGNORECASE)
    return bool(said.search(str(error)))


def last_line(error: BaseException) -> str:
    """The last line of a traceback, with where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "attlas" in frame.filename and "sweep" not in Path(frame.filename).parts[-2]]
    spots = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in (*ours[-1:], *frames[-1:])]
    said = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {said} ({' > '.join(dict.fromkeys(spots))})"


def tokenizer() -> Any:
    """A fast tokenizer of whole words, which knows the texts of the doctor."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    from attlas.capture.check import TARGETS, TEXTS

    split = pre_tokenizers.Whitespace()
    words = [word for text in (*TEXTS, *TARGETS) for word, _ in split.pre_tokenize_str(text.lower())]
    special = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys([*special, *words, *"the a old and repaired bridge".split()]))}
    for number in range(len(vocabulary), VOCABULARY):
        vocabulary[f"w{number}"] = number
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.normalizer, inner.pre_tokenizer = normalizers.Lowercase(), split
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 1), ("</s>", EOS)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>", cls_token="<s>",
        sep_token="</s>", mask_token="<mask>", model_max_length=200,
    )  # fmt: skip
