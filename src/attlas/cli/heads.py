"""attlas heads: survey, relations and clusters of a treebank in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attlas.cli import clusters, relations, survey
from attlas.cli.finishing import finish
from attlas.cli.options import (
    AllowPickle,
    CheckpointEvery,
    Device,
    Dtype,
    FittingBudget,
    Limit,
    MaxPieces,
    Measure,
    Model,
    Out,
    Quiet,
    RemoteCode,
    Resume,
    Seed,
    device_or_default,
    slug,
)

SHOW = {"survey": survey.show, "relations": relations.show, "clusters": clusters.show}


def command(
    treebank: Annotated[str, typer.Argument(help='A treebank (CoNLL-U; .gz too; or a folder of them), or "sample".')],
    model: Model = None,
    measure: Measure = "weight",
    max_pieces: MaxPieces = None,
    limit: Limit = None,
    budget: FittingBudget = None,
    device: Device = None,
    dtype: Dtype = None,
    out: Out = None,
    seed: Seed = 0,
    resume: Resume = False,
    checkpoint_every: CheckpointEvery = 20.0,
    quiet: Quiet = False,
    remote_code: RemoteCode = False,
    allow_pickle: AllowPickle = False,
) -> None:
    """Survey, relations and clusters of a treebank, in one pass over its sentences.

    Writes a folder with a result and a report page for each.
    """
    from attlas.capture import load
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.heads import heads

    texts = read(treebank)
    subject = load(
        model, device=device_or_default(device), dtype=dtype, remote_code=remote_code, allow_pickle=allow_pickle
    )  # fmt: skip
    folder = out or Path(f"heads-{slug(subject.name)}-{slug(texts.name)}")
    results = heads(
        subject, texts, measure=measure, max_pieces=max_pieces, limit=limit, seed=seed, out=folder, resume=resume,
        budget=budget, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    for name, result in results.items():
        typer.echo(f"\n{name}")
        finish(result, folder / name, SHOW[name])
