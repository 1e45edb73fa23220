"""An event log gives the same tables if it is read alone, with other logs, as a stream, or from file-like objects."""

from __future__ import annotations

import gc
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sparkfuse_kernel import open_event_log, read_event_log, read_event_logs
from tests.oracle.find import find_logs

ROOT = Path(__file__).parents[2]
LOGS = [[str(path) for path in log] for _, log in find_logs([ROOT / "logs" / "real"])]
TASKS = ("tasks",)


def tables(log: Any) -> list[list[dict[str, Any]]]:
    """Return the rows of the log's tables of stages, jobs and tasks."""
    return [pa.table(table).to_pylist() for table in (log.stages, log.jobs, log.tasks)]


def test_many_logs_are_returned_in_order() -> None:
    """Each log has the same tables as if it were read alone. A log that cannot be opened does not affect the others."""
    expected = [tables(read_event_log(log, tables=TASKS)) for log in LOGS]
    logs = read_event_logs([*LOGS[:2], ["no such file"], *LOGS[2:]], tables=TASKS)
    actual = [tables(next(logs)) for _ in range(2)]
    with pytest.raises(OSError, match="no such file"):
        next(logs)
    actual += [tables(log) for log in logs]

    assert len(LOGS) > 10
    assert actual == expected


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log[0].split("/real/")[1].split("/")[0])
def test_stream_from_a_reader_equals_the_whole_log(log: list[str]) -> None:
    """Task rows that are streamed from file-like objects equal those of the same log in files."""
    whole = read_event_log(log, tables=TASKS)
    files = [(path, io.BytesIO(Path(path).read_bytes())) for path in log]
    stream = open_event_log(files, batch_rows=3)
    rows = pa.RecordBatchReader.from_stream(stream).read_all().to_pylist()
    rest = stream.finish()

    assert rows == pa.table(whole.tasks).to_pylist()
    assert pa.table(rest.stages).to_pylist() == pa.table(whole.stages).to_pylist()
    assert rest.evidence["events_by_kind"] == whole.evidence["events_by_kind"]


def test_unread_stream_ends() -> None:
    """Reading stops if the stream is closed early or dropped."""
    opened = open_event_log(LOGS[0], batch_rows=1)
    dropped = open_event_log(LOGS[0], batch_rows=1)
    del dropped
    gc.collect()

    assert opened.finish().evidence["files"]


def test_task_rows_can_be_limited_to_stages() -> None:
    """Only the requested stage attempts have task rows; the stage table still has all stages."""
    log = next(each for each in LOGS if "queries-35" in each[0])
    whole = read_event_log(log, tables=TASKS)
    limited = read_event_log(log, tables=TASKS, tasks_of={(0, 0), (10, 0)})
    wanted = pc.is_in(pc.field("stage_id"), pa.array([0, 10]))

    assert pa.table(limited.tasks).to_pylist() == pa.table(whole.tasks).filter(wanted).to_pylist() != []
    assert pa.table(limited.stages).to_pylist() == pa.table(whole.stages).to_pylist()


def test_failing_reader_is_reported_as_evidence() -> None:
    """If a reader fails, the events before the error are kept, and the evidence names the error."""

    class Failing:
        def __init__(self) -> None:
            self.bytes = io.BytesIO(b'{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}\n')

        def read(self, size: int) -> bytes:
            found = self.bytes.read(size)
            if not found:
                raise ConnectionError("the bucket went away")
            return found

    evidence = read_event_log([("s3://bucket/log", Failing())]).evidence

    assert (evidence["events"], evidence["truncated"]) == (1, True)
    assert "the bucket went away" in evidence["files"][0]["error"]


def test_wrong_argument_raises_value_error() -> None:
    """A wrong argument raises ValueError with the wrong value in its message."""
    with pytest.raises(ValueError, match='"task" is no task table'):
        read_event_log(LOGS[0], tables=("task",))
    with pytest.raises(ValueError, match='"lines" is not the name of a limit'):
        read_event_log(LOGS[0], limits={"lines": 1})
