"""The shapes of charts, each over the columns of a table, as Vega-Lite specifications that carry no data.

A chart names the table it shows and the columns it needs; titles, number formats and tooltips come from the table's
schema, intervals, chance levels and untrained twins from what the schema says belongs to a column. Where a column is
missing, the chart falls out of its page. Every chart reads a table named ``rows``, which the page hands to it when it
is drawn: so the numbers lie in the page once. Text and axes have the colour of the surrounding text, so that a page
may go from light to dark without drawing anything again. Layers and heads count from 0 in tables and from 1 on axes.

What a reader can choose comes in two forms: several columns to ``show``, and columns to ``pick`` a value of.
"""

from __future__ import annotations

from attlas.pages.charts.base import (
    BETTER,
    BLUE,
    CONFIG,
    GREEN,
    GREY,
    HEAD_LABEL,
    ORANGE,
    PALETTE,
    PINK,
    PURPLE,
    WORSE,
    Chart,
    Spec,
    Style,
    choice,
    custom,
    finished,
    head_label,
    layer_axis,
    map_size,
    rows_of_page,
)
from attlas.pages.charts.dots import dots, histogram, ranked, scatter
from attlas.pages.charts.lines import layer_dots, lines
from attlas.pages.charts.maps import grid, head_map

__all__ = [
    "BETTER",
    "BLUE",
    "CONFIG",
    "GREEN",
    "GREY",
    "HEAD_LABEL",
    "ORANGE",
    "PALETTE",
    "PINK",
    "PURPLE",
    "WORSE",
    "Chart",
    "Spec",
    "Style",
    "choice",
    "custom",
    "dots",
    "finished",
    "grid",
    "head_label",
    "head_map",
    "histogram",
    "layer_axis",
    "layer_dots",
    "lines",
    "map_size",
    "ranked",
    "rows_of_page",
    "scatter",
]
