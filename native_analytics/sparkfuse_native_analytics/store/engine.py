"""The embedded ClickHouse engine: one process owns the data folder, and each request has its own session."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

_TRAILING_FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_WITH_RESULT = re.compile(r"\s*(SELECT|WITH|SHOW|DESC|DESCRIBE|EXISTS|EXPLAIN|CHECK|\()", re.IGNORECASE)
_INSERT = re.compile(r"\s*INSERT\s", re.IGNORECASE)
_CODE = re.compile(r"Code: (\d+)")
_SETTING_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOCK_FILE = "sparkfuse.lock"


class StorePathError(RuntimeError):
    """The path cannot be used by this process; the message is the reason."""


class StatementError(RuntimeError):
    """The engine rejected a statement; ``code`` is the error code of ClickHouse."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        found = _CODE.search(text)
        self.code = int(found.group(1)) if found else 0


@dataclass(frozen=True)
class Statement:
    """One statement with the data of an INSERT, settings, parameters and the database."""

    sql: str
    data: bytes = b""
    default_format: str = "TabSeparated"
    database: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The result of a statement; ``format`` is None if there is no result, for example after DDL."""

    content: bytes
    format: str | None
    read_rows: int = 0
    written_rows: int = 0


class Engine:
    """The embedded engine, which owns its data folder until it is closed. Many threads may run statements in parallel.

    Raises StorePathError if another process owns the folder, or if the folder cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._lock = _lock(path)
        # The module is imported only here, because it loads the engine's library (500 MB), and clients do not need it.
        import chdb

        self._path = str(path)
        self._connect = chdb.connect
        try:
            # This connection stays open, because the engine stops when its last connection is closed.
            self._anchor = self._connect(self._path)
        except RuntimeError as error:
            raise StorePathError(f"the store cannot open {path}: {error}") from error

    def close(self) -> None:
        """Stop the engine and release the path."""
        self._anchor.close()
        self._lock.close()

    def run(self, statement: Statement) -> Answer:
        """Run one statement in its own session.

        Raises StatementError with the message of the engine.
        """
        with self._session(statement) as connection:
            if statement.data and _INSERT.match(statement.sql):
                return _insert(connection, statement)
            return _query(connection, statement)

    @contextmanager
    def _session(self, statement: Statement) -> Iterator[Any]:
        connection = self._connect(self._path)
        try:
            # By default the engine buffers inserts, but a reply must mean that the rows are stored.
            for sql in ("SET async_insert = 0", *_preparation(statement)):
                connection.query(sql)
            yield connection
        except RuntimeError as error:
            raise StatementError(str(error)) from error
        finally:
            connection.close()


def _lock(path: Path) -> IO[str]:
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / _LOCK_FILE).open("a")
    except OSError as error:
        raise StorePathError(f"the store cannot write to {path}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise StorePathError(f"another process already owns the store at {path}") from error
    os.set_inheritable(lock.fileno(), False)
    return lock


def _preparation(statement: Statement) -> Iterator[str]:
    if statement.database:
        yield f"USE `{statement.database.replace('`', '')}`"
    for name, value in statement.settings.items():
        if not _SETTING_NAME.fullmatch(name):
            raise StatementError(f"Code: 115. {name!r} is not a valid name of a setting")
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        yield f"SET {name} = '{escaped}'"


def _insert(connection: Any, statement: Statement) -> Answer:
    found = _TRAILING_FORMAT.search(statement.sql)
    sql = statement.sql[: found.start()] if found else statement.sql
    inserter = connection.send_insert(sql, found.group(1) if found else "Values")
    inserter.append(statement.data)
    result = inserter.finish()
    return Answer(b"", None, written_rows=int(result.rows_written))


def _query(connection: Any, statement: Statement) -> Answer:
    # The engine reads the data of an INSERT from the statement, after FORMAT, only if the format is a text format.
    sql = statement.sql + ("\n" + statement.data.decode(errors="surrogateescape") if statement.data else "")
    result = connection.query(sql, statement.default_format, params=dict(statement.parameters) or None)
    found = _TRAILING_FORMAT.search(sql)
    format_name = found.group(1) if found else statement.default_format
    return Answer(
        content=bytes(result.bytes() or b""),
        format=format_name if _WITH_RESULT.match(sql) else None,
        read_rows=int(result.storage_rows_read()),
        written_rows=int(result.rows_written()),
    )
