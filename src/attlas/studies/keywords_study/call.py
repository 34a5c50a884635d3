"""What heads know of key words, as one call: capture what words receive, look at heads, choose some, train on all.

A run goes through the model and then through untrained twins of it. What their words receive lies on disk meanwhile,
in a folder of its own that is deleted before the next model's is written. Each step that is done is kept until the
result is saved, and is not repeated when the run is resumed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.corpora import Corpus
from attlas.errors import CorpusError, PlanError
from attlas.run.parameters import Help, Model, Reading, Role, Texts, Twin, Twins, numbers_of, study_call
from attlas.run.session import Run, begin
from attlas.run.setting import as_corpus, as_subject, drawn
from attlas.store import Result
from attlas.store.checkpoint import checkpoint_file, without_budget

if TYPE_CHECKING:
    from attlas.studies.keywords_study.passes import Part, Received
    from attlas.studies.shared.keywords.weighing import Kind
    from attlas.text import Document
    from attlas.text.stems import Stem

LONGEST = 512
RECEIVED = ".received"
TRAINED, UNTRAINED = "model", "untrained twin"


@study_call(without=("long",), whole="what words receive is written to files, which all its later steps read")
def keywords_study(
    subject: Model = None,
    corpus: Texts = "sample",
    *,
    test: Annotated[
        Texts | None, Role("other corpus"), Help("Texts to score on; else one half of the documents is for each.")
    ] = None,
    kind: Annotated[
        str | None,
        Help(
            "Attention by which all heads together are read: weight-mean, weight-max, norm-mean or norm-max; else "
            "the one whose heads are best where they are chosen.",
            check="attlas.studies.shared.keywords.weighing:kind_named",
        ),
    ] = None,
    folds: Annotated[int, Help("Folds of the cross-validation.", least=2)] = 5,
    steps: Annotated[
        Sequence[int] | str | None,
        Help("How many heads the regression keeps, such as 1,5,20; up to all.", kind=str | None),
    ] = None,
    language: Annotated[str, Help("Whose stemmer finds key phrases in texts; or none.")] = "english",
    twins: Twins = 1,
    twin: Twin = "beside",
    max_disk: Annotated[float, Help("Most room (GB) that attention may take meanwhile.", least=0)] = 8.0,
    **running: Unpack[Reading],
) -> Result:
    """Ask of every head how much more attention key words receive than others, and choose heads that find them.

    The corpus has texts with key phrases (JSON lines). Heads are chosen, and a regression and a scalar mix of all
    heads are trained, on one part of the texts and scored on the other, beside what needs no model and an untrained
    twin; each twin has a pass and a regression of its own, so there is one unless more are asked for. attlas keywords
    takes the heads from the result (--study).

    >>> result = keywords_study(limit=12, folds=2, twin="none")
    >>> result.manifest.study, sorted(result.tables)
    ('keywords-study', ['choice', 'heads', 'mix', 'phrases', 'predictors', 'regression', 'regression_weights',
    'whole'])
    """
    from attlas.capture.measuring import require_measure
    from attlas.studies.shared.keywords.weighing import KINDS, kind_named
    from attlas.text.stems import stemmer

    if folds < 2:
        raise PlanError(f"cross-validation needs at least 2 folds, and {folds} was given")
    kept = None if steps is None else numbers_of(steps, "--steps")
    if kept is not None and any(step < 1 for step in kept):
        raise PlanError(f"the numbers of heads to keep must be at least 1, and {min(kept)} was given")
    stem = stemmer(language)
    texts = as_corpus(corpus)
    other = None if test is None else as_corpus(test)
    chosen_on, scored_on = split(texts, other, running["seed"])
    model = as_subject(subject)
    asked = None if kind is None else kind_named(kind)
    if asked is not None:
        require_measure(model, asked.measure)
    limit, pieces = running["limit"], running["max_pieces"] or min(model.pieces.window, LONGEST)
    options = {
        "kind": None if asked is None else str(asked), "folds": folds, "steps": kept, "language": language,
        "twins": twins, "max_pieces": pieces, "limit": limit,
    }  # fmt: skip
    more = {} if other is None else {"test": other}
    with begin("keywords-study", model, texts, options, running, more=more, twin=twin) as run:
        sides = [_readable(side, limit, run.seed, run.skipped) for side in (chosen_on, scored_on)]
        _require_key_words(sides[0], chosen_on.name, folds, stem)
        _require_key_words(sides[1], scored_on.name, 1, stem)
        kinds = tuple(kind for kind in KINDS if kind.measure == "weight" or model.has_norms)
        parts = _laid_out(run, sides, stem)
        work = _Steps(run, parts, kinds, stem, _room(run, parts, len(kinds), max_disk))
        return run.finish(work.tables(asked))


def split(texts: Corpus, test: Corpus | None, seed: int) -> tuple[Corpus, Corpus]:
    """What to choose on, and what to score on: two corpora, or the two halves of one."""
    for corpus in (texts, *([] if test is None else [test])):
        if "keyphrases" not in corpus.annotations:
            raise CorpusError(
                "it has no key phrases, which this study asks about; give texts with key phrases in JSON lines",
                file=corpus.name,
            )
    return texts.halves(seed) if test is None else (texts, test)


def _readable(corpus: Corpus, limit: int | None, seed: int, skipped: Counter[str]) -> list[Document]:
    """The documents of a part that have key phrases, or so many of them, drawn."""
    documents = [document for document in corpus.documents if document.keyphrases]
    kept = drawn(documents, limit, seed)
    skipped["documents without a key phrase"] += len(corpus.documents) - len(documents)
    skipped["documents not drawn"] += len(documents) - len(kept)
    return kept


def _require_key_words(documents: Sequence[Document], name: str, least: int, stem: Stem) -> None:
    """Refuse a part where too few documents have both key words and other words."""
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


def _laid_out(run: Run, sides: Sequence[Sequence[Document]], stem: Stem) -> dict[str, Part]:
    """Both parts cut into windows, with their key words; what was cut is counted."""
    from attlas.studies.keywords_study.passes import lay_out
    from attlas.studies.keywords_study.steps import CHOSEN, SCORED

    pieces = run.options["max_pieces"]
    run.note_cutting(sum(len(side) for side in sides))
    parts = {
        name: lay_out(name, run.subject, side, pieces, stem)
        for name, side in zip((CHOSEN, SCORED), sides, strict=True)
    }
    for part in parts.values():
        lacking = sum(len(example.source.segmentation.wordless) for example in part.examples)
        run.skipped["words without a piece of their own"] += lacking
        windows = len(part.examples) - len(part.documents)
        run.skipped[f"further windows of documents longer than {pieces} pieces"] += windows
    examples = [example for part in parts.values() for example in part.examples]
    run.counts |= {
        "documents": sum(len(part.documents) for part in parts.values()), "passages": len(examples),
        "pieces": sum(example.length for example in examples), "chosen_on": len(parts[CHOSEN].documents),
        "scored_on": len(parts[SCORED].documents),
    }  # fmt: skip
    return parts


def _room(run: Run, parts: Mapping[str, Part], kinds: int, most: float) -> Path:
    """The folder for what words receive; refused where there is no room for it."""
    from attlas.probes.files import size_of

    heads = math.prod(run.subject.shape(run.subject.pieces.own))
    needed = {name: 4 * kinds * part.words * heads for name, part in parts.items()}
    room = run.scratch(RECEIVED, needed, most=most, what="attention that words receive")
    key = sum(int(part.key.sum()) for part in parts.values())
    words = sum(part.words for part in parts.values())
    size = size_of(sum(needed.values()))
    run.progress.note(f"{key:,} of {words:,} words are key words; what they receive takes {size} on disk")
    return room


@dataclass
class _Steps:
    """All steps of a run, and what words receive from the model whose turn it is, in files within ``room``."""

    run: Run
    parts: Mapping[str, Part]
    kinds: tuple[Kind, ...]
    stem: Stem
    room: Path
    captured: dict[str, Received] = field(default_factory=dict)

    def tables(self, asked: Kind | None) -> dict[str, dict[str, list[Any]]]:
        """All steps, one after the other, and the tables made of them."""
        from attlas.studies.keywords_study import steps as do
        from attlas.studies.keywords_study.predicting import steps_for
        from attlas.studies.keywords_study.tables import tables_of, whole_row

        run = self.run
        layers, each = run.subject.shape(run.subject.pieces.own)
        options, how = run.options, {"seed": run.seed, "say": run.progress.note}
        done: dict[str, Any] = {}

        def step(name: str, make: Callable[..., dict[str, Any]], *given: Any, twin: int | None = None) -> None:
            # what words receive is captured only if a step is still to be done
            done[name] = run.once(name, lambda: make(self.received(twin), *given, **how))

        step("heads", do.head_step)
        step("phrases", do.phrase_step, done["heads"], each, self.stem)
        kind = asked or do.best_kind(done["heads"], self.kinds)
        auc = done["heads"]["kinds"][self.kinds.index(kind)]["choosing_auc"]
        step("regression", do.regression_step, kind, options["folds"], steps_for(layers * each, options["steps"]))
        step("mix", do.mix_step, kind)
        step("predictors", do.predictor_step, kind, auc, self.stem)
        self.leave()
        untrained = ["twin" if not number else f"twin-{number + 1}" for number in range(options["twins"])]
        with run.baseline(len(untrained)) as numbers:
            for number in numbers:
                step(untrained[number], do.twin_step, kind, twin=number)
                self.leave()
        done["twins"] = [done[name] for name in untrained if name in done]
        run.give_back(self.room)
        stream = run.subject.pieces.own.value
        named = [{"stream": stream, "layer": at // each, "head": at % each} for at in range(layers * each)]
        whole = [whole_row(part, self.stem, options["language"], kind) for part in self.parts.values()]
        return tables_of(done, self.kinds, named, whole)

    def leave(self) -> None:
        """Give back the room that what words receive takes."""
        for model in self.captured:
            self.run.give_back(self.room / model)
        self.captured.clear()

    def received(self, twin: int | None = None) -> Received:
        """What words receive from the model or one of its twins, captured unless it is there."""
        from attlas.studies.keywords_study.passes import Received, Writer, items_of

        model = TRAINED if twin is None else UNTRAINED if not twin else f"{UNTRAINED} {twin + 1}"
        if model in self.captured:
            return self.captured[model]
        run = self.run
        made_for = {"plan": without_budget(run.plan.to_dict()), "model": model}
        received = Received(
            self.room / model, self.parts, self.kinds, math.prod(run.subject.shape(run.subject.pieces.own)), made_for
        )
        items = items_of(self.parts)
        received.require_as_written(items)
        if run.out is not None and not received.kept:  # what was written is gone: begin again
            checkpoint_file(run.out, model).unlink(missing_ok=True)
        with nullcontext(run.subject) if twin is None else run.untrained(twin) as studied:
            run.carry(Writer(studied, received), items, model, lengths=[item.example.length for item in items])
        self.captured[model] = received
        return received
