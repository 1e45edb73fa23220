"""Sends the facts of the shared test cases for a stage's row, as the shipper sends them."""

from __future__ import annotations

import json

from confluent_kafka import Producer

from sparkfuse_collectors.ship.redaction import Redaction
from sparkfuse_kernel import FactTranslator
from tests.stage_cases import CASES, Case, app_id, event_log


class RecordedStages:
    """The facts of all cases; half of the facts of each case are sent in an early window, the others in a later one."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        settings = {"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "enable.idempotence": True}
        self._producer = Producer(settings)
        self._facts = {app_id(case): facts(case) for case in CASES}

    def begin(self) -> None:
        """Send half of the facts of each case."""
        self._send(slice(0, None, 2))

    def end(self) -> None:
        """Send the other half of the facts of each case."""
        self._send(slice(1, None, 2))

    def _send(self, half: slice) -> None:
        for name, records in self._facts.items():
            for record in records[half]:
                self._producer.produce(self._topic, record, name)
        assert self._producer.flush(30) == 0


def facts(case: Case) -> list[bytes]:
    """Return the records of a case in the order of its events."""
    translator = FactTranslator(Redaction(), cluster="test", tenant="", collector="shipper-cases")
    return translator.translate(
        [(json.loads(line)["Event"].removeprefix("SparkListener"), line.encode()) for line in event_log(case)]
    )
