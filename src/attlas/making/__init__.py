"""Making an atlas: one command that runs every study that fits a model, and brings together what they found.

- :mod:`~attlas.making.needs` and :mod:`~attlas.making.planning` decide what fits, by the studies' own records;
- :mod:`~attlas.making.running` runs it, one study after the other, each into a folder of its own, and
  :mod:`~attlas.making.state` keeps what has become of each;
- :mod:`~attlas.making.finishing` makes tables and pages of all that.

It stands above the studies, none of which knows of it.
"""

from __future__ import annotations

from attlas.making.call import make_atlas

__all__ = ["make_atlas"]
