"""Record the event logs of tests/logs/queries: ``python tests/logs/queries/make.py [spark35] [spark4]``.

Runs ``job.py`` with the Spark environments of this checkout, about a minute each.
Spark runs from a fixed folder, so that no path of the machine gets into a log.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path

import zstandard

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from tests.logs.make_logs import JOB_SECONDS, SETTINGS, STAGE, configuration, start  # noqa: E402  run by path
from tests.oracle.containers import unpack  # noqa: E402

FOLDER = Path(__file__).parent
ENVIRONMENTS = ("spark35", "spark4")
MORE_SETTINGS = {
    "spark.sql.warehouse.dir": str(STAGE / "named/warehouse"),
    "spark.eventLog.compress": "true",
    "spark.eventLog.compression.codec": "zstd",
    "spark.eventLog.dir": f"file://{STAGE}/named/events",
    "spark.eventLog.logStageExecutorMetrics": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def record(environment: str) -> Path:
    """Run the job once and return its event log."""
    work = STAGE / "named"
    shutil.rmtree(work, ignore_errors=True)
    (work / "events").mkdir(parents=True)
    shutil.copy(FOLDER / "job.py", STAGE / "orders_job.py")
    output = STAGE / f"named-{environment}.log"
    with output.open("w") as stream, contextlib.ExitStack() as processes:
        command = ["spark-submit", *configuration(SETTINGS | MORE_SETTINGS), "orders_job.py", str(work)]
        code = start(environment, command, stream, processes).wait(JOB_SECONDS)
    if code:
        raise SystemExit(f"the job ended with {code}:\n{output.read_text()[-4000:]}")
    (log,) = [path for path in (work / "events").iterdir() if path.suffix != ".crc"]
    return log


def main() -> None:
    """Record the logs of the named environments, or of all."""
    for environment in sys.argv[1:] or ENVIRONMENTS:
        log = record(environment)
        target = FOLDER / f"{environment}.zstd"
        # Spark compresses for speed; at level 19 the log takes an eighth of the space.
        target.write_bytes(zstandard.compress(unpack(log.read_bytes()).data, 19))
        print(target.name, target.stat().st_size, "bytes", flush=True)


if __name__ == "__main__":
    main()
