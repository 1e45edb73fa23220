"""The command line: `sparkfuse`."""

from __future__ import annotations

import errno
import os
import sys

from sparkfuse.stack.errors import MISSING, USAGE, StartError
from sparkfuse_contracts.settings import SettingError

DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EIO}


def main() -> None:
    """Run the command line; an error that a user can fix is one sentence and an exit code, without a stack trace."""
    try:
        _run(sys.argv[1:])
    except StartError as failure:
        _print_error(str(failure))
        sys.exit(failure.exit_code)
    except SettingError as refused:
        _print_error(str(refused))
        sys.exit(USAGE)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        # If standard output were not replaced, Python would try to write the remaining output at exit and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _print_error(f"the output cannot be written: {error.strerror}")
        sys.exit(MISSING)
    except KeyboardInterrupt:
        sys.exit(130)


def _run(arguments: list[str]) -> None:
    if arguments[:1] == ["analyze"]:
        # Importing typer takes longer than reading a log, so `sparkfuse analyze` does not use typer.
        from sparkfuse.commands.analyze import analyze

        sys.exit(analyze(arguments[1:]))
    from sparkfuse.commands.application import application

    application()


def _print_error(sentence: str) -> None:
    from rich.console import Console

    Console(stderr=True).print(f"sparkfuse: {sentence}", markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
