"""Tests how the detect job recognizes records in the topic baselines that it wrote itself."""

from __future__ import annotations

from sparkfuse_stream_jobs.detect.baseline_bootstrap import OwnRecords


def test_own_record_is_recognized_once():
    """A record that the job wrote is recognized once as its own.

    A second equal record comes from another writer, or was written again after a failure.
    """
    own = OwnRecords()
    own.add(b"ours")

    assert [own.remove(content) for content in (b"theirs", b"ours", b"ours")] == [False, True, False]
    assert len(own) == 0


def test_own_records_are_bounded():
    """The job remembers a limited number of its own records, and drops the oldest first.

    A dropped record that is read later is treated as a record of another writer.
    """
    own = OwnRecords(limit=3)
    for number in range(5):
        own.add(b"%d" % number)

    assert len(own) == 3
    assert [own.remove(b"%d" % number) for number in range(5)] == [False, False, True, True, True]
