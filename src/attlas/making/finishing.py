"""From the results of studies to an atlas: examples, the tables of all heads, each study's page, and the site.

The manifest is written last, so that an atlas that has one is whole; whatever was cut off before is made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attlas.errors import AttlasError, PlanError
from attlas.evidence.atlas import Atlas
from attlas.evidence.gathering import opened_as
from attlas.making.made import Made
from attlas.making.places import EXAMPLES, models_in, results_in
from attlas.making.state import DONE, FAILED, State
from attlas.run.progress import Progress
from attlas.store import Result, versions_here
from attlas.store.checkpoint import clear_leftovers
from attlas.store.damage import told_as_damage
from attlas.studies.joining import gathered
from attlas.studies.reporting import write_report
from attlas.website import write_site

if TYPE_CHECKING:
    import pyarrow as pa


def finish(folder: Path, progress: Progress, command: str = "", left_out: Sequence[Mapping[str, str]] = ()) -> Made:
    """Bring together the results of all models in a folder, and write them down as an atlas with its pages, which
    name the ``command`` that makes it again and what was ``left_out`` on the way here."""
    progress.note("bringing together what was found")
    clear_leftovers(folder)
    states = {model: State.of(model) for model in models_in(folder)}
    known = {model: state for model, state in states.items() if state is not None}
    places = [place for place in results_in(folder) if place.name != EXAMPLES]
    if not places:
        ended = [each for state in known.values() for each in state.outcomes.values() if each.state == FAILED]
        why = "; ".join(f"{each.study}: {each.reason}" for each in ended[:3])
        raise PlanError(f"there is nothing to make an atlas of, for no study came to its end ({why})")
    tables = gathered(places, beside=folder).tables
    tables |= _examples(folder, tables)
    told = [*left_out, *tables["left_out"].to_pylist()]
    tables["left_out"] = _with(told, known.values(), _names(tables))
    atlas = Atlas.of(tables, command=command)
    page = _write_site(atlas, folder)
    for place in places:
        try:
            write_report(place)
        except AttlasError as error:
            progress.note(str(error))
    _save(atlas, folder)
    outcomes = {model.name: list(state.outcomes.values()) for model, state in known.items()}
    return Made(folder, page, outcomes, told, remarks=tuple(atlas.remarks))


def write_again(folder: Path) -> Path:
    """Write the pages of an atlas once more, from its tables and results, with the code of today."""
    result = Result.open(folder)
    atlas = Atlas(result)
    with told_as_damage(folder):
        page = _write_site(atlas, folder)
    for place in results_in(folder):
        if place.name != EXAMPLES:
            write_report(place)
    return page


def _write_site(atlas: Atlas, folder: Path) -> Path:
    """The pages of an atlas, cited by the year in which the last of its figures was made."""
    begun = max(filter(None, atlas.tables["sources"]["started"].to_pylist()), default="")
    return write_site(
        atlas.tables, folder, command=atlas.command, version=versions_here()["attlas"], year=begun[:4],
        remarks=atlas.remarks,
    )  # fmt: skip


def _names(tables: Mapping[str, pa.Table]) -> dict[str, str]:
    """What models are called in an atlas, by their fingerprints."""
    rows = tables["models"].to_pylist()
    return {fingerprint: row["model"] for row in rows for fingerprint in opened_as(row).values()}


def _examples(folder: Path, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The examples of all models in a folder, under the names that the models have in the atlas, with the places of
    their pages seen from there."""
    import pyarrow as pa

    names = _names(tables)
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


def _with(left_out: Sequence[Mapping[str, str]], states: Iterable[State], names: Mapping[str, str]) -> pa.Table:
    """What was left out, with the studies that did not fit or failed."""
    from attlas.evidence.gathering import table_of
    from attlas.evidence.schemas import LEFT_OUT

    rows = [{"model": "", **row} for row in left_out]
    for state in states:
        about = state.plan.get("model", {})
        model = names.get(str(about.get("fingerprint")), str(about.get("name", "")))
        rows += [
            {
                "model": model,
                "given": f"{outcome.study} of {model}",
                "reason": f"{outcome.state}: {outcome.reason}",
            }
            for outcome in state.outcomes.values()
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
