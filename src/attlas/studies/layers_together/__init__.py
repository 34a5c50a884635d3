"""Runs of layers on several tasks as one result, so that one page compares them."""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "layers-together",
    call="attlas.studies.layers_together.call:layers_together",
    page="attlas.studies.layers.page:PAGE",
    group="measure",
    command="layers together",
)
