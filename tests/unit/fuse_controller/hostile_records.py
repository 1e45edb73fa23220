"""Records that a hostile or broken writer could append to the topics that the fuse controller reads."""

from __future__ import annotations

import json

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_contracts.generated.approval_pb2 import Approval
from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.live_pb2 import LiveRow, StageLive
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.fuse_controller.keys import ACT, APPROVE, SWITCH
from sparkfuse_native_analytics.fuse_controller.signing import sign
from sparkfuse_rules.catalog import load_catalog
from tests.unit.fuse_controller.scene import NOW_MS, RULE, START_MS, Keys, finding, live_row

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
DEEP = 100_000
# Texts that are no message of any topic with JSON.
BROKEN_JSON = {
    "empty": b"",
    "not UTF-8": b"\xff\xfe\x00",
    "torn": b'{"finding_id": "f',
    "a list": b"[]",
    "null": b"null",
    "a text": b'"x"',
    "a number": b"7",
    "two objects": b"{}{}",
    "deep": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep lists": b"[" * DEEP,
}
# Valid JSON whose fields have a wrong type or an impossible value. Each is tried with the time field of its topic.
BROKEN_NUMBERS = {
    "5,000 digits": b"9" * 5_000,
    "too large": b"1e400",
    "beyond int64": b"9223372036854775808",
    "a fraction": b"1.5",
    "a text": b'"tomorrow"',
    "a list": b"[1]",
    "an object": b"{}",
    "true": b"true",
    "not a number": b"NaN",
}
TIME_FIELDS = {"findings": "updated_ms", "receipts": "at_ms", "audit": "at_ms"}
TEXT_FIELDS = {"findings": "rule", "receipts": "app_id", "audit": "app_id"}


def broken(topic: str) -> dict[str, bytes]:
    """Return records that must become dead letters, by description."""
    if topic == "live":
        row = live_row().SerializeToString()
        return {
            "empty JSON": b"{}",
            "not Protobuf": b"\xff\xff\xff",
            "torn": row[:-3],
            "a huge length": b"\x0a\xff\xff\xff\xff\x0f",
        }
    found = dict(BROKEN_JSON)
    if field := TIME_FIELDS.get(topic):
        found |= {f"{field}: {name}": b'{"%s": %s}' % (field.encode(), text) for name, text in BROKEN_NUMBERS.items()}
        text = TEXT_FIELDS[topic].encode()
        found["a text is an object"] = b'{"%s": {"a": 1}}' % text
        found["a lone surrogate"] = b'{"%s": "\\ud800"}' % text
    return found


def hostile_findings() -> dict[str, Finding]:
    """Return valid messages without a target, or with values that no writer of ours produces."""
    huge = finding("app-huge")
    huge.runs[0].stage_name = "x" * 500_000
    many = finding("app-many")
    many.runs.extend(
        FindingRun(run_key=f"r{n}", app_id=f"app-{n}", state="firing", severity="critical") for n in range(5_000)
    )
    return {
        "no field": Finding(),
        "no run": Finding(finding_id="f-1", rule=RULE, state="firing", updated_ms=NOW_MS),
        "a run without application": finding(app_id=""),
        "ancient": finding(now_ms=SMALLEST),
        "in the future": finding(now_ms=LARGEST),
        "completeness is not a number": finding(completeness=float("nan")),
        "infinite completeness": finding(completeness=float("inf")),
        "negative completeness": finding(completeness=-1.0),
        "unknown severity": finding(severity="CRITICAL"),
        "another rule": Finding(
            finding_id="f-2",
            rule="no_such_rule",
            state="firing",
            updated_ms=NOW_MS,
            runs=[FindingRun(app_id="a", state="firing")],
        ),
        "negative stage": finding(stage_id=-1, stage_attempt=-1),
        "largest start": finding(app_start_ms=LARGEST),
        "control characters": finding(job_key="\x00\x1b[2J\n'; DROP TABLE live; --"),
        "evidence that is no number": finding(evidence={"elapsed_ms": "1e999", "p95_ms": "x", "status": "running"}),
        "a huge name": huge,
        "many runs": many,
    }


HOSTILE_NUMBERS = ("9" * 30, "-" + "9" * 30, "9" * 5_000, "1e999", "nan", "", "\x00", "true")


def hostile_evidence(text: str) -> list[Finding]:
    """Return a finding of every rule with a fuse, with ``text`` in each column that detection adds."""
    added = {name for columns in VIEWS.values() for name, column in columns.items() if "detect" in column.tags}
    found = []
    for rule in load_catalog().values():
        if rule.fuse is not None:
            each = finding("app-1", query_id=1, task_id=1, evidence=dict.fromkeys(added, text))
            each.finding_id, each.rule = rule.id, rule.id
            found.append(each)
    return found


def hostile_rows() -> dict[str, LiveRow]:
    """Return valid rows of the topic live that must not make a healthy application look affected, or hide one."""
    return {
        "no field": LiveRow(),
        "only a view": LiveRow(view="stage_live"),
        "a view without its columns": LiveRow(view="stage_live", app_id="app-1", window_end_ms=NOW_MS),
        "an unknown view": LiveRow(view="x" * 1_000, app_id="app-1", window_end_ms=NOW_MS),
        "columns of another view": LiveRow(
            view="app_live", app_id="app-1", window_end_ms=NOW_MS, stage=StageLive(stage_id=3)
        ),
        "the largest time": live_row(now_ms=LARGEST, seq=LARGEST),
        "the smallest time": live_row(now_ms=SMALLEST, seq=SMALLEST),
        "completeness is not a number": live_row(completeness=float("nan")),
        "infinite completeness": live_row(completeness=float("inf")),
        "the largest counters": live_row(
            elapsed_ms=LARGEST, disk_spilled_bytes=LARGEST, running_spilled_since_progress_max_bytes=LARGEST,
            running_since_progress_min_ms=LARGEST, running_since_spill_ms=SMALLEST,
        ),
        "negative ids": live_row(stage_id=-1, stage_attempt=-1),
        "a quoted cluster": live_row(cluster="'; DROP TABLE latest; --\x00"),
        "a huge name": live_row(name="x" * 500_000),
    }  # fmt: skip


def hostile_controls(keys: Keys) -> dict[str, bytes]:
    """Return records of the topic controls under the key ``c-1`` that give no order."""
    hold = Control(control_id="c-1", kind="hold", issued_ms=NOW_MS)
    private = keys.private
    good = json.loads(keys.control(hold))
    return {
        "signed for another purpose": to_json(sign(hold, "controls", ACT, private[ACT])),
        "signed with another key": to_json(sign(hold, "controls", APPROVE, private[SWITCH])),
        "signed for another topic": to_json(sign(hold, "approvals", APPROVE, private[APPROVE])),
        "another payload": json.dumps({**good, "payload": good["payload"].replace("hold", "arm")}).encode(),
        "no signature": json.dumps({**good, "signature": ""}).encode(),
        "a signature that is not base64": json.dumps({**good, "signature": "%%%"}).encode(),
        "an unknown key": json.dumps({**good, "key_id": "nobody"}).encode(),
        "another id": keys.control(Control(control_id="c-2", kind="hold")),
        "an unknown kind": keys.control(Control(control_id="c-1", kind="stop")),
        "a signed approval": to_json(sign(Approval(digest="d"), "controls", APPROVE, private[APPROVE])),
    }


def hostile_audit_records() -> dict[str, AuditRecord]:
    """Return valid records of the topic audit with values that the controller does not write."""
    return {
        "the largest sequence": AuditRecord(sequence=LARGEST, epoch=1, step="sent"),
        "the largest epoch": AuditRecord(sequence=1, epoch=LARGEST, step="started"),
        "a negative sequence": AuditRecord(sequence=-5, epoch=1, step="sent"),
        "a skipped sequence": AuditRecord(
            sequence=900, epoch=1, step="sent", mode="act", action="cancel_stage", signal_id="s"
        ),
        "a control without its time": AuditRecord(sequence=1, control_id="c-1", step="hold_set"),
        "an unknown step": AuditRecord(sequence=1, step="x" * 1_000, signal_id="s-1", app_start_ms=START_MS),
    }
