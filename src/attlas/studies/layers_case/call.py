"""One sentence across layers: every probe that was kept is asked about spans of it, layer by layer.

A *span* is ``A:B``, the words from A to before B counted from 0; a *pair* is two of them, ``A:B,C:D``. Runs of tasks
that label single spans are asked about spans, those of tasks that label pairs about pairs; ``TASK=A:B`` (or
``TASK,TASK=A:B,C:D``) asks these tasks alone, since the order of a pair is not the same to all. The answer is what
the cumulative probes give each label at each layer: the probabilities of Figure 3 in Tenney et al. (2019).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

from attlas.corpora import Corpus
from attlas.errors import ModelError, StoreError, TextError
from attlas.run.parameters import Help, Role, Running, study_call
from attlas.run.session import begin
from attlas.run.setting import Opening, as_subject
from attlas.store import Result
from attlas.store.columns import as_columns
from attlas.studies.shared.layer_runs import FinishedRun, find_runs, require_one_model
from attlas.text import Document, Span

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.models import Example
    from attlas.pages.rows import Rows
    from attlas.probes.edges.kept import Kept
    from attlas.run.parameters import Model as RunsModel
else:
    RunsModel = Annotated[
        Any,
        Role("model"),
        Help("The model of the runs, where it is not found by its name.", short="-m", kind=str | None),
    ]

_SPAN = re.compile(r"\s*(\d+)\s*:\s*(\d+)\s*")
WORDS_TOLD = 40  # words that an error lists with their numbers
NAMED_BY = 4  # words of the sentence in the name of its folder


class Asked(NamedTuple):
    """A span that is asked about, or a pair of them, and the tasks that are asked (none: all that can answer).

    >>> str(Asked(Span(1, 2), Span(2, 3), ("roles",))), Asked(Span(1, 2)).paired
    ('roles=1:2,2:3', False)
    """

    first: Span
    second: Span | None = None
    tasks: tuple[str, ...] = ()

    @property
    def spans(self) -> tuple[Span, ...]:
        """One span or two."""
        return (self.first,) if self.second is None else (self.first, self.second)

    @property
    def paired(self) -> bool:
        """Whether it is a pair."""
        return self.second is not None

    def is_for(self, task: str, paired: bool) -> bool:
        """Whether a task is asked about it."""
        return self.paired == paired and (not self.tasks or task in self.tasks)

    def __str__(self) -> str:
        spans = ",".join(f"{span.start}:{span.stop}" for span in self.spans)
        return f"{','.join(self.tasks)}={spans}" if self.tasks else spans


def read_span(written: str) -> Asked:
    """A span, or a pair of spans, as it is written on the command line.

    >>> read_span("roles=1:2, 4:6")
    Asked(first=Span(start=1, stop=2), second=Span(start=4, stop=6), tasks=('roles',))
    >>> read_span("2")
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: a span is written A:B, the words from A to before B counted from 0, and a pair ...
    """
    names, told, spans = written.rpartition("=")
    tasks = tuple(name.strip() for name in names.split(",")) if told else ()
    parts = [_SPAN.fullmatch(part) for part in spans.split(",")]
    if len(parts) > 2 or None in parts or "" in tasks:
        raise TextError(
            f"a span is written A:B, the words from A to before B counted from 0, and a pair A:B,C:D; {written!r} is "
            "neither"
        )
    first, *rest = (Span(int(part[1]), int(part[2])) for part in parts if part is not None)
    return Asked(first, rest[0] if rest else None, tasks)


@study_call(without=("seed", "resume", "budget", "checkpoint_every"))
def layers_case(
    subject: RunsModel = None,
    sentence: Annotated[
        str | Sequence[str] | Document,
        Help("The sentence to ask about; its words are found by rule.", kind=str, argument=True),
    ] = "",
    spans: Annotated[
        Sequence[str | Asked],
        Help(
            "Words A:B (from 0, without B), or a pair A:B,C:D for tasks of pairs; TASK=A:B asks that task alone; may "
            "be repeated.",
            flag="--span", short="-s", kind=list[str],
        ),
    ] = (),
    runs: Annotated[
        Sequence[Path | str],
        Help("The --out of attlas layers, or a folder of such; may be repeated.", short="-r", kind=list[Path]),
    ] = (),
    *,
    at_blanks: Annotated[
        bool, Help("The sentence is split into words already, with blanks between them.", flag="--words")
    ] = False,
    **running: Unpack[Running],
) -> Result:  # fmt: skip
    """One sentence across layers: what every task's probes take a span for, from the embeddings up.

    The model is the one that the runs were trained on, by default opened by the name that they give.

    >>> layers_case(None, "He smoked Toronto.", ["2:9"], ["runs"])
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: the span 2:9 is outside the 4 words of the text: 0 He, 1 smoked, 2 Toronto, 3 .
    """
    document = _as_document(sentence.split() if at_blanks and isinstance(sentence, str) else sentence)
    asked = _asked(document, spans)
    finished = find_runs(runs)
    require_one_model(finished)
    skipped: Counter[str] = Counter()
    asking = _answering(_kept(finished, skipped), asked, skipped)
    model = _subject(subject, asking)
    example = _example(model, document, asked)
    options = {
        "sentence": document.text, "words": list(document.forms), "spans": [str(edge) for edge in asked],
        "runs": [each.name for each in asking],
        "asked": [{"run": each.name, "task": each.kept.task, "plan": each.digest} for each in asking],
    }  # fmt: skip
    digest = hashlib.sha256(document.text.encode()).hexdigest()
    corpus = Corpus((document,), format="documents", name="one sentence", sha256=digest, articles=(0,))
    called = "-".join(document.forms[:NAMED_BY])
    with begin("layers-case", model, corpus, options, running, name=called) as run:
        run.skipped += skipped
        run.counts |= {"words": len(document.words), "pieces": example.source.length}
        rows: list[dict[str, Any]] = []
        for each in asking:
            run.progress.note(f"asking {each.name} ({each.kept.task})")
            for number, edge in enumerate(asked):
                if edge.is_for(each.kept.task, each.kept.paired):
                    values = each.kept.probabilities(model, example, edge.first, edge.second)
                    rows += _rows(each, number, edge, document, values)
        labels = [row for each in asking for row in each.labels]
        return run.finish({
            "probabilities": as_columns(rows), "words": _words(document),
            "runs": as_columns([each.about for each in asking]), "labels": as_columns(labels),
        })  # fmt: skip


def _as_document(text: str | Sequence[str] | Document) -> Document:
    """The sentence with its words, found by rule unless they are given."""
    if isinstance(text, Document):
        return text
    document = Document.from_text(text) if isinstance(text, str) else Document.from_words(text)
    if not document.words:
        raise TextError("the sentence has no words; give one")
    return document


def _asked(document: Document, spans: Sequence[str | Asked]) -> list[Asked]:
    """The spans that are asked about, each once; refuses what is not in the sentence."""
    shown = [f"{number} {word}" for number, word in enumerate(document.forms)]
    listed = ", ".join(shown[:WORDS_TOLD]) + (", ..." if len(shown) > WORDS_TOLD else "")
    if not spans:
        raise TextError(
            f"no span was asked about; give one as --span A:B, or a pair as --span A:B,C:D; words: {listed}"
        )
    asked = list(dict.fromkeys(read_span(span) if isinstance(span, str) else span for span in spans))
    for span in (span for edge in asked for span in edge.spans):
        if span.start >= span.stop:
            raise TextError(f"the span {span.start}:{span.stop} is empty; its end is the word after its last")
        if span.stop > len(shown):
            raise TextError(
                f"the span {span.start}:{span.stop} is outside the {len(shown)} words of the text: {listed}"
            )
    return asked


class _Asking(NamedTuple):
    """A run that is asked: its name on the page, and its probes."""

    name: str
    run: FinishedRun
    kept: Kept

    @property
    def digest(self) -> str:
        """What tells this run from another of the same name."""
        plan = json.dumps(self.run.result.manifest.plan, sort_keys=True)
        return hashlib.sha256(plan.encode()).hexdigest()

    @property
    def about(self) -> dict[str, Any]:
        """How good the probes of the run are, as far as its own tables say."""
        measured = {row["measure"]: row for row in self._own("tasks").where(who="model", labels="gold")}
        score = measured.get("score", {})
        parts = self.run.tasks.get(self.kept.task, {}).get("parts", {})
        return {
            "run": self.name, "task": self.kept.task, "paired": self.kept.paired, "over": self.kept.over,
            "labels": len(self.kept.labels), "score": score.get("value"), "low": score.get("low"),
            "high": score.get("high"), "score_at_0": measured.get("score at layer 0", {}).get("value"),
            "train": parts.get("train", {}).get("edges"), "test": parts.get("test", {}).get("edges"),
        }  # fmt: skip

    @property
    def labels(self) -> list[dict[str, Any]]:
        """How often each label was seen in training, and its F1 with all layers, the mean over seeds."""
        rows = self._own("labels")
        last = max(rows.column("layer"), default=0)
        return [
            {"run": self.name, "label": label, "value": seeds.mean("value"), "train": seeds[0]["train"],
             "test": seeds[0]["test"]}
            for label, seeds in rows.where(layer=last).by("label")
        ]  # fmt: skip

    def _own(self, name: str) -> Rows:
        from attlas.pages.rows import Tables

        return Tables(self.run.result)[name].where(task=self.kept.task)


def _kept(runs: Sequence[FinishedRun], skipped: Counter[str]) -> list[_Asking]:
    """The probes of the runs; those that were found in a folder may have none, those that were named may not."""
    from attlas.probes.edges.kept import load_kept

    names = Counter(run.folder.resolve().name for run in runs)
    asking = []
    for run in runs:
        place = run.folder.resolve()
        try:
            kept = load_kept(run.folder)
        except StoreError:
            if run.named:
                raise
            skipped[f"runs that kept no probes ({place.name})"] += 1
            continue
        name = place.name if names[place.name] == 1 else f"{place.parent.name}/{place.name}"
        asking.append(_Asking(name, run, kept))
    if not asking:
        raise StoreError(
            f"{runs[0].folder.parent}: none of its runs kept their probes; run attlas layers again, keeping them"
        )
    return asking


def _answering(runs: Sequence[_Asking], asked: Sequence[Asked], skipped: Counter[str]) -> list[_Asking]:
    """The runs that can answer something; refuses a span or a pair that none of them can answer."""
    listed = ", ".join(dict.fromkeys(run.kept.task for run in runs))
    for edge in asked:
        for task in edge.tasks:
            if all(run.kept.task != task for run in runs):
                raise StoreError(f"{edge}: none of the runs is of the task {task}; they are of {listed}")
        if not any(edge.is_for(run.kept.task, run.kept.paired) for run in runs):
            other = "a single span" if edge.paired else "a pair"
            raise StoreError(
                f"{edge}: none of these runs ({', '.join(edge.tasks) or listed}) labels {_kind(edge.paired)}; ask "
                f"about {other}, or give a run that does"
            )
    answering = []
    for run in runs:
        if any(edge.is_for(run.kept.task, run.kept.paired) for edge in asked):
            answering.append(run)
        else:
            skipped[f"runs of {_kind(run.kept.paired)}, of which none was asked about ({run.name})"] += 1
    return answering


def _kind(paired: bool) -> str:
    return "pairs of spans" if paired else "single spans"


def _subject(subject: RunsModel, asking: Sequence[_Asking]) -> Subject:
    """The model that the probes were trained on."""
    from attlas.models import bundled

    about: Mapping[str, Any] = asking[0].kept.model
    name = str(about.get("name"))
    given = subject.name if isinstance(subject, Opening) else subject
    if given is None:
        wanted = None if name == bundled.resolve(None)[0] else name
        subject = replace(subject, name=wanted) if isinstance(subject, Opening) else wanted
    try:
        model = as_subject(subject)
    except ModelError as error:
        if given is not None:
            raise
        raise ModelError(f"the runs are of {name}, which is not found by that name ({error}); say --model") from None
    if model.fingerprint != about.get("fingerprint"):
        raise ModelError(
            f"{asking[0].run.folder}: its probes were trained on {name}, and {model.name} has other weights; give "
            "the same model with --model"
        )
    return model


def _example(model: Subject, document: Document, asked: Sequence[Asked]) -> Example:
    """The sentence in pieces, whole; refuses spans without a piece."""
    from attlas.capture.reading import read_documents

    example = read_documents(model, [document], long="refuse").examples[0]
    wordless = set(example.source.segmentation.wordless)
    for span in (span for edge in asked for span in edge.spans):
        if wordless.issuperset(range(*span)):
            words = " ".join(document.forms[span.start : span.stop])
            raise TextError(
                f"the span {span.start}:{span.stop} ({words}) has no piece of its own in {model.name}; take in the "
                "word beside it"
            )
    return example


def _rows(asking: _Asking, number: int, edge: Asked, document: Document, values: Any) -> list[dict[str, Any]]:
    place: dict[str, Any] = {"edge": number, "run": asking.name, "task": asking.kept.task}
    for name, span in (("first", edge.first), ("second", edge.second)):
        place[name] = None if span is None else f"{span.start}:{span.stop}"
        place[f"{name}_words"] = None if span is None else _joined(document, span)
    return [
        {**place, "layer": level, "label": label, "value": values[at, column]}
        for at, level in enumerate(asking.kept.levels)
        for column, label in enumerate(asking.kept.labels)
    ]


def _joined(document: Document, span: Span) -> str:
    """The characters of a span of words."""
    words = document.words[span.start : span.stop]
    return document.text[words[0].start : words[-1].stop]


def _words(document: Document) -> dict[str, list[Any]]:
    """The words with what stands after each, from which a page can write the sentence again."""
    stops = [*(span.start for span in document.words[1:]), len(document.text)]
    after = [document.text[span.stop : stop] for span, stop in zip(document.words, stops, strict=True)]
    return {"word": list(range(len(document.words))), "form": list(document.forms), "after": after}
