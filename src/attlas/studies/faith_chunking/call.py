"""The chunking study as one call: originals, global adversaries and guided models, trained one after the other.

The first seed's original and its adversaries of the smallest and the largest weight are kept as model folders beside
the tables, to be looked at with ``attlas view``.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from attlas.corpora import Corpus
from attlas.errors import PlanError
from attlas.run.parameters import Help, Role, Running, Texts, numbers_of, study_call
from attlas.run.session import begin
from attlas.run.setting import as_corpus
from attlas.store import Result
from attlas.store.checkpoint import FOLDER as CHECKPOINT
from attlas.store.columns import as_columns
from attlas.studies.faith_chunking.trainings import ENDS, WEIGHTS, Training, trainings
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.studies.faith_chunking.passes import Workshop
    from attlas.studies.faith_chunking.tables import Trained

PER = ("row", "key")
UNSEEN = ".models"  # where models are until the result is there


class Taggers(Running, total=False):
    """How large the taggers are, and how they are trained."""

    heads: Annotated[int, Help("Heads of a tagger.", least=1, most=1_024)]
    width: Annotated[int, Help("Width of a tagger.", least=2, most=16_384)]
    ffn: Annotated[int, Help("Inner width of its feed-forward layer.", least=1, most=65_536)]
    dropout: Annotated[float, Help("Dropout while training.")]
    epochs: Annotated[int, Help("Passes over the training sentences.", least=1)]
    learning_rate: Annotated[float, Help("Highest learning rate.")]
    batch_size: Annotated[int, Help("Sentences of a step.", least=1)]
    device: Annotated[str | None, Help("cpu, cuda, cuda:1 ...; cuda where there is one.")]
    limit: Annotated[int | None, Help("Learn from so many sentences, drawn by the seed.", least=1)]


@study_call(
    alone="it trains taggers, step after step",
    without=("budget", "checkpoint_every"), heads=4, width=256, ffn=512, dropout=0.1, epochs=20, learning_rate=1.5e-3,
    batch_size=64, device=None,
)  # fmt: skip
def faith_chunking(
    corpus: Texts,
    test: Annotated[
        Corpus | str | Path | Sequence[Document],
        Role("other corpus"),
        Help("Chunked sentences to compare models on."),
    ],
    *,
    weights: Annotated[
        Sequence[float] | str | None,
        Help("Lambdas of the adversaries, such as 0.2,1,3; else nine from 0.01 to 3.", kind=str | None),
    ] = None,
    ends: Annotated[
        Sequence[float] | str | None,
        Help("Lambdas of which there are all seeds, and which guide; else 0.2,3.", kind=str | None),
    ] = None,
    divergence: Annotated[
        str, Help("kl (original to adversary), kl-reversed (adversary to original) or jsd.")
    ] = "kl-reversed",
    per: Annotated[str, Help("Divergence of a row, or divided by its keys: row or key.")] = "key",
    seeds: Annotated[int, Help("Originals, and adversaries of either end.", least=1)] = 5,
    middle: Annotated[
        int,
        Help("Adversaries of each other lambda, a seed each: the bend has an interval from 3 seeds on.", least=1),
    ] = 3,
    guided: Annotated[int, Help("Guided models of each kind.", least=0)] = 2,
    instances: Annotated[int, Help("Test words that get an adversary of their own.", least=0)] = 500,
    bound: Annotated[float, Help("How far its predictions may be from the model's (TVD).")] = 0.01,
    **running: Unpack[Taggers],
) -> Result:
    """Train one-layer chunkers, adversaries that tag alike and attend otherwise, and models guided by either's
    attention.

    The corpus has chunked sentences to learn from (CoNLL-2000). 56 models by default: minutes for each on a
    processor, less on a GPU.

    >>> from attlas.text import Chunk
    >>> chunks = (Chunk(0, 2, "NP"),)
    >>> texts = [Document.from_words(["the", word, "ran"], chunks=chunks) for word in ("cat", "dog") * 4]
    >>> small = {"width": 8, "ffn": 8, "epochs": 1, "seeds": 1, "guided": 1, "instances": 2}
    >>> result = faith_chunking(texts, texts, weights=[0.2, 3], **small)
    >>> result.manifest.study, len(result.table)
    ('faith-chunking', 13)
    """
    from attlas.models.tagger import TaggerSizes
    from attlas.run.tasks import require_layer
    from attlas.studies.faith_chunking.passes import TASK, Workshop
    from attlas.tasks.guided import DIVERGENCES
    from attlas.tasks.recipe import Recipe

    lambdas, outer = _lambdas(weights, ends)
    if divergence not in DIVERGENCES or per not in PER:
        raise PlanError(
            f"there is no divergence {divergence!r} per {per!r}; choose {', '.join(DIVERGENCES)}, per row or key"
        )
    for name, number, least in (("seeds", seeds, 1), ("middle", middle, 1), ("guided", guided, 0)):
        if number < least:
            raise PlanError(f"the study needs {name} of at least {least}, not {number}")
    learned_from, scored_on = as_corpus(corpus), as_corpus(test)
    for texts in (learned_from, scored_on):
        require_layer(texts, TASK)
    if learned_from.sha256 == scored_on.sha256 and learned_from.name != "documents":
        raise PlanError(f"{scored_on.name} holds the very sentences that are learned from; give others to test on")
    sizes = TaggerSizes(1, running["heads"], running["width"], running["ffn"], running["dropout"])
    recipe = Recipe(running["epochs"], running["learning_rate"], running["batch_size"], seed=running["seed"])
    workshop = Workshop(
        learned_from, scored_on, sizes, recipe, divergence, per, limit=running["limit"], device=running["device"]
    )
    trained_by = {name: value for name, value in asdict(recipe).items() if name != "rate"}
    options = {
        "weights": lambdas, "ends": outer, "divergence": divergence, "per": per, "seeds": seeds, "middle": middle,
        "guided": guided, "instances": instances, "bound": bound, "limit": running["limit"], **asdict(sizes),
        **trained_by, "learning_rate": running["learning_rate"],
    }  # fmt: skip
    how: Running = {**running, "budget": running["batch_size"]}  # type: ignore[typeddict-unknown-key]
    every = trainings(lambdas, outer, seeds, middle, guided)
    more = {"test": scored_on}
    with begin("faith-chunking", workshop.first, learned_from, options, how, more=more) as run:
        if (finished := run.finished_before()) is not None:
            _keep_models(run.out)
            return finished
        done: dict[Training, Trained] = {}
        for number, training in enumerate(every, start=1):
            doing = f"{training.name} ({number} of {len(every)})"
            done[training] = workshop.carry(run, training, done, doing)
        tables = _tables(workshop, list(done.values()), run.seed)
        if instances:
            points = workshop.per_instance(run, done[Training("original")], instances, bound)
            tables["per_instance"] = as_columns(points)
        run.counts |= workshop.counts
        kept = [Training("original"), *(Training("adversary", weight=weight) for weight in outer)]
        if run.out is not None:
            shutil.rmtree(run.out / UNSEEN, ignore_errors=True)  # half a model of a run that was killed
            for training in kept:
                workshop.opened(done[training]).save(run.out / UNSEEN / training.name)
        result = run.finish(tables, seconds=sum(one.seconds for one in done.values()))
        _keep_models(run.out)
        return result


def _keep_models(out: Path | None) -> None:
    """Once the result is there, put its models beside it, in the place of those of an earlier run."""
    if out is None:
        return
    if (out / UNSEEN).exists():
        shutil.rmtree(out / "models", ignore_errors=True)
        (out / UNSEEN).replace(out / "models")
    shutil.rmtree(out / CHECKPOINT, ignore_errors=True)


def _tables(workshop: Workshop, every: Sequence[Trained], seed: int) -> dict[str, Any]:
    """All tables but that of single words."""
    from attlas.studies.faith_chunking.tables import tables_of, tables_to_look_at

    tables = tables_of(every, workshop.between(every), workshop.recipe.epochs)
    tables |= tables_to_look_at(every, workshop.shown, workshop.labels)
    return {name: columns for name, columns in tables.items() if columns}


def _lambdas(
    weights: Sequence[float] | str | None, ends: Sequence[float] | str | None
) -> tuple[list[float], list[float]]:
    """The weights of the divergence, and those of them that guide."""
    lambdas = sorted(set(numbers_of(WEIGHTS if weights is None else weights, "--weights", float)))
    if not lambdas or lambdas[0] <= 0:
        raise PlanError("adversaries need weights of the divergence above 0, such as 0.2,1,3 (--weights)")
    usual = ENDS if set(ENDS) <= set(lambdas) else (lambdas[0], lambdas[-1])
    outer = sorted(set(numbers_of(usual if ends is None else ends, "--ends", float)))
    strange = [weight for weight in outer if weight not in lambdas]
    if strange:
        raise PlanError(f"{strange[0]:g} is to be an end (--ends) but is none of the weights; add it to --weights")
    return lambdas, outer
