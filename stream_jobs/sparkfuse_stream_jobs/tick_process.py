"""``python -m sparkfuse_stream_jobs.tick_process`` sends the ticks of a windows job on a Flink session cluster.

In the mini cluster and in application mode, the windows job's own program sends the ticks.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading

from sparkfuse_contracts.kafka_access import KafkaUnavailableError
from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_stream_jobs.errors import StartError
from sparkfuse_stream_jobs.job_metrics import serve_metrics
from sparkfuse_stream_jobs.sources import require_topics, source_up
from sparkfuse_stream_jobs.ticks import Ticks, ticks_sent

KAFKA_EXIT_CODE = 3


def main() -> int:
    """Send ticks until SIGTERM or SIGINT. Exit codes: 0 after a signal; 2 and 3 if the process could not start."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        settings = Settings.from_environment()
        registry = serve_metrics(settings, with_job=False)
        sent, up = ticks_sent(registry), source_up(settings, registry).set if settings.source else None
        partitions = require_topics(settings, waits=True)
    except (KafkaUnavailableError, StartError, SettingError) as error:
        print(f"sparkfuse ticks: {error}", file=sys.stderr)
        if isinstance(error, KafkaUnavailableError):
            return KAFKA_EXIT_CODE
        return error.exit_code if isinstance(error, StartError) else StartError.exit_code
    with Ticks(settings, partitions, sent.inc, up):
        stop.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
