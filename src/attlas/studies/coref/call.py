"""The study of coreference as one call: choose heads on some documents, score them on others, beside simple rules and
untrained twins.

The run has four parts, each with a checkpoint of its own: the model chooses and is scored, then its twins.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.corpora import Corpus, read
from attlas.errors import CorpusError
from attlas.run.parameters import Help, Measure, Model, Reading, Role, Twin, Twins, study_call
from attlas.run.session import begin
from attlas.run.setting import Texts, as_corpus, as_subject
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.studies.coref.passes import Window
    from attlas.text import Document

LONGEST = 512
READER = "attlas.studies.coref.call:whole_documents"
ASKED = ("format", "unit", "target", "label")


@study_call(without=("long", "limit"), keeps="every window with its mentions, for its cases")
def coref(
    subject: Model = None,
    corpus: Annotated[
        Texts,
        Role("corpus", READER, ASKED),
        Help(
            "A corpus with coreference (CoNLL-2012, OntoGUM, CoNLL-U with Entity=): a file, a folder of such files, "
            'or "sample".',
            argument=True,
        ),
    ] = "sample",
    *,
    choose_on: Annotated[
        Texts | None,
        Role("other corpus", READER, ASKED),
        Help("A corpus to choose heads on; else one half of the documents is."),
    ] = None,
    measure: Measure = "weight",
    twins: Twins = 5,
    twin: Twin = "beside",
    **running: Unpack[Reading],
) -> Result:
    """Ask of every head whether a mention attends most to an antecedent, beside simple rules and untrained twins.

    Heads are chosen on one part of the documents and scored on the rest. Documents are cut at sentence ends to
    windows of 512 pieces, or the model's window; a mention is asked for if one of its antecedents is in its window.

    >>> result = coref(corpus=as_corpus("sample").documents[:6], twins=1)
    >>> result.manifest.study, sorted(set(result.table.column("kind").to_pylist()))
    ('coref', ['all', 'nominal', 'pronoun', 'proper'])
    """
    from attlas.capture.measuring import require_measure
    from attlas.studies.coref.passes import Coref, choose_heads
    from attlas.studies.coref.tables import Scored, coref_tables

    texts, other = whole_documents(corpus), None if choose_on is None else whole_documents(choose_on)
    halves = texts.halves(running["seed"]) if other is None else (other, texts)
    model = as_subject(subject)
    pieces = running["max_pieces"] or min(model.pieces.window, LONGEST)
    options = {"measure": require_measure(model, measure), "max_pieces": pieces, "twins": twins}
    with begin(
        "coref", model, texts, options, running, more={} if other is None else {"choose_on": other}, twin=twin
    ) as run:
        run.note_cutting(sum(len(half.documents) for half in halves), many=100)
        chosen_on, scored_on = (cut(model, half.documents, pieces) for half in halves)
        chosen_on.require("choose heads on")
        scored_on.require("score heads on")
        sides = (chosen_on, scored_on)
        run.counts |= {
            "documents": sum(side.documents for side in sides),
            "passages": sum(len(side.windows) for side in sides),
            "pieces": sum(window.source.length for side in sides for window in side.windows),
            "mentions_chosen_on": chosen_on.asked,
            "mentions_scored_on": scored_on.asked,
            "units": len({window.unit for window in scored_on.windows}),
            "unit": "document",
            "mentions_with_an_antecedent": sum(side.whole for side in sides),
        }
        run.skipped += chosen_on.skipped + scored_on.skipped
        scored = []
        for who, studied in run.twins(twins):
            with run.as_far_as_known():
                chooser = Coref(studied, measure=measure)
                choosing = run.carry(chooser, chosen_on.windows, f"{who}choosing")
                chosen = choose_heads(chooser, choosing)
                part = Coref(studied, measure=measure, chosen=chosen)
                scored.append(Scored(part, choosing, run.carry(part, scored_on.windows, f"{who}scoring"), chosen))
        return run.finish(coref_tables(scored[0], scored[1:], scored_on.windows, run.seed))


def whole_documents(corpus: Texts, format: str | None = None, *, unit: str | None = None, **how: Any) -> Corpus:
    """A corpus of documents with mentions, refused where there are none; a treebank is read by document.

    >>> from attlas.text import Document
    >>> whole_documents([Document.from_text("It rained.")])
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: documents: it has no mentions; ...
    """
    if isinstance(corpus, str | os.PathLike):
        given = {name: value for name, value in how.items() if value is not None}
        texts = read(corpus, format, unit=unit or _unit(corpus, format), **given)
    else:
        texts = as_corpus(corpus)
    if "mentions" not in texts.annotations:
        raise CorpusError(
            "it has no mentions; coreference needs a corpus that has them: CoNLL-2012 or OntoGUM (.conll), or "
            "CoNLL-U with Entity= in its last column",
            file=texts.name,
        )
    if texts.format == "conllu" and len(set(texts.articles)) < len(texts.documents):
        raise CorpusError(
            "it was read sentence by sentence, and antecedents are mostly in other sentences; read it with "
            "unit='document'",
            file=texts.name,
        )
    return texts


def _unit(path: str | os.PathLike[str], format: str | None) -> str | None:
    """A treebank's unit is the document; other formats have none to choose."""
    from attlas.corpora.naming import streams_only
    from attlas.corpora.sniffing import sniff
    from attlas.corpora.source import member_names, open_source

    if path == "sample" or streams_only(path):
        return None
    names = member_names(path)
    if names is not None and (len(names) != 1 or Path(path).is_dir()):
        return "document" if any(".conllu" in name for name in names) else None
    source = open_source(path)
    return "document" if source.text.strip() and (format or sniff(source)) == "conllu" else None


@dataclass
class Cut:
    """The windows of some documents: how many mentions are asked for in them, of how many in the whole documents.

    >>> Cut().asked
    0
    """

    windows: list[Window] = field(default_factory=list)
    documents: int = 0
    whole: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        """How many mentions are asked for."""
        return sum(len(window.question.asked) for window in self.windows)

    def require(self, purpose: str) -> None:
        """Refuse to go on where there is no mention to ask for."""
        if not self.windows:
            raise CorpusError(
                f"there is no mention with an antecedent in its window to {purpose}; give more documents, longer "
                "windows (--max-pieces), or another corpus to choose on (--choose-on)"
            )


def cut(model: Subject, documents: Sequence[Document], pieces: int) -> Cut:
    """Cut documents into windows, and keep those in which a mention has an antecedent.

    >>> pieces = cut(as_subject(None), as_corpus("sample").documents[:2], 128)
    >>> len(pieces.windows), pieces.asked == pieces.whole > 0
    (2, True)
    """
    from attlas.capture.reading import read_documents
    from attlas.studies.coref.mentions import question_of
    from attlas.studies.coref.passes import Window

    parts = Cut(documents=len(documents))
    for number, document in enumerate(documents):
        parts.whole += len(question_of(document).asked)
        try:
            reading = read_documents(model, [document], limit=pieces)
        except CorpusError:  # nothing is left of this one
            parts.skipped["documents with a word that is longer than the window by itself"] += 1
            continue
        parts.skipped += reading.skipped
        for example in reading.examples:
            question = question_of(example.passage.first, example.source.segmentation.wordless)
            if not question.asked:
                parts.skipped["windows without a mention that has an antecedent in them"] += 1
                continue
            place = len(parts.windows)
            parts.windows.append(
                Window(example.passage, example.source, unit=number, question=question, number=place)
            )
    parts.skipped["mentions whose antecedents are all outside their window"] += parts.whole - parts.asked
    parts.skipped = +parts.skipped
    return parts
