"""What do the probes of layers say of one sentence, layer by layer? (Tenney et al. 2019, Figure 3)"""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "layers-case",
    call="attlas.studies.layers_case.call:layers_case",
    page="attlas.studies.layers_case.page:PAGE",
    group="measure",
    command="layers case",
)
