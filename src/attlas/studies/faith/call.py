"""Does attention explain what a model predicts? As one call, for any classifier or tagger.

A run has several parts, each with a checkpoint of its own: all explanations of every instance, what erasing the words
they name does, what becomes of predictions when attention is changed (made uniform, shuffled, replaced by frozen
weights or another model's), and the adversary of every instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Unpack

from attlas.errors import CorpusError, PlanError
from attlas.ids import parse_head, parse_layer
from attlas.run.parameters import Help, Model, Reading, Texts, study_call
from attlas.run.session import Run, begin
from attlas.run.setting import Opening, as_corpus
from attlas.store import Result

if TYPE_CHECKING:
    from attlas.capture.reading import Reading as Read
    from attlas.corpora import Corpus
    from attlas.run.engine import Part
    from attlas.stats import Bundle
    from attlas.studies.shared.faith.instances import Instance, Labelling

BUDGET = 1024  # pieces of the instances between two checkpoints; each is read again for every word that is left out
LIMIT = 500
Thing = TypeVar("Thing")
_TESTS = ("bound", "adversary_steps", "permutations", "erase", "steps")


class Testing(Reading, total=False):
    """How hard attention is tested."""

    bound: Annotated[float, Help("How far an adversary may move the output (total variation distance).")]
    adversary_steps: Annotated[int, Help("Steps of the search for each adversary.", least=1)]
    permutations: Annotated[int, Help("How often the last layer's attention is shuffled.", least=0)]
    erase: Annotated[
        str, Help("How words are erased: delete, or mask.", check="attlas.studies.faith.erasing:check_way")
    ]
    steps: Annotated[int, Help("Steps of integrated gradients.", least=1)]


@study_call(
    whole="each of its passes builds on what the one before has explained",
    budget=BUDGET, limit=LIMIT, without=("long",), bound=0.01, adversary_steps=60, permutations=100, erase="delete",
    steps=20,
)  # fmt: skip
def faith(
    subject: Model = None,
    corpus: Texts = "sample",
    task: Annotated[
        str, Help("classification, tagging:upos, tagging:xpos, tagging:chunks or tagging:keyphrases.")
    ] = "classification",
    *,
    layer: Annotated[
        str,
        Help("The attention that the card speaks of: of the last layer, of all, or of one by label, counted from 1."),
    ] = "last",
    head: Annotated[
        str | None, Help("A single head by label, counted from 1, such as 3, or 6-3; else the mean of all.")
    ] = None,
    frozen: Annotated[
        Iterable[Path | str] | Path | str,
        Help("Attention from another run (attlas faith freeze); may be given again.", kind=list[Path]),
    ] = (),
    others: Annotated[
        Sequence[Any],
        Help(
            "Another model of the task, with the same tokenizer; may be given again.", flag="--other", kind=list[str]
        ),
    ] = (),
    evened: Annotated[
        Any, Help("A model that was trained with uniform attention; it is run with it, too.", kind=str | None)
    ] = None,
    score: Annotated[str | None, Help("accuracy or matthews, where whole texts are classified.")] = None,
    per_text: Annotated[int, Help("Words of a text whose tags are explained.", least=1)] = 1,
    **running: Unpack[Testing],
) -> Result:
    """Hold attention against other explanations of what a model predicts, and change it to see what becomes of that.

    Kendall's tau with gradients, integrated gradients and leave-one-out; erasing the most attended words; uniform,
    shuffled, adversarial and frozen attention; and a card that sums it up. The limit is one of instances: texts, or
    words that are tagged. Adversaries are looked for in the attention that is meant; the last layer and all layers
    stand beside it in every table.

    >>> from attlas.text import Document
    >>> faith(None, [Document.from_words(["It", "rained"], label="good")])
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 cannot be put to the task classification: its checkpoint ...
    """
    from attlas.capture import Override
    from attlas.capture.frozen import Frozen
    from attlas.run.tasks import open_for_task, read_for_task, task_for
    from attlas.studies.faith.erasing import Eraser, Erasing
    from attlas.studies.faith.explaining import Explaining
    from attlas.studies.faith.explanations import chosen_attention, names_of
    from attlas.studies.faith.interventions import Intervention, Interventions
    from attlas.studies.faith.tables import Measured, faith_tables
    from attlas.studies.shared.faith.adversary import Adversarial, Search
    from attlas.studies.shared.faith.instances import require_explainable, require_labels, texts_of, units_of

    texts = as_corpus(corpus)
    require_explainable(task)
    layers, number = _meant(layer, head)
    seed = running["seed"]
    how = {name: value for name, value in running.items() if name in _TESTS}
    if min(running["steps"], running["adversary_steps"]) < 1 or running["permutations"] < 0:
        raise PlanError("integrated gradients and adversaries need a step at least, and permutations none at least")
    model = open_for_task(subject, task, texts, score=score)

    opening: Any = subject  # a further model by its name is opened as the first was

    def posed(further: Any) -> Labelling:
        if isinstance(opening, Opening) and isinstance(further, str | Path):
            further = replace(opening, name=str(further))
        opened = model if further is model else open_for_task(further, task, texts)
        return require_labels(task_for(opened, task, texts, seed=seed, score=score))

    asked = posed(model)
    chosen = chosen_attention(asked, layers, number)
    Eraser.of(model.pieces.tokenizer, running["erase"])
    search = Search(bound=running["bound"], steps=running["adversary_steps"], head=number, seed=seed)
    files = [frozen] if isinstance(frozen, str | Path) else frozen
    kept = _by_name((file, Frozen.load(file)) for file in files)
    others_posed = _by_name((other.subject.name, other) for other in map(posed, others))
    even = None if evened is None else posed(evened)
    if even is not None:
        even.instruments = (Override.uniform(),)
    options = {
        "task": task, "score": score, "layer": layer, "head": head, **how,
        "per_text": per_text, "max_pieces": running["max_pieces"], "limit": running["limit"],
        "frozen": {name: [file.model, file.fingerprint, len(file)] for name, file in kept.items()},
        "others": {name: other.subject.describe() for name, other in others_posed.items()},
        "evened": None if even is None else even.subject.describe(),
    }  # fmt: skip
    with begin("faith", model, texts, options, running) as run:
        run.note_cutting(len(texts.documents))
        reading = read_for_task(asked, texts, max_pieces=running["max_pieces"], seed=seed)
        instances = _drawn(asked, reading, texts, per_text=per_text, limit=running["limit"], seed=seed)
        changing = Interventions(
            asked, len(instances), permutations=running["permutations"], frozen=kept, others=others_posed,
            evened=even, seed=seed,
        )  # fmt: skip
        changing.require(instances)
        explaining = Explaining(
            asked, instances, names_of(asked, chosen), steps=running["steps"], way=running["erase"], seed=seed
        )
        explained = explaining.result(_carry(run, explaining, instances, "explaining"))
        erasing = Erasing(asked, explained.values, way=running["erase"])
        lost = _carry(run, erasing, instances, "erasing")["lost"].result()
        changed = changing.result(_carry(run, changing, instances, "changing"))
        adversary = Adversarial(asked, len(instances), layers=layers, search=search)
        bundle = _carry(run, adversary, instances, "adversary")
        figures = adversary.figures(bundle)
        changed = changed.with_one_more(Intervention("adversary", layers), figures, bundle["marks"].result())
        numbers = texts_of(instances)
        run.skipped.update(reading.skipped)
        run.counts |= {
            "passages": len(set(numbers)), "instances": len(instances),
            "pieces": sum(instance.example.length for instance in instances),
        }  # fmt: skip
        return run.finish(
            faith_tables(
                Measured(
                    asked, instances, numbers, units_of(instances), chosen, seed, explained, lost, changed, adversary,
                    figures,
                )
            )
        )  # fmt: skip


def _meant(layer: str, head: str | None) -> tuple[str, int | None]:
    """The layers and the head that are meant, as the tables name them, which count from 0.

    >>> _meant("last", None), _meant("6", "3"), _meant("last", "6-3")
    (('last', None), ('5', 2), ('5', 2))
    """
    layers = layer if layer in ("last", "all") else str(parse_layer(layer))
    if head is None:
        return layers, None
    within, number = parse_head(head)
    if within is None:
        return layers, number
    if layers not in ("last", str(within)):
        raise PlanError(f"head {head} is not in layer {layer}; leave the layer out, or give the head without one")
    return str(within), number


def _carry(run: Run, part: Part[Any], instances: Sequence[Instance], name: str) -> Bundle:
    """Take numbered instances through a part, and say where it had to make whole passes."""
    lengths = [instance.example.length for instance in instances]
    bundle = run.carry(part, instances, name, lengths=lengths, numbered=True)
    why = getattr(getattr(part, "model", None), "why_full", "")
    if why:
        run.progress.note(why)
    return bundle


def _by_name(things: Iterable[tuple[Path | str, Thing]]) -> dict[str, Thing]:
    """Things by the last parts of their names, with a number after those that were there before.

    >>> _by_name([("a/minilm", 1), ("b/minilm", 2)])
    {'minilm': 1, 'minilm (2)': 2}
    """
    named: dict[str, Thing] = {}
    for path, thing in things:
        name = Path(path).name
        names = (name if number == 1 else f"{name} ({number})" for number in count(1))
        named[next(name for name in names if name not in named)] = thing
    return named


def _drawn(
    task: Labelling, reading: Read, corpus: Corpus, *, per_text: int, limit: int | None, seed: int
) -> list[Instance]:
    """The instances; what is left out is counted."""
    from attlas.studies.shared.faith.instances import FEWEST, instances_of, words_of

    if per_text < 1 or (limit is not None and limit < 1):
        raise PlanError("nothing would be explained; give at least 1 for the limit, and for the words of a text")
    every = instances_of(task, reading.examples, limit=None, per_text=per_text, seed=seed)
    short = sum(len(words_of(example)) < FEWEST for example in reading.examples)
    reading.skipped["of a single word, so that nothing can be ranked"] += short
    if not every:
        raise CorpusError("it has no text of two words or more, so that nothing can be ranked", file=corpus.name)
    drawn = instances_of(task, reading.examples, limit=limit, per_text=per_text, seed=seed)
    reading.skipped["instances not drawn"] += len(every) - len(drawn)
    return drawn
