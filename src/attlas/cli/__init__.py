"""The command line: one file per command, thin parsing around a plain function that works.

Whatever a person does wrong ends as one sentence on standard error and a non-zero status.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from attlas.errors import AttlasError, StudyWarning

INTERRUPTED = 130  # the status that the library of commands gives to a keyboard interrupt


def main() -> None:
    """Run the command line; errors of ours become one sentence.

    >>> import contextlib, io, sys
    >>> sys.argv = ["attlas", "report", "no-such-folder"]
    >>> with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.suppress(SystemExit):
    ...     main()
    >>> said.getvalue().startswith("attlas: no-such-folder")
    True
    """
    warnings.formatwarning = _in_one_line  # type: ignore[assignment]
    from attlas.cli.app import app

    try:
        app(prog_name="attlas")
    except AttlasError as error:
        sys.stderr.write(f"attlas: {error}\n")
        sys.exit(2)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            sys.stderr.write("attlas: interrupted\n")
        raise


_usual = warnings.formatwarning


def _in_one_line(message: Any, category: type[Warning], *where: Any) -> str:
    """A study that was left out is told in one line; other warnings as always."""
    return f"attlas: {message}\n" if issubclass(category, StudyWarning) else _usual(message, category, *where)
