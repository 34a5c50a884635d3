"""A small version of the benchmark: it runs, and the times do not grow with what is not looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.invented_atlas import Shape, invented
from benchmarks.site import BARS, answers, lines_of
from made_up_sites import Open

from attlas.website import write_site

pytestmark = pytest.mark.browser
SMALL = Shape(models=8, layers=10, heads=20, figures=20)


def test_a_site_answers_in_time(tmp_path: Path, open_site: Open) -> None:
    """The best of several times, by the work of the page itself: a machine that is busy says nothing about it."""
    write_site(invented(SMALL), tmp_path)
    found = answers(open_site(tmp_path), SMALL)
    least = {name: min(one.work for one in times) for name, times in found.items() if name != "first useful paint"}
    assert {name: work for name, work in least.items() if work > BARS[name] / 2} == {}
    assert len(lines_of(found, SMALL, 1.0, 1, 1)) == 8


def test_what_is_read_first_does_not_grow_with_figures(tmp_path: Path) -> None:
    """The first file holds a few hundred bytes for a model and its heads, however many figures there are."""
    sizes = []
    for figures in (10, 40):
        write_site(invented(Shape(models=3, layers=10, heads=20, figures=figures)), tmp_path)
        sizes.append((tmp_path / "site/data/index.js").stat().st_size)
    assert sizes[1] < 1.02 * sizes[0]
    assert sizes[0] < 3 * 2500 + 2000
