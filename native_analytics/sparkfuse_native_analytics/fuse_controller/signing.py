"""Sign and verify messages to jobs and to the fuse controller: signals, controls and approvals.

The signature covers purpose, topic and payload as bytes. So a signature for one purpose or topic is invalid for
another, and neither side needs a canonical encoding.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Container, Mapping
from typing import TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from google.protobuf.message import Message

from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.wire import RecordError, from_json, to_json
from sparkfuse_native_analytics.fuse_controller.keys import TrustedKey, key_id

Payload = TypeVar("Payload", bound=Message)
# The fields of a signal that an approval covers, in the order in which they are hashed.
_TARGET = ("cluster", "app_id", "app_attempt", "app_start_ms", "rule", "action", "query_id", "stage_id",
           "stage_attempt", "task_id", "policy_hash")  # fmt: skip


class SignatureRefusedError(ValueError):
    """A message is not signed by a trusted key for this purpose; the message of the error is the reason."""


def sign(payload: Message, topic: str, purpose: str, private: EllipticCurvePrivateKey) -> SignedMessage:
    """Return the payload in an envelope, signed for ``topic`` (without prefix) and ``purpose``."""
    return sign_text(to_json(payload).decode(), topic, purpose, private)


def sign_text(text: str, topic: str, purpose: str, private: EllipticCurvePrivateKey) -> SignedMessage:
    """Return a payload, given as JSON text, in a signed envelope like that of ``sign``."""
    signature = private.sign(_signed_bytes(purpose, topic, text), ECDSA(SHA256()))
    return SignedMessage(
        payload=text,
        signature=base64.b64encode(signature).decode(),
        key_id=key_id(private.public_key()),
        purpose=purpose,
    )


def verify(
    signed: SignedMessage,
    kind: type[Payload],
    topic: str,
    purpose: str,
    keys: Mapping[str, TrustedKey],
    now_ms: int | None,
    revoked: Container[str] = (),
) -> Payload:
    """Return the payload of a message that a trusted key signed for this topic and purpose.

    ``now_ms`` is the time at which the key must be valid; None if it is not known.
    Raises SignatureRefusedError if the key is unknown, expired, revoked or of another purpose, if the signature does
    not match, or if the payload is not a message of ``kind``.
    """
    key = keys.get(signed.key_id)
    if key is None:
        raise SignatureRefusedError(f"the key {signed.key_id[:40]!r} is unknown")
    if key.purpose != purpose or signed.purpose != purpose:
        raise SignatureRefusedError(f"the key {key.key_id} is for {key.purpose}, not for {purpose}")
    if key.key_id in revoked:
        raise SignatureRefusedError(f"the key {key.key_id} is revoked")
    if now_ms is None:
        raise SignatureRefusedError("the broker did not set its timestamp")
    if key.expired(now_ms):
        raise SignatureRefusedError(f"the key {key.key_id} expired after {key.last_day}")
    try:
        signature = base64.b64decode(signed.signature, validate=True)
        key.public.verify(signature, _signed_bytes(purpose, topic, signed.payload), ECDSA(SHA256()))
    except (InvalidSignature, binascii.Error, UnicodeEncodeError) as error:
        raise SignatureRefusedError(f"the signature does not match the key {key.key_id}") from error
    try:
        return from_json(kind, signed.payload.encode())
    except RecordError as error:
        raise SignatureRefusedError(str(error)) from error


def target_digest(signal: Signal) -> str:
    """Return the digest by which an approval names a target: the SHA-256 of the target's fields, one per line."""
    lines = (str(getattr(signal, name)) if signal.HasField(name) else "" for name in _TARGET)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _signed_bytes(purpose: str, topic: str, payload: str) -> bytes:
    return f"{purpose}\n{topic}\n{payload}".encode()
