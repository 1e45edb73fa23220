"""Tests which refusals of the gates are in the audit log, so that `sparkfuse fuse why` can explain them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.wire import from_json
from sparkfuse_native_analytics.fuse_actuator.gates import GATES as ACTUATOR_GATES
from sparkfuse_native_analytics.fuse_controller.controller_metrics import ControllerMetrics
from sparkfuse_native_analytics.fuse_controller.gates import Health
from sparkfuse_native_analytics.fuse_controller.probes import ANSWERING_GATES
from sparkfuse_native_analytics.fuse_controller.safeguards import BigPicture, Hold
from sparkfuse_native_analytics.fuse_operator.state import AuditLogView
from tests.unit.fuse_controller.scene import NOW_MS, answer, application_row, finding, healthy_row, live_row

BEHIND = Health("partition 0 of live is not read to its end", 0)
WRONG_CLOCK = Health("", 10_001)
JAVA_GATES = Path(__file__).parents[3] / "collectors/spark-plugin/src/main/java/io/sparkfuse/spark/hook/Gates.java"


def controller_steps(world):
    return [(record.step, record.gate) for record in world.records if not record.app_id]


def evaluate_at(world, controller, show, seconds, *messages):
    world.time_ms = NOW_MS + seconds * 1_000
    show(controller, *messages)
    controller.evaluate(world)


def audit_of(world):
    return AuditLogView([from_json(AuditRecord, content) for content in world.contents], [])


@pytest.mark.parametrize(("state", "gate"), [(BEHIND, "caught_up"), (WRONG_CLOCK, "clock")], ids=["behind", "clock"])
def test_pause_of_the_controller_is_recorded_once(world, make_controller, show, state, gate):
    """A pause of the controller is one record for all applications, and its end is another."""
    controller = make_controller("act", big_picture=BigPicture(1.0, 99))
    world.state = state
    for seconds in range(0, 50, 5):
        now_ms = NOW_MS + seconds * 1_000
        rows = [m for n in range(5) for m in (live_row(f"app-{n}", now_ms, seconds + 1), finding(f"app-{n}", now_ms))]
        evaluate_at(world, controller, show, seconds, *rows)
    assert controller_steps(world) == [("paused", gate)]
    assert audit_of(world).pause().gate == gate

    world.state = Health()
    evaluate_at(world, controller, show, 50)

    assert controller_steps(world)[:2] == [("paused", gate), ("resumed", gate)]
    assert audit_of(world).pause() is None


def test_pause_without_a_finding_is_not_recorded(world, make_controller, show):
    """A pause that prevents nothing is only a metric."""
    controller = make_controller("act")
    world.state = BEHIND
    evaluate_at(world, controller, show, 0, healthy_row())

    assert world.records == []


def test_clock_near_its_limit_writes_one_record_a_minute(world, make_controller, show):
    """If the clock passes its limit at each evaluation, the audit log grows by at most one pause a minute."""
    controller = make_controller("shadow")
    for seconds in range(120):
        world.state = WRONG_CLOCK if seconds % 2 else Health()
        now_ms = NOW_MS + seconds * 1_000
        evaluate_at(
            world, controller, show, seconds, healthy_row(now_ms=now_ms, seq=seconds + 1), finding(now_ms=now_ms)
        )

    assert [step for step, _ in controller_steps(world)] == ["paused", "resumed"] * 2


def test_new_controller_ends_the_pause_of_the_last_one(world, make_controller, show):
    """A pause does not outlive its controller: the start of the next epoch ends it."""
    world.state = BEHIND
    evaluate_at(world, make_controller("act"), show, 0, live_row(), finding())
    assert audit_of(world).pause() is not None
    make_controller("act")

    assert audit_of(world).pause() is None


def test_why_lists_the_pauses_while_the_application_ran(world, make_controller, show):
    """The records about an application contain the pauses since its start, and no records of other applications."""
    controller = make_controller("act")
    show(controller, live_row("app-2"), finding("app-2"))
    world.state = BEHIND
    controller.evaluate(world)
    world.state = Health()
    evaluate_at(world, controller, show, 1, live_row(now_ms=NOW_MS + 1_000, seq=2), finding(now_ms=NOW_MS + 1_000))
    audit = audit_of(world)
    steps = {app_id: [each.step for each in audit.about(app_id, world.time_ms)] for app_id in ("app-1", "unknown")}

    assert sorted(steps["app-1"]) == ["paused", "resumed", "sent"]
    assert sorted(steps["unknown"]) == ["paused", "resumed"]
    assert audit.about("unknown", world.time_ms + 25 * 3_600_000) == []


def test_finding_that_rows_do_not_confirm_is_recorded_after_30_seconds(world, make_controller, show):
    """If the rows contradict the finding for 30 s, this is recorded once; a short disagreement is not."""
    controller = make_controller("act")
    steps = []
    for seconds in range(0, 65, 5):
        now_ms = NOW_MS + seconds * 1_000
        messages = healthy_row("app-1", now_ms, seconds + 1), finding(now_ms=now_ms)
        evaluate_at(world, controller, show, seconds, *messages)
        steps.append(len(world.records))

    assert steps == [0] * 6 + [1] * 7
    assert [(each.step, each.gate, each.app_id) for each in world.records] == [("not_confirmed", "view", "app-1")]


def test_pause_does_not_repeat_the_records_of_cases(world, make_controller, show):
    """A hold that lasts through a pause of the controller is recorded once."""
    controller = make_controller("act", holds=(Hold("release night"),))
    for seconds, state in enumerate((Health(), BEHIND, Health(), BEHIND, Health())):
        world.state = state
        now_ms = NOW_MS + seconds * 1_000
        evaluate_at(world, controller, show, seconds, live_row(now_ms=now_ms, seq=seconds + 1), finding(now_ms=now_ms))

    assert [(each.step, each.gate) for each in world.records if each.app_id] == [("held", "hold")]


def test_refusal_is_recorded_although_another_write_failed(world, make_controller, show, monkeypatch):
    """If the transaction of another case is aborted, the refusal of this case is recorded at the next evaluation."""
    controller = make_controller("act", holds=(Hold("release night", app="app-0"),))
    show(controller, live_row("app-0"), finding("app-0"), live_row("app-1"), finding("app-1", job_key="other"))
    write, failures = world.write, [OSError("aborted")]

    def fail_once(audit, signals):
        if signals and failures:
            raise failures.pop()
        return write(audit, signals)

    monkeypatch.setattr(world, "write", fail_once)
    with pytest.raises(OSError, match="aborted"):
        controller.evaluate(world)
    controller.evaluate(world)

    assert sorted(world.steps) == ["held", "sent"]


def test_gate_in_a_receipt_is_one_of_the_known_gates(world, make_controller, show):
    """Any job can write a receipt, so a gate that does not exist becomes `other` in the audit log and the metrics."""
    controller = make_controller("shadow")
    show(controller, *(healthy_row(f"app-{n}") for n in range(40)))
    controller.probe(world)
    metrics = ControllerMetrics(CollectorRegistry())
    for place, signal in enumerate(world.probes):
        controller.read_receipt(answer(signal, "would_not_act", gate="x" * place))
        show(controller, application_row(signal.app_id, "succeeded"))
    controller.evaluate(world)
    for record in world.records:
        metrics.step(record)
    scored = [record.gate for record in world.records if record.step == "probe_scored"]

    assert len(scored) >= 40
    assert set(scored) == {"", "other"}
    assert len({sample.labels["gate"] for family in metrics.steps.collect() for sample in family.samples}) == 2


def test_known_gates_are_those_of_the_hook_and_the_actuator():
    """The controller knows each gate that the hook or the external actuator can name."""
    hook = set(re.findall(r'new Gate\("(\w+)"', JAVA_GATES.read_text()))

    assert len(hook) > 10
    assert hook | set(ACTUATOR_GATES) == ANSWERING_GATES
