"""Creates the rows of executors: start, removal, host and cores."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.values import Event, Row, text

Number = Callable[..., int | None]


class Executors:
    """Collects the events of executors; ``number`` reads the number at a path and counts any other value as odd."""

    def __init__(self, number: Number) -> None:
        self._number = number
        self._executors: dict[str, Row] = {}
        self._readers: dict[str, Callable[[Event], None]] = {
            "SparkListenerExecutorAdded": self._added,
            "SparkListenerExecutorRemoved": self._removed,
            "SparkListenerBlockManagerAdded": self._block_manager,
        }

    def read(self, event: Event) -> None:
        """Read an event of any kind."""
        reader = self._readers.get(event["Event"])
        if reader is not None:
            reader(event)

    @property
    def rows(self) -> list[Row]:
        """Return one row for each executor, ordered by id."""
        return [self._executors[name] for name in sorted(self._executors)]

    def _added(self, event: Event) -> None:
        executor = self._executor(text(event, "Executor ID"))
        if executor is not None:
            executor["host"] = text(event, "Executor Info", "Host")
            executor["cores"] = self._number(event, "Executor Info", "Total Cores")
            executor["added_ms"] = self._number(event, "Timestamp")

    def _removed(self, event: Event) -> None:
        executor = self._executor(text(event, "Executor ID"))
        if executor is not None:
            executor["removed_ms"] = self._number(event, "Timestamp")
            executor["removed_reason"] = text(event, "Removed Reason")

    def _block_manager(self, event: Event) -> None:
        """Read the block manager of an executor.

        Before Spark 1.3, logs contain only block managers. The block manager of the driver is not an executor.
        """
        name = text(event, "Block Manager ID", "Executor ID")
        if name in {"driver", "<driver>"}:
            return
        executor = self._executor(name)
        if executor is not None:
            executor["host"] = executor["host"] or text(event, "Block Manager ID", "Host")
            executor["storage_memory_bytes"] = self._number(event, "Maximum Memory")
            added = self._number(event, "Timestamp")
            executor["added_ms"] = added if executor["added_ms"] is None else executor["added_ms"]

    def _executor(self, name: str | None) -> Row | None:
        if name is None:
            return None
        names = ("host", "cores", "added_ms", "removed_ms", "removed_reason", "storage_memory_bytes")
        return self._executors.setdefault(name, {"executor_id": name, **dict.fromkeys(names)})
