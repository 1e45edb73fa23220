import pytest

from sparkfuse_kernel.event_logs.layouts import Layout, layout_of, may_be_log, without_duplicates

APP = "app-20261121020000-0042"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(
            [f"events_10_{APP}.zstd", f"events_9_{APP}.zstd", f"events_2_{APP}.zstd"],
            ["events_2", "events_9", "events_10"],
            id="order by number, not by text",
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
def test_rolling_log_has_the_file_order_of_spark(names, expected):
    """The files of a rolling log and their order equal those of Spark's RollingEventLogFilesFileReader."""
    layout = layout_of(f"eventlog_v2_{APP}", names)
    short = [f"events_{name.split('_')[1]}{'.compact' if name.endswith('.compact') else ''}" for name in layout.names]

    assert short == expected


def test_missing_files_of_a_rolling_log_are_listed():
    """A missing first or middle file is listed; files before a compacted file are not missing."""
    names = [f"events_2_{APP}", f"events_5_{APP}"]

    assert layout_of("eventlog_v2_a", names).missing == ("events_1", "events_3", "events_4")
    assert layout_of("eventlog_v2_a", [f"events_7_{APP}.compact", f"events_8_{APP}"]).missing == ()


def test_list_of_missing_files_is_bounded():
    """A huge index in a file name does not create a huge list."""
    assert len(layout_of("eventlog_v2_a", ["events_1_a", "events_999999999999999999_a"]).missing) <= 10_000


def test_spark_1_log_is_its_event_file():
    """The files that mark version, codec and end of a Spark 1 log are not part of the log."""
    names = ["APPLICATION_COMPLETE", "COMPRESSION_CODEC_org.apache.spark.io.LZFCompressionCodec", "EVENT_LOG_1",
             "SPARK_VERSION_1.2.0"]  # fmt: skip

    assert layout_of("pagerank-1422981780767", names) == Layout(("EVENT_LOG_1",))


def test_databricks_delivery_is_ordered_by_time():
    """Rotated files come first, ordered by the time in their names; the file being written is last."""
    names = ["eventlog", "eventlog-2026-11-21--03-00.gz", "eventlog-2026-11-20--23-40.gz"]
    layout = layout_of("5577006791947779410", names)

    assert layout.names == ("eventlog-2026-11-20--23-40.gz", "eventlog-2026-11-21--03-00.gz", "eventlog")


def test_folder_of_logs_has_no_layout():
    """A folder of log files is not one log; a rolling folder without files is an empty log."""
    assert layout_of("spark-events", [APP, f"{APP}.lz4"]) is None
    assert layout_of(f"eventlog_v2_{APP}", [f"appstatus_{APP}"]) == Layout(())


@pytest.mark.parametrize(
    ("name", "expected"),
    [(APP, True), (f"{APP}.zstd.inprogress", True), (".app.crc", False), ("_SUCCESS", False), ("x.crc", False),
     ("appstatus_x", False)],
)  # fmt: skip
def test_marker_and_checksum_files_are_no_logs(name, expected):
    """Files that Spark and Hadoop write beside logs are ignored."""
    assert may_be_log(name) is expected


def test_finished_log_hides_its_copy_in_progress():
    """If an object store lists a finished log and also its in-progress name, only the finished log is returned."""
    assert without_duplicates(["a", "a.inprogress", "b.inprogress"]) == ["a", "b.inprogress"]
