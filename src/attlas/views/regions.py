"""Regions of a prompt: which of its pieces are the system's, a question, a document, an answer.

A chat template says it by special pieces: each turn begins with one, and the role stands in it or behind it. Where
there is no template, a person may say with which words parts begin (``Document:``, ``Question:``). What a model has
written is a region, too. A region goes on until the next one begins.
"""

from __future__ import annotations

import re
from collections import abc
from dataclasses import replace

from attlas.errors import TextError
from attlas.views.scene import Scene, Sequence, Strand

NAMED = "with the role behind it"
TURNS = {  # pieces that begin a turn, and what the turn is called
    "<|im_start|>": NAMED, "<start_of_turn>": NAMED, "<|start_header_id|>": NAMED, "<|start|>": NAMED,
    "<|system|>": "system", "<|user|>": "user", "<|assistant|>": "assistant", "<|prompter|>": "user",
    "[INST]": "user", "[/INST]": "assistant", "<|User|>": "user", "<|Assistant|>": "assistant",
}  # fmt: skip
WRITTEN = "written"
ROLES = frozenset({"system", "user", "assistant", "model", "tool", "developer"})
ROLE = re.compile(r"[A-Za-z_]{1,24}")


def regions_of(text: Sequence, markers: abc.Sequence[str] = ()) -> tuple[tuple[str, int], ...]:
    """The name and the first piece of each region: those that begin with the markers, else the turns of a chat and
    what was written.

    >>> text = Sequence(("<|im_start|>", "user", "Hi", "<|im_start|>", "assistant", "Ho"), (-1, 0, 1, -1, 2, 3),
    ...                 (-1, 0, 0, -1, 0, 0), ("user", "Hi", "assistant", "Ho"))
    >>> regions_of(text)
    (('user', 0), ('assistant', 3))
    >>> regions_of(Sequence(("A", ":", "x", "B", ":", "y"), (0,) * 6, (0,) * 6, ("A:xB:y",)), ["A:", "B:"])
    (('A', 0), ('B', 3))
    """
    found = _marked(text, markers) if markers else _turns(text)
    if not markers and text.written is not None:
        found = [*[each for each in found if each[1] < text.written], (WRITTEN, text.written)]
    return tuple(zip(_numbered([name for name, _ in found]), [start for _, start in found], strict=True))


def with_regions(scene: Scene, markers: abc.Sequence[str] = ()) -> Scene:
    """The same scene, with the regions of the texts that its streams read; markers must be in one of these.

    >>> with_regions(Scene("a model", (), ())).strands
    ()
    """
    texts = [text for strand in scene.strands for text in (strand.queries, strand.keys)]
    missing = [marker for marker in markers if not any(_marked(text, [marker]) for text in texts)]
    if missing:
        raise TextError(
            f"no part of the text begins with {' or '.join(map(repr, missing))}; give words as they stand in the text"
        )
    known: dict[int, Sequence] = {}

    def divided(text: Sequence) -> Sequence:
        return known.setdefault(id(text), replace(text, regions=regions_of(text, markers)))

    def strand(old: Strand) -> Strand:
        return replace(old, queries=divided(old.queries), keys=divided(old.keys))

    return replace(scene, strands=tuple(strand(each) for each in scene.strands))


def _turns(text: Sequence) -> list[tuple[str, int]]:
    found = []
    for at, piece in enumerate(text.pieces):
        name = TURNS.get(piece.strip())
        if name is NAMED:
            name = _role(text, at + 1) or "turn"
        if name:
            found.append((name, at))
    return found


def _role(text: Sequence, start: int) -> str:
    """The letters behind the piece that begins a turn, of as many pieces as they are cut into."""
    role = ""
    for piece in text.pieces[start : start + 8]:
        letters = ROLE.fullmatch(piece.removeprefix("##"))
        if letters is None:
            break
        role += letters[0]
        if role in ROLES:
            break
    return role


def _marked(text: Sequence, markers: abc.Sequence[str]) -> list[tuple[str, int]]:
    """Markers are looked for in the pieces, joined without blanks, which tokenizers treat in their own ways."""
    letters: list[str] = []
    places: list[int] = []
    for at, piece in enumerate(text.pieces):
        plain = re.sub(r"[\s␣⏎⇥▁Ġ]+", "", piece.removeprefix("##"))
        letters.append(plain)
        places += [at] * len(plain)
    joined = "".join(letters)
    found = []
    for marker in markers:
        plain = re.sub(r"\s+", "", marker)
        start = joined.find(plain) if plain else -1
        while start >= 0:
            found.append((marker.strip().rstrip(":").strip() or marker.strip(), places[start]))
            start = joined.find(plain, start + len(plain))
    return sorted(set(found), key=lambda each: each[1])


def _numbered(names: list[str]) -> list[str]:
    """Names that come again get a number."""
    return [
        name if names.count(name) == 1 else f"{name} {names[: at + 1].count(name)}" for at, name in enumerate(names)
    ]
