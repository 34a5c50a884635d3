"""Whether what is asked for fits: into the window of a model, and into memory.

The attention of a text grows with the square of its length. What would keep more weights than the limit
(:class:`attlas.corpora.Limits`, or ``most_weights``) is refused before the model runs, and what runs out of memory
all the same ends as a sentence. Everything counts that is as large: weights, scores where a model adds something to
the products of queries and keys, joint norms, hidden states where they are asked for, and all heads of a layer, of
which even one cannot be had without the others. While a text is read, as much again is needed to put layers together,
and up to three times as much while one is written; queries, keys and values are small beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attlas.capture.instruments import Fold
from attlas.capture.selection import ALL, Selection
from attlas.corpora.limits import in_force
from attlas.errors import TextError
from attlas.ids import Site
from attlas.models import AttentionCall
from attlas.models.adopting import probing_inputs

if TYPE_CHECKING:
    from attlas.capture.subject import Subject


def require_room(
    subject: Subject,
    pieces: int,
    selection: Selection = ALL,
    most: int | None = None,
    *,
    joint: Collection[str] = (),
    hidden_states: bool = False,
    times: int = 1,
    written: bool = False,
) -> None:
    """Refuse a look at so many pieces that would keep more weights than ``most`` (None: the limit in force).
    ``times`` is how often each of them is kept, as of several beams; what is ``written`` is kept of all heads.

    >>> from attlas.capture import load
    >>> require_room(load(), 4000)
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: 4,000 pieces with 72 heads are 1,152,000,000 weights (4.6 GB), more than the limit of
    600,000,000; shorten the text, look at no more than 37 heads (layers, heads), or allow more
    (most_weights=1152000000, --limits weights=1152000000)
    """
    most = in_force().weights if most is None else most
    sites = [site for site in subject.layout.heads if site in selection]
    heads = sum(_count(subject, site, selection) for site in sites)
    largest = max((subject.layout.heads[site] for site in sites), default=0)  # of which all are made at once
    cells = pieces**2 * times
    each = 1 + (2 * max(heads, largest) * cells > most and _adds_to_scores(subject, sites))
    layer = each * largest * cells
    kept = (each * heads + len(joint) * len(sites)) * cells + (_states(subject, pieces) if hidden_states else 0)
    needed = max(kept, layer)
    if needed <= most:
        return
    more = [
        "as many scores" if each > 1 else "",
        "joint norms" if joint else "",
        "hidden states" if hidden_states else "",
        f"{times} beams" if times > 1 else "",
    ]
    with_these = "".join(f", with {what}" for what in more if what)
    made = f"{heads} heads" if kept >= layer else f"the {largest} heads of a layer, which are made together,"
    fitting = most // (each * cells)
    fewer = f"look at no more than {fitting} heads (layers, heads), " if fitting >= largest else ""
    less = "write less, " if written else fewer
    raise TextError(
        f"{pieces:,} pieces with {made} are {needed:,} weights "
        f"({4 * needed / 1e9:.1f} GB{with_these}), more than the limit of {most:,}; shorten the "
        f"text, {less}or allow more (most_weights={needed}, --limits weights={needed})"
    )


def _count(subject: Subject, site: Site, selection: Selection) -> int:
    """How many heads of a site are looked at."""
    count = subject.layout.heads[site]
    return count if selection.heads is None else sum(head < count for head in selection.heads)


def _adds_to_scores(subject: Subject, sites: Collection[Site]) -> bool:
    """Whether scores at these sites are more than products, so that they are kept beside the weights: a few pieces
    tell."""
    adjusted: set[Site] = set()
    fold = Fold(lambda call: adjusted.add(call.site) if _has_own_scores(call) else None)
    with torch.no_grad(), subject.use(fold):
        subject.model(**probing_inputs(subject.model))
    return not adjusted.isdisjoint(sites)


def _has_own_scores(call: AttentionCall) -> bool:
    return call.query is not None and call.adjusted


def _states(subject: Subject, pieces: int) -> int:
    """How many numbers the hidden states of all layers have."""
    table = subject.model.get_input_embeddings().weight
    assert isinstance(table, Tensor)
    width = max(table.shape[-1], getattr(subject.model.config.get_text_config(), "hidden_size", 0))
    return (len(subject.sites) + len(subject.streams)) * pieces * width


def require_window(subject: Subject, pieces: int, written: int) -> int:
    """How long a text of so many pieces may become when some are written to it, refused beyond the window.

    >>> from attlas.capture import load
    >>> require_window(load(), 10, 20)
    30
    """
    translating, window = subject.pieces.translating, subject.pieces.window
    whole = max(pieces, written) if translating else pieces + written
    if whole > window:
        more = "" if translating else f" and {written:,} to write"
        raise TextError(
            f"{pieces:,} pieces of text{more} do not fit into the window of {subject.name}, which holds {window:,}; "
            f"shorten the text{', or write less' if more else ''}"
        )
    return whole


@contextmanager
def within_memory(subject: Subject) -> Iterator[None]:
    """Turn running out of memory into a sentence.

    >>> from attlas.capture import load
    >>> with within_memory(load()):
    ...     raise MemoryError
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: all-MiniLM-L6-v2 and its attention on this text do not fit into memory; shorten ...
    """
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError):
        raise TextError(
            f"{subject.name} and its attention on this text do not fit into memory; shorten it, or look at fewer "
            "layers and heads"
        ) from None
