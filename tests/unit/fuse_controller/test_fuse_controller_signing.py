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
def test_a_signal_survives_signing_and_the_wire(pair, evidence, generation):
    """Whatever text the evidence holds, the hook reads what was signed."""
    private, public = pair
    signal = Signal(signal_id="s", app_id="a", generation=generation, evidence=evidence)
    arrived = from_json(SignedSignal, to_json(sign(signal, private)))

    assert verify(arrived, public) == signal


@pytest.mark.parametrize("field", ["payload", "signature", "key_id"])
def test_a_changed_envelope_is_refused(pair, field):
    """One letter otherwise, and no key verifies it."""
    private, public = pair
    signed = sign(Signal(signal_id="s", app_id="a"), private)
    setattr(signed, field, "x" + getattr(signed, field)[1:])

    with pytest.raises(SignatureRefusedError):
        verify(signed, public)


def test_a_key_pair_is_made_once_and_its_private_half_is_private(tmp_path):
    """The same files the second time; only the owner reads the private key, everybody the public one."""
    first, second = ensure_key_pair(tmp_path / "keys"), ensure_key_pair(tmp_path / "keys")

    assert first == second
    assert [path.stat().st_mode & 0o777 for path in first] == [0o600, 0o644]


@pytest.mark.parametrize("load", [load_private_key, load_public_key])
@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_what_is_no_key_is_refused_with_the_file(tmp_path, load, content):
    """A wrong key file stops the start with its name."""
    path = tmp_path / "key.pem"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(KeyUnusableError, match=r"key\.pem"):
        load(path)
