"""Changes of the experiments of relations and coreference."""

from __future__ import annotations

_RELATIONS = ("tests/design/test_relations_design.py",)
_COREF = ("tests/design/test_coref_design.py",)

CHANGES = [
    (1, "relations: chooses on the texts it scores", "studies/relations/call.py",
     'run.carry(part, chosen_on, f"{who}choosing")', 'run.carry(part, scored_on, f"{who}choosing")', _RELATIONS),
    (2, "relations: the twin is the model itself", "run/session.py",
     "twin = (of or self.subject).twin(self.seed + number)", "twin = of or self.subject", _RELATIONS),
    (3, "relations: p not corrected in the main table", "studies/relations/tables.py",
     'row |= {"p": p, "p_corrected": corrected}', 'row |= {"p": p, "p_corrected": p}', _RELATIONS),
    (4, "relations: p not corrected in the table of heads", "studies/relations/tables.py",
     "above_zero(*own, seed=seed).p_corrected",
     "above_zero(*own, seed=seed).p", _RELATIONS),
    (5, "relations: no least number of units for a p", "stats/flips.py",
     "tested = units >= FEWEST_UNITS", "tested = units >= 2", _RELATIONS),
    (6, "relations: p of the other direction", "studies/relations/tables.py",
     "place = (direction, layer, head, relation)\n", "place = (1 - direction, layer, head, relation)\n", _RELATIONS),
    (7, "relations: margins of all heads of the wrong sign", "studies/relations/tables.py",
     "hits - rule[:, None, None, None]", "rule[:, None, None, None] - hits", _RELATIONS),
    (8, "relations: the published figure on the wrong row", "studies/relations/tables.py",
     "if direction == best else None", "if direction != best else None", _RELATIONS),
    (9, "coref: chooses on the documents it scores", "studies/coref/call.py",
     'run.carry(chooser, chosen_on.windows, f"{who}choosing")',
     'run.carry(chooser, scored_on.windows, f"{who}choosing")', _COREF),
    (10, "coref: the twin is the model itself", "run/session.py",
     "twin = (of or self.subject).twin(self.seed + number)", "twin = of or self.subject", _COREF),
    (11, "coref: p not corrected", "studies/coref/tables.py",
     "above_zero(margins[cell], counts[cell], seed=seed).p_corrected",
     "above_zero(margins[cell], counts[cell], seed=seed).p", _COREF),
    (12, "coref: the rivals swapped", "studies/coref/tables.py",
     "list(BASELINES).index(rival)]", "1 - list(BASELINES).index(rival)]", _COREF),
    (13, "coref: the unit is a window, not a document", "studies/coref/call.py",
     "unit=number, question=question", "unit=place, question=question", _COREF),
]  # fmt: skip
