"""A study's command, made from the signature of its call.

Each parameter brings its help, its option and its smallest value along (:class:`~attlas.run.parameters.Help`); the
model brings ``--model`` and how to open it, the corpus its file and how to read it, the progress ``--quiet``. The
command reads the corpus, hands everything to the call, writes the page, and prints what was found.

A command that belongs to no study has a file of its own, and shares these options (:func:`with_shared_options`).
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from attlas.cli.finishing import document_of, finish
from attlas.corpora.limits import limited
from attlas.errors import PlanError
from attlas.run.given import NAMED, check_device, check_given
from attlas.run.parameters import Help, asked_of, check_values, help_of, reader_of, role_of, spare
from attlas.run.spreading import share_of
from attlas.studies import Study, studies


def _option_for(kind: Any, flag: str, text: str, *more: str) -> Any:
    return Annotated[kind, typer.Option(flag, *more, help=text)]


OPENING = {
    "device": _option_for(str | None, "--device", "cpu, cuda, cuda:1 ...; cuda where there is one."),
    "dtype": _option_for(str | None, "--dtype", "float32 (default), bfloat16 or float16."),
    "remote_code": _option_for(bool, "--remote-code", "Run code that the model's repository brings."),
    "allow_pickle": _option_for(bool, "--allow-pickle", "Read weights that are not safetensors."),
    "device_map": _option_for(
        str | None,
        "--device-map",
        "Spread it over devices, host and disk: auto, balanced, sequential, cpu, or a JSON file.",
    ),
    "offload": _option_for(Path | None, "--offload", "The folder for what a device map puts on disk."),
    "quantize": _option_for(str | None, "--quantize", "Pack its weights: 8bit or 4bit (bitsandbytes)."),
    "adapter": _option_for(Path | None, "--adapter", "The folder of an adapter (LoRA) to put on it."),
    "stream_layers": _option_for(
        bool, "--stream-layers", "Keep one layer of weights in memory at a time (docs/large-models.md)."
    ),
    "block": Annotated[
        int | None, typer.Option("--block", help="Pieces that go through a layer while it is in memory.", min=1)
    ],
}
READING = {
    "format": _option_for(str | None, "--format", "The file's format, where it cannot be told."),
    "unit": _option_for(
        str | None, "--unit", "What is one document: sentence, document (treebank); paragraph, line, document."
    ),
    "target": _option_for(Path | None, "--target", "The translations, line by line, where they are another file."),
    "label": _option_for(
        str | None, "--label", "The column that holds the labels; for sentiment trees binary or five."
    ),
    "text_column": _option_for(
        str | None, "--text-column", "The column that holds the texts, of a table or dataset."
    ),
    "streamed": _option_for(
        bool | None,
        "--streamed/--whole",
        "Read the corpus as it comes, or whole; as it comes where it is large, a table or a dataset.",
    ),
    "buffer": _option_for(
        str | None, "--buffer", "Documents or bytes of a stream in memory at a time, such as 500 or 4MB."
    ),
}
LIMITS = _option_for(
    str | None, "--limits", "Other limits of what is read, such as line=20000000 or ratio=200 (docs/corpora.md)."
)
LookLimits = Annotated[
    str | None, Help("Another limit of what is kept of a text, such as weights=2000000000, which are 8 GB.")
]
PRINTING = {
    "quiet": _option_for(bool, "--quiet", "No progress.", "-q"),
    "as_json": _option_for(bool, "--json", "Print what was found as JSON."),
}
NOT_OF_A_PART = ("out", "resume", "part", "after", "quiet", "as_json")  # what may differ between parts of one run
_OFF = {option: False if get_args(kind)[0] is bool else None for option, kind in OPENING.items()}


def command_for(study: Study) -> Callable[..., None]:
    """The function that the command line calls for a study.

    >>> command = command_for(studies()["importance"])
    >>> [name for name in inspect.signature(command).parameters][:4]
    ['corpus', 'model', 'task', 'ablation']
    """
    call = study.load_call()
    taken = list(inspect.signature(call).parameters.values())

    def command(**given: Any) -> None:
        with limited(given.get("limits")):
            run_command(study, call, taken, given)

    command.__signature__ = inspect.Signature(_options(taken))  # type: ignore[attr-defined]
    command.__doc__ = _help(call)
    command.__name__ = study.python_name
    return command


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options that all commands share, each meaning one thing everywhere.

    A parameter ``opening`` stands for all options of how to open a model; ``quiet`` and ``as_json`` are those of
    printing; what has a :class:`~attlas.run.parameters.Help` is made into an option as for a study. Another dataclass
    stands for an option per field.

    >>> from attlas.run.setting import Opening
    >>> @with_shared_options
    ... def look(text: str, *, opening: Opening, quiet: bool = False) -> None:
    ...     print(text, opening.dtype, quiet)
    >>> list(inspect.signature(look).parameters)
    ['text', 'device', 'dtype', 'remote_code', 'allow_pickle', ..., 'quiet']
    >>> look(**{**_OFF, "text": "Hi.", "dtype": "float32", "quiet": True})
    Hi. float32 True
    """
    from attlas.run.setting import Opening

    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, list[str]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        own = parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        if name == "opening":
            parameters += [_plain(option, kind, _OFF[option]) for option, kind in OPENING.items()]
        elif name in PRINTING:
            parameters.append(_plain(name, PRINTING[name], False))
        elif is_dataclass(hints[name]):
            options = _fields(hints[name])
            bundles[name] = [option.name for option in options]
            parameters += options
        else:
            told = help_of(own)
            parameters.append(own if told is None else _option(own, name, told))

    @functools.wraps(command)
    def called(**given: Any) -> None:
        check_given(given)
        check_device(given.get("device"))
        if "opening" in hints:
            given["opening"] = Opening(None, **{option: given.pop(option) for option in OPENING})
        for name, options in bundles.items():
            given[name] = hints[name](**{option: given.pop(option) for option in options})
        command(**given)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


def run_command(
    study: Study, call: Callable[..., Any], taken: list[inspect.Parameter], given: dict[str, Any]
) -> None:
    """Read what is to be read, call the study, and print what it gave."""
    from attlas.run import progress_on
    from attlas.run.portions import Left
    from attlas.run.setting import Opening

    writes = not (study.lines and given.get("as_json"))
    check_given(given if given.get("out") or "resume" not in given or not writes else {**given, "out": NAMED})
    check_device(given.get("device"))
    check_values(taken, given)
    own = {parameter.name for parameter in taken}
    how: dict[str, Any] = {name: None if name in own else given.pop(name, None) for name in READING}
    opening: dict[str, Any] = {name: given.get(name) for name in OPENING if name not in own}
    if "resume" in given and given.get("part") is not None:  # of a run: layers convert has parts of a corpus
        asked = {name: value for name, value in {**given, **how}.items() if name not in NOT_OF_A_PART}
        given["part"] = share_of(given["part"])._replace(command={"study": study.name, "given": asked})
    quiet, as_json = given.pop("quiet", True), given.pop("as_json", False)
    arguments: dict[str, Any] = {}
    for parameter in sorted(taken, key=lambda parameter: role_of(parameter) == "model"):  # texts before the model
        name, role = parameter.name, role_of(parameter)
        if role == "model":
            arguments[name] = Opening(given["model"], **opening)
        elif role == "other model":
            alone = {**opening, "adapter": None}  # which is that of the model
            arguments[name] = None if given[name] is None else Opening(given[name], **alone)
        elif role == "corpus":
            arguments[name] = reader_of(parameter)(given[name], **how)
        elif role == "models":
            alone = {**opening, "adapter": None}
            arguments[name] = [Opening(each, **alone) for each in reader_of(parameter)(given[name])]
        elif role == "corpora":  # which are read as each study reads them
            arguments[name] = given[name] or list(parameter.default)
        elif role == "other corpus":
            target = given.get(f"{name}_target")
            value = given[name]
            files = [] if value is None else value if isinstance(value, list) else [value]
            texts = [reader_of(parameter)(file, **{**how, "target": target}) for file in files]
            arguments[name] = (texts or None) if isinstance(value, list) else (texts[0] if texts else None)
        elif role == "progress":
            arguments[name] = progress_on(quiet=quiet)
        elif name == "out":
            arguments[name] = given["out"] or NAMED
        elif name in given:
            arguments[name] = given[name]
    lines = study.load_lines() if as_json else None
    if lines is not None:
        if given["out"] is not None or given["resume"]:
            raise PlanError("--json prints and writes no folder; leave out --out and --resume, or --json")
        for line in lines(**{**arguments, "out": None}):
            typer.echo(json.dumps(line, ensure_ascii=False))
        return
    outcome = call(**arguments)
    if isinstance(outcome, Left):
        typer.echo(json.dumps({"folder": str(outcome.folder)}) if as_json else str(outcome))
        return
    after = study.load_after()
    if as_json:
        typer.echo(json.dumps(_document(outcome, study), ensure_ascii=False))
    elif after is not None:
        after(outcome)
    elif isinstance(outcome, dict):  # several results, each of a study of its own
        for name, result in outcome.items():
            typer.echo(f"\n{name}")
            finish(result, studies()[result.manifest.study])
    else:
        finish(outcome, study)


def _document(outcome: Any, study: Study) -> dict[str, Any]:
    """What ``--json`` prints of what a study gave: one document, also of several results."""
    if study.after:
        told: dict[str, Any] = outcome.as_json()
        return told
    if isinstance(outcome, dict):
        return {name: document_of(result, studies()[result.manifest.study]) for name, result in outcome.items()}
    return document_of(outcome, study)


def _options(taken: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """The parameters of the command: the corpus first, then the model, then the study's own and the shared ones;
    ``--quiet`` where there is progress to tell."""
    own: list[inspect.Parameter] = []
    corpus: list[inspect.Parameter] = []
    model: list[inspect.Parameter] = []
    last: list[inspect.Parameter] = []
    for parameter in taken:
        role, told = role_of(parameter), help_of(parameter)
        if role == "model":
            model.append(_option(parameter, "model", told))
            last += [_plain(name, kind, _OFF[name]) for name, kind in OPENING.items()]
        elif role == "corpus":
            usual = parameter.default if spare(parameter) else inspect.Parameter.empty
            corpus.append(_option(parameter, parameter.name, told, kind=str, default=usual))
            last += [_plain(name, READING[name], None) for name in asked_of(parameter)]
            last.append(_plain("limits", LIMITS, None))
        elif role == "models":
            corpus.append(_option(parameter, parameter.name, told))
            last += [_plain(name, kind, _OFF[name]) for name, kind in OPENING.items()]
        elif role == "corpora":
            corpus.append(_option(parameter, parameter.name, told, kind=list[str] | None, default=None))
            last.append(_plain("limits", LIMITS, None))
        elif role == "other corpus":
            own.append(_option(parameter, parameter.name, told, kind=(told and told.kind) or str | None))
            if told is not None and told.flag == "+target":
                kind = Annotated[Path | None, typer.Option(help="The translations of these, line by line.")]
                own.append(_plain(f"{parameter.name}_target", kind, None))
        elif role != "progress" and told is not None and not told.python:
            own.append(_option(parameter, parameter.name, told))
    silent = not any(role_of(parameter) == "progress" for parameter in taken)
    told_how = [_plain(name, kind, False) for name, kind in PRINTING.items() if name != "quiet" or not silent]
    arguments = [option for option in own if _is_argument(option)]
    return [*corpus, *arguments, *model, *(option for option in own if option not in arguments), *last, *told_how]


def _option(
    parameter: inspect.Parameter, name: str, told: Help | None, *, kind: Any = None, default: Any = ...
) -> inspect.Parameter:
    told = told or Help("")
    python = get_args(parameter.annotation)[0] if get_args(parameter.annotation) else parameter.annotation
    kind = kind or told.kind or python
    default = parameter.default if default is ... else default
    flag = told.flag if told.flag.startswith("--") else f"--{name.replace('_', '-')}"
    if kind is bool and "/" not in flag and default is True:
        flag = f"{flag}/--no-{flag[2:]}"
    flags = [flag, *([told.short] if told.short else [])]
    about: Any
    if told.argument:
        about = typer.Argument(help=told.text, show_default=False)
    else:
        about = typer.Option(*flags, help=told.text, min=told.least, max=told.most)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about]
    )  # fmt: skip


def _fields(bundle: Any) -> list[inspect.Parameter]:
    """The options that a dataclass stands for, one per field."""
    hints = get_type_hints(bundle, include_extras=True)
    own = [_plain(field.name, hints[field.name], field.default) for field in fields(bundle)]
    return [_option(field, field.name, help_of(field)) for field in own]


def _plain(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _is_argument(option: inspect.Parameter) -> bool:
    return isinstance(get_args(option.annotation)[1], typer.models.ArgumentInfo)


def _help(call: Callable[..., Any]) -> str:
    """What a call says of itself, without its parameters and examples, in the field's words for a terminal."""
    doc = inspect.getdoc(call) or ""
    return doc.partition("\nParameters:")[0].partition("\n>>> ")[0].replace("``", "").strip()
