"""Keep the attention of a model on some texts, to be put into another: one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from attlas.errors import CorpusError
from attlas.run.given import NAMED
from attlas.run.parameters import Help, Model, Texts, study_call
from attlas.run.session import slug
from attlas.run.setting import as_corpus

if TYPE_CHECKING:
    from attlas.capture.frozen import Frozen


@dataclass(frozen=True)
class Kept:
    """Frozen attention, the file it was written to (None: it was not), and what was left out of the texts."""

    attention: Frozen
    file: Path | None
    skipped: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """How much was kept, what was left out, and where the file lies."""
        kept, file = self.attention, None if self.file is None else str(self.file)
        return {
            "model": kept.model, "texts": len(kept), "layers": len(kept.sites), "skipped": dict(self.skipped),
            "file": file,
        }  # fmt: skip


@study_call()
def faith_freeze(
    subject: Model = None,
    corpus: Texts = "sample",
    task: Annotated[
        str, Help("classification, tagging:upos, tagging:xpos, tagging:chunks or tagging:keyphrases.")
    ] = "classification",
    *,
    out: Annotated[
        Path | str | None, Help("The file to write; named by itself if left out.", short="-o", kind=Path | None)
    ] = None,
    last: Annotated[bool, Help("Only the last layer's attention; else that of all.")] = False,
    max_pieces: Annotated[
        int | None, Help("Longest text in pieces (subword tokens); if left out, what the task asks for.", least=4)
    ] = None,
    limit: Annotated[int | None, Help("So many texts, drawn by the seed.", least=1)] = None,
    seed: Annotated[int, Help("Decides every draw.")] = 0,
) -> Kept:
    """Keep a model's attention on the texts of a corpus; attlas faith --frozen puts it into another model.

    The two need the same tokenizer, and as many layers and heads.

    >>> from attlas.text import Document
    >>> faith_freeze(None, [Document.from_words(["It", "rained"], label="good")])
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 cannot be put to the task classification: its checkpoint ...
    """
    from attlas.capture.frozen import freeze, self_attention
    from attlas.run.tasks import open_for_task, read_for_task, task_for

    file = None if out is None or out == NAMED else Path(out)
    _require_free(file)
    texts = as_corpus(corpus)
    model = open_for_task(subject, task, texts)
    if out == NAMED:
        file = Path(f"faith-freeze-{slug(model.name)}-{slug(texts.name)}.safetensors")
        _require_free(file)
    asked = task_for(model, task, texts, seed=seed)
    reading = read_for_task(asked, texts, max_pieces=max_pieces, limit=limit, seed=seed)
    sites = list(self_attention(model))
    attention = freeze(
        model, reading.examples, sites[-1:] if last else sites, run=lambda some: asked.run(asked.ask(some))
    )
    if file is not None:
        attention.save(file)
    return Kept(attention, file, dict(reading.skipped))


def show(kept: Kept) -> None:
    """Print what was kept, and where.

    >>> from attlas.capture.frozen import Frozen
    >>> show(Kept(Frozen("tiny", "", {}), None, {"longer than 4 pieces": 2}))
    note: longer than 4 pieces: 2
    tiny: 0 texts, 0 layers
    """
    import typer

    from attlas.pages.prose import count_of

    for reason, number in kept.skipped.items():
        typer.echo(f"note: {reason}: {number:,}")
    attention = kept.attention
    typer.echo(f"{attention.model}: {count_of(len(attention), 'text')}, {count_of(len(attention.sites), 'layer')}")
    if kept.file is not None:
        typer.echo(f"frozen attention: {kept.file} ({kept.file.stat().st_size / 1e6:.1f} MB)")


def _require_free(file: Path | None) -> None:
    if file is None:
        return
    if file.exists():
        raise CorpusError("this is there already; delete it or choose another name", file=file)
    if not file.parent.is_dir():
        raise CorpusError(f"there is no folder {file.parent}; make it first", file=file)
