"""Imports the engines while the first log is read, because the imports take longer than reading 1 GB."""

from __future__ import annotations

import contextlib
import sys
import threading


def import_in_background() -> None:
    """In a thread, import the packages that each analysis needs; other imports of these packages wait for the thread.

    Call this only in processes of the command line, for the reason in `do_without_pandas`.
    """
    do_without_pandas()
    threading.Thread(target=_import, name="imports", daemon=True).start()


def do_without_pandas() -> None:
    """Prevent the import of pandas for the rest of the process, so call this only in the command line.

    When pyarrow creates its first scalar, it imports pandas, which takes half a second. No analysis uses data frames.
    """
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())


def _import() -> None:
    # If a package is missing, the main thread reports it when it imports the package.
    with contextlib.suppress(ImportError):
        import datafusion  # noqa: F401  imported so that the main thread finds it loaded


class _NoPandas:
    """A module finder that rejects pandas."""

    @staticmethod
    def find_spec(fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ImportError("an analysis does not use pandas", name=fullname)
