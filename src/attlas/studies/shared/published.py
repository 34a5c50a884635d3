"""Figures that others have published, to stand beside ours; none of them is used in any computation.

Clark et al. (2019) parsed the Wall Street Journal in Stanford dependencies with bert-base-uncased. Our treebanks are
in Universal Dependencies, so a figure stands beside a relation that joins the same words. Where the arrow points the
other way (a preposition governs its noun there, and depends on it here), that is said.

Tenney et al. (2019) probed the layers of BERT-large, 24 of them, mostly on OntoNotes; their figures here are those of
the paper's Figure 1 (micro-F1 on dev, at layer 0 and with all layers; expected layer; centre of gravity). That
coreference has 9.47 is confirmed: a reader quotes it in a thread of the authors' own toolkit (nyu-mll/jiant, issue
1084). The others are unconfirmed: they could not be held against the paper's text and are to be checked before they
are cited. Figures for BERT-base and the values of K(s) are not at hand.

Jain & Wallace (2019) correlated the attention of BiLSTM classifiers with gradients and with leave-one-out. Their
figures here are confirmed: they are the rows "Overall" of the authors' own output (successar/AttentionExplanation,
``graph_outputs``, additive attention, Kendall's tau), rounded; the paper's table gives the same by class. Wiegreffe &
Pinter (2019) trained the same models with uniform attention; that it cost nothing on AG News and 20 Newsgroups is as
Yang retells it, and their table of scores is not at hand. Yang's figures are from the text of "Is Attention Points
Out the Only 'Path'?": two digits, one run each; the bend was read off a curve by eye.

Štefánik (in slides on attention) trained BERT-base end to end to find key words: F1 .36, pruned .37, best known then
.42. On which texts, and whether of words, of their places or of whole phrases, is not said there; so these figures
may not be of the same thing as any of ours.

Key phrases of Inspec without training, F1 of the first 5 and 10, are confirmed as published: PromptRank's figures
stand on its authors' own page (NKU-HLT/PromptRank), all others in the table of the library pke (boudinfl/pke,
``results.md``). Protocols differ from ours and from each other: both have a tagger say what may be a phrase, stem and
match in ways of their own, and the averaging is not said there. (The authors of YAKE give .316 for its first 10, over
all 2,000 abstracts instead of the 500 of the test part.) They say in which region a number lies, no more.
"""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """A published figure: its relation there, the head, its accuracy, and the best fixed offset with its accuracy.

    >>> RELATIONS["det"].head
    '8-11'
    """

    relation: str
    head: str
    value: float
    baseline: float
    offset: int
    note: str = ""


RELATIONS = {
    "all": Published("all", "7-6", 0.345, 0.263, 1),
    "det": Published("det", "8-11", 0.943, 0.517, 1),
    "nsubj": Published("nsubj", "8-2", 0.585, 0.455, 1),
    "amod": Published("amod", "4-10", 0.756, 0.683, 1),
    "advmod": Published("advmod", "7-6", 0.488, 0.402, 1),
    "aux": Published("aux", "4-10", 0.811, 0.715, 1),
    "aux:pass": Published("auxpass", "4-10", 0.825, 0.405, 1, "the authors' own output has 94.1 against 82.5"),
    "nmod:poss": Published("poss", "7-6", 0.805, 0.477, 1),
    "compound": Published("nn", "4-10", 0.704, 0.702, 1),
    "compound:prt": Published("prt", "6-7", 0.991, 0.914, -1),
    "obj": Published("dobj", "8-10", 0.868, 0.400, -2),
    "ccomp": Published("ccomp", "8-1", 0.488, 0.124, -2),
    "mark": Published("mark", "8-2", 0.507, 0.145, 2),
    "case": Published("pobj", "9-6", 0.763, 0.346, -2, "the arrow points the other way there"),
}


class PublishedTask(NamedTuple):
    """What was published of one task of edge probing: the score at layer 0 and with all layers, and its places.

    >>> PIPELINE["coreference"].expected_layer
    9.47
    """

    base: float
    score: float
    expected_layer: float
    centre_of_gravity: float


PIPELINE_MODEL, PIPELINE_LAYERS = "BERT-large, Tenney et al. 2019", 24
PIPELINE = {
    "pos": PublishedTask(0.885, 0.967, 3.39, 11.68),
    "constituents": PublishedTask(0.736, 0.870, 3.79, 13.06),
    "dependencies": PublishedTask(0.856, 0.955, 5.69, 13.75),
    "entities": PublishedTask(0.906, 0.961, 4.64, 13.16),
    "roles": PublishedTask(0.813, 0.914, 6.54, 13.63),
    "coreference": PublishedTask(0.805, 0.919, 9.47, 15.80),
    "proto-roles": PublishedTask(0.777, 0.837, 9.93, 12.72),
    "relations": PublishedTask(0.607, 0.842, 9.40, 12.83),
}


class PublishedTau(NamedTuple):
    """Published agreement of attention with gradients and with leave-one-out: mean tau, share of texts with p < .05.

    >>> TAUS["SST"].gradient, TAUS["SST"].left_out
    (0.35, 0.29)
    """

    gradient: float
    gradient_significant: float
    left_out: float
    left_out_significant: float


TAU_MODEL = "BiLSTM, Jain & Wallace 2019"
TAUS = {
    "SST": PublishedTau(0.35, 0.49, 0.29, 0.36),
    "IMDB": PublishedTau(0.44, 1.00, 0.34, 0.99),
    "AG News": PublishedTau(0.39, 0.86, 0.37, 0.80),
    "20 Newsgroups": PublishedTau(0.13, 0.48, 0.12, 0.44),
}
TAU_AVERAGE = 0.61  # SST with a model that averages word vectors instead of a BiLSTM, gradients

CHUNKING_MODEL = "one layer of four heads, Yang"
CHUNKING_BEND = 0.33  # KL divergence of attention at which the loss against the original's predictions turns up
_CHUNKING: dict[tuple[str, str, float | None], float] = {
    ("original", "", None): 0.90,
    ("adversary", "", 0.2): 0.90,
    ("adversary", "", 3.0): 0.75,
    ("guided", "original", None): 0.90,
    ("guided", "adversary 0.2", None): 0.90,
    ("guided", "adversary 3", None): 0.89,
}


def chunking_f1(kind: str, attention: str = "", form: str = "", weight: float | None = None) -> float | None:
    """The F1 that Yang published for such a model of the chunking study; ``None`` where there is none.

    >>> chunking_f1("adversary", weight=3.0), chunking_f1("guided", "adversary 3", "attention kept")
    (0.75, 0.89)
    >>> chunking_f1("guided", "adversary 3", "none left") is None
    True
    """
    return None if form == "none left" else _CHUNKING.get((kind, attention, None if kind == "guided" else weight))


KEYWORDS_MODEL = "BERT-base, Štefánik"
KEYWORDS = {"tuned": 0.36, "pruned": 0.37}  # F1 of a tagger; of what, and on what, is not said
KEYWORDS_BEST = 0.42  # the best that was known then


class PublishedPhrases(NamedTuple):
    """Published F1 of the first 5 and of the first 10 phrases on Inspec, and where it is from.

    >>> INSPEC[0].method, INSPEC[0].f1_10
    ('PromptRank', 0.3788)
    """

    method: str
    f1_5: float
    f1_10: float
    source: str


_PKE = "the library pke"
INSPEC = (
    PublishedPhrases("PromptRank", 0.3173, 0.3788, "Kong et al. 2023"),
    PublishedPhrases("TF-IDF", 0.2837, 0.3500, _PKE),
    PublishedPhrases("SingleRank", 0.2740, 0.3415, _PKE),
    PublishedPhrases("TextRank", 0.2691, 0.3395, _PKE),
    PublishedPhrases("PositionRank", 0.2790, 0.3294, _PKE),
    PublishedPhrases("MultipartiteRank", 0.2502, 0.2934, _PKE),
    PublishedPhrases("first phrases", 0.2417, 0.2868, _PKE),
)
