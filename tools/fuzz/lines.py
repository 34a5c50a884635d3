"""Command lines, drawn: a line that fits its command and is small, with some of its parts changed.

Commands and their options are read off the command line itself, so that a new study or option is drawn without being
listed here; what a value may be follows from the kind of an option: a number, a switch, a model, texts, a result, a
place to write to, a device, free text, or a word. :data:`FITTING` says with what a command has something to do, and
:data:`SMALL` what keeps it short.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

from tools.fuzz.ground import BAD_MODELS, BAD_PLACES, BAD_TEXTS, NAME, ODD_TEXTS, PLACES

GROUND = f"../{NAME}"
HUGE = (str(10**30), str(2**63), str(2**31))
NO_NUMBERS = ("", " ", "abc", "nan", "1_", "0x10", "\u200b")
NO_WORDS = ("nonsense", "\u200b", "\udcff", "a\nb", "\x1b[31m", "\u202eabc", "\U0001f600", "x" * 100_000)
WORDS = (*NO_WORDS, "", "0", "-1", "1,,2", "duplicate", "entropy", "qrhead", "duo-tsv", "decoder")
TEXTS = (
    "The farmer slept.", "", " ", "\u200b\u200c", "\udcff", "\x01\x1b[2J\x07", "\u202eturned\u202c", "\U0001f600",
    "a " * 50_000, "a" * 100_000, "-", "--", "a\nb\tc", "<script>alert(1)</script>", "\u0301", "1:3",
)  # fmt: skip
MODELS = ("bert", "classifier", "classifier two", "tagger", "llama", "masked", "marian", "marian back")
CORPORA = (
    "treebank.conllu", "plain.txt", "bitext.txt", "gold.pharaoh", "labelled.tsv", "similar.tsv", "chunked.txt",
    "entities.txt", "keyphrases.jsonl", "spans.jsonl", "paired.jsonl", "columns.conll", "nominals.txt",
    "propbank.jsonl", "properties.jsonl",
)  # fmt: skip
RESULTS = ("survey", "relations", "roles", "flipped", "no-table", "no-manifest", "deep-manifest", "cut-manifest")
READ = ("file", "target", "gold", "splits", "vectors", "models")  # files that are no corpora
FREE = ("text", "second", "against", "sentence", "spans", "label")

Arguments = dict[str, tuple[str, ...]]
FITTING: dict[str, tuple[str, ...]] = {  # the corpus, the model, and more
    "ablate": ("plain.txt", "llama"),
    "align": ("bitext.txt", "marian", "aligners=diagonal"),
    "atlas": ("plain.txt", "bert", "only=survey,norms"),
    "atlas many": ("plain.txt", "", f"models={GROUND}/models.txt", "only=survey"),
    "coref": ("treebank.conllu", "bert"),
    "doctor": ("", "bert"),
    "export heads": ("", "", "kind=csv", "by=entropy", "out=heads.csv"),
    "faith": ("labelled.tsv", "classifier", "task=classification"),
    "faith chunking": ("chunked.txt", "", f"test={GROUND}/two/chunked.txt", "weights=1", "ends=1"),
    "faith freeze": ("labelled.tsv", "classifier"),
    "heads": ("treebank.conllu", "bert"),
    "importance": ("plain.txt", "llama"),
    "keywords compare": ("keyphrases.jsonl", "bert"),
    "keywords study": ("keyphrases.jsonl", "bert"),
    "keywords tune": ("keyphrases.jsonl", "bert"),
    "layers": ("treebank.conllu", "bert", "task=pos"),
    "layers case": ("", "bert", "sentence=The farmer slept.", "spans=1:3"),
    "layers convert": ("treebank.conllu", "", "task=pos"),
    "noop": ("plain.txt", "masked", "task=masked-lm"),
    "parse": ("treebank.conllu", "bert"),
    "prune": ("plain.txt", "llama"),
    "relations": ("treebank.conllu", "bert"),
    "roles": ("plain.txt", "llama", "definitions=duplicate,first_key"),
    "roles through": (
        "plain.txt",
        "",
        f"checkpoints={GROUND}/models/classifier",
        f"checkpoints={GROUND}/models/classifier two",
        "definitions=duplicate,first_key",
    ),
    "translate-train": ("bitext.txt", ""),
    "tune": ("labelled.tsv", "bert", "task=classification"),
    "view": ("", "bert", "text=The farmer slept."),
}
OTHERWISE = ("plain.txt", "bert")
SMALL = {
    "adversary_steps": "2", "batch_size": "8", "epochs": "1", "ffn": "8", "folds": "2", "guided": "0", "heads": "2",
    "instances": "1", "layers": "1", "limit": "4", "middle": "1", "permutations": "2", "rank": "4", "seeds": "1",
    "steps": "2", "texts": "12", "twins": "1", "vocabulary": "60", "width": "8",
}  # fmt: skip


@dataclass(frozen=True)
class Option:
    """A parameter of a command: its name, how it is written, and of what kind its values are."""

    name: str
    flags: tuple[str, ...]
    kind: str
    least: float | None
    required: bool
    several: bool

    @property
    def argument(self) -> bool:
        """Whether it stands without a name."""
        return not self.flags


@dataclass(frozen=True)
class Line:
    """A command line: its words, which of its parts are surely bad, and whether it asks for endless work."""

    words: tuple[str, ...]
    bad: tuple[str, ...] = ()
    huge: bool = False

    def __str__(self) -> str:
        return " ".join(repr(word) if len(word) < 60 else f"{word[:40]!r}...({len(word)})" for word in self.words)


@dataclass
class Drawn:
    """A command line on its way: values by the name of their option, words that belong to none, and what is bad."""

    values: Arguments = field(default_factory=dict)
    loose: list[str] = field(default_factory=list)
    bad: dict[str, str] = field(default_factory=dict)
    huge: bool = False


@dataclass(frozen=True)
class Value:
    """A value for an option; one that is bad is so in every command."""

    text: str
    bad: bool = False
    huge: bool = False


@cache
def commands() -> dict[str, tuple[Option, ...]]:
    """All commands that the command line has, with their options."""
    from attlas.cli.app import app

    return dict(_walk(app, ()))


def line(seed: int, index: int) -> Line:
    """Command line number ``index``, always the same one."""
    draw = random.Random(f"{seed} {index}")
    name = draw.choice(list(commands()))
    if draw.random() < 0.02:
        return Line(
            draw.choice(((), ("nonsense",), ("",), ("--version",), ("--nonsense",), ("--seed", "1", "survey")))
        )
    options = commands()[name]
    drawn = _fitting(name, options)
    for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 3, 4))):
        draw.choice(_CHANGES)(draw, options, drawn)
    return Line((*name.split(), *_written(draw, options, drawn)), tuple(drawn.bad.values()), drawn.huge)


def fitting(name: str) -> Line:
    """The small line that fits a command, as it is."""
    options = commands()[name]
    return Line((*name.split(), *_written(random.Random(name), options, _fitting(name, options))))


def _walk(app: Any, words: tuple[str, ...]) -> Iterator[tuple[str, tuple[Option, ...]]]:
    for command in app.registered_commands:
        own = words[:-1] if words[-1:] == (command.name,) else words
        yield " ".join((*own, command.name)), tuple(_options(command))
    for group in app.registered_groups:
        yield from _walk(group.typer_instance, (*words, group.name))


def _options(command: Any) -> Iterator[Option]:
    from typer.models import ArgumentInfo

    for parameter in inspect.signature(command.callback, eval_str=True).parameters.values():
        kind, about = get_args(parameter.annotation)[:2]
        if type(None) in get_args(kind):
            kind = next(part for part in get_args(kind) if part is not type(None))
        several = get_origin(kind) is list
        base = get_args(kind)[0] if several else kind
        flags: tuple[str, ...] = ()
        if not isinstance(about, ArgumentInfo):  # the first flag stands where typer has the default else
            usual = f"--{parameter.name.replace('_', '-')}"
            flags = (about.default if isinstance(about.default, str) else usual, *(about.param_decls or ()))
        required = parameter.default is inspect.Parameter.empty
        yield Option(parameter.name, flags, _kind(parameter.name, base), about.min, required, several)


def _kind(name: str, base: Any) -> str:
    if base in (bool, int, float):
        return str(base.__name__)
    if name in ("out", "pharaoh", "device", "dtype"):
        return "place" if base is Path else name
    if ("model" in name and name != "models") or name in ("back", "checkpoints", "evened", "others"):
        return "model"
    if (
        name in READ
        or name.endswith("_target")
        or name in ("corpus", "other", "choose_on", "validation", "test", "more", "retune", "corpora")
    ):
        return "texts"
    if base is Path:
        return "result"
    return "text" if name in FREE else "word"


def _fitting(name: str, options: tuple[Option, ...]) -> Drawn:
    """A line that fits a command and is small."""
    corpus, model, *more = FITTING.get(name, OTHERWISE)
    drawn = Drawn()
    for option in options:
        if option.name in ("corpus", "corpora") and corpus:
            drawn.values[option.name] = (f"{GROUND}/one/{corpus}",)
        elif option.name == "model" and model:
            drawn.values["model"] = (f"{GROUND}/models/{model}",)
        elif option.kind == "int" and option.name in SMALL:
            drawn.values[option.name] = (SMALL[option.name],)
        elif option.name == "quiet":
            drawn.values["quiet"] = ("",)
        elif option.kind == "result" and option.required:
            drawn.values[option.name] = (f"{GROUND}/results/survey",)
    for given in more:
        option_name, _, value = given.partition("=")
        drawn.values[option_name] = (*drawn.values.get(option_name, ()), value)
    return drawn


def _written(draw: random.Random, options: tuple[Option, ...], drawn: Drawn) -> list[str]:
    """The words of a line, options in any order; arguments come after them, or before."""
    arguments: list[str] = []
    named: list[list[str]] = []
    for option in options:
        written: list[str] = []
        for value in drawn.values.get(option.name, ()):
            if option.argument:
                arguments.append(value)
                continue
            flag = draw.choice([part for flag in option.flags for part in flag.split("/")])
            if option.kind == "bool" and not value:
                written.append(flag)
            elif value.startswith("-") or not value or (draw.random() < 0.2 and flag.startswith("--")):
                written.append(f"{flag if flag.startswith('--') else option.flags[0]}={value}")
            else:
                written += [flag, value]
        named.append(written)  # in their order, for the last one counts
    draw.shuffle(named)
    words = [word for part in named for word in part] + drawn.loose
    if any(argument.startswith("-") and argument != "-" for argument in arguments):
        return [*words, "--", *arguments]
    return [*arguments, *words] if draw.random() < 0.7 else [*words, *arguments]


def _set(drawn: Drawn, option: Option, *values: Value) -> None:
    drawn.values[option.name] = tuple(value.text for value in values)
    counted = values if option.several else values[-1:]
    drawn.bad.pop(option.name, None)
    if any(value.bad for value in counted):
        drawn.bad[option.name] = f"{option.name} {next(value.text for value in counted if value.bad)[:60]!r}"
    drawn.huge |= any(value.huge for value in values)


def _one_value(draw: random.Random, options: tuple[Option, ...], drawn: Drawn) -> None:
    option = draw.choice(options)
    _set(drawn, option, _value(draw, option))


def _several_values(draw: random.Random, options: tuple[Option, ...], drawn: Drawn) -> None:
    """An option that is given again; where it holds one value, the last one counts."""
    option = draw.choice(options)
    if not option.argument or option.several:
        _set(drawn, option, _value(draw, option), _value(draw, option))


def _left_out(draw: random.Random, options: tuple[Option, ...], drawn: Drawn) -> None:
    option = draw.choice([option for option in options if option.name in drawn.values] or options)
    drawn.values.pop(option.name, None)
    drawn.bad.pop(option.name, None)
    if option.required:
        drawn.bad[option.name] = f"no {option.name}"


def _of_others(draw: random.Random, options: tuple[Option, ...], drawn: Drawn) -> None:
    """An option of another command, one that there is not, an argument too many, or help."""
    known = {flag for option in options for flags in option.flags for flag in flags.split("/")}
    other = draw.choice([option for each in commands().values() for option in each if not option.argument])
    flag = draw.choice((other.flags[0].split("/")[0], "--nonsense", "--no-nonsense", "-Z", "--\u200b"))
    if flag not in known and not any(name.startswith(flag) for name in known):
        drawn.loose.append(f"{flag}={_value(draw, other).text}" if draw.random() < 0.5 else flag)
        drawn.bad["unknown"] = flag
    elif draw.random() < 0.2:
        drawn.loose.append("--help")


_CHANGES: tuple[Callable[[random.Random, tuple[Option, ...], Drawn], None], ...] = (
    *(_one_value,) * 8, _several_values, _left_out, _of_others,
)  # fmt: skip


def _value(draw: random.Random, option: Option) -> Value:
    return _VALUES[option.kind](draw, option)


def _switch(draw: random.Random, option: Option) -> Value:
    return Value("x", bad=True) if draw.random() < 0.1 else Value("")


def _whole(draw: random.Random, option: Option) -> Value:
    text = draw.choice((*HUGE, "0", "-1", "1", "2", "3", "7", "1.5", *NO_NUMBERS))
    number = int(text) if text.lstrip("-").isdigit() else None
    low = number is not None and option.least is not None and number < option.least
    bad = number is None or low or (option.name == "seed" and not 0 <= number < 2**63)
    return Value(text, bad, huge=text in HUGE)


def _fraction(draw: random.Random, option: Option) -> Value:
    text = draw.choice(("0", "-1", "1", "0.5", "1e30", "inf", "-inf", "1e-30", "1e400", *NO_NUMBERS))
    number = None if text in NO_NUMBERS else float(text)
    return Value(text, number is None or (option.least is not None and number < option.least), huge="e" in text)


def _model(draw: random.Random, option: Option) -> Value:
    chance = draw.random()
    if chance < 0.4:
        return Value(f"{GROUND}/models/{draw.choice(MODELS)}")
    if chance < 0.7:
        return Value(f"{GROUND}/models/{draw.choice(BAD_MODELS)}")
    return Value(draw.choice((*PLACES, "", "nobody/nothing", "a/b/c/d", "../..", "x" * 10_000, "nobody/a\nb", "?")))


def _texts(draw: random.Random, option: Option) -> Value:
    chance = draw.random()
    if chance < 0.3:
        return Value(f"{GROUND}/{draw.choice(('one', 'two'))}/{draw.choice(CORPORA)}")
    if chance < 0.6:
        return Value(f"{GROUND}/{draw.choice(list(ODD_TEXTS))}")
    surely = option.name == "corpus"
    if chance < 0.75:
        return Value(f"{GROUND}/{draw.choice(BAD_TEXTS)}", surely)
    return Value(draw.choice((*PLACES, "/dev/null", f"{GROUND}/one", f"{GROUND}/closed", "")), surely)


def _result(draw: random.Random, option: Option) -> Value:
    if draw.random() < 0.6:
        return Value(f"{GROUND}/results/{draw.choice(RESULTS)}")
    return Value(draw.choice((*PLACES, "/dev/null", f"{GROUND}/one", f"{GROUND}/one/plain.txt", "", "taken")))


def _place(draw: random.Random, option: Option) -> Value:
    chance = draw.random()
    if chance < 0.4:
        return Value(
            draw.choice(("out", "deep/er/out", "a b 'c'", "\u202eout", "\U0001f600", "-out", "o\nut", "./out/"))
        )
    if chance < 0.5:
        return Value(draw.choice(("taken", "file.txt", ".", "", "..")))
    return Value(draw.choice(BAD_PLACES), bad=True)


def _device(draw: random.Random, option: Option) -> Value:
    text = draw.choice(("cpu", "cpu", "foo", "cuda:99", "meta", "", "cpu:7", "\u200b", "mps", "cuda:-1", "c" * 1000))
    return Value(text, bad=text not in ("cpu", "cpu:7", ""))


def _number_format(draw: random.Random, option: Option) -> Value:
    text = draw.choice(
        ("float32", "bfloat16", "float16", "float64", "int8", "foo", "", "float1", "load", "complex64")
    )
    return Value(text, bad=text in ("foo", "float1", "load"))


def _free(draw: random.Random, option: Option) -> Value:
    text = draw.choice(TEXTS)
    return Value(text, bad=text == "\udcff")


def _word(draw: random.Random, option: Option) -> Value:
    text = draw.choice(WORDS)
    return Value(text, bad=text in NO_WORDS)


_VALUES: dict[str, Callable[[random.Random, Option], Value]] = {
    "bool": _switch, "int": _whole, "float": _fraction, "model": _model, "texts": _texts, "result": _result,
    "place": _place, "device": _device, "dtype": _number_format, "text": _free, "word": _word,
}  # fmt: skip
