"""The commands ``text``, ``train`` and ``page``; see the package."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch
from tokenizers import Tokenizer

from tools.training_pair.model import Shape
from tools.training_pair.text import write_data
from tools.training_pair.train import Course, train


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="python -m tools.training_pair", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    text = commands.add_parser("text", help="a tokenizer and rows of pieces from folders of natural text")
    text.add_argument("folders", type=Path, nargs="+")
    text.add_argument("--out", type=Path, required=True)
    text.add_argument("--vocabulary", type=int, default=4096)
    training = commands.add_parser("train", help="train all models, measure them on the way, keep checkpoints")
    training.add_argument("data", type=Path, help="the folder that text wrote")
    training.add_argument("--keep", type=Path, required=True, help="folder for checkpoints")
    training.add_argument("--figures", type=Path, required=True, help="JSON file of all that is measured")
    training.add_argument("--seeds", type=int, default=3)
    training.add_argument("--within", type=float, default=0.0, help="seconds; the number of steps is lowered to fit")
    for name in ("width", "layers", "heads", "hidden", "window"):
        training.add_argument(f"--{name}", type=int, default=getattr(Shape(0), name))
    for name in ("steps", "texts", "warm", "draws", "last_draws"):
        training.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(Course(), name))
    training.add_argument("--rate", type=float, default=Course().rate)
    paging = commands.add_parser("page", help="figures as Markdown, with a picture")
    paging.add_argument("figures", type=Path, help="the file that train wrote")
    paging.add_argument("--out", type=Path, required=True, help="the page")
    paging.add_argument("--picture", type=Path, help="a PNG file of the curves")
    paging.add_argument("--data", type=Path, help="the folder that text wrote, to hold checkpoints against attlas")
    paging.add_argument("--kept", type=Path, help="the folder of checkpoints, likewise")
    paging.add_argument("--note", default="", help="what texts were read and on which machine, for the page")
    paging.add_argument("--made-by", default="python -m tools.training_pair train", help="the command, for the page")
    asked = parser.parse_args()
    if asked.command == "page":
        _page(asked)
        return
    if asked.command == "text":
        print(write_data(asked.folders, asked.out, asked.vocabulary))
        return
    vocabulary = Tokenizer.from_file(str(asked.data / "tokenizer.json")).get_vocab_size()
    shape = Shape(vocabulary, asked.width, asked.layers, asked.heads, asked.hidden, asked.window)
    course = Course(
        asked.steps,
        asked.texts,
        asked.rate,
        asked.warm,
        draws=asked.draws,
        last_draws=asked.last_draws,
        within=asked.within,
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train(asked.data, shape, course, list(range(asked.seeds)), asked.keep, asked.figures, device)


def _page(asked: argparse.Namespace) -> None:
    from tools.training_pair import page

    record, seen = page.read(asked.figures), ""
    if asked.picture is not None:
        page.picture(record, asked.picture)
        seen = os.path.relpath(asked.picture, asked.out.parent)
    checked: list[str] = []
    if asked.data is not None and asked.kept is not None:
        from tools.training_pair.check import held_against

        checked = held_against(record, asked.data, asked.kept)
    asked.out.write_text(page.page(record, asked.made_by, seen, checked, asked.note))


if __name__ == "__main__":
    main()
