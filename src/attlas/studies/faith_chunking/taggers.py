"""What is written down of a tagger on the sentences of a test set, beside an original that has read the same ones.

Per sentence: the counts that chunk F1 is made of; and, as sums over words, the NLL of the original's tags, the total
variation distance of the predicted probabilities, the divergences of attention (mean over heads; of a guided model
that of its guide), and how well the ranks of the weights agree: Kendall's tau of the two rows, and whether the most
attended word is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Subject
from attlas.measures.distances import tvd
from attlas.measures.ranks import kendall
from attlas.models import Example
from attlas.tasks.guided import Guided, Watched, Weights, divergence, watch
from attlas.tasks.protocol import NOTHING, Question
from attlas.tasks.recipe import Recipe, in_batches
from attlas.tasks.tagging import Tagging

MARKS = ("common", "found", "given")
SUMS = ("words", "nll", "tvd", "kl", "jsd", "kendall", "first", "ranked")
COLUMNS = (*MARKS, *SUMS)


def write_down(
    task: Tagging,
    examples: Sequence[Example],
    original: Subject,
    kind: str = "kl",
    *,
    per_key: bool = False,
    ranks: bool = True,
    pieces: int = 1024,
) -> NDArray[np.float64]:
    """One row of :data:`COLUMNS` for each sentence.

    The column ``kl`` has the KL divergence in the direction that ``kind`` says ("kl" or "kl-reversed"; see
    :func:`attlas.tasks.guided.divergence`), also where training went by another. Without ``ranks``, which take most
    of the time, the last three columns are 0.

    >>> from attlas.models.tagger import TaggerSizes, make_tagger, make_word_tokenizer
    >>> from attlas.text import Chunk, Document, Passage
    >>> words = make_word_tokenizer(["a b a b"])
    >>> one, other = (Subject(make_tagger(words, ["O", "B-NP"], TaggerSizes(width=8, ffn=8), seed=s)) for s in (0, 1))
    >>> texts = one.pieces.encode_all([Passage(Document.from_words(["a", "b", "a"], chunks=(Chunk(0, 1, "NP"),)))])
    >>> row = dict(zip(COLUMNS, write_down(Tagging(one, "chunks"), texts, one)[0]))
    >>> [round(float(row[name]), 6) for name in ("words", "jsd", "kendall")]
    [3.0, 0.0, 3.0]
    """
    order = sorted(range(len(examples)), key=lambda at: examples[at].length)
    written = np.zeros((len(examples), len(COLUMNS)))
    places = iter(order)
    task.subject.model.train(False)
    with torch.no_grad():
        for batch in in_batches([examples[at] for at in order], Recipe(batch_pieces=pieces)):
            rows = _rows(task, task.ask(batch), original, kind, per_key, ranks).double().cpu().numpy()
            for row in rows:
                written[next(places)] = row
    return written


class Reading(NamedTuple):
    """What a tagger makes of a question: probabilities of tags, (text, word, tag), and its attention by site."""

    predicted: Tensor
    weights: Weights


def read(task: Tagging, question: Question) -> Reading:
    """Let a tagger read; the attention of a guided one is its guide's."""
    if isinstance(task, Guided):
        assert isinstance(question, Watched)
        return Reading(task.scores(question, task.run(question)).softmax(-1), question.weights)
    seen = watch(task.subject, question)
    return Reading(task.scores(question, seen).softmax(-1), seen.weights)


def _rows(task: Tagging, question: Question, original: Subject, kind: str, per_key: bool, ranks: bool) -> Tensor:
    own, seen = read(task, question), watch(original, question)
    marks = task.marks(own.predicted, question.labels)
    known = question.labels != NOTHING
    expected = task.scores(question, seen).softmax(-1)
    assert question.words is not None
    members = question.words.members[:, :-1]
    members = members / members.sum(-1, keepdim=True).clamp(min=1)
    by_query = [
        divergence(seen.weights, own.weights, "kl" if kind == "jsd" else kind, per_key=per_key),
        divergence(seen.weights, own.weights, "jsd"),
    ]
    by_query += _agreement(seen.weights, own.weights, question.real) if ranks else [torch.zeros_like(by_query[0])] * 3
    by_word = [torch.matmul(members, one.to(members.dtype)[..., None])[..., 0] for one in by_query]
    tags = expected.argmax(-1, keepdim=True)
    nll = -own.predicted.gather(-1, tags)[..., 0].clamp(min=torch.finfo(torch.float32).tiny).log()
    columns = [torch.ones_like(nll), nll, tvd(expected, own.predicted), *by_word]
    return torch.cat([marks, torch.stack([(one * known).sum(-1) for one in columns], -1)], -1)


def _agreement(own: Weights, other: Weights, real: Tensor) -> list[Tensor]:
    """Kendall's tau of rows (0 where it is not to be had), whether their largest weights are at one place, and the
    share of heads whose rows could be ranked; each (text, query)."""
    keys = real[:, None, None, :]
    tau = torch.stack([kendall(own[site], other[site], keys.expand_as(own[site])).tau for site in own])
    first = torch.stack([(own[site].argmax(-1) == other[site].argmax(-1)).double() for site in own])
    ranked = ~tau.isnan()
    return [tau.nan_to_num(0.0).mean((0, 2)), first.mean((0, 2)), ranked.double().mean((0, 2))]
