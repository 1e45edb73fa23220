"""The ways into an event log: whole, many at once, as a stream of tasks, through a reader. All say the same."""

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
ASKED = ("tasks",)


def tables(log: Any) -> list[list[dict[str, Any]]]:
    """The rows of three tables."""
    return [pa.table(table).to_pylist() for table in (log.stages, log.jobs, log.tasks)]


def test_many_logs_come_in_their_order() -> None:
    """Each is what it is by itself, and one that cannot be opened does not keep the others back."""
    wanted = [tables(read_event_log(log, tables=ASKED)) for log in LOGS]
    logs = read_event_logs([*LOGS[:2], ["no such file"], *LOGS[2:]], tables=ASKED)
    found = [tables(next(logs)) for _ in range(2)]
    with pytest.raises(OSError, match="no such file"):
        next(logs)
    found += [tables(log) for log in logs]

    assert len(LOGS) > 10
    assert found == wanted


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log[0].split("/real/")[1].split("/")[0])
def test_a_reader_and_a_stream_give_the_same(log: list[str]) -> None:
    """Bytes from an object, and task rows that are taken while the log is read."""
    whole = read_event_log(log, tables=ASKED)
    pieces = [(path, io.BytesIO(Path(path).read_bytes())) for path in log]
    stream = open_event_log(pieces, batch_rows=3)
    rows = pa.RecordBatchReader.from_stream(stream).read_all().to_pylist()
    rest = stream.finish()

    assert rows == pa.table(whole.tasks).to_pylist()
    assert pa.table(rest.stages).to_pylist() == pa.table(whole.stages).to_pylist()
    assert rest.evidence["events_by_kind"] == whole.evidence["events_by_kind"]


def test_a_stream_that_nobody_takes_ends() -> None:
    """Neither finishing early nor dropping the stream leaves a thread that waits for ever."""
    opened = open_event_log(LOGS[0], batch_rows=1)
    left = open_event_log(LOGS[0], batch_rows=1)
    del left
    gc.collect()

    assert opened.finish().evidence["files"]


def test_only_the_wanted_stages_have_task_rows() -> None:
    """The stage table still counts all."""
    log = next(each for each in LOGS if "queries-35" in each[0])
    whole = read_event_log(log, tables=ASKED)
    few = read_event_log(log, tables=ASKED, tasks_of={(0, 0), (10, 0)})
    wanted = pc.is_in(pc.field("stage_id"), pa.array([0, 10]))

    assert pa.table(few.tasks).to_pylist() == pa.table(whole.tasks).filter(wanted).to_pylist() != []
    assert pa.table(few.stages).to_pylist() == pa.table(whole.stages).to_pylist()


def test_a_reader_that_fails_is_evidence() -> None:
    """What came before it counts."""

    class Failing:
        def __init__(self) -> None:
            self.left = io.BytesIO(b'{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}\n')

        def read(self, size: int) -> bytes:
            found = self.left.read(size)
            if not found:
                raise ConnectionError("the bucket went away")
            return found

    evidence = read_event_log([("s3://bucket/log", Failing())]).evidence

    assert (evidence["events"], evidence["truncated"]) == (1, True)
    assert "the bucket went away" in evidence["files"][0]["error"]


def test_a_wrong_argument_is_refused() -> None:
    """The sentence names it."""
    with pytest.raises(ValueError, match='"task" is neither tasks nor task_starts'):
        read_event_log(LOGS[0], tables=("task",))
    with pytest.raises(ValueError, match='there is no limit "lines"'):
        read_event_log(LOGS[0], limits={"lines": 1})
