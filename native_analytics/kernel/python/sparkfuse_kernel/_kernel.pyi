import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, TypeAlias

__version__: str

class Batches:
    """Arrow record batches; `pyarrow.table(x)` and DataFusion's `from_arrow(x)` take it without a copy."""

    @property
    def num_rows(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Decoded:
    """What became of a list of records."""

    @property
    def batches(self) -> Batches:
        """One row for each record that decoded, in their order."""

    @property
    def rejected(self) -> list[tuple[int, str]]:
        """Index and reason of each record that did not decode."""

class Decoder:
    """Decodes lists of records of one message; made once, safe to share between threads.

    Columns: the message's fields; `<member>_<field>` for the members of a oneof; a column with the oneof's name that
    holds the member's name. Scalars are null when absent; lists, maps of strings and lists of messages (structs) are
    empty; single nested messages are passed over.

    Raises ValueError when the descriptor set or the message's shape cannot be used.
    """

    def __new__(cls, descriptor_set: bytes, message: str) -> Self: ...
    @property
    def columns(self) -> list[str]:
        """Names of the columns, in their order."""

    def decode(self, records: Sequence[bytes | None]) -> Decoded:
        """Decodes records (at most 4,194,304 and 1 GiB); bad ones are set aside, never raised."""

def decode(descriptor_set: bytes, message: str, records: Sequence[bytes | None]) -> Decoded:
    """Decodes records with a decoder made for this one call."""

class Readable(Protocol):
    """Anything whose `read(n)` gives at most n bytes, and none at the end."""

    def read(self, size: int, /) -> bytes: ...

LogFile: TypeAlias = str | os.PathLike[str] | tuple[str, Readable]

class EventLog:
    """What one event log says, as Arrow tables; times are ms since 1970-01-01 UTC, absent is null.

    A stage attempt is known by (stage_id, stage_attempt) of its TaskEnd events. `tasks` counts them: `succeeded` by
    Spark's reason Success, `killed` by TaskKilled, `failed` by any other; `without_metrics` carried no Task Metrics.
    The sums are over every TaskEnd with Task Metrics. The distributions (`wall_ms`, `task_run_ms`,
    `task_shuffle_read_bytes`, `task_input_bytes`, `task_bytes`: structs of n, sum, min, median, p95, max) are over
    succeeded attempts: `wall_ms` is finish - launch, `median` the mean of the middle two, `p95` the nearest rank,
    sorted[ceil(0.95 n) - 1]. A field that an attempt with metrics lacks counts as 0.
    """

    @property
    def applications(self) -> Batches:
        """app_id, attempt, name, user_name, spark_version, started_ms, ended_ms; at least one row."""

    @property
    def jobs(self) -> Batches:
        """Jobs, in the order of their first event.

        job_id, submitted_ms, completed_ms, result, failure_reason, stage_ids, description, job_group,
        sql_execution_id.
        """

    @property
    def stages(self) -> Batches:
        """One row for each stage attempt that was submitted, completed or had a task start or end.

        stage_id, stage_attempt, name, call_site (the user's line), num_tasks, parent_stage_ids, scope_names (RDD
        scopes; a codegen scope keeps its number), submitted_ms, completed_ms, failure_reason, status (succeeded,
        failed, running: no completion seen), job_id (first job that lists it), depth,
        sql_execution_id, job_description, job_group, resource_profile_id, started_tasks, tasks, succeeded, failed,
        killed, speculative, without_metrics, 16 sums (run_ms to output_records), 5 distributions, spilled_tasks,
        spilled_wall_ms, ended_wall_ms, first_launched_ms, last_finished_ms, biggest_task_index, biggest_task_bytes,
        biggest_task_ms (of the succeeded attempt that read most), slowest_task_index, slowest_task_ms,
        slowest_task_bytes, slowest_task_gc_ms, slowest_task_executor_id, slowest_task_host (of the succeeded attempt
        with the longest wall time, of several alike the lowest index), fetch_failed, lost (reason
        ExecutorLostFailure), resubmitted (all three among failed), operator_rows_max (of its accumulators
        `number of output rows`).
        """

    @property
    def failures(self) -> Batches:
        """Failed attempts of a stage attempt by class, at most 32 classes; what has no room is in `left_out`.

        stage_id, stage_attempt, failure_class (of the exception, else Spark's reason), failed, hosts (different ones
        with such a failure, at most 32), failing_tasks (different ones, at most 1,000), attempts_max (most failed
        attempts of one of those); of the last one in the log: failure_reason, task_index,
        executor_id, host (where a block could not be fetched, those of the block).
        """

    @property
    def executors(self) -> Batches:
        """executor_id, host, cores, added_ms, removed_ms, removed_reason, storage_memory_bytes."""

    @property
    def sql_executions(self) -> Batches:
        """SQL executions, in the order of their first event.

        sql_execution_id, root_execution_id, description, call_site (the user's line), started_ms, ended_ms,
        failure_reason, plan_versions.
        """

    @property
    def plan_nodes(self) -> Batches:
        """Nodes of the physical plans.

        sql_execution_id, plan_version (0 at the start, one more for each re-plan), node (pre-order), parent, name,
        condition, detail (what identifies the node, without literals), metric_ids, metric_names, metric_types.
        """

    @property
    def accumulators(self) -> Batches:
        """stage_id, stage_attempt, sql_execution_id (of the driver's updates), accumulator_id, name, value."""

    @property
    def executor_metrics(self) -> Batches:
        """executor_id, stage_id, stage_attempt, and peaks: jvm_heap_bytes to total_gc_ms."""

    @property
    def streaming_progress(self) -> Batches:
        """Progress of streaming queries.

        query_id, run_id, name, batch_id, timestamp_ms, batch_duration_ms, input_rows, input_rows_per_second,
        processed_rows_per_second, state_rows, state_memory_bytes, watermark_ms.
        """

    @property
    def environment(self) -> Batches:
        """section, key, value; allowed keys only."""

    @property
    def tasks(self) -> Batches | None:
        """One row for each TaskEnd, when asked for."""

    @property
    def task_starts(self) -> Batches | None:
        """One row for each TaskStart, when asked for."""

    @property
    def evidence(self) -> dict[str, Any]:
        """What was read and what was not.

        files [{name, codec, bytes, plain_bytes, lines, truncated, error}], plain_bytes, events, events_by_kind,
        malformed, malformed_lines [{file, line, offset, reason}] (the first 1,000), truncated, complete (an
        ApplicationEnd was seen), unfinished_tasks, duplicate_task_ends (ends beyond the first of a task id; Spark's
        Resubmitted is one), odd_values (numbers that were none), unknown_events, left_out (events without room).
        A line is taken when its structure is whole; what no column needs is not looked into.
        """

class EventLogs:
    """Logs in their order, read side by side; a log whose file cannot be opened raises OSError at its turn."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> EventLog: ...

class EventLogStream:
    """A log whose task rows are taken while it is read, in bounded memory: `pa.RecordBatchReader.from_stream(x)`."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def finish(self) -> EventLog:
        """Everything but the task rows. Rows that nobody took by then are dropped, and reading ends there."""

class EventLogDecoder:
    """Reads one growing log, plain bytes in pieces of any size.

    With `events`, names of events without package and `SparkListener`, it makes no tables: `take_events` hands out
    those events as they are.
    """

    def __new__(
        cls,
        *,
        offset: int = 0,
        tables: Sequence[str] = (),
        environment: Sequence[str] = (),
        limits: Mapping[str, int] | None = None,
        batch_rows: int = 8192,
        events: Sequence[str] | None = None,
    ) -> Self: ...
    def feed(self, piece: bytes) -> None: ...
    def finish(self) -> None:
        """The log ends here: a last line without its end is taken when it is whole, else it is torn."""

    def take(self) -> EventLog:
        """What came since this was asked last: rows of a stage add up. The evidence is of everything so far."""

    def take_events(self) -> list[tuple[str, bytes]]:
        """Name and JSON of each wanted event since this was asked last, in their order; whole objects only.

        A TaskEnd comes without its accumulables, its peaks and its updated blocks, which are most of its bytes.
        """

    @property
    def malformed(self) -> int:
        """Lines so far that were no events."""

    @property
    def resume_at(self) -> int:
        """Where a later reader goes on: the beginning of the first line that was not read."""

    @property
    def pending_bytes(self) -> int:
        """Bytes behind `resume_at` that were fed already."""

class Decompressor:
    """Unpacks one file as it grows: packed bytes in pieces of any size, plain bytes out; half a frame waits.

    The codec is told by the first bytes: plain, zstd, gzip, lz4, snappy, lzf. With `codec` it begins behind a boundary
    of an earlier unpacker; raises ValueError for a codec without boundaries.
    """

    def __new__(cls, *, codec: str | None = None) -> Self: ...
    def feed(self, piece: bytes) -> bytes:
        """The plain bytes that this piece completes; ValueError once the file turns out to be broken."""

    @property
    def codec(self) -> str | None:
        """Name of the codec, None while too few bytes came."""

    @property
    def boundary(self) -> tuple[int, int]:
        """Packed and plain bytes, from where it began, that a later one need not read again; (0, 0) without any."""

def read_event_log(
    files: Sequence[LogFile],
    *,
    threads: int = 2,
    tables: Sequence[str] = (),
    environment: Sequence[str] = (),
    limits: Mapping[str, int] | None = None,
    tasks_of: set[tuple[int, int]] | None = None,
    batch_rows: int = 65536,
) -> EventLog:
    """Reads the files of one log, in order.

    `tables` may name tasks and task_starts. `environment` lists configuration keys that may be kept; one that ends in
    `*` is a prefix. `tasks_of` keeps the rows of these (stage_id, stage_attempt) only. `limits`: line_bytes,
    plain_bytes, ratio, ratio_from, table_bytes, detail_bytes (accumulators, re-plans, samples of memory).
    Raises OSError when a path cannot be opened; what is wrong inside a file is in the evidence.
    """

def read_event_logs(
    logs: Sequence[Sequence[LogFile]],
    *,
    threads: int = 2,
    tables: Sequence[str] = (),
    environment: Sequence[str] = (),
    limits: Mapping[str, int] | None = None,
    batch_rows: int = 65536,
) -> EventLogs:
    """Reads many logs side by side; arguments as of `read_event_log`."""

def open_event_log(
    files: Sequence[LogFile],
    *,
    threads: int = 2,
    environment: Sequence[str] = (),
    limits: Mapping[str, int] | None = None,
    tasks_of: set[tuple[int, int]] | None = None,
    batch_rows: int = 65536,
) -> EventLogStream:
    """Reads the files of one log, its task rows as a stream; arguments as of `read_event_log`."""
