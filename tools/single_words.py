"""Which rule finds single-word keys without costing phrases? A table of rules and kinds of texts, as Markdown.

    python -m tools.single_words training.jsonl validation.jsonl test.jsonl news.jsonl --kept weights

Words of every corpus are weighed once by the heads that are shipped for the bundled model (kept in a folder, if one
is given); then phrases are made of the same weights by one rule after the other, and held against the phrases that
people gave. Rules know nothing of these, except *single words where most keys are such*, which asks the other half of
the texts. TF-IDF of n-grams and of single words stands beside.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attlas.capture import load
from attlas.run.setting import as_corpus
from attlas.studies.keywords_compare.baselines import tfidf
from attlas.studies.keywords_compare.baselines.stopping import stop_words
from attlas.studies.keywords_compare.baselines.weighted import by_words
from attlas.studies.shared.keywords.choice import choose_heads
from attlas.studies.shared.keywords.phrases import LONGEST, candidates, longest_for, rank_phrases, single_share
from attlas.studies.shared.keywords.scoring import Given, given_in, marks, micro
from attlas.studies.shared.keywords.weighing import weigh
from attlas.text import Document
from attlas.text.keyphrases import Stems, document_stems
from attlas.text.stems import stemmer

Weights = NDArray[np.float64]
Ranked = list[list[Stems]]
STEM = stemmer("english")
SHORT, LONG = 60, 300  # words of a text
BONUSES, GAMMAS, RUNS = (1.0, 0.5, 0.25), (0.25, 0.5, 1.0), (2, 3, 5)


class Texts:
    """A corpus with the weights of its words and the phrases that were given."""

    def __init__(self, file: str, kept: Path | None) -> None:
        documents = as_corpus(file).documents
        weights = weights_of(file, documents, kept)
        pairs = [(one, own, given_in(one, STEM)) for one, own in zip(documents, weights, strict=True)]
        known = [pair for pair in pairs if pair[2].all]
        self.name = Path(file).name.partition(".")[0]
        self.documents = [document for document, _, _ in known]
        self.weights = [own for _, own, _ in known]
        self.given = [given for _, _, given in known]

    def f1(self, found: Ranked, keep: Sequence[int] | None = None) -> float:
        """F1 of the first ten phrases, of all texts or of some."""
        some = range(len(found)) if keep is None else keep
        return micro(marks([found[at] for at in some], [self.given[at].all for at in some], 10))[0]

    def plain(self, longest: int = LONGEST) -> Ranked:
        """The phrases of attention, as the tool makes them."""
        pairs = zip(self.documents, self.weights, strict=True)
        return [[one.stems for one in rank_phrases(*pair, stem=STEM, longest=longest)] for pair in pairs]

    def by_other_half(self) -> Ranked:
        """Single words where most keys of the other half of the texts are such."""
        lists = {longest: self.plain(longest) for longest in (1, LONGEST)}
        halves = [_all(self.given[start::2]) for start in (0, 1)]
        return [lists[longest_for(halves[1 - at % 2])][at] for at in range(len(self.given))]


def weights_of(file: str, documents: Sequence[Document], kept: Path | None) -> list[Weights]:
    """The weight of every word, from an earlier run where it is kept."""
    place = None if kept is None else kept / f"{Path(file).name.partition('.')[0]}.npz"
    if place is not None and place.exists():
        stored = np.load(place)
        return [stored[f"arr_{number}"].astype(np.float64) for number in range(len(documents))]
    subject = load()
    weights = [one.weights.astype(np.float64) for one in weigh(subject, documents, choose_heads(subject))]
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        np.savez(place, *weights)
    return weights


def rule(
    document: Document, weights: Weights, *, gamma: float = 0.0, bonus: float = 0.0, runs: int = 1
) -> list[Stems]:
    """Runs of heavy words, their scores divided by their length to the power of gamma; beside them, with a bonus,
    single words that stand in so many different runs."""
    stems = document_stems(document, STEM)
    scores: dict[Stems, float] = {}
    words: dict[str, float] = {}
    inside: dict[str, set[Stems]] = {}
    for span in candidates(document, weights, stems):
        run = stems[span.start : span.stop]
        scores[run] = scores.get(run, 0.0) + float(weights[span.start : span.stop].sum()) / len(run) ** gamma
        for stem, weight in zip(run, weights[span.start : span.stop], strict=True):
            words[stem] = words.get(stem, 0.0) + float(weight)
            inside.setdefault(stem, set()).add(run)
    if bonus:
        for stem, weight in words.items():
            if len(inside[stem]) >= runs:
                scores[(stem,)] = max(scores.get((stem,), 0.0), bonus * weight)
    return sorted(scores, key=lambda run: -scores[run])


def rules() -> Iterator[tuple[str, Callable[[Texts], Ranked]]]:
    """All that is tried, by name."""

    def of(gamma: float = 0.0, bonus: float = 0.0, runs: int = 1) -> Callable[[Texts], Ranked]:
        def ranked(texts: Texts) -> Ranked:
            pairs = zip(texts.documents, texts.weights, strict=True)
            return [rule(*pair, gamma=gamma, bonus=bonus, runs=runs) for pair in pairs]

        return ranked

    stops = stop_words() or frozenset()

    def grams(texts: Texts) -> Ranked:
        lists = tfidf.by_ngrams(texts.documents, texts.documents, stops, STEM)
        return [[phrase.stems for phrase in phrases] for phrases in lists]

    def counted(texts: Texts) -> Ranked:
        lists = by_words(texts.documents, tfidf.weigher(texts.documents, stops, STEM), STEM, 1)
        return [[phrase.stems for phrase in phrases] for phrases in lists]

    yield "attention: runs of up to five words, as it is", Texts.plain
    yield "attention: runs of up to two words", lambda texts: texts.plain(2)
    yield "attention: single words", lambda texts: texts.plain(1)
    yield "attention: **single words where most keys are such**, by the other half of the texts", Texts.by_other_half
    for gamma in GAMMAS:
        yield f"attention: scores over length to the power of {gamma:g}", of(gamma=gamma)
    for bonus in BONUSES:
        yield f"attention: single words beside runs, their weight times {bonus:g}", of(bonus=bonus)
    for runs in RUNS:
        yield f"attention: single words beside runs, if in at least {runs} of them", of(bonus=1.0, runs=runs)
    yield "TF-IDF: n-grams of one to three words", grams
    yield "TF-IDF: single words", counted


def main(files: Sequence[str], kept: Path | None) -> None:
    """Print both tables."""
    corpora = [Texts(file, kept) for file in files]
    line = " ".join(Path(file).name for file in files)
    print(f"Made by `python -m tools.single_words {line}` on {datetime.now(UTC):%Y-%m-%d}, with all-MiniLM-L6-v2 and "
          "the heads shipped for it. F1 of the first ten phrases, against all that were given.\n")  # fmt: skip
    about = [
        f"{texts.name}: {len(texts.documents)} texts, {len(_all(texts.given)) / len(texts.documents):.1f} keys each, "
        f"{single_share(_all(texts.given)):.0%} of them single words"
        for texts in corpora
    ]
    print("; ".join(about) + ".\n")
    print("| rule | " + " | ".join(texts.name for texts in corpora) + " |")
    print("|---|" + "--:|" * len(corpora))
    found: dict[str, list[Ranked]] = {}
    for name, rank in rules():
        found[name] = [rank(texts) for texts in corpora]
        cells = [f"{texts.f1(lists):.3f}" for texts, lists in zip(corpora, found[name], strict=True)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    ours, theirs = (found[name] for name in found if name.endswith(("as it is", "three words")))
    print("\n| texts | of | attention | TF-IDF of n-grams |\n|---|--:|--:|--:|")
    for texts, own, other in zip(corpora, ours, theirs, strict=True):
        for kind, keep in kinds(texts).items():
            if len(keep) > 10:
                cells = f"{len(keep)} | {texts.f1(own, keep):.3f} | {texts.f1(other, keep):.3f}"
                print(f"| {texts.name}: {kind} | {cells} |")


def kinds(texts: Texts) -> dict[str, list[int]]:
    """Texts by their length, and by how many of their keys are single words."""
    words = [len(document.words) for document in texts.documents]
    single = [single_share(given.all) for given in texts.given]
    every = range(len(words))
    return {
        f"fewer than {SHORT} words": [at for at in every if words[at] < SHORT],
        f"{SHORT} to {LONG} words": [at for at in every if SHORT <= words[at] < LONG],
        f"{LONG} words and more": [at for at in every if words[at] >= LONG],
        "up to half of the keys single words": [at for at in every if single[at] <= 0.5],
        "more than half": [at for at in every if single[at] > 0.5],
    }


def _all(given: Sequence[Given]) -> list[Stems]:
    return [phrase for one in given for phrase in one.all]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--kept", type=Path)
    asked = parser.parse_args()
    main(asked.files, asked.kept)
