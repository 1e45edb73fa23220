"""The records of one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field

Record = tuple[str, bytes | None, bytes | None]
"""The topic (without the prefix), the key and the value of a record."""


@dataclass
class Batch:
    """The records of one transaction, in order. A position record with the value None deletes that position."""

    records: list[Record] = field(default_factory=list)
    size_bytes: int = 0

    def add(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """Append a record; ``topic`` is without the prefix."""
        self.records.append((topic, key, value))
        self.size_bytes += len(value or b"") + len(key or b"")

    def __len__(self) -> int:
        return len(self.records)
