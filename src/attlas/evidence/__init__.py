"""Evidence: all that is known of the heads of one or many models, in one place.

The figures of all studies go into one tidy table of heads (:mod:`~attlas.evidence.figures`), by what the schemas of
the studies declare; what the studies have to say of them (:mod:`~attlas.evidence.saying`) becomes the portrait of
each head, and an :class:`~attlas.evidence.atlas.Atlas` holds the tables and answers questions about them. Nothing
here loads torch, and no study is named: records come from above.
"""

from __future__ import annotations

from attlas.evidence.atlas import Atlas
from attlas.evidence.roles import ROLES, Role
from attlas.evidence.saying import SURE, Saying

__all__ = ["ROLES", "SURE", "Atlas", "Role", "Saying"]
