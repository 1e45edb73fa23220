"""Parts: several contents as one record."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_stream_jobs.detect.operator_records import join_records, split_record


def test_each_content_stands_behind_its_length():
    """The JVM reads and writes the same bytes (PartsTest)."""
    assert join_records([b"abc", b"", b"\x00"]) == b"\x00\x00\x00\x03abc\x00\x00\x00\x00\x00\x00\x00\x01\x00"


@given(st.lists(st.binary(max_size=300)))
def test_what_was_joined_comes_apart_again(contents: list[bytes]):
    """Nothing is lost, and the order stays."""
    assert list(split_record(join_records(contents))) == contents


def test_what_was_not_joined_is_no_part():
    """A length that is cut is no content."""
    with pytest.raises(struct.error):
        list(split_record(b"\x00\x00"))
