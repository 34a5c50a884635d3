"""What every page says of its making: when, how long, on how much text, what was left out, and how to repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from attlas.pages.prose import Prose, count_of, listed, say
from attlas.stats.intervals import FEWEST

if TYPE_CHECKING:
    from attlas.pages.rows import Tables
    from attlas.store import Manifest


def counted(manifest: Manifest) -> str:
    """How much text was read, in words, and what intervals take as independent of the rest.

    >>> from types import SimpleNamespace
    >>> counted(SimpleNamespace(corpus={"name": "a book", "documents": 1, "pieces": 8000}))
    '1 document, 8,000 pieces'
    >>> counted(SimpleNamespace(corpus={"documents": 90, "unit": "document", "units": 90}))
    '90 documents, intervals by document (90 of them)'
    >>> counted(SimpleNamespace(corpus={"documents": 2, "unit": "text", "units": 2}))
    '2 documents, intervals by text (2 of them: too few for any)'
    """
    corpus = manifest.corpus
    said = [
        count_of(value, key.removesuffix("s"))
        for key in ("documents", "sentences", "passages", "pieces")
        if isinstance(value := corpus.get(key), int)
    ]
    if isinstance(units := corpus.get("units"), int):
        few = ": too few for any" if units < FEWEST else ""
        said.append(f"intervals by {corpus.get('unit', 'text')} ({units:,} of them{few})")
    return ", ".join(said)


def when_and_what(manifest: Manifest) -> Prose:
    """When it was made, how long that took, and what was left out: two sentences.

    >>> from types import SimpleNamespace
    >>> manifest = SimpleNamespace(started="2025-01-02T00:00:00+00:00", seconds=3.0, skipped={"too long": 2})
    >>> str(when_and_what(manifest))
    'Made on 2 January 2025 in 3.0 seconds. Cut or left out: too long (2).'
    """
    skipped = "; ".join(f"{reason} ({count:,})" for reason, count in manifest.skipped.items() if count)
    begin = f"Made {_date_of(manifest.started)}in {duration(manifest.seconds)}."
    if not skipped:
        return say("{begin} Nothing was cut or left out.", begin=begin)
    return say("{begin} Cut or left out: {skipped}.", begin=begin, skipped=skipped)


def blocks(tables: Tables) -> Prose | None:
    """Which blocks of the model its layers are, where not every block has attention; None where every one has.

    >>> from types import SimpleNamespace
    >>> str(blocks(SimpleNamespace(model="tiny", streams=["decoder"], blocks={"decoder": [1, 3]})))
    'Not every block of tiny has attention, and layers are counted among those that have: layers 1 and 2 are its ...'
    """
    parts = []
    for stream, numbers in tables.blocks.items():
        of = f" of the {stream}" if len(tables.streams) > 1 else ""
        span = " and ".join(("1", "2")[: len(numbers)]) if len(numbers) < 3 else f"1 to {len(numbers)}"
        which = f"layers {span}{of} are its blocks" if len(numbers) > 1 else f"layer 1{of} is its block"
        parts.append(say("{which} {numbers}", which=which, numbers=listed([block + 1 for block in numbers])))
    if not parts:
        return None
    text = "Not every block of {model} has attention, and layers are counted among those that have: {parts}."
    return say(text, model=tables.model, parts=listed(parts, between="; "))


def baseline(tables: Tables) -> Prose | None:
    """That no untrained twin stands beside the model, where none was asked for; None where it is not so.

    >>> from types import SimpleNamespace
    >>> str(baseline(SimpleNamespace(model="tiny", baseline=False)))
    'There is no random-weights baseline here: the run was made without untrained twins of tiny (--twin none)...'
    """
    if tables.baseline:
        return None
    return say(
        "There is no random-weights baseline here: the run was made without untrained twins of {model} (--twin "
        "none), and how much of what it shows is owed to training alone is not known.", model=tables.model,
    )  # fmt: skip


def remarks(tables: Tables) -> list[Prose]:
    """What has to be said on a page of whatever study: which blocks its layers are, and that a baseline is missing.

    >>> from types import SimpleNamespace
    >>> remarks(SimpleNamespace(blocks={}, baseline=True))
    []
    """
    return [told for told in (blocks(tables), baseline(tables)) if told is not None]


def facts(manifest: Manifest) -> dict[str, dict[str, str]]:
    """All that decides the numbers, in groups that a person can read; long lists are counted, not listed.

    >>> from types import SimpleNamespace
    >>> about = dict.fromkeys(("model", "corpus", "skipped", "versions"), {})
    >>> plan = {"options": {"limit": 3}}
    >>> facts(SimpleNamespace(study="survey", seed=0, started="", seconds=1.0, plan=plan, **about))["Options"]
    {'limit': '3'}
    """
    run = {"study": manifest.study, "seed": manifest.seed, "started": manifest.started}
    groups: dict[str, Mapping[str, Any]] = {
        "Model": manifest.model,
        "Corpus": manifest.corpus,
        "Options": (manifest.plan or {}).get("options", {}),
        "Run": {**run, "took": duration(manifest.seconds)},
        "Left out": manifest.skipped,
        "Versions": manifest.versions,
    }
    return {
        title: {key.replace("_", " "): _plain(value) for key, value in group.items() if value is not None}
        for title, group in groups.items()
        if group
    }


def duration(seconds: float) -> str:
    """A length of time to read.

    >>> duration(12.34), duration(600)
    ('12.3 seconds', '10 minutes')
    """
    if seconds < 90:
        return f"{seconds:.1f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def _date_of(started: str) -> str:
    """A date to read, with a space after it; nothing where there is none."""
    try:
        moment = datetime.fromisoformat(started.replace("Z", "+00:00"))
    except ValueError:
        return ""
    return f"on {moment.day} {moment:%B %Y} "


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        if any(isinstance(inner, Mapping) for inner in value.values()):  # too deep to be read: what it is about
            return ", ".join(map(str, value))
        return ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        if any(isinstance(inner, Mapping) for inner in value):
            return f"{len(value):,} in all"
        shown = ", ".join(_plain(inner) for inner in value[:8])
        return shown if len(value) <= 8 else f"{shown} ... ({len(value):,} in all)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
