"""Tests policies of rules about tasks, failures and applications, and policies that only warn."""

from __future__ import annotations

from typing import Any

import pytest

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.live_pb2 import ExecutorLoss, FailureLive, LiveRow, QueryLive, StageLive, TaskLive
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
# What detection adds to a row of failed tasks.
NEVER = {"failure_kind": "user_code", "failure": "python_exception", "retry": "never"}


def live(view, row, content, app_id="app-1", now_ms=NOW_MS, seq=1):
    """Return a complete row; ``columns`` selects its view and contents."""
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
    """Columns that detection adds have the values that the finding states; without them, the rule does not match."""
    controller = make_controller("act")
    arm(controller, "task_failures", "cancel_stage")
    show(controller, DOOMED[0], found("task_failures", "warning", evidence, stage_id=3, stage_attempt=0))
    controller.evaluate(world)

    assert world.records == []


def test_finding_cannot_state_columns_of_the_row(world, make_controller, show, arm):
    """All other columns come from the controller's own row, whatever the finding states."""
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


def test_external_stop_is_asked_about_after_a_finding_only(world, make_controller, show):
    """Work without a finding is not probed for an external stop, because its end shows nothing about such a stop."""
    controller = make_controller("shadow")
    show(controller, ZOMBIE[0])
    controller.probe(world)
    assert "zombie_task" not in {record.rule for record in world.records}
    show(controller, ZOMBIE[1])
    controller.evaluate(world)

    [probe] = [signal for signal in world.probes if signal.rule == "zombie_task"]
    assert (probe.action, probe.task_id) == ("external_stop", 77)


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
