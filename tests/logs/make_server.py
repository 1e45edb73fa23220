"""Record the event log tests/logs/server.zstd again: ``python tests/logs/make_server.py``, one and a half minutes."""

from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.logs.make_logs import JOB_SECONDS, SETTINGS, STAGE, configuration, start

ENVIRONMENT = "spark4"
LOG = Path(__file__).with_name("server.zstd")


def main() -> None:
    """Run the job, and keep its log."""
    folder, job = STAGE / "events" / "server", STAGE / "server_job.py"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copyfile(Path(__file__).with_name("server_job.py"), job)
    settings = SETTINGS | {
        "spark.master": "local[4]",
        "spark.eventLog.compress": "true",
        "spark.eventLog.compression.codec": "zstd",
        "spark.eventLog.dir": f"file://{folder}",
    }
    with (STAGE / "server.log").open("w") as output, contextlib.ExitStack() as processes:
        application = start(ENVIRONMENT, ["spark-submit", *configuration(settings), str(job)], output, processes)
        print("ended with", application.wait(JOB_SECONDS), flush=True)
    (recorded,) = folder.glob("local-*")
    LOG.write_bytes(recorded.read_bytes())
    print(LOG.name, LOG.stat().st_size, "bytes", flush=True)


if __name__ == "__main__":
    main()
