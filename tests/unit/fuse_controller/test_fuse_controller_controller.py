from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_native_analytics.fuse_controller.broker_clock import BrokerClock
from sparkfuse_native_analytics.fuse_controller.gates import Health
from sparkfuse_native_analytics.fuse_controller.safeguards import BigPicture, Budget, Hold
from sparkfuse_native_analytics.fuse_controller.silences import Matcher, Silence
from sparkfuse_rules.policies import policy_hash, policy_line
from tests.unit.fuse_controller.scene import NOW_MS, RULE, START_MS, finding, healthy_row, hold, live_row


def test_runaway_stage_gets_one_signal(world, make_controller, show):
    """The controller writes one audit record and one signed signal for a runaway stage, even if it evaluates twice."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    for _ in range(3):
        controller.evaluate(world)

    assert world.steps == ["sent"]
    (signal,) = world.signals
    assert (signal.app_id, signal.app_start_ms, signal.stage_id, signal.action) == (
        "app-1",
        START_MS,
        3,
        "cancel_stage",
    )
    assert signal.policy_hash == policy_hash(policy_line(controller.policy.rules[RULE].otherwise.rule))
    # The first two audit records are the start and the arming.
    assert (signal.epoch, signal.generation) == (1, 3)
    assert signal.job_key == "orders"
    assert not signal.probe
    assert signal.expires_ms - signal.issued_ms == 120_000
    assert "q0: sort orders" in signal.evidence
    assert "55.9 GiB" in signal.evidence
    assert "spark.sparkfuse.fuse.hold" in signal.override_hint
    assert [record.sequence for record in world.records if record.signal_id == signal.signal_id] == [signal.generation]


@pytest.mark.parametrize(
    ("mode", "outcomes", "actions"),
    [("off", [], []), ("shadow", ["would_act"], []), ("warn", ["sent"], ["warn"]),
     ("act", ["sent"], ["cancel_stage"])],
)  # fmt: skip
def test_mode_limits_the_act(world, make_controller, show, mode, outcomes, actions):
    """Mode off does nothing, shadow only records, warn sends a warning, and act sends the action."""
    controller = make_controller(mode)
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.steps == outcomes
    assert [signal.action for signal in world.acts] == actions
    assert [signal.action for signal in world.probes] == (["cancel_stage"] if mode == "shadow" else [])


@pytest.mark.parametrize(
    ("mode", "setting", "outcomes"),
    [
        pytest.param("act", "{enabled: false}", [], id="off for the job"),
        pytest.param("act", "{params: {budget_bytes: 90000000000}}", [], id="higher threshold"),
        pytest.param("act", "{params: {budget_bytes: 60000000}}", ["sent"], id="lower threshold"),
        pytest.param("shadow", "{fuse: {mode: act}}", ["sent"], id="act for this job only"),
        pytest.param("act", "{fuse: {mode: shadow}}", ["would_act"], id="shadow for this job only"),
    ],
)
def test_job_override_applies_to_its_job(world, make_controller, show, tmp_path, mode, setting, outcomes):
    """Thresholds, mode and `enabled` of a job override apply to the stages of the job."""
    configuration = tmp_path / "sparkfuse.yaml"
    configuration.write_text(f'jobs: [{{job: "ord*", rules: {{{RULE}: {setting}}}}}]')
    controller = make_controller(mode, configuration)
    spilled = 70_000_000 if "60000000}" in setting else 60_000_000_000
    show(controller, live_row(running_spilled_since_progress_max_bytes=spilled), finding())
    for _ in range(3):
        controller.evaluate(world)

    assert world.steps == outcomes


def test_job_override_does_not_apply_to_other_jobs(world, make_controller, show, tmp_path):
    """A job override does not change other jobs.

    The signal names the policy of the rule's variant for the job.
    """
    configuration = tmp_path / "sparkfuse.yaml"
    configuration.write_text(f'jobs: [{{job: "other", rules: {{{RULE}: {{enabled: false}}}}}}]')
    controller = make_controller("act", configuration)
    show(controller, live_row(), finding())
    controller.evaluate(world)

    (signal,) = world.signals
    rules = controller.policy.rules[RULE]
    assert signal.policy_hash == policy_hash(policy_line(rules.otherwise.rule))
    assert rules.for_job("other") is None


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param([live_row()], id="no finding"),
        pytest.param([finding()], id="no row"),
        pytest.param([live_row(), finding(app_id="app-2")], id="finding of another application"),
        pytest.param([live_row(stage_attempt=1), finding()], id="finding of another attempt"),
        pytest.param([live_row(), finding(state="resolved")], id="resolved"),
        pytest.param([live_row(), finding(), finding(state="resolved", now_ms=NOW_MS + 1)], id="resolved since"),
        pytest.param([live_row(), finding(now_ms=NOW_MS - 90_001)], id="finding too old"),
        pytest.param([live_row(), finding(severity="warning")], id="only a warning"),
        pytest.param([live_row(now_ms=NOW_MS - 20_001), finding()], id="row too old"),
        pytest.param([live_row(running_spilled_since_progress_max_bytes=1), finding()], id="own view does not match"),
        pytest.param([live_row(elapsed_ms=29_999), finding()], id="not long enough"),
        pytest.param([live_row(), live_row(seq=2, status="failed"), finding()], id="the stage has ended"),
        pytest.param([live_row(seq=2, running_since_progress_min_ms=5), live_row(seq=1), finding()], id="latest row"),
    ],
)
def test_act_needs_finding_and_matching_rows(world, make_controller, show, shown):
    """The fuse acts only if the finding and the rows in the controller's view are about the same run and stage."""
    controller = make_controller("act")
    show(controller, *shown)
    controller.evaluate(world)

    assert world.steps == []
    assert world.signals == []


@pytest.mark.parametrize(
    ("shown", "safeguards", "outcome", "reason"),
    [
        pytest.param([live_row(completeness=0.98), finding()], {}, "held", "98.0% complete", id="row incomplete"),
        pytest.param([live_row(), finding(completeness=0.5)], {}, "held", "50.0% complete", id="finding incomplete"),
        pytest.param(
            [live_row(), finding()], {"holds": (Hold("release night", job="ord*"),)}, "held", "release", id="hold"
        ),
        pytest.param(
            [live_row(), finding()], {"budget": Budget(global_per_hour=0)}, "over_budget", "global", id="budget"
        ),
    ],
)
def test_refusal_is_recorded_once(world, make_controller, show, shown, safeguards, outcome, reason):
    """The reason of a refusal is recorded once in the audit log, not at each evaluation, and no signal is sent."""
    controller = make_controller("act", **safeguards)
    show(controller, *shown)
    for _ in range(3):
        controller.evaluate(world)

    assert set(world.steps) == {outcome}
    assert len(world.records) == len({action.app_id for action in world.records})
    assert all(reason in action.reason for action in world.records)
    assert world.signals == []


@pytest.mark.parametrize(
    ("hold", "expected"),
    [
        (Hold("x"), True), (Hold("x", rule=RULE), True), (Hold("x", rule="task_*"), False),
        (Hold("x", job="orders", app="app-?"), True), (Hold("x", job="orders", app="other"), False),
        (Hold("x", until_ms=NOW_MS + 1), True), (Hold("x", until_ms=NOW_MS), False),
    ],
)  # fmt: skip
def test_hold_covers_matching_patterns_until_it_ends(hold, expected):
    """A hold applies only if all its patterns match; a hold with an end time expires."""
    assert hold.covers(RULE, "orders", "app-1", NOW_MS) is expected


def test_few_affected_applications_are_stopped(world, make_controller, show):
    """If three of forty applications are affected, each is stopped, because three are less than the allowed share."""
    controller = make_controller("act", budget=Budget(9, 99, 99))
    healthy = [healthy_row(f"healthy-{n}") for n in range(40)]
    show(controller, *healthy, *(m for n in range(3) for m in (live_row(f"app-{n}"), finding(f"app-{n}"))))
    controller.evaluate(world)

    assert sorted(signal.app_id for signal in world.signals) == ["app-0", "app-1", "app-2"]


def test_open_fuses_count_as_affected(world, make_controller, show):
    """Applications with an open fuse are counted as affected, so a fault that spreads over minutes is detected."""
    controller = make_controller("act", big_picture=BigPicture(0.1, 3))
    for number in range(5):
        show(controller, live_row(f"app-{number}"), finding(f"app-{number}"))
        controller.evaluate(world)

    assert len(world.signals) == 2


def test_silence_holds_before_the_alert_exists(world, make_controller, show):
    """A silence that matches the labels of the finding prevents the act, although Alertmanager has no alert yet."""
    world.active_silences.append(Silence("s-1", "known problem", (Matcher("job_key", "ord.*", True, True),)))
    controller = make_controller("act")
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.steps == ["held"]
    assert "known problem" in world.records[0].reason


@pytest.mark.parametrize(("mode", "expected"), [("act", ["held"]), ("shadow", ["would_act"])])
def test_unknown_silence_prevents_act_but_not_shadow(world, make_controller, show, mode, expected):
    """If Alertmanager does not answer, the controller does not act; shadow mode still records that it would act."""
    world.alertmanager = False
    controller = make_controller(mode)
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.steps == expected


def test_rows_are_refreshed_before_the_act(world, make_controller, show):
    """If a row that does not match the rule arrives after the decision, the act is prevented."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    world.arriving.append(lambda: show(controller, live_row(seq=2, running_since_progress_min_ms=10)))
    controller.evaluate(world)

    assert world.steps == []
    assert world.signals == []


def test_no_signal_without_a_written_action(world, make_controller, show):
    """While the audit log cannot be written, no signal is sent; afterwards the fuse acts."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    world.broken = True
    with pytest.raises(OSError, match="broker"):
        controller.evaluate(world)

    assert world.signals == []
    world.broken = False
    controller.evaluate(world)
    assert len(world.signals) == 1


def test_act_repeats_after_cool_down_with_newer_generation(world, make_controller, show):
    """After each cool-down, a half-open fuse may blow again, within the job's budget.

    Each signal has a higher generation than the one before.
    """
    controller = make_controller("act")
    for minute in range(30):
        world.time_ms = NOW_MS + minute * 60_000
        show(controller, live_row(now_ms=world.time_ms, seq=minute + 1), finding(now_ms=world.time_ms))
        controller.evaluate(world)

    generations = [signal.generation for signal in world.signals]
    assert len(generations) == 3
    assert generations == sorted(set(generations))
    assert world.steps[-1] == "over_budget"


@pytest.mark.parametrize("skews_ms", [(0, 9_000), (-9_000, 0), (9_000, -9_000)], ids=["ahead", "slow", "set back"])
@pytest.mark.parametrize("restarted", [False, True])
def test_cool_down_counts_by_the_brokers_time(world, make_controller, show, skews_ms, restarted):
    """By the broker's time, the next act happens 2 min after the last one, whatever the controller's clock shows."""
    times = []
    controller = make_controller("act", start=False)
    for second in range(0, 180, 5):
        skew_ms = skews_ms[second > 0]
        world.state, world.time_ms = Health("", skew_ms), NOW_MS + second * 1_000 + skew_ms
        if second == 0:
            controller.start(world)
        elif restarted and second == 5:
            controller = make_controller("act")
        show(controller, live_row(now_ms=world.time_ms, seq=second + 1), finding(now_ms=world.time_ms))
        before = len(world.acts)
        controller.evaluate(world)
        times += [second] * (len(world.acts) - before)

    assert times == [0, 120]


@pytest.mark.parametrize("skew_ms", [9_000, -9_000])
def test_budget_counts_by_the_brokers_time(world, make_controller, show, skew_ms):
    """By the broker's time, an act counts against its budget for one hour, whatever the controller's clock shows."""
    controller = make_controller("act", budget=Budget(job_per_hour=1))
    times = []
    for second in (0, 3_590, 3_595, 3_600, 3_605):
        skew = skew_ms if second else 0
        world.state, world.time_ms = Health("", skew), NOW_MS + second * 1_000 + skew
        show(controller, live_row(now_ms=world.time_ms, seq=second + 1), finding(now_ms=world.time_ms))
        before = len(world.acts)
        controller.evaluate(world)
        times += [second] * (len(world.acts) - before)

    assert times == [0, 3_600]


@pytest.mark.parametrize(("until_ms", "held"), [(1, True), (-1, False)], ids=["just before its end", "just after"])
def test_hold_ends_by_the_brokers_time(world, make_controller, show, until_ms, held):
    """A hold ends at the broker's time, as in the hook, although the controller's clock is 9 s ahead."""
    controller = make_controller("act")
    world.state, world.time_ms = Health("", 9_000), NOW_MS + 9_000
    control = hold(until_ms=NOW_MS + until_ms)
    controller.controls.put(control.control_id, world.keys.control(control), NOW_MS)
    show(controller, live_row(now_ms=world.time_ms), finding(now_ms=world.time_ms))
    controller.evaluate(world)

    assert (world.acts == []) is held


def test_clock_that_steps_is_noticed_without_another_record():
    """The difference between the clocks changes immediately when the wall clock is set."""
    steady = iter((100, 105, 110))
    clock = BrokerClock(lambda: next(steady))
    unknown = clock.skew_ms(9)
    clock.appended(5_000)

    assert unknown is None
    assert [clock.skew_ms(5_005), clock.skew_ms(65_010)] == [0, 60_000]


def test_restarted_controller_does_not_repeat_act(world, make_controller, show):
    """A restarted controller reads the audit log and does not act again."""
    first = make_controller("act")
    show(first, live_row(), finding())
    first.evaluate(world)
    second = make_controller("act")
    show(second, live_row(seq=2), finding())
    second.evaluate(world)

    assert len(world.signals) == 1


def test_ended_applications_do_not_count_as_running(make_controller, show):
    """The share of affected applications is computed over running applications only."""
    controller = make_controller("act")
    ended = LiveRow(view="application_ended", cluster="prod", app_id="app-2", app_attempt=0, app_start_ms=START_MS,
                    window_end_ms=NOW_MS)  # fmt: skip
    ended.application_ended.ended_ms = NOW_MS
    show(controller, live_row("app-1"), live_row("app-2"), live_row("app-3", now_ms=NOW_MS - 60_001), ended)

    assert controller.view.running_applications(NOW_MS) == {"prod": 1}


def test_silent_applications_do_not_count_as_running(make_controller, show):
    """An application whose driver died still has rows, but is not counted as running."""
    controller = make_controller("act")
    silent = LiveRow(view="app_live", cluster="prod", app_id="app-2", app_attempt=0, app_start_ms=START_MS,
                     window_end_ms=NOW_MS)  # fmt: skip
    silent.application.driver_silent_ms = 3_600_000
    show(controller, live_row("app-1"), silent)

    assert controller.view.running_applications(NOW_MS) == {"prod": 1}


def test_rows_of_a_source_are_ignored(make_controller):
    """Hooks of a source read another Kafka cluster, so the controller does not evaluate rows of the source."""
    controller = make_controller("act")
    row = live_row("app-2")
    row.source = "eu"
    controller.view.add([live_row("app-1").SerializeToString(), row.SerializeToString()])

    assert {scope.run.app_id for scope in controller.view.evaluate(NOW_MS)} == {"app-1"}


def test_invalid_rows_are_rejected_by_index(make_controller):
    """The controller returns the index of each invalid record, and adds the valid records."""
    controller = make_controller("act")
    rejected, _ = controller.view.add([live_row().SerializeToString(), b"\xff\xffjunk", b""])

    assert [place for place, _ in rejected] == [1]
    assert len(controller.view.evaluate(NOW_MS)) == 1
