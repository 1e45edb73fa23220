"""Decompresses event logs in memory. The code is simple and slow.

The first bytes of a file determine its container; the file's name does not.
For a truncated or invalid container, the result is an error and the bytes before the damage.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import lz4.block
from backports import zstd

LZ4_MAGIC = b"LZ4Block"
SNAPPY_MAGIC = b"\x82SNAPPY\x00"
LZF_MAGIC = b"ZV"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"


class DamagedError(Exception):
    """The container is truncated or invalid."""


class Plain(NamedTuple):
    """A file's ``codec``, its decompressed bytes, and the error of its container, if any."""

    codec: str
    data: bytes
    error: str | None


def unpack(packed: bytes) -> Plain:
    """Decompress one file; a file without a known container is returned unchanged.

    A zip or gzip may contain another container (``gzip+zip``), because some cloud consoles serve logs in this form.
    """
    codec, pieces = _container(packed)
    if pieces is None:
        return Plain("plain", packed, None)
    data, error = _gather(pieces(packed))
    if codec in {"gzip", "zip"} and _container(data)[1] is not None:
        inner = unpack(data)
        return Plain(f"{codec}+{inner.codec}", inner.data, error or inner.error)
    return Plain(codec, data, error)


def _container(packed: bytes) -> tuple[str, Callable[[bytes], Iterator[bytes]] | None]:
    known = (
        (ZSTD_MAGIC, "zstd", zstd_pieces),
        (LZ4_MAGIC, "lz4", lz4_pieces),
        (SNAPPY_MAGIC, "snappy", snappy_pieces),
        (LZF_MAGIC, "lzf", lzf_pieces),
        (GZIP_MAGIC, "gzip", gzip_pieces),
        (ZIP_MAGIC, "zip", zip_pieces),
    )
    for magic, name, pieces in known:
        if packed.startswith(magic):
            return name, pieces
    return "plain", None


def _gather(pieces: Iterator[bytes]) -> tuple[bytes, str | None]:
    whole = io.BytesIO()
    try:
        for piece in pieces:
            whole.write(piece)
    except DamagedError as damage:
        return whole.getvalue(), str(damage)
    return whole.getvalue(), None


def zstd_pieces(packed: bytes) -> Iterator[bytes]:
    """Yield the content of each zstd frame."""
    while packed:
        frame = zstd.ZstdDecompressor()
        try:
            yield frame.decompress(packed)
        except zstd.ZstdError as error:
            raise DamagedError(f"zstd: {error}") from error
        if not frame.eof:
            raise DamagedError("zstd: truncated frame")
        packed = frame.unused_data


def gzip_pieces(packed: bytes) -> Iterator[bytes]:
    """Yield the content of each gzip member; other bytes after the last member are ignored, as gzip does."""
    while packed.startswith(GZIP_MAGIC):
        member = zlib.decompressobj(wbits=31)
        try:
            yield member.decompress(packed)
        except zlib.error as error:
            raise DamagedError(f"gzip: {error}") from error
        if not member.eof:
            raise DamagedError("gzip: truncated member")
        packed = member.unused_data


def zip_pieces(packed: bytes) -> Iterator[bytes]:
    """Yield the content of the only file in a zip archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) != 1:
                raise DamagedError(f"zip: {len(members)} members, not one")
            yield archive.read(members[0])
    except zipfile.BadZipFile as error:
        raise DamagedError(f"zip: {error}") from error


def lz4_pieces(packed: bytes) -> Iterator[bytes]:
    """Yield blocks of lz4-java's ``LZ4BlockOutputStream``: magic, token, two lengths and a checksum, little endian."""
    at = 0
    while at < len(packed):
        header = packed[at : at + 21]
        if len(header) < 21:
            raise DamagedError("lz4: truncated block header")
        if not header.startswith(LZ4_MAGIC):
            raise DamagedError("lz4: a block without magic bytes")
        method, packed_length, length = header[8] & 0xF0, *struct.unpack_from("<II", header, 9)
        at += 21
        body = packed[at : at + packed_length]
        if len(body) < packed_length:
            raise DamagedError("lz4: truncated block")
        at += packed_length
        if method == 0x10:
            yield body
        elif length:
            yield _lz4_block(body, length)


def _lz4_block(body: bytes, length: int) -> bytes:
    try:
        plain: bytes = lz4.block.decompress(body, uncompressed_size=length)
    except lz4.block.LZ4BlockError as error:
        raise DamagedError(f"lz4: {error}") from error
    if len(plain) != length:
        raise DamagedError("lz4: a block whose length differs from its header")
    return plain


def snappy_pieces(packed: bytes) -> Iterator[bytes]:
    """Yield chunks of snappy-java's ``SnappyOutputStream``: a 16-byte header, then big-endian length and raw snappy."""
    at = 0
    while at < len(packed):
        if packed.startswith(SNAPPY_MAGIC, at):  # streams may be concatenated
            at += 16
            continue
        if at + 4 > len(packed):
            raise DamagedError("snappy: truncated chunk length")
        (length,) = struct.unpack_from(">I", packed, at)
        chunk = packed[at + 4 : at + 4 + length]
        if len(chunk) < length:
            raise DamagedError("snappy: truncated chunk")
        at += 4 + length
        yield snappy_raw(chunk)


def snappy_raw(chunk: bytes) -> bytes:
    """Decompress raw snappy: the length as a varint, then literals and references."""
    length, shift, at = 0, 0, 0
    try:
        while True:
            byte = chunk[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        plain = _snappy_elements(chunk, at)
    except IndexError as error:
        raise DamagedError("snappy: truncated element") from error
    if len(plain) != length:
        raise DamagedError("snappy: a chunk whose length differs from its header")
    return bytes(plain)


def _snappy_elements(chunk: bytes, at: int) -> bytearray:
    plain = bytearray()
    while at < len(chunk):
        tag = chunk[at]
        at += 1
        kind = tag & 3
        if kind == 0:
            length = (tag >> 2) + 1
            if length > 60:
                width = length - 60
                length = int.from_bytes(chunk[at : at + width], "little") + 1
                at += width
            plain += chunk[at : at + length]
            at += length
            continue
        if kind == 1:
            length, offset = ((tag >> 2) & 7) + 4, ((tag >> 5) << 8) | chunk[at]
            at += 1
        else:
            width = 2 if kind == 2 else 4
            length, offset = (tag >> 2) + 1, int.from_bytes(chunk[at : at + width], "little")
            at += width
        copy_back(plain, offset, length)
    return plain


def lzf_pieces(packed: bytes) -> Iterator[bytes]:
    """Yield chunks of compress-lzf: ``ZV``, a type, and big-endian lengths."""
    at = 0
    while at < len(packed):
        header = packed[at : at + 5]
        if len(header) < 5:
            raise DamagedError("lzf: truncated chunk header")
        if not header.startswith(LZF_MAGIC) or header[2] > 1:
            raise DamagedError("lzf: a chunk without magic bytes")
        (length,) = struct.unpack_from(">H", header, 3)
        start = at + (7 if header[2] else 5)
        body = packed[start : start + length]
        if len(body) < length:
            raise DamagedError("lzf: truncated chunk")
        at = start + length
        yield _lzf_chunk(body, struct.unpack_from(">H", packed, start - 2)[0]) if header[2] else body


def _lzf_chunk(body: bytes, length: int) -> bytes:
    plain = bytearray()
    at = 0
    try:
        while at < len(body):
            control = body[at]
            at += 1
            if control < 32:
                plain += body[at : at + control + 1]
                at += control + 1
                continue
            run = control >> 5
            if run == 7:
                run += body[at]
                at += 1
            copy_back(plain, ((control & 0x1F) << 8 | body[at]) + 1, run + 2)
            at += 1
    except IndexError as error:
        raise DamagedError("lzf: truncated element") from error
    if len(plain) != length:
        raise DamagedError("lzf: a chunk whose length differs from its header")
    return bytes(plain)


def copy_back(plain: bytearray, offset: int, length: int) -> None:
    """Append ``length`` bytes that start ``offset`` bytes before the end; source and result may overlap."""
    if not 0 < offset <= len(plain):
        raise DamagedError("a reference to bytes before the beginning")
    start = len(plain) - offset
    if offset >= length:
        plain += plain[start : start + length]
    else:
        piece = bytes(plain[start:])
        plain += (piece * (length // offset + 1))[:length]
