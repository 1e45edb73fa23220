import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, TypeAlias

__version__: str

class Batches:
    """Arrow record batches; `pyarrow.table(x)` and DataFusion's `from_arrow(x)` read them without a copy."""

    @property
    def num_rows(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Decoded:
    """The result of decoding a list of records."""

    @property
    def batches(self) -> Batches:
        """One row for each valid record, in the order of the records."""

    @property
    def rejected(self) -> list[tuple[int, str]]:
        """Index and reason of each rejected record."""

class Decoder:
    """Decodes lists of records of one Protobuf message. Create it once; threads may share it.

    Each field of the message is a column; a field of a member of a oneof is the column `<member>_<field>`. A column
    with the oneof's name contains the name of the member that is set. An absent scalar is null; absent lists, maps of
    strings and lists of messages (structs) are empty. Single nested messages have no column.

    Raises ValueError if the descriptor set is invalid or the message cannot be converted to columns.
    """

    def __new__(cls, descriptor_set: bytes, message: str) -> Self: ...
    @property
    def columns(self) -> list[str]:
        """Names of the columns, in the order of the table."""

    def decode(self, records: Sequence[bytes | None]) -> Decoded:
        """Decode at most 4,194,304 records with at most 1 GiB in total.

        An invalid record is rejected and raises no error.
        """

def decode(descriptor_set: bytes, message: str, records: Sequence[bytes | None]) -> Decoded:
    """Decode records as `Decoder.decode` does, with a decoder that is created for this call."""

class Readable(Protocol):
    """An object whose `read(n)` returns at most n bytes, and an empty `bytes` object at the end."""

    def read(self, size: int, /) -> bytes: ...

LogFile: TypeAlias = str | os.PathLike[str] | tuple[str, Readable]

class EventLog:
    """The content of one event log as Arrow tables. Times are ms since 1970-01-01 UTC; absent values are null.

    The aggregates of a stage attempt are computed from its TaskEnd events. `tasks` is the number of these events.
    `succeeded` counts the events with Spark's reason Success, `killed` those with TaskKilled, `failed` those with any
    other reason, and `without_metrics` those without Task Metrics. Sums cover all task ends with Task Metrics; an
    absent metric counts as 0. Distributions (`wall_ms`, `task_run_ms`, `task_shuffle_read_bytes`, `task_input_bytes`,
    `task_bytes`) are structs of n, sum, min, median, p95 and max, and cover only succeeded task attempts. `wall_ms` is
    finish time minus launch time. `median` is the mean of the two middle values if n is even, `p95` the value at the
    nearest rank: sorted[ceil(0.95 n) - 1].
    """

    @property
    def applications(self) -> Batches:
        """One row for each application in the log, and at least one row.

        Columns: app_id, attempt, name, user_name, spark_version, started_ms, ended_ms.
        """

    @property
    def jobs(self) -> Batches:
        """One row for each job, in the order of the first events of the jobs.

        Columns: job_id, submitted_ms, completed_ms, result, failure_reason, stage_ids, description, job_group,
        sql_execution_id.
        """

    @property
    def stages(self) -> Batches:
        """One row for each stage attempt that was submitted, completed, or had the start or end of a task.

        Columns: stage_id, stage_attempt, name, call_site (the user's line), num_tasks, parent_stage_ids, scope_names
        (RDD scopes, with the numbers of codegen scopes), submitted_ms, completed_ms, failure_reason, status (succeeded,
        failed, or running if the log has no completion), job_id (first job that lists the stage), depth,
        sql_execution_id, job_description, job_group, resource_profile_id, started_tasks, tasks, succeeded, failed,
        killed, speculative, without_metrics, 16 sums (run_ms to output_records), 5 distributions, spilled_tasks,
        spilled_wall_ms, ended_wall_ms, first_launched_ms, last_finished_ms.

        Columns of the succeeded task attempt that read the most: biggest_task_index, biggest_task_bytes,
        biggest_task_ms.
        Columns of the succeeded task attempt with the longest wall time (the lowest index if several are equal):
        slowest_task_index, slowest_task_ms, slowest_task_bytes, slowest_task_gc_ms, slowest_task_executor_id,
        slowest_task_host.
        Counts of failed task attempts: fetch_failed, lost (reason ExecutorLostFailure), resubmitted.
        operator_rows_max: the largest accumulator `number of output rows`.
        """

    @property
    def failures(self) -> Batches:
        """One row for each failure class of a stage attempt: the first 32 classes by name.

        The evidence counts failures of other classes in `left_out`.

        Columns: stage_id, stage_attempt, failure_class (class of the exception, else Spark's reason), failed, hosts
        (number of hosts, at most 32), failing_tasks (number of tasks, at most 1,000), attempts_max (most failed
        attempts of one task). Columns of the last failure of this class in the log: failure_reason, task_index,
        executor_id, host (for a fetch failure, the host of the block that could not be fetched).
        """

    @property
    def executors(self) -> Batches:
        """Columns: executor_id, host, cores, added_ms, removed_ms, removed_reason, storage_memory_bytes."""

    @property
    def sql_executions(self) -> Batches:
        """One row for each SQL execution, in the order of the first events of the executions.

        Columns: sql_execution_id, root_execution_id, description, call_site (the user's line), started_ms, ended_ms,
        reported_status (``succeeded`` or ``failed``; None before Spark 3.4), failure_reason, plan_versions.
        """

    @property
    def plan_nodes(self) -> Batches:
        """One row for each node of each physical plan.

        Columns: sql_execution_id, plan_version (0 at the start, one more after each plan update), node (its number in
        pre-order), parent, name, condition, detail (what identifies the node, without literals), metric_ids,
        metric_names, metric_types.
        """

    @property
    def accumulators(self) -> Batches:
        """Columns: stage_id, stage_attempt, sql_execution_id (for driver updates), accumulator_id, name, value."""

    @property
    def executor_metrics(self) -> Batches:
        """Columns: executor_id, stage_id, stage_attempt, and the peak values jvm_heap_bytes to total_gc_ms."""

    @property
    def streaming_progress(self) -> Batches:
        """One row for each progress event of a streaming query.

        Columns: query_id, run_id, name, batch_id, timestamp_ms, batch_duration_ms, input_rows, input_rows_per_second,
        processed_rows_per_second, state_rows, state_memory_bytes, watermark_ms.
        """

    @property
    def environment(self) -> Batches:
        """One row for each allowed key. Columns: section, key, value."""

    @property
    def tasks(self) -> Batches | None:
        """One row for each TaskEnd, if requested."""

    @property
    def task_starts(self) -> Batches | None:
        """One row for each TaskStart, if requested."""

    @property
    def evidence(self) -> dict[str, Any]:
        """What was read from the log and what was not.

        Keys: files [{name, codec, bytes, plain_bytes (after decompression), lines, truncated, error}], plain_bytes,
        events, events_by_kind, malformed, malformed_lines [{file, line, offset, reason}] (the first 1,000), truncated,
        complete (the log has an ApplicationEnd), unfinished_tasks, duplicate_task_ends (further ends of a task id, such
        as Spark's Resubmitted), odd_values (values that are not 64-bit integers), unknown_events, left_out (rows beyond
        the limits). A line counts as an event if its JSON structure is complete; only values that a column needs are
        checked.
        """

class EventLogs:
    """Iterator over logs that are read in parallel, in the order of the request.

    If a file cannot be opened, `next` raises OSError for its log.
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> EventLog: ...

class EventLogStream:
    """A log whose task rows are streamed with limited memory. Usage: `pa.RecordBatchReader.from_stream(x)`."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def finish(self) -> EventLog:
        """Return all tables except the task rows.

        If not all task rows were consumed, the rest is dropped, and reading stops.
        """

class EventLogDecoder:
    """Decodes one growing log from decompressed bytes in pieces of any size.

    `events` lists names of events, without package and without the prefix `SparkListener`. If `events` is given, the
    decoder creates no tables, and `take_events` returns the listed events as JSON.
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
        """End the log.

        A last line without a line end is read if it is a complete event; otherwise, the log counts as truncated.
        """

    def take(self) -> EventLog:
        """Return the rows that were added since the last call.

        A stage can have rows in several calls, which the caller must add up.
        The evidence covers the log from its start.
        """

    def take_events(self) -> list[tuple[str, bytes]]:
        """Return the name and JSON of each event of `events` read since the last call, in the order of the log.

        Accumulables, executor metrics and updated blocks are removed from TaskEnd events, because they are most of an
        event's bytes.
        """

    @property
    def malformed(self) -> int:
        """Number of lines so far that are not events."""

    @property
    def resume_at(self) -> int:
        """Offset at which a later decoder can continue: the start of the first line that was not read."""

    @property
    def pending_bytes(self) -> int:
        """Number of bytes after `resume_at` that the decoder has already received."""

class Decompressor:
    """Decompresses one file while it grows, from pieces of any size. An incomplete block is kept until its end arrives.

    The first bytes determine the codec: plain, zstd, gzip, lz4, snappy or lzf. If `codec` is given, the decompressor
    continues at a `boundary` of an earlier decompressor; a codec without boundaries raises ValueError.
    """

    def __new__(cls, *, codec: str | None = None) -> Self: ...
    def feed(self, piece: bytes) -> bytes:
        """Return the bytes that can be decompressed now that this piece has arrived.

        Raises ValueError if the file is invalid.
        """

    @property
    def codec(self) -> str | None:
        """Name of the codec; None until enough bytes have arrived."""

    @property
    def boundary(self) -> tuple[int, int]:
        """Numbers of compressed and of decompressed bytes that a later decompressor can skip.

        They are (0, 0) if a later decompressor must start at the beginning.
        """

TASK_EVENTS: tuple[str, ...]
"""Names of the task events that produce facts, without package and without the prefix `SparkListener`."""
INFREQUENT_EVENTS: tuple[str, ...]
"""Names of all other events that produce facts; a translator that resumes must replay these events."""

class NoApplicationError(ValueError):
    """Raised if a log does not belong to an application; the message states the reason in one sentence."""

class Redaction(Protocol):
    """The functions that mask secrets in the texts of facts."""

    def scrub(self, text: str, /) -> str:
        """Mask secrets in free text."""

    def scrub_query(self, text: str, /) -> str:
        """Mask secrets and literals in SQL text."""

    def select_properties(self, properties: dict[str, str], /) -> tuple[dict[str, str], dict[str, str]]:
        """Select the identity properties and the allowed configuration of an application, both scrubbed."""

class FactTranslator:
    """Translates the events of one growing log into records: encoded `Fact` messages.

    The translator returns no facts until the application is known. A malformed event is counted and leaves a gap in the
    bulk lane. `next_seq` contains the next sequence number of the bulk lane and that of the reserved lane.
    """

    def __new__(
        cls, redaction: Redaction, *, cluster: str, tenant: str, collector: str, next_seq: tuple[int, int] = (0, 0)
    ) -> Self: ...
    def translate(self, events: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """Return the records of the facts of these events, in order. An event is a pair: its name and its JSON.

        Raises NoApplicationError.
        """

    def replay(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Update the state with events whose facts were already sent. Raises NoApplicationError."""

    def health(self, at_ms: int, behind_bytes: int, torn: bool) -> list[bytes]:
        """Return a list with one CollectorHealth record; the list is empty while the application is unknown."""

    def count_malformed(self, count: int) -> None:
        """Count malformed lines as lost facts, so that consumers see a gap in the sequence numbers."""

    def resume_as(self, app_id: str, attempt: int, start_ms: int) -> None:
        """Continue in the middle of a log whose beginning no longer exists; the arguments identify the application."""

    @property
    def identity(self) -> tuple[str, int, int] | None:
        """Spark's application id, the number of the attempt and the start in ms; None until they are known."""

    @property
    def has_plugin(self) -> bool:
        """Whether the application's configuration contains the plugin, which then reports the application itself."""

    @property
    def ended_ms(self) -> int | None:
        """When the application ended, in ms since the epoch; None until then."""

    @property
    def malformed(self) -> int:
        """Number of malformed lines and events so far, plus the number of facts that were too large for a record."""

    @property
    def next_seq(self) -> tuple[int, int]:
        """The next sequence number of the bulk lane and that of the reserved lane."""

    @next_seq.setter
    def next_seq(self, numbers: tuple[int, int]) -> None: ...

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
    """Read the files of one log, in order.

    `tables` may contain tasks and task_starts. `environment` lists the configuration keys to store; a key that ends in
    `*` is a prefix. `tasks_of` limits task rows to the given stage attempts, as (stage_id, stage_attempt). `limits` may
    contain line_bytes, plain_bytes, ratio, ratio_from, table_bytes and detail_bytes (accumulators, plan updates, memory
    samples). Raises OSError if a path cannot be opened. Errors inside a file raise nothing; they are recorded in the
    evidence.
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
    """Read many logs in parallel. The other arguments are explained at `read_event_log`."""

def open_event_log(
    files: Sequence[LogFile],
    *,
    threads: int = 2,
    environment: Sequence[str] = (),
    limits: Mapping[str, int] | None = None,
    tasks_of: set[tuple[int, int]] | None = None,
    batch_rows: int = 65536,
) -> EventLogStream:
    """Read the files of one log and stream its task rows. The arguments are explained at `read_event_log`."""
