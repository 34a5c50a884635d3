"""From the results of studies to an atlas: examples, the tables of all heads, each study's page, and the site.

The manifest is written last, so that an atlas that has one is whole; whatever was cut off before is made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attlas.errors import AttlasError, PlanError
from attlas.evidence.atlas import Atlas
from attlas.evidence.gathering import opened_as
from attlas.making.made import Made
from attlas.making.places import EXAMPLES, models_in, results_in
from attlas.making.state import DONE, FAILED, Outcome, State
from attlas.run.progress import Progress
from attlas.store import Result, versions_here
from attlas.store.checkpoint import clear_leftovers
from attlas.store.damage import told_as_damage
from attlas.studies.joining import gathered
from attlas.studies.reporting import write_report
from attlas.website import write_site

if TYPE_CHECKING:
    import pyarrow as pa


def finish(folder: Path, progress: Progress, command: str = "") -> Made:
    """Bring together the results of all models in a folder, and write them down as an atlas with its pages, which
    name the ``command`` that makes it again."""
    progress.note("bringing together what was found")
    clear_leftovers(folder)
    states = {model: State.of(model) for model in models_in(folder)}
    outcomes = {model.name: list(state.outcomes.values()) for model, state in states.items() if state is not None}
    places = [place for place in results_in(folder) if place.name != EXAMPLES]
    if not places:
        told = [f"{each.study}: {each.reason}" for own in outcomes.values() for each in own if each.state == FAILED]
        raise PlanError(f"there is nothing to make an atlas of, for no study came to its end ({'; '.join(told[:3])})")
    tables = gathered(places, beside=folder).tables
    tables |= _examples(folder, tables)
    left_out = tables["left_out"].to_pylist()
    tables["left_out"] = _with(tables["left_out"], outcomes)
    atlas = Atlas.of(tables)
    page = write_site(tables, folder, command=command, version=versions_here()["attlas"])
    for place in places:
        try:
            write_report(place)
        except AttlasError as error:
            progress.note(str(error))
    _save(atlas, folder)
    return Made(folder, page, outcomes, left_out)


def write_again(folder: Path) -> Path:
    """Write the pages of an atlas once more, from its tables and results, with the code of today."""
    result = Result.open(folder)
    atlas = Atlas(result)
    with told_as_damage(folder):
        page = write_site(atlas.tables, folder, version=versions_here()["attlas"])
    for place in results_in(folder):
        if place.name != EXAMPLES:
            write_report(place)
    return page


def _examples(folder: Path, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The examples of all models in a folder, under the names that the models have in the atlas, with the places of
    their pages seen from there."""
    import pyarrow as pa

    names = {
        fingerprint: row["model"] for row in tables["models"].to_pylist() for fingerprint in opened_as(row).values()
    }  # fmt: skip
    found: dict[str, list[pa.Table]] = {}
    for model in models_in(folder):
        place = model / EXAMPLES
        try:
            result = Result.open(place)
        except AttlasError:
            continue
        name = names.get(str(result.manifest.model.get("fingerprint")))
        if name is None:
            continue
        for table, own in result.tables.items():
            own = _replaced(own, "model", [name] * own.num_rows)
            if "page" in own.column_names:
                own = _replaced(own, "page", [f"{model.name}/{page}" for page in own["page"].to_pylist()])
            found.setdefault(table, []).append(own)
    return {table: pa.concat_tables(parts, promote_options="permissive") for table, parts in found.items()}


def _replaced(table: pa.Table, column: str, values: list[str]) -> pa.Table:
    import pyarrow as pa

    return table.set_column(table.column_names.index(column), column, pa.array(values, pa.string()))


def _with(left_out: pa.Table, outcomes: Mapping[str, Sequence[Outcome]]) -> pa.Table:
    """What was left out, with the studies that did not fit or failed."""
    from attlas.evidence.gathering import table_of
    from attlas.evidence.schemas import LEFT_OUT

    rows: list[dict[str, str]] = left_out.to_pylist()
    for model, own in outcomes.items():
        rows += [
            {"given": f"{outcome.study} of {model}", "reason": f"{outcome.state}: {outcome.reason}"}
            for outcome in own
            if outcome.state != DONE
        ]
    return table_of(rows, LEFT_OUT)


def _save(atlas: Atlas, folder: Path) -> None:
    """Write the tables of an atlas beside its models and pages, in the place of those of an earlier one."""
    named = {f"{name}.parquet" for name in atlas.result.manifest.tables}
    earlier = [place.name for place in folder.glob("*.parquet")]
    atlas.save(folder)
    for name in earlier:
        if name not in named:
            (folder / name).unlink(missing_ok=True)
