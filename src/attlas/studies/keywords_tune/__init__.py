"""How well does a trained tagger mark key phrases, and which of its heads does it need?"""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "keywords-tune",
    call="attlas.studies.keywords_tune.call:keywords_tune",
    page="attlas.studies.keywords_tune.page:PAGE",
    group="use",
    command="keywords tune",
    sayings="attlas.studies.shared.cutting.sayings:SAYINGS",
)
