"""Runs the external actuator as a process on a real broker."""

from __future__ import annotations

import os
import signal as signals
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.live_pb2 import AppLive, LiveRow
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.wire import from_json, to_json
from sparkfuse_native_analytics.fuse_controller.keys import ACT, ensure_key_pairs, load_private_key, private_key_file
from sparkfuse_native_analytics.fuse_controller.signing import sign
from sparkfuse_native_analytics.fuse_operator import orders
from sparkfuse_rules.policies import policy_hash
from tests.integration.fuse_controller import conftest as controller
from tests.unit.fuse_actuator.actuator_scene import RULE, policy_line
from tests.waiting import wait_for

WAIT_SECONDS = 120
# The fixtures of the controller's tests.
bus, keys, operator = controller.bus, controller.keys, controller.operator
HOUR_MS = 3_600_000
CLUSTER = "prod"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Fuse:
    """Writes the records that the windows job, the controller and an operator write about one application."""

    def __init__(self, bus: controller.Bus, keys: Path, app_id: str, start_ms: int, attempt: int = 1) -> None:
        self.bus = bus
        self.run: dict[str, Any] = {"app_id": app_id, "app_attempt": attempt, "app_start_ms": start_ms}
        self.line, self._generation = policy_line(), 0
        self._key = load_private_key(private_key_file(keys, ACT))

    @property
    def app_id(self) -> str:
        return str(self.run["app_id"])

    def put_row(self, **columns: Any) -> None:
        """Write the latest row of the application."""
        now = now_ms()
        row = LiveRow(cluster=CLUSTER, window_end_ms=now, row_seq=now, completeness=1.0, **self.run,
                      application=AppLive(**columns))  # fmt: skip
        self.bus.put("live", (self.app_id, row.SerializeToString()))

    def arm(self, operator: orders.Operator) -> None:
        """Arm the external stop of the rule."""
        control = orders.arm(orders.Selection(rule=RULE), "external_stop", "test", now_ms() + HOUR_MS)
        orders.give(self.bus.settings, operator, control)

    def send(self, *, probe: bool = False, announced: bool = True) -> Signal:
        """Write a signal and the audit record that announces it."""
        self._generation += 1
        now = now_ms()
        signal = Signal(signal_id=f"s-{self.app_id}-{self._generation}", cluster=CLUSTER, epoch=1, rule=RULE,
                        generation=self._generation, action="external_stop", probe=probe, job_key="nightly/load",
                        policy_hash=policy_hash(self.line), issued_ms=now, expires_ms=now + 120_000,
                        **self.run)  # fmt: skip
        record = AuditRecord(sequence=self._generation, signal_id=signal.signal_id, app_id=self.app_id, rule=RULE,
                             action=signal.action, epoch=1, step="sent")  # fmt: skip
        if announced:
            self.bus.put("audit", (self.app_id, to_json(record)))
        self.bus.put("signals", (self.app_id, to_json(sign(signal, "signals", ACT, self._key))))
        return signal

    def receipts(self, signal: Signal) -> list[Receipt]:
        """Return the receipts of a signal, in order."""
        found = [from_json(Receipt, message.value()) for message in self.bus.all_of("receipts")]
        return [each for each in found if each.signal_id == signal.signal_id]

    def outcome(self, signal: Signal) -> Receipt:
        """Wait for the last receipt of a signal and return it."""

        def last() -> Receipt | None:
            return next((each for each in self.receipts(signal) if each.outcome not in ("received", "requested")), None)

        return wait_for(last, WAIT_SECONDS, f"the outcome of {signal.signal_id}")


class ActuatorProcess:
    """The process of the external actuator."""

    def __init__(self, backend: str, config: Path, environment: dict[str, str]) -> None:
        self._log = config.with_name("actuator.log")
        command = [sys.executable, "-m", "sparkfuse.main", "fuse", "actuator", "--backend", backend, "--config",
                   str(config)]  # fmt: skip
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, env={**os.environ, **environment}, stderr=log, stdout=log)
        wait_for(lambda: "reading signals" in self.log_text() or self._process.poll() is not None, 120, "the start")

    def log_text(self) -> str:
        """Return what the process has logged."""
        return self._log.read_text()

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self._process.send_signal(signals.SIGTERM)
        return self._process.wait(60)

    def kill(self) -> None:
        """Send SIGKILL to the process; the next process writes a new log."""
        self._process.kill()
        self._process.wait(60)
        self._log.unlink()


@pytest.fixture
def start_actuator(tmp_path: Path, bus: controller.Bus, keys: Path) -> Iterator:
    """Return a function that starts an actuator in mode act; the actuator is stopped after the test."""
    started: list[ActuatorProcess] = []
    config = tmp_path / "actuator.yaml"
    (tmp_path / "policies.jsonl").write_text(f"{policy_line()}\n")

    def start(backend: str, section: dict[str, object], **changes: Any) -> ActuatorProcess:
        content = {"cluster": CLUSTER, "mode": "act", "jobs": ["nightly/*"], "policies": "policies.jsonl",
                   "state_file": "state.json", backend: section, **changes}  # fmt: skip
        config.write_text(yaml.safe_dump(content))
        environment = {
            "SPARKFUSE_KAFKA_BOOTSTRAP": bus.settings.kafka_bootstrap,
            "SPARKFUSE_TOPIC_PREFIX": bus.prefix,
            "SPARKFUSE_PUBLIC_KEYS": ensure_key_pairs(keys),
        }
        started.append(ActuatorProcess(backend, config, environment))
        return started[-1]

    yield start
    for each in started:
        if each._process.poll() is None:
            each.stop()
