"""The page that all benchmarks write to: each owns the sections under its headings, and replaces those alone."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "benchmarks.md"


def put(heading: str, lines: list[str]) -> None:
    """Put a section into the page, in place of the one that has this heading, or at the end."""
    new = "\n".join([f"## {heading}", "", *lines]).rstrip() + "\n"
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Benchmarks\n"
    old = re.search(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", before, re.MULTILINE | re.DOTALL)
    if old is None:
        page = before.rstrip() + "\n\n" + new
    else:
        rest = before[old.end() :]
        page = before[: old.start()] + new + ("\n" + rest if rest else "")
    PAGE.write_text(page, encoding="utf-8")
    print(f"page: {PAGE.name}, {heading}")
