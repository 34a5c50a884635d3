"""Keep a model's attention on some texts in a file, to be put into another model by ``attlas faith --frozen``."""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "faith-freeze",
    call="attlas.studies.faith_freeze.call:faith_freeze",
    group="test",
    command="faith freeze",
    after="attlas.studies.faith_freeze.call:show",
)
