"""The messages' descriptors, for readers that have no generated code."""

from __future__ import annotations

from sparkfuse_contracts.assets import asset


def descriptor_set() -> bytes:
    """A serialised FileDescriptorSet of all messages, as proto3, without comments."""
    return asset("sparkfuse_contracts", "generated", "descriptors.binpb").read_bytes()
