"""attlas heads: survey, relations and clusters of a treebank in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attlas.cli import clusters, options, relations
from attlas.cli.finishing_old import finish

SHOW = {"relations": relations.show, "clusters": clusters.show}


def command(
    treebank: Annotated[str, typer.Argument(help='A treebank (CoNLL-U; .gz too; or a folder of them), or "sample".')],
    model: options.Model = None,
    measure: options.Measure = "weight",
    max_pieces: options.MaxPieces = None,
    limit: options.Limit = None,
    budget: options.FittingBudget = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    out: options.Out = None,
    seed: options.Seed = 0,
    resume: options.Resume = False,
    checkpoint_every: options.CheckpointEvery = 20.0,
    quiet: options.Quiet = False,
    remote_code: options.RemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> None:
    """Survey, relations and clusters of a treebank, in one pass over its sentences.

    Writes a folder with a result and a report page for each.
    """
    from attlas.cli.finishing import finish as finish_study
    from attlas.corpora import read
    from attlas.run import progress_on
    from attlas.run.heads import heads
    from attlas.studies import studies

    texts = read(treebank)
    subject = options.opened(model, device, dtype, remote_code, allow_pickle)
    folder = out or Path(f"heads-{options.slug(subject.name)}-{options.slug(texts.name)}")
    results = heads(
        subject, texts, measure=measure, max_pieces=max_pieces, limit=limit, seed=seed, out=folder, resume=resume,
        budget=budget, checkpoint_every=checkpoint_every, progress=progress_on(quiet=quiet),
    )  # fmt: skip
    for name, result in results.items():
        typer.echo(f"\n{name}")
        if name in studies():
            finish_study(result, studies()[name])
        else:
            finish(result, folder / name, SHOW[name])
