"""Tests that the ladder of actions belongs to one target."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.fuse_controller.scene import (
    MINUTE_MS,
    NOW_MS,
    RULE,
    answer,
    arming,
    finding,
    live_row,
    put,
)

RUNAWAY = (live_row(), finding())


def test_act_on_one_stage_makes_no_act_on_another_wider(world, make_controller, show):
    """If a stage was not freed, only an act on the same stage becomes wider."""
    controller = make_controller("act")
    variants = controller.policy.rules[RULE]
    rule = variants.otherwise.rule
    wider = replace(rule, fuse=replace(rule.fuse, actions=("cancel_stage", "cancel_jobs")))
    changed = replace(variants, otherwise=type(variants.otherwise)(wider, variants.otherwise.policy_hash))
    controller.use(replace(controller.policy, rules={RULE: changed}))
    put(world, controller, arming("cancel_jobs"))
    show(controller, *RUNAWAY)
    controller.evaluate(world)
    controller.read_receipt(answer(world.acts[0], "requested"))
    controller.read_receipt(answer(world.acts[0], "unfreed"))
    for minutes, stage_id in ((3, 9), (6, 3)):
        world.time_ms = NOW_MS + minutes * MINUTE_MS
        place = {"stage_id": stage_id, "now_ms": world.time_ms}
        controller.evaluate(world)
        show(controller, live_row(seq=minutes + 1, **place), finding(**place))
        controller.evaluate(world)

    assert [(signal.action, signal.stage_id) for signal in world.acts] == [
        ("cancel_stage", 3), ("cancel_stage", 9), ("cancel_jobs", 3),
    ]  # fmt: skip
