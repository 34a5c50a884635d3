"""The fenced blocks of a page, and the commands in them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", flags=re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its language, what it holds, and the line that it begins in."""

    language: str
    text: str
    line: int


class Command(NamedTuple):
    """A command of a block: its words, and the file that takes what it prints."""

    words: tuple[str, ...]
    into: str | None


def pages() -> dict[str, Path]:
    """README and the pages of docs, without those of results, which hold no commands to be followed."""
    return {path.name: path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(FENCE.findall(text)), f"{page.name}: a fence is not closed"
    return [Block(found[2], found[3], text.count("\n", 0, found.start()) + 1) for found in FENCE.finditer(text)]


def commands_of(block: Block) -> list[Command]:
    """The commands of a block of shell: continued lines joined, comments left out, ``> FILE`` told apart."""
    commands = []
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            into = words[words.index(">") + 1] if ">" in words else None
            commands.append(Command(tuple(words[: words.index(">")] if into else words), into))
    return commands
