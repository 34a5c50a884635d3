"""Word alignment as one call: links read off attention, in one direction or two, beside those of word aligners.

Its parts (the model, the model of the other direction, each of their untrained twins) have a checkpoint each, so that
a killed run goes on where it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.corpora import Corpus, joined, linked, swapped, write_links
from attlas.errors import CapabilityError, CorpusError, PlanError, TextError
from attlas.ids import parse_layer, refuse_number
from attlas.run.parameters import (
    CHECK_HEADS,
    Help,
    Measure,
    Model,
    Reading,
    Role,
    Texts,
    Twin,
    Twins,
    names_of,
    study_call,
)
from attlas.run.session import begin
from attlas.run.setting import as_corpus, as_subject, drawn
from attlas.store import Result
from attlas.store.columns import as_columns
from attlas.store.folder import require_writable
from attlas.studies.align.aligners import ALIGNERS, check_names
from attlas.studies.align.baselines import Baselines, baselines
from attlas.text import Document, Passage

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.ids import Stream
    from attlas.models import Example
    from attlas.run.session import Run
    from attlas.stats import Bundle
    from attlas.studies.align.handed import Wanted
    from attlas.studies.align.tables import Evidence, Read
    from attlas.text.links import Pairs


class Handing(Reading, total=False):
    """Which links to hand out, in the table ``links`` and the file ``pharaoh``; and where twins are."""

    twin: Twin
    measure: Measure
    side: Annotated[
        str | None,
        Help(
            "Links with output or with input (default); of an encoder, to source (default) or to target.",
            check="attlas.studies.align.passes:check_side",
        ),
    ]
    layer: Annotated[
        str | None,
        Help(
            "Links of this layer, such as 6; by default that of the largest mean norm.",
            check="attlas.ids:parse_layer",
        ),
    ]
    head: Annotated[str | None, Help("Links of this head, such as 6-3.", check=CHECK_HEADS)]
    direction: Annotated[
        str | None,
        Help(
            "Links forward, backward, intersection or grow-diag-final-and (default where there are two directions).",
            check="attlas.studies.align.handed:check_direction",
        ),
    ]


@study_call(without=("long",), measure="norm", side=None, layer=None, head=None, direction=None, twin="beside")
def align(
    subject: Model = None,
    corpus: Texts = "sample",
    *,
    gold: Annotated[
        Path | str | None,
        Help("Gold links: 3-4 sure, 3p4 possible; or the notation of the NAACL 2003 shared task.", kind=Path | None),
    ] = None,
    one_indexed: Annotated[bool, Help("The gold counts words from 1.")] = False,
    lenient: Annotated[bool, Help("Leave out gold links outside their pair, and count them.")] = False,
    back: Annotated[
        Any,
        Role("other model"),
        Help("The model of the other direction, whose links are put together with the first's.", kind=str | None),
    ] = None,
    stream: Annotated[
        str | None,
        Help(
            "cross, or encoder (that reads both sentences); by default what the model has.",
            check="attlas.studies.align.passes:check_stream",
        ),
    ] = None,
    compete: Annotated[
        bool, Help("Whether the end of the sentence, [CLS] and [SEP] can be picked, which gives no link.")
    ] = True,
    aligners: Annotated[
        Sequence[str], Help("Baselines: eflomal, fast_align, diagonal (may be repeated), or none.", kind=list[str])
    ] = ALIGNERS,
    more: Annotated[
        Corpus | str | Path | Sequence[Any] | None,
        Role("other corpus"),
        Help("A further bitext for baselines to learn from, shown apart; may be repeated.", kind=list[str] | None),
    ] = None,
    pharaoh: Annotated[
        Path | str | None, Help("A file for the links, one line per pair of sentences.", kind=Path | None)
    ] = None,
    twins: Twins = 5,
    **running: Unpack[Handing],
) -> Result:
    """Align the words of a bitext by attention: every layer and head, by weight and by norm, beside word aligners.

    The corpus is a bitext: 'source words ||| target words' on each line, two columns, or two files. With gold links
    it is said how good each way is (AER, precision, recall, F1). Without asking for others, the links handed out are
    those of norms, with input, in the layer of the largest mean norm, symmetrised where there are two directions.

    >>> pairs = [("Hello world", "Hallo Welt"), ("Good day", "Guten Tag")]
    >>> texts = [Document.from_words(a.split(), translation=Document.from_words(b.split())) for a, b in pairs]
    >>> result = align(None, texts, aligners=["diagonal"], twins=1)
    >>> result.manifest.study, list(result.tables)
    ('align', ['scores', 'choices', 'mean_norms', 'pairs', 'links'])
    """
    from attlas.studies.align.passes import stream_for
    from attlas.studies.align.tables import Evidence

    names = _names(aligners)
    texts = _bitext(corpus, gold, one_indexed, lenient)
    further = None if more is None else _further(more)
    if pharaoh is not None:
        _check_file(Path(pharaoh))
    model = as_subject(subject)
    way = stream_for(model, stream)
    other = None if back is None else as_subject(back)
    if other is not None:
        _check_back(model, other, way.value)
    wanted = _wanted(running, model, way, two=other is not None or way.value == "encoder")
    options = {
        "gold": None if gold is None else Path(gold).name, "one_indexed": one_indexed, "stream": way.value,
        "back": None if other is None else other.describe(), "compete": compete, "aligners": names, "twins": twins,
        **{name: running[name] for name in ("measure", "side", "layer", "head", "direction", "max_pieces", "limit")},
    }  # fmt: skip
    if lenient:
        options["lenient"] = True
    with begin("align", model, texts, options, running, more={"more": further}, twin=running["twin"]) as run:
        run.note_cutting(len(texts.documents), "pairs of sentences")
        models = [model] if other is None else [model, other]
        kept, examples = _read(run, models, running["max_pieces"], running["limit"])
        reads = [
            _carry(run, at, each, examples[at], way, wanted, compete=compete, twins=twins)
            for at, each in enumerate(models)
        ]
        documents = [texts.documents[at] for at in kept]
        if names:
            run.progress.note(f"aligning by {', '.join(names)}")
        others = baselines(documents, names, more=further)
        run.skipped.update(others.left_out)
        known = Evidence(documents, reads[0], reads[1] if len(reads) > 1 else None, run.seed)
        tables, links = _tables(known, wanted, others, kept, len(texts.documents))
        run.counts |= {
            "passages": len(kept),
            "pieces": sum(e.source.length + (0 if e.target is None else e.target.length) for e in examples[0]),
            "words": [sum(size[column] for size in reads[0].study.sizes) for column in (0, 1)],
            "sure": sum(len(d.links.sure) for d in documents if d.links is not None),
            "possible": sum(len(d.links.possible) for d in documents if d.links is not None),
            "left_out": [at + 1 for at in sorted(set(range(len(texts.documents))) - set(kept))],
            "more_pairs": 0 if further is None else len(further.documents),
        }
        result = run.finish(tables)
    if pharaoh is not None:
        write_links(pharaoh, links)
    return result


def _names(aligners: Sequence[str]) -> list[str]:
    """The aligners that are asked for, one by one or with commas between them; "none" for none."""
    asked = [aligners] if isinstance(aligners, str) else aligners
    names = [name for part in asked for name in names_of(part) if name != "none"]
    check_names(names)
    return names


def _bitext(
    corpus: Texts, gold: Path | str | None = None, one_indexed: bool = False, lenient: bool = False
) -> Corpus:
    """The pairs of sentences, refused where a translation is missing or where gold holds no link."""
    texts = as_corpus(corpus)
    for document in texts.documents:
        if document.translation is None:
            raise CorpusError(
                "there is no translation here to align with; give a bitext: 'source words ||| target words' or two "
                "columns with a tab between them on each line, or a second file of translations (--target)",
                file=texts.name,
            )
        if not document.translation.words:
            raise CorpusError("its translation has no words; leave the pair out", file=document.name)
    if gold is not None:
        texts = linked(texts, gold, one_indexed=one_indexed, lenient=lenient)
    elif one_indexed:
        raise PlanError("one_indexed says how the file of gold links counts, and none is given (--gold)")
    elif lenient:
        raise PlanError("lenient says which gold links are left out, and no file of them is given (--gold)")
    scored = [document.links for document in texts.documents if document.links is not None]
    if scored and not any(links.possible for links in scored):
        raise CorpusError("the gold has no link at all, so nothing can be scored", file=str(gold or texts.name))
    return texts


def _further(more: Any) -> Corpus:
    """One further bitext, or several joined."""
    several = isinstance(more, Sequence) and not isinstance(more, str)
    if several and not any(isinstance(part, Document) for part in more):
        return joined([_bitext(part) for part in more])
    return _bitext(more)


def _wanted(running: Handing, model: Subject, way: Stream, *, two: bool) -> Wanted:
    """Which links to hand out, refused where this model cannot give them."""
    from attlas.capture.naming import head_named
    from attlas.studies.align.handed import Wanted
    from attlas.studies.align.passes import Alignment

    label, head = running["head"], None
    if label is not None:
        refuse_number(label, "head")
        head = head_named(model, label if label[:1].isalpha() else f"{way.value} {label}")
    layer = None if running["layer"] is None else parse_layer(running["layer"])
    wanted = Wanted(running["measure"], running["side"], layer, head, running["direction"])
    wanted.check(Alignment(model, (), stream=way, heads=() if head is None else (head,)), two=two)
    return wanted


def _carry(
    run: Run,
    at: int,
    model: Subject,
    examples: Sequence[Example],
    way: Stream,
    wanted: Wanted,
    *,
    compete: bool,
    twins: int,
) -> Read:
    """What a model and its untrained twins read; the second model reads the pairs the other way round."""
    from attlas.studies.align.passes import Alignment
    from attlas.studies.align.tables import Read

    documents = [example.passage.first for example in examples]
    heads = () if at or wanted.head is None else (wanted.head,)
    lengths = [example.length for example in examples]
    direction = "backward" if at else "forward"

    def carried(part: Alignment, name: str) -> Bundle:
        return run.carry(part, list(enumerate(examples)), name, lengths=lengths)

    own = Alignment(model, documents, stream=way, heads=heads, compete=compete)
    bundles = [carried(own, direction)]
    with run.baseline(twins, model) as numbers:
        for number in numbers:
            with run.untrained(number, model) as untrained:
                part = Alignment(untrained, documents, stream=way, heads=heads, compete=compete)
                bundles.append(carried(part, f"untrained {f'{number + 1} ' if number else ''}{direction}"))
    return Read(own, bundles, turned=at == 1)


def _check_file(path: Path) -> None:
    """Refuse, before any work, a file of links that could not be written in the end."""
    if path.is_dir():
        raise PlanError(f"{path}: this is a folder; name a file for the links")
    if not path.parent.is_dir():
        raise PlanError(f"{path.parent}: there is no such folder for the file of links; make it first")
    require_writable(path, flag="--pharaoh")


def _check_back(model: Subject, other: Subject, way: str) -> None:
    from attlas.studies.align.passes import stream_for

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
    run: Run, models: Sequence[Subject], max_pieces: int | None, limit: int | None
) -> tuple[list[int], list[list[Example]]]:
    """The pairs that fit all models, by their numbers, cut for each; what was left out is counted."""
    texts, skipped = as_corpus(run.corpus), Counter[str]()
    numbers = list(range(len(texts.documents)))
    if limit is not None and limit < len(numbers):
        skipped["pairs of sentences not drawn"] = len(numbers) - limit
        numbers = drawn(numbers, limit, run.seed)
    cut_for_each, fits = [], [True] * len(numbers)
    for side, model in enumerate(models):
        if max_pieces is not None and max_pieces > model.pieces.window:
            raise TextError(
                f"{max_pieces} pieces are asked for and the window of {model.name} holds {model.pieces.window}; ask "
                "for fewer"
            )
        most = max_pieces or model.pieces.window
        pairs = (swapped(texts) if side else texts).documents
        cut = model.pieces.encode_all([Passage(pairs[at], pairs[at].translation) for at in numbers])
        for place, example in enumerate(cut):
            if example.length > most and fits[place]:
                fits[place] = False
                skipped[f"pair of sentences longer than {most} pieces of {model.name}"] += 1
        cut_for_each.append(cut)
    if not any(fits):
        reasons = "; ".join(f"{reason}: {count}" for reason, count in skipped.items())
        raise CorpusError(f"nothing is left of the bitext to align ({reasons})", file=texts.name)
    examples = [[e for e, fitting in zip(cut, fits, strict=True) if fitting] for cut in cut_for_each]
    for example in examples[0]:
        for encoded in (example.source, example.target):
            if encoded is not None:
                skipped["words without a piece of their own"] += len(encoded.segmentation.wordless)
    run.skipped.update(+skipped)
    return [at for at, fitting in zip(numbers, fits, strict=True) if fitting], examples


def _tables(
    known: Evidence, wanted: Wanted, others: Baselines, kept: Sequence[int], count: int
) -> tuple[dict[str, Any], list[Pairs]]:
    """All tables, and the links that are handed out: one set for each pair of the bitext, empty where left out."""
    from attlas.studies.align.handed import alignments, chosen, pair_rows, sample
    from attlas.studies.align.tables import choice_rows, gain_rows, norm_rows, score_rows
    from attlas.text.links import written

    label, links = chosen(known, wanted)
    whole: list[Pairs] = [frozenset()] * count
    for place, at in enumerate(kept):
        whole[at] = links[place]
    shown = {**alignments(known, (label, links)), **others.shown}
    places = sample(known.documents, links, known.seed)
    numbers = [at + 1 for at in kept]
    rows = [{"pair": at + 1, "method": label, "predicted": written(pairs)} for at, pairs in enumerate(whole)]
    tables = {
        "scores": as_columns([*score_rows(known), *others.rows]),
        "choices": as_columns(list(choice_rows(known))),
        "gains": as_columns(list(gain_rows(known))),
        "mean_norms": as_columns(list(norm_rows(known))),
        "pairs": as_columns(list(pair_rows(known.documents, places, numbers, shown))),
        "links": as_columns(rows),
    }
    return {name: columns for name, columns in tables.items() if columns}, whole
