"""What heads know of key words, as one call: capture what words receive, look at heads, choose some, train on all.

A run goes through the model and then through its untrained twin. What their words receive lies on disk meanwhile, in
a folder of its own that is deleted before the next model's is written. Each step that is done is kept until the
result is saved, and is not repeated when the run is resumed.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import CorpusError, PlanError
from attlas.run.local import carry_out
from attlas.run.plan import differences
from attlas.run.progress import Progress, Silent
from attlas.run.setting import BUDGET, Setting, Texts, as_corpus, as_subject, say_cutting
from attlas.store import Result, load_checkpoint, save_checkpoint
from attlas.store.checkpoint import checkpoint_file, checkpoint_parts

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.keywords.kept import Part, Received
    from attlas.studies.keywords.weighing import Kind
    from attlas.text import Document
    from attlas.text.stems import Stem

LONGEST = 512
RECEIVED = ".received"
TRAINED, UNTRAINED = "model", "untrained twin"


def keywords_study(
    subject: Subject | str | None = None,
    corpus: Texts = "sample",
    *,
    test: Texts | None = None,
    kind: str | None = None,
    folds: int = 5,
    steps: Sequence[int] | None = None,
    language: str = "english",
    twin: bool = True,
    max_pieces: int | None = None,
    limit: int | None = None,
    max_disk: float = 8.0,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Ask of every head how well it tells words of key phrases from others, and of all heads together.

    Heads are chosen and predictors are trained on ``corpus`` and scored on ``test``; where there is none, on one half
    of the documents each. ``kind`` says by which attention all heads together are read: weight or norm, mean or max
    over queries, such as "norm-mean" (None: the kind whose heads are best on the part they are chosen on). ``folds``
    are those of the cross-validation, ``steps`` the numbers of heads that the regression keeps, ``language`` that of
    the stemmer by which key phrases are found in texts. ``twin`` adds the untrained twin. ``limit`` keeps so many
    documents of each part, drawn by ``seed``.

    >>> result = keywords_study(limit=12, folds=2, twin=False)
    >>> result.manifest.study, sorted(result.tables)
    ('keywords-study', ['choice', 'heads', 'mix', 'phrases', 'predictors', 'regression', 'regression_weights',
    'whole'])
    """
    from attlas.text.stems import stemmer

    if folds < 2:
        raise PlanError(f"cross-validation needs at least 2 folds, and {folds} was given")
    if steps is not None and any(step < 1 for step in steps):
        raise PlanError(f"the numbers of heads to keep must be at least 1, and {min(steps)} was given")
    model, stem = as_subject(subject), stemmer(language)
    kinds = kinds_of(model)
    asked = None if kind is None else kind_named(kind, model)
    texts = as_corpus(corpus)
    other = None if test is None else as_corpus(test)
    chosen_on, scored_on = split(texts, other, seed)
    options = {
        "kind": None if asked is None else str(asked), "folds": folds, "steps": steps, "language": language,
        "twin": twin, "max_pieces": max_pieces or min(model.pieces.window, LONGEST), "limit": limit,
    }  # fmt: skip
    setting = Setting(
        "keywords-study", model, texts, options, seed, budget, None if out is None else Path(out),
        more={} if other is None else {"test": other},
    )  # fmt: skip
    setting.require_free(resume=resume)
    if resume and out is None:
        raise PlanError("resuming needs the folder of the interrupted run; give it with --out")
    skipped: Counter[str] = Counter()
    sides = [readable(side, limit, seed, skipped) for side in (chosen_on, scored_on)]
    require_key_words(sides[0], chosen_on.name, folds, stem)
    require_key_words(sides[1], scored_on.name, 1, stem)
    with ExitStack() as stack:
        if setting.out is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attlas-")))
        else:
            folder = setting.out
        if not resume and (found := checkpoint_parts(folder)):
            raise PlanError(
                f"{checkpoint_file(folder, found[0])}: an earlier run was interrupted here; go on with --resume, or "
                "delete this file"
            )
        work = _Work(setting, folder, resume, checkpoint_every, progress or Silent(), kinds, stem)
        work.read(sides, max_disk)
        tables = work.carry(asked)
        result = setting.finish(tables, counts=work.counts(), skipped=skipped + work.skipped)
        shutil.rmtree(folder / RECEIVED, ignore_errors=True)
    return result


def kinds_of(model: Subject) -> tuple[Kind, ...]:
    """The kinds of attention that a model has: by weights, and by norms where these can be computed.

    >>> [str(kind) for kind in kinds_of(as_subject(None))]
    ['weight, mean', 'weight, max', 'norm, mean', 'norm, max']
    """
    from attlas.studies.keywords.weighing import KINDS

    return tuple(kind for kind in KINDS if kind.measure == "weight" or model.has_norms)


def kind_named(name: str, model: Subject) -> Kind:
    """A kind of attention by its name, such as "norm-mean"; refused where there is none, or the model lacks it.

    >>> kind_named("norm-max", as_subject(None))
    Kind(measure='norm', over='max')
    >>> kind_named("mean", as_subject(None))
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: 'mean' is no kind of attention; choose one of weight-mean, weight-max, ...
    """
    from attlas.capture.measuring import require_measure
    from attlas.studies.keywords.weighing import KINDS

    names = {f"{kind.measure}-{kind.over}": kind for kind in KINDS}
    if name not in names:
        raise PlanError(f"{name!r} is no kind of attention; choose one of {', '.join(names)}")
    require_measure(model, names[name].measure)
    return names[name]


def split(texts: Corpus, test: Corpus | None, seed: int) -> tuple[Corpus, Corpus]:
    """What to choose on, and what to score on: two corpora, or the two halves of one.

    >>> from attlas.text import Document
    >>> split(as_corpus([Document.from_text("It rained.")]), None, 0)
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: documents: it has no key phrases, which this study asks about; give texts with ...
    """
    for corpus in (texts, *([] if test is None else [test])):
        if "keyphrases" not in corpus.annotations:
            raise CorpusError(
                "it has no key phrases, which this study asks about; give texts with key phrases in JSON lines",
                file=corpus.name,
            )
    return texts.halves(seed) if test is None else (texts, test)


def readable(corpus: Corpus, limit: int | None, seed: int, skipped: Counter[str]) -> list[Document]:
    """The documents of a part that have key phrases, or so many of them, drawn.

    >>> skipped = Counter()
    >>> len(readable(as_corpus("sample"), 10, 0, skipped)), dict(+skipped)
    (10, {'documents not drawn': 110})
    """
    documents = [document for document in corpus.documents if document.keyphrases]
    skipped["documents without a key phrase"] += len(corpus.documents) - len(documents)
    if limit is not None and len(documents) > limit:
        skipped["documents not drawn"] += len(documents) - limit
        kept = sorted(random.Random(seed).sample(range(len(documents)), limit))
        documents = [documents[index] for index in kept]
    return documents


def require_key_words(documents: Sequence[Document], name: str, least: int, stem: Stem) -> None:
    """Refuse a part where too few documents have both key words and other words.

    >>> from dataclasses import replace
    >>> from attlas.text import Document
    >>> from attlas.text.stems import stemmer
    >>> require_key_words([replace(Document.from_text("It rained."), keyphrases=("sun",))], "a.jsonl", 1, stemmer())
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: a.jsonl: no key phrase occurs in any text, ...
    """
    from attlas.text.keyphrases import key_words

    marked = [key_words(document, stem) for document in documents]
    if not any(key.any() for key in marked):
        raise CorpusError(
            "no key phrase occurs in any text, so there is no key word to ask about; give texts that hold their own "
            "key phrases, or say their language (--language)",
            file=name,
        )
    mixed = sum(key.any() and not key.all() for key in marked)
    if mixed < least or not mixed:
        held = f"{mixed} of its documents hold" if mixed != 1 else "one of its documents holds"
        wanted = f"; {least} folds are asked for, so give more documents or ask for fewer (--folds)"
        raise CorpusError(
            f"only {held} both key words and other words" + (wanted if least > 1 else "; give more documents"),
            file=name,
        )


@dataclass
class _Work:
    """One run on its way: what is read, where things lie, and which steps are done."""

    setting: Setting
    folder: Path
    resume: bool
    checkpoint_every: float
    progress: Progress
    kinds: tuple[Kind, ...]
    stem: Stem
    captured: dict[str, Received] = field(default_factory=dict)
    capturing: float = 0.0

    def read(self, sides: Sequence[Sequence[Document]], max_disk: float) -> None:
        """Cut both parts into windows and find their key words; see that there is room for what words receive."""
        from attlas.probes.files import check_room, size_of
        from attlas.studies.keywords.kept import lay_out
        from attlas.studies.keywords.study_steps import CHOSEN, SCORED

        model, pieces = self.setting.subject, self.setting.options["max_pieces"]
        say_cutting(self.progress, sum(len(side) for side in sides))
        self.shape = model.shape(model.pieces.own)
        self.heads = self.shape[0] * self.shape[1]
        self.parts: dict[str, Part] = {
            name: lay_out(name, model, side, pieces, self.stem)
            for name, side in zip((CHOSEN, SCORED), sides, strict=True)
        }
        self.skipped: Counter[str] = Counter()
        for part in self.parts.values():
            for example in part.examples:
                lacking = len(example.source.segmentation.wordless)
                self.skipped["words without a piece of their own"] += lacking
            windows = len(part.examples) - len(part.documents)
            self.skipped[f"further windows of documents longer than {pieces} pieces"] += windows
        needed = {name: 4 * len(self.kinds) * part.words * self.heads for name, part in self.parts.items()}
        there = sum(file.stat().st_size for file in (self.folder / RECEIVED).rglob("*.bin"))
        less = "--limit"
        check_room(self.folder, needed, max_disk, there, what="attention that words receive", less=less)
        size = size_of(sum(needed.values()))
        key = sum(int(part.key.sum()) for part in self.parts.values())
        words = sum(part.words for part in self.parts.values())
        self.progress.note(f"{key:,} of {words:,} words are key words; what they receive takes {size} on disk")

    def carry(self, asked: Kind | None) -> dict[str, dict[str, list[Any]]]:
        """All steps, one after the other."""
        from attlas.studies.keywords import study_steps as do
        from attlas.studies.keywords.predicting import steps_for

        seed, options, say = self.setting.seed, self.setting.options, self.progress.note

        def trained() -> Received:  # captured only if a step is still to be done
            return self._received(TRAINED)

        heads = self._once("heads", lambda: do.head_step(trained(), seed, say))
        phrases = self._once("phrases", lambda: do.phrase_step(trained(), heads, self.shape[1], self.stem, seed, say))
        kind = asked or do.best_kind(heads, self.kinds)
        auc = heads["kinds"][self.kinds.index(kind)]["choosing_auc"]
        counts = steps_for(self.heads, options["steps"])
        regression = self._once(
            "regression", lambda: do.regression_step(trained(), kind, options["folds"], counts, seed, say)
        )
        mix = self._once("mix", lambda: do.mix_step(trained(), kind, seed, say))
        beside = self._once("predictors", lambda: do.predictor_step(trained(), kind, auc, self.stem, seed, say))
        self._leave(TRAINED)
        twin: dict[str, Any] = {}
        if options["twin"]:
            twin = self._once("twin", lambda: do.twin_step(self._received(UNTRAINED), kind, seed, say))
            self._leave(UNTRAINED)
        self.kind = kind
        return self._tables(heads, phrases, regression, mix, beside["rows"], twin)

    def _once(self, part: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What a step gives: from an earlier run, or made now and kept."""
        plan = self.setting.plan
        if self.resume and (earlier := load_checkpoint(self.folder, part)):
            changed = "; ".join(differences(earlier.plan, plan))
            if changed:
                raise PlanError(
                    f"{checkpoint_file(self.folder, part)}: this checkpoint has another plan ({changed}); go back to "
                    "it, or delete this file"
                )
            found: dict[str, Any] = earlier.progress["made"]
            return found
        began, capturing = time.monotonic(), self.capturing
        made = make()
        if self.setting.out is not None:
            seconds = time.monotonic() - began - (self.capturing - capturing)
            save_checkpoint(self.folder, plan.to_dict(), {}, {"made": made, "seconds": seconds}, part)
        return made

    def _received(self, model: str) -> Received:
        """What words receive from the model or its twin, captured unless it is there."""
        from attlas.studies.keywords.kept import Received, Writer, items_of

        if model in self.captured:
            return self.captured[model]
        began = time.monotonic()
        setting, part = self.setting, model
        studied = setting.subject if model == TRAINED else setting.subject.twin(setting.seed)
        made_for = {"plan": setting.plan.to_dict(), "model": model}
        received = Received(self.folder / RECEIVED / model, self.parts, self.kinds, self.heads, made_for)
        if setting.out is not None and not received.kept:  # what was written is gone: begin again
            checkpoint_file(setting.out, part).unlink(missing_ok=True)
        items = items_of(self.parts)
        carry_out(
            Writer(studied, received), items, [item.example.length for item in items], setting.plan, part=part,
            out=setting.out, resume=self.resume and setting.out is not None, budget=setting.budget,
            report_progress=self.progress, checkpoint_every=self.checkpoint_every,
        )  # fmt: skip
        self.captured[model] = received
        self.capturing += time.monotonic() - began  # which has a checkpoint of its own
        return received

    def _leave(self, model: str) -> None:
        """Give back the room that a model's files take."""
        self.captured.pop(model, None)
        shutil.rmtree(self.folder / RECEIVED / model, ignore_errors=True)

    def _tables(
        self, heads: Mapping[str, Any], phrases: Mapping[str, Any], regression: Mapping[str, Any],
        mix: Mapping[str, Any], beside: Sequence[Mapping[str, Any]], twin: Mapping[str, Any],
    ) -> dict[str, dict[str, list[Any]]]:  # fmt: skip
        from attlas.studies.keywords import study_tables as lay

        stream, each = self.setting.subject.pieces.own.value, self.shape[1]
        named = lay.named_heads(stream, self.heads, each)
        language = self.setting.options["language"]
        return {
            "heads": lay.head_table(heads, phrases, self.kinds, named, twin.get("auc")),
            "choice": lay.choice_table(phrases, named),
            "phrases": lay.columns(phrases["rows"]),
            "regression": lay.columns(regression["rows"], without=("auc_low", "auc_high")),
            "regression_weights": named | regression["weights"],
            "mix": named | {"share": mix["share"], "gamma": [mix["gamma"]] * self.heads},
            "predictors": lay.predictor_table(
                [*beside, *(step["predictor"] for step in (mix, regression, twin) if step)]
            ),
            "whole": lay.columns(
                [lay.whole_row(part, self.stem, language, self.kind) for part in self.parts.values()]
            ),
        }

    def counts(self) -> dict[str, Any]:
        """What the manifest says of the texts."""
        chosen, scored = self.parts.values()
        examples = [*chosen.examples, *scored.examples]
        return {
            "documents": len(chosen.documents) + len(scored.documents),
            "passages": len(examples),
            "pieces": sum(example.length for example in examples),
            "chosen_on": len(chosen.documents),
            "scored_on": len(scored.documents),
        }
