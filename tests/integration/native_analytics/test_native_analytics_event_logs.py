"""The kernel's reading of real event logs, held against the oracle's, which shares no code with it."""

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
def test_every_committed_log_is_read_as_the_oracle_reads_it(name: str, threads: int) -> None:
    """Each number of each stage attempt, job, executor and application, and the evidence, on one thread and on two."""
    actual = compare(LOGS[name], threads)

    assert actual == []


@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize("name", LOGS)
def test_the_incremental_reader_finds_the_same_however_the_bytes_come(name: str, size: int) -> None:
    """Fed in pieces of any size, a log gives the tables that it gives when read whole."""
    plain = b"".join(unpack(path.read_bytes()).data for path in LOGS[name])

    actual = tables(fed(plain[at : at + size] for at in range(0, len(plain), size)))

    assert actual == tables(read(plain))


@pytest.mark.parametrize("codec", ["gzip", "gzip of two members", "zip", "zip in gzip", "zstd", "zstd frames"])
def test_a_packed_log_is_read_as_the_plain_one(codec: str, tmp_path: Path) -> None:
    """Whatever a log is packed with, and in however many frames, its numbers are those of the plain log."""
    plain = a_log()
    packed = tmp_path / "log"
    packed.write_bytes(PACKERS[codec](plain))

    actual = sparkfuse_kernel.read_event_log([packed], tables=TASK_TABLES)

    assert tables(actual) == tables(read(plain))


@pytest.mark.parametrize("name", LOGS)
def test_a_log_that_is_cut_anywhere_gives_what_stands_before_the_cut(name: str, tmp_path: Path) -> None:
    """Cut at a third, at a half and before the last byte, packed or not, kernel and oracle agree on what is left."""
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
def test_a_line_with_a_flipped_byte_spoils_nothing_else(data: st.DataObject) -> None:
    """Where the oracle can still read every line, both say the same; where it cannot, no other line suffers."""
    lines = a_log().splitlines(keepends=True)
    index = data.draw(st.integers(0, len(lines) - 1))
    line = bytearray(lines[index])
    line[data.draw(st.integers(0, len(line) - 2))] = data.draw(st.integers(0, 255))
    broken = b"".join([*lines[:index], bytes(line), *lines[index + 1 :]])
    oracle = the_oracle(broken)

    kernel = read(broken)

    if oracle.evidence["malformed"]:
        # The kernel looks only at what it needs, so a line that is broken elsewhere may count for it.
        others = the_oracle(b"".join([*lines[:index], *lines[index + 1 :]]))
        assert kernel.evidence["events"] >= others.evidence["events"]
    else:
        assert list(differences(kernel, oracle)) == []


@SLOW
@given(data=st.data())
def test_a_line_that_is_cut_short_is_malformed_and_the_next_one_is_read(data: st.DataObject) -> None:
    """Half a line joined with the next one, or standing alone, is one malformed line, told with number and offset."""
    lines = a_log().splitlines(keepends=True)
    index = data.draw(st.integers(0, len(lines) - 2))
    kept = lines[index][: data.draw(st.integers(1, len(lines[index]) - 2))]
    kept += data.draw(st.sampled_from([b"", b"\n"]))
    broken = b"".join([*lines[:index], kept, *lines[index + 1 :]])

    actual = list(differences(read(broken), the_oracle(broken)))

    assert actual == []


@SLOW
@given(data=st.data())
def test_other_writers_of_json_are_read_alike(data: st.DataObject) -> None:
    """Keys in another order, spaces, numbers as strings or with fractions, escapes, absent and unknown fields."""
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
def test_odd_numbers_are_none_and_counted(data: st.DataObject) -> None:
    """Whatever stands where a task's metric should be, the sums take it where it is a number and count it where not."""
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
    """The same event as another writer would put it, or with a field more or less."""
    event = changed_values(draw, event)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\t: ")]))
    text = json.dumps(event, ensure_ascii=draw(st.booleans()), separators=separators)
    return (draw(st.sampled_from(["", " ", "\t"])) + text + draw(st.sampled_from(["", " ", "\r"]))).encode()


def changed_values(draw: Callable[[st.SearchStrategy[Any]], Any], value: Any, depth: int = 0) -> Any:
    """Objects in another order and with unknown members, some numbers as strings; deep down things stay."""
    if isinstance(value, dict) and depth < 3:
        keys = draw(st.permutations(list(value)))
        extra = draw(st.sampled_from([{}, {"unknown": {"Stage ID": [1, '\\"}]{[']}}, {"Unknown ID": 10**30}]))
        return {key: changed_values(draw, value[key], depth + 1) for key in keys} | extra
    if isinstance(value, int) and not isinstance(value, bool) and depth:
        return draw(st.sampled_from([value, value, str(value), float(value) if abs(value) < 2**50 else value]))
    return value


def a_log() -> bytes:
    """A small plain log with failed tasks."""
    return b"".join(path.read_bytes() for path in next(paths for name, paths in LOGS.items() if "failures-35" in name))


def read(plain: bytes) -> Any:
    """The kernel's reading of these bytes as one file."""
    return sparkfuse_kernel.read_event_log([("log", io.BytesIO(plain))], tables=TASK_TABLES)


def fed(pieces: Iterator[bytes]) -> Any:
    """The kernel's incremental reading."""
    decoder = sparkfuse_kernel.EventLogDecoder(tables=TASK_TABLES)
    for piece in pieces:
        decoder.feed(piece)
    decoder.finish()
    return decoder.take()


def the_oracle(plain: bytes) -> Oracle:
    """The oracle's reading of the same."""
    oracle = Oracle()
    oracle.read("log", plain)
    return oracle


def tables(log: Any) -> dict[str, list[dict[str, Any]]]:
    """What both readers make, as rows."""
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
