"""Reads the topics that a windows job writes while it runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from sparkfuse_contracts.generated import live_pb2
from tests.waiting import wait_for

ROW_SECONDS = 180


@dataclass
class Seen:
    """All records that the windows job wrote so far."""

    bootstrap: str
    prefix: str
    live: list[live_pb2.LiveRow] = field(default_factory=list)
    dead: list[dict[str, Any]] = field(default_factory=list)
    rows_before_kill: int = 0
    exit_codes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._consumer = Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": "test", "enable.auto.commit": False}
        )
        topics = [(f"{self.prefix}.live", 2), (f"{self.prefix}.dead-letters", 1)]
        self._consumer.assign([TopicPartition(name, number, 0) for name, count in topics for number in range(count)])

    def read(self) -> None:
        """Read the records since the last call."""
        for message in self._consumer.consume(5000, timeout=0.3):
            if message.error() is None and message.topic().endswith("live"):
                self.live.append(live_pb2.LiveRow.FromString(message.value()))
            elif message.error() is None:
                self.dead.append(json.loads(message.value()))

    def follow_new_partition(self, number: int) -> None:
        """Read a partition that was added to the topic live after the start."""
        self._consumer.incremental_assign([TopicPartition(f"{self.prefix}.live", number, 0)])

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def of(self, app_id: str, view: str) -> list[live_pb2.LiveRow]:
        """Return the rows of one view of an application, in order and without duplicates."""
        rows = {row.row_seq: row for row in self.live if row.app_id == app_id}
        return [rows[number] for number in sorted(rows) if rows[number].view == view]

    def wait_for(self, app_id: str, view: str, condition: Callable[[Any], bool]) -> live_pb2.LiveRow:
        """Wait until the last row of the view satisfies ``condition``, and return it."""

        def look() -> live_pb2.LiveRow | None:
            self.read()
            rows = self.of(app_id, view)
            return rows[-1] if rows and condition(rows[-1]) else None

        found = wait_for(look, ROW_SECONDS, f"a row of {view} of {app_id}")
        assert found is not None
        return found
