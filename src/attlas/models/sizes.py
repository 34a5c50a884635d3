"""How large a model made from nothing is, or one clear sentence about what cannot be."""

from __future__ import annotations

from dataclasses import dataclass

from attlas.errors import PlanError


@dataclass(frozen=True)
class Sizes:
    """How large a model is: so many layers (of an encoder-decoder, on either side), of so many heads and such
    widths.

    >>> Sizes(width=510)
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: a width of 510 cannot be shared by 4 heads; make it a multiple of them, and even
    """

    layers: int = 6
    heads: int = 4
    width: int = 512
    ffn: int = 1024
    dropout: float = 0.3

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "width", "ffn"):
            if getattr(self, name) < 1:
                raise PlanError(f"a model needs {name} of at least 1, not {getattr(self, name)}")
        if self.width % self.heads or self.width % 2:
            raise PlanError(
                f"a width of {self.width} cannot be shared by {self.heads} heads; make it a multiple of them, and "
                "even"
            )
        if not 0 <= self.dropout < 1:
            raise PlanError(f"dropout is a share from 0 up to 1, not {self.dropout}")

    @property
    def spread(self) -> float:
        """The spread of fresh weights: one through the root of the width, and through the fourth root of twice the
        layers, so that many layers together move a state no further than a few.

        >>> round(Sizes().spread * 512**0.5, 3), round(Sizes(layers=1).spread * 512**0.5, 3)
        (0.537, 0.841)
        """
        return float((2 * self.layers) ** -0.25 * self.width**-0.5)
