"""What the report of attention as explanation says in its own words: terms, how to read each section, the limits.

It is HTML, written by hand; nothing that comes from a user is in it.
"""

from __future__ import annotations

TERMS = {
    "explanation": """a number for each word of a text: how much the answer is owed to it. Attention is one candidate;
    gradients, integrated gradients and leave-one-out are others, and none of them is the truth.""",
    "agreement": """Kendall’s τ of two explanations of the same text: of all pairs of words, those in the same order
    less those in the opposite one. 1 is the same order, 0 is chance.""",
    "TVD": """how far two outputs are from each other: half the sum of the differences of all labels’ probabilities;
    0 to 1.""",
    "JSD": """how far two attentions are from each other: Jensen-Shannon divergence in nats, mean over the rows and
    heads that matter; 0 to ln 2 = .69.""",
    "adversary": """for one instance, attention that is as far from the model’s own as could be found while the output
    stays within the bound. It was put into the model and checked.""",
    "comprehensiveness": """how much of the predicted label’s probability is lost without the words that an
    explanation ranks first; <i>sufficiency</i>: how much is lost with only these. Means over 1, 5, 10, 20 and 50 % of
    the words.""",
}
LEADS = {
    "card": """Six questions that attention should pass if a picture of it were to explain what the model says. This
    card can stand next to any such picture: <code>attlas view --card</code>.""",
    "agreement": """One line for each explanation: how far its order of the words is that of gradients, of integrated
    gradients and of leave-one-out, with 95 % intervals over texts. The dashed line is a random order. Look at the
    references first: where gradients and leave-one-out hardly agree with each other, there is little to agree
    with.""",
    "erasure": """Left, higher is better: the words that come first are taken away, and the model misses them. Right,
    lower is better: only those words are left, and the model does without the rest. The dashed line is what random
    words do; blue is attention, green are the other explanations.""",
    "interventions": """The model’s attention is replaced, and nothing else. If attention explained the output, other
    attention should give other output. Read <i>change</i> for what happens to the score, TVD for what happens to the
    probabilities, JSD for how different the attention was. <b>Bold</b>: p &lt; .01 (paired permutation over
    texts). An <i>evened model</i> was trained with uniform attention, an <i>other model</i> by itself.""",
    "plane": """To the right: attention farther from the model’s own. Upwards: output farther. A plus is one
    instance’s adversary; they lie below the bound, and the farther to the right, the less does attention decide. What
    lies at the upper left changes the output with little change of attention.""",
    "instances": """As in the figures of Jain &amp; Wallace. Above: how many instances have which τ; a spread around
    zero means that attention and the other explanation have nothing to do with each other in many texts, whatever the
    mean. Below: does shuffling hurt where attention is sharp (to the right)? And how far did the adversaries get?
    Dashed lines are means, thick lines medians of a quarter.""",
    "examples": """The same words in each line, shaded by what an explanation gives them; the strongest word of a line
    has the full shade. Point at a word for its number. Where the model’s own weights and the adversary’s stand below
    each other: as different as they look, the output is the same.""",
}
LIMITS = """<ul>
<li><b>No reference is the truth.</b> Gradients see small changes, leave-one-out sees one word at a time, erasing
makes texts that the model has never read. Where they disagree among themselves, attention cannot agree with all.</li>
<li><b>That another attention gives the same output</b> does not show that the model’s own is idle; it shows that
attention alone does not determine the output. An adversary is free in ways that no trained model is
(<code>attlas faith chunking</code> trains them).</li>
<li><b>The last layer reads states that are mixed already.</b> Its weights on a word are weights on what stands at
that word’s place after all layers below.</li>
<li><b>Which attention is asked decides.</b> Layers and heads were chosen or averaged as the page says; a single head
may do better or worse, and the best of many is partly luck.</li>
<li><b>Not significant is not the same as no effect</b>; with few texts only large effects show.</li>
</ul>"""
