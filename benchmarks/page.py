"""The page that benchmarks write to, unless they name another: each owns the sections under its headings, and
replaces those alone."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "benchmarks.md"


def put(heading: str, lines: list[str], page: Path = PAGE) -> None:
    """Put a section into a page, in place of the one that has this heading, or at the end."""
    new = "\n".join([f"## {heading}", "", *lines]).rstrip() + "\n"
    before = page.read_text(encoding="utf-8") if page.exists() else "# Benchmarks\n"
    old = re.search(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", before, re.MULTILINE | re.DOTALL)
    if old is None:
        text = before.rstrip() + "\n\n" + new
    else:
        rest = before[old.end() :]
        text = before[: old.start()] + new + ("\n" + rest if rest else "")
    page.write_text(text, encoding="utf-8")
    print(f"page: {page.name}, {heading}")
