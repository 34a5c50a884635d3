"""docs/reference.md: every study's command, parameters and tables, from its signature and its schemas."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "reference.md"
HEAD = """# Reference

Every study: its command, its parameters and the columns of its tables. This page is written by
`python docs/build.py reference` from the signatures and schemas in the code.

The parameters of every study stand at the end of each list: where to write, how to go on, how much to read. On the
command line `--model` comes with `--device`, `--dtype`, `--remote-code` and `--allow-pickle`, a corpus with
`--format`, `--unit`, `--target` and `--label`; `--json` prints what was found as JSON, `--quiet` shows no progress.

Names of columns follow one rule: `low` and `high` are the ends of the 95 % confidence interval of a table's main
figure, `c_low` and `c_high` those of a column `c`; `chance` and `chance_c` are chance levels; `twin` and `twin_c` are
figures of the untrained twin (the same architecture with random weights); `p` and `p_corrected` are p values, raw and
corrected. Layers and heads count from 0 in tables and from 1 in options, arguments and pages ("6-3").
"""


def build(folders: list[Path]) -> None:
    """Write the page."""
    PAGE.write_text(text(), encoding="utf-8")
    print(f"page: {PAGE}")


def _place(call: Callable[..., object]) -> str:
    """Where a call is found in Python."""
    import attlas

    home = "attlas" if call.__name__ in attlas.__all__ else call.__module__.rpartition(".")[0]
    return f"{home}.{call.__name__}"


def text() -> str:
    """The whole page."""
    from attlas.studies import GROUPS, studies

    lines = [HEAD]
    lines += _atlas()
    for group, title in GROUPS.items():
        own = [study for study in studies().values() if study.group == group and study.call.startswith("attlas.")]
        if own:
            lines += [f"## {title}", ""]
        for study in own:
            lines += _study(study)
    return "\n".join(lines)


def _atlas() -> list[str]:
    """The commands that make atlases, and their tables."""
    from attlas.cli.atlas import MAKE, MANY
    from attlas.evidence.schemas import SCHEMAS
    from attlas.making.examples import SCHEMAS as OF_EXAMPLES

    lines = ["## The atlas", "", *_study(MAKE), *_study(MANY)]
    lines += ["### atlas-join", "", "`attlas atlas join FOLDERS --out FOLDER`, in Python `attlas.join_atlas`. Make one "
              "atlas of results that were made before, of one model or of several.", ""]  # fmt: skip
    for schema in (*SCHEMAS, *OF_EXAMPLES):
        lines += [schema.markdown().replace("### `", "#### Table `", 1), ""]
    return lines


def _study(study: object) -> list[str]:
    from attlas.run.parameters import help_of, role_of
    from attlas.studies import Study

    assert isinstance(study, Study)
    call = study.load_call()
    parameters = inspect.signature(call).parameters.values()
    words = ["attlas", *study.words]
    roles = {"models": "MODELS.txt", "corpus": "CORPUS", "corpora": "[CORPUS ...]"}
    words += [roles[role] for parameter in parameters if (role := role_of(parameter)) in roles]
    about = (inspect.getdoc(call) or "").partition("\n\n")[0].replace("\n", " ")
    lines = [f"### {study.name}", "", f"`{' '.join(words)}`, in Python `{_place(call)}`. {about}", ""]
    lines += ["| parameter | default | what it is |", "|---|---|---|"]
    for parameter in parameters:
        told = help_of(parameter)
        if told is not None:
            default = "" if parameter.default is inspect.Parameter.empty else f"`{parameter.default!r}`"
            lines.append(f"| `{parameter.name}` | {default} | {told.text.replace('|', chr(92) + '|')} |")
    lines.append("")
    for schema in study.load_page().schemas if study.page else ():
        lines += [schema.markdown().replace("### `", "#### Table `", 1), ""]
    return lines
