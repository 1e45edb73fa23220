"""The key pairs of the fuse.

Each purpose has its own pair, so that a key for switching collectors cannot stop a job.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    generate_private_key,
)

# act: signals that warn, probe or stop. switch: signals that switch a collector. approve: controls and approvals.
ACT, SWITCH, APPROVE = "act", "switch", "approve"
PURPOSES = (ACT, SWITCH, APPROVE)
# Only the user who signs may read a private key; every user who runs a job may read the public keys.
PRIVATE_MODE = 0o600
PUBLIC_MODE = 0o644
# A generated key is valid for this long.
VALID_DAYS = 365
_PEM = serialization.Encoding.PEM
_INFO = serialization.PublicFormat.SubjectPublicKeyInfo


class KeyUnusableError(ValueError):
    """A key cannot be used; the message names the key and the expected content."""


@dataclass(frozen=True)
class TrustedKey:
    """A public key, its purpose, and the last day (UTC) on which signatures of the key are valid."""

    key_id: str
    purpose: str
    last_day: date
    public: EllipticCurvePublicKey

    def expired(self, now_ms: int) -> bool:
        """Whether the last valid day is over."""
        return datetime.fromtimestamp(now_ms / 1000, UTC).date() > self.last_day


class KeyRing(Mapping[str, TrustedKey]):
    """The trusted public keys by id."""

    def __init__(self, keys: Iterable[TrustedKey]) -> None:
        self._keys = {key.key_id: key for key in keys}

    def __getitem__(self, key_id: str) -> TrustedKey:
        return self._keys[key_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def read_key_ring(setting: str) -> KeyRing:
    """Read trusted keys from a list of ``purpose:YYYY-MM-DD:key`` entries, separated by commas.

    The key is the path of a PEM file or a public key in base64 DER; the format is that of
    ``spark.sparkfuse.fuse.publicKeys``. Raises KeyUnusableError for an invalid entry.
    """
    return KeyRing(_trusted_key(part.strip()) for part in setting.split(",") if part.strip())


def key_entry(purpose: str, last_day: date, key: str) -> str:
    """Return one entry of the list that ``read_key_ring`` reads."""
    return f"{purpose}:{last_day.isoformat()}:{key}"


def private_key_file(folder: Path, purpose: str) -> Path:
    """Return the file of the private key of a purpose."""
    return folder / f"fuse-{purpose}-private.pem"


def public_key_file(folder: Path, purpose: str) -> Path:
    """Return the file of the public key of a purpose."""
    return folder / f"fuse-{purpose}-public.pem"


def ensure_key_pairs(folder: Path) -> str:
    """Return the entries of all public keys in ``folder``, after generating the pairs that are missing.

    The keys are for ECDSA over P-256, which every JVM since version 8 can verify; the files are PEM (PKCS #8 and
    SubjectPublicKeyInfo). A key is valid for a year from its creation. Several processes may call this at the same
    time: all of them use the private key that was stored first. Raises KeyUnusableError if an existing file is not a
    usable key.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for purpose in PURPOSES:
        private, public = private_key_file(folder, purpose), public_key_file(folder, purpose)
        if not private.exists():
            _put_if_absent(private, _private_pem(generate_private_key(SECP256R1())), PRIVATE_MODE)
        if not public.exists():
            _put_if_absent(public, public_pem(load_private_key(private).public_key()), PUBLIC_MODE)
        made = datetime.fromtimestamp(private.stat().st_mtime, UTC).date()
        entries.append(key_entry(purpose, made + timedelta(days=VALID_DAYS), str(public)))
    return ",".join(entries)


def load_private_key(path: Path) -> EllipticCurvePrivateKey:
    """Read a private key in PEM. Raises KeyUnusableError."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyUnusableError(f"{path}: cannot be read as a private key in PEM without password: {error}") from error
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256R1):
        raise KeyUnusableError(f"{path}: must be an ECDSA key over P-256")
    return key


def key_id(public: EllipticCurvePublicKey) -> str:
    """Return the first 16 hex digits of the SHA-256 of the key in DER; readers select the key by this id."""
    der = public.public_bytes(serialization.Encoding.DER, _INFO)
    return hashlib.sha256(der).hexdigest()[:16]


def public_pem(public: EllipticCurvePublicKey) -> bytes:
    """Return the public key in PEM."""
    return public.public_bytes(_PEM, _INFO)


def _trusted_key(entry: str) -> TrustedKey:
    purpose, _, rest = entry.partition(":")
    day, _, key = rest.partition(":")
    if purpose not in PURPOSES or not key:
        raise KeyUnusableError(
            f"{entry!r}: must be purpose:YYYY-MM-DD:key, where the purpose is one of {', '.join(PURPOSES)} "
            "and the key is the path of a PEM file or base64 DER"
        )
    try:
        last_day = date.fromisoformat(day)
    except ValueError as error:
        raise KeyUnusableError(f"{entry!r}: the last valid day must be a date like 2027-06-30, is {day!r}") from error
    public = _public_key(key)
    return TrustedKey(key_id(public), purpose, last_day, public)


def _public_key(text: str) -> EllipticCurvePublicKey:
    try:
        if Path(text).is_file():
            key = serialization.load_pem_public_key(Path(text).read_bytes())
        else:
            key = serialization.load_der_public_key(base64.b64decode(text, validate=True))
    except (OSError, ValueError, binascii.Error, UnsupportedAlgorithm) as error:
        raise KeyUnusableError(f"{text}: cannot be read as a public key in PEM or base64 DER: {error}") from error
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise KeyUnusableError(f"{text}: must be an ECDSA key over P-256")
    return key


def _private_pem(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _put_if_absent(path: Path, content: bytes, mode: int) -> None:
    """Write the file atomically: another process must never read half a key."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    with contextlib.suppress(FileExistsError):  # another process stored its key first; use that key
        path.hardlink_to(draft)
    draft.unlink()
