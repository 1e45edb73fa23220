from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_native_analytics.fuse_controller.policy import BigPicture, Budget, Hold
from tests.unit.fuse_controller.scene import NOW_MS, RULE, START_MS, finding, live_row


def test_a_runaway_stage_is_stopped_by_one_signal(world, make_controller, show):
    """Step before, signed signal, step after; looking again sends no second one."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    for _ in range(3):
        controller.look(world)

    assert world.outcomes == ["would_act", "sent"]
    (signal,) = world.signals
    assert (signal.app_id, signal.app_start_ms, signal.stage_id, signal.action) == (
        "app-1",
        START_MS,
        3,
        "cancel_stage",
    )
    assert [(c.column, c.operator, c.threshold) for c in signal.predicate] == [
        ("disk_spilled_bytes", ">=", 5e10),
        ("since_finish_ms", ">=", 600_000),
    ]
    assert signal.generation == NOW_MS
    assert signal.expires_ms - signal.issued_ms == 120_000
    assert "has spilled 55.9 GiB" in signal.evidence
    assert "spark.sparkfuse.fuse.hold" in signal.override_hint
    assert {action.signal_id for action in world.actions} == {signal.signal_id}


@pytest.mark.parametrize(
    ("mode", "outcomes", "actions"),
    [("off", [], []), ("shadow", ["would_act"], []), ("warn", ["would_act", "sent"], ["warn"]),
     ("act", ["would_act", "sent"], ["cancel_stage"])],
)  # fmt: skip
def test_the_mode_bounds_what_is_done(world, make_controller, show, mode, outcomes, actions):
    """Off does nothing, shadow writes down, warn warns, act acts."""
    controller = make_controller(mode)
    show(controller, live_row(), finding())
    controller.look(world)

    assert world.outcomes == outcomes
    assert [signal.action for signal in world.signals] == actions


@pytest.mark.parametrize(
    ("mode", "setting", "outcomes"),
    [
        pytest.param("act", "{enabled: false}", [], id="off for the job"),
        pytest.param("act", "{params: {budget_bytes: 90000000000}}", [], id="more is allowed"),
        pytest.param("act", "{params: {budget_bytes: 60000000}}", ["would_act", "sent"], id="less is"),
        pytest.param("shadow", "{fuse: {mode: act}}", ["would_act", "sent"], id="armed for the job alone"),
        pytest.param("act", "{fuse: {mode: shadow}}", ["would_act"], id="in the shadow for the job alone"),
    ],
)
def test_what_is_set_for_a_job_holds_for_it(world, make_controller, show, tmp_path, mode, setting, outcomes):
    """Thresholds, mode and whether at all: the fuse controller judges a job's stage as the job is set."""
    configuration = tmp_path / "sparkfuse.yaml"
    configuration.write_text(f'jobs: [{{job: "ord*", rules: {{{RULE}: {setting}}}}}]')
    controller = make_controller(mode, configuration)
    spilled = 70_000_000 if "60000000}" in setting else 60_000_000_000
    show(controller, live_row(disk_spilled_bytes=spilled), finding())
    for _ in range(3):
        controller.look(world)

    assert world.outcomes == outcomes


def test_what_is_set_for_a_job_does_not_hold_for_others(world, make_controller, show, tmp_path):
    """The predicate that is signed is that of the job's own setting."""
    configuration = tmp_path / "sparkfuse.yaml"
    configuration.write_text(f'jobs: [{{job: "other", rules: {{{RULE}: {{enabled: false}}}}}}]')
    controller = make_controller("act", configuration)
    show(controller, live_row(), finding())
    controller.look(world)

    (signal,) = world.signals
    assert ("disk_spilled_bytes", 5e10) in {(each.column, each.threshold) for each in signal.predicate}


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
        pytest.param([live_row(disk_spilled_bytes=1), finding()], id="own view disagrees"),
        pytest.param([live_row(elapsed_ms=29_999), finding()], id="not long enough"),
        pytest.param([live_row(), live_row(seq=2, status="failed"), finding()], id="the stage has ended"),
        pytest.param([live_row(seq=2, since_finish_ms=5), live_row(seq=1), finding()], id="the latest row counts"),
    ],
)
def test_nothing_happens_unless_both_agree(world, make_controller, show, shown):
    """Detection and the fuse controller's own view must speak of the same run and stage, now."""
    controller = make_controller("act")
    show(controller, *shown)
    controller.look(world)

    assert world.outcomes == []
    assert world.signals == []


@pytest.mark.parametrize(
    ("shown", "policy", "outcome", "said"),
    [
        pytest.param([live_row(completeness=0.98), finding()], {}, "held", "98.0% complete", id="row incomplete"),
        pytest.param([live_row(), finding(completeness=0.5)], {}, "held", "50.0% complete", id="finding incomplete"),
        pytest.param(
            [live_row(), finding()], {"holds": (Hold("release night", job="ord*"),)}, "held", "release", id="hold"
        ),
        pytest.param(
            [live_row(), finding()], {"budget": Budget(global_per_hour=0)}, "over_budget", "global", id="budget"
        ),
        pytest.param(
            [m for n in range(4) for m in (live_row(f"app-{n}"), finding(f"app-{n}"))],
            {},
            "held",
            "4 of 4 running applications",
            id="big picture",
        ),
    ],
)
def test_a_closed_gate_is_written_down_once(world, make_controller, show, shown, policy, outcome, said):
    """Why nothing was done is in the audit, not every five seconds, and no signal leaves."""
    controller = make_controller("act", **policy)
    show(controller, *shown)
    for _ in range(3):
        controller.look(world)

    assert set(world.outcomes) == {outcome}
    assert len(world.actions) == len({action.app_id for action in world.actions})
    assert all(said in action.reason for action in world.actions)
    assert world.signals == []


@pytest.mark.parametrize(
    ("hold", "expected"),
    [
        (Hold("x"), True), (Hold("x", rule=RULE), True), (Hold("x", rule="task_*"), False),
        (Hold("x", job="orders", app="app-?"), True), (Hold("x", job="orders", app="other"), False),
        (Hold("x", until_ms=NOW_MS + 1), True), (Hold("x", until_ms=NOW_MS), False),
    ],
)  # fmt: skip
def test_a_hold_covers_what_fits_all_its_patterns_until_it_ends(hold, expected):
    """Rule, job and application patterns are and-ed; a hold with a time ends by itself."""
    assert hold.covers(RULE, "orders", "app-1", NOW_MS) is expected


def test_few_of_many_applications_may_be_stopped(world, make_controller, show):
    """Three condemned of forty are below a tenth: each is judged by itself."""
    controller = make_controller("act", budget=Budget(9, 99, 99))
    healthy = [live_row(f"healthy-{n}", disk_spilled_bytes=0) for n in range(40)]
    show(controller, *healthy, *(m for n in range(3) for m in (live_row(f"app-{n}"), finding(f"app-{n}"))))
    controller.look(world)

    assert sorted(signal.app_id for signal in world.signals) == ["app-0", "app-1", "app-2"]


def test_one_after_the_other_is_a_big_picture_too(world, make_controller, show):
    """Open fuses count: a fault that condemns two applications now and more in a minute is seen."""
    controller = make_controller("act", big_picture=BigPicture(0.1, 3))
    for number in range(5):
        show(controller, live_row(f"app-{number}"), finding(f"app-{number}"))
        controller.look(world)

    assert len(world.signals) == 2


def test_a_silenced_alert_stops_nothing(world, make_controller, show):
    """Who does not want the page does not want the act."""
    world.silenced_findings.add("finding-app-1")
    controller = make_controller("act")
    show(controller, live_row(), finding())
    controller.look(world)

    assert world.outcomes == ["held"]
    assert "silenced" in world.actions[0].reason


@pytest.mark.parametrize(("mode", "expected"), [("act", ["held"]), ("shadow", ["would_act"])])
def test_without_an_alertmanager_nobody_is_stopped(world, make_controller, show, mode, expected):
    """A silence that cannot be looked up may be there; the shadow harms nobody and goes on."""
    world.alertmanager = False
    controller = make_controller(mode)
    show(controller, live_row(), finding())
    controller.look(world)

    assert world.outcomes == expected


def test_the_state_is_read_again_at_the_moment_of_the_act(world, make_controller, show):
    """A row that arrives between decision and act, and says that a task has ended, stops the act."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    world.arriving.append(lambda: show(controller, live_row(seq=2, since_finish_ms=10)))
    controller.look(world)

    assert world.outcomes == []
    assert world.signals == []


def test_nothing_is_sent_whose_step_is_not_written(world, make_controller, show):
    """Without the audit there is no act; when it is back the act follows."""
    controller = make_controller("act")
    show(controller, live_row(), finding())
    world.broken = True
    with pytest.raises(OSError, match="broker"):
        controller.look(world)

    assert world.signals == []
    world.broken = False
    controller.look(world)
    assert len(world.signals) == 1


def test_after_the_cool_down_a_stage_that_still_runs_away_is_stopped_again_with_a_newer_generation(
    world, make_controller, show
):
    """Half-open blows again, within the budget of the job, and never with an old generation."""
    controller = make_controller("act")
    for minute in range(30):
        world.time_ms = NOW_MS + minute * 60_000
        show(controller, live_row(now_ms=world.time_ms, seq=minute + 1), finding(now_ms=world.time_ms))
        controller.look(world)

    generations = [signal.generation for signal in world.signals]
    assert len(generations) == 3
    assert generations == sorted(set(generations))
    assert world.outcomes[-1] == "over_budget"


def test_a_restarted_controller_goes_on_from_the_audit(world, make_controller, show):
    """Kill it after an act: the next one, that has read the audit, does not act again."""
    first = make_controller("act")
    show(first, live_row(), finding())
    first.look(world)
    second = make_controller("act")
    for action in world.actions:
        second.states.record(action)
    show(second, live_row(seq=2), finding())
    second.look(world)

    assert len(world.signals) == 1


def test_ended_applications_do_not_count_as_running(make_controller, show):
    """The share of condemned applications is of those that run."""
    controller = make_controller("act")
    ended = LiveRow(view="application_ended", cluster="prod", app_id="app-2", app_attempt=0, app_start_ms=START_MS,
                    window_end_ms=NOW_MS)  # fmt: skip
    ended.application_ended.ended_ms = NOW_MS
    show(controller, live_row("app-1"), live_row("app-2"), live_row("app-3", now_ms=NOW_MS - 60_001), ended)

    assert controller.view.running_applications(NOW_MS) == 1


def test_silent_applications_do_not_count_as_running(make_controller, show):
    """An application whose driver died has a row in every window, and must not make room for more to be stopped."""
    controller = make_controller("act")
    silent = LiveRow(view="app_live", cluster="prod", app_id="app-2", app_attempt=0, app_start_ms=START_MS,
                     window_end_ms=NOW_MS)  # fmt: skip
    silent.application.driver_silent_ms = 3_600_000
    show(controller, live_row("app-1"), silent)

    assert controller.view.running_applications(NOW_MS) == 1


def test_rows_that_are_no_rows_are_set_aside(make_controller):
    """Junk among rows is told with its place, and the others count."""
    controller = make_controller("act")
    rejected = controller.view.add([live_row().SerializeToString(), b"\xff\xffjunk", b""])

    assert [place for place, _ in rejected] == [1]
    assert len(controller.view.condemned(NOW_MS)) == 1
