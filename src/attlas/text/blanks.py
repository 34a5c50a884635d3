"""What pieces are called that are nothing but blanks, which no one could see or tell apart."""

from __future__ import annotations

_SIGNS = {"\n": "⏎", "\t": "⇥"}


def named_blank(blank: str) -> str:
    """The signs of the line ends and tabs in a blank, else the sign of a blank.

    >>> named_blank(" "), named_blank("\\n\\n"), named_blank("  \\t")
    ('␣', '⏎⏎', '⇥')
    """
    return "".join(_SIGNS.get(letter, "") for letter in blank) or "␣"
