"""Tests that no record of any topic ends the fuse controller, makes it act, or keeps it from the next real act."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.fuse_controller import service as service_module
from sparkfuse_native_analytics.fuse_controller.controller_metrics import ControllerMetrics
from sparkfuse_native_analytics.fuse_controller.controller_policy import PolicyReloader
from sparkfuse_native_analytics.fuse_controller.safeguards import BigPicture
from sparkfuse_native_analytics.fuse_controller.silences import Matcher, Silence
from tests.unit.fuse_controller.hostile_records import (
    HOSTILE_NUMBERS,
    broken,
    hostile_audit_records,
    hostile_controls,
    hostile_evidence,
    hostile_findings,
    hostile_rows,
)
from tests.unit.fuse_controller.scene import NOW_MS, Keys, application_row, finding, healthy_row, hold, live_row

LOG_APPEND_TIME = 2


@dataclass
class StoredMessage:
    """A record as the Kafka client returns it."""

    content: bytes | None
    record_key: bytes = b"c-1"

    def key(self):
        return self.record_key

    def value(self):
        return self.content

    def topic(self):
        return "sparkfuse.test"

    def partition(self):
        return 0

    def offset(self):
        return 0

    def timestamp(self):
        return LOG_APPEND_TIME, NOW_MS


@dataclass
class Topics:
    """The inputs and outputs of the service in memory; the integration tests use a broker."""

    world: Any
    letters: list[Any] = field(default_factory=list)

    def write(self, audit, signals):
        return self.world.write(audit, signals)

    def write_dead_letter(self, letter):
        self.letters.append(letter)


@pytest.fixture
def topics(world):
    return Topics(world)


@pytest.fixture
def service(world, topics, make_controller, monkeypatch):
    """Return the real service around a controller in mode act, without Kafka."""
    monkeypatch.setattr(service_module, "Inputs", lambda *_: topics)
    monkeypatch.setattr(service_module, "Outputs", lambda *_: topics)
    controller = make_controller("act")
    found = service_module.FuseControllerService(
        Settings.from_environment({}), controller, None, ControllerMetrics(CollectorRegistry())
    )
    monkeypatch.setattr(found, "now_ms", lambda: world.time_ms)
    return found


def feed(service, topic, *contents):
    service._process({topic: [StoredMessage(each) for each in contents]})


def acts_on_a_runaway(service, world, controller):
    """Return whether the controller still acts on a runaway stage."""
    before = len(world.acts)
    feed(service, "live", live_row("app-last", seq=2).SerializeToString())
    feed(service, "findings", to_json(finding("app-last")))
    controller.evaluate(world)
    return [signal.app_id for signal in world.acts[before:]] == ["app-last"]


BROKEN = [
    (topic, name)
    for topic in ("live", "findings", "receipts", "audit", "approvals", "controls")
    for name in broken(topic)
]


@pytest.mark.parametrize(("topic", "name"), BROKEN, ids=[f"{topic}: {name}" for topic, name in BROKEN])
def test_broken_record_is_a_dead_letter(service, world, topics, topic, name):
    """A record that is no message of its topic is a dead letter; only a broken control keeps the fuse from acting."""
    feed(service, topic, broken(topic)[name])

    assert len(topics.letters) == 1
    assert topics.letters[0].reason
    assert acts_on_a_runaway(service, world, service._controller) is (topic != "controls")


@pytest.mark.parametrize("name", hostile_findings())
def test_hostile_finding_causes_no_act(service, world, name):
    """A finding with impossible values causes no act on healthy work, and the next act is possible."""
    feed(service, "live", *(healthy_row(f"app-{n}").SerializeToString() for n in range(3)))
    feed(service, "findings", to_json(hostile_findings()[name]))
    service._controller.evaluate(world)

    assert world.acts == []
    assert acts_on_a_runaway(service, world, service._controller)


@pytest.mark.parametrize("text", HOSTILE_NUMBERS, ids=range(len(HOSTILE_NUMBERS)))
def test_hostile_evidence_of_every_rule_causes_no_act(service, world, text):
    """Evidence that is no number, or no number of 64 bits, is unknown for every rule with a fuse."""
    feed(service, "live", healthy_row("app-1").SerializeToString())
    feed(service, "live", application_row("app-1", "running").SerializeToString())
    feed(service, "findings", *(to_json(each) for each in hostile_evidence(text)))
    service._controller.evaluate(world)

    assert world.acts == []
    assert acts_on_a_runaway(service, world, service._controller)


@pytest.mark.parametrize("name", hostile_rows())
def test_hostile_row_causes_no_act(service, world, name):
    """A row with impossible values causes no act without a finding, and the next act is possible."""
    feed(service, "live", hostile_rows()[name].SerializeToString())
    service._controller.evaluate(world)
    service._controller.probe(world)

    assert world.acts == []
    assert acts_on_a_runaway(service, world, service._controller)


@pytest.mark.parametrize("name", hostile_controls(Keys()))
def test_hostile_control_holds_everything(service, world, topics, name):
    """A control that cannot be verified is a dead letter, and nothing is stopped until a person replaces it."""
    feed(service, "controls", hostile_controls(world.keys)[name])

    assert len(topics.letters) == 1
    assert not acts_on_a_runaway(service, world, service._controller)
    feed(service, "controls", world.keys.control(hold("c-1", released=True, issued_ms=NOW_MS)))
    assert acts_on_a_runaway(service, world, service._controller)


@pytest.mark.parametrize("name", hostile_audit_records())
def test_hostile_audit_record_does_not_end_the_next_controller(world, make_controller, name):
    """A controller can begin an epoch and act after an audit record with impossible numbers."""
    record = hostile_audit_records()[name]
    controller = make_controller("act", start=False)
    controller.audit.read(to_json(record), record, NOW_MS)
    controller.start(world)
    controller.findings.put(finding(), NOW_MS)
    controller.view.add([live_row().SerializeToString()])
    controller.evaluate(world)

    assert len(world.acts) == 1


CONFIGURATIONS = {
    "torn": b"fuse: {budget: {job_per_hour: ",
    "not UTF-8": b"fuse: \xff\xfe",
    "a NUL": b"fuse: {arming: {probes: 1}}\x00",
    "deep": b"fuse: " + b"[" * 10_000,
    "5,000 digits": b"fuse: {budget: {job_per_hour: " + b"9" * 5_000 + b"}}",
    "not a number": b"fuse: {big_picture: {share: .nan}}",
    "infinite": b"fuse: {budget: {global_per_hour: .inf}}",
    "negative": b"fuse: {arming: {probes: -1}}",
    "a duplicate key": b"fuse: {arming: {probes: 300}, arming: {probes: 0}}",
    "a list of rules": b"rules: [stage_runaway_spill]",
    "an object that YAML would create": b"fuse: !!python/object/apply:os.system [exit]",
    "an impossible date": b"holds: [{reason: x, until: 2026-13-40}]",
    "a list as a key": b"? [a]\n: 1\n",
    "an unknown mode": b"rules: {stage_runaway_spill: {fuse: {mode: kill}}}",
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_hostile_configuration_is_shadow(world, make_controller, show, tmp_path, name):
    """If sparkfuse.yaml is not valid, every rule is in shadow mode, and the error is known."""
    path = tmp_path / "sparkfuse.yaml"
    path.write_bytes(b"rules: {}")
    controller = make_controller("act", configuration=path)
    environment = {"SPARKFUSE_CONFIG": str(path), "SPARKFUSE_FUSE_MODE": "act", "SPARKFUSE_SIGNING_KEY": str(path)}
    reloader = PolicyReloader(Settings.from_environment(environment))
    path.write_bytes(CONFIGURATIONS[name])
    policy = reloader.reload()
    controller.use(policy)
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert policy.error
    assert world.acts == []
    assert world.steps == ["would_act"]


def test_finding_from_the_future_does_not_hide_later_ones(world, make_controller, show):
    """A finding whose time is ten years ahead causes no act, and the next version of the finding does."""
    controller = make_controller("act")
    show(controller, live_row(), finding(now_ms=NOW_MS + 10 * 365 * 24 * 3_600_000))
    controller.evaluate(world)
    assert world.acts == []
    show(controller, finding())
    controller.evaluate(world)

    assert len(world.acts) == 1


def test_rows_from_the_future_do_not_count_as_running(world, make_controller, show):
    """Applications whose rows are from the future do not make the affected applications a small share."""
    controller = make_controller("act")
    show(controller, *(healthy_row(f"ghost-{n}", NOW_MS + 10**12) for n in range(100)))
    show(controller, *(m for n in range(3) for m in (live_row(f"app-{n}"), finding(f"app-{n}", job_key=f"j-{n}"))))
    controller.evaluate(world)

    assert world.acts == []
    assert world.steps == ["big_picture"]


@pytest.mark.parametrize(("pattern", "held"), [("ord[[:alpha:]]+", True), ("o{,9}rders", False), ("(?!x)", None)])
def test_silence_has_the_syntax_of_alertmanager(world, make_controller, show, pattern, held):
    """Expressions of silences are those of RE2; an expression that RE2 refuses makes the silences unknown."""
    controller = make_controller("act")
    world.active_silences.append(Silence("s-1", "", (Matcher("job_key", pattern, True, True),)))
    show(controller, live_row(), finding())
    controller.evaluate(world)

    assert world.steps == (["sent"] if held is False else ["held"])
    assert ("cannot be evaluated" in world.records[0].reason) is (held is None)


def test_huge_names_do_not_block_other_applications(world, make_controller, show, monkeypatch):
    """A stage name of 600 kB is shortened in audit log and signal, so the other application is decided too."""
    controller = make_controller("act", big_picture=BigPicture(1.0, 99))
    sizes: list[int] = []
    write = world.write

    def limited(audit, signals):
        sizes.extend(len(content) for _, content in audit)
        sizes.extend(len(to_json(signed)) for _, signed in signals)
        return write(audit, signals)

    monkeypatch.setattr(world, "write", limited)
    huge = '"' * 600_000
    show(controller, live_row("app-0", name=huge), finding("app-0", job_key="other", stage_name=huge))
    show(controller, live_row("app-1"), finding("app-1"))
    controller.evaluate(world)

    assert [signal.app_id for signal in world.acts] == ["app-0", "app-1"]
    assert max(sizes) < 50_000


@pytest.mark.parametrize("field", ["job_key", "tenant", "team", "cluster", "finding_id"])
def test_finding_with_a_huge_name_is_a_dead_letter(service, topics, field):
    """A name that a signal would repeat may have at most 1,000 characters."""
    found = finding()
    setattr(found, field, "x" * 1_001)
    feed(service, "findings", to_json(found))

    assert [letter.reason for letter in topics.letters] == ["a name has more than 1000 characters"]
