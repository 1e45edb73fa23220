"""Tests that the kernel and the oracle, which share no code, read the same values from real event logs."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sparkfuse_kernel
from tests.oracle.compare import KEYS, TASK_TABLES, compare, differences
from tests.oracle.containers import unpack
from tests.oracle.event_log import Oracle
from tests.oracle.find import find_logs

REAL = Path(__file__).parents[2] / "logs" / "real"
LOGS = dict(sorted((str(where.relative_to(REAL)), paths) for where, paths in find_logs([REAL])))
PIECES = (1_000, 4_096, 65_536, 1_000_003)
SLOW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LOGS)
def test_committed_log_equals_the_oracle(name: str, threads: int) -> None:
    """All tables and the evidence of a committed log equal the oracle's, whether one or two threads read the log."""
    actual = compare(LOGS[name], threads)

    assert actual == []


@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize("name", LOGS)
def test_incremental_reading_equals_whole_reading(name: str, size: int) -> None:
    """A log that is fed in pieces of any size gives the tables of the whole log."""
    plain = b"".join(unpack(path.read_bytes()).data for path in LOGS[name])

    actual = tables(fed(plain[at : at + size] for at in range(0, len(plain), size)))

    assert actual == tables(read(plain))


@pytest.mark.parametrize("codec", ["gzip", "gzip of two members", "zip", "zip in gzip", "zstd", "zstd frames"])
def test_compressed_log_equals_the_plain_log(codec: str, tmp_path: Path) -> None:
    """A log in any container and any number of frames gives the tables of the plain log."""
    plain = a_log()
    packed = tmp_path / "log"
    packed.write_bytes(PACKERS[codec](plain))

    actual = sparkfuse_kernel.read_event_log([packed], tables=TASK_TABLES)

    assert tables(actual) == tables(read(plain))


@pytest.mark.parametrize("name", LOGS)
def test_truncated_log_gives_the_events_before_the_cut(name: str, tmp_path: Path) -> None:
    """Kernel and oracle give equal events for a log that is truncated at a third, a half or before its last byte."""
    last = LOGS[name][-1]
    packed = last.read_bytes()
    cut = tmp_path / last.name

    actual = []
    for length in (len(packed) // 3, len(packed) // 2, len(packed) - 1):
        cut.write_bytes(packed[:length])
        actual += compare([*LOGS[name][:-1], cut])

    assert actual == []


@SLOW
@given(data=st.data())
def test_changed_byte_affects_only_its_line(data: st.DataObject) -> None:
    """After a change of one byte, kernel and oracle agree if the oracle can read each line.

    If the oracle cannot read the changed line, the kernel still reads all other lines.
    """
    lines = a_log().splitlines(keepends=True)
    index = data.draw(st.integers(0, len(lines) - 1))
    line = bytearray(lines[index])
    line[data.draw(st.integers(0, len(line) - 2))] = data.draw(st.integers(0, 255))
    broken = b"".join([*lines[:index], bytes(line), *lines[index + 1 :]])
    oracle = the_oracle(broken)

    kernel = read(broken)

    if oracle.evidence["malformed"]:
        # The kernel checks only the values that it needs, so it may accept a line that the oracle rejects.
        others = the_oracle(b"".join([*lines[:index], *lines[index + 1 :]]))
        assert kernel.evidence["events"] >= others.evidence["events"]
    else:
        assert list(differences(kernel, oracle)) == []


@SLOW
@given(data=st.data())
def test_incomplete_line_is_malformed(data: st.DataObject) -> None:
    """A truncated line, alone or joined with the next one, is reported as one malformed line with number and offset."""
    lines = a_log().splitlines(keepends=True)
    index = data.draw(st.integers(0, len(lines) - 2))
    kept = lines[index][: data.draw(st.integers(1, len(lines[index]) - 2))]
    kept += data.draw(st.sampled_from([b"", b"\n"]))
    broken = b"".join([*lines[:index], kept, *lines[index + 1 :]])

    actual = list(differences(read(broken), the_oracle(broken)))

    assert actual == []


@SLOW
@given(data=st.data())
def test_json_of_other_writers_is_read(data: st.DataObject) -> None:
    """Other key orders, spaces, numbers as strings or with fractions, escapes and unknown fields change nothing."""
    lines = a_log().splitlines()
    chosen = data.draw(st.sets(st.integers(0, len(lines) - 1), min_size=1, max_size=20))
    for index in chosen:
        lines[index] = rewritten(data.draw, json.loads(lines[index]))
    changed = b"\n".join(lines) + b"\n"

    actual = list(differences(read(changed), the_oracle(changed)))

    assert actual == []


ODD_NUMBERS = [
    *("1e30", "-0", "NaN", "12", "-7", "3.9", "1e3", "null", "true", "[]", "{}", "9" * 400),
    *(str(10**30), str(2**63), str(10**17), str(-(10**17))),
    *('"17"', '"-3"', '"2.5"', '"x"', '""'),
]


@SLOW
@given(data=st.data())
def test_invalid_numbers_are_null_and_counted(data: st.DataObject) -> None:
    """If a metric of a task is a number, sums include the metric; if it is another value, `odd_values` counts it."""
    lines = a_log().splitlines()
    ends = [index for index, line in enumerate(lines) if b'"SparkListenerTaskEnd"' in line]
    for index in data.draw(st.lists(st.sampled_from(ends), min_size=1, max_size=5, unique=True)):
        key = data.draw(st.sampled_from(NUMBER_KEYS))
        value = data.draw(st.sampled_from(ODD_NUMBERS)).encode()
        head, found, rest = lines[index].partition(b'"%s":' % key)
        if found:
            lines[index] = head + found + value + rest.lstrip(b"-0123456789.")
    changed = b"\n".join(lines) + b"\n"

    actual = list(differences(read(changed), the_oracle(changed)))

    assert actual == []


NUMBER_KEYS = [b"Executor Run Time", b"JVM GC Time", b"Disk Bytes Spilled", b"Remote Bytes Read", b"Local Bytes Read",
               b"Total Records Read", b"Shuffle Bytes Written", b"Launch Time", b"Finish Time", b"Index",
               b"Stage Attempt ID", b"Result Size"]  # fmt: skip


def rewritten(draw: Callable[[st.SearchStrategy[Any]], Any], event: Any) -> bytes:
    """Return the event as another JSON writer might write it, or with an additional field."""
    event = changed_values(draw, event)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\t: ")]))
    text = json.dumps(event, ensure_ascii=draw(st.booleans()), separators=separators)
    return (draw(st.sampled_from(["", " ", "\t"])) + text + draw(st.sampled_from(["", " ", "\r"]))).encode()


def changed_values(draw: Callable[[st.SearchStrategy[Any]], Any], value: Any, depth: int = 0) -> Any:
    """Return the value with reordered and added members, and some numbers as strings, down to three levels."""
    if isinstance(value, dict) and depth < 3:
        keys = draw(st.permutations(list(value)))
        extra = draw(st.sampled_from([{}, {"unknown": {"Stage ID": [1, '\\"}]{[']}}, {"Unknown ID": 10**30}]))
        return {key: changed_values(draw, value[key], depth + 1) for key in keys} | extra
    if isinstance(value, int) and not isinstance(value, bool) and depth:
        return draw(st.sampled_from([value, value, str(value), float(value) if abs(value) < 2**50 else value]))
    return value


def a_log() -> bytes:
    """Return a small plain log with failed tasks."""
    return b"".join(path.read_bytes() for path in next(paths for name, paths in LOGS.items() if "failures-35" in name))


def read(plain: bytes) -> Any:
    """Read the bytes with the kernel, as one file."""
    return sparkfuse_kernel.read_event_log([("log", io.BytesIO(plain))], tables=TASK_TABLES)


def fed(pieces: Iterator[bytes]) -> Any:
    """Read the pieces with the kernel's incremental decoder."""
    decoder = sparkfuse_kernel.EventLogDecoder(tables=TASK_TABLES)
    for piece in pieces:
        decoder.feed(piece)
    decoder.finish()
    return decoder.take()


def the_oracle(plain: bytes) -> Oracle:
    """Read the bytes with the oracle."""
    oracle = Oracle()
    oracle.read("log", plain)
    return oracle


def tables(log: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a log by table, for the tables that both the kernel and the oracle have."""
    return {name: pa.table(getattr(log, name)).to_pylist() for name in (*KEYS, *TASK_TABLES)}


def zipped(plain: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        stream.writestr("eventlog", plain)
    return archive.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip of two members": lambda plain: gzip.compress(plain[:5000]) + gzip.compress(plain[5000:]),
    "zip": zipped,
    "zip in gzip": lambda plain: gzip.compress(zipped(plain)),
    "zstd": zstd.compress,
    "zstd frames": lambda plain: zstd.compress(plain[:777]) + zstd.compress(plain[777:]),
}
