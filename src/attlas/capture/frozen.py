"""Frozen attention: the weights of one model on some texts, kept to be put into another.

:func:`freeze` runs a model over texts and keeps its weights; :class:`Frozen` saves them as one safetensors file and
gives, for any batch of these very texts, the :class:`~attlas.capture.Override` that puts them in place. Texts are
known by their pieces' ids, so a text that was cut otherwise, or was never seen, is refused and not guessed at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attlas.capture.instruments import Fold, Override, finite
from attlas.capture.selection import Selection
from attlas.errors import CapabilityError, CorpusError, StoreError
from attlas.ids import Site, Stream
from attlas.models import AttentionCall, Example
from attlas.store.tensors import load_arrays, save_arrays

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

KIND, SCHEMA = "frozen attention", 1
BUDGET = 4096  # pieces in one pass
_SHOWN = 40  # characters of a text in an error message


@dataclass
class Frozen:
    """Weights of a model on texts: by site and text, (head, query, key), without padding.

    ``heads`` are those of all self-attention layers of the model, whether kept or not; ``texts`` gives the number of
    every text by its :func:`fingerprint`.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Passage
    >>> subject = load()
    >>> examples = subject.pieces.encode_all([Passage(Document.from_text("Hello there."))])
    >>> kept = freeze(subject, examples)
    >>> kept.weights[subject.sites[0]][0].shape, len(kept)
    (torch.Size([12, 5, 5]), 1)
    """

    model: str
    fingerprint: str
    heads: dict[Site, int]
    texts: dict[str, int] = field(default_factory=dict)
    weights: dict[Site, list[Tensor]] = field(default_factory=dict)
    where: str = ""

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The sites whose weights are kept.

        >>> Frozen("m", "", {}).sites
        ()
        """
        return tuple(self.weights)

    def require_fit(self, subject: Subject) -> None:
        """Refuse a model with other layers or heads than the one whose attention this is.

        >>> from attlas.capture import load
        >>> Frozen("tiny", "", {Site(Stream.ENCODER, 0): 4}).require_fit(load())
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: frozen attention of the wrong shape: tiny has 1 layer of 4 heads, and ...
        """
        own = self_attention(subject)
        if own != self.heads:
            raise CapabilityError(
                f"{self._prefix}frozen attention of the wrong shape: {self.model} has {_shape(self.heads)}, and "
                f"{subject.name} {_shape(own)}"
            )

    def require_texts(self, examples: Iterable[Example]) -> None:
        """Refuse texts that were not frozen; the message names the first.

        >>> from attlas.capture import load
        >>> from attlas.text import Document, Passage
        >>> Frozen("tiny", "", {}).require_texts([load().pieces.encode(Passage(Document.from_text("Hi.")))])
        Traceback (most recent call last):
            ...
        attlas.errors.CorpusError: the text 'Hi.' is not among the 0 texts whose attention was frozen; ...
        """
        for example in examples:
            if fingerprint(example) not in self.texts:
                text = example.passage.first.text
                said = repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
                many = "one text" if len(self) == 1 else f"{len(self):,} texts"
                raise CorpusError(
                    f"the text {said} is not among the {many} whose attention was frozen; freeze the attention on "
                    "this file (attlas faith freeze), with the same tokenizer",
                    file=self.where or None,
                )

    def override(self, examples: Sequence[Example], width: int) -> Override:
        """What puts the weights of these texts in place, in a batch that is padded on the right to ``width`` pieces.
        Places of padding attend to nothing.

        >>> from attlas.capture import load
        >>> from attlas.text import Document, Passage
        >>> subject = load()
        >>> examples = subject.pieces.encode_all([Passage(Document.from_text("Hello there."))])
        >>> with subject.use(freeze(subject, examples).override(examples, 5)):
        ...     again = subject.run(subject.pieces.batch(examples)).last_hidden_state
        >>> bool(torch.allclose(again, subject.run(subject.pieces.batch(examples)).last_hidden_state, atol=1e-5))
        True
        """
        return Override.frozen({site: self.padded(site, examples, width) for site in self.sites}, self._selection)

    def padded(self, site: Site, examples: Sequence[Example], width: int) -> Tensor:
        """The weights of these texts at a site, (text, head, query, key), padded with zeros.

        >>> Frozen("m", "", {Site(Stream.ENCODER, 0): 4}).padded(Site(Stream.ENCODER, 0), [], 3).shape
        torch.Size([0, 4, 3, 3])
        """
        self.require_texts(examples)
        found = torch.zeros(len(examples), self.heads[site], width, width)
        for row, example in enumerate(examples):
            own = self.weights[site][self.texts[fingerprint(example)]]
            found[row, :, : own.shape[1], : own.shape[2]] = own
        return found

    def save(self, path: Path | str) -> None:
        """Write one safetensors file.

        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "own.safetensors"
        >>> Frozen("tiny", "", {Site(Stream.ENCODER, 0): 4}).save(path)
        >>> Frozen.load(path).model
        'tiny'
        """
        arrays = {
            _key(site): torch.cat([one.flatten() for one in kept]).numpy() if kept else np.zeros(0, np.float32)
            for site, kept in self.weights.items()
        }
        lengths = [int(one.shape[1]) for one in next(iter(self.weights.values()), [])]
        about = {
            "kind": KIND, "schema": SCHEMA, "model": self.model, "fingerprint": self.fingerprint,
            "heads": {_key(site): count for site, count in self.heads.items()}, "texts": list(self.texts),
            "lengths": lengths,
        }  # fmt: skip
        try:
            save_arrays(Path(path), arrays, about)
        except StoreError as error:
            reason = str(error.__cause__ or error)
            raise StoreError(f"{path}: frozen attention cannot be written ({reason})") from error

    @classmethod
    def load(cls, path: Path | str) -> Frozen:
        """Read what :meth:`save` wrote.

        >>> Frozen.load("no such file")
        Traceback (most recent call last):
            ...
        attlas.errors.CorpusError: no such file: there is no such file; attlas faith freeze makes one
        """
        try:
            found = load_arrays(Path(path))
        except StoreError:
            raise CorpusError(_FOREIGN, file=path) from None
        if found is None:
            raise CorpusError("there is no such file; attlas faith freeze makes one", file=path)
        arrays, about = found
        if not isinstance(about, dict) or about.get("kind") != KIND:
            raise CorpusError(_FOREIGN, file=path)
        if about.get("schema") != SCHEMA:
            raise CorpusError("this frozen attention was written by another version; freeze it again", file=path)
        heads = {_site(key): int(count) for key, count in about["heads"].items()}
        made = cls(
            about["model"], about["fingerprint"], heads,
            {text: number for number, text in enumerate(about["texts"])}, {}, str(path),
        )  # fmt: skip
        for site in heads:
            if _key(site) not in arrays:
                continue
            whole, at = torch.from_numpy(arrays[_key(site)]), 0
            kept: list[Tensor] = []
            for length in about["lengths"]:
                size = heads[site] * length**2
                kept.append(whole[at : at + size].view(heads[site], length, length))
                at += size
            made.weights[site] = kept
        return made

    @property
    def _prefix(self) -> str:
        return f"{self.where}: " if self.where else ""

    @property
    def _selection(self) -> Selection:
        return Selection(layers=self.sites)


def freeze(
    subject: Subject,
    examples: Sequence[Example],
    sites: Iterable[Site] | None = None,
    *,
    run: Callable[[Sequence[Example]], Any] | None = None,
) -> Frozen:
    """Run a model over texts and keep its weights, at some sites or at all of its self-attention.

    ``run`` makes a pass over some examples, padded on the right, where a plain one is not meant.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Passage
    >>> subject = load()
    >>> kept = freeze(subject, [subject.pieces.encode(Passage(Document.from_text("Hi.")))], subject.sites[-1:])
    >>> [str(site) for site in kept.sites]
    ['encoder layer 5']
    """
    heads = self_attention(subject)
    chosen = tuple(heads) if sites is None else tuple(sites)
    for site in chosen:
        if site not in heads:
            raise CapabilityError(f"{subject.name} has no self-attention at {site}, so it cannot be frozen")
    texts = {fingerprint(example): example for example in examples}
    made = Frozen(subject.name, subject.fingerprint, heads, {text: number for number, text in enumerate(texts)})
    found: dict[Site, dict[int, Tensor]] = {site: {} for site in chosen}
    for some in _batches(list(texts.values())):
        numbers = [made.texts[fingerprint(example)] for example in some]

        def keep(call: AttentionCall, some: list[Example] = some, numbers: list[int] = numbers) -> None:
            if call.site in found:
                weights = finite(call.weights(), call.site).detach().float().cpu()
                for row, (number, example) in enumerate(zip(numbers, some, strict=True)):
                    length = example.source.length
                    found[call.site][number] = weights[row, :, :length, :length].clone()

        with torch.no_grad(), subject.use(Fold(keep, Selection({subject.pieces.own}))):
            if run is None:
                subject.read(subject.pieces.batch(some, subject.device))
            else:
                run(some)
    made.weights = {site: [kept[number] for number in sorted(kept)] for site, kept in found.items()}
    return made


def self_attention(subject: Subject) -> dict[Site, int]:
    """The heads of every layer that reads texts by itself: the encoder's, or a decoder's that stands alone.

    >>> from attlas.capture import load
    >>> list(self_attention(load()).values())
    [12, 12, 12, 12, 12, 12]
    """
    return {site: count for site, count in subject.layout.heads.items() if site.stream is subject.pieces.own}


def fingerprint(example: Example) -> str:
    """A short name for the pieces that a model reads of a text.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Passage
    >>> len(fingerprint(load().pieces.encode(Passage(Document.from_text("Hi.")))))
    32
    """
    ids = np.asarray(example.source.ids, dtype=np.int64).tobytes()
    return hashlib.blake2b(ids, digest_size=16).hexdigest()


def _batches(examples: list[Example]) -> Iterable[list[Example]]:
    """Texts of like length, so many that a pass stays within the budget."""
    some: list[Example] = []
    for example in sorted(examples, key=lambda example: example.source.length):
        if some and (len(some) + 1) * example.source.length > BUDGET:
            yield some
            some = []
        some.append(example)
    if some:
        yield some


def _shape(heads: dict[Site, int]) -> str:
    counts = sorted(set(heads.values()))
    layers = f"{len(heads)} layer" if len(heads) == 1 else f"{len(heads)} layers"
    many = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else "no"
    return f"{layers} of {many} heads"


def _key(site: Site) -> str:
    return f"{site.stream}-{site.layer}"


def _site(key: str) -> Site:
    stream, layer = key.split("-")
    return Site(Stream(stream), int(layer))


_FOREIGN = "this is not a file of frozen attention; attlas faith freeze makes one"
