"""What layers know, as one call: states are captured to disk, a series of probes is trained on them, and scored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from attlas.corpora import Corpus, edges_in, read_edge_parts, read_edges
from attlas.errors import CorpusError, PlanError
from attlas.run import setting
from attlas.run.parameters import UNREAD, Help, Model, Reading, Role, Twin, Twins, study_call
from attlas.run.parts import SHARES, parts_of
from attlas.run.session import begin
from attlas.run.setting import as_corpus, as_subject
from attlas.store import Result

LONGEST = 128
_DATA_HELP = Help(
    "The training part, or a folder or zip archive of all parts: spans files (JSON lines), or what is converted by "
    "itself: CoNLL-U, CoNLL-2012, B/I/O columns, PropBank or UDS JSON lines, SemEval-2010 Task 8; .gz and .xz too.",
    argument=True,
)
if TYPE_CHECKING:
    Data = setting.Texts | Mapping[str, Corpus]
    OtherData = setting.Texts | None
else:
    Data = Annotated[setting.Texts | Mapping[str, Corpus], Role("corpus", UNREAD, ()), _DATA_HELP]
    OtherData = setting.Texts | None


class Training(Reading, total=False):
    """How probes are trained, beside what every run takes that reads texts.

    >>> sorted(set(Training.__annotations__) - set(Reading.__annotations__))
    ['epochs', 'learning_rate', 'max_disk', 'mixing_rate', 'seeds', 'step_pieces']
    """

    seeds: Annotated[int, Help("So many series, with --seed and the next.", least=1)]
    epochs: Annotated[int | None, Help("Passes over the training part; else 5 to 30, for 1500 steps.", least=1)]
    learning_rate: Annotated[float, Help("The highest learning rate.")]
    mixing_rate: Annotated[float, Help("The same for the weights of the mix.")]
    step_pieces: Annotated[int, Help("Pieces in one step of training, padding included.", least=1)]
    max_disk: Annotated[float, Help("Most GB that states may take on disk at a time.", least=0)]


@study_call(
    whole="its probes are trained on what all texts give",
    without=("long",), seeds=1, epochs=None, learning_rate=1e-3, mixing_rate=2e-2, step_pieces=128, max_disk=8.0,
)  # fmt: skip
def layers(
    subject: Model = None,
    corpus: Data = "sample",
    task: Annotated[
        str,
        Help(
            "pos, constituents, dependencies, entities, roles, coreference, proto-roles, relations, or spans for "
            "labels of your own."
        ),
    ] = "pos",
    *,
    validation: Annotated[
        OtherData,
        Role("other corpus", UNREAD, ()),
        Help("The part that epochs are chosen by; else some of the corpus."),
    ] = None,
    test: Annotated[
        OtherData, Role("other corpus", UNREAD, ()), Help("The part that is scored on; else some of the corpus.")
    ] = None,
    splits: Annotated[
        Path | str | None, Help("Lines of PART, tab, DOCUMENT that divide the corpus.", kind=Path | None)
    ] = None,
    over: Annotated[str, Help("What is mixed: layers (their states), or heads (their outputs).")] = "layers",
    lengths: Annotated[
        str | None, Help("What states are divided by: usual (of their layer) or own; own in pre-norm models.")
    ] = None,
    singles: Annotated[bool, Help("Also probes of one layer each.")] = True,
    control: Annotated[bool, Help("Also probes on control labels, for selectivity.")] = True,
    twins: Twins = 1,
    twin: Twin = "beside",
    **running: Unpack[Training],
) -> Result:
    """Probe every layer for what it knows of labelled spans: edge probing with scalar mixing and cumulative scoring.

    Trains probes on the states of every layer, cumulative and single, beside control labels and an untrained twin;
    each twin has probes of its own to be trained, so there is one unless more are asked for. Parts that are not given
    are taken from the corpus, by article. Texts have 128 pieces at most.

    >>> result = layers(None, "sample", "pos", limit=20, epochs=1, singles=False, control=False, twin="none")
    >>> sorted(result.tables)
    ['labels', 'scores', 'tasks', 'weights']
    """
    from attlas.probes.edges.states import LENGTHS, OVER, lengths_for
    from attlas.studies.layers.passes import Work, read_edges_of

    if over not in OVER:
        raise PlanError(f"{over!r} cannot be mixed; choose one of {', '.join(OVER)}")
    if lengths not in (None, *LENGTHS):
        raise PlanError(f"states cannot be divided by {lengths!r} lengths; choose one of {', '.join(LENGTHS)}")
    for name in ("epochs", "seeds", "step_pieces"):
        if (value := running[name]) is not None and value < 1:
            raise PlanError(f"{name.replace('_', ' ')} must be at least 1, and {value} was given")
    for name in ("learning_rate", "mixing_rate"):
        if not (value := running[name]) > 0:  # type: ignore[literal-required]
            raise PlanError(f"the {name.replace('_', ' ')} must be above 0, and {value:g} was given")
    seed = running["seed"]
    if isinstance(corpus, Mapping):
        given = dict(corpus)
    else:
        given = edge_parts(task, corpus, validation=validation, test=test, splits=splits, seed=seed)
    model = as_subject(subject)
    pieces, limit = running["max_pieces"] or min(model.pieces.window, LONGEST), running["limit"]
    options = {
        "task": task, "over": over, "lengths": lengths or lengths_for(model, over), "singles": singles,
        "control": control, "twins": twins, "seeds": running["seeds"], "epochs": running["epochs"],
        "learning_rate": running["learning_rate"], "mixing_rate": running["mixing_rate"],
        "step_pieces": running["step_pieces"], "max_pieces": pieces, "limit": limit,
    }  # fmt: skip
    names = {"dev": "validation", "test": "test"}
    more = {names[part]: texts for part, texts in given.items() if part != "train"}
    called = f"{task}-{given['train'].name}"
    with begin("layers", model, given["train"], options, running, more=more, name=called, twin=twin) as run:
        corpora, divided = parts_of(given, seed)
        if divided:
            run.progress.note(divided)
        edges = read_edges_of(run, corpora, pieces, limit)
        work = Work.prepare(run, edges, running["max_disk"])
        trained = [work.train("model", seed + number) for number in range(running["seeds"])]
        work.leave()
        with run.baseline(twins) as numbers:
            for number in numbers:
                trained.append(work.train("twin", seed + number))
                work.leave()
        work.count(divided)
        result = run.finish(work.tables(trained))
        work.put_away()
    return result


def edge_parts(
    task: str,
    corpus: setting.Texts,
    *,
    validation: setting.Texts | None = None,
    test: setting.Texts | None = None,
    splits: Path | str | None = None,
    seed: int = 0,
) -> dict[str, Corpus]:
    """The parts of a task's data that are known, with their edges: "train", and "dev" and "test" where they are given
    or ``corpus`` comes divided, by its files' names or by a file of ``splits``.

    >>> list(edge_parts("pos", "sample"))
    ['train']
    """
    if isinstance(corpus, (str, Path)):
        parts = read_edge_parts(task, corpus, splits=splits, seed=seed)
    else:
        parts = {"train": edges_in(task, as_corpus(corpus), seed)}
    for name, texts in (("dev", validation), ("test", test)):
        if isinstance(texts, (str, Path)):
            parts[name] = read_edges(task, texts, seed=seed)
        elif texts is not None:
            parts[name] = edges_in(task, as_corpus(texts), seed)
    if "train" not in parts:
        raise CorpusError(f"there is no part to train on here, only {', '.join(parts)}", file=str(corpus))
    return {name: parts[name] for name in SHARES if name in parts}
