"""From a result to its page: in a folder, in a notebook, as a line that repeats the run."""

from __future__ import annotations

import inspect
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import StoreError
from attlas.run.parameters import Help, help_of, role_of
from attlas.studies import Study, studies

if TYPE_CHECKING:
    from attlas.store import Manifest, Result


def page_of(result: Result) -> str:
    """The page of a result, as HTML.

    >>> from attlas.store import Manifest, Result
    >>> page_of(Result(Manifest("cooking"), {"heads": {"layer": [0]}}))
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: a result of the study 'cooking' has no page here (there is one for: ...
    """
    from attlas.pages.html import html_page

    study = study_of(result.manifest)
    return html_page(study.load_page(), result, command=command_line(result.manifest))


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


def write_report(result_folder: Path | str, out: Path | str | None = None) -> Path:
    """Write the page of a result folder and tell where it lies: ``report.html`` in the folder, or ``out``
    (a file, or a folder to put it in).

    >>> import tempfile
    >>> write_report(Path(tempfile.mkdtemp()))
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: ...
    """
    from attlas.store import Result

    folder = Path(result_folder)
    result = Result.open(folder)
    if result.manifest.study not in studies():
        from attlas.reports import write_report as write_old_report

        return write_old_report(folder, None if out is None else Path(out))
    page = page_of(result)
    target = folder if out is None else Path(out)
    if target.is_dir():
        target /= "report.html"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{target}: the page cannot be written ({error.strerror or error}); choose another --out"
        ) from error
    return target


def command_line(manifest: Manifest) -> str:
    """The command that repeats a run, as far as its plan tells.

    >>> from attlas.store import Manifest
    >>> plan = {"options": {"task": "similarity", "limit": 3}}
    >>> command_line(Manifest("importance", plan, model={"name": "tiny"}, corpus={"name": "a.tsv"}, seed=7))
    'attlas importance a.tsv --model tiny --task similarity --limit 3 --seed 7'
    """
    study = studies()[manifest.study]
    options: dict[str, Any] = dict(manifest.plan.get("options", {})) if manifest.plan else {}
    corpora = manifest.plan.get("corpus", {}) if manifest.plan else {}
    words = ["attlas", *study.words]
    taken = inspect.signature(study.load_call()).parameters.values()
    for parameter in sorted(taken, key=_named):
        role, told = role_of(parameter), help_of(parameter)
        if role in ("corpus", "data"):
            words.append(str(manifest.corpus.get("name", "CORPUS")))
        elif role == "model":
            words += ["--model", str(manifest.model.get("name", "MODEL"))]
        elif role.startswith("other ") and isinstance(corpora.get(parameter.name), dict):
            words += [f"--{parameter.name.replace('_', '-')}", str(corpora[parameter.name]["name"])]
        elif told is not None and not told.python:
            value = manifest.seed if parameter.name == "seed" else options.get(parameter.name, parameter.default)
            if value is not None and value != parameter.default:
                words += _option(parameter.name, value, told)
    return shlex.join(words)


def _named(parameter: inspect.Parameter) -> bool:
    """Whether a parameter comes after those that stand without a name."""
    told = help_of(parameter)
    return told is None or not told.argument


def _option(name: str, value: Any, told: Help) -> list[str]:
    yes, _, no = (told.flag or f"--{name.replace('_', '-')}").partition("/")
    if told.argument:
        return [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]
    if isinstance(value, bool):
        return [yes] if value else [no or f"--no-{yes[2:]}"]
    if isinstance(value, list | tuple):
        return [word for item in value for word in (yes, str(item))]
    return [yes, str(value)]
