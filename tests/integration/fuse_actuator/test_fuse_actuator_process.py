"""Tests the external actuator as a process, with a real broker and servers that answer like cluster managers."""

from __future__ import annotations

import pytest

from sparkfuse.stack.errors import StartError
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.services import PRIVATE_KEYS, ExternalActuator, external_actuator, metric_value
from sparkfuse.stack.supervisor import Supervisor
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_native_analytics.fuse_controller.keys import ACT, ensure_key_pairs, private_key_file
from sparkfuse_native_analytics.fuse_operator import orders
from tests.integration.fuse_actuator.conftest import CLUSTER, HOUR_MS, Fuse, now_ms
from tests.manager_servers import TOKEN, DatabricksServer, ManagerServer, YarnServer, running
from tests.unit.fuse_actuator.actuator_scene import policy_line
from tests.waiting import wait_for

APP_ID = "application_1795220000000_0042"
RUN_ID = 108_201


@pytest.fixture
def zombie(bus, keys):
    """Return an application that began two hours ago and ended 50 minutes ago."""
    return Fuse(bus, keys, APP_ID, now_ms() - 2 * HOUR_MS)


@pytest.fixture
def yarn(zombie):
    """Yield a ResourceManager that still runs the application."""
    interface = YarnServer()
    interface.add(APP_ID, zombie.run["app_start_ms"] - 9_000)
    with running(ManagerServer(interface)) as server:
        yield server


def test_armed_zombie_is_killed_once(zombie, yarn, start_actuator, operator):
    """An armed signal with evidence ends the application once; a probe or a restart of the actuator does not end it."""
    process = start_actuator("yarn", {"url": yarn.url})
    zombie.put_row(status="succeeded", outlived_ms=3_000_000)

    assert zombie.outcome(zombie.send(probe=True)).outcome == "would_act"
    assert zombie.outcome(zombie.send()).gate == "armed"
    assert yarn.changes() == []

    zombie.arm(operator)
    zombie.put_row(status="succeeded", outlived_ms=3_000_000)
    ended = zombie.send()

    assert zombie.outcome(ended).outcome == "ended"
    assert [receipt.outcome for receipt in zombie.receipts(ended)] == ["received", "requested", "ended"]
    assert [request.path for request in yarn.changes()] == [f"/ws/v1/cluster/apps/{APP_ID}/state"]

    process.kill()
    yarn.answer.add(APP_ID, zombie.run["app_start_ms"])
    process = start_actuator("yarn", {"url": yarn.url})
    zombie.put_row(status="succeeded", outlived_ms=3_000_000)

    assert zombie.outcome(zombie.send()).gate == "budget"
    assert len(yarn.changes()) == 1
    assert process.stop() == 0


def test_stack_runs_the_actuator_without_a_private_key(zombie, yarn, bus, keys, tmp_path):
    """The service of `sparkfuse up` answers probes; its environment contains public keys only."""
    config = tmp_path / "actuator.yaml"
    (tmp_path / "policies.jsonl").write_text(f"{policy_line()}\n")
    config.write_text(
        f"{{cluster: {CLUSTER}, mode: act, jobs: ['nightly/*'], policies: policies.jsonl, state_file: state.json, "
        f"yarn: {{url: '{yarn.url}'}}}}"
    )
    layout = Layout.from_environment(
        tmp_path / "home", Ports.free(), {"SPARKFUSE_KAFKA_BOOTSTRAP": bus.settings.kafka_bootstrap}
    )
    private = {name: str(private_key_file(keys, ACT)) for name in PRIVATE_KEYS}
    more = {"SPARKFUSE_TOPIC_PREFIX": bus.prefix, "SPARKFUSE_PUBLIC_KEYS": ensure_key_pairs(keys), **private}
    service = external_actuator(layout, ExternalActuator.parse(f"yarn={config}"), more)
    supervisor = Supervisor(layout.logs)
    try:
        supervisor.start(service)
        port = layout.ports.fuse_actuator_metrics
        wait_for(lambda: metric_value(port, "sparkfuse_fuse_actuator_ready") == 1, 60, "the actuator")
        zombie.put_row(status="succeeded", outlived_ms=3_000_000)

        assert zombie.outcome(zombie.send(probe=True)).outcome == "would_act"
        assert not PRIVATE_KEYS & service.environment.keys()
        assert yarn.changes() == []
    finally:
        supervisor.stop()


@pytest.mark.parametrize("text", ["yarn", "=actuator.yaml", "yarn=missing.yaml"])
def test_option_of_the_actuator_needs_backend_and_file(text):
    """A wrong option ends `sparkfuse up` with one sentence before anything starts."""
    with pytest.raises(StartError, match="BACKEND=FILE"):
        ExternalActuator.parse(text)


def test_actuator_is_off_without_the_option():
    """Without the option for an actuator, the stack runs no actuator."""
    assert ExternalActuator.parse("") is None


@pytest.mark.long
def test_each_reading_of_the_broker_can_prevent_the_stop(zombie, yarn, start_actuator, operator, bus):
    """A missing audit record, a hold, and a row of the running application each prevent the stop."""
    start_actuator("yarn", {"url": yarn.url})
    zombie.arm(operator)
    zombie.put_row(status="succeeded", outlived_ms=3_000_000)

    assert zombie.outcome(zombie.send(announced=False)).gate == "announced"

    held = orders.hold(orders.Selection(app=APP_ID), "release night", now_ms() + HOUR_MS)
    orders.give(bus.settings, operator, held)

    assert zombie.outcome(zombie.send()).gate == "hold"

    orders.give(bus.settings, operator, orders.release(held, "over"))
    zombie.put_row(status="succeeded", outlived_ms=0)

    assert zombie.outcome(zombie.send()).gate == "predicate"
    assert yarn.changes() == []


@pytest.mark.long
def test_databricks_run_is_found_by_the_start_of_the_application(bus, keys, start_actuator, operator, tmp_path):
    """The run id is read from the settings that the application sent at its start."""
    # The broker sets the time of a row, so the application starts when its first row is written.
    zombie = Fuse(bus, keys, "app-20261125020000-0000", now_ms(), attempt=0)
    start = LiveRow(cluster="prod", row_seq=1, **zombie.run)
    start.application_started.properties["spark.databricks.job.runId"] = str(RUN_ID)
    bus.put("live", (zombie.app_id, start.SerializeToString()))
    zombie.line = zombie.line.replace('"after_ms": 1800000', '"after_ms": 0')
    (tmp_path / "policies.jsonl").write_text(f"{zombie.line}\n")
    (tmp_path / "token").write_text(TOKEN)
    interface = DatabricksServer()
    interface.add(RUN_ID, now_ms() - 100_000)
    with running(ManagerServer(interface)) as server:
        zombie.arm(operator)
        start_actuator("databricks", {"url": server.url, "token_file": "token"})
        zombie.put_row(status="succeeded", outlived_ms=3_000_000)

        assert zombie.outcome(zombie.send()).outcome == "ended"
        assert interface.run["state"]["result_state"] == "CANCELED"
