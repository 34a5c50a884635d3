"""Making an atlas: one command that runs every study that fits a model, and brings together what they found.

- :mod:`~attlas.making.needs` and :mod:`~attlas.making.planning` decide what fits, by the studies' own records;
- :mod:`~attlas.making.running` runs it, one study after the other, each into a folder of its own, and
  :mod:`~attlas.making.state` keeps what has become of each;
- :mod:`~attlas.making.choosing` chooses examples, and :mod:`~attlas.making.finishing` makes tables and pages of all
  that;
- :mod:`~attlas.making.joining` does so with results that were made before, :mod:`~attlas.making.many` for a list of
  models, and :mod:`~attlas.making.indexing` makes a plain index of a folder of results.

It stands above the studies, none of which knows of it.
"""

from __future__ import annotations

from attlas.making.call import make_atlas
from attlas.making.joining import join_atlas
from attlas.making.many import make_many

__all__ = ["join_atlas", "make_atlas", "make_many"]
