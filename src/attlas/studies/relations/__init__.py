"""How well does each head find the governor of a word, relation by relation? (Clark et al. 2019)"""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study("relations", call="attlas.studies.relations.call:relations", page="attlas.studies.relations.page:PAGE",
              sayings="attlas.studies.relations.sayings:SAYINGS")  # fmt: skip
