"""Examples in docstrings that open the bundled model share one: opening it takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

_SHARED: list[Any] = []


@pytest.fixture(autouse=True)
def one_bundled_model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In an example, ``load()`` gives the model that is open already; it must be left as it was found."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    import attlas.capture

    opening = attlas.capture.load

    def load(name: Any = None, **options: Any) -> Any:
        if name is not None or any(value is not None and value is not False for value in options.values()):
            return opening(name, **options)
        if not _SHARED:
            _SHARED.append(opening())
        return _SHARED[0]

    monkeypatch.setattr(attlas.capture, "load", load)
    names = request.node.dtest.globs
    if names.get("load") is opening:  # in a module that has the name itself
        names["load"] = load
    yield
    assert not _SHARED or not _SHARED[0].seam.instruments, "an example has left an instrument on the bundled model"
