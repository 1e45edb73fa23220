"""The Protobuf descriptors of all messages, for programs that read messages without generated code."""

from __future__ import annotations

from sparkfuse_contracts.assets import asset


def descriptor_set() -> bytes:
    """Return a serialised FileDescriptorSet of all messages, as proto3, without comments."""
    return asset("sparkfuse_contracts", "generated", "descriptors.binpb").read_bytes()
