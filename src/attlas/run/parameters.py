"""Parameters of studies, each described where it is declared.

A study is a plain function. What its parameters mean stands beside them, as :class:`Help` in their annotations, and
everything else is made of that: the options of its command, its documentation, and the list that ``help()`` shows.
What all studies share (where to write, how to resume, how much to read) comes as one bundle, :class:`Running` or
:class:`Reading`, which a call takes as ``**running: Unpack[Reading]``; :func:`study_call` shows its parameters one by
one in the signature, and fills in those that were not given.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypedDict, TypeVar, get_args, get_type_hints

from attlas.corpora import Corpus
from attlas.errors import PlanError
from attlas.run.engine import Engine
from attlas.run.given import check_given
from attlas.run.progress import Progress
from attlas.run.settling import First, settled
from attlas.run.spreading import DETAILS, Ended, Share, check_spread
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.run.setting import Opening

Number = TypeVar("Number", int, float)
Call = TypeVar("Call", bound=Callable[..., Any])


@dataclass(frozen=True)
class Help:
    """What a parameter means, and how it looks on the command line.

    ``flag`` is its option where that is not its name with dashes, ``short`` a letter; ``least`` is the smallest value
    and ``most`` the largest; ``kind`` the type on the command line where that is another than in Python; an
    ``argument`` stands without a name; what is ``python`` only has no option. ``check`` is the place of a function,
    "package.module:name", that refuses what no model could make sense of.

    >>> Help("So many texts.", least=1).least
    1
    """

    text: str
    flag: str = ""
    short: str = ""
    least: float | None = None
    most: float | None = None
    kind: Any = None
    argument: bool = False
    python: bool = False
    check: str = ""


OPENED = "attlas.corpora:open_corpus"


@dataclass(frozen=True)
class Role:
    """A parameter that is more than a value: the model, the corpus, a further model or corpus, the progress.

    ``read`` is the place of the function that reads a corpus for the command line, "package.module:name", where that
    is another than :func:`attlas.corpora.open_corpus`; ``asks`` are the options by which it is told how; a corpus
    that is ``spare`` may be left out on the command line, where the call's own default is taken.

    >>> Role("model").name
    'model'
    """

    name: str
    read: str = OPENED
    asks: tuple[str, ...] = ("format", "unit", "target", "label", "text_column", "streamed", "buffer")
    spare: bool = False


UNREAD = "attlas.run.parameters:unread"
_TEXTS = Corpus | str | Path | Sequence[Document]
_CORPUS_HELP = Help(
    "A file (CoNLL-U, CoNLL-2000/2012, bitext, labelled, plain text, Parquet ...; .gz too), a dataset of the hub "
    '(hf://owner/name:config/split?text=column), or "sample".',
    argument=True,
)
if TYPE_CHECKING:
    Model: TypeAlias = Subject | Opening | str | Path | None
    Texts: TypeAlias = Corpus | str | Path | Sequence[Document]
    SpareTexts: TypeAlias = Corpus | str | Path | Sequence[Document]
else:  # on the command line a name; in Python also a Subject, whose module needs torch
    Model = Annotated[
        Any,
        Role("model"),
        Help(
            "Hub name, folder, or short name; the bundled all-MiniLM-L6-v2 if left out.", short="-m", kind=str | None
        ),
    ]
    Texts = Annotated[_TEXTS, Role("corpus"), _CORPUS_HELP]
    SpareTexts = Annotated[_TEXTS, Role("corpus", spare=True), _CORPUS_HELP]

Task = Annotated[
    str,
    Help(
        "causal-lm, masked-lm, translation, tagging:upos, tagging:xpos, tagging:chunks, tagging:keyphrases, "
        "classification (of texts, or pairs) or similarity."
    ),
]
CHECK_MEASURE, CHECK_HEADS = "attlas.measures.names:check_measure", "attlas.ids:check_heads"
Measure = Annotated[str, Help("weight, or norm (of weight times vector).", check=CHECK_MEASURE)]
Twins = Annotated[
    int, Help("So many untrained twins (random weights), drawn one by one: a single one is a draw.", least=1)
]
Twin = Annotated[
    str,
    Help(
        "Where untrained twins are: beside the model, after it was let go of (memory of one model at a time, the "
        "same tables), or none (the result has no random-weights baseline, and says so).",
        check="attlas.run.baseline:check_twin",
    ),
]
ChooseOn = Annotated[
    _TEXTS | None,
    Role("other corpus"),
    Help("A corpus to choose on; else one half of the documents is."),
]
Pairs = Annotated[
    bool | None,
    Help(
        "Read neighbouring segments as pairs; default for plain text with paragraphs, where the model knows pairs.",
        flag="--pairs/--single",
    ),
]


class Running(TypedDict, total=False):
    """What every run takes.

    >>> sorted(Running.__annotations__)
    ['after', 'budget', 'checkpoint_every', 'engine', 'out', 'part', 'progress', 'resume', 'seed', 'threads', 'tree',
    'workers']
    """

    seed: Annotated[int, Help("Decides every draw.")]
    out: Annotated[
        Path | str | None, Help("Folder for the result; named by itself if left out.", short="-o", kind=Path | None)
    ]
    resume: Annotated[bool, Help("Go on where an interrupted run stopped.")]
    budget: Annotated[
        int | None,
        Help(
            "Pieces (subword tokens) per batch, padding included; as the device has room if none are told.",
            least=1,
        ),
    ]
    checkpoint_every: Annotated[float, Help("Seconds between checkpoints, for --resume.", least=0)]
    engine: Annotated[
        Engine | str,
        Help("local, ray (workers on this machine), or ray://HOST:PORT (a running cluster).", kind=str),
    ]
    workers: Annotated[int | None, Help("With Ray: so many workers; as many as have room if left out.", least=1)]
    threads: Annotated[int | None, Help("With Ray: threads of each worker; 1 if left out.", least=1)]
    tree: Annotated[bool, Help("With Ray: merge as a tree, for very many workers; the last digits differ.")]
    part: Annotated[
        Share | str | None, Help("Do one part only, such as 3/16; attlas merge joins them.", kind=str | None)
    ]
    after: Annotated[
        Path | str | None, Help("With --part: the merged stage that this part builds on.", kind=Path | None)
    ]
    progress: Annotated[Progress | None, Role("progress")]


class Reading(Running, total=False):
    """What every run takes that reads texts of a corpus.

    >>> sorted(set(Reading.__annotations__) - set(Running.__annotations__))
    ['first', 'limit', 'long', 'max_pieces']
    """

    max_pieces: Annotated[
        int | None,
        Help("Longest text in pieces (subword tokens); if left out, what the study asks for.", least=4),
    ]
    long: Annotated[
        str, Help("What to do with longer texts: cut, refuse or skip.", check="attlas.capture.reading:check_long")
    ]
    limit: Annotated[
        int | None, Help("So many texts (of each part), drawn at random by the seed, not the first ones.", least=1)
    ]
    first: Annotated[int | None, Help("The first so many texts (of each part), in place of drawn ones.", least=1)]


DEFAULTS: dict[str, Any] = {
    "max_pieces": None, "long": "cut", "limit": None, "first": None, "seed": 0, "out": None, "resume": False,
    "budget": None, "checkpoint_every": 20.0, "engine": "local", "workers": None, "threads": None, "tree": False,
    "part": None, "after": None, "progress": None,
}  # fmt: skip


def study_call(
    *,
    without: Sequence[str] = (),
    streams: bool = False,
    keeps: str = "",
    alone: str = "",
    whole: str = "",
    **defaults: Any,
) -> Callable[[Call], Call]:
    """Show a call's bundle parameter by parameter, fill in what was not given, and document all of them.

    ``defaults`` are those of this study where they are others than :data:`DEFAULTS`, or where its bundle has more
    than others have; ``without`` are parameters of the bundle that it does not take. A call that ``streams`` takes a
    corpus as it comes; for all others the documents of such a corpus are drawn, or read whole, beforehand
    (:func:`attlas.run.settling.settled`), and what the study ``keeps`` of each says why where there are too many.
    ``alone`` says why it cannot be spread over workers or parts, ``whole`` why
    not over parts.

    >>> from typing import Unpack
    >>> @study_call(budget=512)
    ... def toy(corpus: Texts = "", *, depth: Annotated[int, Help("How deep.")] = 2, **running: Unpack[Running]):
    ...     '''Play.'''
    ...     return running["budget"], depth
    >>> toy(), toy(budget=3)
    ((512, 2), (3, 2))
    >>> list(inspect.signature(toy).parameters)
    ['corpus', 'depth', 'seed', 'out', 'resume', 'budget', 'checkpoint_every', 'engine', 'workers', 'threads', 'tree',
    'part', 'after', 'progress']
    >>> toy(dept=3)
    Traceback (most recent call last):
        ...
    TypeError: toy() got an unexpected keyword argument 'dept'
    """

    def decorate(call: Call) -> Call:
        left_out = [*without, *(["first"] if "limit" in without else []), *(DETAILS if alone else [])]
        parameters, shared = _parameters(call, left_out, {**DEFAULTS, **defaults})
        usual = shared.get("limit")

        @functools.wraps(call)
        def called(*args: Any, **given: Any) -> Any:
            try:
                signature.bind(*args, **given)
            except TypeError as error:
                raise TypeError(f"{call.__name__}() {error}") from None
            values = {**shared, **signature.bind(*args, **given).arguments}
            check_given(values)
            check_values(parameters, values)
            check_spread(call.__name__, {name: values.get(name) for name in shared}, alone, whole)
            bound = inspect.signature(call).bind(*args, **_limited({**shared, **given}, usual))
            for parameter in parameters:
                if parameter.name in bound.arguments and role_of(parameter) in ("corpus", "other corpus"):
                    bound.arguments[parameter.name] = settled(
                        bound.arguments[parameter.name], {**shared, **bound.kwargs}, streaming=streams,
                        named=_role(parameter).read == OPENED,
                        why=f"{call.__name__.replace('_', ' ')} keeps {keeps}" if keeps else "",
                    )  # fmt: skip
            try:
                return call(*bound.args, **bound.kwargs)
            except Ended as ended:
                return ended.left

        signature = inspect.Signature(parameters)
        for parameter in parameters:
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                shared.pop(parameter.name, None)
        called.__signature__ = signature  # type: ignore[attr-defined]
        called.__doc__ = _documented(inspect.getdoc(call) or "", parameters)
        return called  # type: ignore[return-value]

    return decorate


def check_values(parameters: Sequence[inspect.Parameter], given: Mapping[str, Any]) -> None:
    """Refuse values that no model could make sense of, before one is opened.

    >>> measure = inspect.Parameter("measure", inspect.Parameter.KEYWORD_ONLY, annotation=Measure)
    >>> check_values([measure], {"measure": "length"})
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: there is no measure 'length'; choose weight or norm
    """
    for parameter in parameters:
        told, value = help_of(parameter), given.get(parameter.name)
        if told is None or value is None:
            continue
        if told.most is not None and value > told.most:
            raise PlanError(f"--{parameter.name.replace('_', '-')} is too large; give {told.most:,.0f} at most")
        if told.check:
            _place(told.check)(value)


def names_of(given: str | Sequence[str]) -> list[str]:
    """Several names: a list of them, or one text with commas between them, as a command line has it.

    >>> names_of("6-3, 6-11"), names_of(["6-3"])
    (['6-3', '6-11'], ['6-3'])
    """
    if isinstance(given, str):
        return [name.strip() for name in given.split(",") if name.strip()]
    return list(given)


def numbers_of(given: str | Sequence[Number], option: str, kind: type[Number] = int) -> list[Number]:
    """Several numbers, whole ones unless told: a list of them, or one text with commas between them, as a command
    line has it.

    >>> numbers_of("1,5", "--steps"), numbers_of([0.2], "--weights", float)
    ([1, 5], [0.2])
    >>> numbers_of("1,few", "--steps")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: --steps '1,few' is not a list of whole numbers; write for example 1,5,20
    """
    try:
        return [kind(part) for part in (given.split(",") if isinstance(given, str) else given)]
    except ValueError:
        wanted = "whole numbers; write for example 1,5,20" if kind is int else "numbers; write for example 0.2,1,3"
        raise PlanError(f"{option} {given!r} is not a list of {wanted}") from None


def help_of(parameter: inspect.Parameter) -> Help | None:
    """What is said of a parameter, if anything.

    >>> help_of(inspect.Parameter("n", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[int, Help("Many.")])).text
    'Many.'
    """
    return next((part for part in get_args(parameter.annotation)[1:] if isinstance(part, Help)), None)


def role_of(parameter: inspect.Parameter) -> str:
    """The role of a parameter; empty where it is a plain value.

    >>> role_of(inspect.Parameter("corpus", inspect.Parameter.KEYWORD_ONLY, annotation=Texts))
    'corpus'
    """
    return _role(parameter).name


def spare(parameter: inspect.Parameter) -> bool:
    """Whether a corpus may be left out on the command line.

    >>> spare(inspect.Parameter("corpus", inspect.Parameter.KEYWORD_ONLY, annotation=Texts))
    False
    """
    return _role(parameter).spare


def asked_of(parameter: inspect.Parameter) -> tuple[str, ...]:
    """The options that tell how a corpus is read.

    >>> asked_of(inspect.Parameter("corpus", inspect.Parameter.KEYWORD_ONLY, annotation=Texts))[0]
    'format'
    """
    return _role(parameter).asks


def reader_of(parameter: inspect.Parameter) -> Callable[..., Any]:
    """The function that reads a corpus which the command line names.

    >>> reader_of(inspect.Parameter("corpus", inspect.Parameter.KEYWORD_ONLY, annotation=Texts)).__name__
    'open_corpus'
    """
    return _place(_role(parameter).read)


def unread(name: str, **how: Any) -> str:
    """A corpus that the study reads itself, since only its task says how.

    >>> unread("train.jsonl", format=None)
    'train.jsonl'
    """
    return name


def _limited(given: dict[str, Any], usual: int | None) -> dict[str, Any]:
    """What a call was given, with the first texts that were asked for as its limit."""
    first = given.pop("first", None)
    if first is None:
        return given
    if given.get("limit") not in (None, usual):
        raise PlanError("give --limit for texts that are drawn, or --first for the first ones, but not both")
    if first < 1:
        raise PlanError(f"the first {first} texts are none; give at least 1 (--first)")
    return {**given, "limit": First(first)}


def _place(place: str) -> Callable[..., Any]:
    """A function by its place, "package.module:name"."""
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def _role(parameter: inspect.Parameter) -> Role:
    return next((part for part in get_args(parameter.annotation)[1:] if isinstance(part, Role)), Role(""))


def _parameters(
    call: Callable[..., Any], without: Sequence[str], defaults: dict[str, Any]
) -> tuple[list[inspect.Parameter], dict[str, Any]]:
    """All parameters of a call with those of its bundle, and the bundle's defaults."""
    hints = get_type_hints(call, include_extras=True)
    parameters, shared = [], {}
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            parameters.append(parameter.replace(annotation=hints.get(parameter.name, Any)))
            continue
        (bundle,) = get_args(hints[parameter.name])
        bundled = get_type_hints(bundle, include_extras=True)
        order = [*(name for name in bundled if name not in DEFAULTS), *DEFAULTS]
        for name in sorted(bundled, key=order.index):
            if name in without or any(own.name == name for own in parameters):
                continue
            shared[name] = defaults[name]
            parameters.append(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=bundled[name]
                )
            )
    return parameters, shared


def _documented(doc: str, parameters: Sequence[inspect.Parameter]) -> str:
    """A docstring with a line for each parameter, before its example."""
    lines = []
    for parameter in parameters:
        told = help_of(parameter)
        if told is not None:
            text = textwrap.fill(
                f"{parameter.name}: {told.text}", 110, initial_indent="    ", subsequent_indent="        "
            )
            lines.append(text)
    if not lines:
        return doc
    before, mark, example = doc.partition("\n>>> ")
    return f"{before.rstrip()}\n\nParameters:\n" + "\n".join(lines) + (f"\n\n>>> {example}" if mark else "\n")
