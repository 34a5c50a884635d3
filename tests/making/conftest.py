"""Small texts of every kind and tiny models, made once."""

from __future__ import annotations

import pytest

from tools.same_figures.inputs import Inputs, make_inputs


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """A folder with all files and models."""
    return make_inputs(tmp_path_factory.mktemp("inputs"))
