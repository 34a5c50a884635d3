"""Telling the format of a corpus file from its name and its first lines.

The endings ``.conllu`` and ``.jsonl`` promise a format, and a file that does not keep the promise is refused; all
other files are judged by their first lines alone. What looks like none of the annotated formats is plain text, unless
it is a table or JSON of an unknown kind: to read that as text would be a silent mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attlas.corpora.source import Source

FORMATS = ("conllu", "conll2000", "conll2012", "bitext", "parallel", "keyphrases", "plain")
_ENDINGS = {".conllu": "conllu", ".jsonl": "keyphrases"}
_LOOKED_AT = 50
_CONLLU = re.compile(r"#\s*(newdoc|newpar)(\s+id)?(\s*=.*)?|#\s*(sent_id|text)\s*=.*|[0-9]+(-[0-9]+)?(\t[^\t]*){9}")
_CONLL2012 = re.compile(r"#\s*begin document.*")
_CHUNKED = re.compile(r"\S+\s\S+\s(O|[BI]-\S+)\s*")
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
    format (conllu, conll2000, conll2012, bitext, parallel, keyphrases or plain) to read it anyway
    """
    lines = [line for line in source.lines if line.strip()][:_LOOKED_AT]
    if not lines:
        raise source.error("there are no words in this file")
    found = _by_lines(lines)
    promised = next((name for ending, name in _ENDINGS.items() if source.name.lower().endswith(ending)), found)
    known = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
    if promised == "conllu" and "\t" in lines[0]:
        return promised  # whatever is wrong with its columns, the reader says better
    if found != promised:
        raise source.error(
            f"the ending promises {promised}, but the file looks like {'plain text' if found == 'plain' else found}; "
            f"name its format ({known}) to read it anyway"
        )
    if found not in FORMATS:
        raise source.error(f"this looks like {found}, which is not among {known}; name one of them to read it anyway")
    return found


def _by_lines(lines: Sequence[str]) -> str:
    """A format, or words for what the lines look like instead."""
    if any(_CONLL2012.match(line) for line in lines):
        return "conll2012"
    if any(_CONLLU.fullmatch(line) for line in lines):
        return "conllu"
    if _JSON.match(lines[0]):
        named = '"keyphrases"' in lines[0] or '"uncontrolled"' in lines[0]
        return "keyphrases" if named else "JSON without key phrases"
    if all("|||" in line for line in lines):
        return "bitext"
    if all(_LINKS.fullmatch(line) for line in lines):
        return "the links of a bitext, to be given as its gold"
    if all(_CHUNKED.fullmatch(line) for line in lines):
        return "conll2000"
    tabs = {line.count("\t") for line in lines}
    if len(lines) > 2 and len(tabs) == 1 and tabs != {0} and not any(line.startswith("\t") for line in lines):
        return f"a table of {tabs.pop() + 1} columns"
    return "plain"
