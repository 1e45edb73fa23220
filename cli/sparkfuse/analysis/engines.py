"""Imports the engines while the first log is read; the imports take longer than reading 1 GB."""

from __future__ import annotations

import contextlib
import sys
import threading


def import_in_background() -> None:
    """Import the packages that each analysis needs in a thread; a concurrent import waits for it.

    Only for processes of the command line: see `do_without_pandas`.
    """
    do_without_pandas()
    threading.Thread(target=_import, name="imports", daemon=True).start()


def do_without_pandas() -> None:
    """Prevent the import of pandas for the rest of the process, so call it only in the command line.

    pyarrow imports pandas for its first scalar, which takes half a second, and no analysis uses data frames.
    """
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())


def _import() -> None:
    # The main thread reports a missing package when it imports it.
    with contextlib.suppress(ImportError):
        import datafusion  # noqa: F401  imported for the main thread


class _NoPandas:
    """A module finder that rejects pandas."""

    @staticmethod
    def find_spec(fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ImportError("an analysis uses no data frames", name=fullname)
