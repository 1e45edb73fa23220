"""Fast readers: Protobuf records and Spark event logs to Arrow, without a Python loop over rows."""

from sparkfuse_kernel._kernel import (
    Batches,
    Decoded,
    Decoder,
    Decompressor,
    EventLog,
    EventLogDecoder,
    EventLogs,
    EventLogStream,
    __version__,
    decode,
    open_event_log,
    read_event_log,
    read_event_logs,
)

__all__ = [
    "Batches",
    "Decoded",
    "Decoder",
    "Decompressor",
    "EventLog",
    "EventLogDecoder",
    "EventLogStream",
    "EventLogs",
    "__version__",
    "decode",
    "open_event_log",
    "read_event_log",
    "read_event_logs",
]
