"""Figures that others have published, to stand beside ours; none of them is used in any computation.

Clark et al. (2019) parsed the Wall Street Journal in Stanford dependencies with bert-base-uncased. Our treebanks are
in Universal Dependencies, so a figure stands beside a relation that joins the same words. Where the arrow points the
other way (a preposition governs its noun there, and depends on it here), that is said.

Tenney et al. (2019) probed the layers of BERT-large, 24 of them, mostly on OntoNotes; their figures here are those of
the paper's Figure 1 (micro-F1 on dev, at layer 0 and with all layers; expected layer; centre of gravity). That
coreference has 9.47 is confirmed: a reader quotes it in a thread of the authors' own toolkit (nyu-mll/jiant, issue
1084). The others are unconfirmed: they could not be held against the paper's text and are to be checked before they
are cited. Figures for BERT-base and the values of K(s) are not at hand.
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
