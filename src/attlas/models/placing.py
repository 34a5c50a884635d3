"""Where the weights of a model are to lie, and in which form: on several devices, on the host, on disk, in few bits,
with an adapter, or streamed layer by layer.

What cannot be is refused here, by name and before any weights are read. Devices and disk are accelerate's work, few
bits that of bitsandbytes.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypedDict

import torch

from attlas.errors import CapabilityError, ModelError, first_line

MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
BITS = ("8bit", "4bit")


class Placed(TypedDict, total=False):
    """What :func:`attlas.load` is told of it; each as in :class:`Placing`.

    >>> sorted(Placed.__annotations__)
    ['adapter', 'block', 'device_map', 'offload', 'quantize', 'stream_layers']
    """

    device_map: str | Path | Mapping[str, Any] | None
    offload: str | Path | None
    quantize: str | None
    adapter: str | Path | None
    stream_layers: bool
    block: int | None


@dataclass(frozen=True)
class Placing:
    """How a model is opened beyond its name: each field as in :func:`attlas.load`.

    >>> Placing(device_map="auto", stream_layers=True).check("tiny", "cpu")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: tiny: --stream-layers and --device-map do not go together; leave one out
    """

    device_map: str | Path | Mapping[str, Any] | None = None
    offload: str | Path | None = None
    quantize: str | None = None
    adapter: str | Path | None = None
    stream_layers: bool = False
    block: int | None = None

    @property
    def places(self) -> bool:
        """Whether it is decided here where weights lie, so that the model is not moved once it is read.

        >>> Placing(stream_layers=True).places, Placing().places
        (True, False)
        """
        return self.stream_layers or self.device_map is not None or self.quantize is not None

    def check(self, name: str, device: str | None, *, gguf: bool = False, packed: bool = False) -> None:
        """Refuse what does not go together, or not here; ``packed`` is a checkpoint whose weights are in few bits.

        >>> Placing(quantize="2bit").check("tiny", None)
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: there is no '2bit' to quantize to; choose 8bit or 4bit (--quantize)
        """
        asked = {
            "--stream-layers": self.stream_layers, "--device-map": self.device_map is not None,
            "--quantize": self.quantize is not None, "--adapter": self.adapter is not None, "a gguf file": gguf,
            "--offload": self.offload is not None,
            "weights that are packed already": packed,
        }  # fmt: skip
        for one, other in (
            ("--stream-layers", "--device-map"), ("--stream-layers", "--quantize"), ("--stream-layers", "--adapter"),
            ("--stream-layers", "a gguf file"), ("--stream-layers", "weights that are packed already"),
            ("--quantize", "a gguf file"), ("--quantize", "weights that are packed already"),
            ("--quantize", "--device-map"), ("--device-map", "a gguf file"), ("--adapter", "--offload"),
        ):  # fmt: skip
            if asked[one] and asked[other]:
                raise CapabilityError(f"{name}: {one} and {other} do not go together; leave one out")
        if self.block is not None and not self.stream_layers:
            raise CapabilityError(
                "a block of texts (--block) is one of layers that are streamed; add --stream-layers"
            )
        if self.quantize is not None and self.quantize not in BITS:
            raise CapabilityError(
                f"there is no {self.quantize!r} to quantize to; choose {' or '.join(BITS)} (--quantize)"
            )
        if self.quantize is not None:
            _require("bitsandbytes", "--quantize")
            _require("accelerate", "--quantize")
        if self.offload is not None and self.device_map is None:
            raise CapabilityError("a folder to offload to (--offload) needs a device map that uses it (--device-map)")
        if self.device_map is not None:
            _require("accelerate", "--device-map")
            if device is not None and device != "cpu":
                raise CapabilityError(f"{name}: a device map says where all is; leave out --device {device}")
            self.devices()
            if self.offload is not None:
                _require_room(Path(self.offload))

    def devices(self) -> str | dict[str, Any] | None:
        """The device map as accelerate takes it: the name of a way to make one, or one read from a file.

        >>> Placing(device_map="cpu").devices()
        {'': 'cpu'}
        >>> Placing(device_map="evenly").devices()
        Traceback (most recent call last):
            ...
        attlas.errors.ModelError: there is no device map 'evenly'; give auto, balanced, balanced_low_0, ...
        """
        given = self.device_map
        if given is None or given in MAPS:
            return None if given is None else str(given)
        if isinstance(given, Mapping):
            return self._checked(given)
        if given in ("cpu", "disk"):
            return self._checked({"": given})
        if not Path(given).is_file():
            raise ModelError(
                f"there is no device map {str(given)!r}; give {', '.join(MAPS)}, cpu, or a JSON file from places in "
                "the model to devices"
            )
        try:
            read = json.loads(Path(given).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"the device map {given} cannot be read: {first_line(error)}") from error
        if not isinstance(read, dict):
            raise ModelError(f"the device map {given} is no JSON object from places in the model to devices")
        return self._checked(read)

    def _checked(self, devices: Mapping[str, Any]) -> dict[str, Any]:
        for place, device in devices.items():
            if device == "disk":
                if self.offload is None:
                    raise ModelError("a device map that uses the disk needs a folder for it; give one with --offload")
                continue
            try:
                torch.zeros(1, device=device)
            except (RuntimeError, AssertionError, TypeError) as error:
                raise ModelError(
                    f"the device map puts {place or 'all'!r} on {device!r}, which this machine does not have: "
                    f"{first_line(error)}"
                ) from error
        return dict(devices)

    def loading(self) -> dict[str, Any]:
        """What the library's ``from_pretrained`` is told.

        >>> Placing().loading()
        {}
        """
        told: dict[str, Any] = {}
        if self.device_map is not None:
            told["device_map"] = self.devices()
            if self.offload is not None:
                told["offload_folder"] = str(self.offload)
        if self.quantize is not None:
            from transformers import BitsAndBytesConfig

            logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it would say of each product what it casts
            packing: Any = BitsAndBytesConfig
            told["quantization_config"] = packing(**{f"load_in_{self.quantize}": True})
        return told


def _require(package: str, option: str) -> None:
    if find_spec(package) is None:
        raise ModelError(f"{option} needs a package that is not installed: pip install {package}")


def _require_room(folder: Path) -> None:
    """Refuse a folder in which nothing can be written, by trying."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ModelError(
            f"weights cannot be written to {folder}: {error.strerror or error}; choose another --offload"
        ) from None


WHOLE = Placing()
