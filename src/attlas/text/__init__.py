"""Text as a corpus has it (words) and as a model has it (pieces), and the way between the two.

A :class:`Document` is a text with its words, sentences and whatever annotation the corpus carries. A
:class:`Passage` is what goes through a model at once: one document, or two. A :class:`Segmentation` says which
piece belongs to which word, found by character offsets alone, so that it holds for any tokenizer that reports
them. Nothing here knows of torch or of models.
"""

from attlas.text.blanks import named_blank
from attlas.text.document import ROOT, Chunk, Document, Edge, Links, Mention, Passage
from attlas.text.segmentation import Segmentation, regroup, segment
from attlas.text.span import Span
from attlas.text.splitting import split_sentences, split_words
from attlas.text.windows import Windows, cut_windows

__all__ = [
    "ROOT",
    "Chunk",
    "Document",
    "Edge",
    "Links",
    "Mention",
    "Passage",
    "Segmentation",
    "Span",
    "Windows",
    "cut_windows",
    "named_blank",
    "regroup",
    "segment",
    "split_sentences",
    "split_words",
]
