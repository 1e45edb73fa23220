"""A deterministic world for the real fuse controller and the real hook: topics, clocks, jobs, faults.

Nothing in the world depends on threads, real clocks or networks, so a seed repeats a schedule exactly. The
invariants are checked at each act of a hook.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.wire import from_json, to_json
from sparkfuse_native_analytics.fuse_controller.audit_chain import chain_errors
from sparkfuse_native_analytics.fuse_controller.broker_clock import BrokerClock
from sparkfuse_native_analytics.fuse_controller.controller import FuseController
from sparkfuse_native_analytics.fuse_controller.controller_policy import ControllerPolicy
from sparkfuse_native_analytics.fuse_controller.environment import FencedError
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.gates import GATES, Health
from sparkfuse_native_analytics.fuse_controller.safeguards import HOUR_MS, BigPicture, Budget
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_native_analytics.fuse_controller.silences import Matcher, Silence
from tests.integration.fuse_simulation.hooks import HookProcess
from tests.integration.fuse_simulation.parts import (
    CLUSTER,
    HANGING,
    SPILLED,
    START_MS,
    STUCK,
    TASK,
    Entry,
    Kafka,
    Stage,
    View,
)
from tests.unit.fuse_controller.scene import Keys, finding

APPLICATIONS = 3
BUDGET = Budget(job_per_hour=2, tenant_per_hour=9, team_per_hour=9, rule_per_hour=9, global_per_hour=3)
# With few applications, each one is a large share, so this limit is switched off; other tests cover it.
BIG_PICTURE = BigPicture(1.0, 99)
COOL_DOWN_MS, RETRY_MS = Times().cool_down_ms, Times().retry_ms


class CrashError(RuntimeError):
    """Raised where the schedule lets the process of a controller crash."""


class Controller:
    """One process of the fuse controller: the real FuseController over the simulated topics."""

    def __init__(self, world: World, skew_ms: int) -> None:
        self.world, self.skew_ms = world, skew_ms
        self.view = View()
        self.fuse = FuseController(
            world.policy,
            self.view,  # type: ignore[arg-type]  # the view is no witness, so a simple one is enough
            world.keys.ring,
            world.keys.private["act"],
            str,
            world.controller_gates,
        )
        self.positions = dict.fromkeys(("controls", "audit", "receipts", "findings", "rows"), 0)
        self.broker_clock = BrokerClock(lambda: world.kafka.now_ms)
        self.fault = ""
        world.kafka.owner = self
        self.read(None)
        self.fuse.start(self)

    def now_ms(self) -> int:
        """Return the clock of this process."""
        return self.world.kafka.now_ms + self.skew_ms

    def refresh(self) -> None:
        """Read the records that have arrived."""
        self.read(None)

    def health(self) -> Health:
        """Return whether all topics were read to their ends."""
        behind = [topic for topic, at in self.positions.items() if at < len(self.world.kafka.of(topic))]
        skew_ms = self.broker_clock.skew_ms(self.now_ms())
        return Health(f"{behind[0]} is not read to its end" if behind else "", skew_ms)

    def silences(self) -> Sequence[Silence]:
        """Return the silences of Alertmanager."""
        return self.world.silences

    def write(self, audit: Sequence[tuple[str, bytes]], signals: Sequence[tuple[Signal, SignedMessage]]) -> int:
        """Commit one transaction, or fail as the schedule requires."""
        fault, self.fault = self.fault, ""
        if fault == "abort":
            raise OSError("nothing was written")
        if fault == "crash before":
            raise CrashError
        if self.world.kafka.owner is not self:
            raise FencedError("another controller has taken over")
        for key, content in audit:
            self.world.kafka.append("audit", key, content)
        for signal, signed in signals:
            self.world.kafka.append("signals", signal.app_id, to_json(signed))
        self.broker_clock.appended(self.world.kafka.now_ms)
        if fault == "crash after":
            raise CrashError
        if fault == "unknown":
            raise FencedError("it is unknown whether a step was written")
        return self.world.kafka.now_ms

    def read(self, most: int | None) -> None:
        """Read up to ``most`` records of each topic, or all records if ``most`` is None."""
        for topic in self.positions:
            entries = self.world.kafka.of(topic)
            begin = self.positions[topic]
            end = len(entries) if most is None else min(len(entries), begin + most)
            for entry in entries[begin:end]:
                self._take(topic, entry)
            self.positions[topic] = end

    def step(self) -> None:
        """Evaluate and probe once."""
        self.fuse.evaluate(self)
        self.fuse.probe(self)

    def _take(self, topic: str, entry: Entry) -> None:
        if topic == "controls":
            self.fuse.controls.put(entry.key, entry.content, entry.appended_ms)
        elif topic == "audit":
            self.fuse.audit.read(entry.content, entry.message(AuditRecord), entry.appended_ms)
        elif topic == "receipts":
            self.fuse.read_receipt(entry.message(Receipt))
        elif topic == "findings":
            self.fuse.findings.put(entry.message(Finding), self.now_ms())
        else:
            run, row = self.world.rows[int(entry.content)]
            self.view.rows[run] = row


class World:
    """The topics, the jobs with their hooks, up to two controllers, and operators."""

    def __init__(
        self,
        seed: int,
        hooks: HookProcess,
        keys: Keys,
        policy: ControllerPolicy,
        lines: Sequence[str],
        without_gate: str = "",
        without_hook_gate: str = "",
    ) -> None:
        self.random = random.Random(seed)
        self.keys, self.hooks, self._lines = keys, hooks, list(lines)
        self._key_setting = keys.setting()
        self._without_hook_gate = without_hook_gate
        self.controller_gates = {name: gate for name, gate in GATES.items() if name != without_gate}
        safeguards = replace(policy.safeguards, budget=BUDGET, big_picture=BIG_PICTURE)
        self.policy = replace(policy, safeguards=replace(safeguards, arming=replace(safeguards.arming, probes=0)))
        self.kafka = Kafka()
        self.silences: list[Silence] = []
        self.rows: list[tuple[Run, dict[str, Any]]] = []
        self.stages: dict[str, Stage] = {}
        self.delivered: dict[str, int] = {}
        self.controls_read: dict[str, int] = {}
        self.sequence = 0
        self.often = self.random.randrange(APPLICATIONS)
        self.acts: list[dict[str, Any]] = []
        self.violations: list[str] = []
        for number in range(APPLICATIONS):
            self.new_run(f"app-{number}")
        self.controllers: list[Controller | None] = [Controller(self, 0), None]

    # ---- jobs

    def new_run(self, app_id: str) -> None:
        """Start a new run of an application, with the same application id and a new hook.

        No two runs of an application start in the same millisecond.
        """
        self.kafka.now_ms += 1
        attempt = self.random.randrange(2)
        run = Run(CLUSTER, app_id, attempt, self.kafka.now_ms)
        self.stages[app_id] = Stage(run)
        self.delivered[app_id] = len(self.kafka.of("signals"))
        self.controls_read[app_id] = 0
        without = {"without": self._without_hook_gate} if self._without_hook_gate else {}
        self.hooks.queue(
            "configure", app_id, cluster=CLUSTER, app_id=app_id, app_attempt=attempt, app_start_ms=run.app_start_ms,
            keys=self._key_setting, policies=self._lines, mode="act", signatures=self.keys.signatures, **without,
        )  # fmt: skip
        self.hooks.queue("outcome", app_id, ended=True, freed=2, unfreed=0)

    def report(self, app_id: str, fires: Mapping[str, bool]) -> None:
        """Let detection publish a row and a finding for each rule; both may be wrong about the stage."""
        stage, now = self.stages[app_id], self.kafka.now_ms
        self.sequence += 1
        row = {"window_end_ms": now, "completeness": 1.0, "tenant": "sales", **fires}
        self.rows.append((stage.run, row))
        self.kafka.append("rows", app_id, str(len(self.rows) - 1).encode())
        for rule, firing in fires.items():
            of_task = {"task_id": TASK} if rule == STUCK else {}
            found = finding(app_id, now, job_key=f"job-{app_id}", state="firing" if firing else "resolved",
                            app_attempt=stage.run.app_attempt, app_start_ms=stage.run.app_start_ms,
                            **of_task)  # fmt: skip
            found.rule, found.finding_id = rule, f"finding-{rule}-{app_id}"
            self.kafka.append("findings", app_id, b"", found)

    # ---- operators

    def control(self, control: Control) -> None:
        """Append a signed control."""
        control.issued_ms = self.kafka.now_ms
        self.kafka.append("controls", control.control_id, self.keys.control(control))

    def silence(self) -> None:
        """Silence one job, or end the silence."""
        job = f"job-app-{self.random.randrange(APPLICATIONS)}"
        self.silences = [] if self.silences else [Silence("s", "", (Matcher("job_key", job, False, True),))]

    # ---- delivery

    def deliver(self, app_id: str, entry: Entry) -> None:
        """Deliver a record to the hook of an application, and check each act of the hook."""
        stage = self.stages[app_id]
        elapsed = {"spilled": stage.spilled_bytes}
        columns = dict.fromkeys(self._columns(), elapsed["spilled"]) if stage.running else {}
        columns |= {name: 0 for name in columns if name.startswith("running_since_spill")}
        columns |= {"elapsed_ms": 900_000} if columns else {}
        columns |= {**HANGING, "moving_tasks": 0 if stage.stuck else 1} if columns else {}
        reachable = self.random.random() > 0.1
        self.hooks.queue("time", app_id, clock_ms=self.kafka.now_ms - START_MS, broker_ms=self.kafka.now_ms)
        self.hooks.queue("counters", app_id, columns=columns, progress_age_ms=stage.progress_age_ms,
                        dropped_events=stage.dropped_events, stage_jobs=[1], query_jobs=[1], stage_tasks=[TASK],
                        query_owners=1)  # fmt: skip
        self._controls_arrive(app_id, reachable)
        answer = self.hooks.ask(
            "deliver", app_id, key=entry.key, value=entry.content.decode(), timestamp_ms=entry.appended_ms
        )
        if answer["faults"]:
            self.violations.append(f"the hook of {app_id} caught {answer['faults']} exceptions")
        for receipt in answer["receipts"]:
            self.kafka.append("receipts", app_id, b"", _receipt(receipt))
        for act in answer["acts"]:
            self._check_act(act, app_id, stage, reachable)
            stage.running = act["action"] != "cancel_stage"  # a killed task may ignore the kill, and hang on

    def _controls_arrive(self, app_id: str, reachable: bool) -> None:
        """Let the hook read the controls to their end; sometimes a new consumer reads all of them."""
        new = self.random.random() < 0.1
        begin = 0 if new else self.controls_read[app_id]
        controls = self.kafka.of("controls")
        records = [{"key": each.key, "value": each.content.decode(), "timestamp_ms": each.appended_ms}
                   for each in controls[begin:]]  # fmt: skip
        self.controls_read[app_id] = len(controls)
        self.hooks.queue("controls", app_id, reachable=reachable, clear=new, records=records)

    def _columns(self) -> list[str]:
        return [
            "running_spilled_since_progress_max_bytes", "running_since_progress_min_ms", "running_since_spill_ms",
        ]  # fmt: skip

    # ---- invariants

    def _check_act(self, act: Mapping[str, Any], app_id: str, stage: Stage, reachable: bool) -> None:
        now, run = self.kafka.now_ms, stage.run
        self.acts.append(dict(act))
        audit = [entry.message(AuditRecord) for entry in self.kafka.of("audit")]
        sent = [record for record in audit if record.step == "sent" and record.signal_id == act["signal_id"]]
        target = (act["app_id"], act["app_attempt"], act["app_start_ms"])
        own = (run.app_id, run.app_attempt, run.app_start_ms)
        self._require(target == own, f"acted on another run: {act}")
        self._require(len(sent) == 1, f"no audit record announces {act}")
        newest = max((record.epoch for record in audit if record.sequence < act["generation"]), default=0)
        self._require(bool(sent) and sent[0].epoch >= newest, f"a stale controller acted: {act}")
        repeated = [each for each in self.acts if each["signal_id"] == act["signal_id"]]
        self._require(len(repeated) == 1, f"acted twice on one signal: {act}")
        agrees = stage.stuck if act["action"] == "kill_task" else stage.spilled_bytes >= SPILLED
        self._require(stage.running and agrees, f"the counters of the hook do not agree: {act}")
        self._require(act.get("task_id") == (TASK if act["action"] == "kill_task" else None), f"another task: {act}")
        self._require(stage.progress_age_ms <= 20_000 and stage.dropped_events == 0, f"a blind hook acted: {act}")
        self._require(reachable, f"acted without having read the controls: {act}")
        self._require(not self._held(app_id, now), f"acted although held: {act}")
        self._require(self._armed(act["action"], now), f"acted without an arming: {act}")
        age_ms = now - max((each.appended_ms for each in self.kafka.of("signals")
                            if act["signal_id"].encode() in each.content), default=0)  # fmt: skip
        self._require(age_ms <= 120_000, f"acted on a signal of {age_ms} ms: {act}")

    def check_audit(self) -> None:
        """Check the hash chain, the budgets and the cool-down times of the whole audit log, by the broker's time."""
        contents = [entry.content for entry in self.kafka.of("audit")]
        self.violations += chain_errors(contents)
        audit = [(entry.appended_ms, entry.message(AuditRecord)) for entry in self.kafka.of("audit")]
        sent = [(at_ms, record) for at_ms, record in audit if record.step == "sent"]
        refused_ms = {record.signal_id: at_ms for at_ms, record in audit
                      if (record.step, record.outcome) == ("verified", "refused")}  # fmt: skip
        asked_ms = {record.signal_id: at_ms for at_ms, record in audit if record.step == "rechecked"}
        self._require(not set(asked_ms) & {act["signal_id"] for act in self.acts}, "a question was acted on")
        last: dict[tuple[str, int, int, str], tuple[int, str]] = {}
        for at_ms, record in sent:
            within = sum(0 <= at_ms - other < HOUR_MS for other, _ in sent)
            self._require(within <= BUDGET.global_per_hour, f"{within} acts within an hour")
            fuse = (record.app_id, record.app_attempt, record.app_start_ms, record.rule)
            last_ms, last_signal = last.get(fuse, (at_ms - COOL_DOWN_MS, ""))
            since_refusal_ms = at_ms - refused_ms.get(last_signal, at_ms)
            soon = at_ms - last_ms < COOL_DOWN_MS and since_refusal_ms < RETRY_MS
            self._require(not soon, f"a second signal after {at_ms - last_ms} ms without a refusal: {fuse}")
            last[fuse] = (at_ms, record.signal_id)

    def _held(self, app_id: str, now: int) -> bool:
        return any(
            control.kind == "hold" and not control.released and now < control.until_ms and control.app in ("", app_id)
            for control in self._controls().values()
        )

    def _armed(self, action: str, now: int) -> bool:
        return any(
            control.kind == "arm" and control.action == action and not control.released and now < control.until_ms
            for control in self._controls().values()
        )

    def _controls(self) -> Mapping[str, Control]:
        found = {}
        for entry in self.kafka.of("controls"):
            signed = entry.message(SignedMessage)
            found[entry.key] = from_json(Control, signed.payload.encode())
        return found

    def _require(self, holds: bool, violation: str) -> None:
        if not holds:
            self.violations.append(violation)


def _receipt(receipt: Mapping[str, Any]) -> Receipt:
    """Return a receipt as a message."""
    known = {field.name for field in Receipt.DESCRIPTOR.fields}
    return Receipt(**{name: value for name, value in receipt.items() if name in known and value is not None})
