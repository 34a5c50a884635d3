"""Faithfulness: layers and heads by label, the training corpus first, frozen attention by its own call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cases_before
from cases_before import FEW, Inputs


def frozen_file(folder: Path, inputs: Inputs, *, last: bool = False) -> Path:
    """The attention of the second classifier on the labelled texts."""
    import attlas

    file = folder / "frozen.safetensors"
    attlas.faith_freeze(
        inputs["classifier two"], inputs["labelled one"], "classification", out=file, last=last,
        limit=3 if last else None,
    )  # fmt: skip
    return file


def faith_freeze(folder: Path, inputs: Inputs) -> Any:
    from safetensors.numpy import load_file

    arrays = load_file(frozen_file(folder, inputs, last=True))
    return {name: {"value": array.ravel().tolist()} for name, array in sorted(arrays.items())}


def faith_classification(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.faith(
        inputs["classifier"], inputs["labelled one"], frozen=[frozen_file(folder, inputs)],
        others=[inputs["classifier two"]], evened=inputs["classifier two"], limit=6, out=folder / "out", **FEW,
    )  # fmt: skip


def faith_tagging(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.faith(
        inputs["tagger"], inputs["treebank one"], "tagging:upos", layer="2", head="3", erase="mask", per_text=2,
        limit=5, **FEW,
    )  # fmt: skip


def faith_chunks(folder: Path, inputs: Inputs) -> Any:
    import attlas

    tuned = folder / "tuned"
    attlas.tune(inputs["llama"], inputs["chunked one"], task="tagging:chunks", epochs=1, limit=6, out=tuned)
    return attlas.faith(str(tuned), inputs["chunked two"], "tagging:chunks", layer="all", limit=2, **FEW)


def as_counted_before(result: Any) -> Any:
    """A result without its number of documents, which runs of this study count too by now."""
    result.manifest.corpus.pop("documents")
    return result


def faith_chunking(folder: Path, inputs: Inputs) -> Any:
    return as_counted_before(cases_before.faith_chunking(folder, inputs))


def faith_chunking_row(folder: Path, inputs: Inputs) -> Any:
    import attlas

    result = attlas.faith_chunking(
        inputs["chunked one"], inputs["chunked two"], weights=[0.5], divergence="jsd", per="row", width=8, ffn=8,
        heads=2, epochs=6, learning_rate=1e-2, batch_size=8, seeds=1, guided=0, instances=2, limit=16,
    )  # fmt: skip
    return as_counted_before(result)


CASES = {
    "faith_freeze": faith_freeze,
    "faith.classification": faith_classification,
    "faith.tagging": faith_tagging,
    "faith.chunks": faith_chunks,
    "faith_chunking": faith_chunking,
    "faith_chunking.row": faith_chunking_row,
}
