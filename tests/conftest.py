"""Shared fixtures: the repository's root, one broker per run, and free ports; tests get markers by their folder."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).parents[1]

# No deadline: the duration of an example depends on the load of the machine. The examples are the same in each run, so
# that the same tree gives the same result; `--hypothesis-profile=search` generates new ones.
NO_DEADLINE = [HealthCheck.too_slow]
settings.register_profile("same", deadline=None, suppress_health_check=NO_DEADLINE, derandomize=True, print_blob=True)
settings.register_profile("search", deadline=None, suppress_health_check=NO_DEADLINE, max_examples=2_000)
settings.load_profile("same")

# Tests that concern the safety of a job: a failure of one of them must never be hidden by a second run.
SAFETY = frozenset(
    {
        "integration/hook",
        "integration/fuse_actuator",
        "integration/fuse_controller",
        "integration/fuse_simulation",
        "e2e",
        "integration/console/test_console_acts.py",
        "integration/native_analytics/test_native_analytics_live_replay.py",
    }
)

# Folders whose files share the processes of a fixture.
SHARED_FOLDERS = ("tests/integration/stream_jobs/both_jobs/",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by its folder, so that `-m "not e2e"` needs no marker in the file.

    A failed test of real parts runs once more (tests/README.md), unless it concerns safety.
    Unit tests run first, beside the Java tests, which need much CPU time; end-to-end tests, which take longest, must
    not be the last ones.
    """
    order = {"unit": 0, "e2e": 1}
    items.sort(key=lambda item: order.get(item.path.relative_to(ROOT / "tests").parts[0], 2))
    for item in items:
        folder, *below = item.path.relative_to(ROOT / "tests").parts
        if folder in {"integration", "e2e", "chaos", "matrix"}:
            item.add_marker(folder)
        safety = folder in SAFETY or f"{folder}/{below[0]}" in SAFETY or f"{folder}/{'/'.join(below)}" in SAFETY
        if folder in {"integration", "e2e"} and not safety:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(optionalhook=True)  # without the plugin, as with `-p no:xdist`, there is no such hook
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Let a folder whose tests share what they start run in one process, as each file does."""
    return _FolderScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


class _FolderScheduling(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return next((folder for folder in SHARED_FOLDERS if file.startswith(folder)), file)


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the repository."""
    return ROOT


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Return a function that returns a free port on the loopback interface."""
    from sparkfuse.stack.layout import free_ports

    return lambda: free_ports(1)[0]


@pytest.fixture(scope="session")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start one real broker for the whole test run and yield its address; use only topics with your `topic_prefix`."""
    from sparkfuse.stack.broker import Broker
    from sparkfuse.stack.layout import Layout, Ports
    from sparkfuse.stack.process import Process
    from tests.waiting import wait_for

    layout = Layout.from_environment(tmp_path_factory.mktemp("kafka"), Ports.free(), environment={})
    service = Broker(layout, ROOT / "build" / "kafka-libs").service()
    process = Process(service, layout.logs / "kafka.log")
    try:
        wait_for(lambda: service.ready() or process.exit_code() is not None, service.ready_seconds, "the broker")
        if process.exit_code() is not None:
            pytest.fail(f"the broker exited during start:\n{process.last_lines()}")
        yield layout.kafka_bootstrap
    finally:
        process.stop()


@pytest.fixture
def topic_prefix() -> str:
    """Return a unique prefix for topics on the shared broker."""
    return f"test-{uuid.uuid4().hex[:10]}"
