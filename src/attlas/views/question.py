"""What a person asks to see: a text and a model, before anything was opened or read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attlas.errors import TextError

MOST_WRITTEN = 500  # pieces that a model may be asked to write
LONGEST_NAME = 1_000  # letters of a model's name or folder


@dataclass(frozen=True)
class Question:
    """What is to be looked at: a text, perhaps a second one (of a pair, or a target), and a model by its name.

    ``write`` is how many pieces the model shall write on by itself: the likeliest each time or, with a ``seed``,
    drawn. With ``chat`` the text is what a person says to the model, in the model's own template, after a ``system``
    text.

    >>> Question("a model", "Hello.").write
    0
    """

    model: str
    text: str
    second: str = ""
    write: int = 0
    chat: bool = False
    system: str = ""
    seed: int | None = None

    @classmethod
    def of(cls, given: object) -> Question:
        """A question as the page sends it, or one sentence about what is wrong with it.

        >>> Question.of({"model": "a model", "text": " "})
        Traceback (most recent call last):
            ...
        attlas.errors.TextError: the text is empty; give at least one word
        """
        if not isinstance(given, dict):
            raise TextError(f"a question must be an object with model and text, and this is {type(given).__name__}")
        model, text, second = (_string(given, name) for name in ("model", "text", "second"))
        if len(model) > LONGEST_NAME:
            raise TextError(f"the model's name has {len(model):,} letters, and {LONGEST_NAME:,} are the most")
        write = given.get("write", 0)
        if type(write) is not int or not 0 <= write <= MOST_WRITTEN:
            raise TextError(f"a model can be asked to write 0 to {MOST_WRITTEN} pieces, not {repr(write)[:40]}")
        if not model.strip():
            raise TextError("no model is named; choose one, or give a hub name or a folder")
        require_seen(text)
        chat, seed, system = given.get("chat", False), given.get("seed"), _string(given, "system")
        if type(chat) is not bool:
            raise TextError(f"chat must be true or false, not {repr(chat)[:40]}")
        if seed is not None and (type(seed) is not int or not 0 <= seed < 2**32):
            raise TextError(f"a seed is a whole number from 0 to {2**32 - 1}, not {repr(seed)[:40]}")
        if chat and second.strip():
            raise TextError("a chat has no second text; leave one of them out")
        if system.strip() and not chat:
            raise TextError("a system text belongs to a chat; ask for one, or leave it out")
        return cls(
            model.strip(), text, second if second.strip() else "", write, chat, system if system.strip() else "", seed
        )


def require_seen(text: str) -> None:
    """Refuse a text in which there is nothing to be seen.

    >>> require_seen("\u200b")
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: the text holds nothing but marks that cannot be seen; give at least one word
    """
    if not text.strip():
        raise TextError("the text is empty; give at least one word")
    if not any(letter.isprintable() and not letter.isspace() for letter in text):
        raise TextError("the text holds nothing but marks that cannot be seen; give at least one word")


def _string(given: dict[str, Any], name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise TextError(f"{name} must be a text, and this is {type(value).__name__}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise TextError(f"{name} holds half a character (a lone surrogate); type it again")
    return value
