"""What the page for users of head_mask shows must run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attlas.models import bundled

PAGE = Path(__file__).resolve().parents[2] / "docs" / "head_mask.md"


@pytest.mark.real
def test_the_pages_python_runs() -> None:
    if bundled.bundled_folder() is None:
        pytest.skip("the bundled model is not installed (extra demo)")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 7
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    assert {"subject", "output", "importance", "smaller"} <= names.keys()


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)", PAGE.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (PAGE.parent / link).exists()] == []
