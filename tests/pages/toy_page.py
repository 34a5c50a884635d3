"""A page of an invented study that uses every shape of chart and every part of a page."""

from __future__ import annotations

from collections.abc import Iterator

from attlas.pages import Claim, Finding, Listing, Page, Section, Style, Tables, charts, keyed, say
from attlas.store import Manifest, Result
from attlas.store.schema import PLACE, Column, Schema

HEADS = Schema(
    "heads",
    "One row for each head and measure.",
    *PLACE,
    Column("measure", "measure", labels={"weight": "by weight", "norm": "by norm"}),
    Column("value", "share", "share", ends=("low", "high"), chance="chance", twin="twin", head=True),
    Column("change", "change when cut", "signed", ends=("change_low", "change_high"), head=True),
    Column("change_p_corrected", "p", "p", family="all heads"),
    Column("n", "texts", "count"),
)
KINDS = Schema(
    "kinds",
    "One row for each kind.",
    Column("kind", "kind"),
    Column("value", "accuracy", "percent", ends=("low", "high")),
    Column("baseline", "best offset", "percent"),
)


def toy_result(
    layers: int = 3, heads: int = 4, streams: tuple[str, ...] = ("encoder",), name: str = "tiny"
) -> Result:
    places = [
        (stream, layer, head, measure)
        for stream in streams
        for layer in range(layers)
        for head in range(heads)
        for measure in ("weight", "norm")
    ]
    values = [((7 * at) % 23) / 23 for at in range(len(places))]
    table = {
        "stream": [place[0] for place in places],
        "layer": [place[1] for place in places],
        "head": [place[2] for place in places],
        "measure": [place[3] for place in places],
        "value": values,
        "low": [max(0.0, value - 0.05) for value in values],
        "high": [value + 0.05 for value in values],
        "chance": [0.2] * len(places),
        "twin": [0.21] * len(places),
        "change": [value - 0.5 for value in values],
        "change_low": [value - 0.6 for value in values],
        "change_high": [value - 0.4 for value in values],
        "change_p_corrected": list(values),
        "n": [12] * len(places),
    }
    kinds = {
        "kind": ["det", "<nsubj>", "obj"],
        "value": [0.9, 0.5, 0.7],
        "low": [0.8, 0.4, 0.6],
        "high": [0.95, 0.6, 0.8],
        "baseline": [0.5, 0.55, None],
    }
    manifest = Manifest(
        "toy",
        plan={"options": {"depth": 2, "many": list(range(40))}},
        model={"name": name},
        corpus={"name": "a book", "pieces": 1200},
        versions={"attlas": "0.1.0"},
        started="2026-01-02T03:04:05+00:00",
        seconds=3.0,
        skipped={"too long": 2},
    )
    return Result(manifest, {"heads": table, "kinds": kinds})


def answer(tables: Tables) -> Finding | None:
    best = tables["heads"].where(measure="weight").largest("value")
    if not best:
        return None
    return Finding(
        say(
            "Head **{head}** of {model} gives most: {value:share} (chance {chance:share}).",
            head=best.named()[0],
            model=tables.model,
            value=best[0]["value"],
            chance=best[0]["chance"],
        ),
        (
            Claim("largest", "heads", "value", keyed(best[:1]), {"measure": "weight"}),
            Claim("above", "heads", "value", keyed(best[:1]), {"measure": "weight"}, than="chance"),
        ),
        see="map",
    )


def kinds(tables: Tables) -> Iterator[Finding]:
    beaten = tables["kinds"].count(lambda row: row["baseline"] is not None and row["value"] > row["baseline"])
    yield Finding(
        say("{n} of {all} kinds beat the best offset.", n=beaten, all=len(tables["kinds"])),
        (Claim("count", "kinds", "value", value=beaten, than="baseline"),),
        see="kinds",
        published="BERT: all of them",
    )


SHAPES = (
    charts.layer_dots("heads", "value", key="dots", title="By layer", colour="measure"),
    charts.lines("heads", "layer", "value", key="lines", title="Lines", colour="measure", where={"head": [0]}),
    charts.scatter(
        "heads",
        ("value", "change"),
        "change",
        key="against",
        title="Against",
        colour="measure",
        size_of=True,
        diagonal=True,
    ),
    charts.dots("kinds", "kind", "value", "baseline", key="kinds", title="Kinds", order="-value"),
    charts.dots("heads", "layer", "value", key="groups", title="Groups", colour="measure", where={"head": [0]}),
    charts.grid("heads", "layer", "measure", "value", key="grid", title="Grid"),
    charts.grid("heads", "layer", "measure", "change", key="parted", title="Parted", diverging=True),
    charts.ranked(
        "heads", "change", "value", key="sorted", title="In order", style=Style(zero=True, pick=("measure",))
    ),
    charts.histogram("heads", "value", key="histogram", title="How often", colour="measure"),
    charts.head_map(
        "heads",
        "change",
        key="signed",
        title="Cut",
        shade={"change": "change"},
        sure={"change": "change_p_corrected"},
        style=Style(pick=("measure",)),
    ),
)
PAGE = Page(
    "toy",
    "Where the heads of {model} look",
    answer=answer,
    chart=charts.head_map("heads", "value", "change", style=Style(pick=("measure",))),
    about="What **{model}** does on {corpus}.",
    findings=(kinds,),
    schemas=(HEADS, KINDS),
    sections=(
        Section("shapes", "All shapes", "How to read them.\n\nAnd *more*.", SHAPES, width="half"),
        Section("kinds", "Kinds", parts=(Listing("kinds", "kind", "value", "baseline", order="-value"),)),
        Section(
            "table", "All heads", parts=(Listing("heads", "head", "measure", "value", "change", "n", order="-value"),)
        ),
        Section("gone", "What is not there", parts=(Listing("kinds", "kind", where={"kind": "none"}),)),
    ),
    words={"head 6-3": "the third head of the sixth layer"},
    limits={"Toys.": "They prove nothing."},
    published="everything (nobody 2020)",
)
