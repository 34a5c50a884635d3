"""What every report says of its making: when, how long, on how much text, what was left out, and the plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING

from attlas.reports.page import Section

if TYPE_CHECKING:
    from attlas.store import Manifest

_LEAD = "<p>What was run, so that it can be run again, and what these numbers cannot say.</p>"


def counted(manifest: Manifest) -> str:
    """How much text was read, in words.

    >>> from types import SimpleNamespace
    >>> counted(SimpleNamespace(corpus={"name": "a book", "passages": 1200, "pieces": 8000}))
    '1,200 passages, 8,000 pieces'
    """
    return ", ".join(
        f"{value:,} {key}"
        for key in ("documents", "sentences", "passages", "pieces")
        if isinstance(value := manifest.corpus.get(key), int)
    )


def measure_of(manifest: Manifest) -> str:
    """The measure of attention that a study was run by: weight, unless its plan says norm.

    >>> from types import SimpleNamespace
    >>> measure_of(SimpleNamespace(plan={})), measure_of(SimpleNamespace(plan={"options": {"measure": "norm"}}))
    ('weight', 'norm')
    """
    options = manifest.plan.get("options", {}) if manifest.plan else {}
    return "norm" if options.get("measure") == "norm" else "weight"


def when_and_what(manifest: Manifest) -> str:
    """When it was made, how long that took, and what was left out: two sentences of HTML.

    >>> from types import SimpleNamespace
    >>> when_and_what(SimpleNamespace(started="2025-01-02T00:00:00+00:00", seconds=3.0, skipped={"too long": 2}))
    'Made on 2 January 2025 in 3.0 seconds. Cut or left out: too long (2).'
    """
    skipped = "; ".join(f"{escape(reason)} ({count:,})" for reason, count in manifest.skipped.items() if count)
    made = f"Made {_when(manifest.started)}in {duration(manifest.seconds)}."
    return f"{made} Cut or left out: {skipped}." if skipped else f"{made} Nothing was cut or left out."


def made(manifest: Manifest, limits: str) -> Section:
    """The last section of a report: all that decides its numbers, and their limits (HTML).

    >>> from types import SimpleNamespace
    >>> about = dict.fromkeys(("model", "corpus", "skipped", "versions", "plan"), {})
    >>> manifest = SimpleNamespace(study="survey", seed=0, started="", seconds=1.0, **about)
    >>> made(manifest, "<p>None.</p>").title
    'How it was made'
    """
    run = {"study": manifest.study, "seed": manifest.seed, "started": manifest.started}
    groups: dict[str, Mapping[str, object]] = {
        "Model": manifest.model,
        "Corpus": manifest.corpus,
        "Run": {**run, "took": duration(manifest.seconds)},
        "Skipped": manifest.skipped,
        "Versions": manifest.versions,
    }
    facts = "".join(
        f"<div><h3>{title}</h3><dl>"
        + "".join(
            f"<div><dt>{escape(key)}</dt><dd>{escape(_plain(value))}</dd></div>" for key, value in group.items()
        )
        + "</dl></div>"
        for title, group in groups.items()
        if group
    )
    plan = escape(json.dumps(manifest.plan, indent=2, ensure_ascii=False))
    body = (
        f'<div class="facts">{facts}</div>\n<details><summary>The plan, as it was carried out</summary>'
        f'<pre tabindex="0">{plan}</pre></details>'
    )
    return Section("made", "How it was made", _LEAD + limits, body)


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


def _plain(value: object) -> str:
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _when(started: str) -> str:
    """A date to read, with a space after it; nothing where there is none."""
    try:
        moment = datetime.fromisoformat(started.replace("Z", "+00:00"))
    except ValueError:
        return ""
    return f"on {moment.day} {moment:%B %Y} "
