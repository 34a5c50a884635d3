"""Groups of commands one of which needs no name: ``attlas keywords FILE`` is ``attlas keywords text FILE``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def plain_group(plain: str) -> type[TyperGroup]:
    """A group whose command ``plain`` is meant wherever the first word is none of its commands.

    >>> plain_group("text").__name__
    'Words'
    """

    class Words(TyperGroup):
        """A group whose first word may be left out."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Put the plain command in front of whatever is none."""
            if args and args[0] not in self.commands and args[0] != "--help":
                args = [plain, *args]
            return super().parse_args(ctx, args)

    return Words
