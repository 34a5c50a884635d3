"""The study of coreference as one call: choose heads on some documents, score them on others, beside simple rules and
an untrained twin.

The run has four parts, each with a checkpoint of its own: the model chooses and is scored, then its twin.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from attlas.corpora import Corpus, read
from attlas.errors import CorpusError
from attlas.run.local import carry_out
from attlas.run.progress import Progress
from attlas.run.setting import BUDGET, Setting, Texts, as_corpus, as_subject, say_cutting
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.stats import Bundle
    from attlas.studies.coref import Coref, Window
    from attlas.text import Document

LONGEST = 512


def coref(
    subject: Subject | str | None = None,
    corpus: Texts = "sample",
    *,
    select: Texts | None = None,
    measure: str = "weight",
    max_pieces: int | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Ask of every head whether a mention attends most to an antecedent, beside three simple rules.

    Heads are chosen on ``select``, or else on one half of the corpus's documents, and scored on the rest. ``measure``
    is weight or norm. Documents are cut at sentence ends to windows of ``max_pieces`` (None: 512, or the model's
    window); a mention is asked for if one of its antecedents is in its window.

    >>> result = coref(corpus=as_corpus("sample").documents[:6])
    >>> result.manifest.study, sorted(set(result.table.column("kind").to_pylist()))
    ('coref', ['all', 'nominal', 'pronoun', 'proper'])
    """
    from attlas.capture.measuring import require_measure
    from attlas.studies.coref import Coref, choose_heads
    from attlas.studies.coref_tables import Scored, coref_tables

    texts, other = whole_documents(corpus), None if select is None else whole_documents(select)
    model = as_subject(subject)
    require_measure(model, measure)
    chosen_on, scored_on = texts.halves(seed) if other is None else (other, texts)
    pieces = max_pieces or min(model.pieces.window, LONGEST)
    setting = Setting(
        "coref", model, texts, {"measure": measure, "max_pieces": pieces}, seed, budget,
        None if out is None else Path(out), more={} if other is None else {"select": other},
    )  # fmt: skip
    setting.require_free(resume=resume)
    say_cutting(progress, len(chosen_on.documents) + len(scored_on.documents), many=100)
    sides = [cut(model, side.documents, pieces) for side in (chosen_on, scored_on)]
    for side, purpose in zip(sides, ("choose heads on", "score heads on"), strict=True):
        side.require(purpose)

    def carry(study: Coref, side: Cut, part: str) -> Bundle:
        return carry_out(
            study, side.windows, [window.length for window in side.windows], setting.plan, part=part,
            out=setting.out, resume=resume, budget=budget, report_progress=progress,
            checkpoint_every=checkpoint_every,
        )  # fmt: skip

    scored = []
    for who, studied in (("", model), ("untrained ", model.twin(seed))):
        chooser = Coref(studied, measure=measure, seed=seed)
        choosing = carry(chooser, sides[0], f"{who}choosing")
        chosen = choose_heads(chooser, choosing)
        study = Coref(studied, measure=measure, chosen=chosen, seed=seed)
        scored.append(Scored(study, choosing, carry(study, sides[1], f"{who}scoring"), chosen))
    tables = coref_tables(scored[0], scored[1], sides[1].windows)
    counts = {
        "documents": sum(side.documents for side in sides),
        "passages": sum(len(side.windows) for side in sides),
        "pieces": sum(window.source.length for side in sides for window in side.windows),
        "mentions_chosen_on": sides[0].asked,
        "mentions_scored_on": sides[1].asked,
        "mentions_with_an_antecedent": sum(side.whole for side in sides),
    }
    return setting.finish(tables, counts=counts, skipped=sides[0].skipped + sides[1].skipped)


def whole_documents(corpus: Texts) -> Corpus:
    """A corpus of documents with mentions, refused where there are none; a treebank is read by document.

    >>> from attlas.text import Document
    >>> whole_documents([Document.from_text("It rained.")])
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: documents: it has no mentions; ...
    """
    made = read(corpus, unit=_unit(corpus)) if isinstance(corpus, (str, os.PathLike)) else as_corpus(corpus)
    if "mentions" not in made.annotations:
        raise CorpusError(
            "it has no mentions; coreference needs a corpus that has them: CoNLL-2012 or OntoGUM (.conll), or "
            "CoNLL-U with Entity= in its last column",
            file=made.name,
        )
    if made.format == "conllu" and len(set(made.articles)) < len(made.documents):
        raise CorpusError(
            "it was read sentence by sentence, and antecedents are mostly in other sentences; read it with "
            "unit='document'",
            file=made.name,
        )
    return made


def _unit(path: str | os.PathLike[str]) -> str | None:
    """A treebank's unit is the document; other formats have none to choose."""
    from attlas.corpora.sniffing import sniff
    from attlas.corpora.source import open_source

    if path == "sample":
        return None
    if Path(path).is_dir():
        return "document" if any(".conllu" in file.name for file in Path(path).iterdir()) else None
    source = open_source(path)
    return "document" if source.text.strip() and sniff(source) == "conllu" else None


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
        """How many mentions are asked for.

        >>> Cut().asked
        0
        """
        return sum(len(window.question.asked) for window in self.windows)

    def require(self, purpose: str) -> None:
        """Refuse to go on where there is no mention to ask for.

        >>> Cut().require("choose heads on")
        Traceback (most recent call last):
            ...
        attlas.errors.CorpusError: there is no mention with an antecedent in its window to choose heads on; ...
        """
        if not self.windows:
            raise CorpusError(
                f"there is no mention with an antecedent in its window to {purpose}; give more documents, longer "
                "windows (--max-pieces), or another corpus to choose on (--select)"
            )


def cut(model: Subject, documents: Sequence[Document], pieces: int) -> Cut:
    """Cut documents into windows, and keep those in which a mention has an antecedent.

    >>> made = cut(as_subject(None), as_corpus("sample").documents[:2], 128)
    >>> len(made.windows), made.asked == made.whole > 0
    (2, True)
    """
    from attlas.capture.reading import read_documents
    from attlas.studies.coref import Window
    from attlas.studies.mentions import question_of

    made = Cut(documents=len(documents))
    for number, document in enumerate(documents):
        made.whole += len(question_of(document).asked)
        try:
            reading = read_documents(model, [document], limit=pieces)
        except CorpusError:  # nothing is left of this one
            made.skipped["documents with a word that is longer than the window by itself"] += 1
            continue
        made.skipped += reading.skipped
        for example in reading.examples:
            question = question_of(example.passage.first, example.source.segmentation.wordless)
            if not question.asked:
                made.skipped["windows without a mention that has an antecedent in them"] += 1
                continue
            place = len(made.windows)
            made.windows.append(
                Window(example.passage, example.source, question=question, number=place, document=number)
            )
    made.skipped["mentions whose antecedents are all outside their window"] += made.whole - made.asked
    made.skipped = +made.skipped
    return made
