"""The page: what the columns are, the answer in one sentence, and the chart that shows it."""

from attlas.pages import Claim, Finding, Listing, Page, Section, charts, keyed, say
from attlas.store.schema import PLACE, Column, Schema

VALUE = Column("value", "to the noun", "share", ends=("low", "high"), chance="chance", head=True)
HEADS = Schema("heads", "One row for each head.", *PLACE, VALUE, Column("n", "pronouns", "count"), keys=())


def answer(tables):
    """The head that gives most."""
    best = tables["heads"].largest("value")[:1]
    ends = "{low:share} to {high:share}; " if best[0]["low"] is not None else ""  # few texts have no interval
    text = f"Head **{{name}}** gives the nearest noun {{value:share}} ({ends}chance {{chance:share}})."
    return Finding(say(text, name=best.named()[0], **best[0]), (Claim("largest", "heads", "value", keyed(best)),))


PAGE = Page(
    "pronouns",
    "Do pronouns of {model} look at the noun before them?",
    answer=answer,
    chart=charts.head_map("heads", "value"),
    schemas=(HEADS,),
    sections=(Section("table", "All heads", parts=(Listing("heads", "head", "value", "n", order="-value"),)),),
    limits={"The nearest noun": "is not always what a pronoun stands for."},
)
