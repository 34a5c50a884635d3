"""Options that several commands share, so that each means one thing everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from attlas.capture import Subject

Model = Annotated[
    str | None,
    typer.Option("--model", "-m", help="Hub name, folder, or short name; the bundled all-MiniLM-L6-v2 if left out."),
]
Device = Annotated[str | None, typer.Option("--device", help="cpu, cuda, cuda:1 ...; cuda where there is one.")]
Dtype = Annotated[str | None, typer.Option("--dtype", help="float32 (default), bfloat16 or float16.")]
RemoteCode = Annotated[bool, typer.Option("--remote-code", help="Run code that the model's repository brings.")]
AllowPickle = Annotated[bool, typer.Option("--allow-pickle", help="Read weights that are not safetensors.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the result.")]
Seed = Annotated[int, typer.Option("--seed", help="Decides every draw.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")]
Format = Annotated[str | None, typer.Option("--format", help="The file's format, where it cannot be told.")]
Unit = Annotated[
    str | None,
    typer.Option("--unit", help="What is one document: sentence, document (treebank); paragraph, line, document."),
]
Target = Annotated[
    Path | None, typer.Option("--target", help="The translations, line by line, where they are another file.")
]
Label = Annotated[
    str | None,
    typer.Option("--label", help="The column that holds the labels; for sentiment trees binary (default) or five."),
]
Task = Annotated[
    str,
    typer.Argument(
        help="causal-lm, masked-lm, translation, tagging:upos, tagging:xpos, tagging:chunks, tagging:keyphrases, "
        "classification (of texts, or pairs) or similarity."
    ),
]
TaskCorpus = Annotated[
    str,
    typer.Argument(
        help="A file with what the task needs (labels: a table with a header, CoLA, sentiment trees, JSON lines; "
        "tags: CoNLL-U, CoNLL-2000, words with B/I/O labels; key phrases: JSON lines; a bitext; plain text; .gz "
        'too), or "sample".'
    ),
]
MaxPieces = Annotated[
    int | None,
    typer.Option("--max-pieces", min=4, help="Longest text in pieces; if left out, what the study asks for."),
]
Long = Annotated[str, typer.Option("--long", help="What to do with longer texts: cut, refuse or skip.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="So many texts (of each part), drawn by the seed.")]
Measure = Annotated[str, typer.Option("--measure", help="weight, or norm (of weight times vector).")]
Budget = Annotated[int, typer.Option("--budget", min=1, help="Pieces per batch, padding included.")]
FittingBudget = Annotated[
    int | None, typer.Option("--budget", min=1, help="Pieces per batch, padding included; by default what fits.")
]
CheckpointEvery = Annotated[
    float, typer.Option("--checkpoint-every", min=0, help="Seconds between checkpoints, for --resume.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


def device_or_default(device: str | None) -> str:
    """The device asked for, or cuda where there is one, else cpu.

    >>> device_or_default("cpu")
    'cpu'
    """
    if device is not None:
        return device
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def opened(
    model: str | None, device: str | None, dtype: str | None, remote_code: bool, allow_pickle: bool
) -> Subject:
    """The model that these options ask for, loaded.

    >>> opened(None, "cpu", None, False, False).name
    'all-MiniLM-L6-v2'
    """
    from attlas.capture import load

    return load(
        model, device=device_or_default(device), dtype=dtype, remote_code=remote_code, allow_pickle=allow_pickle
    )  # fmt: skip


def slug(name: str) -> str:
    """A name that can be part of a file's.

    >>> slug("sentence-transformers/all-MiniLM-L6-v2"), slug("wiki.txt.gz")
    ('all-MiniLM-L6-v2', 'wiki.txt')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).name).strip("-.").removesuffix(".gz") or "unnamed"
