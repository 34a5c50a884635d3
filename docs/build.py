"""Writes the pages of this folder that hold figures.

    python docs/build.py corpora                docs/corpora.md: every format of corpora
    python docs/build.py reference              docs/reference.md: every study, its parameters and tables
    python docs/build.py STUDY FOLDER ...       docs/results/STUDY.md from result folders of that study
    python docs/build.py --check                which pages of results are older than the code of their figures (stale.py)
    python docs/build.py --check STUDY FOLDER   whether a page says what its tables say, in today's sentences

A page of results states the fingerprint of each result folder, and ends with a mark of the code as it is when the page is written: write pages with the code that made the results, and keep that code's figures on small inputs
(``python tools/same_figures/run.py --cases after --out tools/same_figures/pages.json.gz``). The pages of studies are made from the same
records as their HTML pages; others have a module of their name in ``building/``. Run from a checkout with the extra ``dev``.
"""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

from stale import changed_since, mark_of, other_figures

HERE = Path(__file__).resolve().parent
WITHOUT = ("keywords", "layers", "layers_case")  # of one text, or of one task: all tasks stand on layers_together.md


def main(page: str, folders: list[str]) -> None:
    """Write one page."""
    from attlas.studies import studies

    if page == "--check":
        stale, also = (other_lines(folders[0], folders[1:]), []) if folders else told_pages()
        for line in [*also, *stale]:
            print(line)
        print(
            f"{len(stale)} {'lines are not what the tables say' if folders else 'pages are older than the code of their figures'}"
        )
        sys.exit(bool(stale))
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
    target = HERE / "results" / f"{studied(name)}.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(f"{study_text(name, folders)}\n{mark_of(studied(name))}\n", encoding="utf-8")
    print(f"page: {target}")


def studied(name: str) -> str:
    """The name of a study as its files have it."""
    from attlas.studies import studies

    return studies()[name].python_name


def study_text(name: str, folders: list[str]) -> str:
    """The page of a study's results, but for its mark."""
    from attlas.pages.markdown import markdown_page
    from attlas.store import Result
    from attlas.studies import studies
    from attlas.studies.reporting import command_line

    page = studies()[name].load_page()
    results = [Result.open(folder) for folder in folders]
    runs = [(result, command_line(result.manifest)) for result in results]
    published = f"Published: {page.published}" if page.published else ""
    return markdown_page(
        page, runs, title=f"Results of attlas {' '.join(studies()[name].words)}", intro=published,
        command=f"python docs/build.py {name} FOLDER ...",
    )  # fmt: skip


def told_pages() -> tuple[list[str], list[str]]:
    """A line for each page of results that is stale, and one for each whose code has changed but not its figures."""
    from attlas.studies import studies

    stale: list[str] = []
    changed: dict[str, str] = {}
    for study in sorted((study for study in studies().values() if study.page), key=lambda study: study.name):
        name = study.python_name
        page = HERE / "results" / f"{name}.md"
        if page.exists():
            parts = changed_since(name, page.read_text(encoding="utf-8"))
            if parts is None:
                stale.append(f"{name}: it does not say of which code its figures are; make it again")
            elif parts:
                changed[name] = ", ".join(parts)
        elif name not in WITHOUT:
            stale.append(f"{name}: there is no page of results")
    other = other_figures(changed)
    stale += [f"{name}: other code ({changed[name]}) gives other figures ({why}); make it again from new results"
              for name, why in other.items()]  # fmt: skip
    return stale, [
        f"{name}: other code ({parts}) gives the same figures" for name, parts in changed.items() if name not in other
    ]


def other_lines(name: str, folders: list[str]) -> list[str]:
    """The lines of a page of results that are not what its tables say, as sentences are written now."""
    page = (HERE / "results" / f"{studied(name)}.md").read_text(encoding="utf-8")
    meant = Counter(study_text(name, folders).splitlines())
    return [
        line
        for line in (Counter(page.splitlines()) - meant)
        if line and not line.startswith(("Written by", "<!-- code"))
    ]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
