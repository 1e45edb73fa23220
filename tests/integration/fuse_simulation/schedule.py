"""Runs random schedules of the simulated world: each step is one event, chosen by a random generator with the seed."""

from __future__ import annotations

from collections.abc import Callable

from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_native_analytics.fuse_controller.environment import FencedError
from tests.integration.fuse_simulation.parts import ACTIONS, SPILLED, STUCK
from tests.integration.fuse_simulation.world import APPLICATIONS, Controller, CrashError, World
from tests.unit.fuse_controller.scene import RULE

STEPS = 60
HOUR_MS = 3_600_000
SKEWS_MS = (0, 0, 0, 5_000, -5_000, 45_000, -45_000)
FAULTS = ("abort", "crash before", "crash after", "unknown")


def run(world: World) -> None:
    """Run one schedule; afterwards `world.violations` lists the violations."""
    for rule, action in ACTIONS.items():
        world.control(Control(control_id=f"arm-{action}", kind="arm", rule=rule, action=action, until_ms=_later(world)))
    for _ in range(STEPS):
        weights = [weight for weight, _ in EVENTS]
        _, event = world.random.choices(EVENTS, weights)[0]
        event(world)
        if world.violations:
            return
    world.check_audit()


def _later(world: World) -> int:
    return world.kafka.now_ms + world.random.choice((60_000, HOUR_MS, 24 * HOUR_MS))


def _application(world: World) -> str:
    """Return an application: mostly the same one for a while, so that several events affect one application."""
    if world.random.random() < 0.05:
        world.often = world.random.randrange(APPLICATIONS)
    return f"app-{world.often if world.random.random() < 0.6 else world.random.randrange(APPLICATIONS)}"


def _time_passes(world: World) -> None:
    world.kafka.now_ms += world.random.choice((100, 1_000, 1_000, 5_000, 5_000, 30_000, 130_000))


def _job_changes(world: World) -> None:
    """Change a job: its stage becomes a runaway, hangs, recovers or ends, or a new run of the job starts."""
    app_id = _application(world)
    stage = world.stages[app_id]
    change = world.random.randrange(9)
    if change < 4:
        stage.spilled_bytes = SPILLED
    elif change == 4:
        stage.spilled_bytes = 0
    elif change == 5:
        stage.running = world.random.random() < 0.7
    elif change == 6:
        stage.progress_age_ms = world.random.choice((25_000, 1_000, 1_000))
    elif change == 7:
        stage.stuck = not stage.stuck
    else:
        world.new_run(app_id)


def _detection_reports(world: World) -> None:
    """Publish what detection reports about a stage and its task; the report may be wrong."""
    app_id = _application(world)
    stage = world.stages[app_id]
    right = {RULE: stage.spilled_bytes >= SPILLED, STUCK: stage.stuck}
    world.report(app_id, {rule: is_so if world.random.random() < 0.85 else not is_so for rule, is_so in right.items()})


def _controller_works(world: World) -> None:
    """Let a controller read some records and evaluate; it may crash at each write."""
    running = [slot for slot, controller in enumerate(world.controllers) if controller is not None]
    if not running:
        _controller_starts(world)
        return
    slot = world.random.choice(running)
    controller = world.controllers[slot]
    assert controller is not None
    controller.fault = world.random.choice(FAULTS) if world.random.random() < 0.15 else ""
    try:
        controller.read(world.random.choice((None, None, None, 1, 3)))
        controller.step()
    except OSError:
        return
    except (CrashError, FencedError):
        world.controllers[slot] = None


def _controller_starts(world: World) -> None:
    """Start or restart a controller, possibly while another controller still runs and has unread records."""
    try:
        world.controllers[world.random.randrange(2)] = Controller(world, world.random.choice(SKEWS_MS))
    except (CrashError, FencedError, OSError):
        return


def _clock_steps(world: World) -> None:
    """Set the clock of a running controller."""
    controller = world.random.choice(world.controllers)
    if controller is not None:
        controller.skew_ms = world.random.choice(SKEWS_MS)


def _hook_reads(world: World) -> None:
    """Let a hook read its next records; records of other applications are skipped by their key."""
    app_id = _application(world)
    signals = world.kafka.of("signals")
    for place in range(world.delivered[app_id], len(signals)):
        world.delivered[app_id] = place + 1
        if signals[place].key != app_id or world.random.random() < 0.05:
            continue  # lost
        world.deliver(app_id, signals[place])
        if world.random.random() < 0.2:
            return  # the next ones arrive late


def _record_arrives_again(world: World) -> None:
    """Deliver an old record once more, to any hook."""
    signals = world.kafka.of("signals")
    if signals:
        world.deliver(_application(world), world.random.choice(signals))


def _operator_orders(world: World) -> None:
    """Let an operator hold or release one application or all applications, or arm or disarm the rule."""
    app = world.random.choice(("", _application(world)))
    released = world.random.random() < 0.5
    if world.random.random() < 0.25:
        rule, action = world.random.choice(tuple(ACTIONS.items()))
        control = Control(control_id=f"arm-{action}", kind="arm", rule=rule, action=action, released=released)
    else:
        control = Control(control_id=f"hold-{app}", kind="hold", reason="test", released=released)
        if app:
            control.app = app
    control.until_ms = _later(world)
    world.control(control)


EVENTS: list[tuple[int, Callable[[World], None]]] = [
    (8, _time_passes),
    (8, _job_changes),
    (10, _detection_reports),
    (12, _controller_works),
    (2, _controller_starts),
    (1, _clock_steps),
    (12, _hook_reads),
    (3, _record_arrives_again),
    (2, _operator_orders),
    (1, lambda world: world.silence()),
    (1, lambda world: setattr(world.stages[_application(world)], "dropped_events", world.random.randrange(2))),
]
