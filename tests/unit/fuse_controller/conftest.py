"""A controller of the scene, in a mode and with a policy."""

from __future__ import annotations

import dataclasses

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_native_analytics.fuse_controller.policy import Policy
from sparkfuse_native_analytics.fuse_controller.policy_reload import ControllerPolicy
from sparkfuse_native_analytics.fuse_controller.view import LiveView
from sparkfuse_native_analytics.fuse_controller.work import FuseController
from sparkfuse_rules.catalog import load_catalog
from tests.unit.fuse_controller.scene import World


@pytest.fixture
def world():
    return World(generate_private_key(SECP256R1()))


@pytest.fixture
def make_controller(world):
    """A controller in a mode, with a policy; it has seen nothing yet."""

    def make(mode="act", configuration=None, **policy):
        rules = {rule.id: rule for rule in load_catalog(overrides=configuration).with_fuse()}
        orders = ControllerPolicy(rules, mode, dataclasses.replace(Policy(), **policy))
        return FuseController(orders, LiveView(orders.watched(), 20_000), world.key, "http://127.0.0.1:3000")

    return make


@pytest.fixture
def show():
    """Show a controller rows and findings."""

    def give(controller, *messages):
        rows = [message.SerializeToString() for message in messages if isinstance(message, LiveRow)]
        if rows:
            assert controller.view.add(rows) == []
        for message in messages:
            if isinstance(message, Finding):
                controller.findings.put(message)

    return give
