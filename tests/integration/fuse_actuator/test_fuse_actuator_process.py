"""The external actuator as a process, with a real broker and servers that answer like cluster managers."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_native_analytics.fuse_operator import orders
from tests.integration.fuse_actuator.conftest import HOUR_MS, Fuse, now_ms
from tests.manager_servers import TOKEN, DatabricksServer, ManagerServer, YarnServer, running

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


@pytest.mark.long
def test_each_reading_of_the_broker_can_prevent_the_stop(zombie, yarn, start_actuator, operator, bus):
    """A missing audit record, a hold, and a row that shows life each prevent the stop."""
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
