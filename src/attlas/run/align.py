"""Word alignment as one call: links read off attention, in one direction or two, beside those of word aligners.

Its parts (the model, the model of the other direction, the same of their untrained twins) have a checkpoint each, so
that a killed run goes on where it was.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus, read, write_links
from attlas.errors import CapabilityError, CorpusError, PlanError, TextError
from attlas.run.aligners import ALIGNERS
from attlas.run.baselines import Baselines, baselines, check_names
from attlas.run.local import carry_out
from attlas.run.progress import Progress
from attlas.run.setting import BUDGET, Setting, Texts, as_corpus, as_subject, say_cutting
from attlas.store import Result
from attlas.store.columns import as_columns
from attlas.text import Document, Links, Passage

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.models import Example
    from attlas.studies.alignment import Alignment
    from attlas.studies.alignment_shown import Wanted
    from attlas.studies.alignment_tables import Evidence
    from attlas.text.links import Pairs


def align(
    subject: Subject | str | None,
    corpus: Texts,
    *,
    gold: Path | str | None = None,
    one_indexed: bool = False,
    back: Subject | str | None = None,
    stream: str | None = None,
    measure: str = "norm",
    setting: str | None = None,
    layer: int | None = None,
    head: str | None = None,
    direction: str | None = None,
    compete: bool = True,
    aligners: Sequence[str] = ALIGNERS,
    more: Texts | None = None,
    pharaoh: Path | str | None = None,
    max_pieces: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    resume: bool = False,
    budget: int = BUDGET,
    checkpoint_every: float = 20.0,
    progress: Progress | None = None,
) -> Result:
    """Align the words of a bitext by a model's attention, every layer and head by weight and by norm; score the links
    where there is gold.

    ``back`` is the model of the other direction, whose links are turned round and put together with the first's.
    ``measure``, ``setting``, ``layer`` (from 0), ``head`` (such as "6-3") and ``direction`` say which links to hand
    out, in the table ``links`` and the file ``pharaoh``; left out, those of norms, with input, in the layer of the
    largest mean norm, symmetrised where there are two directions. With ``compete=False`` the end of a sentence and
    the like cannot be picked, and every word gets a link. ``aligners`` stand beside attention, trained on the same
    pairs and, apart, with ``more`` of the like.

    >>> pairs = [("Hello world", "Hallo Welt"), ("Good day", "Guten Tag")]
    >>> texts = [Document.from_words(a.split(), translation=Document.from_words(b.split())) for a, b in pairs]
    >>> result = align(None, texts, aligners=["diagonal"])
    >>> result.manifest.study, list(result.tables)
    ('align', ['scores', 'choices', 'mean_norms', 'pairs', 'links'])
    """
    from attlas.capture.naming import head_named
    from attlas.studies.alignment import Alignment, stream_for
    from attlas.studies.alignment_shown import Wanted
    from attlas.studies.alignment_tables import Evidence, Read

    texts = _bitext(corpus, gold, one_indexed)
    further = None if more is None else _bitext(more, None, False)
    check_names(aligners)
    _check_file(pharaoh)
    model = as_subject(subject)
    way = stream_for(model, stream)
    other = None if back is None else as_subject(back)
    if other is not None:
        _check_back(model, other, way.value)
    asked = None if head is None else head_named(model, head if head[:1].isalpha() else f"{way.value} {head}")
    wanted = Wanted(measure, setting, layer, asked, direction)
    heads = () if asked is None else (asked,)
    wanted.check(Alignment(model, (), stream=way, heads=heads), two=other is not None or way.value == "encoder")
    options = {
        "stream": way.value, "back": None if other is None else other.describe(), "measure": measure,
        "setting": setting, "layer": layer, "head": head, "direction": direction, "compete": compete,
        "aligners": list(aligners), "max_pieces": max_pieces, "limit": limit,
    }  # fmt: skip
    extra = {} if further is None else {"more": further}
    run = Setting("align", model, texts, options, seed, budget, None if out is None else Path(out), extra)
    run.require_free(resume=resume)
    say_cutting(progress, len(texts.documents), "pairs of sentences")
    models = [model] if other is None else [model, other]
    kept, examples, skipped = _read(models, texts, max_pieces, limit, seed)

    def carry(study: Alignment, side: int, part: str) -> Any:
        return carry_out(
            study, list(enumerate(examples[side])), [example.length for example in examples[side]], run.plan,
            part=part, out=run.out, resume=resume, budget=budget, report_progress=progress,
            checkpoint_every=checkpoint_every,
        )  # fmt: skip

    reads = []
    for side, (studied, name) in enumerate(zip(models, ("forward", "backward"), strict=False)):
        documents = [example.passage.first for example in examples[side]]
        found = []
        for who, one in (("", studied), ("untrained ", studied.twin(seed))):
            study = Alignment(one, documents, stream=way, heads=() if side else heads, compete=compete)
            found.append((study, carry(study, side, who + name)))
        (study, bundle), (_, twin) = found
        reads.append(Read(study, bundle, twin, turned=side == 1))
    documents = [texts.documents[at] for at in kept]
    if progress is not None and aligners:
        progress.note(f"aligning by {', '.join(aligners)}")
    beside = baselines(documents, aligners, more=further, seed=seed)
    known = Evidence(documents, reads[0], reads[1] if len(reads) > 1 else None, seed)
    tables, links = _tables(known, wanted, beside, kept, len(texts.documents))
    left_out = sorted(set(range(len(texts.documents))) - set(kept))
    counts = {
        "documents": len(texts.documents), "passages": len(kept),
        "pieces": sum(e.source.length + (0 if e.target is None else e.target.length) for e in examples[0]),
        "words": [sum(size[side] for size in reads[0].study.sizes) for side in (0, 1)],
        "sure": sum(len(d.links.sure) for d in documents if d.links is not None),
        "possible": sum(len(d.links.possible) for d in documents if d.links is not None),
        "left_out": [at + 1 for at in left_out], "more_pairs": 0 if further is None else len(further.documents),
    }  # fmt: skip
    result = run.finish(tables, counts=counts, skipped=skipped + beside.left_out)
    if pharaoh is not None:
        write_links(pharaoh, links)
    return result


def _bitext(corpus: Texts, gold: Path | str | None, one_indexed: bool) -> Corpus:
    """The pairs of sentences, refused where a translation is missing or where gold holds no link."""
    if gold is None:
        texts = as_corpus(corpus)
    elif isinstance(corpus, (str, Path)):
        texts = read(corpus, gold=gold, one_indexed=one_indexed)
    else:
        raise CorpusError("gold goes with the file of a bitext; documents bring their links themselves")
    for document in texts.documents:
        if document.translation is None:
            raise CorpusError(
                "there is no translation here to align with; give a bitext: 'source words ||| target words' or two "
                "columns with a tab between them on each line, or a second file of translations (--target)",
                file=texts.name,
            )
        if not document.translation.words:
            raise CorpusError("its translation has no words; leave the pair out", file=document.name)
    scored = [document.links for document in texts.documents if document.links is not None]
    if scored and not any(links.possible for links in scored):
        raise CorpusError("the gold has no link at all, so nothing can be scored", file=str(gold or texts.name))
    return texts


def _check_file(pharaoh: Path | str | None) -> None:
    """Refuse, before any work, a file of links that could not be written in the end."""
    if pharaoh is None:
        return
    path = Path(pharaoh)
    if path.is_dir():
        raise PlanError(f"{path}: this is a folder; name a file for the links")
    if not path.parent.is_dir():
        raise PlanError(f"{path.parent}: there is no such folder for the file of links; make it first")


def _check_back(model: Subject, other: Subject, way: str) -> None:
    from attlas.studies.alignment import stream_for

    if way != "cross":
        raise CapabilityError(
            f"{model.name} reads both sentences at once and gives both directions itself; leave out --back"
        )
    stream_for(other, "cross")
    if other.fingerprint == model.fingerprint:
        raise CapabilityError(
            f"{other.name} is the model itself; --back wants one that translates the other way round"
        )


def _read(
    models: Sequence[Subject], texts: Corpus, max_pieces: int | None, limit: int | None, seed: int
) -> tuple[list[int], list[list[Example]], Counter[str]]:
    """The pairs that fit all models, by their numbers, cut for each; what was left out."""
    skipped: Counter[str] = Counter()
    kept = list(range(len(texts.documents)))
    if limit is not None and limit < len(kept):
        skipped["pairs of sentences not drawn"] = len(kept) - limit
        kept = sorted(random.Random(seed).sample(kept, limit))
    made = []
    fits = [True] * len(kept)
    for side, model in enumerate(models):
        if max_pieces is not None and max_pieces > model.pieces.window:
            raise TextError(
                f"{max_pieces} pieces are asked for and the window of {model.name} holds {model.pieces.window}; ask "
                "for fewer"
            )
        most = max_pieces or model.pieces.window
        pairs = [_turned(texts.documents[at]) if side else texts.documents[at] for at in kept]
        cut = model.pieces.encode_all([Passage(pair, pair.translation) for pair in pairs])
        for place, example in enumerate(cut):
            if example.length > most and fits[place]:
                fits[place] = False
                skipped[f"pair of sentences longer than {most} pieces of {model.name}"] += 1
        made.append(cut)
    if not any(fits):
        reasons = "; ".join(f"{reason}: {count}" for reason, count in skipped.items())
        raise CorpusError(f"nothing is left of the bitext to align ({reasons})", file=texts.name)
    examples = [[e for e, fitting in zip(cut, fits, strict=True) if fitting] for cut in made]
    for example in examples[0]:
        for encoded in (example.source, example.target):
            if encoded is not None:
                skipped["words without a piece of their own"] += len(encoded.segmentation.wordless)
    return [at for at, fitting in zip(kept, fits, strict=True) if fitting], examples, +skipped


def _turned(document: Document) -> Document:
    """The pair the other way round, with its links."""
    assert document.translation is not None
    links = document.links
    if links is not None:
        links = Links(*(frozenset((j, i) for i, j in part) for part in (links.sure, links.possible)))
    return replace(document.translation, translation=replace(document, translation=None, links=None), links=links)


def _tables(
    known: Evidence, wanted: Wanted, beside: Baselines, kept: Sequence[int], count: int
) -> tuple[dict[str, Any], list[Pairs]]:
    """All tables, and the links that are handed out: one set for each pair of the bitext, empty where left out."""
    from attlas.studies.alignment_shown import alignments, chosen, pair_rows, sample
    from attlas.studies.alignment_tables import choice_rows, gain_rows, norm_rows, score_rows
    from attlas.text.links import written

    label, links = chosen(known, wanted)
    whole: list[Pairs] = [frozenset()] * count
    for place, at in enumerate(kept):
        whole[at] = links[place]
    shown = {**alignments(known, (label, links)), **beside.shown}
    places = sample(known.documents, links, known.seed)
    numbers = [at + 1 for at in kept]
    rows = [{"pair": at + 1, "method": label, "predicted": written(one)} for at, one in enumerate(whole)]
    tables = {
        "scores": as_columns([*score_rows(known), *beside.rows]),
        "choices": as_columns(list(choice_rows(known))),
        "gains": as_columns(list(gain_rows(known))),
        "mean_norms": as_columns(list(norm_rows(known))),
        "pairs": as_columns(list(pair_rows(known.documents, places, numbers, shown))),
        "links": as_columns(rows),
    }
    return {name: columns for name, columns in tables.items() if columns}, whole
