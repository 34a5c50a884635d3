"""From folders of natural text to a row of pieces, and from that to one drawn from its bigrams.

Files are plain text or HTML, compressed or not. Of HTML we keep paragraphs of prose: no menus, no listings of code.
A file is a document, cut at a length, so that no single one prevails; every fiftieth is held out. The tokenizer
(pairs of bytes, merged) is trained on what is not.
"""

from __future__ import annotations

import gzip
import lzma
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

Pieces = NDArray[np.int64]
BEGIN, END = "<begin>", "<end>"  # the first piece of every text that is read, and what stands between documents
LONGEST = 60_000  # characters of a document
SHORTEST = 400
HELD_OUT = 50  # one document in so many
SILENT = {"script", "style", "pre", "code", "table", "nav", "head", "svg"}
BLOCKS = {"p", "div", "li", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "br", "tr", "section"}


class _Prose(HTMLParser):
    """Collects the text of a page by blocks, without code, tables and menus."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = [""]
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """A block begins, or silence does."""
        self.silent += tag in SILENT - {"code"}
        if tag in BLOCKS:
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        """A block ends, or silence does."""
        self.silent -= tag in SILENT - {"code"} and self.silent > 0
        if tag in BLOCKS:
            self.blocks.append("")

    def handle_data(self, data: str) -> None:
        """Text goes to the block that is open."""
        if not self.silent:
            self.blocks[-1] += data


def prose_of(page: str) -> list[str]:
    """Paragraphs of an HTML page that are sentences.

    >>> prose_of("<p>Home</p><p>The farmer offered   apples to the housekeeper, who had none.</p><pre>x = 1</pre>")
    ['The farmer offered apples to the housekeeper, who had none.']
    """
    reader = _Prose()
    reader.feed(page)
    blocks = (" ".join(block.split()) for block in reader.blocks)
    return [block for block in blocks if len(block) >= 40 and block[-1] in ".:?!;"]


def paragraphs_of(file: Path) -> list[str]:
    """Paragraphs of one file, by the endings of its name; none where it is neither plain text nor HTML."""
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(file.suffix, open)
    kind = Path(file.stem).suffix if file.suffix in {".gz", ".xz"} else file.suffix
    if kind not in {".txt", ".raw", ".html", ".pod"}:
        return []
    with opened(file, "rb") as stream:
        text = stream.read().decode("utf-8", errors="ignore")
    if kind == ".html":
        return prose_of(text)
    blocks = re.split(r"\n\s*\n", text)
    kept = [" ".join(block.split()) for block in blocks if not block.startswith((" ", "\t")) or kind != ".pod"]
    return [block for block in kept if block]


def documents_in(folders: list[Path]) -> Iterator[str]:
    """All documents, one to a file (a long file is several); a paragraph of an earlier file is not taken again."""
    seen: set[int] = set()
    for folder in folders:
        files = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
        for file in files:
            if not file.is_file() or file.is_symlink():
                continue
            document, paragraphs = "", paragraphs_of(file)
            known = {at for at, paragraph in enumerate(paragraphs) if hash(paragraph) in seen}
            seen.update(map(hash, paragraphs))
            for at, paragraph in enumerate(paragraphs):
                if at in known:
                    continue
                document += paragraph + "\n"
                if len(document) > LONGEST:
                    yield document
                    document = ""
            if len(document) >= SHORTEST:
                yield document


def train_tokenizer(documents: list[str], size: int) -> Tokenizer:
    """A tokenizer of ``size`` pieces (pairs of bytes), which puts the beginning piece before every text.

    >>> made = train_tokenizer(["apples and pears, pears and apples"] * 3, 270)
    >>> made.encode("apples").tokens[0]
    '<begin>'
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[BEGIN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    begin = tokenizer.token_to_id(BEGIN)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", pair=f"{BEGIN} $A {BEGIN} $B", special_tokens=[(BEGIN, begin)]
    )
    return tokenizer


def row_of(tokenizer: Tokenizer, documents: list[str]) -> Pieces:
    """All documents as one row of pieces, each followed by the end piece."""
    end = tokenizer.token_to_id(END)
    rows = [[*encoding.ids, end] for encoding in tokenizer.encode_batch(documents, add_special_tokens=False)]
    return np.concatenate([np.asarray(row, dtype=np.int64) for row in rows])


def resampled(row: Pieces, length: int, seed: int, chains: int = 4096) -> Pieces:
    """A row of ``length`` pieces, each drawn from what follows the piece before it in ``row``.

    A piece's follower is that of one of its occurrences, drawn evenly, so frequencies of pairs are those of the row
    (which is closed to a ring, so that its last piece has a follower, too). Many chains are drawn side by side and
    joined end to end.

    >>> row = np.array([0, 1, 0, 2, 0, 1])
    >>> drawn = resampled(row, 1000, seed=0, chains=1)
    >>> sorted({(int(a), int(b)) for a, b in zip(drawn, drawn[1:])})  # 1 is followed by 0 alone
    [(0, 1), (0, 2), (1, 0), (2, 0)]
    """
    generator = np.random.default_rng(seed)
    by_piece = np.argsort(row, kind="stable")
    counts = np.bincount(row)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    followers = np.roll(row, -1)[by_piece]
    steps = -(-length // chains)
    drawn = np.empty((chains, steps), dtype=np.int64)
    now = row[generator.integers(len(row), size=chains)]
    for step in range(steps):
        drawn[:, step] = now
        now = followers[starts[now] + (generator.random(chains) * counts[now]).astype(np.int64)]
    return drawn.reshape(-1)[:length]


def write_data(folders: list[Path], out: Path, size: int) -> dict[str, int]:
    """Read ``folders``, train a tokenizer of ``size`` pieces, and write it and two rows of pieces to ``out``."""
    documents = list(documents_in(folders))
    held_out = documents[HELD_OUT // 2 :: HELD_OUT]
    train = [document for at, document in enumerate(documents) if at % HELD_OUT != HELD_OUT // 2]
    if not held_out:
        raise SystemExit(f"{len(documents)} documents are too few: {HELD_OUT} or more are wanted, one is held out")
    tokenizer = train_tokenizer(train, size)
    rows = {name: row_of(tokenizer, some).astype(np.uint16) for name, some in (("train", train), ("held", held_out))}
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(out / "tokenizer.json"))
    np.savez_compressed(out / "pieces.npz", **rows)
    return {
        "documents": len(documents),
        "characters": sum(map(len, documents)),
        **{k: len(v) for k, v in rows.items()},
    }
