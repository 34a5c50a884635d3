"""What command lines name: models, texts, results and places, good and bad, in one folder that is only read.

A command line runs in a folder of its own beside this one, so that every name is the same each time. What is *surely
bad* is wrong whatever else a command line says, and must be refused before a model is opened; the rest may fit one
command and not another.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tools.same_figures.inputs import make_inputs

NAME = "ground"
BAD_MODELS = (
    "broken-config", "empty-config", "list-config", "cut-weights", "no-weights", "garbage-weights", "no-tokenizer",
    "broken-tokenizer", "image-model", "empty", "huge-config", "pipe-config",
)  # fmt: skip
PLACES = (  # none of which can be read, as a file or as a folder
    "missing", "missing/below", f"../{NAME}/pipe", "/dev/zero", "/proc/self/mem", "/proc/attlas", "a" * 300,
    ("b" * 200 + "/") * 25, f"../{NAME}/closed/below", f"../{NAME}/one/plain.txt/below", f"../{NAME}/\udcff.txt",
    "\udcff\udcfe", "a\nb", "\u202egnp.txt", "\U0001f600", "~nobody/x", "http://127.0.0.1:9/x", "C:\\x", "-",
)  # fmt: skip
BAD_PLACES = (  # none of which can be written to
    "/proc/attlas/out", "/proc/out", "/dev/null/out", "a" * 300, ("b" * 200 + "/") * 25, f"../{NAME}/closed/out",
    f"../{NAME}/out", f"../{NAME}/one/plain.txt/out", "\udcff", "file.txt/below", "/sys/attlas",
)  # fmt: skip
BAD_TEXTS = ("empty.txt", "blank.txt", "binary.txt", "latin1.txt", "cut.gz", "cut.zip", "bomb.gz")
ODD_TEXTS = {
    "thin.txt": "\u200b\u200c \u200d\n\n\u200b\u200b \u200b\n",
    "control.txt": "\x01\x02 \x1b[2J\x07 bell.\n\n\x7f\x08 more.\n",
    "turned.txt": "\u202eThe farmer\u202c slept.\n\n\u2067It rained.\u2069\n",
    "faces.txt": "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 slept.\n\n\U0001f1e9\U0001f1ea rained.\n",
    "long.txt": "a" * 100_000 + "\n",
    "one.txt": "Rain.\n",
    "half.jsonl": '{"text": "He \\ud800 ran", "keyphrases": ["\\ud800"]}\n',
    "unlabelled.tsv": "sentence\tlabel\nIt rained.\t\nHe slept.\t\n",
    "one-label.tsv": "sentence\tlabel\nIt rained.\tgood\nHe slept.\tgood\n",
    "one.conllu": "1\tRain\train\tNOUN\tNN\t_\t0\troot\t_\t_\n\n",
    "untagged.conllu": "1\tHe\t_\t_\t_\t_\t2\tdep\t_\t_\n2\tran\t_\t_\t_\t_\t0\troot\t_\t_\n\n",
    "one-pair.txt": "It rains . ||| Es regnet .\n",
    "no-phrases.jsonl": '{"text": "It rained all day.", "keyphrases": []}\n',
    "vectors.txt": "the 0.1 0.2\nfarmer nan inf\nslept 1 2 3\n",
}


def lay(folder: Path, results: Callable[[Path], None] | None = None) -> None:
    """Make the ground: everything that is read, and then ``results`` of some of it; in the end nothing in it can be
    written."""
    make_inputs(folder)
    _write_texts(folder)
    _break_models(folder / "models")
    if results is not None:
        results(folder)
        _damage(folder / "results")
    os.mkfifo(folder / "pipe")
    (folder / "closed").mkdir()
    for place in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        place.chmod(0 if place.name == "closed" else 0o555)


def free(folder: Path) -> None:
    """Let the ground be removed again."""
    for place in (folder, *sorted(folder.rglob("*"))):
        if place.is_dir() and not place.is_symlink():
            place.chmod(0o755)


def furnish(work: Path) -> None:
    """What lies in the folder in which a command line runs: a file, and a folder that is not free."""
    (work / "taken").mkdir(parents=True)
    (work / "taken" / "letter.txt").write_text("Dear reader,\n", encoding="utf-8")
    (work / "file.txt").write_text("The farmer slept.\n", encoding="utf-8")


def _write_texts(folder: Path) -> None:
    for name, text in ODD_TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "\udcff.txt").write_text("The farmer slept.\n", encoding="utf-8")
    (folder / "models.txt").write_text(f"../{NAME}/models/bert\n# no more\n", encoding="utf-8")
    packed = gzip.compress(b"The farmer slept.\n" * 100, mtime=0)
    for name, data in zip(
        BAD_TEXTS,
        (
            b"", b"\n \n\t\n", bytes(range(256)), b"one\ncaf\xe9\n", packed[:-9], b"PK\x03\x04 and more",
            gzip.compress(gzip.compress(b"a " * 30_000_000, mtime=0), mtime=0),
        ),
        strict=True,
    ):  # fmt: skip
        (folder / name).write_bytes(data)


def _break_models(models: Path) -> None:
    """Copies of a sound model with a fault each."""
    for name in BAD_MODELS:
        shutil.copytree(models / "bert", models / name)
    config = json.loads((models / "bert" / "config.json").read_text(encoding="utf-8"))
    weights = (models / "bert" / "model.safetensors").read_bytes()
    for name, text in {
        "broken-config": '{"model_type": "bert", ',
        "empty-config": "{}",
        "list-config": "[1, 2]",
        "image-model": json.dumps({"model_type": "vit", "architectures": ["ViTModel"]}),
        "huge-config": json.dumps({**config, "hidden_size": 10**30, "num_hidden_layers": -3}),
    }.items():
        (models / name / "config.json").write_text(text, encoding="utf-8")
    (models / "cut-weights" / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    (models / "garbage-weights" / "model.safetensors").write_bytes(b"\xff" * 64)
    (models / "no-weights" / "model.safetensors").unlink()
    for file in (models / "no-tokenizer").glob("*token*"):
        file.unlink()
    (models / "broken-tokenizer" / "tokenizer.json").write_text('{"version": 1', encoding="utf-8")
    shutil.rmtree(models / "empty")
    (models / "empty").mkdir()
    (models / "pipe-config" / "config.json").unlink()
    os.mkfifo(models / "pipe-config" / "config.json")


def _damage(results: Path) -> None:
    """Copies of a sound result with a fault each."""
    sound = results / "survey"
    table = next(path.name for path in sorted(sound.glob("*.parquet")))
    for name in ("flipped", "no-table", "no-manifest", "deep-manifest", "cut-manifest"):
        shutil.copytree(sound, results / name)
    data = bytearray((sound / table).read_bytes())
    data[len(data) // 2] ^= 4
    (results / "flipped" / table).write_bytes(bytes(data))
    (results / "no-table" / table).unlink()
    (results / "no-manifest" / "manifest.json").unlink()
    (results / "deep-manifest" / "manifest.json").write_text("[" * 100_000, encoding="utf-8")
    text = (sound / "manifest.json").read_text(encoding="utf-8")
    (results / "cut-manifest" / "manifest.json").write_text(text[: len(text) // 2], encoding="utf-8")
