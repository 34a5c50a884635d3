"""Options as a command line has them, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from attlas.run.parameters import Help
from attlas.studies.reporting import _option


@pytest.mark.parametrize(
    ("value", "told", "words"),
    [
        ([(5, 2), (5, 10)], {"kind": str | None}, "--heads 6-3,6-11"),
        (["a", "b"], {"kind": list[str]}, "--heads a --heads b"),
        (["a", "b"], {}, "--heads a --heads b"),
        ([], {"kind": list[str]}, "--heads none"),
        (["a", "b"], {"argument": True}, "a b"),
        (3, {"argument": True}, "3"),
        (3, {}, "--heads 3"),
        (True, {}, "--heads"),
        (False, {}, "--no-heads"),
        (False, {"flag": "--heads/--bodies"}, "--bodies"),
    ],
)
def test_an_option_is_written_as_it_is_read(value: Any, told: dict[str, Any], words: str) -> None:
    assert " ".join(_option("heads", value, Help("Which.", **told))) == words
