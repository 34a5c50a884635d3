"""The faithfulness card of a model and a task: six figures and a paragraph, to stand beside a picture of attention.

``attlas faith`` measures how far attention explains what a model predicts, and sums it up in a card. A
:class:`Card` is read from its result folder and shown by the viewer above every view. It speaks of one model and one
task: beside another model it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import StoreError
from attlas.store.schema import KINDS, is_known

if TYPE_CHECKING:
    from attlas.store import Result
    from attlas.views.scene import Scene

STUDY = "faith"
PARAGRAPH = "paragraph"  # the row of the table that is no figure
VERDICTS = {"holds": "✓", "does not hold": "✗", "cannot tell": "?"}
_ADVICE = "give the card of the model that is shown"
_COLUMNS = ("figure", "name", "value", "low", "high", "verdict", "says")


@dataclass(frozen=True)
class CardFigure:
    """One figure of a card: a number with its interval, whether what it tests holds, and that in one clause.

    >>> CardFigure("gradient", "like gradients", 0.21, 0.18, 0.24, "does not hold", "they rank alike").number
    '0.21'
    """

    key: str
    name: str
    value: float | None
    low: float | None
    high: float | None
    verdict: str
    says: str

    @property
    def number(self) -> str:
        """The value as it is written; a dash where there is none.

        >>> CardFigure("a", "a", -0.004, None, None, "cannot tell", "").number
        '−0.0040'
        """
        return KINDS["number"].write(self.value, None) if is_known(self.value) else "–"

    @property
    def interval(self) -> str:
        """Both ends of the interval; nothing where there is none.

        >>> CardFigure("a", "a", 0.0, -0.01, 0.2, "cannot tell", "").interval
        '−0.010 to 0.20'
        """
        if not (is_known(self.low) and is_known(self.high)):
            return ""
        low, high = (KINDS["number"].write(end, None) for end in (self.low, self.high))
        return f"{low} to {high}"


@dataclass(frozen=True)
class Card:
    """What was found of a model and a task: figures, and a paragraph on what may be read into a picture and what not.

    ``attention`` says in words which attention was asked. The rest tells models apart: layers and heads of each
    stream, the fingerprint of the weights and the number format they were read in; ``source`` is its folder.

    >>> Card("tiny", "classification", "reviews", (), "Nothing is known.").sums_up
    'nothing was measured'
    """

    model: str
    task: str
    corpus: str
    figures: tuple[CardFigure, ...]
    paragraph: str
    attention: str = ""
    streams: tuple[tuple[str, int, int], ...] = ()
    fingerprint: str = ""
    dtype: str = ""
    source: str = ""

    @property
    def title(self) -> str:
        """What the card is of.

        >>> Card("tiny", "classification", "reviews", (), "").title
        'Faithfulness card: tiny, classification on reviews'
        """
        task = f"{self.task} on {self.corpus}" if self.task and self.corpus else self.task or self.corpus
        return "Faithfulness card: " + ", ".join(filter(None, (self.model, task)))

    @property
    def sums_up(self) -> str:
        """How many of its figures hold, in a clause.

        >>> figures = [CardFigure(str(k), "", 0.5, None, None, verdict, "") for k, verdict in enumerate(VERDICTS)]
        >>> Card("tiny", "classification", "reviews", tuple(figures), "").sums_up
        '1 of 3 holds, 1 does not, 1 cannot be told'
        """
        if not self.figures:
            return "nothing was measured"
        holds, not_held, untold = (sum(one.verdict == verdict for one in self.figures) for verdict in VERDICTS)
        parts = [f"{holds} of {len(self.figures)} {'holds' if holds == 1 else 'hold'}"]
        parts += [f"{not_held} {'does' if not_held == 1 else 'do'} not"] if not_held else []
        parts += [f"{untold} cannot be told"] if untold else []
        return ", ".join(parts)

    def is_of(self, model: str) -> bool:
        """Whether a model of this name is the card's.

        >>> Card("tiny", "classification", "reviews", (), "").is_of("owner/tiny")
        True
        """
        return own_name(model) == own_name(self.model)

    def require(self, models: Sequence[str]) -> None:
        """Refuse to stand beside models none of which is the card's.

        >>> Card("tiny", "classification", "reviews", (), "", source="out").require(["another"])
        Traceback (most recent call last):
            ...
        attlas.errors.StoreError: out: this card is of tiny, not of another; give the card of the model that is shown
        """
        if models and not any(map(self.is_of, models)):
            name, shown = self.model or "a nameless model", " or ".join(dict.fromkeys(models))
            raise StoreError(f"{self._where}this card is of {name}, not of {shown}; {_ADVICE}")

    def require_weights(self, fingerprint: str, number_format: str) -> None:
        """Refuse to stand beside a model of the same name and other weights, where the format lets one tell.

        >>> Card("tiny", "classification", "reviews", (), "", fingerprint="a", dtype="float32").require_weights(
        ...     "b", "float32")
        Traceback (most recent call last):
            ...
        attlas.errors.StoreError: this card is of another tiny than the one shown: its weights have changed ...
        """
        if self.fingerprint and number_format == self.dtype and fingerprint != self.fingerprint:
            raise StoreError(
                f"{self._where}this card is of another {self.model} than the one shown: its weights have changed "
                f"(fingerprints {self.fingerprint} and {fingerprint}); {_ADVICE}"
            )

    def places(self, scenes: Sequence[Scene]) -> list[int]:
        """The scenes that show the card's model; one sentence where none does.

        >>> from attlas.views.scene import Scene
        >>> card = Card("tiny", "classification", "reviews", (), "")
        >>> card.places([Scene("owner/tiny", (), ()), Scene("another", (), ())])
        [0]
        """
        self.require([scene.model for scene in scenes])
        named = [number for number, scene in enumerate(scenes) if self.is_of(scene.model)]
        shapes = {name: (layers, heads) for name, layers, heads in self.streams}
        for strand in (strand for number in named for strand in scenes[number].strands if shapes):
            layers, heads = shapes.get(strand.stream.value, (0, 0))
            if max(strand.layers) >= layers or max(strand.heads) >= heads:
                raise StoreError(
                    f"{self._where}this card is of a model with {layers} layers of {heads} {strand.stream} heads, "
                    f"and layer {max(strand.layers) + 1} and head {max(strand.heads) + 1} are shown; {_ADVICE}"
                )
        return named

    def to_dict(self) -> dict[str, Any]:
        """What the viewer must know to show the card, as plain JSON.

        >>> sorted(Card("tiny", "classification", "reviews", (), "").to_dict())
        ['attention', 'figures', 'paragraph', 'sums_up', 'title']
        """
        figures = [
            {
                **{name: getattr(one, name) for name in ("key", "name", "number", "interval", "verdict", "says")},
                "sign": VERDICTS[one.verdict],
            }
            for one in self.figures
        ]
        return {
            "title": self.title,
            "sums_up": self.sums_up,
            "attention": self.attention,
            "figures": figures,
            "paragraph": self.paragraph,
        }

    @property
    def _where(self) -> str:
        return f"{self.source}: " if self.source else ""


def read_card(folder: str | Path) -> Card:
    """The card in the result folder of ``attlas faith``.

    >>> read_card("no such folder")
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: no such folder: there is no such folder; ...
    """
    from attlas.store import Result
    from attlas.store.damage import told_as_damage

    with told_as_damage(folder):
        card = card_of(Result.open(folder), str(folder))
        card.to_dict()  # what cannot be written is told now
    return card


def card_of(result: Result, source: str = "") -> Card:
    """The card of a result of ``attlas faith``; ``source`` is named in errors.

    >>> from attlas.store import Manifest, Result
    >>> card_of(Result(Manifest("survey"), {"heads": {"layer": [0]}}), "out")
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: out: a card is made by attlas faith, and this is a result of the study 'survey'; ...
    """
    manifest, where = result.manifest, source or "this result"
    if manifest.study != STUDY or "card" not in manifest.tables:
        what = (
            "there is no card in it"
            if manifest.study == STUDY
            else f"this is a result of the study {manifest.study!r}"
        )
        raise StoreError(f"{where}: a card is made by attlas faith, and {what}; give the --out of attlas faith")
    table = result.tables["card"]
    missing = [name for name in _COLUMNS if name not in table.column_names]
    if missing:
        raise StoreError(f"{where}: its card has no {' or '.join(missing)}; make the result again")
    rows = table.select(_COLUMNS).to_pylist()
    for row in rows:
        if row["figure"] != PARAGRAPH and row["verdict"] not in VERDICTS:
            raise StoreError(
                f"{where}: a figure of its card is called {row['verdict']!r}, which is no verdict; "
                "make the result again"
            )
    whole = result.tables["whole"].to_pylist()[:1] if "whole" in manifest.tables else []
    about: dict[str, Any] = whole[0] if whole else {}
    return Card(
        str(manifest.model.get("name", "")),
        str(about.get("task") or manifest.plan.get("options", {}).get("task", "")),
        str(manifest.corpus.get("name", "")),
        tuple(
            CardFigure(row["figure"], *(row[name] for name in _COLUMNS[1:]))
            for row in rows
            if row["figure"] != PARAGRAPH
        ),
        next((str(row["says"]) for row in rows if row["figure"] == PARAGRAPH), ""),
        str(about.get("attention") or ""),
        _streams(manifest.model.get("streams")),
        str(manifest.model.get("fingerprint", "")),
        str(manifest.model.get("dtype", "")),
        source,
    )


def beside(card: Card | str | Path | None, scenes: Sequence[Scene]) -> dict[str, Any] | None:
    """What the payload of some scenes says of a card, given itself or by its folder: all of it, and whose it is.

    >>> from attlas.views.scene import Scene
    >>> beside(Card("tiny", "classification", "reviews", (), ""), [Scene("tiny", (), ())])["scenes"]
    [0]
    """
    if card is None:
        return None
    read = card if isinstance(card, Card) else read_card(card)
    return {**read.to_dict(), "scenes": read.places(scenes)}


def own_name(name: str) -> str:
    """A model's own name, without the folder or owner before it.

    >>> own_name("owner/tiny/")
    'tiny'
    """
    return name.rstrip("/").replace("\\", "/").rsplit("/", 1)[-1]


def _streams(given: Any) -> tuple[tuple[str, int, int], ...]:
    """Layers and heads of each stream, as a manifest has them; in a pruned model, the most heads of any layer."""
    if not isinstance(given, dict):
        return ()
    found = []
    for name, counts in given.items():
        heads = counts.get("heads", 0)
        found.append((str(name), int(counts.get("layers", 0)), int(max(heads) if isinstance(heads, list) else heads)))
    return tuple(found)
