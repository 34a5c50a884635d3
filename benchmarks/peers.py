"""bertviz 1.4.1, in an environment of its own, and the scripts that its pages ask a CDN for.

The environment is made on first use under ``out/bench``. bertviz's ``head_view`` and ``model_view`` import IPython
and torch and nothing else, so bertviz goes in without its dependencies (transformers, boto3, sentencepiece, ...
serve its neuron view alone) and IPython with them; torch and numpy are those of the running environment, which a
``.pth`` file puts behind the new one's own packages. This file is also the program that runs in there, so it imports
nothing of attlas.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import venv
from pathlib import Path

WORK = Path(__file__).resolve().parents[1] / "out" / "bench"
VERSION = "1.4.1"
VIEWS = ("head_view", "model_view")
CDN = "https://cdnjs.cloudflare.com/ajax/libs"
# What the pages ask for: package, version and file on npm. There, jquery begins its second series at 2.1.0; bertviz
# uses it to fill and watch its menus. require.js is the same code as the CDN's, only not minified.
SCRIPTS = {
    f"{CDN}/require.js/2.3.6/require.min.js": ("requirejs", "2.3.6", "require.js"),
    f"{CDN}/d3/5.7.0/d3.min.js": ("d3", "5.7.0", "dist/d3.min.js"),
    f"{CDN}/jquery/2.0.0/jquery.min.js": ("jquery", "2.1.0", "dist/jquery.min.js"),
}


class NotMeasured(Exception):
    """There is no figure; the message says why to the reader of the results."""


def interpreter() -> Path:
    """The Python of bertviz's environment, which is made where it is not there."""
    home = WORK / "bertviz-env"
    python, ready = home / "bin" / "python", home / f"bertviz-{VERSION}"
    if ready.exists():
        return python
    print(f"making an environment for bertviz {VERSION} in {home}", flush=True)
    venv.create(home, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for packages in (["--no-deps", f"bertviz=={VERSION}"], ["ipython"]):
        done = subprocess.run([*install, *packages], capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
            raise NotMeasured(f"bertviz {VERSION} could not be installed, so it was not measured ({reason}).")
    own = next(home.glob("lib/python3*/site-packages"))
    running = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (own / "running.pth").write_text("".join(f"{path}\n" for path in sorted(running)))
    ready.touch()
    return python


def scripts() -> dict[str, Path]:
    """The scripts that bertviz's pages load, by the address they load them from; fetched on first use."""
    found = {}
    for address, (package, version, member) in SCRIPTS.items():
        kept = WORK / "scripts" / f"{package}-{version}.js"
        if not kept.exists():
            try:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(_from_npm(package, version, member))
            except (OSError, subprocess.CalledProcessError, tarfile.TarError, KeyError) as problem:
                raise NotMeasured(
                    f"{package} {version} could not be fetched, so bertviz's pages were not opened ({problem})."
                ) from problem
        found[address] = kept
    return found


def _from_npm(package: str, version: str, member: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            file = archive.extractfile(f"package/{member}")
            assert file is not None
            return file.read()


def bertviz_page(view: str, weights: Path, page: Path) -> dict[str, float]:
    """Have bertviz write a page of saved weights: the seconds it took and the bytes of the page."""
    command = [str(interpreter()), __file__, view, str(weights), str(page)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotMeasured((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def write_page(view: str, weights: Path, page: Path) -> None:
    """What runs in bertviz's environment: one call, timed from the tensors to the file on disk."""
    import bertviz
    import numpy as np
    import torch

    pieces = json.loads(weights.with_suffix(".json").read_text(encoding="utf-8"))
    attention = [torch.from_numpy(layer)[None] for layer in np.load(weights)]
    began = time.perf_counter()
    html = getattr(bertviz, view)(attention, pieces, html_action="return")
    page.write_text(html.data, encoding="utf-8")
    print(json.dumps({"seconds": time.perf_counter() - began, "bytes": page.stat().st_size}))


if __name__ == "__main__":
    write_page(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
