"""attlas faith freeze: keep the attention of a model on some texts, to be put into another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attlas.cli import options
from attlas.cli.finishing_old import count


def command(
    model: Annotated[str, typer.Argument(help="Hub name, folder, or short name.", show_default=False)],
    task: Annotated[
        str,
        typer.Argument(help="classification, tagging:upos, :xpos, :chunks or :keyphrases.", show_default=False),
    ],
    data: options.TaskCorpus,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write (.safetensors).", show_default=False)],
    last: Annotated[bool, typer.Option("--last", help="Only the last layer's attention; else that of all.")] = False,
    format: options.Format = None,
    unit: options.Unit = None,
    label: options.Label = None,
    max_pieces: options.MaxPieces = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    device: options.Device = None,
    dtype: options.Dtype = None,
    remote_code: options.RemoteCode = False,
    allow_pickle: options.AllowPickle = False,
) -> None:
    """Keep a model's attention on the texts of a file; attlas faith --frozen puts it into another model.

    The two need the same tokenizer, and as many layers and heads.
    """
    from attlas.capture.frozen import freeze, self_attention
    from attlas.corpora import read
    from attlas.errors import CorpusError
    from attlas.run.tasks import open_for_task, read_for_task, task_for

    if out.exists():
        raise CorpusError("this is there already; delete it or choose another name", file=out)
    if not out.parent.is_dir():
        raise CorpusError(f"there is no folder {out.parent}; make it first", file=out)
    texts = read(data, format, unit=unit, label=label)
    subject = open_for_task(
        model,
        task,
        texts,
        device=options.device_or_default(device),
        dtype=dtype,
        remote_code=remote_code,
        allow_pickle=allow_pickle,
    )
    made = task_for(subject, task, texts, seed=seed)
    reading = read_for_task(made, texts, max_pieces=max_pieces, limit=limit, seed=seed)
    sites = list(self_attention(subject))
    kept = freeze(subject, reading.examples, sites[-1:] if last else sites, run=lambda some: made.run(made.ask(some)))
    kept.save(out)
    for reason, number in reading.skipped.items():
        typer.echo(f"note: {reason}: {number:,}")
    typer.echo(f"{subject.name}: {count(len(kept), 'text')}, {count(len(kept.sites), 'layer')}")
    typer.echo(f"frozen attention: {out} ({out.stat().st_size / 1e6:.1f} MB)")
