"""What becomes of a prediction when words are erased: of the words that an explanation names, or of all others.

If an explanation is faithful, the model should no longer be sure of its prediction once the words named first are
gone (*comprehensiveness*: the probability that is lost, the more the better), and should still be sure of it with
these words alone (*sufficiency*: the probability that is lost, the less the better). Both are averaged over several
shares of words, as ERASER has it (DeYoung et al. 2020): 1, 5, 10, 20 and 50 % of the words, rounded up.

A word is erased by deleting its pieces, so that what follows moves up, or by putting the mask piece in place of each.
The word whose own tag is explained has to stay in its place, and is always masked.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.errors import PlanError
from attlas.models.pieces import Encoded
from attlas.stats import Bundle, Ledger
from attlas.studies.shared.faith.instances import Instance, Labelling, probabilities, words_of
from attlas.tasks.recipe import Recipe, in_batches
from attlas.text import Segmentation

Numbers = NDArray[np.float64]
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
WAYS = ("delete", "mask")
PIECES = 4096  # of one pass over erased texts


def check_way(way: str) -> None:
    """Refuse a way of erasing that there is not.

    >>> check_way("delete")
    """
    if way not in WAYS:
        raise PlanError(f"words cannot be erased by {way!r}; choose {' or '.join(WAYS)}")


@dataclass(frozen=True)
class Eraser:
    """How words are erased: by deleting them, or with the piece that stands for what is hidden.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> eraser = Eraser.of(task.subject.pieces.tokenizer)
    >>> eraser.filler, eraser.without(asked.instances[0], {1}).example.source.segmentation.pieces
    (103, ('[CLS]', 'It', 'here', '.', '[SEP]'))
    >>> Eraser.of(task.subject.pieces.tokenizer, "burn")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: words cannot be erased by 'burn'; choose delete or mask
    """

    way: str
    filler: int

    @classmethod
    def of(cls, tokenizer: Any, way: str = "delete") -> Eraser:
        """The eraser for a tokenizer: its mask piece, or else the one for what it does not know."""
        check_way(way)
        names = ("mask_token_id", "unk_token_id", "pad_token_id", "eos_token_id")
        known = [found for found in (getattr(tokenizer, name, None) for name in names) if found is not None]
        return cls(way, known[0] if known else 0)

    def without(self, instance: Instance, words: Collection[int]) -> Instance:
        """An instance without some of its words."""
        gone = frozenset(words)
        old = instance.example.source
        whole = old.segmentation
        masked = gone if self.way == "mask" else gone & {instance.place}
        kept = [place for place, word in enumerate(whole.words) if word not in gone or word in masked]

        def left(column: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(column[place] for place in kept)

        ids = tuple(self.filler if whole.words[place] in masked else old.ids[place] for place in kept)
        cut = Segmentation(left(whole.pieces), left(whole.words), left(whole.documents), whole.word_count)
        source = Encoded(ids, left(old.types), left(old.roles), cut)
        return Instance(replace(instance.example, source=source), instance.place)


def answers(task: Labelling, instances: Sequence[Instance], pieces: int = PIECES) -> Tensor:
    """The probabilities of all labels of every instance, (instance, label), in passes of so many pieces at most.

    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> answers(task, asked.instances).shape
    torch.Size([2, 2])
    """
    order = sorted(range(len(instances)), key=lambda number: (instances[number].example.length, number))
    outputs = torch.zeros(len(instances), task.choices)
    rest = iter(order)
    for batch in in_batches([instances[number].example for number in order], Recipe(batch_pieces=pieces)):
        numbers = list(islice(rest, len(batch)))
        with torch.no_grad():
            question = task.ask(batch)
            some = [instances[number] for number in numbers]
            outputs[numbers] = probabilities(task, question, some, task.run(question)).cpu()
    return outputs


def taken(count: int, share: float) -> int:
    """How many of some words a share of them is: rounded up, so that it is one at least.

    >>> taken(19, 0.01), taken(19, 0.1), taken(19, 0.5)
    (1, 2, 10)
    """
    return max(1, math.ceil(round(share * count, 6)))


def first_words(values: Numbers, words: Sequence[int]) -> list[int]:
    """Words in the order of an explanation, the largest value first; of equals the earlier word.

    >>> first_words(np.array([0.1, 0.7, 0.1, 0.9]), [0, 1, 2])
    [1, 0, 2]
    """
    return sorted(words, key=lambda word: (-values[word], word))


class Erasing:
    """The study: comprehensiveness and sufficiency of explanations, ``values`` (instance, explanation, word).

    >>> from attlas.studies.shared.faith.instances import _example
    >>> task, asked = _example()
    >>> study = Erasing(task, np.random.default_rng(0).random((2, 3, 4)))
    >>> bundle = study.empty()
    >>> study.update(bundle, list(enumerate(asked.instances)))
    >>> bundle["lost"].result().shape
    (2, 3, 2)
    """

    name = "faith"

    def __init__(self, task: Labelling, values: Numbers, *, way: str = "delete") -> None:
        self.task, self.values = task, values
        self.eraser = Eraser.of(task.subject.pieces.tokenizer, way)

    def empty(self) -> Bundle:
        """A bundle that has seen nothing: of every instance and explanation the probability that is lost without the
        words named first, and with these alone."""
        instances, explanations, _ = self.values.shape
        return Bundle({"lost": Ledger(instances, (explanations, 2))})

    def update(self, bundle: Bundle, batch: Sequence[tuple[int, Instance]]) -> None:
        """Erase words of a batch of numbered instances; what two explanations erase alike is run once."""
        wanted: dict[tuple[int, frozenset[int]], int] = {}
        rows: dict[int, list[int]] = {}
        for number, instance in batch:
            words = words_of(instance.example)
            gone = [named for values in self.values[number] for named in _named(values, words)]
            rows[number] = [wanted.setdefault((number, some), len(wanted)) for some in (*gone, frozenset())]
        instances = dict(batch)
        cut = [self.eraser.without(instances[number], some) for number, some in wanted]
        predicted = answers(self.task, cut).double().numpy()
        for number, (*erased, whole) in rows.items():
            label = int(predicted[whole].argmax())
            lost = predicted[whole, label] - predicted[erased, label]
            shape = (1, self.values.shape[1], len(SHARES), 2)
            bundle["lost"].update([number], lost.reshape(shape).mean(2))


def _named(values: Numbers, words: Sequence[int]) -> Iterator[frozenset[int]]:
    """For each share of the words, those that an explanation names first, and all others."""
    order = first_words(values, words)
    for share in SHARES:
        named = frozenset(order[: taken(len(words), share)])
        yield named
        yield frozenset(words) - named
