"""Fixtures for signals to a job on real Spark."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sparkfuse_native_analytics.fuse_operator.orders import Operator
from tests.integration.collectors.spark_runs import Facts, SparkRun, TopicReader, create_topics
from tests.kafka import in_order
from tests.waiting import wait_for

JOBS = Path(__file__).parent / "jobs"
LAST_DAY = "2099-12-31"
RULE = "stage_runaway_spill"
# A policy that a small job satisfies, with all actions.
POLICY = json.dumps(
    {
        "rule": RULE,
        "view": "stage_live",
        "actions": ["warn", "kill_task", "cancel_query", "cancel_stage", "cancel_jobs", "stop_application"],
        "conditions": [{"column": "running_disk_spilled_bytes", "operator": ">=", "threshold": 1000.0}],
        "after_ms": 0,
        "max_counter_age_ms": 30_000,
        "requires_approval": False,
        "shared_driver": False,
    }
)
# The same policy with a condition that no job satisfies.
STRICT_POLICY = POLICY.replace("1000.0", "1e15")

CONDITION = '"running_disk_spilled_bytes", "operator": ">=", "threshold": 1000.0'
# Policies that each running stage satisfies.
ANY_STAGE = POLICY.replace(CONDITION, '"elapsed_ms", "operator": ">=", "threshold": 0.0')
SHARED = ANY_STAGE.replace('"shared_driver": false', '"shared_driver": true')
ACTIONS = ("kill_task", "cancel_query", "cancel_stage", "cancel_jobs", "stop_application")


def policy_hash(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()


class Signer:
    """Signs messages of one purpose as contracts/messages/signed_message.proto describes."""

    def __init__(self, purpose: str = "act") -> None:
        self._key = generate_private_key(SECP256R1())
        self._public, self.purpose = self._key.public_key(), purpose
        der = self._public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.key_id = hashlib.sha256(der).hexdigest()[:16]
        self.inline = f"{purpose}:{LAST_DAY}:{base64.b64encode(der).decode()}"

    @property
    def operator(self) -> Operator:
        """The person who signs with this key."""
        return Operator("dana", self._key)

    def write_public_key(self, path: Path) -> str:
        """Write the public key as PEM and return its entry for the plugin's setting."""
        path.write_bytes(self._public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        return f"{self.purpose}:{LAST_DAY}:{path}"

    def envelope(self, payload: str, key_id: str = "", topic: str = "signals") -> str:
        signed = f"{self.purpose}\n{topic}\n{payload}".encode()
        signature = self._key.sign(signed, ECDSA(SHA256()))
        return json.dumps(
            {
                "payload": payload,
                "signature": base64.b64encode(signature).decode(),
                "key_id": key_id or self.key_id,
                "purpose": self.purpose,
            }
        )


class Fuse:
    """Sends signals and controls to a job, and waits for receipts."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        # The partitioner of Java clients, because the hook reads only the partition of its application id.
        self._producer = in_order(bootstrap)
        self._receipts = TopicReader(bootstrap, f"{prefix}.receipts")
        self._prefix = prefix

    def send(self, app_id: str, envelope: str) -> None:
        self._put("signals", app_id, envelope)

    def control(self, signer: Signer, **fields: object) -> None:
        """Send a control that an operator signed."""
        now = int(time.time() * 1000)
        content = {"actor": "test", "reason": "test", "issued_ms": now, "until_ms": now + 3_600_000, **fields}
        self._put("controls", str(fields["control_id"]), signer.envelope(json.dumps(content), topic="controls"))

    def receipts(self, signal_id: str) -> list[dict]:
        """Return the receipts of a signal that have arrived so far, in order."""
        found = [json.loads(value) for value in self._receipts.read()]
        return [each for each in found if each.get("signal_id") == signal_id]

    def receipt(self, signal_id: str) -> dict:
        """Wait for the final receipt of a signal and return it."""

        def find() -> dict | None:
            steps = [each for each in self.receipts(signal_id) if each["outcome"] not in ("received", "requested")]
            return steps[0] if steps else None

        return wait_for(find, 180, f"the receipt of {signal_id}")

    def all_receipts(self) -> list[bytes]:
        """Return all receipts that have arrived, in order."""
        return list(self._receipts.read())

    def unverified(self) -> int:
        """Return the number of records that the hook has reported as not verified."""
        return sum(json.loads(value).get("unverified_records", 0) for value in self._receipts.read())

    def close(self) -> None:
        self._receipts.close()

    def _put(self, topic: str, key: str, value: str) -> None:
        self._producer.produce(f"{self._prefix}.{topic}", key=key, value=value)
        assert self._producer.flush(20) == 0


def signal(app_id: str, start_ms: int, signal_id: str, generation: int, /, **changes: object) -> str:
    """Return the payload of a valid signal after the changes; a change to None removes the field."""
    now = int(time.time() * 1000)
    content = {
        "signal_id": signal_id,
        "cluster": "default",
        "app_id": app_id,
        "app_attempt": 0,
        "app_start_ms": start_ms,
        "epoch": 1,
        "generation": generation,
        "rule": RULE,
        "action": "cancel_stage",
        "policy_hash": policy_hash(POLICY),
        "job_key": "runaway",
        "stage_id": 0,
        "stage_attempt": 0,
        "evidence": "3.1 GB spilled while no task ended for 40 s",
        "finding_id": "0123456789abcdef",
        "issued_ms": now,
        "expires_ms": now + 110_000,
        "override_hint": "raise budget_bytes of stage_runaway_spill in sparkfuse.yaml.",
        **changes,
    }
    return json.dumps({name: value for name, value in content.items() if value is not None})


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


class Target:
    """One running job, and functions to send signals to it."""

    def __init__(self, job: SparkRun, fuse: Fuse, facts: Facts, signer: Signer) -> None:
        self.job, self._fuse, self._facts, self._signer = job, fuse, facts, signer
        self.app_id, start = job.wait_for_line("APPLICATION").split()
        self.start_ms = int(start)

    def running(self) -> list:
        """Return the running tasks that have reported progress."""
        ended = {task.task_id for task in self._facts.of("task_ended")}
        latest = {task.task_id: task for task in self._facts.of("task_progress")}
        return [task for task in latest.values() if task.task_id not in ended]

    def executors(self) -> set[str]:
        """Return the ids of all executors that have registered at the driver."""
        return {each.executor_id for each in self._facts.of("executor_added")} - {"driver"}

    def send(self, signal_id: str, generation: int, **changes: object) -> None:
        """Send a signal about the first running stage."""
        tasks = wait_for(self.running, 240, "a running task with progress")
        defaults = {"stage_id": tasks[0].stage_id, "policy_hash": policy_hash(ANY_STAGE)}
        payload = signal(self.app_id, self.start_ms, signal_id, generation, **(defaults | changes))
        self._fuse.send(self.app_id, self._signer.envelope(payload))


@pytest.fixture
def until(tmp_path: Path) -> Path:
    """Return the file for which the tasks wait."""
    return tmp_path / "until"


@pytest.fixture
def start(
    kafka_bootstrap: str, topics: str, fuse: Fuse, facts: Facts, tmp_path: Path, until: Path
) -> Iterator[Callable[..., tuple[Target, Signer]]]:
    """Return a function that starts a job for which all actions are armed."""
    runs: list[SparkRun] = []
    policies = tmp_path / "policies.jsonl"
    policies.write_text(f"{ANY_STAGE}\n{SHARED}\n")

    def run(version: str, script: str, **settings: str) -> tuple[Target, Signer]:
        signer, operator = Signer(), Signer("approve")
        options = {
            "spark.sparkfuse.kafka.bootstrap": kafka_bootstrap,
            "spark.sparkfuse.topic.prefix": topics,
            "spark.sparkfuse.fuse": "act",
            "spark.sparkfuse.fuse.publicKeys": f"{signer.inline},{operator.inline}",
            "spark.sparkfuse.fuse.policies": str(policies),
            "spark.test.until": str(until),
        }
        runs.append(SparkRun(version, JOBS / script, options | settings, tmp_path / "job.log"))
        for action in ACTIONS:
            fuse.control(operator, control_id=f"arm-{action}", kind="arm", rule=RULE, action=action)
        return Target(runs[-1], fuse, facts, signer), operator

    yield run
    until.touch()
    for each in runs:
        each.stop()
