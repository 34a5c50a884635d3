"""Train a model, or its head alone, for a task."""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study("tune", call="attlas.studies.tune.call:tune", group="use", after="attlas.studies.tune.call:show")
