"""Tests which applications are learned query by query, and which executions of a template are learned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.long_lived import (
    FIRST_EXECUTIONS,
    LONG_LIVED_MS,
    LONGEST_PERIOD_MS,
    LearnedTemplate,
    application_run,
    has_run_long,
    is_served,
    key_of_job,
    key_of_query,
    learned_after,
    serves_queries,
)

HOUR, DAY = 3_600_000, 86_400_000
MICRO_BATCH = "counted\nid = 5cb662ed-8160-4a74-8610-e47885b2e1c6\nrunId = f6b4070b\nbatch = 12"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Spark Connect server", True),
        ("Thrift JDBC/ODBC Server", True),
        ("livy-session-42", True),
        ("PySparkShell", True),
        ("pyspark-shell", True),
        ("SparkSQL::10.3.7.12", True),
        ("Zeppelin_shared", True),
        ("livy-batch-311", False),
        ("nightly_orders", False),
        ("", False),
        (None, False),
    ],
)
def test_servers_and_sessions_are_known_by_name(name: str | None, expected: bool):
    """The default names of servers, shells and notebooks are recognized; names of batches are not."""
    assert serves_queries(name) is expected


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ('Spark Connect - session_id: "?"\nplan {', True),
        (MICRO_BATCH, True),
        ("id = 7\nrunId = 8", False),
        ("write orders", False),
        (None, False),
    ],
)
def test_connect_and_micro_batches_are_known_by_their_jobs(description: str | None, expected: bool):
    """Jobs of a Connect server and of a stream are recognized, whatever the name of the application."""
    assert is_served(description) is expected


def test_application_is_long_lived_after_ten_minutes():
    """An application is long-lived by its age from the tenth minute on, and never without a known start."""
    start = 1_795_226_400_000
    ages = (LONG_LIVED_MS - 1, LONG_LIVED_MS)

    assert [has_run_long(start, start + age) for age in ages] == [False, True]
    assert not has_run_long(0, start)


def learned(ends: list[int]) -> list[int]:
    """Return the ends of the executions that are learned."""
    known: LearnedTemplate | None = None
    found = []
    for ended_ms in ends:
        if (after := learned_after(known, ended_ms)) is not None:
            known = after
            found.append(ended_ms)
    return found


def test_trigger_of_ten_seconds_is_learned_like_an_hourly_job():
    """Of a trigger of ten seconds, five batches are learned at once, ten in an hour, then one an hour."""
    found = learned(list(range(0, 3 * DAY, 10_000)))
    in_an_hour = [each for each in found if each < HOUR]
    last_day = [each for each in found if each >= 2 * DAY]

    assert found[:FIRST_EXECUTIONS] == [0, 10_000, 20_000, 30_000, 40_000]
    assert len(in_an_hour) == 10
    assert len(last_day) == 24


def test_query_of_every_two_hours_is_always_learned():
    """A query that runs less often than once an hour is learned each time."""
    ends = list(range(0, 3 * DAY, 2 * HOUR))

    assert learned(ends) == ends


@given(st.lists(st.integers(0, 7 * DAY), max_size=200))
def test_number_of_samples_is_bounded_by_time(ends: list[int]):
    """However often a template runs, it is learned at most twelve times and once an hour, also if ends arrive late."""
    found = learned(ends)
    span = max(ends, default=0)

    assert len(found) <= 12 + span // LONGEST_PERIOD_MS
    assert found[FIRST_EXECUTIONS:] == sorted(found[FIRST_EXECUTIONS:])


def test_execution_keys_lead_back_to_the_run():
    """The run of an execution is known from its key; the key of a run is not changed."""
    run = "app-1/0@1795226400000"

    assert key_of_query(run, 7) != key_of_job(run, 7)
    assert {application_run(each) for each in (run, key_of_query(run, 7), key_of_job(run, 7))} == {run}
