"""Groups of commands: listed under what they are for, and one of them without a name of its own.

``attlas --help`` lists commands under look, measure, cut, test and use; ``attlas keywords FILE`` is ``attlas keywords
keywords FILE``, where a group has a command of its own name.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from attlas.studies import GROUPS, studies

TOOLS = {
    "demo": "look",
    "atlas": "look",
    "view": "look",
    "serve": "look",
    "report": "use",
    "export": "use",
    "doctor": "use",
    "verify": "use",
}


class Listed(TyperGroup):
    """All commands, under what they are for.

    >>> Listed.__mro__[1] is TyperGroup
    True
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of commands, those of one group together."""
        order = list(GROUPS)
        return sorted(self.commands, key=lambda name: (order.index(group_of(name)), [*self.commands].index(name)))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a heading and a list for each group."""
        for group, title in GROUPS.items():
            rows = [
                (name, self.commands[name].get_short_help_str(limit=formatter.width - 20))
                for name in self.list_commands(ctx)
                if group_of(name) == group and not self.commands[name].hidden
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def group_of(name: str) -> str:
    """What a command is for.

    >>> group_of("importance"), group_of("view")
    ('cut', 'look')
    """
    first = next((study for study in studies().values() if study.words[0] == name), None)
    return TOOLS.get(name, "measure") if first is None else first.group


def plain_group(plain: str, *, alone: bool = False) -> type[TyperGroup]:
    """A group whose command ``plain`` is meant wherever the first word is none of its commands; with ``alone`` also
    where there is no word at all.

    >>> plain_group("text").__name__
    'Words'
    """

    class Words(TyperGroup):
        """A group whose first word may be left out."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Put the plain command in front of whatever is none."""
            known = (*self.commands, "--help")
            if args[0] not in known if args else alone:
                args = [plain, *args]
            return super().parse_args(ctx, args)

    return Words
