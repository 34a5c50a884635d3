"""Writes the pages of this folder that follow from something else: from results, from models, from the code.

    python docs/build.py models                 docs/models.md: every family and real model that is at hand
    python docs/build.py corpora                docs/corpora.md: every format of a corpus
    python docs/build.py STUDY FOLDER ...       docs/results/STUDY.md from result folders of that study

Each page has a module of its name in ``building/``. Run from a checkout with the extra ``dev``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

BUILDING = Path(__file__).resolve().parent / "building"


def main(page: str, folders: list[str]) -> None:
    """Write one page."""
    known = sorted(path.stem for path in BUILDING.glob("*.py"))
    if page not in known:
        sys.exit(f"there is no page {page!r}; choose one of {', '.join(known)}\n\n{__doc__}")
    sys.path.insert(0, str(BUILDING.parent))
    import_module(f"building.{page}").build([Path(folder) for folder in folders])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
