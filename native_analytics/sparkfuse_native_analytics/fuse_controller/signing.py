"""Signed signals: what is signed is the payload's bytes, so that nothing has to be written the same way twice."""

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
    """A signed signal is not what a known key signed."""


def sign(signal: Signal, private: EllipticCurvePrivateKey) -> SignedSignal:
    """Put the signal into its envelope: JSON text, ECDSA with SHA-256 over its UTF-8 bytes (DER, base64), key id."""
    payload = to_json(signal)
    signature = private.sign(payload, ECDSA(SHA256()))
    return SignedSignal(
        payload=payload.decode(), signature=base64.b64encode(signature).decode(), key_id=key_id(private.public_key())
    )


def verify(signed: SignedSignal, keys: Mapping[str, EllipticCurvePublicKey]) -> Signal:
    """Give the signal out of its envelope when one of ``keys`` (by id; two while keys rotate) has signed it.

    Raises SignatureRefusedError for an unknown key or a wrong signature.
    """
    public = keys.get(signed.key_id)
    if public is None:
        raise SignatureRefusedError(f"no key {signed.key_id!r} is known")
    try:
        public.verify(base64.b64decode(signed.signature, validate=True), signed.payload.encode(), ECDSA(SHA256()))
    except (InvalidSignature, binascii.Error, UnicodeEncodeError) as error:
        raise SignatureRefusedError(f"the signature is not that of key {signed.key_id}") from error
    return from_json(Signal, signed.payload.encode())
