"""PublishedBaselines: what a step knows of the records that it wrote itself."""

from __future__ import annotations

from sparkfuse_stream_jobs.detect.baseline_bootstrap import OwnRecords


def test_a_record_of_ours_is_known_once_when_it_comes_back():
    """Whatever says the same later was written by somebody else, or again after a failure."""
    own = OwnRecords()
    own.add(b"ours")

    assert [own.remove(content) for content in (b"theirs", b"ours", b"ours")] == [False, True, False]
    assert len(own) == 0


def test_records_that_never_come_back_are_bounded():
    """The oldest are forgotten, and read like those of others if they come after all."""
    own = OwnRecords(limit=3)
    for number in range(5):
        own.add(b"%d" % number)

    assert len(own) == 3
    assert [own.remove(b"%d" % number) for number in range(5)] == [False, False, True, True, True]
