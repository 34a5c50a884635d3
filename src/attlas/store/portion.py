"""A portion of a run on disk: what a part of several leaves, to be merged with the others.

It is no result: ``part.json`` says which study it is of, with which plan, which of how many parts, and which bundles
lie beside it, as checkpoints, each with its checksum. A bundle is *whole* where it is already that of all parts, as
those are that a later stage builds on; a portion of which all bundles are whole is a stage that was merged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attlas.errors import StoreError
from attlas.store.checkpoint import Checkpoint, checkpoint_file, load_checkpoint
from attlas.store.plain import plain
from attlas.whole import write_whole

PART = "part.json"
SCHEMA = 1


@dataclass(frozen=True)
class Portion:
    """What ``part.json`` says. ``number`` and ``count`` are those of the part, 0 of 0 for a merged stage; ``bundles``
    are the checksums of all that lie here, by name; ``known`` are those that are whole, with the checksum that each
    had where it was merged; ``command`` is what the command line was given, where there was one.

    >>> Portion.from_json(Portion("survey", {"seed": 0}, 3, 16).to_json()).number
    3
    """

    study: str
    plan: Mapping[str, Any]
    number: int
    count: int
    bundles: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)
    command: Mapping[str, Any] | None = None

    @property
    def why_no_result(self) -> str:
        """What it is instead of a result, and what to do with it.

        >>> Portion("survey", {}, 3, 16).why_no_result
        'this is part 3 of 16 of a survey and no result; join all of them with attlas merge FOLDERS --out RESULT'
        """
        if not self.number:
            return (
                f"this is a merged stage of {self.study} and no result; do all parts once more with --after and this "
                "folder, and join them with attlas merge"
            )
        of = f"part {self.number} of {self.count} of a {self.study}"
        return f"this is {of} and no result; join all of them with attlas merge FOLDERS --out RESULT"

    def to_json(self) -> str:
        """As indented JSON with a checksum of itself."""
        fields = plain({**asdict(self), "schema": SCHEMA}, PART)
        return json.dumps({**fields, "checksum": _checksum(fields)}, indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, where: str = PART) -> Portion:
        """Read it back; ``where`` is named in errors.

        >>> Portion.from_json("{}", "out/part.json")
        Traceback (most recent call last):
            ...
        attlas.errors.StoreError: out/part.json: it does not agree with its own checksum, so it was damaged or ...
        """
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            raise StoreError(f"{where}: this is not JSON; the part must be made again") from None
        if not isinstance(fields, dict) or fields.pop("checksum", None) != _checksum(fields):
            raise StoreError(
                f"{where}: it does not agree with its own checksum, so it was damaged or edited; make the part again"
            )
        if fields.pop("schema", None) != SCHEMA:
            raise StoreError(f"{where}: another version of attlas wrote it; make all parts with one version")
        return cls(**fields)


def save_portion(folder: Path, portion: Portion) -> None:
    """Write down what lies in a folder.

    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp())
    >>> save_portion(out, Portion("survey", {}, 1, 2))
    >>> read_portion(out).count
    2
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / PART, portion.to_json())


def read_portion(folder: Path) -> Portion | None:
    """What lies in a folder, or None where it is no portion.

    >>> read_portion(Path("no such folder")) is None
    True
    """
    path = folder / PART
    try:
        return Portion.from_json(path.read_text(encoding="utf-8"), str(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read ({error}); make the part again") from None


def checksum_of(folder: Path, name: str) -> str:
    """The checksum of a bundle that lies in a folder."""
    return hashlib.sha256(checkpoint_file(folder, name).read_bytes()).hexdigest()


def load_bundle(folder: Path, name: str, checksum: str) -> Checkpoint:
    """A bundle of a portion; one that is missing or damaged is refused.

    >>> load_bundle(Path("out"), "scoring", "")
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: out/checkpoint/state-scoring.npz is missing; make this part again
    """
    path = checkpoint_file(folder, name)
    if not path.exists():
        raise StoreError(f"{path} is missing; make this part again")
    if checksum_of(folder, name) != checksum:
        raise StoreError(f"{path}: it does not agree with its checksum, so it was damaged; make this part again")
    checkpoint = load_checkpoint(folder, name)
    assert checkpoint is not None
    return checkpoint


def _checksum(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
