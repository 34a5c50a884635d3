"""Trained probes on disk, so that one case can be followed through the layers later.

Kept are the cumulative probes on gold labels of a run's first seed, in half precision, in one safetensors file beside
the tables; its header says which model and labels they are for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attlas.capture import Subject
from attlas.errors import CapabilityError, StoreError, TextError
from attlas.models import Example
from attlas.probes.edges.series import Asked, Origin, Series, Spec, allowed_for
from attlas.probes.edges.states import Mixable, evened
from attlas.store.tensors import load_arrays, save_arrays
from attlas.text import Span

FILE = "probes.safetensors"


@dataclass(frozen=True)
class Kept:
    """The probes of one run: what they were trained for, and the series itself.

    ``levels`` are the layers up to which each probe mixes.

    >>> series = Series(torch.ones(1, 1, dtype=torch.bool), size=8, labels=1)
    >>> Kept("pos", ("NN",), False, {"name": "tiny"}, "layers", (0,), (1.0,), "usual", series).task
    'pos'
    """

    task: str
    labels: tuple[str, ...]
    paired: bool
    model: Mapping[str, Any]
    over: str
    levels: tuple[int, ...]
    scales: tuple[float, ...]
    lengths: str
    series: Series

    def probabilities(
        self, subject: Subject, example: Example, first: Span, second: Span | None = None
    ) -> NDArray[np.float64]:
        """What each probe says of a span of words, or a pair of spans: (level, label), each between 0 and 1."""
        if self.paired != (second is not None):
            wanted = "a pair of spans" if self.paired else "a single span"
            raise TextError(f"the task {self.task} is asked about {wanted}")
        mixable = Mixable(subject, self.over)
        if len(mixable.origins) != len(self.scales):
            raise CapabilityError(
                f"{subject.name} has {len(mixable.origins)} {self.over} to mix, and the probes of {self.task} were "
                f"trained on {len(self.scales)}; give the model of the run"
            )
        words = np.array(example.source.segmentation.words)
        spans = []
        for side in (first, second) if second is not None else (first,):
            places = np.flatnonzero((words >= side.start) & (words < side.stop))
            if not len(places):
                raise TextError(f"the words {side.start}:{side.stop} have no piece of their own in {subject.name}")
            spans += [int(places[0]), int(places[-1]) + 1]
        with torch.no_grad():
            found = mixable.expand(mixable.capture(subject.pieces.batch([example], subject.device)))
            scales = torch.tensor(self.scales, device=found.device, dtype=found.dtype)
            states = evened(found, scales, self.lengths).permute(2, 0, 1, 3).cpu()
            asked = Asked(states, torch.tensor([[spans]]), torch.ones(1, 1, dtype=torch.bool))
            scores = self.series(asked)[:, 0].double()
        return np.asarray(torch.sigmoid(scores).numpy())


def keep(
    path: Path,
    series: Series,
    specs: Sequence[Spec],
    origins: Sequence[Origin],
    scales: Sequence[float],
    about: Mapping[str, Any],
) -> None:
    """Write the cumulative probes on gold labels; ``about`` names task, labels, model and what is mixed.

    >>> import tempfile
    >>> folder, specs = Path(tempfile.mkdtemp()), [Spec("gold", "cumulative", 0)]
    >>> about = {"task": "pos", "labels": ["NN"], "model": {"name": "tiny"}, "over": "layers", "lengths": "usual"}
    >>> series = Series(torch.ones(1, 1, dtype=torch.bool), size=8, labels=1)
    >>> keep(folder / FILE, series, specs, [Origin(0)], [1.0], about)
    >>> load_kept(folder).labels
    ('NN',)
    """
    chosen = [number for number, spec in enumerate(specs) if spec[:2] == ("gold", "cumulative")]
    arrays = {name: value.detach()[chosen].half().cpu().numpy() for name, value in series.named_parameters()}
    numbers = {
        "levels": [specs[number].layer for number in chosen],
        "origins": [list(origin) for origin in origins],
        "scales": [float(scale) for scale in scales],
        "paired": series.sides == 2,
    }
    save_arrays(path, arrays, {**about, **numbers})


def load_kept(folder: Path) -> Kept:
    """The probes that a run left in its folder.

    >>> load_kept(Path("no such folder"))
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: no such folder: there are no probes here (probes.safetensors); give the --out of a ...
    """
    found = load_arrays(folder / FILE)
    if found is None:
        raise StoreError(f"{folder}: there are no probes here ({FILE}); give the --out of a run of attlas layers")
    arrays, about = found
    try:
        origins = [Origin(*origin) for origin in about["origins"]]
        levels = tuple(int(level) for level in about["levels"])
        allowed = allowed_for([Spec("gold", "cumulative", level) for level in levels], origins)
        _, size, width = arrays["project.0"].shape
        labels = tuple(about["labels"])
        series = Series(
            allowed, size, len(labels), paired=about["paired"], width=width, hidden=arrays["inner"].shape[-1]
        )
        with torch.no_grad():
            for name, value in series.named_parameters():
                value.copy_(torch.from_numpy(arrays[name].astype(np.float32)))
        return Kept(
            about["task"], labels, bool(about["paired"]), about["model"], about["over"], levels,
            tuple(about["scales"]), about["lengths"], series.eval(),
        )  # fmt: skip
    except (KeyError, ValueError, RuntimeError, TypeError) as error:
        raise StoreError(f"{folder / FILE}: these probes cannot be read ({error}); make the run again") from None
