"""Records between the Python operators: several length-prefixed contents in one record, and their kinds.

PyFlink spends more time on one record than our steps spend on one row, so rows are sent in batches. Before each
content, the record has its length in four bytes, big-endian; io.sparkfuse.detect.FrameBuffer uses the same format.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Iterator

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_rules.knowledge.hosts import HostProblem
from sparkfuse_stream_jobs.detect.baselines import job_of
from sparkfuse_stream_jobs.detect.host_observations import HostReport
from sparkfuse_stream_jobs.detect.stage_expectations import StageContext
from sparkfuse_stream_jobs.detect.state.codec import Codec, unpickle

# The first byte of each message from Identify to AcrossRuns shows what it contains, in this order: a row of an
# application, which gets expectations, a row of a stage, which also gets bounds, a row that is passed on unchanged, a
# baseline with one sample, a host report, a display name.
ROW, STAGE, PASSED, BASELINE, HOSTS, NAME = b"r", b"s", b"p", b"b", b"h", b"n"
_SEPARATOR = "\x1f"
_LENGTH = struct.Struct(">I")
# Before the row of a stage: the fields of StageContext, and the length of the name of the query.
_CONTEXT = struct.Struct(">qqI")


def join_records(contents: Iterable[bytes]) -> bytes:
    """Return the contents as one record, in their order."""
    return b"".join(piece for content in contents for piece in (_LENGTH.pack(len(content)), content))


def split_record(record: bytes) -> Iterator[bytes]:
    """Return the contents of ``record``. Raises struct.error when a length is truncated."""
    at = 0
    while at < len(record):
        (length,) = _LENGTH.unpack_from(record, at)
        at += _LENGTH.size + length
        yield record[at - length : at]


def stage_message(content: bytes, context: StageContext) -> bytes:
    """Return the message of a stage's row."""
    name = context.query_name.encode()
    return STAGE + _CONTEXT.pack(context.unprojected_tasks, context.task_cpus, len(name)) + name + content


def read_stage(message: bytes) -> tuple[bytes, StageContext]:
    """Return the row and the context of a message of a stage, without its first byte."""
    tasks, task_cpus, length = _CONTEXT.unpack_from(message)
    start = _CONTEXT.size + length
    return message[start:], StageContext(tasks, task_cpus, message[_CONTEXT.size : start].decode())


def job_state_key(message: LiveRow | Baseline | DisplayName) -> str:
    """Return the key of the job. All rows of a run have the same key, so they keep their order."""
    return _SEPARATOR.join(job_of(message))


def hosts_state_key(cluster: str) -> str:
    """Return the key of the hosts of a cluster."""
    return _SEPARATOR.join(("hosts", cluster))


def host_report_codec() -> Codec[HostReport]:
    """Return the codec of host reports, which are sent from one operator to the next and not stored."""

    def decode(content: bytes) -> HostReport:
        values = unpickle(content)
        problems = tuple(HostProblem(**each) for each in values.pop("problems"))
        return HostReport(**values, problems=problems)

    def encode(report: HostReport) -> bytes:
        return pickle.dumps({**vars(report), "problems": [vars(each) for each in report.problems]})

    return Codec(encode, decode)
