"""Translation: predicting the reference, and writing one's own.

The loss is that of every piece of the reference translation, and its end, given the source and the reference before
it. The score is BLEU or chrF of what the model writes by itself, greedily, as sacrebleu defines them; or, without any
writing, the perplexity of the reference.

For training, the loss may be smoothed: a share of it is then the mean over all pieces, as if each might be meant.
With several ``beams`` the model writes by looking further ahead than one piece.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.models import Example
from attlas.stats import METRICS
from attlas.tasks.language import require_head
from attlas.tasks.protocol import NOTHING, Question, Runs, Scored, compare_all, compare_labels
from attlas.text import Document, Passage

SCORES = ("bleu", "chrf", "perplexity")
ORDERS = 6  # of character n-grams


class Translation(Runs):
    """Translating, by a model with an encoder and a decoder.

    >>> from attlas.capture import load
    >>> Translation(load())
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 was opened without the head for the task translation; ...
    """

    name = "translation"

    def __init__(self, subject: Subject, score: str = "bleu", *, smoothing: float = 0.0, beams: int = 1) -> None:
        require_head(subject, "seq2seq", self.name)
        self.subject, self.score = subject, score
        self.smoothing, self.beams = smoothing, beams
        self.streams = subject.streams
        self.metric = METRICS[score]
        self.writes = score != "perplexity"
        self.options: dict[str, Any] = {"use_cache": False}
        self.choices: int = subject.model.config.get_text_config().vocab_size
        self._end = _end(subject)
        if self.writes:
            require_sacrebleu()

    def ask(self, examples: Sequence[Example]) -> Question:
        """Make the batch, and for every place of the target the piece that comes next."""
        batch = self.subject.pieces.batch(examples, self.subject.device)
        assert batch.target is not None
        ids, real = batch.inputs["decoder_input_ids"], batch.target.real
        labels = torch.full_like(ids, NOTHING)
        labels[:, :-1] = ids[:, 1:].masked_fill(~real[:, 1:], NOTHING)
        if self._end != NOTHING:  # the end of the translation is predicted where its last piece is read
            labels[torch.arange(len(ids), device=ids.device), real.sum(-1) - 1] = self._end
        return Question(batch, labels, tuple(examples))

    def judge(self, question: Question, output: Any) -> Scored:
        """Compare the reference with what is predicted, piece by piece; the marks are those of its perplexity."""
        if output.logits.requires_grad:
            total, predicted, right = compare_all(output.logits, question.labels, self.smoothing)
        else:
            total, predicted, right = compare_labels(output.logits, question.labels)
        return Scored(total, predicted, right, torch.stack([total.detach(), predicted], -1))

    def answer(self, question: Question) -> Tensor:
        """Let the model write, and give the n-gram counts of every text; without writing, the marks of a forward
        pass."""
        with torch.no_grad():
            if not self.writes:
                return self.judge(question, self.run(question)).marks
            return self.mark(question.examples, self.write(question))

    def mark(self, examples: Sequence[Example], written: Sequence[str]) -> Tensor:
        """The n-gram counts of what was written for each text."""
        count = word_grams if self.score == "bleu" else character_grams
        marks = [count(own, _reference(example)) for own, example in zip(written, examples, strict=True)]
        return torch.tensor(marks, dtype=torch.float64)

    def write(self, question: Question) -> list[str]:
        """The model's own translations, by the best piece each time (or with beams), at most twice as long as the
        reference and ten pieces more."""
        inputs = {name: question.batch.inputs[name] for name in ("input_ids", "attention_mask")}
        ends = [2 * (0 if e.target is None else e.target.length) + 10 for e in question.examples]
        ids = self.subject.model.generate(  # type: ignore[operator]
            **inputs, num_beams=self.beams, do_sample=False, max_new_tokens=max(ends), max_length=None,
        )  # fmt: skip
        own = [row[: 1 + end] for row, end in zip(ids.tolist(), ends, strict=True)]  # whatever it is batched with
        return [text.strip() for text in self.subject.pieces.tokenizer.batch_decode(own, skip_special_tokens=True)]


def word_grams(written: str, reference: str) -> list[float]:
    """Matching and possible n-grams of words, and both lengths, as sacrebleu counts them.

    >>> word_grams("a cat sat", "the cat sat")
    [2.0, 1.0, 0.0, 0.0, 3.0, 2.0, 1.0, 0.0, 3.0, 3.0]
    """
    from sacrebleu.metrics.bleu import BLEU

    found = BLEU(effective_order=True).sentence_score(written, [reference])
    return [float(n) for n in (*found.counts, *found.totals, found.sys_len, found.ref_len)]


def character_grams(written: str, reference: str) -> list[float]:
    """Character n-grams of six orders, without blanks: written, given, and matching. Orders that the reference is too
    short for do not count, as in sacrebleu.

    >>> character_grams("ab", "a b c")[::6], character_grams("ab", "a b c")[1::6]
    ([2.0, 3.0, 2.0], [1.0, 2.0, 1.0])
    """
    own, given = ("".join(text.split()) for text in (written, reference))
    counts: list[list[int]] = [[], [], []]
    for order in range(1, ORDERS + 1):
        here, there = _grams(own, order), _grams(given, order)
        for column, count in zip(
            counts, (here.total() if there else 0, there.total(), (here & there).total()), strict=True
        ):
            column.append(count)
    return [float(count) for column in counts for count in column]


def _grams(text: str, order: int) -> Counter[str]:
    return Counter(text[at : at + order] for at in range(len(text) - order + 1))


def require_sacrebleu() -> None:
    """Refuse where sacrebleu is not installed.

    >>> require_sacrebleu()
    """
    try:
        import sacrebleu  # noqa: F401
    except ImportError:
        raise CapabilityError(
            "BLEU and chrF need sacrebleu: pip install 'attlas[train]', or score by perplexity (--score perplexity)"
        ) from None


def _reference(example: Example) -> str:
    assert example.passage.second is not None
    return example.passage.second.text


def _end(subject: Subject) -> int:
    """The piece that ends a text, as the tokenizer puts it there."""
    encoded = subject.pieces.encode(Passage(Document.from_words(["a"]))).source
    return encoded.ids[-1] if encoded.roles[-1] == "sep" else NOTHING
