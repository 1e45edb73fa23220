"""The rows of executors: that they come and go."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.values import Event, Row, text

Number = Callable[..., int | None]


class Executors:
    """Takes the events of executors; ``number`` reads a number at a path and counts what is none."""

    def __init__(self, number: Number) -> None:
        self._number = number
        self._executors: dict[str, Row] = {}
        self._takes: dict[str, Callable[[Event], None]] = {
            "SparkListenerExecutorAdded": self._added,
            "SparkListenerExecutorRemoved": self._removed,
            "SparkListenerBlockManagerAdded": self._block_manager,
        }

    def take(self, event: Event) -> None:
        """Look at any event."""
        take = self._takes.get(event["Event"])
        if take is not None:
            take(event)

    @property
    def rows(self) -> list[Row]:
        """A row an executor, by its name."""
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
        """Spark before 1.3 told of an executor by its block manager alone; the driver's is no executor."""
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
