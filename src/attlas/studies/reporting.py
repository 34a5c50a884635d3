"""From a result to its page: in a folder, in a notebook, as a line that repeats the run."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

from attlas.errors import StoreError, printable
from attlas.ids import paper_label
from attlas.run.parameters import Help, asked_of, help_of, role_of
from attlas.store.damage import told_as_damage
from attlas.store.manifest import SCHEMA
from attlas.studies import Study, studies
from attlas.studies.surroundings import around
from attlas.whole import write_whole

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result
    from attlas.store.schema import Schema

SINGLE = "float32"  # what models are opened in, unless they are asked for otherwise


def page_of(result: Result, *, alone: bool = False) -> str:
    """The page of a result, as HTML: one that lies in an atlas links to its pages, unless it is to stand alone.

    >>> from attlas.store import Manifest, Result
    >>> page_of(Result(Manifest("cooking"), {"heads": {"layer": [0]}}))
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: a result of the study 'cooking' has no page here (there is one for: ...
    """
    from attlas.pages.html import html_page

    study = study_of(result.manifest)
    if result.folder is None:
        return html_page(study.load_page(), result, command=command_line(result.manifest))
    with told_as_damage(result.folder):
        require_schemas(result)
        links = [] if alone else around(result.folder)
        return html_page(study.load_page(), result, command=command_line(result.manifest), around=links)


def study_of(manifest: Manifest) -> Study:
    """The study that made a result; refused where it is unknown or has no page.

    >>> from attlas.store import Manifest
    >>> study_of(Manifest("importance")).name
    'importance'
    """
    study = studies().get(manifest.study)
    if study is None or not study.page:
        known = ", ".join(sorted(name for name, other in studies().items() if other.page))
        raise StoreError(
            f"a result of the study {manifest.study!r} has no page here (there is one for: {known}); its Parquet "
            "tables can be read directly"
        )
    return study


def require_schemas(result: Result) -> None:
    """Refuse a result with a table whose columns are not those of its schema, which is named.

    >>> from attlas.store import Manifest, Result
    >>> require_schemas(Result(Manifest("importance"), {"loss": {"task": ["a"], "value": ["high"], "n": [1]}}))
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: loss.parquet: its columns are not those of importance (column 'value' holds no numb...
    """
    import pyarrow as pa

    study = studies().get(result.manifest.study)
    if study is None or not study.page:
        return
    schemas = {schema.table: schema for schema in study.load_page().schemas}
    for name, table in result.tables.items():
        if name not in schemas:
            continue
        schema, present = schemas[name], table.column_names
        amiss = [words for words in schema.differs(present) if words.endswith("is missing")]
        amiss += [f"column {column!r} is there twice" for column in set(present) if present.count(column) > 1]
        for column in table.schema:
            strange = pa.types.is_nested(column.type) or pa.types.is_string(_values_of(column.type))
            if column.name in schema and schema[column.name].number and strange:
                amiss.append(f"column {column.name!r} holds no numbers")
        if amiss:
            file = f"{name}.parquet" if result.folder is None else result.folder / f"{name}.parquet"
            raise StoreError(f"{file}: its columns are not those of {study.name} ({amiss[0]}); make the result again")


def _values_of(kind: pyarrow.DataType) -> pyarrow.DataType:
    """The type of what a column holds, also where it is numbered."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def open_result(folder: Path | str) -> Result:
    """A result from somebody's folder, the columns of whose tables are those of its study.

    >>> open_result("no such folder")
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: no such folder: there is no such folder; ...
    """
    from attlas.store import Result

    with told_as_damage(folder):
        result = Result.open(folder)
        require_schemas(result)
    return result


def write_report(result_folder: Path | str, out: Path | str | None = None) -> Path:
    """Write the page of a result folder and tell where it lies: ``report.html`` in the folder, or ``out``
    (a file, or a folder to put it in).

    >>> import tempfile
    >>> write_report(Path(tempfile.mkdtemp()))
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: ...
    """
    folder = Path(result_folder)
    return write_page(page_of(open_result(folder), alone=out is not None), folder if out is None else Path(out))


def write_page(page: str, target: Path) -> Path:
    """Write a page to a file, or as ``report.html`` into a folder.

    >>> import tempfile
    >>> write_page("<p>", Path(tempfile.mkdtemp())).name
    'report.html'
    """
    if target.is_dir():
        target /= "report.html"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, page)
    except OSError as error:
        raise StoreError(
            f"{target}: the page cannot be written ({error.strerror or error}); choose another --out"
        ) from error
    return target


class Frame:
    """A page in a notebook, in a frame of its own.

    >>> Frame("<p>", 300)._repr_html_()
    '<iframe srcdoc="&lt;p&gt;" width="100%" height="300" style="border: 0"></iframe>'
    """

    def __init__(self, page: str, height: int) -> None:
        self.page, self.height = str(page), height

    def _repr_html_(self) -> str:
        from attlas.pages.html import tag

        return str(tag("iframe", srcdoc=self.page, width="100%", height=self.height, style="border: 0"))


def latex_table(result: Result, name: str, columns: Sequence[str], most: int | None) -> str:
    """A table in LaTeX, for a document that loads booktabs.

    >>> from attlas.store import Manifest, Result
    >>> heads = {"stream": ["encoder"], "layer": [0], "head": [0], "value": [0.5], "normalised": [1.0]}
    >>> print(latex_table(Result(Manifest("importance"), {"importance": heads}), "importance", ["head", "value"], 1))
    \\begin{tabular}{rr}
    \\toprule
    head & E|dL/dξ| \\\\
    \\midrule
    1-1 & 0.50 \\\\
    \\bottomrule
    \\end{tabular}
    """
    from attlas.pages.html import cells_of
    from attlas.pages.rows import Tables

    tables = Tables(result, study_of(result.manifest).load_page().schemas)
    schema, rows = tables.schema(name), tables[name][:most]
    own = [column.name for column in schema.columns if column.name not in ("stream", "layer", *schema.aside)]
    cells = cells_of(schema, rows, columns or own, tables.blocks)
    kinds = "".join("r" if number else "l" for _, number, _, _ in cells)
    lines = [" & ".join(_in_latex(written[at]) for _, _, _, written in cells) for at in range(len(rows))]
    head = " & ".join(_in_latex(title) for title, _, _, _ in cells)
    body = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", rf"{head} \\", r"\midrule"]
    return "\n".join([*body, *(rf"{line} \\" for line in lines), r"\bottomrule", r"\end{tabular}"])


_IN_LATEX = str.maketrans({
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--",
})  # fmt: skip


def _in_latex(text: str) -> str:
    return printable(text).translate(_IN_LATEX)


def with_present_names(
    manifest: Manifest, tables: Mapping[str, pyarrow.Table]
) -> tuple[Manifest, dict[str, pyarrow.Table]]:
    """A result of the first format, with the names that its tables and columns have now.

    >>> import pyarrow
    >>> from attlas.store import Manifest
    >>> _, tables = with_present_names(Manifest("importance"), {"importance": pyarrow.table({"layer": [0]})})
    >>> list(tables)
    ['importance']
    """
    study = studies().get(manifest.study)
    known = {schema.was: schema for schema in study.load_page().schemas} if study is not None and study.page else {}
    present = {}
    for name, table in tables.items():
        schema = known.get(name)
        present[schema.table if schema else name] = table if schema is None else _renamed(table, schema)
    return replace(manifest, tables=tuple(present), schema=SCHEMA), present


def _renamed(table: pyarrow.Table, schema: Schema) -> pyarrow.Table:
    """A table with present names of columns, and of values in them."""
    import pyarrow

    names = {column.was: column.name for column in schema.columns if column.was}
    table = table.rename_columns([names.get(name, name) for name in table.column_names])
    for column in schema.columns:
        if column.were and column.name in table.column_names:
            values = [column.were.get(value, value) for value in table.column(column.name).to_pylist()]
            at = table.column_names.index(column.name)
            table = table.set_column(at, column.name, pyarrow.array(values).dictionary_encode())
    return table


def command_line(manifest: Manifest) -> str:
    """The command that repeats a run, as far as its plan tells.

    >>> from attlas.store import Manifest
    >>> plan = {"options": {"task": "similarity", "limit": 3}}
    >>> command_line(Manifest("importance", plan, model={"name": "tiny"}, corpus={"name": "a.tsv"}, seed=7))
    'attlas importance a.tsv --model tiny --task similarity --limit 3 --seed 7'
    >>> half = {"name": "tiny", "dtype": "bfloat16"}
    >>> command_line(Manifest("importance", plan, model=half, corpus={"name": "a.tsv"}))
    'attlas importance a.tsv --model tiny --dtype bfloat16 --task similarity --limit 3'
    """
    study = studies()[manifest.study]
    options: dict[str, Any] = dict(manifest.plan.get("options", {})) if manifest.plan else {}
    corpora = manifest.plan.get("corpus", {}) if manifest.plan else {}
    words = ["attlas", *study.words]
    taken = inspect.signature(study.load_call()).parameters.values()
    for parameter in sorted(taken, key=lambda parameter: not getattr(help_of(parameter), "argument", False)):
        role, told = role_of(parameter), help_of(parameter)
        if role == "corpus":
            typed = manifest.corpus.get("format") == "documents" and "label" not in asked_of(parameter)
            words.append("TEXT" if typed else str(manifest.corpus.get("name", "CORPUS")))
        elif role == "model":
            words += ["--model", str(manifest.model.get("name", "MODEL"))]
            precision = manifest.model.get("dtype", SINGLE)
            words += [] if precision == SINGLE else ["--dtype", str(precision)]
        elif role == "other corpus" and isinstance(corpora.get(parameter.name), dict):
            for name in str(corpora[parameter.name]["name"]).split(" + "):  # which joins the names of several
                words += [f"--{parameter.name.replace('_', '-')}", name]
        elif told is not None and not told.python:
            value = manifest.seed if parameter.name == "seed" else options.get(parameter.name, parameter.default)
            if parameter.name == "twin" and isinstance(value, bool):  # as results of earlier versions have it
                value = "beside" if value else "none"
            if told.least is not None and isinstance(value, int) and value < told.least:  # no twins: --twin says so
                continue
            if isinstance(value, dict):  # files and models, which a plan describes by name
                value = value.get("name") or list(value)
            usual = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
            if value not in (None, usual) and not (value == [] and not usual):
                if told.kind == Path | None and value and not isinstance(value, str):  # what was read from a folder
                    value = parameter.name.upper()
                words += _option(parameter.name, value, told)
    return shlex.join(words)


def _option(name: str, value: Any, told: Help) -> list[str]:
    yes, _, no = (told.flag or f"--{name.replace('_', '-')}").partition("/")
    if told.argument:
        return [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]
    if isinstance(value, bool):
        return [yes] if value else [no or f"--no-{yes[2:]}"]
    if isinstance(value, list | tuple):  # heads by their numbers are named by label
        items = [paper_label(*item) if isinstance(item, list | tuple) else str(item) for item in value or ("none",)]
        joined = told.kind is not None and get_origin(told.kind) is not list
        return [yes, ",".join(items)] if joined else [word for item in items for word in (yes, item)]
    return [yes, str(value)]
