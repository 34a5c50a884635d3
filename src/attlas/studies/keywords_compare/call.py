"""Key phrases from attention beside other methods that need no training, as one call.

Each form of a method goes through all documents by itself, so that its time is its own, and is a step of the run:
what it found is kept, and not found again when the run is resumed.
"""

from __future__ import annotations

import importlib.metadata
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.corpora import Corpus
from attlas.errors import CorpusError
from attlas.run.parameters import Help, Model, Reading, Texts, names_of, study_call
from attlas.run.session import Run, begin
from attlas.run.setting import as_corpus, as_subject, drawn
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.studies.keywords_compare.baselines.methods import Field, Method
    from attlas.studies.keywords_compare.tables import Told
    from attlas.studies.shared.keywords.scoring import Given
    from attlas.text import Document
    from attlas.text.stems import Stem


@study_call(
    budget=None, without=("long", "checkpoint_every"), alone="it times one way after the other on the same machine"
)
def keywords_compare(
    subject: Model = None,
    corpus: Texts = "sample",
    *,
    study: Annotated[
        Path | str | Result | None,
        Help("A result of attlas keywords study (its folder), made of other texts: its heads.", kind=Path | None),
    ] = None,
    methods: Annotated[
        Sequence[str] | str | None,
        Help(
            "Names, such as tf-idf,yake: attention, attention weights, embedding, keybert, yake, tf-idf, textrank, "
            "first, random; all that are installed if left out.",
            kind=str | None,
            check="attlas.studies.keywords_compare.baselines.methods:check_methods",
        ),
    ] = None,
    language: Annotated[str, Help("Whose stemmer compares phrases; or none.")] = "english",
    **running: Unpack[Reading],
) -> Result:
    """Compare key phrases from attention with those of TF-IDF, TextRank, YAKE, KeyBERT and others.

    The corpus has texts with key phrases (JSON lines). No method is trained; those that need a model have the same
    one. Heads are those of a study, or what is shipped for the model, or else all heads of the last layer, which
    stand beside the chosen ones in any case. YAKE and KeyBERT are packages of their own (pip install
    'attlas[keywords]'). Texts without a key phrase are left out; TF-IDF counts over the whole corpus all the same.

    >>> result = keywords_compare(None, "sample", methods=["first"], limit=3)
    >>> sorted(set(result.table.column("method").to_pylist()))
    ['attention', 'first']
    """
    from attlas.studies.keywords_compare.baselines.methods import Field
    from attlas.studies.keywords_compare.tables import tables_of
    from attlas.studies.shared.keywords.choice import choose_heads
    from attlas.studies.shared.keywords.weighing import usual_budget
    from attlas.text.stems import stemmer

    stem, texts = stemmer(language), as_corpus(corpus)
    limit, pieces = running["limit"], running["max_pieces"]
    documents, given, skipped = scorable(texts, limit, running["seed"], stem)
    model = as_subject(subject)
    choice = choose_heads(model, study)
    fitting: Reading = {**running, "budget": running["budget"] or usual_budget(model)}
    field = Field(model, choice, texts.documents, language, running["seed"], pieces, fitting["budget"])
    asked = None if methods is None else names_of(methods)
    ways, missing = _ways_of(field, asked)
    options = {
        "methods": asked, "forms": [way.label for way in ways], "language": language, "max_pieces": pieces,
        "limit": limit, **choice.options, "packages": _versions(ways),
    }  # fmt: skip
    with begin("keywords-compare", model, texts, options, fitting) as run:
        for why in missing:
            run.progress.note(f"left out: {why}")
        lengths = [example.length for example in model.pieces.encode_texts([one.text for one in documents])]
        told = [_carried_out(run, way, documents, lengths) for way in ways]
        run.skipped.update(skipped | {f"left out: {why}": 1 for why in missing})
        run.counts |= {
            "documents": len(documents), "words": sum(len(document.words) for document in documents),
            "pieces": sum(lengths),
        }  # fmt: skip
        seconds = sum(each.seconds for each in told)
        return run.finish(tables_of(told, documents, given, field), seconds=seconds)


def scorable(
    texts: Corpus, limit: int | None, seed: int, stem: Stem
) -> tuple[list[Document], list[Given], dict[str, int]]:
    """The documents to score on, the phrases that people gave them, and what was left out and why."""
    from attlas.studies.shared.keywords.scoring import given_in

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
    some = drawn(kept, limit, seed)
    skipped = {"texts without a key phrase": len(texts.documents) - len(kept)}
    if len(some) < len(kept):
        skipped["texts not drawn"] = len(kept) - len(some)
    return [document for document, _ in some], [given for _, given in some], skipped


def _ways_of(field: Field, methods: Sequence[str] | None) -> tuple[list[Method], list[str]]:
    """All forms of the methods that are asked for, attention first; and why some are not there."""
    from attlas.studies.keywords_compare.baselines.methods import NAMES, OURS

    if methods is not None:
        names = list(dict.fromkeys([OURS, *methods]))
        return [way for name in names for way in field.methods(name)], []
    missing = {name: why for name in NAMES if (why := field.missing(name)) is not None}
    return [way for name in NAMES if name not in missing for way in field.methods(name)], list(missing.values())


def _carried_out(run: Run, way: Method, documents: Sequence[Document], lengths: Sequence[int]) -> Told:
    """What a method finds: from an earlier run, or now."""
    from attlas.studies.keywords_compare.baselines.named import Named
    from attlas.studies.keywords_compare.tables import Told

    def find() -> dict[str, Any]:
        found = []
        began = time.perf_counter()
        run.progress.start(f"keywords compare, {way.label}", sum(lengths))
        try:
            for phrases, pieces in zip(way.rank(documents), lengths, strict=True):
                found.append([[phrase.text, list(phrase.stems)] for phrase in phrases])
                run.progress.advance(pieces)
        except KeyboardInterrupt:
            if run.out is not None:
                run.progress.note(f"interrupted in {way.label}; what was done before is kept, go on with --resume")
            raise
        finally:
            run.progress.finish()
        return {"found": found, "seconds": time.perf_counter() - began}

    step = run.once(re.sub(r"\W+", "-", way.label), find)
    found = [[Named(text, tuple(stems)) for text, stems in phrases] for phrases in step["found"]]
    return Told(way.name, way.form, way.needs, found, float(step["seconds"]))


def _versions(ways: Sequence[Method]) -> dict[str, str]:
    """The versions of packages that decide what is found."""
    from attlas.studies.keywords_compare.baselines.methods import PACKAGES

    used = [package for package in PACKAGES if any(way.name == package for way in ways)]
    return {package: importlib.metadata.version(package) for package in used}
