"""How a run is spread: over the workers of an engine, or over parts that are merged later.

What was asked for is checked before any work is done (:func:`check_spread`), and made into the engine that a run
carries its parts out with (:func:`engine_for`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from attlas.errors import PlanError

if TYPE_CHECKING:
    from attlas.run.engine import Engine

RAY = "ray"
ASKED = ("engine", "part")  # by which spreading is asked for
DETAILS = ("workers", "threads", "tree", "after")  # and what is said of it


class Share(NamedTuple):
    """One part of several, counted from 1, and what the command line was given, so that it can be called again.

    >>> str(Share(3, 16))
    '3/16'
    """

    number: int
    parts: int
    command: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.number}/{self.parts}"


class Ended(BaseException):
    """A run has ended with something that is no result yet (:class:`attlas.run.portions.Left`), and says with what.

    >>> Ended("a part").left
    'a part'
    """

    def __init__(self, left: Any) -> None:
        super().__init__(left)
        self.left = left


def share_of(written: str | Share) -> Share:
    """The part that somebody asks for.

    >>> share_of("3/16")
    Share(number=3, parts=16, command=None)
    >>> share_of("4/3")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: --part 4/3 is none of 3 parts; write 1/3 to 3/3
    """
    if isinstance(written, Share):
        return written
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", str(written))
    if match is None or int(match[2]) < 1:
        raise PlanError(f"--part {written} is no part; write for example 3/16 for the third of sixteen")
    number, count = int(match[1]), int(match[2])
    if not 1 <= number <= count:
        raise PlanError(f"--part {written} is none of {count} parts; write 1/{count} to {count}/{count}")
    return Share(number, count)


def check_spread(study: str, given: Mapping[str, Any], alone: str = "", whole: str = "") -> None:
    """Refuse what cannot be spread as it was asked: a study (by the name of its function) that is done ``alone`` or
    as a ``whole``, for the reason that is given, an engine that is not known, options that go without their engine.

    >>> check_spread("tune", {"engine": "ray"}, alone="it trains a model step by step")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: tune cannot be spread over workers: it trains a model step by step; leave out --engine
    >>> check_spread("survey", {"engine": "spark"})
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: there is no engine 'spark'; give local, ray, or ray://HOST:PORT (--engine)
    """
    engine, part = given.get("engine", "local"), given.get("part")
    study = study.removeprefix("make_").replace("_", " ")
    if isinstance(engine, str) and engine not in ("local", RAY) and not re.fullmatch(rf"{RAY}://.+", engine):
        raise PlanError(f"there is no engine {engine!r}; give local, ray, or ray://HOST:PORT (--engine)")
    if engine != "local" and alone:
        raise PlanError(f"{study} cannot be spread over workers: {alone}; leave out --engine")
    if engine == "local":
        extra = [f"--{name}" for name in ("workers", "threads", "tree") if given.get(name)]
        if extra:
            raise PlanError(f"{extra[0]} goes with the workers of Ray; give --engine ray, or leave it out")
    if part is None:
        if given.get("after") is not None:
            raise PlanError("--after goes with --part: it names the merged stage that the parts of the next build on")
    else:
        share_of(part)
        if alone or whole:
            raise PlanError(f"{study} cannot be done in parts: {alone or whole}; leave out --part")
        if engine != "local":
            raise PlanError("--part is for runs without workers; give --engine or --part, but not both")
        if given.get("out") is None:
            raise PlanError("a part is written down, to be merged with the others; give its folder (--out)")


def engine_for(given: Mapping[str, Any]) -> AbstractContextManager[Engine]:
    """The engine that was asked for, as a context in which it works.

    >>> with engine_for({"engine": "local"}) as engine:
    ...     type(engine).__name__
    'Local'
    """
    from attlas.run.local import LOCAL

    if given.get("part") is not None:
        from attlas.run.portions import PartOf

        return nullcontext(PartOf(share_of(given["part"]), given.get("after")))
    engine = given.get("engine", "local")
    if not isinstance(engine, str):
        return nullcontext(engine)
    if engine == "local":
        return nullcontext(LOCAL)
    from attlas.run.ray import RayEngine

    address = engine.removeprefix(RAY).removeprefix("://")
    return RayEngine(
        address, workers=given.get("workers"), threads=given.get("threads") or 1, tree=bool(given.get("tree"))
    )
