"""The no-op test as one call: find the loss, train a small head if it needs one, measure gradients, and the same of
untrained twins.
"""

from __future__ import annotations

from typing import Annotated, Any, Unpack

from attlas.run.parameters import Help, Model, Pairs, Reading, Texts, Twin, study_call
from attlas.run.session import begin
from attlas.run.setting import as_corpus, reads_pairs
from attlas.store import Result
from attlas.store.columns import as_columns

TWINS = 5  # where each costs a pass of gradients, and not a training of its own
BUDGET = 1024  # pieces of a batch: the graph of all layers is kept until the way back


@study_call(budget=BUDGET, keeps="the score of every text beside what chance gives it")
def noop(
    subject: Model = None,
    corpus: Texts = "sample",
    task: Annotated[
        str,
        Help(
            "Whose loss: causal-lm, masked-lm, translation, classification; tagging:upos, :xpos, :chunks, "
            ":keyphrases train a small head where the model has none; auto takes what the model offers."
        ),
    ] = "auto",
    *,
    pairs: Pairs = None,
    twins: Annotated[
        int | None,
        Help(
            f"So many untrained twins (random weights), drawn one by one: {TWINS} unless a small head has to be "
            "trained, of which each twin needs one, too; then 1.",
            least=1,
        ),
    ] = None,
    twin: Twin = "beside",
    **running: Unpack[Reading],
) -> Result:
    """Measure how much a loss depends on attention to [SEP], the first piece, punctuation and all else.

    Takes the mean |dL/d alpha| by class of key, for every layer and head, of the model and of untrained twins
    (random weights). A loss needs a model whose checkpoint holds that head; for tags a model without one gets a small
    head, trained on one half of the documents, and gradients are measured on the other. Texts have 128 pieces at
    most, 512 for key phrases.

    >>> from attlas.text import Document
    >>> nouns = ("Cats", "Dogs", "Men", "Cows")
    >>> texts = [Document.from_words([noun, "slept"], upos=["NOUN", "VERB"]) for noun in nouns]
    >>> result = noop(None, texts, "tagging:upos")
    >>> result.manifest.study, list(result.tables)
    ('noop', ['noop', 'noop_layers', 'loss', 'whole'])
    """
    from attlas.run.tasks import longest_window
    from attlas.studies.noop.lessons import readings, train
    from attlas.studies.noop.losses import opened
    from attlas.studies.noop.passes import NoOp
    from attlas.studies.noop.tables import loss_table, tables
    from attlas.studies.shared.cutting.chance import standing_row
    from attlas.tasks import READ_SCORES, make_task

    texts = as_corpus(corpus)
    model, loss = opened(subject, task, texts)
    options = {
        "task": loss,
        "pairs": loss in ("causal-lm", "masked-lm") and reads_pairs(model, texts, pairs),
        "max_pieces": longest_window(model, loss, running["max_pieces"]),
        "long": running["long"],
        "limit": running["limit"],
        "twins": twins,
    }
    with begin("noop", model, texts, options, running, twin=twin) as run:
        run.note_cutting(len(texts.documents))
        trained_on, measured_on = readings(model, texts, options, run.seed)
        run.read(measured_on)
        if trained_on is not None:
            run.read(trained_on, into="training passages")
        count = twins or (TWINS if trained_on is None else 1)
        parts = []
        for who, studied in run.twins(count):
            passes = None
            if trained_on is None:
                posed: Any = make_task(studied, loss, seed=run.seed, score=READ_SCORES.get(loss))
            else:
                posed, passes = train(run, studied, loss, trained_on, f"{who}training")
            part = NoOp(studied, posed, len(measured_on.examples))
            parts.append((part, run.carry(part, measured_on, f"{who}gradients", numbered=True), passes))
        (part, bundle, passes), untrained = parts[0], [twin for _, twin, _ in parts[1:]]
        marks = bundle["marks"].result()
        whole = {"task": loss, **standing_row(part.task, measured_on.examples, marks, seed=run.seed)}
        return run.finish(
            tables(part, bundle, untrained)
            | {"loss": loss_table(part, bundle, untrained, trained_on, measured_on, passes)}
            | {"whole": as_columns([whole])}
        )
