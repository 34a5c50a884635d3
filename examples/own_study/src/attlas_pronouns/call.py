"""The study as one call: its command and options are made from this signature."""

from typing import Unpack

from attlas.errors import CorpusError
from attlas.run.parameters import Model, Reading, Texts, study_call
from attlas.run.session import begin
from attlas.run.setting import as_corpus, as_subject, draw
from attlas.store import Result


@study_call(long="skip", max_pieces=128)
def pronouns(subject: Model = None, corpus: Texts = "sample", **running: Unpack[Reading]) -> Result:
    """Measure how much of its attention a pronoun gives to the nearest noun before it, head by head."""
    from attlas.capture.reading import read_documents
    from attlas.measures.words import between_words, group
    from attlas.run.fold import HeadStatistic

    model, texts = as_subject(subject), as_corpus(corpus)
    if "upos" not in texts.annotations:
        raise CorpusError("it has no parts of speech, which this study needs; give a CoNLL-U file", file=texts.name)
    options = {name: running[name] for name in ("max_pieces", "long", "limit")}
    with begin("pronouns", model, texts, options, running) as run:
        how = {"limit": running["max_pieces"], "long": running["long"]}
        reading = read_documents(model, texts.documents, articles=texts.articles, **how)
        run.read(draw(reading, running["limit"], run.seed))
        pairs = {example.source: pronouns_and_nouns(example.passage.first.upos) for example in reading.examples}

        def to_noun(call, batch):
            side = batch.queries(call.site.stream)
            words = group([text.segmentation for text in side.encoded], side.real.shape[1], side.starts)
            weights = between_words(call.weights().cpu(), words)
            sums, counts = (weights.new_zeros(weights.shape[:2]) for _ in range(2))
            for row, text in enumerate(side.encoded):
                for pronoun, noun in pairs[text]:
                    sums[row] += weights[row, :, pronoun, noun]
                    counts[row] += 1
            return sums, counts

        part = HeadStatistic(model, to_noun, streams=[model.pieces.own], within=(0, 1))
        return run.finish({"heads": part.table(run.carry(part, reading))})


def pronouns_and_nouns(tags):
    """Places of each pronoun and of the nearest noun before it."""
    nouns = [at for at, tag in enumerate(tags) if tag in ("NOUN", "PROPN")]
    pairs = [(at, [noun for noun in nouns if noun < at][-1:]) for at, tag in enumerate(tags) if tag == "PRON"]
    return [(pronoun, noun) for pronoun, before in pairs for noun in before]
