"""Tests records that carry several byte strings from one Flink operator to the next."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_stream_jobs.detect.operators.records import join_records, split_record


def test_each_content_follows_its_length():
    """In a record, each byte string is preceded by its length.

    The JVM uses the same format (FrameBufferTest).
    """
    assert join_records([b"abc", b"", b"\x00"]) == b"\x00\x00\x00\x03abc\x00\x00\x00\x00\x00\x00\x00\x01\x00"


@given(st.lists(st.binary(max_size=300)))
def test_joined_contents_are_split_again(contents: list[bytes]):
    """Byte strings that were joined into one record are split completely and in order."""
    assert list(split_record(join_records(contents))) == contents


def test_truncated_length_is_an_error():
    """A record that was truncated within a length is an error."""
    with pytest.raises(struct.error):
        list(split_record(b"\x00\x00"))
