"""Calls in forked processes, each with a limit of processor time and of memory.

A child carries out one call after another and tells each outcome through a pipe. A call that kills its child, by its
time, its memory or a crash, costs that child alone: the next one goes on after it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

SECONDS = 2.0
MEGABYTES = 500
LONGEST = 60  # seconds that a call may take by the clock
FAULTS = ("traceback", "too slow", "too large", "crash", "5xx", "hang", "leak", "wrong")
FAULTS += ("no sentence", "accepted", "too late", "half a result")  # of command lines


class Fault(Exception):
    """What a call raises that has seen something at fault: its kind, one of :data:`FAULTS`, and more in words."""


@dataclass(frozen=True)
class Outcome:
    """What came of one call: its kind, and more of it in words.

    >>> Outcome(3, "crash", "signal 11").at_fault
    True
    """

    index: int
    kind: str
    told: str

    @property
    def at_fault(self) -> bool:
        """Whether it must not be."""
        return self.kind in FAULTS


def forked(
    call: Callable[[int], str], indices: Sequence[int], seconds: float = SECONDS, megabytes: int = MEGABYTES
) -> Iterator[Outcome]:
    """The outcomes of a call for each index; the call gives the kind of its outcome and raises what is at fault.
    A call that waits for something is ended when a minute has passed.

    >>> [outcome.kind for outcome in forked(lambda index: "well" if index else str(1 / index), [1, 0, 2])]
    ['well', 'traceback', 'well']
    """
    left = list(indices)
    while left:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            _carry_out(call, left, writing, seconds, megabytes)
        os.close(writing)
        told = 0
        with open(reading, encoding="utf-8") as lines:
            for line in lines:
                yield Outcome(*json.loads(line))
                told += 1
        _, status = os.waitpid(child, 0)
        if told < len(left):
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            slow = number in (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM)
            yield Outcome(left[told], "too slow" if slow else "crash", f"the process ended by signal {number}")
            told += 1
        left = left[told:]


def _carry_out(
    call: Callable[[int], str], indices: Sequence[int], writing: int, seconds: float, megabytes: int
) -> None:
    """What a child does; it never comes back."""
    try:
        _limit_memory(megabytes)
        for index in indices:
            signal.alarm(LONGEST)
            outcome = _outcome(call, index, seconds, megabytes)
            signal.alarm(0)
            os.write(writing, (json.dumps(outcome) + "\n").encode())
    finally:
        os._exit(0)


def _outcome(call: Callable[[int], str], index: int, seconds: float, megabytes: int) -> tuple[int, str, str]:
    start = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(start + seconds) + 1, resource.RLIM_INFINITY))
    try:
        kind, told = call(index), ""
    except Fault as fault:
        kind, told = fault.args
    except MemoryError:
        kind, told = "too large", f"over {megabytes} MB"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        kind, told = "traceback", f"{type(error).__name__}: {str(error)[:200]!r} ({where.filename}:{where.lineno})"
    took = time.process_time() - start
    if took > seconds and kind not in FAULTS:
        kind, told = "too slow", f"{took:.1f} s"
    return index, kind, told


def _limit_memory(megabytes: int) -> None:
    with open("/proc/self/statm", encoding="ascii") as pages:
        base = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (base + megabytes * 10**6, resource.RLIM_INFINITY))
