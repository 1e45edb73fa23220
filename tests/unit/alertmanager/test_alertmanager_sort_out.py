from sparkfuse_alertmanager.inbox import Record
from sparkfuse_alertmanager.sender import sort_out
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.wire import to_json

NOW_MS = 1_795_226_470_000


def record(offset: int, **fields) -> Record:
    base = {
        "finding_id": "f1",
        "rule": "stage_skew",
        "severity": "warning",
        "state": "firing",
        "job_key": "orders",
        "updated_ms": NOW_MS,
        "evidence_ms": NOW_MS - 2000,
    }
    return Record(to_json(Finding(**(base | fields))), 0, offset)


def test_the_last_word_on_a_finding_counts():
    """A backlog of one finding is one alert, the newest, so that catching up does not page about the past."""
    batch = sort_out([record(0), record(1, severity="critical"), record(2, finding_id="f2")], NOW_MS, "")

    assert [(alert.finding_id, alert.labels["severity"]) for alert in batch.alerts] == [
        ("f1", "critical"),
        ("f2", "warning"),
    ]
    assert (batch.replaced, batch.expired) == (1, 0)


def test_old_findings_are_passed_over():
    """Records that Alertmanager would have ended by now are counted, not told; an old one never outlives a newer."""
    batch = sort_out(
        [record(0, updated_ms=NOW_MS - 300_000), record(1, finding_id="f2", updated_ms=NOW_MS - 300_000), record(2)],
        NOW_MS,
        "",
    )

    assert [alert.finding_id for alert in batch.alerts] == ["f1"]
    assert (batch.replaced, batch.expired) == (1, 1)


def test_junk_is_set_aside_with_its_reason():
    """Bytes, JSON of something else and findings without identity become dead letters; the others pass."""
    junk = [
        Record(b"", 0, 0),
        Record(b"\xff\xfe", 0, 1),
        Record(b"[]", 0, 2),
        Record(b'{"finding_id": 7}', 0, 3),
        Record(b'{"severity": "\\ud800"}', 0, 4),
        Record(b'{"updated_ms": 1e400}', 0, 5),
        Record(b'{"runs": [' + b"[" * 5000, 0, 6),
        record(7, state="pending"),
    ]
    batch = sort_out([*junk, record(8)], NOW_MS, "")

    assert [each.offset for each, _reason in batch.refused] == list(range(8))
    assert all(reason for _each, reason in batch.refused)
    assert [alert.finding_id for alert in batch.alerts] == ["f1"]


def test_only_firing_evidence_measures_delay():
    """The delay is from the evidence's window to Alertmanager; what resolved minutes later would spoil it."""
    batch = sort_out([record(0), record(1, finding_id="f2", state="resolved", resolved_ms=NOW_MS)], NOW_MS, "")

    assert batch.evidence_ms == (NOW_MS - 2000,)
