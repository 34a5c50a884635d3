"""How much attention do pronouns give to the nearest noun before them? A study from outside attlas."""

from attlas.studies import Fits, Study

STUDY = Study(
    "pronouns", call="attlas_pronouns.call:pronouns", page="attlas_pronouns.page:PAGE", fits=Fits(("tags",))
)
