"""The engine that spreads a pass over the workers of a Ray cluster.

Each worker is an actor that holds the model: a part is sent to it once, with its weights through the object store
(:mod:`attlas.run.shipping`), and then batches, one by one and by need. What comes back of a batch is the state of a
bundle that has seen this batch alone. Bundles are merged here, in batch order, which gives the bits of the engine for
one machine where that has as many threads as a worker has; or as a tree, where workers first merge those of
neighbouring batches, which differs in the last digits and leaves less to do here. A worker that dies, alone or with
its node, is replaced, and its batches are done again; what it may have left is not looked at any more, so that
nothing counts twice. Checkpoints are those of the engine for one machine.

Ray places the workers, moves the bytes and says who died; which batch is next is :mod:`attlas.run.handing`.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attlas.errors import AttlasError, PlanError, first_line
from attlas.run.alike import Software, require_alike
from attlas.run.cluster import connect, import_ray
from attlas.run.course import Course, Keeping
from attlas.run.handing import Group, HandOut
from attlas.run.local import LOCAL
from attlas.run.shipping import Shipment, Shipper, Unpacker, filled, thinned
from attlas.stats.bundle import Bundle

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from attlas.run.engine import Part
    from attlas.run.source import Handed, Source
    from attlas.stats.accumulator import State

AHEAD = 2  # batches of a worker at a time: one at work, and one that waits, so that nobody idles
FAN = 8  # bundles that are merged at once, as a tree
TRIES = 10  # how often a batch may be lost
PATIENCE = 60.0  # seconds without any worker


class RayEngine:
    """Workers on a Ray cluster, as a context: that of ``address`` (host and port, or "auto" for the one on this
    machine), or without one a cluster that is started here and ends with the context.

    There are as many ``workers`` as the cluster has room for, unless told, of so many ``threads`` each. With ``tree``
    bundles are merged as a tree.

    >>> RayEngine("nobody:1").__enter__()
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: there is no Ray cluster at nobody:1...
    """

    def __init__(
        self, address: str = "", *, workers: int | None = None, threads: int = 1, tree: bool = False
    ) -> None:
        self.address, self.count, self.threads, self.tree = address, workers, threads, tree
        self._crew: _Crew | None = None
        self._shipper: Shipper[Any] | None = None
        self._began_here = False

    def __enter__(self) -> Self:
        import_ray()
        self._software = Software.here()
        self._began_here = connect(self.address, None if self.count is None else self.count * self.threads)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._crew is not None:
            self._crew.dismiss()
        self._crew = self._shipper = None
        if self._began_here:
            import_ray().shutdown()

    def carry_out(self, part: Part[Any], source: Source[Any], keeping: Keeping) -> Bundle:
        """Take all batches of a source through a part, on the workers, and return its filled bundle.

        A part that goes step by step, each building on the last, is carried out here.
        """
        if getattr(part, "stepwise", False):
            return LOCAL.carry_out(part, source, keeping)
        ray = import_ray()
        with Course(part, source, keeping) as course:
            out: HandOut[Any] = HandOut(
                source.from_place(course.place), together=FAN if self.tree else 1, window=self._window()
            )
            if not out.anything:
                return course.bundle
            if self._shipper is None:
                self._shipper = Shipper(ray.put)
            shipment = self._shipper.pack(part.name, part)
            if self._crew is None:
                self._crew = _Crew(self._number(shipment.gpu), self.threads, shipment.gpu, self._software)
            self._crew.begin(shipment, out)
            empty = part.empty().state()
            while not out.over:
                self._crew.step()
                for group in out.take():
                    self._merge(part, empty, course, out, group)
        return course.bundle

    def _merge(self, part: Part[Any], empty: State, course: Course, out: HandOut[Any], group: Group[Any]) -> None:
        """Take a group whose turn has come into the bundle, or have it done again where it is lost."""
        ray = import_ray()
        try:
            outcome = ray.get(group.joined)
        except ray.exceptions.RayError:
            for batch in group.batches:
                _lose(out, batch)
            return
        writer: Any = part
        if hasattr(part, "read"):
            for batch, read in zip(group.batches, outcome, strict=True):
                writer.write(course.bundle, batch.items, read)
        else:
            course.bundle.merge(Bundle.from_state(filled(outcome, empty)))
        course.done(*group.batches)

    def _number(self, gpu: bool) -> int:
        """How many workers there are to be: those that were asked for, or as many as have room."""
        resources = import_ray().cluster_resources()
        room = int(resources.get("GPU", 0)) if gpu else int(resources.get("CPU", 1) // self.threads)
        return self.count or max(1, room)

    def _window(self) -> int:
        """Batches that may be under way or wait for their turn: enough that one slow worker stops nobody."""
        return 4 * (self.count or self._number(False)) + (2 * FAN if self.tree else 0)


@dataclass(eq=False)
class _Member:
    """One worker, and the batches that it has."""

    actor: Any
    ready: bool = False
    batches: set[int] = field(default_factory=set)


class _Crew:
    """The workers at one part: whom batches are handed to, and what is awaited of whom."""

    def __init__(self, count: int, threads: int, gpu: bool, software: Software) -> None:
        self.count, self.threads, self.gpu, self.software = count, threads, gpu, software
        self.members: list[_Member] = []
        self.awaited: dict[Any, tuple[str, _Member, Any, Any]] = {}  # by reference: what, from whom, of what
        self.failures = 0
        self.idle_since = time.monotonic()

    def begin(self, shipment: Shipment[Any], out: HandOut[Any]) -> None:
        """Turn to a part, and to the batches that are handed out for it."""
        self.shipment, self.number, self.out = import_ray().put(shipment), shipment.number, out
        self.awaited = {ref: said for ref, said in self.awaited.items() if said[0] == "ready"}
        self.idle_since = time.monotonic()
        for member in self.members:
            member.batches.clear()
        while len(self.members) < self.count:
            self.hire()

    def hire(self) -> None:
        """Ask for one more worker, wherever Ray finds room for it."""
        actor = worker_class().options(
            num_cpus=self.threads, num_gpus=1 if self.gpu else 0, scheduling_strategy="SPREAD"
        ).remote(self.threads, sys.path)  # fmt: skip
        member = _Member(actor)
        self.members.append(member)
        self.awaited[actor.ready.remote()] = "ready", member, None, None

    def dismiss(self) -> None:
        """Send all workers home."""
        ray = import_ray()
        for member in self.members:
            with suppress(Exception):  # it may be gone already, and the cluster with it
                ray.kill(member.actor, no_restart=True)

    def step(self) -> None:
        """Hand out what there is to do, and take note of what has come in the meantime."""
        ray = import_ray()
        self._hand_out()
        if self.awaited:
            came, _ = ray.wait(list(self.awaited), num_returns=1, timeout=1.0, fetch_local=False)
            for ref in came:
                self._take_note(ref, *self.awaited.pop(ref))
        for group in self.out.whole():
            self._join(group)
        if any(member.ready for member in self.members):
            self.idle_since = time.monotonic()
        elif time.monotonic() - self.idle_since > PATIENCE:
            raise PlanError(
                f"for {PATIENCE:.0f} seconds the Ray cluster had no room for any worker of {self.threads} threads"
                f"{' and a GPU' if self.gpu else ''}; give it more, or ask for fewer --threads"
            )

    def _hand_out(self) -> None:
        for _ in range(AHEAD):  # all get one before any gets two
            for member in self.members:
                if not member.ready or len(member.batches) >= AHEAD:
                    continue
                batch = self.out.next()
                if batch is None:
                    return
                receipt, outcome = member.actor.take.options(num_returns=2).remote(
                    self.number, [self.shipment], batch.items
                )
                member.batches.add(batch.number)
                self.awaited[receipt] = "batch", member, batch, outcome

    def _take_note(self, ref: Any, what: str, member: _Member, whose: Any, outcome: Any) -> None:
        ray = import_ray()
        try:
            said = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, AttlasError):
                raise error.cause from None
            if not isinstance(error.cause, ray.exceptions.RayError):
                raise
            self._lost(what, member, whose, error)
            return
        except ray.exceptions.RayError as error:
            self._lost(what, member, whose, error)
            return
        if what == "ready":
            require_alike(said, self.software)
            member.ready, self.failures = True, 0
        elif what == "batch":
            member.batches.discard(whose.number)
            self.out.arrived(whose, outcome)
        else:
            whose.joined = outcome

    def _lost(self, what: str, member: _Member, whose: Any, error: Exception) -> None:
        """A worker, or what came of its batch, is gone: it is replaced, and the batch done again."""
        ray = import_ray()
        for batch in [whose] if what == "batch" else whose.batches if what == "join" else []:
            _lose(self.out, batch)
        if member not in self.members:
            return
        self.members.remove(member)
        with suppress(Exception):
            ray.kill(member.actor, no_restart=True)
        self.failures += what == "ready"
        if self.failures > TRIES:
            raise PlanError(f"workers cannot be started on the Ray cluster: {first_line(error)}")
        self.hire()

    def _join(self, group: Group[Any]) -> None:
        """Have the bundles of a group merged by the worker that has least to do; one alone is merged as it is."""
        if len(group.batches) == 1:
            group.joined = group.outcomes[0]
            return
        member = min((each for each in self.members if each.ready), key=lambda each: len(each.batches), default=None)
        if member is None:  # nobody is left for now
            group.joining = False
            return
        receipt, outcome = member.actor.merge.options(num_returns=2).remote(
            self.number, [self.shipment], *group.outcomes
        )
        self.awaited[receipt] = "join", member, group, outcome


def _lose(out: HandOut[Any], batch: Handed[Any]) -> None:
    times = out.lost(batch)
    if times > TRIES:
        raise PlanError(
            f"batch {batch.number} was lost {times} times together with its worker, which most likely had too little "
            "memory; give a smaller --budget"
        )


class Worker:
    """What a worker does; it holds one part at a time, with its model. Modules are also looked for in ``places``, as
    they are where the run is.

    >>> Worker(1, []).ready() == Software.here()
    True
    """

    def __init__(self, threads: int, places: list[str]) -> None:
        import torch

        torch.set_num_threads(threads)
        sys.path.extend(place for place in places if place not in sys.path)
        self._number: int | None = None
        self._part: Any = None
        self._empty: State = {}
        self._unpacker: Unpacker[Any] = Unpacker(lambda ref: import_ray().get(ref))

    def ready(self) -> Software:
        """It is there, and works with this."""
        return Software.here()

    def take(self, number: int, shipment: list[Any], items: Any) -> tuple[bool, Any]:
        """What comes of one batch alone: the state of a bundle that has seen nothing else, thinned, or what was read
        for a part that writes elsewhere. The first of the two that are returned is small, and tells that the second
        is there."""
        self._turn_to(number, shipment)
        if hasattr(self._part, "read"):
            return True, [self._part.read(items)]
        bundle = self._part.empty()
        self._part.update(bundle, items)
        return True, thinned(bundle.state(), self._empty)

    def merge(self, number: int, shipment: list[Any], *outcomes: Any) -> tuple[bool, Any]:
        """The bundles of neighbouring batches as one; or, of parts that write elsewhere, what was read in a row."""
        if isinstance(outcomes[0], list):
            return True, [read for outcome in outcomes for read in outcome]
        self._turn_to(number, shipment)
        first, *others = (Bundle.from_state(filled(outcome, self._empty)) for outcome in outcomes)
        for other in others:
            first.merge(other)
        return True, thinned(first.state(), self._empty)

    def _turn_to(self, number: int, shipment: list[Any]) -> None:
        """Have this part at hand."""
        if number != self._number:
            self._part = self._number = None
            try:
                self._part = self._unpacker.unpack(import_ray().get(shipment[0]))
            except (ImportError, AttributeError) as error:
                raise PlanError(f"a worker lacks what the study is made of: {first_line(error)}") from error
            self._number, self._empty = number, self._part.empty().state()


def worker_class() -> Any:
    """The worker as an actor, which is not restarted by Ray but replaced by us, wherever there is room."""
    return import_ray().remote(max_restarts=0, max_task_retries=0)(Worker)
