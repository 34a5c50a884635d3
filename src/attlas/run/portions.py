"""Runs in parts: every part takes its share of the batches, and the parts are merged later.

Part k of n takes the batches whose number leaves k - 1 when divided by n, so that the parts together have seen what
the whole run sees, each batch once. A part keeps the bundles of its share and makes no tables of them: as soon as a
study asks such a bundle for its numbers it has come as far as a part can (:class:`Unmerged`). To merge is to call the
study once more, with an engine that answers with the merged bundles (:class:`Merged`). Where what comes later depends
on them (heads are chosen on some texts, and then scored on others) that ends a *stage*: its merged bundles are kept,
and the parts of the next stage begin with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from attlas.errors import PlanError
from attlas.run.course import Keeping
from attlas.run.local import LOCAL
from attlas.run.plan import differences
from attlas.run.source import Handed, Place, Source
from attlas.run.spreading import Share
from attlas.stats.accumulator import require_same_configuration
from attlas.stats.bundle import Bundle
from attlas.store.checkpoint import Checkpoint, checkpoint_file, save_checkpoint
from attlas.store.portion import Portion, checksum_of, load_bundle, read_portion, save_portion

if TYPE_CHECKING:
    from attlas.run.engine import Part
    from attlas.run.session import Run


class Unmerged(BaseException):
    """A run has come as far as it can before its parts are merged; nothing in a study may hold this up."""


class Left(NamedTuple):
    """What a run leaves that is no result yet: one part, or a stage of which all parts were merged.

    >>> print(Left(Path("out"), "survey", Share(3, 16)))
    part 3/16 of survey: out; attlas merge joins all of them
    """

    folder: Path
    study: str
    share: Share | None

    def __str__(self) -> str:
        if self.share is not None:
            return f"part {self.share} of {self.study}: {self.folder}; attlas merge joins all of them"
        return (
            f"a stage of {self.study} was merged: {self.folder}; what comes next builds on it, so do all parts once "
            f"more with --after {self.folder}, and merge those"
        )


class Shared:
    """The batches of a source that belong to one part.

    >>> from attlas.run.source import Listed
    >>> part = Shared(Listed("abcde", [1] * 5, budget=1), Share(2, 3))
    >>> [batch.number for batch in part.from_place()], part.batches, part.pieces
    ([1, 4], 2, 2)
    """

    def __init__(self, source: Source[Any], share: Share) -> None:
        self._source, self._share = source, share
        self.fingerprint = source.fingerprint
        known = source.batches is not None
        sizes = [batch.pieces for batch in self.from_place()] if known else []
        self.batches = len(sizes) if known else None
        self.pieces = sum(sizes) if known else None

    def from_place(self, place: Place = None) -> Iterator[Handed[Any]]:
        """Those after a place."""
        for batch in self._source.from_place(place):
            if batch.number % self._share.parts == self._share.number - 1:
                yield batch


def portion_of(source: Source[Any], share: Share) -> Source[Any]:
    """The batches of one part, as a source that knows better says it (one that streams need not read what is of other
    parts), or by their numbers.

    >>> from attlas.run.source import Listed
    >>> portion_of(Listed("abcde", [1] * 5, budget=1), Share(2, 3)).batches
    2
    """
    own = getattr(source, "portion", None)
    return Shared(source, share) if own is None else own(share.number, share.parts)


class _Partial(Bundle):
    """A bundle of a part alone, which tells nobody its numbers."""

    def __init__(self) -> None:
        super().__init__({})

    def _refuse(self, *asked: Any, **how: Any) -> NoReturn:
        raise Unmerged

    __getitem__ = __iter__ = __len__ = pooled = update = merge = result = state = _refuse
    configuration = property(_refuse)


class PartOf:
    """The engine of one part. ``after`` is the folder of a merged stage, whose bundles are known.

    >>> PartOf(Share(1, 2)).share.parts
    2
    """

    def __init__(self, share: Share, after: Path | str | None = None) -> None:
        self.share, self.bundles, self.known = share, dict[str, str](), dict[str, str]()
        self._after = None if after is None else Path(after)
        self._stage = None if self._after is None else _merged_stage(self._after)

    def require_plan(self, run: Run) -> None:
        """Refuse a stage of another plan."""
        if self._stage is not None:
            _require_same_plan(self._stage.plan, run.plan.to_dict(), str(self._after))

    def carry_out(self, part: Part[Any], source: Source[Any], keeping: Keeping) -> Bundle:
        """Take the batches of this part through a part of the study and keep its bundle; one of an earlier stage is
        known."""
        name, out = keeping.name, keeping.out
        assert out is not None  # which was asked for
        if self._stage is not None and self._after is not None and name in self._stage.known:
            checkpoint = load_bundle(self._after, name, self._stage.bundles[name])
            _require_same_batches(checkpoint, source, self._after)
            save_checkpoint(out, keeping.plan.to_dict(), checkpoint.state, checkpoint.progress, name)
            self.bundles[name], self.known[name] = checksum_of(out, name), self._stage.known[name]
            return Bundle.from_state(checkpoint.state)
        if getattr(part, "stepwise", False) or hasattr(part, "read"):
            why = "goes step by step" if getattr(part, "stepwise", False) else "writes files that later steps read"
            raise PlanError(f"{part.name} cannot be done in parts: it {why}; leave out --part")
        bundle = LOCAL.carry_out(part, portion_of(source, self.share), keeping)
        if not checkpoint_file(out, name).exists():  # not a single batch fell to this part
            nothing = {"batches": 0, "place": None, "pieces": 0, "seconds": 0.0, "order": source.fingerprint}
            save_checkpoint(out, keeping.plan.to_dict(), bundle.state(), nothing, name)
        self.bundles[name] = checksum_of(out, name)
        return _Partial()

    def leave(self, run: Run) -> Left:
        """Write down what this part has done."""
        assert run.out is not None
        plan = run.plan.to_dict()
        save_portion(run.out, Portion(run.study, plan, *self.share[:2], self.bundles, self.known, self.share.command))
        return Left(run.out, run.study, self.share)


class Merged:
    """The engine that answers with what all parts together have seen.

    Whatever does not belong together is refused at once: parts that are missing or there twice, of other plans, or
    damaged. In Python it is given to the call that made the parts: ``survey(model, texts, engine=Merged(folders))``.

    >>> Merged([])
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: there is nothing to merge; give the folders of all parts
    """

    def __init__(self, folders: Sequence[Path | str]) -> None:
        self.folders = {Path(folder): _portion(Path(folder)) for folder in folders}
        if not self.folders:
            raise PlanError("there is nothing to merge; give the folders of all parts")
        self.first = next(iter(self.folders.values()))
        _require_all(self.folders, len(folders))
        self.merged: dict[str, str] = {}

    def require_plan(self, run: Run) -> None:
        """Refuse to go on with another model or corpus than the parts were made of."""
        _require_same_plan(self.first.plan, run.plan.to_dict(), str(next(iter(self.folders))))

    def carry_out(self, part: Part[Any], source: Source[Any], keeping: Keeping) -> Bundle:
        """The merged bundle of a part of the study; where the parts do not have it, a stage ends."""
        name = keeping.name
        if name not in self.first.bundles:
            raise Unmerged
        bundle = part.empty()
        totals: Counter[str] = Counter()
        for folder, portion in sorted(self.folders.items(), key=lambda each: each[1].number):
            checkpoint = load_bundle(folder, name, portion.bundles[name])
            _require_same_batches(checkpoint, source, folder)
            other = Bundle.from_state(checkpoint.state)
            require_same_configuration(bundle, other)
            bundle.merge(other)
            totals.update({key: checkpoint.progress[key] for key in ("batches", "pieces", "seconds")})
            if name in portion.known:  # and the same in all parts
                break
        if source.batches is not None and totals["batches"] != source.batches:
            raise PlanError(f"the parts have {totals['batches']} batches of {name or 'the texts'}, and there are "
                            f"{source.batches}; make the parts again")  # fmt: skip
        if keeping.out is not None:
            ends = () if source.batches is None else (batch.after for batch in source.from_place())
            progress = {**totals, "place": max(ends, default=None), "order": source.fingerprint}
            save_checkpoint(keeping.out, keeping.plan.to_dict(), bundle.state(), progress, name)
            self.merged[name] = checksum_of(keeping.out, name)
        return bundle

    def leave(self, run: Run) -> Left:
        """Keep a merged stage for the parts of the next."""
        if run.out is None:
            raise PlanError("only a stage can be merged of these parts, which has to be kept; give a folder (--out)")
        plan, command = run.plan.to_dict(), self.first.command
        save_portion(run.out, Portion(run.study, plan, 0, 0, self.merged, self.merged, command))
        return Left(run.out, run.study, None)


def _portion(folder: Path) -> Portion:
    portion = read_portion(folder)
    if portion is None:
        raise PlanError(f"{folder}: no part of a run lies here; give the folders that --part has written")
    if not portion.number:
        raise PlanError(f"{folder}: this is a merged stage; give the parts that were made --after it")
    return portion


def _merged_stage(folder: Path) -> Portion:
    portion = read_portion(folder)
    if portion is None or portion.number:
        raise PlanError(f"{folder}: no merged stage lies here; give what attlas merge has written (--after)")
    return portion


def _require_all(folders: Mapping[Path, Portion], given: int) -> None:
    """Refuse parts that do not make up one whole run."""
    (place, first), *others = folders.items()
    for folder, portion in others:
        if portion.count != first.count:
            raise PlanError(
                f"{folder}: this is one of {portion.count} parts, and {place} one of {first.count}; parts of one "
                "division belong together"
            )
        _require_same_plan(first.plan, portion.plan, f"{place} and {folder}")
        if portion.known != first.known or portion.bundles.keys() != first.bundles.keys():
            raise PlanError(f"{place} and {folder} are of different stages; give parts of one")
    numbers = Counter(portion.number for portion in folders.values())
    doubled = sorted(number for number, times in numbers.items() if times > 1)
    missing = [number for number in range(1, first.count + 1) if number not in numbers]
    if given != len(folders):
        raise PlanError("a folder was given twice; give each part once")
    if doubled:
        raise PlanError(f"of {first.count} parts number {_listed(doubled)} came more than once; give each once")
    if missing:
        one = len(missing) == 1
        raise PlanError(
            f"of {first.count} parts number{' ' if one else 's '}{_listed(missing)} {'is' if one else 'are'} missing"
        )


def _require_same_plan(one: Mapping[str, Any], other: Mapping[str, Any], where: str) -> None:
    changed = differences(_without_part(one), _without_part(other))
    if changed:
        raise PlanError(f"{where}: the plans are not the same ({'; '.join(changed)}); they cannot be merged")


def _without_part(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {**plan, "batching": {key: value for key, value in plan["batching"].items() if key != "part"}}


def _require_same_batches(checkpoint: Checkpoint, source: Source[Any], folder: Path) -> None:
    if checkpoint.progress["order"] != source.fingerprint:
        raise PlanError(f"{folder}: the texts no longer fall into the batches of this part; use the same texts")


def _listed(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"{', '.join(map(str, numbers[:5]))}{more}"
