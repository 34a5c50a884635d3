"""What ``attlas atlas`` and ``attlas atlas many`` take alike: which studies, how corpora are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from attlas.corpora import Corpus
from attlas.run.parameters import CHECK_MEASURE, Help, Reading, Role, Twin

Names = str | Sequence[str] | None
Corpora = Annotated[
    Sequence[Corpus | str | Path] | Corpus | str | Path,
    Role("corpora"),
    Help(
        'Files, datasets of the hub, or "sample", which is read if none is given; each study takes the first that '
        "has what it needs.",
        argument=True,
    ),
]


class Making(Reading, total=False):
    """What every atlas takes that is made.

    >>> sorted(set(Making.__annotations__) - set(Reading.__annotations__))[:4]
    ['format', 'gold', 'label', 'measure']
    """

    only: Annotated[Names, Help("Only these studies, by name, with commas between.", kind=str | None)]
    more: Annotated[
        Names,
        Help(
            "Heavy studies, too, by name, with commas between, such as ablate,parse.", flag="--with", kind=str | None
        ),
    ]
    task: Annotated[
        str | None,
        Help(
            "What heads are cut against; if left out, what model and corpora offer.",
            check="attlas.tasks:require_task",
        ),
    ]
    gold: Annotated[Path | str | None, Help("Gold links of words, where a corpus is a bitext.", kind=Path | None)]
    one_indexed: Annotated[bool, Help("The gold links count words from 1.")]
    format: Annotated[str | None, Help("The corpora's format, where it cannot be told.")]
    unit: Annotated[
        str | None, Help("What is one document: sentence, document (treebank); paragraph, line, document.")
    ]
    target: Annotated[
        Path | str | None, Help("The translations, line by line, where they are another file.", kind=Path | None)
    ]
    label: Annotated[str | None, Help("The column that holds the labels; for sentiment trees binary or five.")]
    measure: Annotated[
        str | None, Help("weight, or norm (of weight times vector), where a study goes by one.", check=CHECK_MEASURE)
    ]
    twins: Annotated[
        int | None, Help("So many untrained twins, drawn one by one; if left out, what each study asks for.", least=1)
    ]
    twin: Twin


USUAL: dict[str, Any] = {
    "only": None, "more": None, "task": None, "gold": None, "one_indexed": False, "format": None, "unit": None,
    "target": None, "label": None, "measure": None, "twins": None, "twin": "beside",
}  # fmt: skip
