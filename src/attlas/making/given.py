"""What an atlas is given: a model that is opened as each study needs it, and corpora that are read as it reads.

A study that cuts heads against a task needs the head of that task, another none; one reads a treebank by sentences,
another by documents. A person names a model and some files, and each is opened in whatever way is wanted: once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus, StreamedCorpus, open_corpus
from attlas.errors import OptionError
from attlas.run.setting import Opening, as_corpus, as_subject

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.text import Document

Readers = Callable[..., Any]


@dataclass(eq=False)
class Models:
    """One model: as it is, or opened by its name with the task head that is asked for. What was opened last without
    one stays open, and so does what was opened last with one.

    >>> models = Models(None)
    >>> models.plain is models.plain, models.name
    (True, 'all-MiniLM-L6-v2')
    """

    given: Subject | Opening | str | Path | None
    _plain: Subject | None = None
    _posed: tuple[str, Subject] | None = None

    @property
    def plain(self) -> Subject:
        """The model, with no head but its own."""
        if self._plain is None:
            self._plain = as_subject(self.given)
        return self._plain

    @property
    def name(self) -> str:
        """What it is called.

        >>> Models(None).name
        'all-MiniLM-L6-v2'
        """
        return self.plain.name

    @property
    def named(self) -> bool:
        """Whether it can be opened once more, since it was given by name.

        >>> Models("minilm").named
        True
        """
        return self.given is None or isinstance(self.given, Opening | str | Path)

    def for_task(self, task: str, corpus: Corpus) -> Subject:
        """The model with the head of a task; refused with a sentence where it offers none.

        >>> from attlas.corpora import read
        >>> models = Models(None)
        >>> models.for_task("tagging:upos", read("sample"))
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: all-MiniLM-L6-v2 cannot be put to the task tagging:upos: its checkpoint ...
        """
        from attlas.run.tasks import checked, fault, open_for_task, task_for

        if not self.named:
            return checked(self.plain, task)
        if self._posed is None or self._posed[0] != task:
            own = self.plain if not fault(self.plain, task) else open_for_task(self.given, task, corpus)
            task_for(own, task, corpus)  # whose labels may be others
            self._posed = task, own
        return self._posed[1]

    @property
    def heads(self) -> tuple[str, ...]:
        """The task heads that its family may have: for language modelling, as was saved, or as it was opened with.

        >>> Models(None).heads
        ('masked-lm', 'causal-lm')
        """
        from attlas.models import possible_heads, read_config, saved_head

        if not self.named:
            own = self.plain.task_head
            return () if own is None else (own,)
        opening = self.given if isinstance(self.given, Opening) else Opening(self.given)  # type: ignore[arg-type]
        config = read_config(opening.name, remote_code=opening.remote_code)
        saved = saved_head(config)
        return tuple(dict.fromkeys((*(() if saved is None else (saved,)), *possible_heads(config))))


@dataclass(eq=False)
class Texts:
    """A corpus: as it is, or a name and how it is read. Whoever reads it in one way reads it once.

    >>> texts = Texts("sample")
    >>> texts.name, texts.read() is texts.read()
    ('sample', True)
    """

    given: Corpus | StreamedCorpus | str | Path | Sequence[Document]
    how: Mapping[str, Any] = field(default_factory=dict)
    _read: dict[Readers, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called.

        >>> Texts("sample").name
        'sample'
        """
        return str(self.read().name)

    def read(self, reader: Readers = open_corpus) -> Any:
        """The corpus, as a reader reads it."""
        if not isinstance(self.given, str | Path):
            return self.given if isinstance(self.given, StreamedCorpus) else self._kept(open_corpus, as_corpus)
        return self._kept(reader, lambda given: reader(given, **self.how))

    @classmethod
    def all_of(cls, corpora: Sequence[Any], how: Mapping[str, Any]) -> list[Texts]:
        """Several corpora, each read with those of the options that are for its format; an option that is for none of
        them is refused.

        >>> Texts.all_of(["sample"], {"label": "binary"})
        Traceback (most recent call last):
            ...
        attlas.errors.OptionError: the option 'label' is for labelled, csv and sst, not for sample
        """
        refused: list[OptionError] = []
        known = [cls(corpus, how)._as_it_takes(refused) for corpus in corpora]
        for error in refused:
            if not any(error.option in texts.how for texts in known):
                raise error
        return known

    def _as_it_takes(self, refused: list[OptionError]) -> Texts:
        """The same, read, without the options that are not for it; why they are not is noted."""
        try:
            self.read()
        except OptionError as error:
            if error.option not in self.how:
                raise
            refused.append(error)
            others = {name: value for name, value in self.how.items() if name != error.option}
            return Texts(self.given, others)._as_it_takes(refused)
        return self

    def _kept(self, reader: Readers, make: Callable[[Any], Any]) -> Any:
        if reader not in self._read:
            self._read[reader] = make(self.given)
        return self._read[reader]
