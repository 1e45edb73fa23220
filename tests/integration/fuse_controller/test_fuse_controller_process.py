"""The fuse controller with a real broker and Alertmanager: reads rows and findings, writes signals and actions."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest

from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.signal_pb2 import SignedSignal
from sparkfuse_contracts.wire import from_json, to_json
from sparkfuse_native_analytics.fuse_controller.keys import key_id, load_public_key
from sparkfuse_native_analytics.fuse_controller.signing import verify
from tests.unit.fuse_controller.scene import finding, live_row
from tests.waiting import wait_for

WAIT_SECONDS = 90


def now_ms():
    return time.time_ns() // 1_000_000


def runaway(bus, app_id, completeness=1.0):
    """Write a row and a finding of a stage that runs away now."""
    now = now_ms()
    bus.put("live", (app_id, live_row(app_id, now_ms=now, seq=now, completeness=completeness).SerializeToString()))
    bus.put("findings", (f"finding-{app_id}", to_json(finding(app_id, now_ms=now, completeness=completeness))))


def outcomes(bus, app_id):
    actions = [from_json(Action, message.value()) for message in bus.all_of("actions")]
    return [action.outcome for action in sorted(actions, key=lambda action: action.at_ms) if action.app_id == app_id]


def wait_for_outcomes(bus, app_id, expected):
    wait_for(lambda: outcomes(bus, app_id) == expected, WAIT_SECONDS, f"{expected} for {app_id}")


def silence(url, finding_id):
    """Create a silenced alert of the finding."""
    now = datetime.now(UTC)
    matcher = {"name": "finding_id", "value": finding_id, "isRegex": False, "isEqual": True}
    bounds = {"startsAt": now.isoformat(), "endsAt": (now + timedelta(hours=1)).isoformat()}
    post(f"{url}/api/v2/silences", {"matchers": [matcher], **bounds, "createdBy": "test", "comment": "known"})
    post(f"{url}/api/v2/alerts", [{"labels": {"alertname": "SparkfuseX", "finding_id": finding_id}, **bounds}])


def post(url, content):
    request = urllib.request.Request(url, json.dumps(content).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert reply.status == 200


def dead_letter_topics(bus):
    """Return the topics that dead letters came from."""
    return {from_json(DeadLetter, each.value()).topic for each in bus.all_of("dead-letters")}


@pytest.mark.timeout(600)
def test_runaway_gets_one_signed_signal_despite_a_kill(bus, make_process, keys, alertmanager_url):
    """In mode act, a runaway gets one signal that the public key verifies; a restart after a kill sends no second one.

    Incomplete evidence and a silenced alert prevent the signal; invalid records become dead letters.
    """
    silence(alertmanager_url, "finding-app-silenced")
    process = make_process("act")
    bus.put("live", ("junk", b"\xff\xffjunk"))
    bus.put("findings", ("junk", b"{not json"))
    runaway(bus, "app-runaway")
    wait_for_outcomes(bus, "app-runaway", ["would_act", "sent"])
    both = {f"{bus.prefix}.live", f"{bus.prefix}.findings"}
    wait_for(lambda: dead_letter_topics(bus) == both, WAIT_SECONDS, "the dead letters")
    process.kill()
    process.start()
    runaway(bus, "app-runaway")
    runaway(bus, "app-incomplete", completeness=0.9)
    wait_for_outcomes(bus, "app-incomplete", ["held"])
    runaway(bus, "app-silenced")
    wait_for_outcomes(bus, "app-silenced", ["held"])

    (message,) = bus.all_of("signals")
    public = load_public_key(keys[1])
    signal = verify(from_json(SignedSignal, message.value()), {key_id(public): public})
    assert message.key() == b"app-runaway"
    assert (signal.app_id, signal.stage_id, signal.action) == ("app-runaway", 3, "cancel_stage")
    assert outcomes(bus, "app-runaway") == ["would_act", "sent"]
    assert dead_letter_topics(bus) == both
    assert process.stop() == 0


def test_shadow_mode_records_but_sends_nothing(bus, make_process):
    """In shadow mode the audit log has the action, and no signal is sent."""
    process = make_process("shadow")
    runaway(bus, "app-runaway")
    wait_for_outcomes(bus, "app-runaway", ["would_act"])

    assert bus.all_of("signals") == []
    assert process.stop() == 0


@pytest.mark.parametrize(
    ("environment", "code", "message"),
    [
        ({"SPARKFUSE_FUSE_MODE": "active"}, 2, "SPARKFUSE_FUSE_MODE='active' is invalid"),
        ({"SPARKFUSE_FUSE_MODE": "act"}, 2, "SPARKFUSE_SIGNING_KEY names no private key"),
        ({"SPARKFUSE_KAFKA_BOOTSTRAP": "127.0.0.1:1"}, 3, "no Kafka broker answers at 127.0.0.1:1"),
    ],
)
def test_invalid_start_prints_one_sentence(environment, code, message, tmp_path, monkeypatch):
    """An invalid setting ends the process with an exit code and one sentence, without a traceback."""
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    ended = subprocess.run(
        [sys.executable, "-m", "sparkfuse_native_analytics.fuse_controller"],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )

    last = ended.stderr.strip().splitlines()[-1]
    assert (ended.returncode, "Traceback" in ended.stderr) == (code, False)
    assert last.startswith("sparkfuse fuse controller: ")
    assert message in last
