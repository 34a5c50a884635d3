"""What the README shows must run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attlas.models import bundled

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.real
def test_the_readmes_python_runs() -> None:
    if bundled.bundled_folder() is None:
        pytest.skip("the bundled model is not installed (extra demo)")
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    assert {"subject", "capture", "recorder", "result"} <= names.keys()


def test_the_readme_links_to_what_is_there() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
