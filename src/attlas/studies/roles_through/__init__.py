"""What heads do, checkpoint by checkpoint of a training."""

from __future__ import annotations

from attlas.studies import Study

STUDY = Study(
    "roles-through",
    call="attlas.studies.roles.through:roles_through",
    page="attlas.studies.roles.through_page:PAGE",
    group="measure",
    command="roles through",
)
