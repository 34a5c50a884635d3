"""Writes the pages of this folder that hold figures.

    python docs/build.py corpora                docs/corpora.md: every format of corpora
    python docs/build.py reference              docs/reference.md: every study, its parameters and tables
    python docs/build.py STUDY FOLDER ...       docs/results/STUDY.md from result folders of that study
    python docs/build.py --check                which pages of results are older than the code that made them

A page of results states the fingerprint of each result folder, and ends with that of the code that made it. The pages of studies are made from the same records as their HTML pages; others have a module of their name in
``building/``. Run from a checkout with the extra ``dev``.
"""

from __future__ import annotations

import hashlib
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "attlas"
FIGURES = ("capture", "corpora", "measures", "models", "probes", "stats", "studies/shared", "tasks", "text")
WORDING = (  # what only words and draws the figures of a result
    "page.py", "findings.py", "wording.py", "clusters/maps.py", "faith/words.py", "faith_chunking/rows.py",
    "keywords/text.py", "layers_case/drawing.py", "layers_case/panels.py",
)  # fmt: skip
MARK = "<!-- code: {} -->"


def main(page: str, folders: list[str]) -> None:
    """Write one page."""
    from attlas.studies import studies

    if page == "--check":
        old = stale_pages()
        print("\n".join(old) or "every page of results is of the code as it is")
        sys.exit(bool(old))
    own = sorted(path.stem for path in (HERE / "building").glob("*.py"))
    with_pages = sorted(name for name, study in studies().items() if study.page)
    if page in own:
        sys.path.insert(0, str(HERE))
        import_module(f"building.{page}").build([Path(folder) for folder in folders])
    elif page in with_pages:
        build_study(page, folders)
    else:
        sys.exit(f"there is no page {page!r}; choose one of {', '.join(own + with_pages)}\n\n{__doc__}")


def build_study(name: str, folders: list[str]) -> None:
    """Write the page of a study's results."""
    from attlas.pages.markdown import markdown_page
    from attlas.store import Result
    from attlas.studies import studies
    from attlas.studies.reporting import command_line

    page = studies()[name].load_page()
    results = [Result.open(folder) for folder in folders]
    runs = [(result, command_line(result.manifest)) for result in results]
    published = f"Published: {page.published}" if page.published else ""
    text = markdown_page(
        page, runs, title=f"Results of attlas {' '.join(studies()[name].words)}", intro=published,
        command=f"python docs/build.py {name} FOLDER ...",
    )  # fmt: skip
    target = HERE / "results" / f"{studies()[name].python_name}.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(f"{text}\n{MARK.format(code_of(studies()[name].python_name))}\n", encoding="utf-8")
    print(f"page: {target}")


def code_of(study: str) -> str:
    """The fingerprint of all code that decides a study's figures: its own folder, and what it is built on; not of
    what only words and draws them."""
    digest = hashlib.sha256()
    for part in (*FIGURES, f"studies/{study}"):
        for file in sorted((PACKAGE / part).rglob("*.py")):
            if not any(map(file.match, WORDING)):
                digest.update(str(file.relative_to(PACKAGE)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def stale_pages() -> list[str]:
    """A line for each page of results that the code as it is did not make."""
    from attlas.studies import studies

    lines = []
    for study in sorted((study for study in studies().values() if study.page), key=lambda study: study.name):
        page = HERE / "results" / f"{study.python_name}.md"
        if not page.exists():
            lines.append(f"{study.python_name}: there is no page of results")
        elif MARK.format(code_of(study.python_name)) not in page.read_text(encoding="utf-8"):
            lines.append(f"{study.python_name}: made by other code than this; make it again from new results")
    return lines


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
