"""The parts of a corpus: one to train on, one to stop or choose by, one to score on.

Those that were not given as files of their own are taken from the training file, article by article. A corpus of few
long articles cannot be divided as one wishes, so what is said are the shares that came out.
"""

from __future__ import annotations

from collections.abc import Mapping

from attlas.corpora import Corpus

SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
FAR = 2.0  # a part that has so many times less than was asked, or more, is far from it


def parts_of(given: Mapping[str, Corpus], seed: int) -> tuple[dict[str, Corpus], str]:
    """The parts to train on, to stop by and to score on; those that were not given are taken from the treebank, and
    it is said how: which share of the sentences each part got, and where that is far from what was asked.

    >>> from attlas.corpora import read
    >>> parts, said = parts_of({"train": read("sample")}, seed=0)
    >>> list(parts), said
    (['train', 'dev', 'test'], 'sample was divided by article: 81 % of its sentences train, 10 % dev, 9 % test')
    """
    parts = dict(given)
    missing = [name for name in SHARES if name not in given]
    if not missing:
        return parts, ""
    shares = {name: SHARES[name] for name in ("train", *missing)}
    shares = {name: share / sum(shares.values()) for name, share in shares.items()}
    parts |= zip(shares, given["train"].divide(list(shares.values()), seed), strict=True)
    return {name: parts[name] for name in SHARES}, _told(
        given["train"], {name: parts[name] for name in shares}, shares
    )


def _told(whole: Corpus, parts: Mapping[str, Corpus], asked: Mapping[str, float]) -> str:
    """What came out of dividing a corpus."""
    sizes = {name: sum(len(document.sentences) for document in part.documents) for name, part in parts.items()}
    got = {name: size / max(1, sum(sizes.values())) for name, size in sizes.items()}
    listed = ", ".join(f"{100 * share:.0f} % {name}" for name, share in got.items())
    listed = listed.replace("%", "% of its sentences", 1)
    articles = len(set(whole.articles))
    kind, count = ("article", articles) if articles >= len(parts) else ("text", len(whole.documents))
    said = f"{whole.name} was divided by {kind}: {listed}"
    if all(asked[name] / FAR <= share <= FAR * asked[name] for name, share in got.items()):
        return said
    wanted = ", ".join(f"{100 * share:.0f} % {name}" for name, share in asked.items())
    return (
        f"{said}; that is far from {wanted}, as was asked for, since there are only {count} {kind}s: better give the "
        "parts as files of their own"
    )
