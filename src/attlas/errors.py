"""What can go wrong, said in one sentence.

Every error that a person may cause derives from :class:`AttlasError`, and its message says what was expected,
what came, where, and what to do. The command line prints that message alone and exits with a non-zero
status; a traceback is reserved for our own mistakes.

>>> raise CorpusError("the governor 19 is outside this 17-word sentence", file="dev.conllu", line=412)
Traceback (most recent call last):
    ...
attlas.errors.CorpusError: dev.conllu, line 412: the governor 19 is outside this 17-word sentence
"""

from __future__ import annotations

import unicodedata
from pathlib import Path


class AttlasError(Exception):
    """The root of all errors that attlas raises on purpose.

    >>> issubclass(ModelError, AttlasError)
    True
    """


class ModelError(AttlasError):
    """A model that cannot be found, opened or understood.

    >>> str(ModelError("no such model"))
    'no such model'
    """


class CapabilityError(ModelError):
    """A model that was opened but cannot give what is asked of it.

    >>> str(CapabilityError("this family keeps its softmax private"))
    'this family keeps its softmax private'
    """


class TextError(AttlasError):
    """A text, a document or its annotation that does not fit together.

    >>> str(TextError("the document has no words"))
    'the document has no words'
    """


class CorpusError(AttlasError):
    """A corpus file that cannot be read; the message starts with the file and, where known, the line.

    >>> str(CorpusError("9 columns where 10 are needed", file="a.conllu", line=3))
    'a.conllu, line 3: 9 columns where 10 are needed'
    """

    def __init__(self, reason: str, *, file: str | Path | None = None, line: int | None = None) -> None:
        where = "" if file is None else str(file)
        if line is not None:
            where += f", line {line}"
        super().__init__(f"{where}: {reason}" if where else reason)


class OptionError(CorpusError):
    """An option of reading that is not for this corpus.

    >>> OptionError("label", "the option 'label' is not for conllu").option
    'label'
    """

    def __init__(self, option: str, reason: str, *, file: str | Path | None = None) -> None:
        super().__init__(reason, file=file)
        self.option = option


class NumberError(AttlasError):
    """A number that must not be: NaN or infinity in weights, a row that does not sum to one.

    >>> str(NumberError("NaN in the weights of layer 3"))
    'NaN in the weights of layer 3'
    """


class StatsError(AttlasError):
    """Statistics that do not belong together: merging unlike configurations, an unknown state.

    >>> str(StatsError("cannot merge shape (2,) with shape (3,)"))
    'cannot merge shape (2,) with shape (3,)'
    """


class PlanError(AttlasError):
    """A plan that cannot be carried out, or a resume whose plan differs.

    >>> str(PlanError("the seed was 0 and is now 1"))
    'the seed was 0 and is now 1'
    """


class StoreError(AttlasError):
    """A result folder that is missing, foreign, incomplete or in the way.

    >>> str(StoreError("out/: no manifest.json here"))
    'out/: no manifest.json here'
    """


class StudyWarning(UserWarning):
    """A study of another package that cannot be used, and was left out.

    >>> issubclass(StudyWarning, Warning)
    True
    """


class CorpusWarning(UserWarning):
    """Something of a corpus that was left out, as it was asked to be.

    >>> issubclass(CorpusWarning, Warning)
    True
    """


def first_line(error: BaseException) -> str:
    """The first line of another library's message, cut where it is long; its kind where it says nothing.

    >>> first_line(ValueError("no such thing\\nand much more")), first_line(KeyError())
    ('no such thing', 'KeyError')
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return text if len(text) < 160 else text[:157] + "..."


def printable(text: str) -> str:
    """A text for a terminal, in one line: what would steer the terminal, turn the direction of writing, is not seen
    or cannot be encoded is written as an escape.

    >>> printable("a\\x1b[31m b\\n"), printable("\\u202eab \\ud800"), printable("naïve – 猫")
    ('a\\\\x1b[31m b\\\\n', '\\\\u202eab \\\\ud800', 'naïve – 猫')
    """
    return "".join(map(_escaped, text)) if not text.isprintable() else text


def _escaped(letter: str) -> str:
    steers = unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in _JOINERS
    return letter.encode("unicode_escape").decode() if steers else letter


_JOINERS = "\u200c\u200d"  # unseen, but part of how scripts and emoji are written
