"""Fixtures for signals to a job on real Spark."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.integration.collectors.spark_runs import Facts, TopicReader, create_topics
from tests.kafka import in_order
from tests.waiting import wait_for


class Signer:
    """Signs signals as contracts/messages/signal.proto describes."""

    def __init__(self) -> None:
        self._key = generate_private_key(SECP256R1())
        self._public = self._key.public_key()
        der = self._public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.key_id = hashlib.sha256(der).hexdigest()[:16]
        self.inline = base64.b64encode(der).decode()

    def write_public_key(self, path: Path) -> Path:
        path.write_bytes(self._public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        return path

    def envelope(self, payload: str, key_id: str = "") -> str:
        signature = self._key.sign(payload.encode(), ECDSA(SHA256()))
        return json.dumps(
            {
                "payload": payload,
                "signature": base64.b64encode(signature).decode(),
                "key_id": key_id or self.key_id,
            }
        )


class Fuse:
    """Sends signals to one application and waits for its receipts."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        # Java's partitioner, because the hook reads only the partition of its application id.
        self._producer = in_order(bootstrap)
        self._actions = TopicReader(bootstrap, f"{prefix}.actions")
        self._topic = f"{prefix}.signals"

    def send(self, app_id: str, envelope: str) -> None:
        self._producer.produce(self._topic, key=app_id, value=envelope)
        assert self._producer.flush(20) == 0

    def receipt(self, signal_id: str) -> dict:
        """Wait for the final receipt of a signal and return it."""

        def find() -> dict | None:
            actions = [json.loads(value) for value in self._actions.read()]
            ends = [a for a in actions if a.get("signal_id") == signal_id and a["outcome"] != "received"]
            return ends[0] if ends else None

        return wait_for(find, 180, f"the receipt of {signal_id}")

    def close(self) -> None:
        self._actions.close()


def signal(app_id: str, start_ms: int, signal_id: str, generation: int, /, **changes: object) -> str:
    """Return the payload of a valid signal with changes."""
    now = int(time.time() * 1000)
    content = {
        "signal_id": signal_id,
        "cluster": "default",
        "app_id": app_id,
        "app_attempt": 0,
        "app_start_ms": start_ms,
        "generation": generation,
        "rule": "stage_runaway_spill",
        "action": "cancel_stage",
        "stage_id": 0,
        "stage_attempt": 0,
        "predicate": [
            {"column": "disk_spilled_bytes", "operator": ">=", "threshold": 1_000.0},
            {"column": "since_finish_ms", "operator": ">=", "threshold": 1.0},
        ],
        "evidence": "3.1 GB spilled while no task ended for 40 s",
        "finding_id": "0123456789abcdef",
        "issued_ms": now,
        "expires_ms": now + 110_000,
        "override_hint": "raise budget_bytes of stage_runaway_spill in sparkfuse.yaml.",
    }
    return json.dumps(content | changes)


@pytest.fixture
def topics(kafka_bootstrap: str, topic_prefix: str) -> str:
    create_topics(kafka_bootstrap, topic_prefix)
    return topic_prefix


@pytest.fixture
def facts(kafka_bootstrap: str, topics: str) -> Iterator[Facts]:
    found = Facts(kafka_bootstrap, topics)
    yield found
    found.close()


@pytest.fixture
def fuse(kafka_bootstrap: str, topics: str) -> Iterator[Fuse]:
    found = Fuse(kafka_bootstrap, topics)
    yield found
    found.close()
