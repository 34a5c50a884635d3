"""The command line: one file per command, thin parsing around a plain function that works.

Whatever a person does wrong ends as one sentence on standard error and a non-zero status.
"""

from __future__ import annotations

import sys

from attlas.errors import AttlasError


def main() -> None:
    """Run the command line; errors of ours become one sentence.

    >>> import contextlib, io, sys
    >>> sys.argv = ["attlas", "report", "no-such-folder"]
    >>> with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.suppress(SystemExit):
    ...     main()
    >>> said.getvalue().startswith("attlas: no-such-folder")
    True
    """
    from attlas.cli.app import app

    try:
        app()
    except AttlasError as error:
        sys.stderr.write(f"attlas: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("attlas: interrupted\n")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone; that is no error of ours
        sys.exit(0)
