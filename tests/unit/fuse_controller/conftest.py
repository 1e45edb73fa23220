"""Fixtures that build a fuse controller and feed it rows and findings."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.controller import FuseController
from sparkfuse_native_analytics.fuse_controller.controller_policy import read_controller_policy
from sparkfuse_native_analytics.fuse_controller.gates import GATES
from sparkfuse_native_analytics.fuse_controller.safeguards import Arming
from sparkfuse_native_analytics.fuse_controller.view import LiveView
from tests.unit.fuse_controller.scene import NOW_MS, RULE, Keys, World, arming


@pytest.fixture(scope="session")
def fuse_keys():
    return Keys()


@pytest.fixture
def world(fuse_keys):
    return World(fuse_keys)


@pytest.fixture
def make_controller(world, tmp_path):
    """Return a function that builds a controller in its first epoch, without rows and findings.

    In mode act, the rule is armed for cancel_stage, and an arming needs no probes unless the test passes other
    safeguards.
    """

    def make(mode="act", configuration: Path | None = None, without_gate="", armed=True, start=True, **safeguards):
        key = tmp_path / "key.pem"
        key.touch()
        environment = {"SPARKFUSE_FUSE_MODE": mode, "SPARKFUSE_SIGNING_KEY": str(key)}
        if configuration:
            environment["SPARKFUSE_CONFIG"] = str(configuration)
        policy = read_controller_policy(Settings.from_environment(environment))
        limits = dataclasses.replace(policy.safeguards, **{"arming": Arming(0), **safeguards})
        policy = dataclasses.replace(policy, safeguards=limits)
        gates = {name: gate for name, gate in GATES.items() if name != without_gate}
        view, keys = LiveView(policy.watched(), 20_000), world.keys
        controller = FuseController(
            policy, view, keys.ring, keys.private["act"], "http://console/runs/{}".format, gates
        )
        if armed:
            control = arming()
            assert controller.controls.put(control.control_id, keys.control(control), NOW_MS) is None
        if start:
            world.replay_into(controller)
            controller.start(world)
        return controller

    return make


@pytest.fixture
def show(world):
    """Return a function that adds rows and findings to a controller."""

    def give(controller, *messages):
        rows = [message.SerializeToString() for message in messages if isinstance(message, LiveRow)]
        if rows:
            rejected, endings = controller.view.add(rows, controller.watched_runs())
            assert rejected == []
            for ending in endings:
                controller.read_ending(ending, world.time_ms)
        for message in messages:
            if isinstance(message, Finding):
                controller.findings.put(message, world.time_ms)

    return give


@pytest.fixture
def approval_needed(make_controller):
    """Return a controller whose rule needs an approval."""
    controller = make_controller("act")
    variants = controller.policy.rules[RULE]
    rule = variants.otherwise.rule
    needs = dataclasses.replace(rule, fuse=dataclasses.replace(rule.fuse, approval=True))
    changed = dataclasses.replace(variants, otherwise=type(variants.otherwise)(needs, variants.otherwise.policy_hash))
    controller.use(dataclasses.replace(controller.policy, rules={RULE: changed}))
    return controller
