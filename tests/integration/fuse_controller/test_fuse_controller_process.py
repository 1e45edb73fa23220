"""The fuse controller with real Kafka and a real Alertmanager: rows and findings in, signals and audit out."""

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
    """A stage that runs away, as windows and detection tell it now."""
    now = now_ms()
    bus.put("live", (app_id, live_row(app_id, now_ms=now, seq=now, completeness=completeness).SerializeToString()))
    bus.put("findings", (f"finding-{app_id}", to_json(finding(app_id, now_ms=now, completeness=completeness))))


def steps(bus, app_id):
    actions = [from_json(Action, message.value()) for message in bus.all_of("actions")]
    return [action.outcome for action in sorted(actions, key=lambda action: action.at_ms) if action.app_id == app_id]


def wait_for_steps(bus, app_id, expected):
    wait_for(lambda: steps(bus, app_id) == expected, WAIT_SECONDS, f"{expected} for {app_id}")


def silence(url, finding_id):
    """An alert of the finding that somebody has silenced."""
    now = datetime.now(UTC)
    matcher = {"name": "finding_id", "value": finding_id, "isRegex": False, "isEqual": True}
    bounds = {"startsAt": now.isoformat(), "endsAt": (now + timedelta(hours=1)).isoformat()}
    post(f"{url}/api/v2/silences", {"matchers": [matcher], **bounds, "createdBy": "test", "comment": "known"})
    post(f"{url}/api/v2/alerts", [{"labels": {"alertname": "SparkfuseX", "finding_id": finding_id}, **bounds}])


def post(url, content):
    request = urllib.request.Request(url, json.dumps(content).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert reply.status == 200


def set_aside(bus):
    """The topics that dead letters came from."""
    return {from_json(DeadLetter, each.value()).topic for each in bus.all_of("dead-letters")}


@pytest.mark.timeout(600)
def test_a_runaway_gets_one_signed_signal_also_over_a_kill(bus, make_part, keys, alertmanager_url):
    """In mode act: step, signal that the public key verifies, step; a killed controller does not send it again.

    An application whose evidence is incomplete gets none, nor does one whose alert is silenced; junk is set aside.
    """
    silence(alertmanager_url, "finding-app-silenced")
    part = make_part("act")
    bus.put("live", ("junk", b"\xff\xffjunk"))
    bus.put("findings", ("junk", b"{not json"))
    runaway(bus, "app-runaway")
    wait_for_steps(bus, "app-runaway", ["would_act", "sent"])
    both = {f"{bus.prefix}.live", f"{bus.prefix}.findings"}
    wait_for(lambda: set_aside(bus) == both, WAIT_SECONDS, "the junk to be set aside")
    part.kill()
    part.start()
    runaway(bus, "app-runaway")
    runaway(bus, "app-incomplete", completeness=0.9)
    wait_for_steps(bus, "app-incomplete", ["held"])
    runaway(bus, "app-silenced")
    wait_for_steps(bus, "app-silenced", ["held"])

    (message,) = bus.all_of("signals")
    public = load_public_key(keys[1])
    signal = verify(from_json(SignedSignal, message.value()), {key_id(public): public})
    assert message.key() == b"app-runaway"
    assert (signal.app_id, signal.stage_id, signal.action) == ("app-runaway", 3, "cancel_stage")
    assert steps(bus, "app-runaway") == ["would_act", "sent"]
    assert set_aside(bus) == both
    assert part.stop() == 0


def test_the_shadow_sends_nothing_but_says_what_it_would_do(bus, make_part):
    """The default mode: the audit has the step, the signals topic stays empty."""
    part = make_part("shadow")
    runaway(bus, "app-runaway")
    wait_for_steps(bus, "app-runaway", ["would_act"])

    assert bus.all_of("signals") == []
    assert part.stop() == 0


@pytest.mark.parametrize(
    ("environment", "code", "said"),
    [
        ({"SPARKFUSE_FUSE_MODE": "active"}, 2, "SPARKFUSE_FUSE_MODE='active' cannot be used"),
        ({"SPARKFUSE_FUSE_MODE": "act"}, 2, "SPARKFUSE_SIGNING_KEY names no private key"),
        ({"SPARKFUSE_KAFKA_BOOTSTRAP": "127.0.0.1:1"}, 3, "no Kafka broker answers at 127.0.0.1:1"),
    ],
)
def test_a_wrong_start_ends_with_one_sentence(environment, code, said, tmp_path, monkeypatch):
    """Exit code and sentence tell what is wrong, without a trace."""
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
    assert said in last
