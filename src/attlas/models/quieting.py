"""Keeping the model library's progress bars and warnings off the user's screen."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

TALKATIVE = (
    "huggingface_hub", "accelerate.big_modeling", "torchao", "torch.utils._pytree",
)  # fmt: skip  # the last at the import of the one before


@contextmanager
def quiet() -> Iterator[None]:
    """No bars and warnings for the length of a ``with`` block, in which a model is opened or its weights are read.

    >>> with quiet():
    ...     pass
    """
    from transformers.utils import logging as library

    level, bars = library.get_verbosity(), library.is_progress_bar_enabled()
    loggers = [logging.getLogger(name) for name in TALKATIVE]
    levels = [logger.level for logger in loggers]
    library.set_verbosity(logging.CRITICAL)
    library.disable_progress_bar()  # type: ignore[no-untyped-call]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        library.set_verbosity(level)
        if bars:
            library.enable_progress_bar()  # type: ignore[no-untyped-call]
        for logger, before in zip(loggers, levels, strict=True):
            logger.setLevel(before)
