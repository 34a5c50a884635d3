"""The tables of an atlas: everything that is known of all heads of one or many models, tidy, a schema each.

``heads`` is the one that holds the figures, a row for each head and figure of whatever study; all sentences of
``portraits``, ``disagreements`` and ``stands_out`` are told from it, and say in ``claims`` which of its rows make
them true.
"""

from __future__ import annotations

from attlas.store.schema import PLACE, Column, Schema

MODEL = Column("model", "model", meaning="its name; with a part of its fingerprint where two models have one name")
STUDY = Column("study", "study", meaning="the study that gives the figure")
QUANTITY = Column("quantity", "quantity", meaning="which figure: unique within a model, a study and a corpus")
CORPUS = Column("corpus", "corpus", meaning="the texts that were read")
ORDER = Column("order", "order", "index", "from the strongest evidence on")
SENTENCE = Column("sentence", "sentence", meaning="reads on from the head's name, without a full stop")
SOURCE = Column("source", "source", "index", "which row of the table sources it is from")
CLAIMS = Column("claims", "claims", meaning="what of the tables makes it true, as JSON")
ENDS = (
    Column("low", "from", "number", "lower end of the 95 % interval"),
    Column("high", "to", "number", "upper end of the 95 % interval"),
)

HEADS = Schema(
    "heads", "One row for each head and figure that a study gives of it.",
    MODEL, *PLACE, STUDY, QUANTITY,
    Column("title", "figure", meaning="what the figure is called"),
    Column("kind", "kind", meaning="how it is written: share, percent, signed, number ..."),
    Column("definition", "definition", meaning="whose definition it is"),
    Column("value", "value", "number"), *ENDS,
    Column("chance", "chance", "number", "what it is held against: an even spread, a guess, the best simple rule"),
    Column("twin", "untrained twins", "number", "the same figure of models with random weights"),
    Column("twin_low", "untrained twins, from", "number"), Column("twin_high", "untrained twins, to", "number"),
    Column("p", "p", "p", "corrected over the heads"),
    Column("n", "cases", "number"),
    Column("first_half", "on one half", "number", "of the texts: that on which heads are chosen"),
    Column("second_half", "on the other half", "number", "that on which they are scored"),
    CORPUS,
    Column("command", "command", meaning="what makes the figure again"),
    Column("version", "attlas", meaning="the version that made it"),
    SOURCE,
)  # fmt: skip
SOURCES = Schema(
    "sources", "One row for each result that the figures are from.",
    Column("source", "source", "index"), MODEL, STUDY,
    Column("question", "question", meaning="what its page asks"), CORPUS,
    Column("command", "command", meaning="what makes it again"), Column("version", "attlas"),
    Column("started", "started", meaning="date and time"), Column("seconds", "took", "seconds"),
    Column("folder", "folder", meaning="relative to the atlas; empty where it lies elsewhere"),
    Column("fingerprint", "fingerprint", meaning="of the result's tables"),
    Column("texts", "texts", meaning="a part of the hash of the corpus, by which two of one name are told apart"),
    Column("measure", "measure", meaning="by which heads were asked, where a run has one"),
)  # fmt: skip
MODELS = Schema(
    "models", "One row for each model and stream.",
    MODEL, Column("family", "family"), PLACE[0],
    Column("layers", "layers", "count"), Column("heads", "heads", "count", "of a layer, the most there are"),
    Column("key_heads", "heads of keys", "count", "groups of heads that share keys; 0 where it is not known"),
    Column("parameters", "parameters", "count"), Column("fingerprint", "fingerprint", meaning="of its weights"),
)  # fmt: skip
ROLES = Schema(
    "roles", "What heads may be found to do.",
    Column("role", "role"), Column("title", "title"), Column("meaning", "meaning"),
    Column("terms", "words to search by", meaning="with spaces between"), ORDER,
)  # fmt: skip
PORTRAITS = Schema(
    "portraits", "One row for each sentence about a head, the strongest first.",
    MODEL, *PLACE, ORDER, Column("role", "role"),
    Column("part", "part", labels={
        "does": "does", "rests": "rests", "without": "without it", "writes": "writes", "alike": "heads alike",
        "none": "nothing stands out",
    }),
    Column("strength", "strength", "share", "how far the near end of the interval is beyond chance, of how far it "
           "could be"),
    SENTENCE, STUDY, QUANTITY, Column("value", "value", "number"), *ENDS,
    Column("chance", "chance", "number", "what it is held against"), CORPUS, SOURCE, CLAIMS,
)  # fmt: skip
DISAGREEMENTS = Schema(
    "disagreements", "Where two studies call a head different things.",
    MODEL, *PLACE, SENTENCE,
    *(Column(f"{which}_{what}", f"{which} {what}") for which in ("one", "other")
      for what in ("study", "role", "quantity")),
    CLAIMS,
)  # fmt: skip
STANDS_OUT = Schema(
    "stands_out", "Heads that were the most of all on one half of the texts, with their figures on the other.",
    MODEL, ORDER, Column("sentence", "sentence"), *PLACE, STUDY, QUANTITY,
    Column("value", "value", "number", "on the half on which nothing was chosen"), *ENDS,
    Column("chance", "chance", "number"), CORPUS, Column("role", "role"), Column("strength", "strength", "share"),
    SOURCE, CLAIMS,
)  # fmt: skip
ALIKE = Schema(
    "alike", "The heads that are nearest to each head, the nearest first.",
    MODEL, *PLACE, ORDER, Column("other_layer", "layer of the other", "index"),
    Column("other_head", "other head", "index"), STUDY,
    Column("value", "distance", "number"), *ENDS,
    Column("chance", "mean distance", "number", "from all heads of the stream"), CORPUS, SOURCE,
)  # fmt: skip
MATCHES = Schema(
    "matches", "One row for each pair of heads of two models.",
    MODEL, Column("other", "other model"), *PLACE, Column("other_layer", "layer of the other", "index"),
    Column("other_head", "other head", "index"),
    Column("distance", "distance", "number", "in spreads of heads, over all figures that both models have"),
    Column("runner_up", "next nearest", "number", "distance of the nearest further head of either model"),
    Column("matched", "matched", "flag", "nearer to each other, by a tenth, than to any further head"),
    Column("by", "paired by", labels={"behaviour": "what they do", "number": "number"}),
)  # fmt: skip
LEFT_OUT = Schema(
    "left_out", "What was given and is not in the atlas, and why.",
    Column("model", "model", meaning="whose study it is; empty where it is no one model's"),
    Column("given", "given", meaning="a folder, or a study and a model"), Column("reason", "why"),
)  # fmt: skip
SCHEMAS = (HEADS, SOURCES, MODELS, ROLES, PORTRAITS, DISAGREEMENTS, STANDS_OUT, ALIKE, MATCHES, LEFT_OUT)
