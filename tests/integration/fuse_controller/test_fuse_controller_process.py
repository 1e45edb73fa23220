"""Tests the fuse controller as a process, with a real broker and Alertmanager."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.wire import from_json, to_json
from sparkfuse_native_analytics.fuse_controller.audit_chain import chain_errors
from sparkfuse_native_analytics.fuse_controller.signing import verify
from sparkfuse_native_analytics.fuse_controller.silences import SilencesUnknownError, active_silences
from sparkfuse_native_analytics.fuse_operator import orders
from tests.unit.fuse_controller.hostile_records import (
    HOSTILE_NUMBERS,
    broken,
    hostile_evidence,
    hostile_findings,
    hostile_rows,
)
from tests.unit.fuse_controller.scene import RULE, finding, healthy_row, live_row
from tests.waiting import wait_for

WAIT_SECONDS = 120
HOUR_MS = 3_600_000


def now_ms():
    return time.time_ns() // 1_000_000


def runaway(bus, app_id, completeness=1.0):
    """Write a row and a finding about a runaway stage, with the current time."""
    now = now_ms()
    bus.put("live", (app_id, live_row(app_id, now_ms=now, seq=now, completeness=completeness).SerializeToString()))
    bus.put("findings", (f"finding-{app_id}", to_json(finding(app_id, now_ms=now, completeness=completeness))))


def healthy_fleet(bus):
    """Write rows of healthy applications, so that a few runaway ones are only a small share of the cluster."""
    now = now_ms()
    rows = [(f"healthy-{n}", healthy_row(f"healthy-{n}", now_ms=now, seq=now)) for n in range(60)]
    bus.put("live", *((app_id, row.SerializeToString()) for app_id, row in rows))


def records(bus):
    """Return the audit log in order."""
    found = [from_json(AuditRecord, message.value()) for message in bus.all_of("audit")]
    return sorted(found, key=lambda record: record.sequence)


def steps(bus, app_id):
    """Return the steps of RULE about an application, in order; after a refused step, the name of the gate that refused.

    Steps of other rules are left out: for those rules, the controller sends this application probes as control samples.
    """
    return [f"{each.step} {each.gate}".strip() for each in records(bus) if (each.app_id, each.rule) == (app_id, RULE)]


def signals_of_rule(bus, key_ring):
    """Return the messages of the topic ``signals`` about RULE, each with the signal that it contains."""
    found = [(message, from_json(SignedMessage, message.value())) for message in bus.all_of("signals")]
    signals = [(message, verify(each, Signal, "signals", "act", key_ring, now_ms())) for message, each in found]
    return [(message, signal) for message, signal in signals if signal.rule == RULE]


def wait_for_steps(bus, app_id, expected):
    wait_for(lambda: steps(bus, app_id) == expected, WAIT_SECONDS, f"{expected} for {app_id}")


def silence(url, **labels):
    """Silence alerts with these labels, although no such alert exists."""
    now = datetime.now(UTC)
    matchers = [{"name": name, "value": value, "isRegex": False, "isEqual": True} for name, value in labels.items()]
    content = {"matchers": matchers, "startsAt": now.isoformat(), "endsAt": (now + timedelta(hours=1)).isoformat(),
               "createdBy": "test", "comment": "known"}  # fmt: skip
    request = urllib.request.Request(
        f"{url}/api/v2/silences", json.dumps(content).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert reply.status == 200


def dead_letter_topics(bus):
    """Return the topics from which the dead letters came."""
    return {from_json(DeadLetter, each.value()).topic for each in bus.all_of("dead-letters")}


def arm(bus, operator):
    """Arm the rule, as `sparkfuse fuse arm` does."""
    until_ms = now_ms() + HOUR_MS
    return orders.give(
        bus.settings, operator, orders.arm(orders.Selection(rule=RULE), "cancel_stage", "test", until_ms)
    )


@pytest.mark.timeout(900)
def test_silences_are_unknown_while_one_alertmanager_is_down(alertmanager_url, free_port):
    """Only the Alertmanager that is down may know a silence."""
    silence(alertmanager_url, job_key="quiet")

    assert [each.comment for each in active_silences([alertmanager_url])] == ["known"]
    with pytest.raises(SilencesUnknownError, match="does not answer"):
        active_silences([alertmanager_url, f"http://127.0.0.1:{free_port()}"])


def test_runaway_gets_one_signed_signal_despite_a_kill(bus, make_process, key_ring, operator, alertmanager_url):
    """For an armed rule, the controller sends one valid signal, and no second one after a kill and a restart.

    Incomplete evidence, a silence without an alert, and a hold prevent the signal; invalid records become dead letters.
    """
    silence(alertmanager_url, job_key="quiet", rule=RULE)
    arm(bus, operator)
    process = make_process("act")
    bus.put("live", ("junk", b"\xff\xffjunk"))
    bus.put("findings", ("junk", b"{not json"))
    bus.put("receipts", ("app-runaway", b'{"at_ms": ' + b"9" * 5000 + b"}"), ("x", b"[]"))
    runaway(bus, "app-runaway")
    wait_for_steps(bus, "app-runaway", ["sent"])
    broken = {f"{bus.prefix}.{topic}" for topic in ("live", "findings", "receipts")}
    wait_for(lambda: dead_letter_topics(bus) == broken, WAIT_SECONDS, "the dead letters")
    process.kill()
    process.start()
    runaway(bus, "app-runaway")
    runaway(bus, "app-incomplete", completeness=0.9)
    wait_for_steps(bus, "app-incomplete", ["held completeness"])
    healthy_fleet(bus)
    now = now_ms()
    bus.put("live", ("app-quiet", live_row("app-quiet", now_ms=now, seq=now).SerializeToString()))
    bus.put("findings", ("finding-app-quiet", to_json(finding("app-quiet", now_ms=now, job_key="quiet"))))
    wait_for_steps(bus, "app-quiet", ["held silence"])
    healthy_fleet(bus)
    orders.give(bus.settings, operator, orders.hold(orders.Selection(app="app-h*"), "release night", now + HOUR_MS))
    runaway(bus, "app-held")
    wait_for_steps(bus, "app-held", ["held hold"])

    ((message, signal),) = signals_of_rule(bus, key_ring)
    assert message.key() == b"app-runaway"
    assert (signal.app_id, signal.stage_id, signal.action) == ("app-runaway", 3, "cancel_stage")
    (sent,) = [record for record in records(bus) if record.step == "sent"]
    assert (signal.generation, signal.epoch) == (sent.sequence, 1)
    assert [record.epoch for record in records(bus) if record.step == "started"] == [1, 2]
    assert list(chain_errors(message.value() for message in bus.all_of("audit"))) == []
    assert process.stop() == 0


@pytest.mark.timeout(600)
def test_second_controller_fences_the_first(bus, make_process, operator, key_ring):
    """The first controller exits with code 4 at its next step and sends nothing more. The second controller acts."""
    arm(bus, operator)
    first = make_process("act")
    second = make_process("act", "second")
    runaway(bus, "app-runaway")
    wait_for(lambda: first.process.poll() is not None, WAIT_SECONDS, "the end of the first controller")
    wait_for_steps(bus, "app-runaway", ["sent"])

    assert first.process.returncode == 4
    assert "has taken over" in first.log_text()
    (sent,) = [record for record in records(bus) if record.step == "sent"]
    assert sent.epoch == 2
    assert len(signals_of_rule(bus, key_ring)) == 1
    assert second.stop() == 0


@pytest.mark.timeout(600)
def test_shadow_mode_asks_the_hook(bus, make_process, key_ring):
    """In shadow mode, every signal is a probe: for a finding, or for a healthy stage as a control sample."""
    process = make_process("shadow")
    now = now_ms()
    runaway(bus, "app-runaway")
    bus.put("live", ("app-healthy", healthy_row("app-healthy", now_ms=now, seq=now).SerializeToString()))
    wait_for_steps(bus, "app-runaway", ["would_act"])
    wait_for_steps(bus, "app-healthy", ["probed"])

    signals = [signal for _, signal in signals_of_rule(bus, key_ring)]
    assert {(signal.app_id, signal.probe) for signal in signals} == {("app-runaway", True), ("app-healthy", True)}
    assert process.stop() == 0


@pytest.mark.timeout(600)
def test_deleted_configuration_disarms(bus, make_process, operator, tmp_path):
    """After sparkfuse.yaml is deleted, an armed rule stops nothing, and the audit log states the reason."""
    arm(bus, operator)
    process = make_process("act")
    (tmp_path / "sparkfuse.yaml").unlink()
    wait_for(lambda: any(record.step == "policy_invalid" for record in records(bus)), WAIT_SECONDS, "the record")
    runaway(bus, "app-runaway")
    wait_for_steps(bus, "app-runaway", ["would_act"])

    assert process.stop() == 0


@pytest.mark.timeout(300)
def test_hostile_records_become_dead_letters(bus, make_process, operator):
    """Each record that is no message is a dead letter; no hostile record causes an act or prevents the next one."""
    arm(bus, operator)
    process = make_process("act")
    topics = ("live", "findings", "receipts", "approvals")
    for topic in topics:
        bus.put(topic, *(("app-hostile", content) for content in broken(topic).values()))
    bus.put("live", *(("app-1", row.SerializeToString()) for row in hostile_rows().values()))
    found = [*hostile_findings().values(), *(each for text in HOSTILE_NUMBERS for each in hostile_evidence(text))]
    bus.put("findings", *(("f", to_json(each)) for each in found))
    expected = Counter({f"{bus.prefix}.{topic}": len(broken(topic)) for topic in topics})
    wait_for(
        lambda: Counter(from_json(DeadLetter, each.value()).topic for each in bus.all_of("dead-letters")) == expected,
        WAIT_SECONDS,
        "a dead letter of each broken record",
    )
    runaway(bus, "app-runaway")
    wait_for_steps(bus, "app-runaway", ["sent"])

    assert [record.app_id for record in records(bus) if record.step == "sent"] == ["app-runaway"]
    assert process.stop() == 0


@pytest.mark.timeout(600)
def test_operator_commands_hold_explain_and_verify(bus, make_process, keys, operator):
    """`sparkfuse fuse` sets and releases a hold, explains an application, and lists and verifies the audit log."""
    arm(bus, operator)
    process = make_process("act")

    def fuse(*arguments, code=0, **changes):
        done = subprocess.run(
            [sys.executable, "-m", "sparkfuse.main", "fuse", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**process.environment, **changes},
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    given = fuse("stop-everything", "--reason", "drill", "--actor", "dana")
    assert given.startswith("hold stop-everything-")
    assert ": in force" in given
    control_id = given.removeprefix("hold ").partition(":")[0]
    runaway(bus, "app-runaway")
    wait_for_steps(bus, "app-runaway", ["held hold"])
    assert "held by dana: drill" in fuse("why", "app-runaway")
    status = json.loads(fuse("status", "--json"))
    assert {(each["kind"], each["actor"]) for each in status["controls"]} == {("hold", "dana"), ("arm", operator.name)}
    assert status["steps_of_last_hour"].items() >= {"armed": 1, "held": 1, "hold_set": 1, "started": 1}.items()
    assert "no hold 'nothing' is in force" in fuse("release", "nothing", "--reason", "x", code=2)
    assert "released" in fuse("release", control_id, "--reason", "drill is over")
    runaway(bus, "app-runaway")
    wait_for_steps(bus, "app-runaway", ["held hold", "sent"])
    assert f"{len(records(bus)):,} records, the chain is intact" in fuse("audit", "--verify")
    assert "0 of 300 healthy runs were probed" in fuse(
        "arm", "--rule", RULE, "--action", "cancel_stage", "--reason", "x", code=2, SPARKFUSE_CONFIG=""
    ).replace("\n", " ")
    rule = ("arm", "--rule", RULE, "--action", "cancel_stage", "--reason", "x")
    no_store = {"SPARKFUSE_CLICKHOUSE_URL": "http://127.0.0.1:1/sparkfuse"}
    assert f"{RULE} cannot be armed without a replay" in fuse(*rule, code=3, **no_store)
    assert ": in force" in fuse(*rule, "--without-replay", "the store is new", **no_store)
    wait_for(
        lambda: (
            [each.observed["replay"] for each in records(bus) if "replay" in each.observed]
            == ["none: the store is new"]
        ),
        WAIT_SECONDS,
        "the record of the arming",
    )
    assert process.stop() == 0


@pytest.mark.parametrize(
    ("environment", "code", "message"),
    [
        ({"SPARKFUSE_FUSE_MODE": "active"}, 2, "SPARKFUSE_FUSE_MODE='active' is invalid"),
        ({"SPARKFUSE_FUSE_MODE": "act"}, 2, "SPARKFUSE_SIGNING_KEY names no private key"),
        ({"SPARKFUSE_PUBLIC_KEYS": "act:key.pem"}, 2, "must be purpose:YYYY-MM-DD:key"),
        ({"SPARKFUSE_KAFKA_BOOTSTRAP": "127.0.0.1:1"}, 3, "127.0.0.1:1"),
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
