"""What every run begins with: a model, a corpus, and the passages that are read of it.

A study as one call takes the model as a name or a subject, the corpus as a path, a list of documents or a
:class:`~attlas.corpora.Corpus`.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attlas.corpora import Corpus, StreamedCorpus, read
from attlas.run.settling import First
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.capture.reading import Reading
    from attlas.ids import Stream
    from attlas.run.streamed import StreamedReading

BUDGET, LARGEST_BUDGET = 4096, 32_768  # pieces of a batch: at least, and at most where nobody asks for more
PER_PIECE = 1 << 21  # bytes of a GPU's memory for each piece of a batch

Text = TypeVar("Text")
Texts = Corpus | str | Path | Sequence[Document]


def usual_budget(subject: Subject) -> int:
    """Pieces of a batch where nobody says how many: as many as a GPU's memory has room for, 4096 elsewhere.

    >>> usual_budget(as_subject(None))
    4096
    """
    memory = memory_of(subject)
    return BUDGET if memory is None else budget_for(memory)


def memory_of(subject: Subject) -> int | None:
    """How many bytes the GPU has that a model lies on; None where it lies on none. It is what there is in all, not
    what is free, so that a run that goes on meets the same batches.

    >>> memory_of(as_subject(None)) is None
    True
    """
    if subject.device.type != "cuda":
        return None
    import torch

    return int(torch.cuda.get_device_properties(subject.device).total_memory)


def budget_for(memory: int) -> int:
    """Pieces of a batch for a GPU with so many bytes: a power of two.

    >>> [budget_for(gib << 30) for gib in (4, 16, 24, 80, 140)]
    [4096, 8192, 8192, 32768, 32768]
    """
    return max(BUDGET, min(LARGEST_BUDGET, 1 << (memory // PER_PIECE).bit_length() - 1))


@dataclass(frozen=True)
class Opening:
    """A model by name, and how to open it once it is needed: what a command line knows of it.

    >>> Opening("smollm2", dtype="float32").options["dtype"]
    'float32'
    """

    name: str | None = None
    device: str | None = None
    dtype: str | None = None
    remote_code: bool = False
    allow_pickle: bool = False
    device_map: str | None = None
    offload: Path | None = None
    quantize: str | None = None
    adapter: Path | None = None
    stream_layers: bool = False
    block: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What :func:`attlas.load` is told; the device is cuda where there is one and neither it nor a device map was
        named."""
        import torch

        usual = None if self.device_map else "cuda" if torch.cuda.is_available() else "cpu"
        told = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"}
        return told | {"device": self.device or usual}

    def check(self) -> None:
        """Refuse what no model can be opened with, before one is named.

        >>> Opening(quantize="2bit").check()
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: there is no '2bit' to quantize to; choose 8bit or 4bit (--quantize)
        """
        from attlas.models.opening import number_format
        from attlas.models.placing import Placing

        number_format(self.dtype)
        placed = {field.name: getattr(self, field.name) for field in fields(Placing)}
        Placing(**placed).check(self.name or "every model", self.device)


def as_subject(subject: Subject | Opening | str | Path | None, **more: Any) -> Subject:
    """The model to study: as it is, or opened by its name (None: the bundled one), as ``more`` asks.

    >>> as_subject(None).name
    'all-MiniLM-L6-v2'
    """
    from attlas.capture import load

    if isinstance(subject, Opening):
        return load(subject.name, **subject.options, **more)
    return load(subject, **more) if subject is None or isinstance(subject, str | Path) else subject


def as_texts_or_stream(corpus: Texts | StreamedCorpus) -> Corpus | StreamedCorpus:
    """The corpus to read, as it is where it streams, and else as :func:`as_corpus` gives it.

    >>> as_texts_or_stream("sample").name
    'sample'
    """
    return corpus if isinstance(corpus, StreamedCorpus) else as_corpus(corpus)


def as_corpus(corpus: Texts | StreamedCorpus) -> Corpus:
    """The corpus to read, in memory: as it is, from its file, made of documents, or all of one that streams.

    >>> as_corpus([Document.from_text("It rained.")]).name
    'documents'
    """
    if isinstance(corpus, Corpus):
        return corpus
    if isinstance(corpus, StreamedCorpus):
        return corpus.whole()
    if isinstance(corpus, (str, Path)):
        return read(corpus)
    digest = hashlib.sha256("\n".join(document.text for document in corpus).encode()).hexdigest()
    return Corpus(tuple(corpus), "documents", "documents", digest, tuple(range(len(corpus))))


def describe(corpus: Corpus | StreamedCorpus) -> dict[str, Any]:
    """What a plan says of a corpus: which it is, and how it streams or was drawn from a stream.

    >>> describe(as_corpus("sample"))["name"]
    'sample'
    """
    known = {"name": corpus.name, "format": corpus.format, "sha256": corpus.sha256}
    if isinstance(corpus, StreamedCorpus):
        return known | {"streamed": corpus.describe()}
    return known if corpus.drawn is None else known | {"streamed": dict(corpus.drawn)}


def drawn(texts: Sequence[Text], limit: int | None, seed: int | str) -> list[Text]:
    """So many of the texts at random, in their order, or the first ones where these are asked for; all where there
    are no more.

    >>> drawn("abcdef", 2, 0), drawn("ab", 9, 0), drawn("abcdef", First(2), 0)
    (['d', 'f'], ['a', 'b'], ['a', 'b'])
    """
    if limit is None or len(texts) <= limit:
        return list(texts)
    if isinstance(limit, First):
        return list(texts[:limit])
    return [texts[at] for at in sorted(random.Random(seed).sample(range(len(texts)), limit))]


def draw(reading: Reading, limit: int | None, seed: int) -> Reading:
    """Keep so many examples of a reading, drawn by the seed, in their order, or the first ones where these are asked
    for; all of them where there is no limit.

    >>> from attlas.capture.reading import read_documents
    >>> texts = [Document.from_text("It rained."), Document.from_text("We stayed in.")]
    >>> reading = draw(read_documents(as_subject(None), texts), 1, seed=0)
    >>> len(reading.examples), dict(reading.skipped)
    (1, {'passages not drawn (a limit draws by the seed)': 1})
    >>> reading = draw(read_documents(as_subject(None), texts), First(1), seed=0)
    >>> reading.examples[0].passage.first.text, dict(reading.skipped)
    ('It rained.', {'passages after the first 1': 1})
    """
    if limit is not None and len(reading.examples) > limit:
        first = isinstance(limit, First)
        why = f"passages after the first {limit:d}" if first else "passages not drawn (a limit draws by the seed)"
        reading.skipped[why] += len(reading.examples) - limit
        reading.keep(drawn(reading.examples, limit, seed))
    return reading


def longest_passage(model: Subject, paired: bool, asked: int | None) -> int:
    """How many pieces a passage may have: as asked, or 128 for a pair and 512 for a text, if the model's window holds
    them.

    >>> longest_passage(as_subject(None), True, None), longest_passage(as_subject(None), False, 40)
    (128, 40)
    """
    return asked or min(model.pieces.window, 128 if paired else 512)


def reads_pairs(model: Subject, texts: Corpus | StreamedCorpus, asked: bool | None) -> bool:
    """Whether neighbouring segments are read as pairs: as asked, or else where plain text has several paragraphs and
    the model knows pairs. Texts that were drawn from a stream are no neighbours.

    >>> reads_pairs(as_subject(None), as_corpus("sample"), None)
    False
    """
    if asked is not None:
        return asked
    neighbours = isinstance(texts, StreamedCorpus) or texts.drawn is None
    return texts.format == "plain" and neighbours and len(texts.beginning.documents) > 1 and model.pieces.pairs


def passage_options(
    model: Subject, texts: Corpus | StreamedCorpus, pairs: bool | None, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """How passages of a corpus are read, everything told: pairs, max_pieces, long, limit.

    >>> passage_options(as_subject(None), as_corpus("sample"), None, {"max_pieces": None, "long": "cut", "limit": 3})
    {'pairs': False, 'max_pieces': 512, 'long': 'cut', 'limit': 3}
    """
    paired = reads_pairs(model, texts, pairs)
    pieces = longest_passage(model, paired, asked["max_pieces"])
    return {"pairs": paired, "max_pieces": pieces, "long": asked["long"], "limit": asked["limit"]}


def read_passages(
    model: Subject, texts: Corpus | StreamedCorpus, options: Mapping[str, Any], seed: int
) -> Reading | StreamedReading:
    """The passages of a corpus as :func:`passage_options` say, drawn by the seed; or all of a stream, as it comes.

    >>> options = {"pairs": False, "max_pieces": 40, "long": "cut", "limit": 3}
    >>> len(read_passages(as_subject(None), as_corpus("sample"), options, seed=0).examples)
    3
    """
    from attlas.capture.reading import read_documents
    from attlas.run.streamed import StreamedReading

    if isinstance(texts, StreamedCorpus):
        return StreamedReading(model, texts, options)
    reading = read_documents(
        model, texts.documents, articles=texts.articles, limit=options["max_pieces"], pairs=options["pairs"],
        long=options["long"],
    )  # fmt: skip
    return draw(reading, options["limit"], seed)


def streams_of(model: Subject, reading: Reading | StreamedReading) -> list[Stream]:
    """The streams that these examples let a model show; the encoder alone where translations are missing.

    >>> from attlas.capture.reading import read_documents
    >>> from attlas.text import Document
    >>> model = as_subject(None)
    >>> [stream.value for stream in streams_of(model, read_documents(model, [Document.from_text("It rained.")]))]
    ['encoder']
    """
    if not model.pieces.translating:
        return list(model.streams)
    known = reading.beginning.examples
    if any(example.target is None for example in known):
        reading.skipped["without a translation, so that the encoder alone was read"] += len(known)
        return [model.pieces.own]
    return list(model.streams)
