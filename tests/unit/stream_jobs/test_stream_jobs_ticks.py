from __future__ import annotations

import pytest

from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.ticks import PHASE_MS, BrokerClock, Ticks, clock_app_ids, murmur2


@pytest.mark.parametrize(
    ("key", "signed"),
    # From org.apache.kafka.common.utils.UtilsTest.testMurmur2.
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        ("abc", 479470107),
    ],
)
def test_keys_are_hashed_as_kafka_does(key: str, signed: int) -> None:
    """For Kafka's test vectors, the hash of a key equals Kafka's hash without the sign bit."""
    assert murmur2(key.encode()) == signed & 0x7FFFFFFF


@pytest.mark.parametrize("partitions", [(1, 1), (2, 2), (2, 3), (12, 7), (64, 2)])
def test_clocks_reach_every_partition_of_each_topic(partitions: tuple[int, ...]) -> None:
    """Each partition of each topic gets a tick. The ticks have at most as many application ids as partitions."""
    app_ids = clock_app_ids(*partitions)

    for count in partitions:
        assert {murmur2(name.encode()) % count for name in app_ids} == set(range(count))
    assert len(app_ids) <= sum(partitions)


@pytest.mark.parametrize("ahead_ms", [0.0, 137.0, -2600.0, 3_600_000.0])
def test_tick_arrives_just_after_a_full_second_of_the_broker(ahead_ms: float) -> None:
    """Neither a clock that differs from the broker's nor one delayed record changes the time of the tick."""
    clock = BrokerClock()
    clock.add_sample(1_000_000.0, 1_000_000.0 + ahead_ms + 900)
    clock.add_sample(1_001_000.0, 1_001_000.0 + ahead_ms)

    for now_ms in (2_000_000.0, 2_000_019.0, 2_000_021.0, 2_000_999.0):
        sent_ms = clock.next_tick_ms(now_ms, 1000)

        assert (sent_ms + ahead_ms) % 1000 == PHASE_MS
        assert 0 < sent_ms - now_ms <= 1000


def test_source_is_up_while_every_partition_gets_ticks() -> None:
    """One partition without ticks is enough to report the cluster as away; a tick of an old key changes nothing."""
    up: list[float] = []
    ticks = Ticks(Settings.from_environment({}), (2, 2), up=up.append)
    for name, delivered in (
        ("clock-0", True),
        ("clock-1", False),
        ("clock-0", True),
        ("gone", False),
        ("clock-1", True),
    ):
        ticks.note_delivery(name, delivered=delivered)

    assert up == [1, 0, 0, 0, 1]
