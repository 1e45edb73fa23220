"""Tests the ControlBook with the cases of contracts/shared/control_rules.yaml, which also test the hook."""

from __future__ import annotations

import json
from datetime import date

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.generated.control_rules import KINDS, TOPIC
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.fuse_controller.controls import ControlBook, Subject
from sparkfuse_native_analytics.fuse_controller.keys import ACT, APPROVE, KeyRing, TrustedKey, key_id
from sparkfuse_native_analytics.fuse_controller.signing import sign_text

CASES = json.loads(asset("sparkfuse_contracts", "generated", "shared", "control_rules.json").read_text())["cases"]
NOW_MS = 1_800_000_000_000  # 2027-01-15
SOON, LATE = date(2027, 1, 15), date(2099, 12, 31)
SUBJECT = Subject("prod", "spill", "nightly/load", "app-1")
SIGNERS = {
    name: (purpose, last_day, generate_private_key(SECP256R1()))
    for name, purpose, last_day in (
        ("approve", APPROVE, SOON), ("security", APPROVE, LATE), ("act", ACT, SOON), ("stranger", APPROVE, LATE)
    )
}  # fmt: skip
IDS = {name: key_id(private.public_key()) for name, (_, _, private) in SIGNERS.items()}
TRUSTED = KeyRing(
    TrustedKey(IDS[name], purpose, last_day, private.public_key())
    for name, (purpose, last_day, private) in SIGNERS.items()
    if name != "stranger"
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_controls_in_force_are_those_of_the_shared_case(case):
    """After the records of a case, the holds, armings and revoked keys equal those in the case."""
    book = ControlBook(TRUSTED)
    for record in case["records"]:
        appended = record.get("appended_ms", 0)
        book.put(record["key"], content(record), None if appended is None else NOW_MS + appended)
    at_ms = NOW_MS + case.get("at_ms", 0)
    held = "unverified" if book.unverified() else "hold" if book.hold(SUBJECT, at_ms) else "no"

    assert held == case["held"]
    assert (book.hold(SUBJECT, at_ms) is None) == (held == "no")
    assert (book.arming(SUBJECT, "cancel_stage", at_ms) is not None) == case["armed"]
    assert book.revoked_keys == {IDS[name] for name in case["revoked"]}


def test_every_kind_has_a_case():
    """The cases contain each kind of control."""
    kinds = {record.get("control", {}).get("kind") for case in CASES for record in case["records"]}

    assert kinds >= set(KINDS)


def content(record) -> bytes | None:
    """Return the content of a record: the signed control, the text, or None."""
    if "control" not in record:
        return None if record.get("deleted") else record["content"].encode()
    control = {"control_id": record["key"], "issued_ms": 0, **record["control"]}
    control |= {name: NOW_MS + control[name] for name in ("issued_ms", "until_ms") if name in control}
    control |= {"key_id": IDS[control["key_id"]]} if "key_id" in control else {}
    signer = record.get("signer", "approve")
    purpose, _, private = SIGNERS[signer]
    signed: SignedMessage = sign_text(json.dumps(control), TOPIC, purpose, private)
    signed.key_id = IDS[record.get("signed_as", signer)]
    return to_json(signed)
