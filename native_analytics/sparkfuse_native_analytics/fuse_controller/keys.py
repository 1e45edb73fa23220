"""The key pair of the fuse: the controller signs with the private key, the hook verifies with the public key."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    generate_private_key,
)

PRIVATE_KEY_FILE = "fuse-private.pem"
PUBLIC_KEY_FILE = "fuse-public.pem"
# Only the fuse controller's user may sign; each job's user verifies.
PRIVATE_MODE = 0o600
PUBLIC_MODE = 0o644
_PEM = serialization.Encoding.PEM
_INFO = serialization.PublicFormat.SubjectPublicKeyInfo


class KeyUnusableError(ValueError):
    """A key file cannot be used; the text names the file and the expected content."""


def ensure_key_pair(folder: Path) -> tuple[Path, Path]:
    """Return the files of the private and the public key in ``folder``; generate a pair if there is none.

    ECDSA over P-256, which each JVM since 8 can verify, in PEM (PKCS #8 and SubjectPublicKeyInfo).
    Safe to call from several processes at once: the first one that links its private key wins.
    Raises KeyUnusableError if an existing file is not such a key.
    """
    folder.mkdir(parents=True, exist_ok=True)
    private, public = folder / PRIVATE_KEY_FILE, folder / PUBLIC_KEY_FILE
    if not private.exists():
        _put_if_absent(private, _private_pem(generate_private_key(SECP256R1())), PRIVATE_MODE)
    if not public.exists():
        _put_if_absent(public, public_pem(load_private_key(private).public_key()), PUBLIC_MODE)
    return private, public


def load_private_key(path: Path) -> EllipticCurvePrivateKey:
    """Read a private key in PEM. Raises KeyUnusableError."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyUnusableError(f"{path}: cannot be read as a private key in PEM without password: {error}") from error
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256R1):
        raise KeyUnusableError(f"{path}: must be an ECDSA key over P-256")
    return key


def load_public_key(path: Path) -> EllipticCurvePublicKey:
    """Read a public key in PEM. Raises KeyUnusableError."""
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise KeyUnusableError(f"{path}: cannot be read as a public key in PEM: {error}") from error
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise KeyUnusableError(f"{path}: must be an ECDSA key over P-256")
    return key


def key_id(public: EllipticCurvePublicKey) -> str:
    """Return the first 16 hex digits of the SHA-256 of the key in DER; the hook selects the key by it."""
    der = public.public_bytes(serialization.Encoding.DER, _INFO)
    return hashlib.sha256(der).hexdigest()[:16]


def public_pem(public: EllipticCurvePublicKey) -> bytes:
    """Return the public key in PEM, the format of spark.sparkfuse.fuse.publicKeys."""
    return public.public_bytes(_PEM, _INFO)


def _private_pem(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _put_if_absent(path: Path, content: bytes, mode: int) -> None:
    """Write the file atomically: another process must never read half a key."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    with contextlib.suppress(FileExistsError):  # another process was first; its key is used
        path.hardlink_to(draft)
    draft.unlink()
