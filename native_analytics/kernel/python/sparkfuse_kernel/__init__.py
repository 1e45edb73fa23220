"""Fast readers: Protobuf records and Spark event logs to Arrow, without a Python loop over rows."""

from sparkfuse_kernel._kernel import (
    Batches,
    Decoded,
    Decoder,
    EventLog,
    EventLogDecoder,
    EventLogs,
    EventLogStream,
    Unpacker,
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
    "EventLog",
    "EventLogDecoder",
    "EventLogStream",
    "EventLogs",
    "Unpacker",
    "__version__",
    "decode",
    "open_event_log",
    "read_event_log",
    "read_event_logs",
]
