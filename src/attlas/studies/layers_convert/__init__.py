"""A tool of layers: the labelled spans of a task, written as a spans file."""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "layers-convert",
    call="attlas.studies.layers_convert.call:layers_convert",
    group="measure",
    command="layers convert",
    after="attlas.studies.layers_convert.call:tell",
)
