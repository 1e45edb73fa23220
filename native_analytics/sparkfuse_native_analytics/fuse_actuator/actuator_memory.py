"""Stores what the actuator has accepted and done, so that a restart neither repeats an act nor renews a budget."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

HOUR_MS = 3_600_000
# Entries are kept longer than signals and approvals are valid, and longer than the hour for which a budget applies.
FORGET_MS = 24 * HOUR_MS


class MemoryUnusableError(RuntimeError):
    """The file cannot be read or written, so nothing may be stopped; the message is one sentence."""


@dataclass(frozen=True)
class Stop:
    """One stop that was requested from the cluster manager."""

    at_ms: int
    app_id: str
    job_key: str


@dataclass(frozen=True)
class Accepted:
    """The newest signal that was accepted for an application."""

    generation: int
    at_ms: int


@dataclass(frozen=True)
class Memory:
    """The highest epoch, the newest signal of each application, the stops of a day, and the approvals that were used.

    Immutable: a method that changes something returns a changed copy.
    """

    epoch: int = 0
    accepted: Mapping[str, Accepted] = field(default_factory=dict)
    stops: tuple[Stop, ...] = ()
    approvals: Mapping[str, int] = field(default_factory=dict)

    def generation(self, app_id: str) -> int:
        """Return the generation of the newest signal of an application; 0 if there was none."""
        found = self.accepted.get(app_id)
        return found.generation if found else 0

    def admit(self, app_id: str, epoch: int, generation: int, now_ms: int) -> Memory:
        """Mark a signal's generation as used; an equal or lower one is refused from now on."""
        newest = Accepted(max(generation, self.generation(app_id)), now_ms)
        changed = replace(self, epoch=max(epoch, self.epoch), accepted={**self.accepted, app_id: newest})
        return changed.without_old(now_ms)

    def spend(self, stop: Stop, approval_id: str) -> Memory:
        """Count a stop that is about to be requested, and mark its approval as used."""
        used = {**self.approvals, approval_id: stop.at_ms} if approval_id else self.approvals
        return replace(self, stops=(*self.stops, stop), approvals=used)

    def stops_of_last_hour(self, now_ms: int) -> list[Stop]:
        """Return the stops of the last hour."""
        return [stop for stop in self.stops if now_ms - stop.at_ms < HOUR_MS]

    def without_old(self, now_ms: int) -> Memory:
        """Return a copy without the entries that are older than a day."""
        return replace(
            self,
            accepted={key: each for key, each in self.accepted.items() if now_ms - each.at_ms < FORGET_MS},
            stops=tuple(each for each in self.stops if now_ms - each.at_ms < FORGET_MS),
            approvals={key: at_ms for key, at_ms in self.approvals.items() if now_ms - at_ms < FORGET_MS},
        )


def read_memory(path: Path) -> Memory:
    """Return the memory that the file contains, or an empty one if there is no file. Raises MemoryUnusableError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Memory(
            epoch=int(content["epoch"]),
            accepted={key: Accepted(**each) for key, each in content["accepted"].items()},
            stops=tuple(Stop(**each) for each in content["stops"]),
            approvals={str(key): int(each) for key, each in content["approvals"].items()},
        )
    except FileNotFoundError:
        return Memory()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MemoryUnusableError(f"{path} cannot be read as the state of the actuator: {error!r}") from error


def write_memory(path: Path, memory: Memory) -> None:
    """Replace the file atomically; the content is on disk when the function returns. Raises MemoryUnusableError."""
    draft = path.with_name(f".{path.name}.new")
    try:
        with draft.open("w", encoding="utf-8") as file:
            json.dump(asdict(memory), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise MemoryUnusableError(f"{path} cannot be written: {error.strerror}") from error
