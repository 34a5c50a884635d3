"""What is asked of a family: attlas against the model library, and never against attlas's own arithmetic.

A tiny model is built twice with the same weights: *plain*, which attlas adopts, and *eager*, which stays the
library's own and says what is true (:mod:`tools.sweep.truth`). Asked are: the output before adoption, after it, after
a failed one, and while watched; weights of padded batches and short texts, with layers and streams; closed heads;
layers rebuilt from weights, values and W_O; what is seen while writing, against one full pass; the doctor, and the
model after it; and the model saved and loaded.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tools.sweep.answers import (
    EXACT,
    NO,
    NOT_ASKED,
    TOLERANCE,
    WRONG,
    Answer,
    Sheet,
    answered,
    distance,
    judged,
    last_line,
    relative,
    worst_of,
)
from tools.sweep.building import PAD, WIDTH, build, twin_of
from tools.sweep.families import Family
from tools.sweep.truth import (
    Call,
    Case,
    Truth,
    cases_for,
    output_of,
    overheard,
    projection_calls,
    real,
    run,
    silenced,
    truth_of,
    without_part,
    zeroed,
)

# Families whose heads do not go into W_O as they are: the module that is fed them instead (a norm of all heads), and
# the width of a head where W_O takes more than heads.
FED = {"bitnet": re.compile(r"attn_sub_norm$")}
HEAD_WIDTHS = {"convbert": WIDTH}
TWO_FLOWS = {"lilt"}  # a head's weights mix the states of words and those of places, each with a projection
ONE_PARAMETER = {"xlnet": re.compile(r"rel_attn\.o$")}  # W_O is no module
MIXED_BEFORE = {"diffllama", "jetmoe"}  # heads are mixed, or routed, before anything that could be cut by its name
BESIDE = {"nystromformer": ".conv"}  # a module that adds to every head what is no attention
FULL_PASS = {"fsmt": {"use_cache": False}}  # without which its full pass sees what is not written yet
# Families that report weights before sinks have taken their part: ours are compared as parts of what is left.
BEFORE_SINKS = {"granite_swa", "granitemoe_swa"}
AGREEING = 1e-3  # where the library's own plain and eager outputs are further apart, neither says what is true
# Questions of the doctor whose answer is "no" for every family with a private softmax.
EXPECTED_NO = {"queries and keys can be seen"}


def asked(family: Family) -> Sheet:
    """All answers of a family. What is wrong by little is asked again in double precision, which tells a fault from
    the rounding of large scores."""
    sheet = ask(family)
    little = [
        name for name, a in sheet.answers.items() if a.verdict == WRONG and a.number is not None and a.number < 1e-2
    ]
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
        for case in cases:  # a first time, after which a model has changed what reading changes of itself
            run(plain, case)
        before = {case.name: output_of(run(plain, case)) for case in cases}
        truths = {case.name: truth_of(eager, case) for case in cases}
    except Exception as error:
        sheet.text_alone = False
        sheet.reason = "" if wants_more(error) else f"does not run: {last_line(error)}"
        if not sheet.reason:
            sheet.answers["adopt"] = refusal_of(lambda: adopt(plain, family))
            sheet.answers["adopt"].note += f" [the model itself: {last_line(error)}]"
        return sheet
    apart = {c.name: relative(real(before[c.name], c), real(truths[c.name].output, c)) for c in cases}
    sheet.library = max(apart.values())
    agreed = [case for case in cases if apart[case.name] <= AGREEING]
    sheet.left_out = ", ".join(case.name for case in cases if agreed and case not in agreed)
    cases = agreed or cases
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
        self.subject: Any = None

    def ask(self) -> None:
        """Ask all; without a subject only what a refusal must leave as it was."""
        self.put("adopt", self.adopted)
        if self.subject is None:
            self.put("untouched", lambda: self.same_bits({c.name: self.before[c.name] for c in self.cases}))
        else:
            self.sheet.way = "softmax" if self.subject.layout.private else "seam"
            self.sheet.streams = ", ".join(
                f"{stream} {len([s for s in self.subject.sites if s.stream is stream])}"
                for stream in self.subject.streams
            )
            self.sheet.statistics = self.statistics()
            self.sheet.runs = "fused" if self.fused else "eager"
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

    @property
    def fused(self) -> bool:
        """Whether the library runs the attention of this model fused where nobody watches."""
        from attlas.models.seam import NAME

        here = [getattr(module, "config", self.plain.config) for module in self.subject.layout.modules]
        return all(config._attn_implementation == NAME for config in here)

    def statistics(self) -> str:
        """Whether statistics of rows go in tiles beside fused attention, or by the matrix, or some so and some so."""
        from attlas.capture import Fold
        from attlas.measures.kernels import way_of

        ways = set()
        with self.subject.use(Fold(lambda call: ways.add(way_of(call)[0]))):
            run(self.plain, self.cases[0])
        return " and ".join(sorted(ways, reverse=True))

    def untouched(self) -> Answer:
        """The same bits as before adoption; for a private softmax, those of the eager model."""
        private = self.subject.layout.private
        return self.same_bits(
            {c.name: self.truths[c.name].output if private else self.before[c.name] for c in self.cases}
        )

    def same_bits(self, expected: dict[str, Tensor]) -> Answer:
        worst, note = 0.0, ""
        for case in self.cases:
            ours = output_of(run(self.plain, case))
            apart = relative(real(ours, case), real(expected[case.name], case))
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
            answers.append(self.compared(ours, (truths or self.truths)[case.name], case))
        return worst_of(answers)

    def compared(self, ours: dict[str, list[Tensor]], truth: Truth, case: Case) -> Answer:
        """Weights against the truth, both of the same definition."""
        if self.family.kind in BEFORE_SINKS:
            ours = {stream: [w / w.sum(-1, keepdim=True) for w in layers] for stream, layers in ours.items()}
        return compared(ours, truth, case)

    def gates(self) -> Answer:
        from attlas.capture import Gates
        from attlas.ids import HeadId, Site, Stream

        case = self.cases[0]
        truth = self.truths[case.name]
        answers = []
        for stream, layers in truth.weights.items():
            for layer, (cut, heads) in enumerate(self.cuts(case, stream, layers)):
                if isinstance(cut, str):
                    answers.append(Answer(NOT_ASKED, None, cut))
                    continue
                site = Site(Stream(stream), layer)
                for head in {0, heads - 1}:
                    with cut(head):
                        without = output_of(run(self.eager, case))
                    with self.subject.use(Gates.closed([HeadId(*site, head)], self.subject.layout.heads)):
                        ours = output_of(run(self.plain, case))
                    effect = relative(real(without, case), real(truth.output, case))
                    apart = relative(real(ours, case), real(without, case))
                    note = f"closing head {head} of {site}; the true effect is {effect:.0e}"
                    none = Answer(NOT_ASKED, None, f"closing head {head} of {site} has no effect")
                    answers.append(judged(apart, note) if effect > 10 * TOLERANCE else none)
        return worst_of(answers)

    def cuts(self, case: Case, stream: str, layers: list[Tensor]) -> list[tuple[Any, int]]:
        """For each layer, what closes one of its heads in the eager twin, and how many heads there are; or why
        nothing does."""
        kind, counts = self.family.kind, [weights.shape[1] for weights in layers]
        if kind in MIXED_BEFORE:
            return [(partial(silenced, self.eager, layer), heads) for layer, heads in enumerate(counts)]
        if kind in ONE_PARAMETER:
            names = [name for name, _ in self.eager.named_parameters() if ONE_PARAMETER[kind].search(name)]
            cutting = [partial(without_part, self.eager, name) for name in names]
            return list(zip(cutting, counts, strict=True))
        calls = [c for c in projection_calls(self.eager, case, self.own, FED.get(kind)) if c.stream == stream]
        if kind in TWO_FLOWS:
            both = [calls[at : at + 2] for at in range(0, len(calls), 2)]
            return [(partial(_both_zeroed, self.eager, pair, heads), heads)
                    for pair, heads in zip(both, counts, strict=True)]  # fmt: skip
        if len(calls) != len(layers):
            return [(f"{len(calls)} output projections by name for {len(layers)} layers of the {stream}", 0)]
        found: list[tuple[Any, int]] = []
        for call, heads in zip(calls, counts, strict=True):
            width = HEAD_WIDTHS.get(kind, call.width // heads)
            cut = partial(zeroed, self.eager, call, width=width, beside=BESIDE.get(kind, ""))
            shared = f"{call.name} takes {call.width} numbers, which {heads} heads do not share"
            found.append((shared if call.width % heads else cut, heads))
        return found

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
                answers.append(
                    Answer(
                        NOT_ASKED,
                        None,
                        f"{len(here)} output projections by name for {len(weights)} layers of the {stream}",
                    )
                )
                continue
            for layer, call in enumerate(here):
                site = Site(Stream(stream), capture.layers[stream][layer])
                matrix = self.subject.output_matrix(site)
                values = capture.values[stream][layer][..., : matrix.shape[1]]  # layers may be narrower than others
                vectors = torch.einsum("hqk,hkw,hwd->hqkd", weights[layer], values, matrix)
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
        truth = truth_of(self.eager, case, **FULL_PASS.get(self.family.kind, {}))
        ours = {stream.value: [layer[None] for layer in weights] for stream, weights in capture.weights.items()}
        answer = self.compared(ours, truth, case)
        if answer.verdict == WRONG and answer.number is not None and self.as_in_steps(ours, steps):
            note = f"as in the library's own steps, which are {answer.number:.1e} from its full pass"
            return Answer(EXACT, None, note)
        return answer

    def as_in_steps(self, ours: dict[str, list[Tensor]], steps: list[Tensor]) -> bool:
        """Whether the rows that were seen are those of the library's own steps, which may differ from a full pass."""
        layers = ours.get("decoder", [])
        if set(ours) != {"decoder"} or not layers or len(steps) % len(layers):
            return False
        for number, layer in enumerate(layers):
            strips, stop, whole = [], 0, layer.shape[-1]
            for step in steps[number :: len(layers)]:
                stop += step.shape[2]
                before = max(0, stop - step.shape[3])  # keys that a sliding cache has dropped
                strips.append(torch.nn.functional.pad(step, (before, whole - before - step.shape[3])))
            rows = torch.cat(strips, 2)
            if rows.shape != layer.shape or distance(rows, layer) > TOLERANCE:
                return False
        return True

    def doctor(self) -> Answer:
        from attlas.capture import examine

        failed = [f for f in examine(self.subject) if f.passed is False and f.name not in EXPECTED_NO]
        note = "; ".join(
            f"{f.name} ({f.note or f'{f.error:.1e}' if f.note or f.error is not None else 'no'})" for f in failed
        )
        return Answer(NO if failed else EXACT, None, note)

    def after_the_doctor(self) -> Answer:
        """The doctor leaves a model as it found it: its output, and what can be recorded of it."""
        answer = self.weights(self.subject)
        return answer if answer.verdict == WRONG else self.untouched()

    def loaded(self) -> Answer:
        import attlas

        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / self.family.kind
            try:
                self.eager.save_pretrained(folder)
            except Exception as error:
                return Answer(NOT_ASKED, None, f"the library itself does not save it: {last_line(error)}")
            self.words.save_pretrained(folder)
            subject = attlas.load(folder, dtype=self.plain.dtype)
            answer = self.weights(subject)
            if answer.verdict != WRONG or answer.number is None:
                return answer
            kind: Any = type(subject.model)
            options = {"attn_implementation": "eager", "dtype": self.plain.dtype, "output_loading_info": True}
            theirs, loading = kind.from_pretrained(folder, **options)
        if loading["missing_keys"]:
            count, name = len(loading["missing_keys"]), min(loading["missing_keys"])
            lost = f"opened as {kind.__name__}, which does not read {count} of its weights ({name}): they are random"
            return Answer(WRONG, answer.number, lost)
        again = self.weights(subject, {case.name: truth_of(theirs.eval(), case) for case in self.cases})
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


@contextmanager
def _both_zeroed(model: Any, calls: list[Call], heads: int, head: int) -> Iterator[None]:
    """A head closed at several projections at once."""
    with ExitStack() as stack:
        for call in calls:
            stack.enter_context(zeroed(model, call, head, call.width // heads))
        yield


def adopt(model: Any, family: Family) -> Any:
    """Take a model onto the seam."""
    from attlas.capture import Subject

    return Subject.of(model, tokenizer(), family.kind)


def refusal_of(question: Callable[[], Any]) -> Answer:
    """What is said of a model that wants more than text."""
    return answered(lambda: Answer(EXACT, None, "adopted" if question() else ""))


def compared(ours: dict[str, list[Tensor]], truth: Truth, case: Case) -> Answer:
    """Weights by stream and layer against the truth, at real pieces."""
    if not truth.weights:
        return Answer(NOT_ASKED, None, "the library reports no weights")
    if set(ours) != set(truth.weights):
        return Answer(WRONG, None, f"streams {sorted(ours)} where the library has {sorted(truth.weights)}")
    answers = []
    for stream, layers in truth.weights.items():
        if len(ours[stream]) != len(layers):
            return Answer(
                WRONG, None, f"{len(ours[stream])} layers in the {stream} where the library has {len(layers)}"
            )
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


def wants_more(error: BaseException) -> bool:
    """Whether a model complains of inputs that it was not given."""
    said = re.compile(
        r"pixel|bbox|image|audio|input_features|specify|missing \d+ required|None|visual|feature", re.IGNORECASE
    )
    return bool(said.search(str(error)))


def tokenizer() -> Any:
    """A fast tokenizer of whole words, which knows the texts of the doctor."""
    from attlas.capture.check import TARGETS, TEXTS
    from attlas.models.shrinking import words

    return words([*TEXTS, *TARGETS, "the a old and repaired bridge"])
