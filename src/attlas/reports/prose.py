"""What the report of a survey says in its own words: how to read each section, what the terms mean, the limits.

It is HTML, written by hand; nothing that comes from a user is in it.
"""

from __future__ import annotations

from attlas.reports.charts import NORM_COLOUR, WEIGHT_COLOUR

WORDS = {
    "piece": """what the tokenizer cuts text into: a word or a part of one. A <i>query</i> piece attends to
    <i>key</i> pieces.""",
    "weight": "the share of its attention that a query gives to a key; the weights of a query sum to one.",
    "norm": """the length of the vector that really travels, ‖αf(x)‖: weight times the length of the key's vector
    after the head's own transformation, again as a share. Much weight on a short vector moves little.""",
    "chance": """what uniform attention, the same to every key it may see, would give. It is dashed in the charts.""",
    "head 8-10": """the tenth head of the eighth layer. Layers and heads count from 1 on this page, as in the papers,
    and from 0 in the tables and in code.""",
    "[CLS], [SEP]": "the pieces that open and close a text, whatever the model calls them (BOS, EOS).",
}

LEADS = {
    "where": """Each dot is one head; its height is the share of its attention that goes to such pieces, in weight
    and, beside it, in norm. Previous, next and itself ask for the place of a piece, the others for its kind. Where
    weight runs above norm, attention is given to vectors that carry little.""",
    "map": """Rows are layers, columns are heads; the brighter, the more. Choose what is shown: the colours begin at
    zero and end at the largest value of what was chosen. Point at a cell for chance and the interval.""",
    "entropy": """Entropy says how widely a head spreads its attention: 0 nats is all on one piece, the dashed line is
    the same to all. Heads near the line average over the text; heads near the floor pick one piece.""",
    "distance": """How far away, in pieces and to either side, the attended keys lie on average. Heads at 1 look at a
    neighbour; attention that rests on a fixed piece such as [SEP] counts with its distance, too.""",
    "norms": """A head adds up αf(x). The weight α is one half of it; f(x), the key's vector after the head's own
    transformation, is the other. In the first chart the two are correlated by rank, on pairs of pieces drawn from
    each passage: dots below zero are heads that give much weight to short vectors, a way of attending to nothing.
    In the second, each line is a layer, from frequent words to rare ones.""",
    "pos": """Of the attention between words, the share that goes <i>to</i> each part of speech, or comes <i>from</i>
    it. Shares follow how common a part of speech is; <i>times chance</i> takes that out. Choose a part of speech, or
    click its row, to see its heads.""",
    "edges": """How much attention runs along the edges of the dependency tree: first as a share of all attention
    between words, then what a word gives to its governor, and to its dependents. The first piece, where a head may
    merely rest, is set aside. Dots far above the dashed line follow syntax, or something that goes with it, such as
    standing next to each other.""",
    "heads": """One row for each head, in weights unless it says norm; ρ is the rank correlation of weight and ‖f(x)‖.
    Click a heading to sort, click again to turn the order round. Type to filter by label (<kbd>3-</kbd>) or by what
    the portrait says (<kbd>previous</kbd>).""",
}

LIMITS = """<ul>
<li><b>A weight is not an explanation.</b> That a head looks at something does not show that the model uses it; that
takes an experiment, such as cutting the head.</li>
<li><b>Much weight may mean nothing to do.</b> Heads may rest on [CLS], [SEP] or the first piece; compare the norms
to see how much comes of it.</li>
<li><b>The best of many is partly luck.</b> So where a head is named as the most of all, it was chosen on one half of
the passages and its number comes from the other. Lists of heads above a bar are from all passages.</li>
<li><b>Intervals are for this corpus.</b> They say how a mean would vary with other passages of the same kind, not
with another kind of text.</li>
</ul>"""

TABLE = """<div class="filter"><label for="filter">Filter</label>
<input id="filter" type="search" autocomplete="off" spellcheck="false"><output id="count" for="filter"></output></div>
<div class="scroll" tabindex="0" role="region" aria-label="Table of heads">
<table id="heads-table"><thead></thead><tbody></tbody></table></div>"""


_SIGNS = {
    "weight": f'<svg width="14" height="14"><circle cx="7" cy="7" r="4" fill="{WEIGHT_COLOUR}"/></svg>',
    "norm": f'<svg width="14" height="14"><path d="M7 2L12 7L7 12L2 7Z" fill="{NORM_COLOUR}"/></svg>',
    "mean of the layer": '<svg width="22" height="14"><path d="M1 7H21" stroke="currentColor"/></svg>',
    "chance": '<svg width="22" height="14"><path d="M1 7H21" stroke="currentColor" stroke-dasharray="4 3"/></svg>',
}


def key(*, norm: bool) -> str:
    """What the dots and lines of the charts below it mean.

    >>> key(norm=False).count("<svg")
    3
    """
    shown = {name: sign for name, sign in _SIGNS.items() if norm or name != "norm"}
    return '<p class="key">' + "".join(f"<span>{sign} {name}</span>" for name, sign in shown.items()) + "</p>"
