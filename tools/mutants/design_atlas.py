"""Changes of what an atlas says of heads."""

from __future__ import annotations

_ATLAS = ("tests/design/test_atlas_design.py",)
_FIGURES = ("tests/evidence/test_head_figures.py",)

CHANGES = [
    (40, "atlas: the far end of an interval is taken for the near one", "evidence/portraits.py",
     "near = value if saying.exact else high if saying.below else low",
     "near = value if saying.exact else low if saying.below else high", _ATLAS),
    (41, "atlas: the value is taken for the end of its interval", "evidence/portraits.py",
     "near = value if saying.exact else high if saying.below else low", "near = value", _ATLAS),
    (42, "atlas: chance is dropped", "evidence/portraits.py",
     "else chance * saying.times", "else 0 * chance", _ATLAS),
    (43, "atlas: a sign is turned", "evidence/portraits.py",
     "told = (near < level) if saying.below else (near > level)",
     "told = (near > level) if saying.below else (near < level)", _ATLAS),
    (44, "atlas: p is not asked for", "evidence/portraits.py",
     'told &= columns["p"][at] < saying.p_below', "pass", _ATLAS),
    (45, "atlas: heads are picked on the half that is told", "evidence/extremes.py",
     'first = columns["first_half"][here]', 'first = columns["second_half"][here]', _ATLAS),
    (46, "atlas: what stands out is told of the half on which it was picked", "evidence/extremes.py",
     'for name in ("second_half", "low", "high", "chance")', 'for name in ("first_half", "low", "high", "chance")',
     _ATLAS),
    (47, "atlas: no disagreement is told", "evidence/disagreement.py",
     'if not _known(one["role"]).agrees', 'if _known(one["role"]).agrees', _ATLAS),
    (48, "atlas: a relation is held against its worst offset", "studies/relations/page.py",
     "= max(row[\"value\"], best.get((row[\"relation\"], way), 0.0))",
     "= min(row[\"value\"], best.get((row[\"relation\"], way), 1.0))", _ATLAS + _FIGURES),
    (49, "atlas: a relation's p is that of one relation alone", "studies/relations/page.py",
     'p="everywhere_p_corrected"', 'p="p_corrected"', _ATLAS + _FIGURES),
    (50, "atlas: untrained twins are taken for the model", "evidence/figures.py",
     'for one in ("twin", "model")', 'for one in ("model", "twin")', _FIGURES),
    (51, "atlas: halves are swapped", "evidence/figures.py",
     'HALVES = ("first_half", "second_half")\n_S', 'HALVES = ("second_half", "first_half")\n_S', _FIGURES),
]  # fmt: skip
