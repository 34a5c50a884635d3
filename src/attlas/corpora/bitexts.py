"""Bitexts: sentences with their translations, from one file or several, in either direction.

A bitext is a file that holds both sides (``source ||| target``, or two columns with a tab between them), or a file of
sentences whose translations are another one, line by line. Lines that are no pair are an error; where it is wished
they are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attlas.corpora.corpus import Corpus, collected_later, hash_of, in_sequence, read
from attlas.corpora.pharaoh import links_and_note
from attlas.corpora.sniffing import sniff
from attlas.corpora.source import Readable, Source, open_source
from attlas.errors import CorpusError
from attlas.text import Links

_SPLIT = {"bitext": "|||", "tsv": "\t"}
_FORMATS = (*_SPLIT, "parallel")


@collected_later()
def read_bitexts(
    files: Sequence[Readable], targets: Sequence[Readable] = (), *, format: str | None = None, skip: bool = False
) -> list[Corpus]:
    """Read bitexts; files that do not hold their translations take those of ``targets``, in order.

    ``skip`` leaves out lines that are no pair instead of refusing the file.

    >>> table, here, there = (Source.of_text(text) for text in ("oh ja\\toh yes\\n" * 3, "das Haus", "the house"))
    >>> [(corpus.format, len(corpus.documents)) for corpus in read_bitexts([here, table], [there])]
    [('parallel', 1), ('tsv', 3)]
    """
    if format not in (None, *_FORMATS):
        raise CorpusError(f"{format!r} is no format of a bitext; there are {', '.join(_FORMATS)}")
    left = list(targets)
    read_here = []
    for file in files:
        source = open_source(file)
        if not source.text.strip():
            raise source.error("there are no words in this file")
        known = format or sniff(source)
        if known in _SPLIT:
            read_here.append(_read(known, [source], skip))
        elif left:
            read_here.append(_read("parallel", [source, open_source(left.pop(0))], skip))
        else:
            raise source.error(
                "it has no translations; give a bitext (source ||| target, or two columns with a tab between them), "
                "or the file of translations (--target)"
            )
    if left:
        more = "this is a file" if len(left) == 1 else f"these are {len(left)} files"
        raise CorpusError(f"{more} of translations (--target) more than are needed", file=open_source(left[0]).path)
    return read_here


def joined(corpora: Sequence[Corpus]) -> Corpus:
    """Several corpora as one.

    >>> one, = read_bitexts([Source.of_text("das Haus ||| the house", name="a")])
    >>> both = joined([one, one])
    >>> len(both.documents), both.name, both.articles
    (2, 'a + a', (0, 1))
    """
    if len(corpora) == 1:
        return corpora[0]
    whole = in_sequence(corpora, " + ".join(corpus.name for corpus in corpora))
    alike = len({corpus.format for corpus in corpora}) == 1
    return whole if alike else replace(whole, format="bitexts")


@collected_later()
def linked(corpus: Corpus, gold: Readable, *, one_indexed: bool = False, lenient: bool = False) -> Corpus:
    """A bitext with the gold links of a file, in Pharaoh's notation or that of the NAACL 2003 shared task. Links
    outside their pairs are an error; what is ``lenient`` leaves them out, and the corpus says how many.

    >>> one, = read_bitexts([Source.of_text("das Haus ||| the house", name="a")])
    >>> sorted(linked(one, Source.of_text("0-0 1-1")).documents[0].links.sure)
    [(0, 0), (1, 1)]
    """
    source = open_source(gold)
    documents, note = links_and_note(corpus.documents, source, one_indexed, lenient)
    left_out = (*corpus.left_out, note) if note else corpus.left_out
    digest = hash_of(corpus.sha256 + source.sha256)
    return replace(corpus, documents=tuple(documents), sha256=digest, left_out=left_out)


def swapped(corpus: Corpus) -> Corpus:
    """The other direction: translations as the texts, and the texts as their translations; links turn with them.

    >>> one, = read_bitexts([Source.of_text("das Haus ||| the house", name="a")])
    >>> turned, = swapped(one).documents
    >>> turned.text, turned.translation.text
    ('the house', 'das Haus')
    """
    turned = []
    for document in corpus.documents:
        if document.translation is None:
            raise CorpusError("it has no translation, so there is no other direction", file=document.name)
        links = document.links and Links(
            frozenset((j, i) for i, j in document.links.sure), frozenset((j, i) for i, j in document.links.possible)
        )
        back = replace(document, translation=None, links=None)
        turned.append(replace(document.translation, translation=back, links=links))
    return replace(corpus, documents=tuple(turned))


def _read(format: str, parts: Sequence[Source], skip: bool) -> Corpus:
    why = ""
    if skip:
        parts, why = _whole_pairs(format, parts)
    corpus = read(parts[0], format, target=parts[1] if len(parts) > 1 else None)
    return replace(corpus, left_out=(why,)) if why else corpus


def _whole_pairs(format: str, parts: Sequence[Source]) -> tuple[list[Source], str]:
    """The sources without the lines that are no pair, and how many these were."""
    if len({len(part.lines) for part in parts}) > 1:
        return list(parts), ""  # which the reader refuses

    def whole(row: Sequence[str]) -> bool:
        sides = row[0].split(_SPLIT[format]) if format in _SPLIT else row
        return len(sides) == 2 and all(side.strip() for side in sides)

    rows = list(zip(*(part.lines for part in parts), strict=True))
    kept = [row for row in rows if whole(row)]
    if len(kept) == len(rows):
        return list(parts), ""
    first = next(line for line, row in enumerate(rows, start=1) if not whole(row))
    why = f"{parts[0].name}: {len(rows) - len(kept)} lines are no pair, first line {first}"
    sides = list(zip(*kept, strict=True)) or [()] * len(parts)
    return [replace(part, text="\n".join(side)) for part, side in zip(parts, sides, strict=True)], why
