"""Key phrases from attention beside other methods that need no training, as one call.

Each form of a method goes through all documents by itself, so that its time is its own, and is a part of the run:
what it found is kept in a checkpoint, and not found again when the run is resumed.
"""

from __future__ import annotations

import importlib.metadata
import json
import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attlas.corpora import Corpus
from attlas.errors import CorpusError, PlanError
from attlas.ids import paper_label
from attlas.run.keywords import chosen_heads
from attlas.run.plan import differences
from attlas.run.progress import Progress, Silent
from attlas.run.setting import Setting, Texts, as_corpus, as_subject
from attlas.store import Result, load_checkpoint, save_checkpoint
from attlas.store.checkpoint import checkpoint_file, checkpoint_parts
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.keywords.baselines.methods import Field, Method
    from attlas.studies.keywords.comparing import Told
    from attlas.studies.keywords.scoring import Given
    from attlas.text import Document
    from attlas.text.stems import Stem


def keywords_compare(
    subject: Subject | str | None = None,
    corpus: Texts = "sample",
    *,
    study: Path | str | Result | None = None,
    methods: Sequence[str] | None = None,
    language: str = "english",
    max_pieces: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Hold the key phrases of attention, and of other methods without training, against those that people gave.

    Heads are those of ``study``, a result of ``attlas keywords study`` made of other texts, or what is shipped for
    the model, or else all heads of the last layer, which stand beside the chosen ones in any case. ``methods`` are
    names out of :data:`~attlas.studies.keywords.baselines.methods.NAMES`; all that can be had if left out. Documents
    without a key phrase are left out, ``limit`` keeps so many of the others, drawn by ``seed``; TF-IDF counts over
    the whole corpus all the same.

    >>> result = keywords_compare(None, "sample", methods=["first"], limit=3)
    >>> sorted(set(result.table.column("method").to_pylist()))
    ['attention', 'first']
    """
    from attlas.studies.keywords.baselines.methods import Field
    from attlas.studies.keywords.weighing import usual_budget
    from attlas.text.stems import stemmer

    stem, texts = stemmer(language), as_corpus(corpus)
    documents, given, skipped = scorable(texts, limit, seed, stem)
    model = as_subject(subject)
    choice = chosen_heads(model, study, None, None, "mean")
    most = budget or usual_budget(model)
    field = Field(model, choice, texts.documents, language, seed, max_pieces, most)
    say = progress or Silent()
    ways, missing = ways_of(field, methods)
    for why in missing:
        say.note(f"left out: {why}")
    options = {
        "methods": [way.label for way in ways], "language": language, "max_pieces": max_pieces, "limit": limit,
        "heads": [[head.layer, head.head] for head in choice.heads], "measure": choice.measure, "over": choice.over,
        "why": choice.why, "packages": _versions(ways),
    }  # fmt: skip
    setting = Setting("keywords-compare", model, texts, options, seed, most, None if out is None else Path(out))
    work = _Work(setting, documents, resume, say)
    told = [work.carry_out(way) for way in ways]
    counts = {
        "documents": len(documents), "words": sum(len(document.words) for document in documents),
        "pieces": sum(work.pieces),
    }  # fmt: skip
    return setting.finish(
        tables_of(told, documents, given, field),
        counts=counts,
        skipped=skipped | {f"left out: {why}": 1 for why in missing},
        seconds=sum(one.seconds for one in told),
    )


def scorable(
    texts: Corpus, limit: int | None, seed: int, stem: Stem
) -> tuple[list[Document], list[Given], dict[str, int]]:
    """The documents to score on, the phrases that people gave them, and what was left out and why.

    >>> from attlas.text import Document
    >>> scorable(as_corpus([Document.from_text("It rained.")]), None, 0, str.lower)
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: documents: its texts have no key phrases to compare with; give texts with ...
    """
    from attlas.studies.keywords.scoring import given_in

    if "keyphrases" not in texts.annotations:
        raise CorpusError(
            "its texts have no key phrases to compare with; give texts with their key phrases as JSON lines",
            file=texts.name,
        )
    pairs = [(document, given_in(document, stem)) for document in texts.documents if document.words]
    kept = [(document, given) for document, given in pairs if given.all]
    if not any(given.present for _, given in kept):
        raise CorpusError(
            "no key phrase occurs in any text, so there is nothing to find; see that phrases and texts belong "
            "together and are in one language",
            file=texts.name,
        )
    skipped = {"texts without a key phrase": len(texts.documents) - len(kept)}
    if limit is not None and len(kept) > limit:
        skipped["texts not drawn"] = len(kept) - limit
        kept = [kept[at] for at in sorted(random.Random(seed).sample(range(len(kept)), limit))]
    return [document for document, _ in kept], [given for _, given in kept], skipped


def ways_of(field: Field, methods: Sequence[str] | None) -> tuple[list[Method], list[str]]:
    """All forms of the methods that are asked for, attention first; and why some are not there.

    >>> from attlas.capture import load
    >>> from attlas.studies.keywords.baselines.methods import Field
    >>> from attlas.studies.keywords.choice import last_layer
    >>> ways, missing = ways_of(Field(load(), last_layer(load(), "norm"), []), ["first"])
    >>> [way.label for way in ways][:2], missing
    (['attention, last layer', "first, attention's candidates"], [])
    """
    from attlas.studies.keywords.baselines.methods import NAMES, OURS

    if methods is not None:
        names = list(dict.fromkeys([OURS, *methods]))
        return [way for name in names for way in field.methods(name)], []
    missing = {name: why for name in NAMES if (why := field.missing(name)) is not None}
    return [way for name in NAMES if name not in missing for way in field.methods(name)], list(missing.values())


def tables_of(
    told: Sequence[Told], documents: Sequence[Document], given: Sequence[Given], field: Field
) -> dict[str, Any]:
    """The tables of the study.

    >>> from attlas.capture import load
    >>> from attlas.studies.keywords.baselines.methods import Field
    >>> from attlas.studies.keywords.choice import last_layer
    >>> tables_of([], [], [], Field(load(), last_layer(load(), "norm"), []))["whole"]["heads"]
    [12]
    """
    from attlas.studies.keywords.comparing import example_rows, given_rows, method_rows

    choice = field.choice
    whole = {
        "documents": len(documents), "words": sum(len(document.words) for document in documents),
        "given": sum(len(one.all) for one in given), "present": sum(len(one.present) for one in given),
        "choice": f"{len(choice.heads)} heads ({choice.why}), {choice.measure}, {choice.over} over words",
        "heads": len(choice.heads), "names": ", ".join(paper_label(head.layer, head.head) for head in choice.heads),
        "measure": choice.measure, "over": choice.over, "language": field.language, "corpus": len(field.corpus),
    }  # fmt: skip
    return {
        "methods": as_columns(method_rows(told, given, field.seed) if told else []),
        "examples": as_columns(example_rows(told, documents, given)),
        "given": as_columns(given_rows(documents, given, field.stem)),
        "whole": as_columns([whole]),
    }


@dataclass
class _Work:
    """One run on its way: its documents, and what is there of an earlier one."""

    setting: Setting
    documents: list[Document]
    resume: bool
    say: Progress

    def __post_init__(self) -> None:
        out = self.setting.out
        self.setting.require_free(resume=self.resume)
        if self.resume and out is None:
            raise PlanError("resuming needs the folder of the interrupted run; give it with --out")
        if out is not None and not self.resume and (parts := checkpoint_parts(out)):
            raise PlanError(
                f"{checkpoint_file(out, parts[0])}: an earlier run was interrupted here; go on with --resume, or "
                "delete this file"
            )
        encoded = self.setting.subject.pieces.encode_texts([document.text for document in self.documents])
        self.pieces = [example.length for example in encoded]

    def carry_out(self, way: Method) -> Told:
        """What a method finds: from an earlier run, or now."""
        from attlas.studies.keywords.comparing import Told

        out, plan, part = self.setting.out, self.setting.plan, re.sub(r"\W+", "-", way.label)
        if self.resume and out is not None and (earlier := load_checkpoint(out, part)):
            changed = "; ".join(differences(earlier.plan, plan))
            if changed:
                raise PlanError(
                    f"{checkpoint_file(out, part)}: this checkpoint has another plan ({changed}); go back to it, or "
                    "delete this file"
                )
            self.say.note(f"{way.label} is done already")
            found = _from_bytes(earlier.state["found"])
            return Told(way.name, way.form, way.needs, found, float(earlier.progress["seconds"]))
        found = []
        began = time.perf_counter()
        self.say.start(f"keywords compare, {way.label}", sum(self.pieces))
        try:
            for phrases, pieces in zip(way.rank(self.documents), self.pieces, strict=True):
                found.append(phrases)
                self.say.advance(pieces)
        except KeyboardInterrupt:
            if out is not None:
                self.say.note(f"interrupted in {way.label}; what was done before is kept, go on with --resume")
            raise
        finally:
            self.say.finish()
        seconds = time.perf_counter() - began
        if out is not None:
            save_checkpoint(out, plan.to_dict(), {"found": _to_bytes(found)}, {"seconds": seconds}, part)
        return Told(way.name, way.form, way.needs, found, seconds)


def _to_bytes(found: list[list[Any]]) -> Any:
    """Phrases as an array that a checkpoint takes."""
    return np.frombuffer(json.dumps(found).encode(), dtype=np.uint8)


def _from_bytes(stored: Any) -> list[list[Any]]:
    from attlas.studies.keywords.baselines.named import Named

    return [[Named(text, tuple(stems)) for text, stems in one] for one in json.loads(stored.tobytes())]


def _versions(ways: Sequence[Method]) -> dict[str, str]:
    """The versions of packages that decide what is found."""
    from attlas.studies.keywords.baselines.methods import PACKAGES

    used = [package for package in PACKAGES if any(way.name == package for way in ways)]
    return {package: importlib.metadata.version(package) for package in used}
