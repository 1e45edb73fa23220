"""Fixtures of the external actuator."""

from __future__ import annotations

import pytest

from tests.unit.fuse_actuator.actuator_scene import Scene
from tests.unit.fuse_controller.scene import Keys


@pytest.fixture(scope="session")
def actuator_keys():
    return Keys()


@pytest.fixture
def scene(tmp_path, actuator_keys):
    """Return a zombie application and an actuator that would end the application."""
    return Scene(tmp_path, actuator_keys)
