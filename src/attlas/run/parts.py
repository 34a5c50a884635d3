"""The parts of a corpus: one to train on, one to stop or choose by, one to score on.

Those that were not given as files of their own are taken from the training file, article by article.
"""

from __future__ import annotations

from collections.abc import Mapping

from attlas.corpora import Corpus

SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}


def parts_of(given: Mapping[str, Corpus], seed: int) -> tuple[dict[str, Corpus], str]:
    """The parts to train on, to stop by and to score on; those that were not given are taken from the treebank, and
    it is said how.

    >>> from attlas.corpora import read
    >>> parts, said = parts_of({"train": read("sample")}, seed=0)
    >>> list(parts), said
    (['train', 'dev', 'test'], 'sample was divided by article: 80 % train, 10 % dev, 10 % test')
    """
    parts = dict(given)
    missing = [name for name in SHARES if name not in given]
    if not missing:
        return parts, ""
    shares = {name: SHARES[name] for name in ("train", *missing)}
    shares = {name: share / sum(shares.values()) for name, share in shares.items()}
    parts |= zip(shares, given["train"].divide(list(shares.values()), seed), strict=True)
    listed = ", ".join(f"{100 * share:.0f} % {name}" for name, share in shares.items())
    return {name: parts[name] for name in SHARES}, f"{given['train'].name} was divided by article: {listed}"
