"""Changes of the design of align and of key words, each of which the tests named must notice.

An entry is its number, what is changed, the file below ``src/attlas``, what stands there and what is put in its
stead, and the tests.
"""

from __future__ import annotations

_ALIGN = ("tests/design/test_align_design.py",)
_KEYWORDS = ("tests/design/test_keywords_design.py",)

CHANGES = [
    (
        17,
        "align: honest oracle scored where it chose (leak)",
        "studies/align/tables.py",
        "scored_on = view.marks(picked[-1]) * ~chosen_on[:, None]",
        "scored_on = view.marks(picked[-1]) * chosen_on[:, None]",
        _ALIGN,
    ),
    (
        18,
        "align: twin of symmetrised links is the model",
        "studies/align/tables.py",
        "counted(self.links(how, measure, layers, who=who), known.documents) for who in readers",
        "counted(self.links(how, measure, layers, who=0), known.documents) for who in readers",
        _ALIGN,
    ),
    (
        19,
        "keywords study: heads p not corrected",
        "studies/keywords_study/heads.py",
        '"p_corrected": holm(p)',
        '"p_corrected": p',
        _KEYWORDS,
    ),
    (
        20,
        "keywords study: train and test parts swapped",
        "studies/keywords_study/call.py",
        "return texts.halves(seed) if test is None else (texts, test)",
        "return texts.halves(seed) if test is None else (test, texts)",
        _KEYWORDS,
    ),
    (
        21,
        "keywords compare: p not corrected",
        "studies/keywords_compare/tables.py",
        "corrected = holm(found.p)",
        "corrected = found.p",
        _KEYWORDS,
    ),
    (
        46,
        "keywords study: several twins, all of one seed",
        "studies/keywords_study/call.py",
        "run.untrained(twin)",
        "run.untrained(0)",
        _KEYWORDS,
    ),
]
