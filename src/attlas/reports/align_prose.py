"""The sentences that every report of an alignment study has: what words mean, how to read charts, and limits."""

from __future__ import annotations

WORDS = {
    "link": """a word of the source and the word of the target that translates it. Forward, every target word has at
    most one; backward, every source word.""",
    "sure, possible": """how certain the people were who made the gold alignment; every sure link is possible too.""",
    "AER": """alignment error rate, 1 − (|A∩S| + |A∩P|) / (|A| + |S|) of the links given (A), sure (S) and possible
    (P): lower is better. Precision is |A∩P| / |A|, recall |A∩S| / |S|, F1 their harmonic mean. Here times 100.""",
    "with output, with input": """where the model is asked: at the query that predicts a target piece, or at the query
    that reads it, one place later.""",
    "to source, to target": """the encoder reads both sentences at once; links are read off what target words give to
    source words, or off what source words give to target words.""",
    "weight, norm": """α, averaged over the heads of a layer, or the length of what a source word adds: ‖αf(x)‖ of a
    head, ‖Σαf(x)‖ of a layer's heads together.""",
    "chosen without gold": """the layer (or head) of the largest mean norm; of a layer, the joint norm of its heads,
    or the sum of theirs. The oracle looks at the gold and flatters; made honest, it chooses on one half of the pairs
    and is scored on the other.""",
    "untrained twin": "the same architecture with random weights, by the same steps.",
}
LEADS = {
    "layers": """One panel for each setting. A dot is a layer, all its heads together, with its 95 % interval over
    pairs of sentences; dotted, the untrained twin; level lines are aligners that know no network, in the same
    direction. Choose another score to see what an error rate is made of.""",
    "linked": """The share of words that have a link, by layer; the others pick the end of the sentence or another
    piece outside words. Without gold this is all that can be counted.""",
    "table": """AER of every layer, the 95 % interval below it; the lowest of each column is bold. The change from
    weight to norm is tested pair by pair of sentences, and bold where its interval lies below zero.""",
    "methods": """Whole methods, the best first: attention as one would use it without gold, and as an oracle would;
    aligners trained on the same pairs and, said apart, on more text.""",
    "choices": """If the layer that adds most to the decoder's state is the one that aligns, large diamonds lie low
    on the right.""",
    "map": """Every head alone; the brighter, the better (or the more). Choose the mean norm to see whether the heads
    that align are those that add most. Point at a cell for its interval and the twin's.""",
}
LIMITS = """<ul>
<li><b>Attention gives one link per word at most.</b> Gold has words with several; no single direction can find them
all, which costs recall, and putting two directions together helps.</li>
<li><b>The reference is forced.</b> The model is shown the given translation, which it might never have written.</li>
<li><b>Words and pieces differ.</b> The pieces of an attended word are summed and those of an attending one averaged;
where the corpus splits words otherwise than people write them, pieces meet rarely seen spellings.</li>
<li><b>Aligners learn from these very pairs,</b> with no gold; the model learnt from other text, mostly far more of
it. eflomal draws at random, so its figures change a little with every run.</li>
<li><b>Gold differs.</b> Error rates compare within one gold alignment only: those with many possible links are
kinder.</li>
</ul>"""
