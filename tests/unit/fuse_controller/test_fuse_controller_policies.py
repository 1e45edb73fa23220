"""Tests policies of rules about tasks, failures and applications, and policies that only warn."""

from __future__ import annotations

from typing import Any

import pytest

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.live_pb2 import (
    AppLive,
    ExecutorLoss,
    FailureLive,
    LiveRow,
    QueryLive,
    StageLive,
    TaskLive,
)
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_native_analytics.fuse_controller.act_registry import Act
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.outcomes import OutcomeBook
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_native_analytics.fuse_controller.view import Ending
from tests.unit.fuse_controller.scene import NOW_MS, START_MS, answer, arming

RUN = Run("prod", "app-1", 0, START_MS)
STUCK: dict[str, Any] = {
    "stage_id": 3,
    "stage_attempt": 0,
    "task_id": 77,
    "age_ms": 900_000,
    "stalled_ms": 400_000,
    "activity": "idle",
    "cpu_since_progress_ms": 0,
}
FAILING: dict[str, Any] = {
    "stage_id": 3,
    "stage_attempt": 0,
    "failure_class": "ValueError",
    "failed_tasks": 3,
    "finished_tasks": 9,
    "attempts_max": 3,
}
GARBAGE: dict[str, Any] = {
    "stage_id": 3,
    "stage_attempt": 0,
    "status": "running",
    "elapsed_ms": 60_000,
    "finished_run_ms": 100_000,
    "finished_gc_ms": 80_000,
}
# The columns that detection adds to a row of failed tasks.
NEVER = {"failure_kind": "user_code", "failure": "python_exception", "retry": "never"}


def live(view, row, content, app_id="app-1", now_ms=NOW_MS, seq=1):
    """Return a complete row of ``view``, with ``content`` in the field ``row``."""
    return LiveRow(view=view, cluster="prod", tenant="sales", app_id=app_id, app_attempt=0, app_start_ms=START_MS,
                   window_end_ms=now_ms, row_seq=seq, completeness=1.0, **{row: content})  # fmt: skip


def found(rule, severity="critical", evidence=None, **run):
    """Return the firing finding of a rule about app-1."""
    of_run = FindingRun(run_key="app-1", app_id="app-1", app_attempt=0, app_start_ms=START_MS, state="firing",
                        severity=severity, evidence=evidence or {}, **run)  # fmt: skip
    return Finding(finding_id=rule, rule=rule, severity=severity, state="firing", job_key="orders", cluster="prod",
                   tenant="sales", team="data", updated_ms=NOW_MS, completeness=1.0, runs=[of_run])  # fmt: skip


STUCK_TASK = (
    live("task_live", "task", TaskLive(**STUCK)),
    found("task_stuck", stage_id=3, stage_attempt=0, task_id=77, query_id=8),
)
DOOMED = (
    live("failure_live", "failure", FailureLive(**FAILING)),
    found("task_failures", "warning", NEVER, stage_id=3, stage_attempt=0),
)
STORM = (
    live("executor_loss", "executor_loss", ExecutorLoss(executor_id="9", lost_executors=60, peak_executors=8)),
    found("executor_churn", executor_id="9"),
)
COLLECTING = (live("stage_live", "stage", StageLive(**GARBAGE)), found("gc_pressure", "warning", stage_id=3))
ZOMBIE = (
    live("task_live", "task", TaskLive(**{**STUCK, "outlived_ms": 900_000})),
    found("zombie_task", stage_id=3, stage_attempt=0, task_id=77),
)
OUTLIVED = (
    live("app_live", "application", AppLive(status="succeeded", elapsed_ms=90_000, executors=8, outlived_ms=1_900_000)),
    found("application_zombie"),
)


@pytest.fixture
def arm(world):
    """Return a function that arms a rule for an action."""

    def put(controller, rule, action):
        control = arming(action, control_id=f"arm-{rule}", rule=rule)
        assert controller.controls.put(control.control_id, world.keys.control(control), NOW_MS) is None

    return put


@pytest.mark.parametrize(
    ("messages", "rule", "action", "target"),
    [
        pytest.param(STUCK_TASK, "task_stuck", "kill_task", (3, 0, 77, 8), id="task"),
        pytest.param(DOOMED, "task_failures", "cancel_stage", (3, 0, 0, 0), id="failures of a stage"),
    ],
)
def test_act_names_the_target_of_the_view(world, make_controller, show, arm, messages, rule, action, target):
    """The signal and its audit record name the task or stage of the finding."""
    controller = make_controller("act")
    arm(controller, rule, action)
    show(controller, *messages)
    controller.evaluate(world)

    [signal] = world.acts
    assert (signal.rule, signal.action) == (rule, action)
    assert (signal.stage_id, signal.stage_attempt, signal.task_id, signal.query_id) == target
    record = world.records[-1]
    assert (record.stage_id, record.stage_attempt, record.task_id, record.query_id) == target


def test_act_on_application_names_no_stage(world, make_controller, show, arm):
    """If many executors are lost, the fuse first warns; if that does not help, it stops the application."""
    controller = make_controller("act")
    arm(controller, "executor_churn", "stop_application")
    show(controller, *STORM)
    controller.evaluate(world)
    world.time_ms += 130_000
    repeated = live("executor_loss", "executor_loss", STORM[0].executor_loss, now_ms=world.time_ms, seq=2)
    again = found("executor_churn", executor_id="9")
    again.updated_ms = world.time_ms
    show(controller, repeated, again)
    controller.evaluate(world)

    assert [signal.action for signal in world.acts] == ["warn", "stop_application"]
    assert not any(signal.HasField("stage_id") or signal.HasField("task_id") for signal in world.acts)


@pytest.mark.parametrize(
    "evidence",
    [
        pytest.param({}, id="not stated"),
        pytest.param({**NEVER, "retry": "transient"}, id="a retry may succeed"),
        pytest.param({**NEVER, "failure_kind": "benign"}, id="benign"),
    ],
)
def test_detected_columns_come_from_the_finding(world, make_controller, show, arm, evidence):
    """Columns that detection adds have the values of the finding; without these columns, the rule does not match."""
    controller = make_controller("act")
    arm(controller, "task_failures", "cancel_stage")
    show(controller, DOOMED[0], found("task_failures", "warning", evidence, stage_id=3, stage_attempt=0))
    controller.evaluate(world)

    assert world.records == []


def test_finding_cannot_state_columns_of_the_row(world, make_controller, show, arm):
    """Columns that detection does not add come from the controller's own row, whatever the finding states."""
    controller = make_controller("act")
    arm(controller, "task_failures", "cancel_stage")
    stated = {**NEVER, "attempts_max": "3"}
    show(
        controller,
        live("failure_live", "failure", FailureLive(**{**FAILING, "attempts_max": 2})),
        found("task_failures", "warning", stated, stage_id=3, stage_attempt=0),
    )
    controller.evaluate(world)

    assert world.records == []


def test_condition_of_the_fuse_is_narrower_than_the_rule(world, make_controller, show, arm):
    """A row for which the rule fires but `fuse.when` is false causes no act."""
    controller = make_controller("act")
    arm(controller, "task_failures", "cancel_stage")
    often = FailureLive(**{**FAILING, "attempts_max": 2, "failed_tasks": 40})
    show(controller, live("failure_live", "failure", often), DOOMED[1])
    controller.evaluate(world)

    assert world.records == []


def test_finding_of_another_task_causes_no_act(world, make_controller, show, arm):
    """The fuse acts only if the finding and the row name the same task."""
    controller = make_controller("act")
    arm(controller, "task_stuck", "kill_task")
    show(controller, STUCK_TASK[0], found("task_stuck", stage_id=3, stage_attempt=0, task_id=78))
    show(controller, found("task_stuck", stage_id=3, stage_attempt=0))
    controller.evaluate(world)

    assert world.records == []


def test_policy_that_only_warns_warns_once(world, make_controller, show):
    """If a warning did not help and the policy has no wider action, nothing more is done."""
    controller = make_controller("act")
    for seq in range(1, 4):
        row = live("stage_live", "stage", StageLive(**GARBAGE), now_ms=world.time_ms, seq=seq)
        finding = found("gc_pressure", "warning", stage_id=3)
        finding.updated_ms = world.time_ms
        show(controller, row, finding)
        controller.evaluate(world)
        world.time_ms += 130_000

    assert [signal.action for signal in world.acts] == ["warn"]
    assert [record.outcome for record in world.records if record.step == "verified"] == ["unfreed"]


def test_policy_that_only_warns_is_not_probed(world, make_controller, show):
    """In shadow mode, a policy that only warns sends no probe, because it needs no arming."""
    controller = make_controller("shadow")
    show(controller, COLLECTING[0])
    controller.probe(world)
    assert "gc_pressure" not in {record.rule for record in world.records}
    show(controller, COLLECTING[1])
    controller.evaluate(world)

    [record] = [each for each in world.records if each.rule == "gc_pressure"]
    assert (record.step, record.signal_id) == ("would_act", "")


def test_external_actuator_is_asked_about_findings_and_samples(world, make_controller, show):
    """An external stop is probed like the acts of the hook, so that it can be armed."""
    controller = make_controller("shadow")
    show(controller, ZOMBIE[0])
    controller.probe(world)
    show(controller, ZOMBIE[1])
    controller.evaluate(world)
    probes = [signal for signal in world.probes if signal.rule == "zombie_task"]

    assert [(probe.action, probe.task_id) for probe in probes] == [("external_stop", 77)] * 2
    assert [record.step for record in world.records if record.rule == "zombie_task"] == ["probed", "would_act"]


@pytest.mark.parametrize(
    ("actor", "outcome", "scores"),
    [
        ("actuator", "would_act", ["true_positive"]),
        ("", "would_act", []),
        ("actuator", "would_not_act", ["false_negative"]),
    ],
)
def test_probe_of_a_zombie_is_scored_by_the_end_before_it(world, make_controller, show, actor, outcome, scores):
    """A zombie succeeded before the probe, so ending the zombie is right; only the external actuator can answer."""
    controller = make_controller("shadow")
    show(controller, *OUTLIVED)
    controller.evaluate(world)
    [probe] = [signal for signal in world.probes if signal.rule == "application_zombie"]
    assert probe.action == "external_stop"
    gate = {} if outcome == "would_act" else {"gate": "predicate"}
    controller.read_receipt(answer(probe, outcome, actor=actor, **gate))
    show(controller, live("app_live", "application", AppLive(status="succeeded", outlived_ms=1_905_000), seq=2))
    controller.evaluate(world)

    assert [record.outcome for record in world.records if record.step == "probe_scored"] == scores


def test_probe_of_a_zombie_task_is_scored_by_the_end_before_it(world, make_controller, show):
    """The success of the stage that the task outlived, and of the run, does not count as a success of the task."""
    controller = make_controller("shadow")
    show(controller, *ZOMBIE)
    controller.evaluate(world)
    [probe] = [signal for signal in world.probes if signal.rule == "zombie_task"]
    controller.read_receipt(answer(probe, "would_act", actor="actuator"))
    show(controller, live("app_live", "application", AppLive(status="succeeded", outlived_ms=900_000), seq=2))
    controller.evaluate(world)

    assert [record.outcome for record in world.records if record.step == "probe_scored"] == ["true_positive"]


LATE: dict[str, Any] = {"deadline_source": "setting", "deadline_left_ms": -7_200_000, "late_chance": 1.0}
COSTLY: dict[str, Any] = {"cost": 1_200.5, "currency": "EUR", "baseline_runs": 9, "expected_p95_ms": 1_800_000}


@pytest.mark.parametrize(
    ("rule", "evidence", "steps"),
    [
        pytest.param("deadline_at_risk", LATE, ["would_act"], id="long late"),
        pytest.param("deadline_at_risk", {**LATE, "remaining_ms": 1_800_000}, ["would_act"], id="needs half an hour"),
        pytest.param("deadline_at_risk", {**LATE, "remaining_ms": 1_799_999}, [], id="nearly done"),
        pytest.param("deadline_at_risk", {**LATE, "deadline_left_ms": -3_599_999}, [], id="less than an hour late"),
        pytest.param("deadline_at_risk", {**LATE, "deadline_left_ms": -5_399_999}, [], id="late by less than its time"),
        pytest.param("deadline_at_risk", {**LATE, "deadline_source": "history"}, [], id="no deadline of its own"),
        pytest.param("application_costly", COSTLY, ["would_act"], id="costly"),
        pytest.param("application_costly", {**COSTLY, "expected_p95_ms": 5_400_001}, [], id="nearly usual"),
        pytest.param("application_costly", {**COSTLY, "cost": 999.5}, [], id="below the budget"),
        pytest.param("application_costly", {**COSTLY, "baseline_runs": 2}, [], id="too few earlier runs"),
    ],
)
def test_application_beyond_its_plan_is_probed(world, make_controller, show, rule, evidence, steps):
    """Cost, usual duration and deadline come from the finding, the elapsed time from the controller's own row."""
    controller, stated = make_controller("shadow"), {name: str(value) for name, value in evidence.items()}
    show(controller, running_application("app-1", elapsed_ms=10_800_000), found(rule, evidence=stated))
    controller.evaluate(world)

    assert [record.step for record in world.records if record.rule == rule] == steps
    assert [probe.action for probe in world.probes if probe.rule == rule] == ["stop_application"] * len(steps)


def running_application(app_id, **columns):
    """Return the row of an application that has run for an hour."""
    content = {"status": "running", "elapsed_ms": 3_600_000, "running_jobs": 1, "stalled_ms": 0, **columns}
    return live("app_live", "application", AppLive(**content), app_id=app_id)


def test_external_actuator_gets_few_control_samples(world, make_controller, show):
    """If many applications run without a finding, the external actuator gets at most ten probes a minute."""
    controller = make_controller("shadow")
    show(controller, *(running_application(f"app-{number}") for number in range(20)))

    def asked():
        controller.probe(world)
        return sum(signal.action == "external_stop" for signal in world.probes)

    assert [asked(), asked()] == [10, 10]
    world.time_ms += 59_999
    assert asked() == 10
    world.time_ms += 1
    show(controller, *(running_application(f"app-{number}", stalled_ms=1) for number in range(20)))
    assert asked() == 10, "the rows are old"


def test_ended_application_is_no_control_sample(world, make_controller, show):
    """An application that has ended shows nothing about a policy that must not act on running applications."""
    controller = make_controller("shadow")
    show(controller, running_application("app-1", status="succeeded"))
    controller.probe(world)

    assert world.probes == []


def test_armed_zombie_gets_a_signal_for_the_external_actuator(world, make_controller, show, arm):
    """An external stop is verified by the receipt of the external actuator, and not by the end that the rows show."""
    controller = make_controller("act")
    arm(controller, "application_zombie", "external_stop")
    show(controller, *OUTLIVED)
    controller.evaluate(world)
    [signal] = world.acts
    controller.evaluate(world)
    assert (signal.rule, signal.action, signal.HasField("stage_id")) == ("application_zombie", "external_stop", False)
    assert "verified" not in world.steps

    controller.read_receipt(answer(signal, "ended", actor="actuator"))
    controller.evaluate(world)

    assert [(record.step, record.outcome) for record in world.records][-1] == ("verified", "ended")


def test_task_without_finding_is_probed(world, make_controller, show):
    """A running task can be a control sample: the probe names the task and the policy's narrowest stop."""
    controller = make_controller("shadow")
    show(controller, live("task_live", "task", TaskLive(**{**STUCK, "stalled_ms": 0, "activity": "moving"})))
    controller.probe(world)

    [probe] = [signal for signal in world.probes if signal.rule == "task_stuck"]
    assert (probe.action, probe.stage_id, probe.task_id) == ("kill_task", 3, 77)
    assert world.records[0].task_id == 77


def act(action, **target):
    """Return an act of mode act on app-1."""
    return Act("s-1", NOW_MS, "act", action, RUN, "rule", "orders", "sales", "data", **target)


LATER = NOW_MS + 20_000


@pytest.mark.parametrize(
    ("endings", "expected"),
    [
        pytest.param([], "unknown", id="no row"),
        pytest.param([Ending(RUN, "running", task_id=77, at_ms=NOW_MS + 15_000)], "unknown", id="a row of before"),
        pytest.param([Ending(RUN, "running", task_id=77, at_ms=LATER)], "unfreed", id="the task still runs"),
        pytest.param([Ending(RUN, "running", task_id=78, at_ms=LATER)], "ended", id="only others run"),
        pytest.param([Ending(RUN, "succeeded", query_id=8)], "ended", id="its query ended"),
        pytest.param([Ending(RUN, "succeeded", query_id=9)], "unknown", id="another query ended"),
    ],
)
def test_rows_decide_whether_a_task_ended(endings, expected):
    """A killed task has ended if it sends no more rows while another task still does; a receipt alone shows nothing."""
    book, kill = OutcomeBook(), act("kill_task", stage=(3, 0), task_id=77, query_id=8)
    book.hint(answer(signal_of(kill), "ended"))
    for ending in endings:
        book.end(ending)

    assert book.of(kill, NOW_MS + 130_000, Times())[0] == expected


def test_end_of_a_query_verifies_the_act(make_controller, show, world):
    """A row with the end of a query, stage or task does not mean that the run has ended."""
    controller = make_controller("act")
    query, task = QueryLive(query_id=8, status="failed"), TaskLive(**STUCK)
    rows = [live("query_live", "query", query), live("task_live", "task", task, seq=2)]
    _, endings = controller.view.add([row.SerializeToString() for row in rows], [RUN])

    assert [(ending.query_id, ending.task_id, ending.of_run) for ending in endings] == [
        (8, None, False),
        (None, 77, False),
    ]


def signal_of(act):
    """Return the act's signal with the fields that a receipt repeats."""
    return Signal(signal_id=act.signal_id, app_id=act.run.app_id, cluster=act.run.cluster)
