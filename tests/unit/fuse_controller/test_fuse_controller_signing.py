from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.wire import from_json, to_json
from sparkfuse_native_analytics.fuse_controller.keys import (
    ACT,
    PURPOSES,
    SWITCH,
    KeyUnusableError,
    ensure_key_pairs,
    load_private_key,
    private_key_file,
    public_key_file,
    read_key_ring,
)
from sparkfuse_native_analytics.fuse_controller.signing import SignatureRefusedError, sign, target_digest, verify

NOW_MS = 1_795_226_400_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module")
def ring(folder):
    return read_key_ring(ensure_key_pairs(folder))


@pytest.fixture(scope="module")
def private(folder, ring):
    return load_private_key(private_key_file(folder, ACT))


def verified(signed, ring, topic="signals", purpose=ACT, now_ms=NOW_MS, revoked=()):
    return verify(signed, Signal, topic, purpose, ring, now_ms, revoked)


@given(st.text(), st.integers(min_value=0, max_value=2**63 - 1))
def test_signal_round_trips_through_envelope(private, ring, evidence, generation):
    """Whatever text the evidence contains, the hook reads the same signal that was signed."""
    signal = Signal(signal_id="s", app_id="a", generation=generation, evidence=evidence)
    arrived = from_json(SignedMessage, to_json(sign(signal, "signals", ACT, private)))

    assert verified(arrived, ring) == signal


@pytest.mark.parametrize("field", ["payload", "signature", "key_id", "purpose"])
def test_modified_envelope_is_rejected(private, ring, field):
    """If one letter of the envelope changes, verification fails."""
    signed = sign(Signal(signal_id="s", app_id="a"), "signals", ACT, private)
    setattr(signed, field, "x" + getattr(signed, field)[1:])

    with pytest.raises(SignatureRefusedError):
        verified(signed, ring)


def test_signature_is_valid_for_its_topic_and_purpose_only(private, ring):
    """The signature of a signal is invalid for a control, and a key is valid only for its purpose."""
    signed = sign(Signal(signal_id="s"), "signals", ACT, private)
    as_switch = sign(Signal(signal_id="s"), "signals", SWITCH, private)

    with pytest.raises(SignatureRefusedError, match="does not match"):
        verified(signed, ring, topic="controls")
    with pytest.raises(SignatureRefusedError, match="is for act, not for switch"):
        verified(as_switch, ring, purpose=SWITCH)


def test_expired_or_revoked_key_is_rejected(private, folder):
    """A key is valid until the end of its last day in UTC, but not after its revocation."""
    ring = read_key_ring(f"act:2026-11-21:{public_key_file(folder, ACT)}")
    signed = sign(Signal(signal_id="s"), "signals", ACT, private)

    assert verified(signed, ring, now_ms=1_795_305_599_999).signal_id == "s"
    with pytest.raises(SignatureRefusedError, match="expired after 2026-11-21"):
        verified(signed, ring, now_ms=1_795_305_600_000)
    with pytest.raises(SignatureRefusedError, match="is revoked"):
        verified(signed, ring, revoked=set(ring))


def test_key_pairs_are_created_once_with_safe_modes(tmp_path):
    """Existing key pairs are returned again; only the owner of a private key's file can read the file."""
    first, second = ensure_key_pairs(tmp_path / "keys"), ensure_key_pairs(tmp_path / "keys")

    assert first == second
    assert [entry.split(":")[0] for entry in first.split(",")] == list(PURPOSES)
    modes = [
        file(tmp_path / "keys", purpose).stat().st_mode & 0o777
        for purpose in PURPOSES
        for file in (private_key_file, public_key_file)
    ]
    assert modes == [0o600, 0o644] * 3


@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_invalid_key_file_is_reported_with_its_name(tmp_path, content):
    """An invalid key file raises KeyUnusableError with the file name."""
    path = tmp_path / "key.pem"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(KeyUnusableError, match=r"key\.pem"):
        load_private_key(path)
    with pytest.raises(KeyUnusableError, match=r"key\.pem"):
        read_key_ring(f"act:2027-01-01:{path}")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("key.pem", "purpose:YYYY-MM-DD:key"),
        ("kill:2027-01-01:key.pem", "one of act, switch, approve"),
        ("act:soon:key.pem", "must be a date"),
        ("act:2027-01-01:%%%", "cannot be read"),
    ],
)
def test_invalid_entry_of_the_key_ring_is_reported(entry, message):
    """An entry without purpose, with an invalid date or an unreadable key raises an error that shows a valid form."""
    with pytest.raises(KeyUnusableError, match=message):
        read_key_ring(entry)


@pytest.mark.parametrize("curve", [ec.SECP384R1(), ec.SECP256K1()], ids=["P-384", "secp256k1"])
def test_key_over_another_curve_is_refused(tmp_path, curve):
    """A key is rejected if its curve is not P-256."""
    path = tmp_path / "public.pem"
    public = ec.generate_private_key(curve).public_key()
    path.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))

    with pytest.raises(KeyUnusableError, match="P-256"):
        read_key_ring(f"act:{date(2027, 1, 1)}:{path}")


def test_digest_differs_for_another_target():
    """An approval of one target is not valid for another run, stage, action or policy."""
    target: dict[str, Any] = {
        "cluster": "c", "app_id": "a", "app_attempt": 0, "app_start_ms": 1, "rule": "r", "action": "cancel_stage",
        "stage_id": 0, "stage_attempt": 0, "policy_hash": "p",
    }  # fmt: skip
    changes: list[dict[str, Any]] = [
        {}, {"app_attempt": 1}, {"app_start_ms": 2}, {"stage_id": 1}, {"action": "cancel_jobs"}, {"policy_hash": "q"},
        {"query_id": 0}, {"task_id": 0},
    ]  # fmt: skip
    digests = {target_digest(Signal(**{**target, **change})) for change in changes}

    assert len(digests) == len(changes)
