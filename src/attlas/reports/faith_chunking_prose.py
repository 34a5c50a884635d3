"""What the report of the chunking study says in its own words: terms, how to read each section, the limits, and what
differs from the published study.

It is HTML, written by hand; nothing that comes from a user is in it.
"""

from __future__ import annotations

TERMS = {
    "original": "a tagger of one layer and four heads, trained on chunks; one for each seed.",
    "adversary": """a tagger that is trained to predict what an original predicts and to attend elsewhere: its loss is
    NLL&nbsp;−&nbsp;λ&nbsp;·&nbsp;divergence, so the larger λ, the more it is paid for other attention.""",
    "KL, JSD": """how far attention is from the original’s, mean over words and heads, in nats. JSD is at most
    ln 2 = .69; KL is taken as adversaries are paid for it (see the differences, below).""",
    "NLL, TVD": """how far predictions are from the original’s: the loss against its tags, and half the sum of the
    differences of all tags’ probabilities.""",
    "bend": """where predictions begin to give way as attention moves off: the place where two straight lines through
    the curve meet. Yang’s “safe point”.""",
    "guided": """a tagger whose attention is given from outside and frozen, and which learns everything else.
    <i>Attention kept</i>: it still has all parameters of attention; <i>none left</i>: a feed-forward layer, the given
    weights, and a linear layer.""",
}
LEADS = {
    "short": "Numbers here and in all charts are on the test set.",
    "scores": """F1 of chunks. In the chart the line is the adversary as λ grows, from the original at 0; hollow
    diamonds are published. In the table <i>ours less theirs</i> is in points of F1; where several seeds were trained,
    numbers are means with Student’s 95 % interval over seeds, else the interval is over sentences.""",
    "plane": """Figure 5 of Wiegreffe &amp; Pinter for this task. To the right: attention farther from the original’s;
    upwards: predictions farther. The dashed line is the trained adversary with its λ. If it runs far to the right
    before it rises, quite different attention tags the same. Triangles are what chance does: two trainings that
    differ in their seed. A plus is one word whose attention was free to move, with the output held.""",
    "bend": """Yang’s figure: predictions against attention, a small dot for each adversary and a large one for the
    mean of each λ (at 0 are the originals); those of one seed are joined as λ grows. Before the bend attention moves
    and predictions hardly do; after it they pay. The line and its band are the bend and its 95 % interval over
    seeds; grey and dashed is where it was published.""",
    "guided": """Is there anything in an attention that helps another model? If the original’s attention guides better
    than uniform or random attention, there is. If the adversary’s guides as well as the original’s, they hold the
    same. The dashed line is the original tagger; hollow is published.""",
    "ranks": """Kendall’s τ of an adversary’s row of weights with the original’s, over all words and heads: 1 is the
    same order of words, 0 is chance. A divergence can be large with the order kept.""",
}
LIMITS = """<ul>
<li><b>One small model.</b> A single layer of attention over word vectors has few other paths; deep models have more
(<code>attlas faith</code> asks them).</li>
<li><b>An adversary is as good as its training.</b> That none was found farther off does not show that there is
none.</li>
<li><b>KL is no distance.</b> It is ruled by single weights near zero, in whichever direction; read JSD beside
it.</li>
<li><b>Heads are compared by number.</b> Two trainings may give the same work to other heads, which counts as other
attention; compare adversaries with seeds, of which the same is true.</li>
<li><b>A bend is nearly always found</b> where two lines are fitted; look at the share of the squared error that the
second line saves.</li>
<li><b>Few seeds.</b> Intervals over seeds are Student’s; where there is one seed they are over sentences and say
nothing of other trainings.</li>
</ul>"""
DIFFERS = """<ul>
<li><b>Data.</b> Yang read 8,042 sentences for training and 2,012 for testing; {data}.</li>
<li><b>Training.</b> The paper’s text gives neither sizes nor rates nor epochs; ours are in the plan below.</li>
<li><b>KL.</b> The paper writes it from the original to the adversary and does not say over what it is averaged. To
the letter, per row, it has no upper end, and any λ drives it to what the number format allows; {divergence}.</li>
<li><b>λ.</b> Its text speaks of 2.5 where its table says 3.</li>
<li><b>The bend</b> was read off a curve of one training there; here it is fitted, over all seeds.</li>
<li><b>Guided models</b> had all parameters of attention there (<i>attention kept</i>). The form with none left is
what its author asks for as further work, as are the ranks; uniform and random guides, seeds and free attention of
single words come from Wiegreffe &amp; Pinter and from Jain &amp; Wallace.</li>
</ul>"""
