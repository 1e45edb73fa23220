from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_contracts.generated.signal_pb2 import Signal, SignedSignal
from sparkfuse_contracts.wire import from_json, to_json
from sparkfuse_native_analytics.fuse_controller.keys import (
    KeyUnusableError,
    ensure_key_pair,
    key_id,
    load_private_key,
    load_public_key,
)
from sparkfuse_native_analytics.fuse_controller.signing import SignatureRefusedError, sign, verify


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    private, public = ensure_key_pair(tmp_path_factory.mktemp("keys"))
    key = load_public_key(public)
    return load_private_key(private), {key_id(key): key}


@given(st.text(), st.integers(min_value=0, max_value=2**63 - 1))
def test_signal_round_trips_through_envelope(pair, evidence, generation):
    """For any text in the evidence, the hook reads the same signal that was signed."""
    private, public = pair
    signal = Signal(signal_id="s", app_id="a", generation=generation, evidence=evidence)
    arrived = from_json(SignedSignal, to_json(sign(signal, private)))

    assert verify(arrived, public) == signal


@pytest.mark.parametrize("field", ["payload", "signature", "key_id"])
def test_modified_envelope_is_rejected(pair, field):
    """If one letter of the envelope changes, verification fails."""
    private, public = pair
    signed = sign(Signal(signal_id="s", app_id="a"), private)
    setattr(signed, field, "x" + getattr(signed, field)[1:])

    with pytest.raises(SignatureRefusedError):
        verify(signed, public)


def test_key_pair_is_created_once_with_safe_modes(tmp_path):
    """A second call returns the same files; only the owner can read the private key."""
    first, second = ensure_key_pair(tmp_path / "keys"), ensure_key_pair(tmp_path / "keys")

    assert first == second
    assert [path.stat().st_mode & 0o777 for path in first] == [0o600, 0o644]


@pytest.mark.parametrize("load", [load_private_key, load_public_key])
@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_invalid_key_file_is_reported_with_its_name(tmp_path, load, content):
    """An invalid key file raises KeyUnusableError with the file name."""
    path = tmp_path / "key.pem"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(KeyUnusableError, match=r"key\.pem"):
        load(path)
