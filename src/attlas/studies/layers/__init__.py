"""From which layer on can something be read off a model's states? Edge probing (Tenney et al. 2019)."""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "layers", call="attlas.studies.layers.call:layers", page="attlas.studies.layers.page:PAGE", group="measure"
)
