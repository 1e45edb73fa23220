"""Signs signals. The signature covers the bytes of the payload, so both sides need no canonical encoding."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from sparkfuse_contracts.generated.signal_pb2 import Signal, SignedSignal
from sparkfuse_contracts.wire import from_json, to_json
from sparkfuse_native_analytics.fuse_controller.keys import key_id


class SignatureRefusedError(ValueError):
    """The signature of a signal was not made by a known key."""


def sign(signal: Signal, private: EllipticCurvePrivateKey) -> SignedSignal:
    """Return the signal in an envelope: JSON text, key id, ECDSA with SHA-256 over its UTF-8 bytes (DER, base64)."""
    payload = to_json(signal)
    signature = private.sign(payload, ECDSA(SHA256()))
    return SignedSignal(
        payload=payload.decode(), signature=base64.b64encode(signature).decode(), key_id=key_id(private.public_key())
    )


def verify(signed: SignedSignal, keys: Mapping[str, EllipticCurvePublicKey]) -> Signal:
    """Return the signal of an envelope that one of ``keys`` (by key id) signed.

    Raises SignatureRefusedError for an unknown key or an invalid signature.
    """
    public = keys.get(signed.key_id)
    if public is None:
        raise SignatureRefusedError(f"the key {signed.key_id!r} is unknown")
    try:
        public.verify(base64.b64decode(signed.signature, validate=True), signed.payload.encode(), ECDSA(SHA256()))
    except (InvalidSignature, binascii.Error, UnicodeEncodeError) as error:
        raise SignatureRefusedError(f"the signature does not match key {signed.key_id}") from error
    return from_json(Signal, signed.payload.encode())
