"""Pages of studies: declared once, as records over tables with a schema, and written as HTML, in a terminal and in
Markdown.
"""

from __future__ import annotations

from attlas.pages import charts
from attlas.pages.charts import Chart, Style
from attlas.pages.findings import Claim, Finding, holds, keyed, value_claim
from attlas.pages.page import Custom, Listing, Page, Section
from attlas.pages.prose import Prose, count_of, listed, say, with_interval
from attlas.pages.rows import Row, Rows, Tables, label_of

__all__ = [
    "Chart",
    "Claim",
    "Custom",
    "Finding",
    "Listing",
    "Page",
    "Prose",
    "Row",
    "Rows",
    "Section",
    "Style",
    "Tables",
    "charts",
    "count_of",
    "holds",
    "keyed",
    "label_of",
    "listed",
    "say",
    "value_claim",
    "with_interval",
]
