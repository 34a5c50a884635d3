"""attlas doctor: let a model prove what can be done with it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from attlas.cli.commands import with_shared_options
from attlas.run.setting import Opening, as_subject


@with_shared_options
def command(
    model: Annotated[
        str | None, typer.Argument(help="Hub name, folder or short name; the bundled model if left out.")
    ] = None,
    *,
    full: Annotated[bool, typer.Option(help="Ask every head and layer what is else asked by lot.")] = False,
    opening: Opening,
    quiet: bool = False,
    as_json: bool = False,
) -> None:
    """Examine a model: does what we see at the seam equal what the model does? Fails if it does not."""
    from attlas.capture.asking import QUESTIONS
    from attlas.capture.check import examine
    from attlas.capture.tiny import QUESTIONS_OF_TWIN
    from attlas.run.progress import progress_on
    from attlas.store import plain

    subject = as_subject(replace(opening, name=model))
    progress = progress_on(quiet=quiet or as_json)
    progress.start("doctor", total=len(QUESTIONS) + QUESTIONS_OF_TWIN, unit="questions")
    try:
        findings = examine(subject, full=full, advance=lambda question: progress.advance(1))
    finally:
        progress.finish()
    if as_json:
        found = {"model": subject.describe(), "findings": [asdict(finding) for finding in findings]}
        typer.echo(json.dumps(plain(found, "findings"), ensure_ascii=False))
    else:
        show(subject, findings)
    if any(finding.passed is False for finding in findings):
        raise typer.Exit(1)


def show(subject: Any, findings: Any) -> None:
    """Print the findings as a table."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    described = subject.describe()
    streams = ", ".join(
        f"{name} {s['layers']} x {_heads(s['heads'])}{_blocks(s)}" for name, s in described["streams"].items()
    )
    way = "at the seam" if described["way"] == "seam" else "through its private softmax"
    console.print(
        f"{described['name']} ({described['class']}): {streams}; seen {way}; "
        f"window {subject.pieces.window:,} pieces; fingerprint {described['fingerprint']}",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip
    table = Table("", "question", "largest error", "note", box=None, header_style="bold")
    for finding in _in_short(findings):
        sign = {True: "yes", False: "no", None: "-"}[finding.passed]
        error = "" if finding.error is None else f"{finding.error:.1e}"
        table.add_row(sign, finding.name, error, finding.note)
    console.print(table)


def _blocks(counts: dict[str, Any]) -> str:
    """Which blocks of the model the layers are, counted from 1, where not every block has attention."""
    numbers = [str(block + 1) for block in counts.get("blocks", ())]
    return f" ({'block' if len(numbers) == 1 else 'blocks'} {', '.join(numbers)})" if numbers else ""


def _in_short(findings: Any) -> list[Any]:
    """All answers of the model; of its tiny twin those that are no, and one line for the rest of them."""
    from attlas.capture import Finding
    from attlas.capture.tiny import OF_TWIN

    own = [finding for finding in findings if not finding.name.startswith(OF_TWIN)]
    twin = [finding for finding in findings if finding.name.startswith(OF_TWIN)]
    failed = [finding for finding in twin if finding.passed is False]
    good = [finding for finding in twin if finding.passed]
    if good:
        left = len(twin) - len(failed) - len(good)
        worst = max((finding.error for finding in good if finding.error is not None), default=None)
        said = f"{len(good)} answered with yes" + (f", {left} that do not apply" if left else "")
        own.append(Finding(f"{OF_TWIN}the same, beyond windows of a few pieces", True, worst, said))
    return [*own, *failed]


def _heads(count: int | list[int]) -> str:
    """How many heads a layer has; in a pruned model that may be from so many to so many."""
    return f"{min(count)} to {max(count)}" if isinstance(count, list) else str(count)
