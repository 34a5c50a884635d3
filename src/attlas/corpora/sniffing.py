"""Telling the format of a corpus file from its name and its first lines.

Some endings, such as ``.conllu`` and ``.jsonl``, promise a format (or one of a few), and a file that does not keep
the promise is refused; all other files are judged by their first lines alone, by the tests that the formats bring
(see :mod:`attlas.corpora.formats`). What looks like none of the annotated formats is plain text, unless it is a table
or JSON of an unknown kind: to read that as text would be a silent mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attlas.corpora.formats import formats, listed
from attlas.corpora.jsonlines import field_names
from attlas.corpora.source import Source

_LOOKED_AT = 50
_LINKS = re.compile(r"\s*[0-9]+[-p][0-9]+(\s+[0-9]+[-p][0-9]+)*\s*")


def sniff(source: Source) -> str:
    """The format of a file: by its ending where that promises one, and else by its first lines.

    >>> sniff(Source.of_text("The DT B-NP\\nend NN I-NP\\n", name="train.txt"))
    'conll2000'
    >>> sniff(Source.of_text("It was a dark night.\\n", name="tale.txt"))
    'plain'
    >>> sniff(Source.of_text("It was a dark night.\\n", name="tale.conllu"))
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: tale.conllu: the ending promises conllu, but the file looks like plain text; name its
    format (conllu, conll2000, conll2012, bitext, tsv, parallel, keyphrases, labelled, csv, sst, spans, propbank,
    uds, semeval or plain) to read it anyway
    """
    lines = [line for line in source.lines if line.strip()][:_LOOKED_AT]
    if not lines:
        raise source.error("there are no words in this file")
    promised = [format for format in formats().values() if source.name.lower().endswith(format.endings)]
    for format in promised:
        if format.enough is not None and format.enough(lines):
            return format.name
    kind, known = _kind(lines), listed(list(formats()), "or")
    if promised and kind not in [format.name for format in promised]:
        raise source.error(
            f"the ending promises {listed([format.name for format in promised], 'or')}, but the file looks like "
            f"{'plain text' if kind == 'plain' else kind}; name its format ({known}) to read it anyway"
        )
    if kind not in formats():
        raise source.error(f"this looks like {kind}, which is not among {known}; name one of them to read it anyway")
    return kind


def _kind(lines: Sequence[str]) -> str:
    """A format, or words for what the lines look like instead."""
    tests = [(rank, record.name, looks) for record in formats().values() for rank, looks in record.looks.items()]
    ranked = sorted([*tests, *_FOREIGN], key=lambda test: test[:2])
    answers = ((name, test(lines)) for _, name, test in ranked)
    return next(name or str(answer) for name, answer in answers if answer)


def _json(lines: Sequence[str]) -> str:
    return "" if field_names(lines) is None else "JSON without texts, labels or spans"


def _links(lines: Sequence[str]) -> str:
    return "the links of a bitext, to be given as its gold" if all(map(_LINKS.fullmatch, lines)) else ""


def _table(lines: Sequence[str]) -> str:
    tabs = {line.count("\t") for line in lines}
    whole = len(lines) > 2 and len(tabs) == 1 and tabs != {0} and not any(line.startswith("\t") for line in lines)
    return f"a table of {tabs.pop() + 1} columns" if whole else ""


# what is no corpus: the rank among the tests of the formats, no name, and a test that answers in words
_FOREIGN = ((49, "", _json), (65, "", _links), (95, "", _table))
