"""What studies need of a model and a corpus, by the names that their records use.

Each need is a function that answers with the reason why it is not met, in a sentence, or with what follows from its
being met: the task that heads are cut against, and the options that a study is then called with. Records of other
packages may name a function of their own by its place, "package.module:function"; it takes the model and the corpus
and gives a sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attlas.errors import AttlasError, PlanError

if TYPE_CHECKING:
    from attlas.corpora import Corpus, StreamedCorpus
    from attlas.making.given import Models


@dataclass(frozen=True)
class Asked:
    """A question whether a study fits: the model, a corpus, and what the person has said (the task, a file of gold
    links).

    >>> Asked(None, None).task is None
    True
    """

    models: Models
    corpus: Corpus | StreamedCorpus
    task: str | None = None
    links: Mapping[str, Any] = field(default_factory=dict)

    @property
    def annotations(self) -> tuple[str, ...]:
        """The annotation that the corpus has."""
        return tuple(self.corpus.annotations)


@dataclass(frozen=True)
class Answer:
    """Whether a need is met: ``why`` not, or the ``task`` whose head the model is to have, and further ``options``.

    >>> Answer().met, Answer("it has no trees").met
    (True, False)
    """

    why: str = ""
    task: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        """Whether it is."""
        return not self.why


def treebank(asked: Asked) -> Answer:
    """Dependency trees.

    >>> from attlas.corpora import read
    >>> treebank(Asked(None, read("sample"))).met
    True
    """
    trees = {"governors", "relations"} <= set(asked.annotations)
    return Answer("" if trees else f"{asked.corpus.name} has no dependency trees; a treebank (CoNLL-U) has them")


def tags(asked: Asked) -> Answer:
    """Parts of speech.

    >>> from attlas.corpora import read
    >>> tags(Asked(None, read("sample"))).met
    True
    """
    known = {"upos", "xpos"} & set(asked.annotations)
    return Answer("" if known else f"{asked.corpus.name} has no parts of speech; a treebank (CoNLL-U) has them")


def coreference(asked: Asked) -> Answer:
    """Mentions that corefer.

    >>> from attlas.corpora import read
    >>> coreference(Asked(None, read("sample"))).met
    True
    """
    name, known = asked.corpus.name, "mentions" in asked.annotations
    return Answer("" if known else f"{name} has no coreference; CoNLL-2012, or CoNLL-U with Entity=, has it")


def key_phrases(asked: Asked) -> Answer:
    """Key phrases.

    >>> from attlas.corpora import read
    >>> key_phrases(Asked(None, read("sample"))).why
    ''
    """
    known = "keyphrases" in asked.annotations
    return Answer(
        ""
        if known
        else f"{asked.corpus.name} has no key phrases; a file of JSON lines with texts and their key phrases has them"
    )


def norms(asked: Asked) -> Answer:
    """W_O of every layer, of which norms are made.

    >>> from attlas.making.given import Models
    >>> norms(Asked(Models(None), None)).met
    True
    """
    try:
        asked.models.plain.require("norms")
    except AttlasError as error:
        return Answer(str(error))
    return Answer()


def links(asked: Asked) -> Answer:
    """Pairs of sentences with gold links between their words, and a model that reads both.

    >>> from attlas.corpora import read
    >>> from attlas.making.given import Models
    >>> links(Asked(Models(None), read("sample"))).why
    'all-MiniLM-L6-v2 does not translate, and words are aligned by a model that does'
    """
    if not asked.models.plain.pieces.translating:
        return Answer(f"{asked.models.name} does not translate, and words are aligned by a model that does")
    if "translation" not in asked.annotations:
        return Answer(f"{asked.corpus.name} has no translations; a bitext has them")
    if not asked.links and "links" not in asked.annotations:
        return Answer(
            f"{asked.corpus.name} has no gold links of words, by which heads are scored; give some (--gold)"
        )
    return Answer(options=asked.links)


def task(asked: Asked) -> Answer:
    """A task that the model does and the corpus has: the one asked for, labels of texts, translations, tags, or
    language modelling, whichever comes first.

    >>> from attlas.corpora import read
    >>> from attlas.making.given import Models
    >>> task(Asked(Models(None), read("sample"))).why
    'all-MiniLM-L6-v2 has no head for a task on sample (causal-lm: its checkpoint does not hold ...'
    """
    return _first_of(asked, _tasks(asked))


def labels(asked: Asked) -> Answer:
    """Labels of texts or words, and a model with the head that predicts them.

    >>> from attlas.corpora import read
    >>> from attlas.making.given import Models
    >>> labels(Asked(Models(None), read("sample"))).met
    False
    """
    return _first_of(asked, (name for name in _tasks(asked) if name.startswith(("classification", "tagging:"))))


def loss(asked: Asked) -> Answer:
    """Anything whose loss gradients can be taken of: a task of the model's, or tags, for which a small head is
    trained.

    >>> from attlas.corpora import read
    >>> from attlas.making.given import Models
    >>> loss(Asked(Models(None), read("sample"))).options
    {'task': 'tagging:upos'}
    """
    from attlas.tasks.tagging import LAYERS

    own = _first_of(asked, (name for name in _tasks(asked) if name != "similarity"))
    if own.met:
        return own
    tags = next((f"tagging:{layer}" for layer in LAYERS if layer in asked.annotations), None)
    return own if tags is None else Answer(options={"task": tags})


NEEDS: dict[str, Callable[[Asked], Answer]] = {
    "treebank": treebank,
    "tags": tags,
    "coreference": coreference,
    "key phrases": key_phrases,
    "norms": norms,
    "links": links,
    "task": task,
    "labels": labels,
    "loss": loss,
}


def answer(need: str, asked: Asked) -> Answer:
    """Whether a need is met: one by name, or a function by its place.

    >>> answer("shyness", Asked(None, None))
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: there is no need 'shyness'; a record names some of treebank, tags, ...
    """
    if need in NEEDS:
        return NEEDS[need](asked)
    module, _, name = need.partition(":")
    if not name:
        raise PlanError(
            f"there is no need {need!r}; a record names some of {', '.join(NEEDS)}, or a function by its place"
        )
    return Answer(str(getattr(import_module(module), name)(asked.models.plain, asked.corpus) or ""))


def _tasks(asked: Asked) -> Iterator[str]:
    """The tasks that the corpus has annotation for and the model may have a head for, first come those of labels."""
    from attlas.run.tasks import is_number, needs
    from attlas.tasks import HEADS, require_task

    if asked.task is not None:
        require_task(asked.task)
        yield asked.task
        return
    heads = asked.models.heads
    some = [document.label for document in asked.corpus.beginning.documents[:20] if document.label is not None]
    numbers = bool(some) and all(is_number(label) for label in some)
    order = ("classification", "similarity", "translation", *(name for name in HEADS if name.startswith("tagging:")),
             "causal-lm", "masked-lm")  # fmt: skip
    for name in order:
        head = HEADS[name]
        known = set(needs(name)) <= set(asked.annotations)
        if known and (head in heads if head is not None else numbers):
            yield name


def _first_of(asked: Asked, names: Iterator[str]) -> Answer:
    """The first task that can be put to the model on the corpus, or why none can."""
    why = ""
    for name in names:
        try:
            asked.models.for_task(name, asked.corpus.beginning)
        except AttlasError as error:
            why = why or f" ({name}: {_short(str(error))})"
            continue
        return Answer(task=name, options={"task": name})
    return Answer(f"{asked.models.name} has no head for a task on {asked.corpus.name}{why}")


def _short(sentence: str) -> str:
    """Why a task cannot be put to a model, without who it is and what could be done."""
    _, found, reason = sentence.partition("cannot be put to the task ")
    return (reason.partition(": ")[2] if found else sentence).partition("; ")[0]
