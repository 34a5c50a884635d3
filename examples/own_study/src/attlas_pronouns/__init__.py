"""How much attention do pronouns give to the nearest noun before them? A study from outside attlas."""

from attlas.studies import Fits, Study

CALL, PAGE = "attlas_pronouns.call:pronouns", "attlas_pronouns.page:PAGE"
STUDY = Study("pronouns", call=CALL, page=PAGE, fits=Fits(needs=("tags",)))
