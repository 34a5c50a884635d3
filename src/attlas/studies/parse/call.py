"""Parsing from attention as one call: features are captured to disk, the probes are trained on them, and scored."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Unpack

from attlas.corpora import Corpus
from attlas.errors import CorpusError, PlanError
from attlas.run import setting
from attlas.run.parameters import Help, Measure, Model, Reading, Role, Texts, Twin, Twins, study_call
from attlas.run.parts import parts_of
from attlas.run.session import begin
from attlas.run.setting import as_corpus, as_subject
from attlas.store import Result

LONGEST = 128


class Training(Reading, total=False):
    """How probes are trained, and on how many models, beside what every run takes that reads texts.

    >>> sorted(set(Training.__annotations__) - set(Reading.__annotations__))
    ['epochs', 'patience', 'twin', 'twins']
    """

    epochs: Annotated[int, Help("At most so many for each probe.", least=1, most=100_000)]
    patience: Annotated[int, Help("Stop after so many epochs that bring nothing on validation.", least=1)]
    twins: Twins
    twin: Twin


@study_call(
    without=("long",),
    whole="its probes are trained on what all texts give",
    epochs=30,
    patience=3,
    twins=1,
    twin="beside",
)
def parse(
    subject: Model = None,
    corpus: Texts = "sample",
    *,
    validation: Annotated[
        setting.Texts | None,
        Role("other corpus"),
        Help("The part that training is stopped by; else some of the treebank."),
    ] = None,
    test: Annotated[
        setting.Texts | None, Role("other corpus"), Help("The part that is scored on; else some of the treebank.")
    ] = None,
    vectors: Annotated[
        str | Path,
        Help(
            'Word vectors: a text file ("word v1 v2 ...", also .gz), a .npy with vocab.txt[.gz] beside it, or '
            '"input" for the model\'s own input embeddings.',
            kind=str,
        ),
    ] = "input",
    measure: Measure = "weight",
    structural: Annotated[bool, Help("Also the structural probe, on states.")] = True,
    rank: Annotated[int, Help("Dimensions of the structural probe.", least=1)] = 64,
    max_disk: Annotated[float, Help("Most GB that features may take on disk at a time.", least=0)] = 8.0,
    keep_features: Annotated[bool, Help("Leave the captured features in the folder.")] = False,
    **running: Unpack[Training],
) -> Result:
    """Train probes that read dependency trees off attention, beside baselines and an untrained twin.

    The treebank is trained on; without ``validation`` and ``test`` it is divided by article. Sentences have 128
    pieces at most. Features go to disk, into ``out`` or a temporary folder, and are deleted at the end. Each twin
    has probes of its own to be trained, so there is one unless more are asked for.

    >>> result = parse(limit=4, epochs=1, structural=False)
    >>> result.table.column("probe").to_pylist()[3:5]
    ['attention', 'attention + vectors']
    """
    from attlas.capture.measuring import require_measure
    from attlas.probes.tables import tables
    from attlas.probes.vectors import digest
    from attlas.studies.parse.passes import Work, read_sentences

    training = {name: running[name] for name in ("epochs", "patience", "twins")}
    for name, value in {**training, "rank": rank}.items():
        if value < 1:
            raise PlanError(f"{name} must be at least 1, and {value} was given")
    given = {"train": as_corpus(corpus)}
    given |= {part: as_corpus(texts) for part, texts in (("dev", validation), ("test", test)) if texts is not None}
    for treebank in given.values():
        _require_trees(treebank)
    model = as_subject(subject)
    limit = running["limit"]
    pieces = running["max_pieces"] or min(model.pieces.window, LONGEST)
    options = {
        "vectors": "input" if vectors == "input" else Path(vectors).name, "vectors_sha256": digest(str(vectors)),
        "measure": require_measure(model, measure), "max_pieces": pieces, "limit": limit, "structural": structural,
        "rank": rank, **training,
    }  # fmt: skip
    names = {"dev": "validation", "test": "test"}
    more = {names[part]: treebank for part, treebank in given.items() if part != "train"}
    with begin("parse", model, given["train"], options, running, more=more, twin=running["twin"]) as run:
        corpora, divided = parts_of(given, run.seed)
        sentences = read_sentences(run, corpora, pieces, limit)
        if divided:
            run.progress.note(divided)
            run.counts["divided"] = divided
        work = Work.prepare(run, sentences, str(vectors), max_disk, keep_features)
        bundles = [work.train(who, studied) for who, studied in run.twins(running["twins"])]
        stream = model.pieces.own
        result = run.finish(tables(bundles, work.relations, stream.value, model.shape(stream)))
        work.leave()
    return result


def _require_trees(corpus: Corpus) -> None:
    """Refuse a corpus without governors."""
    if "governors" not in corpus.annotations:
        raise CorpusError(
            f"it has no governors (dependency trees), which parsing needs; give a treebank in CoNLL-U format "
            f"(this was read as {corpus.format})",
            file=corpus.name,
        )
    if not any(document.governors and len(document.words) > 1 for document in corpus.documents):
        raise CorpusError(
            "no sentence has a word with a governor to find, since none has two words; give longer ones",
            file=corpus.name,
        )
