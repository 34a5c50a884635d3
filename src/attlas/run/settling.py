"""What a study is given of a corpus that streams: the corpus itself, or documents of it in memory.

With a limit, so many documents are drawn by the seed in one pass (or the first ones are taken), whatever the study.
Without one, a study that goes over texts once streams; any other has the corpus read whole, which is refused where it
is too large.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from attlas.corpora import StreamedCorpus
from attlas.corpora.streaming import open_corpus, streams


class First(int):
    """A limit that asks for the first texts, in the place of drawn ones; otherwise a number like any other.

    >>> First(3) == 3, First(3)
    (True, First(3))
    """

    def __repr__(self) -> str:
        return f"First({int(self)})"


def settled(corpus: Any, running: Mapping[str, Any], *, streaming: bool, named: bool = True, why: str = "") -> Any:
    """A corpus as a study takes it; what does not stream is left as it is. A ``named`` file or dataset is opened here
    where it streams by itself. ``why`` the texts of a study must all be in memory is said where they are too many.

    >>> settled("sample", {"limit": 3}, streaming=False)
    'sample'
    """
    if isinstance(corpus, list):
        return [settled(one, running, streaming=streaming, named=named, why=why) for one in corpus]
    if named and isinstance(corpus, str | os.PathLike) and streams(corpus):
        corpus = open_corpus(corpus)
    if not isinstance(corpus, StreamedCorpus):
        return corpus
    limit = running.get("limit")
    if isinstance(limit, First):
        return corpus.first(int(limit))
    if limit is not None:
        return corpus.draw(limit, running.get("seed", 0))
    if streaming:
        return corpus
    advice = "give --limit (so many, drawn) or --first" if "limit" in running else "give a part of them"
    if why:
        return corpus.whole(advice, why=f"{why}, so that all texts are to be kept in memory")
    return corpus.whole(advice)
