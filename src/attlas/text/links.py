"""Links between the words of a sentence and of its translation: counted against gold, put together, and guessed.

A link is (source word, target word), both counted from 0. One model aligns in one direction only: *forward*, each
target word has at most one source word; *backward*, each source word has at most one target word. Two such
alignments of a pair are *symmetrised*: what both have (the intersection: few links, and most of them right), what
either has (the union), or a path between the two, grow-diag-final-and, the usual one. That starts from the
intersection and takes in links of the union that lie next to a link it has already, diagonals included, as long as
they give a word its first link; and at last those between two words that have none.
"""

from __future__ import annotations

from attlas.text.document import Links

Pairs = frozenset[tuple[int, int]]
_AROUND = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def marks(predicted: Pairs, gold: Links) -> tuple[int, int, int, int]:
    """What the alignment scores are made of: links predicted and sure, predicted and possible, predicted, and sure.

    >>> gold = Links(sure=frozenset({(0, 0), (1, 1)}), possible=frozenset({(2, 1)}))
    >>> marks(frozenset({(0, 0), (2, 1), (2, 2)}), gold)
    (1, 2, 3, 2)
    """
    return len(predicted & gold.sure), len(predicted & gold.possible), len(predicted), len(gold.sure)


def written(links: Pairs) -> str:
    """Links in the notation of Pharaoh, sorted.

    >>> written(frozenset({(10, 0), (2, 3)}))
    '2-3 10-0'
    """
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def intersection(forward: Pairs, backward: Pairs) -> Pairs:
    """The links that both directions have.

    >>> sorted(intersection(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 0)})))
    [(0, 0)]
    """
    return forward & backward


def union(forward: Pairs, backward: Pairs) -> Pairs:
    """The links that either direction has.

    >>> sorted(union(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 0)})))
    [(0, 0), (1, 0), (1, 1)]
    """
    return forward | backward


def grow_diag_final_and(forward: Pairs, backward: Pairs, sizes: tuple[int, int]) -> Pairs:
    """The intersection, grown by neighbouring links of the union, then by links between two words without any.

    ``sizes`` are the two numbers of words. Links are visited target word by target word, from the first, as the
    usual definition has it, until a whole round adds none; then, with "final-and", those of ``forward`` before those
    of ``backward``.

    >>> forward, backward = frozenset({(0, 0), (1, 1), (1, 2), (4, 4)}), frozenset({(0, 0), (1, 1), (3, 3)})
    >>> sorted(grow_diag_final_and(forward, backward, (5, 5)))
    [(0, 0), (1, 1), (1, 2), (3, 3), (4, 4)]
    """
    found, either = set(forward & backward), forward | backward
    sources, targets = {i for i, _ in found}, {j for _, j in found}
    growing = True
    while growing:
        growing = False
        for j in range(sizes[1]):
            for i in range(sizes[0]):
                if (i, j) not in found:
                    continue
                for down, across in _AROUND:
                    near = (i + across, j + down)
                    if near in either and near not in found and (near[0] not in sources or near[1] not in targets):
                        found.add(near)
                        sources.add(near[0])
                        targets.add(near[1])
                        growing = True
    for direction in (forward, backward):
        for i, j in sorted(direction, key=lambda link: (link[1], link[0])):
            if i not in sources and j not in targets:
                found.add((i, j))
                sources.add(i)
                targets.add(j)
    return frozenset(found)


def diagonal(sizes: tuple[int, int]) -> Pairs:
    """Each target word linked to the source word at the same relative place: what knowing nothing but length gives.

    >>> sorted(diagonal((2, 4)), key=lambda link: link[1])
    [(0, 0), (0, 1), (1, 2), (1, 3)]
    """
    source, target = sizes
    return frozenset(((2 * j + 1) * source // (2 * target), j) for j in range(target)) if source else frozenset()


SYMMETRIES = ("intersection", "grow-diag-final-and", "union")


def symmetrise(how: str, forward: Pairs, backward: Pairs, sizes: tuple[int, int]) -> Pairs:
    """The links of two directions put together by name: one of :data:`SYMMETRIES`.

    >>> both = frozenset({(0, 0), (1, 1)}), frozenset({(0, 0)})
    >>> [len(symmetrise(how, *both, (2, 2))) for how in SYMMETRIES]
    [1, 2, 2]
    """
    if how == "intersection":
        return intersection(forward, backward)
    if how == "union":
        return union(forward, backward)
    if how == "grow-diag-final-and":
        return grow_diag_final_and(forward, backward, sizes)
    raise ValueError(f"{how!r} is none of {', '.join(SYMMETRIES)}")
