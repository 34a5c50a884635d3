"""Telling the format of a corpus file from its name and its first lines.

The endings ``.conllu`` and ``.jsonl`` promise a format (or one of a few), and a file that does not keep the promise
is refused; all other files are judged by their first lines alone. What looks like none of the annotated formats is
plain text, unless it is a table or JSON of an unknown kind: to read that as text would be a silent mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attlas.corpora.labelled import COLA, label_column, text_columns
from attlas.corpora.semeval import SENTENCE
from attlas.corpora.source import Source
from attlas.corpora.sst import TREE

FORMATS = (
    "conllu", "conll2000", "conll2012", "bitext", "tsv", "parallel", "keyphrases", "labelled", "sst", "spans",
    "propbank", "uds", "semeval", "plain",
)  # fmt: skip
_ENDINGS = {".conllu": ("conllu",), ".jsonl": ("keyphrases", "labelled", "spans", "propbank", "uds")}
_LOOKED_AT = 50
_CONLLU = re.compile(r"#\s*(newdoc|newpar)(\s+id)?(\s*=.*)?|#\s*(sent_id|text)\s*=.*|[0-9]+(-[0-9]+)?(\t[^\t]*){9}")
_CONLL2012 = re.compile(r"#\s*begin document.*")
_CHUNKED = re.compile(r"(\S+[ \t]+){1,3}(O|[BI]-\S+)\s*")
_NAMED = re.compile(r'"([^"]*)"\s*:')
_TARGETS = re.compile(r'"targets"\s*:\s*\[')
_LINKS = re.compile(r"\s*[0-9]+[-p][0-9]+(\s+[0-9]+[-p][0-9]+)*\s*")
_JSON = re.compile(r"\s*(\{\s*(\"|$)|\[\s*(\{|$))")


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
    format (conllu, conll2000, conll2012, bitext, tsv, parallel, keyphrases, labelled, sst, spans, propbank, uds,
    semeval or plain) to read it anyway
    """
    lines = [line for line in source.lines if line.strip()][:_LOOKED_AT]
    if not lines:
        raise source.error("there are no words in this file")
    found = _by_lines(lines)
    endings = (names for ending, names in _ENDINGS.items() if source.name.lower().endswith(ending))
    promised = next(endings, (found,))
    known = _one_of(FORMATS)
    if promised == ("conllu",) and "\t" in lines[0]:
        return "conllu"  # whatever is wrong with its columns, the reader says better
    if found not in promised:
        raise source.error(
            f"the ending promises {_one_of(promised)}, but the file looks like "
            f"{'plain text' if found == 'plain' else found}; name its format ({known}) to read it anyway"
        )
    if found not in FORMATS:
        raise source.error(f"this looks like {found}, which is not among {known}; name one of them to read it anyway")
    return found


def _by_lines(lines: Sequence[str]) -> str:
    """A format, or words for what the lines look like instead."""
    if any(_CONLL2012.match(line) for line in lines):
        return "conll2012"
    if _labelled([name.strip().lower() for name in lines[0].split("\t")]):
        return "labelled"  # first, as the similarity table of GLUE has ten columns too
    if any(_CONLLU.fullmatch(line) for line in lines):
        return "conllu"
    if _JSON.match(lines[0]):
        return _by_fields(lines[0], [name.lower() for name in _NAMED.findall(lines[0])])
    if SENTENCE.fullmatch(lines[0]):
        return "semeval"
    if all("|||" in line for line in lines):
        return "bitext"
    if all(_LINKS.fullmatch(line) for line in lines):
        return "the links of a bitext, to be given as its gold"
    if all(_CHUNKED.fullmatch(line) for line in lines):
        return "conll2000"
    if all(TREE.fullmatch(line) for line in lines):
        return "sst"
    if all(COLA.fullmatch(line) for line in lines):
        return "labelled"
    if len(lines) > 2 and _sentences(lines):
        return "tsv"
    tabs = {line.count("\t") for line in lines}
    if len(lines) > 2 and len(tabs) == 1 and tabs != {0} and not any(line.startswith("\t") for line in lines):
        return f"a table of {tabs.pop() + 1} columns"
    return "plain"


def _by_fields(line: str, names: Sequence[str]) -> str:
    """The kind of a line of JSON by the names of its fields, those inside others included."""
    if _TARGETS.search(line) and ("text" in names or "words" in names):
        return "spans"  # before labels, as the labels of its spans look like one
    if "tokens" in names and ("srl" in names or "constituents" in names):
        return "propbank"
    if {"pred", "arg", "props"} <= set(names):
        return "uds"
    if '"keyphrases"' in line or '"uncontrolled"' in line:
        return "keyphrases"
    if _labelled(names):
        return "labelled"
    return "keyphrases" if "text" in names else "JSON without texts, labels or spans"


def _one_of(names: Sequence[str]) -> str:
    return " or ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _sentences(lines: Sequence[str]) -> bool:
    """Whether these are two columns of sentences: most have several words on either side, as labels and tags do not.
    A line or two that is no pair is for the reader to refuse."""
    rows = [line.split("\t") for line in lines]
    texts = [row for row in rows if len(row) == 2 and all(len(side.split()) > 1 for side in row)]
    return 2 * len(texts) > len(rows) and sum(len(row) != 2 for row in rows) <= len(rows) // 10


def _labelled(names: Sequence[str]) -> bool:
    """Whether these are the names of columns that hold a text and its label."""
    return bool(text_columns(names)) and label_column(names) is not None
