"""Corpora that are read as they come: files larger than memory, tables, and datasets of the Hugging Face hub.

:func:`stream` opens one; a :class:`StreamedCorpus` gives its documents buffer by buffer, from any place on, draws
some of them by a seed in one pass, or takes the first ones.
"""

from attlas.corpora.streaming.corpus import Buffer, StreamedCorpus
from attlas.corpora.streaming.opening import open_corpus, stream, streams

__all__ = ["Buffer", "StreamedCorpus", "open_corpus", "stream", "streams"]
