"""Models in one gguf file, as llama.cpp and its kin write them: weights in few bits, tokenizer and configuration.

The model library unpacks the weights of some architectures when it opens such a file, for which it needs the package
gguf; the model is an ordinary one from then on.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from attlas.errors import ModelError

MAGIC = b"GGUF"


def read_name(name: str | Path | None) -> Path | None:
    """The gguf file that a model is named by, or None where it is named otherwise.

    >>> read_name("smollm2") is None
    True
    >>> read_name("no-such.gguf")
    Traceback (most recent call last):
        ...
    attlas.errors.ModelError: there is no file no-such.gguf; give the path of a gguf file
    """
    if name is None or Path(name).suffix.lower() != ".gguf":
        return None
    file = Path(name).expanduser()
    if not file.is_file():
        raise ModelError(f"there is no file {file}; give the path of a gguf file")
    with file.open("rb") as opened:
        begins = opened.read(len(MAGIC))
    if begins != MAGIC:
        raise ModelError(
            f"{file} is no gguf file: it does not begin with {MAGIC.decode()}; get an undamaged copy of it"
        )
    if find_spec("gguf") is None:
        raise ModelError(f"{file} is a gguf file, and needs a package that is not installed: pip install gguf")
    return file
