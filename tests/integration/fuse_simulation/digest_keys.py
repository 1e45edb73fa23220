"""Keys whose signature is a digest of key and text, so that a schedule spends no time on cryptography.

HookSimulator accepts the same signatures (``signatures: digest``). A wrong key, purpose, topic or payload still gives a
different signature. Some schedules use real signatures.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sparkfuse_native_analytics.fuse_controller.keys import KeyRing
from tests.unit.fuse_controller.scene import Keys


class DigestPublicKey:
    """Verifies digests in place of ECDSA signatures."""

    def __init__(self, public: EllipticCurvePublicKey) -> None:
        self._der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    def public_bytes(self, _encoding: object, _format: object) -> bytes:
        """Return the key in DER."""
        return self._der

    def digest(self, data: bytes) -> bytes:
        """Return the signature of the data."""
        return hashlib.sha256(self._der + data).digest()

    def verify(self, signature: bytes, data: bytes, _algorithm: object) -> None:
        """Raise InvalidSignature if the signature is not that of the data."""
        if signature != self.digest(data):
            raise InvalidSignature


class DigestPrivateKey:
    """Signs with the digest of its public key."""

    def __init__(self, public: DigestPublicKey) -> None:
        self._public = public

    def public_key(self) -> DigestPublicKey:
        """Return the public key."""
        return self._public

    def sign(self, data: bytes, _algorithm: object) -> bytes:
        """Return the signature of the data."""
        return self._public.digest(data)


class DigestKeys(Keys):
    """The keys of the scene with digests as signatures."""

    signatures = "digest"

    def __init__(self) -> None:
        super().__init__()
        public = {key.purpose: DigestPublicKey(key.public) for key in self.ring.values()}
        self.private = {purpose: DigestPrivateKey(key) for purpose, key in public.items()}
        self.ring = KeyRing(
            replace(key, public=public[key.purpose])  # type: ignore[arg-type]  # it has the two methods that are used
            for key in self.ring.values()
        )
