"""What tests of several rooms share: the checkout's root, one broker a run, and a marker by folder."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]

# A property holds or does not: how long an example takes says more of who else uses the machine, so there is no
# deadline (the library's own is 200 ms). The same tree gives the same answer, so the examples of a run are always the
# same; `--hypothesis-profile=search` looks for new ones.
UNHURRIED = [HealthCheck.too_slow]
settings.register_profile("same", deadline=None, suppress_health_check=UNHURRIED, derandomize=True, print_blob=True)
settings.register_profile("search", deadline=None, suppress_health_check=UNHURRIED, max_examples=2_000)
settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by the folder it stands in, so that `-m "not e2e"` needs no word in the file.

    A test of real parts has a second try (docs/decisions/2026-11-22-second-try.md).
    """
    for item in items:
        folder = item.path.relative_to(ROOT / "tests").parts[0]
        if folder in {"integration", "e2e", "chaos", "matrix"}:
            item.add_marker(folder)
        if folder in {"integration", "e2e"}:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture
def free_port() -> Callable[[], int]:
    """A function that gives a port on loopback that nothing listens on."""
    from sparkfuse.stack.layout import free_ports

    return lambda: free_ports(1)[0]


@pytest.fixture(scope="session")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real broker, one for the whole run: keep to topics of your own (`topic_prefix`)."""
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
            pytest.fail(f"the broker ended while it started:\n{process.last_lines()}")
        yield layout.kafka_bootstrap
    finally:
        process.stop()


@pytest.fixture
def topic_prefix() -> str:
    """A prefix that no other test has, for topics on the shared broker."""
    return f"test-{uuid.uuid4().hex[:10]}"
