"""Options that several commands share, so that each means one thing everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

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


def slug(name: str) -> str:
    """A name that can be part of a file's.

    >>> slug("sentence-transformers/all-MiniLM-L6-v2"), slug("wiki.txt.gz")
    ('all-MiniLM-L6-v2', 'wiki.txt')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).name).strip("-.").removesuffix(".gz") or "unnamed"
