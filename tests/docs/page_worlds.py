"""The world in which the snippets of a page run: small files and tiny models under the names that the page uses.

Texts come from the small grammar of ``tools/same_figures``: tales with their trees, chunks, mentions, translations
and key phrases. Models have random weights, and as many layers and heads as their page speaks of. A folder of a
model's name in the working directory is opened before anything else of that name.
"""

from __future__ import annotations

import gzip
import random
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
import transformers

import twins
from tools.same_figures.inputs import Inputs

FILES = {  # what lies in every world, unless its page means something else by the name
    "corpus.txt": "plain one", "paper.txt": "plain one",
    "treebank.conllu": "treebank one", "train.conllu": "treebank one", "dev.conllu": "treebank two",
    "test.conllu": "treebank three",
    "corpus.conll": "columns one", "test/a.conll": "columns one", "dev/a.conll": "columns two",
    "bitext.txt": "bitext one", "gold.txt": "gold one",
    "train.tsv": "labelled one", "dev.tsv": "labelled two", "test.tsv": "labelled three",
    "texts.tsv": "labelled one", "letters.tsv": "labelled two", "pairs.tsv": "similar one",
    "train.txt": "chunked one", "test.txt": "chunked two",
    "texts.jsonl": "keyphrases one", "train.jsonl": "keyphrases one", "dev.jsonl": "keyphrases two",
    "test.jsonl": "keyphrases three",
}  # fmt: skip


class Model(NamedTuple):
    """A tiny model: its family, its class in the model library, its layers, its heads, and its labels."""

    family: str = "bert"
    kind: str = "AutoModel"
    layers: int = 3
    heads: int = 4
    labels: tuple[str, ...] = ()
    seed: int = 0

    def save(self, folder: Path) -> None:
        """Write its random weights and a tokenizer."""
        config = twins.config(self.family)
        if self.family in ("bert", "llama"):
            config.num_hidden_layers = self.layers
        if self.family == "bert":
            config.num_attention_heads, config.hidden_size = self.heads, 8 * self.heads
        if self.labels:
            config.id2label = dict(enumerate(self.labels))
            config.label2id = {label: number for number, label in config.id2label.items()}
        torch.manual_seed(self.seed)
        model = getattr(transformers, self.kind).from_config(config)
        twins.spread(model)
        model.save_pretrained(folder)
        twins.tokenizer(self.family in twins.CAUSAL).save_pretrained(folder)


class Shelf:
    """Models that several pages speak of, each written to a folder once and copied from there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.held: dict[Model, Path] = {}

    def put(self, model: Model, folder: Path) -> None:
        """Write a model to a folder."""
        if model not in self.held:
            self.held[model] = self.folder / str(len(self.held))
            model.save(self.held[model])
        shutil.copytree(self.held[model], folder)


CLASSIFIER = Model(kind="AutoModelForSequenceClassification", layers=6, labels=("bad", "good"))
TAGS = ("B-NP", "B-PP", "B-VP", "I-NP", "O")
MODELS = {  # what lies in every world
    "bert-base-uncased": Model(kind="AutoModelForPreTraining"),
    "e5-small": Model(),
    "smollm2": Model("llama", "AutoModelForCausalLM", layers=6),
    "opus-mt-en-fr": Model("marian", "AutoModelForSeq2SeqLM"),
}
BUNDLED = Model(layers=6, heads=12)  # stands for the bundled model in commands


def tables_of_pairs(folder: Path, inputs: Inputs) -> None:
    """Translations as tables of two columns, and as two files."""
    for name, number in (("train", "one"), ("dev", "two"), ("test", "three")):
        lines = Path(inputs[f"bitext {number}"]).read_text(encoding="utf-8").splitlines()
        table = "\n".join(line.replace(" ||| ", "\t") for line in lines) + "\n"
        (folder / f"{name}.tsv").write_text(table, encoding="utf-8")
        if name == "dev":
            for side, language in enumerate(("de", "en")):
                text = "\n".join(line.split(" ||| ")[side] for line in lines) + "\n"
                (folder / f"captions.{language}").write_text(text, encoding="utf-8")


def table_of_pairs(folder: Path, inputs: Inputs) -> None:
    """Translations as one table."""
    text = Path(inputs["bitext one"]).read_text(encoding="utf-8")
    (folder / "bitext.tsv").write_text(text.replace(" ||| ", "\t"), encoding="utf-8")


def chapter(folder: Path, inputs: Inputs) -> None:
    """A text that fits the window of a tiny model."""
    first = Path(inputs["plain one"]).read_text(encoding="utf-8").partition("\n\n")[0]
    (folder / "chapter.txt").write_text(first, encoding="utf-8")


def vectors(folder: Path, inputs: Inputs) -> None:
    """Vectors of words, as GloVe has them."""
    words = sorted(set(Path(inputs["plain one"]).read_text(encoding="utf-8").lower().split()))
    draw = random.Random(0)
    lines = [" ".join([word, *(f"{draw.gauss(0, 1):.3f}" for _ in range(5))]) for word in words]
    (folder / "glove.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def counted_from_one(folder: Path, inputs: Inputs) -> None:
    """Gold links whose words count from 1."""
    lines = Path(inputs["gold one"]).read_text(encoding="utf-8").splitlines()
    moved = [re.sub(r"\d+", lambda number: str(int(number[0]) + 1), line) for line in lines]
    (folder / "gold.txt").write_text("\n".join(moved) + "\n", encoding="utf-8")


def sources_of_spans(folder: Path, inputs: Inputs) -> None:
    """The corpora that labelled spans are made of, packed as they are handed out."""
    for name, kind in (
        ("en_ewt-ud-dev.conllu.gz", "treebank one"), ("dev.jsonl.gz", "propbank one"),
        ("emerging.dev.conll.gz", "entities one"), ("spr_dev.jsonl.gz", "properties one"),
        ("TRAIN_FILE.TXT.gz", "nominals one"),
    ):  # fmt: skip
        (folder / name).write_bytes(gzip.compress(Path(inputs[kind]).read_bytes()))
    parts = (("train", "one"), ("dev", "two"), ("test", "three"))
    with zipfile.ZipFile(folder / "ontogum_coref.zip", "w") as archive:
        for _, number in parts:
            archive.write(inputs[f"columns {number}"], f"{number}.conll")
    listed = [
        f"{part}\t{name}\n"
        for part, number in parts
        for name in re.findall("#begin document (.+)", Path(inputs[f"columns {number}"]).read_text(encoding="utf-8"))
    ]
    (folder / "splits.tsv").write_text("".join(listed), encoding="utf-8")


def list_of_models(folder: Path, inputs: Inputs) -> None:
    """Two names of models."""
    (folder / "models.txt").write_text("bert-base-uncased\nsmollm2\n", encoding="utf-8")


def models(**wanted: Model) -> dict[str, Model]:
    """Further models."""
    return {name.replace("_", "-"): model for name, model in wanted.items()}


OF_PAGE: dict[str, tuple[Callable[[Path, Inputs], None] | dict[str, Model], ...]] = {  # in the world of one page
    "ablate.md": (models(tuned=CLASSIFIER),),
    "atlas.md": (list_of_models,),
    "importance.md": (models(tuned=CLASSIFIER),),
    "prune.md": (models(tuned=CLASSIFIER),),
    "views.md": (chapter, models(tuned=CLASSIFIER)),
    "faith.md": (
        models(
            tuned=CLASSIFIER,
            tuned_again=CLASSIFIER._replace(seed=1),
            tuned_evened=CLASSIFIER._replace(seed=2),
            tagger=Model(kind="AutoModelForTokenClassification", labels=TAGS),
        ),
    ),
    "norms.md": (models(e5_small=Model(layers=8, heads=10)),),
    "align.md": (counted_from_one, models(opus_mt_fr_en=Model("marian", "AutoModelForSeq2SeqLM", seed=1))),
    "spans.md": (sources_of_spans,),
    "translate-train.md": (tables_of_pairs,),
    "parse.md": (vectors,),
    "README.md": (
        vectors,
        table_of_pairs,
        list_of_models,
        models(**{"Qwen/Qwen3-0.6B": Model("qwen3", "AutoModelForCausalLM")}),
    ),
}


def build_world(folder: Path, page: str, inputs: Inputs, shelf: Shelf) -> None:
    """Fill a folder for a page."""
    for name, kind in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(inputs[kind], folder / name)
    held = dict(MODELS)
    for fill in OF_PAGE.get(page, ()):
        if isinstance(fill, dict):
            held |= fill
        else:
            fill(folder, inputs)
    for name, model in held.items():
        shelf.put(model, folder / name)
