"""Roles by place and by copy: which key does a head look at, by where it stands or by what stood there before?

Each function sums over the queries that have such a key. A query's *earlier occurrences* are all places before it
with the same piece, so that a head that spreads over several copies loses nothing; what *followed* them is one place
further on, and never the query itself.
"""

from __future__ import annotations

import torch

from attlas.studies.roles.seen import Seen, Sums


def previous(seen: Seen) -> Sums:
    """The weight on the piece before, over all pieces of text that have a piece of text before them."""
    real = seen.queries.ordinary
    has = torch.zeros_like(real)
    has[:, 1:] = real[:, 1:] & real[:, :-1]
    before = torch.eye(real.shape[1], dtype=torch.bool, device=real.device).roll(-1, 1).tril(-1)
    return seen.mass(before[None].expand(len(real), -1, -1), has)


def following(seen: Seen) -> Sums:
    """The weight on the piece after, over all pieces of text that have a piece of text after them."""
    real = seen.queries.ordinary
    has = torch.zeros_like(real)
    has[:, :-1] = real[:, 1:] & real[:, :-1]
    after = torch.eye(real.shape[1], dtype=torch.bool, device=real.device).roll(1, 1).triu(1)
    return seen.mass(after[None].expand(len(real), -1, -1), has)


def own(seen: Seen) -> Sums:
    """The weight on the piece itself, over all pieces of text."""
    real = seen.queries.ordinary
    same = torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
    return seen.mass(same[None].expand(len(real), -1, -1), real)


def duplicate(seen: Seen) -> Sums:
    """The weight on earlier occurrences of a query's piece, over queries that have one."""
    earlier = seen.queries.earlier
    return seen.mass(earlier, earlier.any(2))


def prefix_matching(seen: Seen) -> Sums:
    """The weight on what followed earlier occurrences of a query's piece, over queries that have one."""
    following = seen.queries.after_earlier
    return seen.mass(following, following.any(2))
