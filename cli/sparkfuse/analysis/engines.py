"""Imports the engines while the first log is read: together they take longer than reading a gigabyte."""

from __future__ import annotations

import contextlib
import sys
import threading


def import_in_background() -> None:
    """Begin to import what every analysis needs; whoever imports it meanwhile waits for it and no longer.

    Only for a process of our own: see `do_without_pandas`.
    """
    do_without_pandas()
    threading.Thread(target=_import, name="imports", daemon=True).start()


def do_without_pandas() -> None:
    """Keep pandas out of this process, which must be our own: it never has it after this.

    pyarrow would import it for its first scalar, which takes half a second, and no analysis makes a data frame.
    """
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())


def _import() -> None:
    # Whoever asks next hears of what is missing, and says it.
    with contextlib.suppress(ImportError):
        import datafusion  # noqa: F401  imported for whoever asks next


class _NoPandas:
    """Stands before the finders of modules and refuses one."""

    @staticmethod
    def find_spec(fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ImportError("an analysis makes no data frames", name=fullname)
