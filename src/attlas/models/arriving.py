"""A model that came from another process, with its modules and weights, as on a worker of a cluster.

When the model library makes a model it takes note of its class, and attlas of the seam; a model that was unpickled
was not made here, so both is done for it now.
"""

from __future__ import annotations

from torch import nn

from attlas.models.seam import register


def settle(model: nn.Module) -> None:
    """Have a model that was made elsewhere work as one that was made here.

    >>> settle(nn.Linear(2, 2))
    """
    from transformers.utils import output_capturing

    register()
    for module in model.modules():
        if hasattr(module, "_can_record_outputs"):  # which states and weights a model of this class can hand out
            output_capturing._CAN_RECORD_REGISTRY[str(type(module))] = module._can_record_outputs
