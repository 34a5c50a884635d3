"""Do induction heads come from text that repeats itself? Small causal models trained from nothing, in pairs.

Half of them read natural text; the other half read *the same text resampled from its bigrams*: every piece is drawn
from what follows the piece before it somewhere in the natural text, so that pieces and pairs of pieces are as
frequent as they were, and nothing else of the text is left. What stood earlier in such a text says nothing about what
comes next beyond the piece before, and a head that looks for it gains nothing. Several seeds of each kind are trained
at once on one device (:mod:`~tools.training_pair.model` has all models in one tensor), what their heads do is
measured all along (:mod:`~tools.training_pair.watch`), and checkpoints are folders that ``attlas.load`` opens.

    python -m tools.training_pair text FOLDER ... --out data       # plain text, HTML: a tokenizer and a row of pieces
    python -m tools.training_pair train data --keep kept --figures figures.json
    python -m tools.training_pair page figures.json --out docs/results/training_pair.md

Training wants a GPU (a few minutes on one); everything runs on a CPU for a trial (``--steps 20 --width 32``).
"""
