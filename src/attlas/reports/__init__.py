"""From a result folder to one HTML page that a person can read.

A study that has a report of its own is listed in :data:`REPORTS`; the page needs no network, no server and no other
file, and may be sent to anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from attlas.errors import StoreError

if TYPE_CHECKING:
    from attlas.store import Result

__all__ = ["REPORTS", "write_report"]


# Each is written by the function STUDY_page of the module of its name, with _ for -.
REPORTS = (
    "survey",
    "coref",
    "relations",
    "clusters",
    "parse",
    "noop",
    "norms",
    "prune",
    "ablate",
    "align",
    "layers",
    "layers-case",
    "faith",
    "faith-chunking",
    "keywords",
    "keywords-study",
    "keywords-tune",
    "keywords-compare",
)


def write_report(result_folder: Path, out: Path | None = None) -> Path:
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
    study = result.manifest.study
    if study not in REPORTS:
        known = ", ".join(sorted(REPORTS))
        raise StoreError(
            f"{folder}: a result of the study {study!r} has no report page yet (there is one for: {known}); "
            "its Parquet tables can be read directly"
        )
    name = study.replace("-", "_")
    write: Callable[[Result], str] = getattr(import_module(f"attlas.reports.{name}"), f"{name}_page")
    page = write(result)
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
