import pytest

from sparkfuse_native_analytics.event_logs.layouts import Layout, layout_of, may_be_log, without_doubles

APP = "app-20261121020000-0042"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(
            [f"events_10_{APP}.zstd", f"events_9_{APP}.zstd", f"events_2_{APP}.zstd"],
            ["events_2", "events_9", "events_10"],
            id="by number and not by text",
        ),
        pytest.param(
            [f"events_1_{APP}", f"events_2_{APP}", f"events_2_{APP}.compact", f"events_3_{APP}"],
            ["events_2.compact", "events_3"],
            id="a compacted file replaces all up to its index",
        ),
        pytest.param(
            [f"events_2_{APP}.compact", f"events_5_{APP}.zstd.compact", f"events_6_{APP}"],
            ["events_5.compact", "events_6"],
            id="the last compacted file counts",
        ),
        pytest.param(
            [f"events_1_{APP}_2.zstd", f"appstatus_{APP}_2.inprogress"], ["events_1"], id="attempt, still in progress"
        ),
    ],
)
def test_a_rolling_log_is_read_as_spark_reads_it(names, expected):
    """The order and the choice of Spark's own RollingEventLogFilesFileReader."""
    layout = layout_of(f"eventlog_v2_{APP}", names)
    short = [f"events_{name.split('_')[1]}{'.compact' if name.endswith('.compact') else ''}" for name in layout.names]

    assert short == expected


def test_a_gap_in_a_rolling_log_is_told():
    """A file of the middle, or of the beginning, that is gone is evidence that is missing."""
    names = [f"events_2_{APP}", f"events_5_{APP}"]

    assert layout_of("eventlog_v2_a", names).missing == ("events_1", "events_3", "events_4")
    assert layout_of("eventlog_v2_a", [f"events_7_{APP}.compact", f"events_8_{APP}"]).missing == ()


def test_a_wild_index_makes_no_endless_list():
    """A file name of a hostile folder costs no memory."""
    assert len(layout_of("eventlog_v2_a", ["events_1_a", "events_999999999999999999_a"]).missing) <= 10_000


def test_a_log_of_spark_1_is_its_event_file():
    """The marks beside it say version, codec and end; the kernel finds the codec by itself."""
    names = ["APPLICATION_COMPLETE", "COMPRESSION_CODEC_org.apache.spark.io.LZFCompressionCodec", "EVENT_LOG_1",
             "SPARK_VERSION_1.2.0"]  # fmt: skip

    assert layout_of("pagerank-1422981780767", names) == Layout(("EVENT_LOG_1",))


def test_what_databricks_delivers_is_in_the_order_of_time():
    """What was rolled away by the time in its name, then the file that is being written."""
    names = ["eventlog", "eventlog-2026-11-21--03-00.gz", "eventlog-2026-11-20--23-40.gz"]
    layout = layout_of("5577006791947779410", names)

    assert layout.names == ("eventlog-2026-11-20--23-40.gz", "eventlog-2026-11-21--03-00.gz", "eventlog")


def test_a_folder_of_logs_is_no_log():
    """Each child is one; a rolling folder without files is a log that says nothing."""
    assert layout_of("spark-events", [APP, f"{APP}.lz4"]) is None
    assert layout_of(f"eventlog_v2_{APP}", [f"appstatus_{APP}"]) == Layout(())


@pytest.mark.parametrize(
    ("name", "expected"),
    [(APP, True), (f"{APP}.zstd.inprogress", True), (".app.crc", False), ("_SUCCESS", False), ("x.crc", False),
     ("appstatus_x", False)],
)  # fmt: skip
def test_marks_and_checksums_are_no_logs(name, expected):
    """What Spark and Hadoop leave beside logs is passed over without a word."""
    assert may_be_log(name) is expected


def test_a_finished_log_hides_its_unfinished_double():
    """An object store may keep both for a while."""
    assert without_doubles(["a", "a.inprogress", "b.inprogress"]) == ["a", "b.inprogress"]
