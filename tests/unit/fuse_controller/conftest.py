"""Fixtures that build a fuse controller and feed it rows and findings."""

from __future__ import annotations

import dataclasses

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_native_analytics.fuse_controller.controller import FuseController
from sparkfuse_native_analytics.fuse_controller.controller_policy import ControllerPolicy
from sparkfuse_native_analytics.fuse_controller.safeguards import Safeguards
from sparkfuse_native_analytics.fuse_controller.view import LiveView
from sparkfuse_rules.catalog import load_catalog
from tests.unit.fuse_controller.scene import World


@pytest.fixture
def world():
    return World(generate_private_key(SECP256R1()))


@pytest.fixture
def make_controller(world):
    """Return a function that builds a controller without any rows or findings."""

    def make(mode="act", configuration=None, **safeguards):
        rules = {rule.id: rule for rule in load_catalog(overrides=configuration).with_fuse()}
        policy = ControllerPolicy(rules, mode, dataclasses.replace(Safeguards(), **safeguards))
        return FuseController(policy, LiveView(policy.watched(), 20_000), world.key, "http://127.0.0.1:3000")

    return make


@pytest.fixture
def show():
    """Return a function that adds rows and findings to a controller."""

    def give(controller, *messages):
        rows = [message.SerializeToString() for message in messages if isinstance(message, LiveRow)]
        if rows:
            assert controller.view.add(rows) == []
        for message in messages:
            if isinstance(message, Finding):
                controller.findings.put(message)

    return give
