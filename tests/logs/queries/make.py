"""Record the event logs of tests/logs/queries: ``python tests/logs/queries/make.py [NAME…]``.

Runs ``job.py`` and ``reports_job.py`` with the Spark environments of this checkout, about a minute each;
``make build/stamps/env-spark33`` installs an environment.
Spark runs from a fixed folder, so that no path of the machine gets into a log.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import zstandard

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from tests.logs.make_logs import (  # noqa: E402  run by path
    SETTINGS,
    STAGE,
    configuration,
    environment,
    start,
)
from tests.oracle.containers import unpack  # noqa: E402

FOLDER = Path(__file__).parent
WORK = STAGE / "named"
RECORD_SECONDS = 900
CONNECT = "connect"
"""The environment whose jobs are clients of Spark Connect."""
LOGS = {
    "spark35": ("spark35", "job.py"),
    "spark4": ("spark4", "job.py"),
    "reports-spark33": ("spark33", "reports_job.py"),
    "reports-spark34": ("spark34", "reports_job.py"),
    "reports-spark35": ("spark35", "reports_job.py"),
    "reports-spark40": ("spark40", "reports_job.py"),
    "reports-spark4": ("spark4", "reports_job.py"),
    "reports-connect": (CONNECT, "reports_job.py"),
}
NAMES_IN_LOGS = {"job.py": "orders_job.py", "reports_job.py": "reports.py"}
MORE_SETTINGS = {
    "spark.sql.warehouse.dir": str(WORK / "warehouse"),
    "spark.eventLog.compress": "true",
    "spark.eventLog.compression.codec": "zstd",
    "spark.eventLog.dir": f"file://{WORK}/events",
    "spark.eventLog.logStageExecutorMetrics": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def record(name: str) -> Path:
    """Run the job of a log once and return its event log."""
    where, job = LOGS[name]
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "events").mkdir(parents=True)
    program = STAGE / NAMES_IN_LOGS[job]
    shutil.copy(FOLDER / job, program)
    output = STAGE / f"{name}.log"
    with output.open("w") as stream, contextlib.ExitStack() as processes:
        if where == CONNECT:
            process = start_client(program, stream, processes)
        else:
            command = ["spark-submit", *configuration(SETTINGS | MORE_SETTINGS), program.name, str(WORK)]
            process = start(where, command, stream, processes)
        code = process.wait(RECORD_SECONDS)
    if code:
        raise SystemExit(f"the job ended with {code}:\n{output.read_text()[-4000:]}")
    (log,) = [path for path in (WORK / "events").iterdir() if path.suffix != ".crc"]
    return log


def start_client(program: Path, stream: TextIO, processes: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    """Start a Spark Connect client, which starts a local server with the settings and stops the server at its end."""
    settings = {key: value for key, value in (SETTINGS | MORE_SETTINGS).items() if key != "spark.master"}
    variables = environment(CONNECT) | {
        "SPARK_REMOTE": "local[2]",
        "PYSPARK_SUBMIT_ARGS": shlex.join([*configuration(settings), "pyspark-shell"]),
    }
    command = [variables["PYSPARK_PYTHON"], program.name, str(WORK)]
    process = subprocess.Popen(command, cwd=STAGE, env=variables, stdout=stream, stderr=stream)
    processes.callback(process.wait)
    processes.callback(process.kill)
    return process


def main() -> None:
    """Record the named logs, or all."""
    for name in sys.argv[1:] or LOGS:
        log = record(name)
        target = FOLDER / f"{name}.zstd"
        # Spark compresses for speed; at level 19 the log takes an eighth of the space.
        target.write_bytes(zstandard.compress(unpack(log.read_bytes()).data, 19))
        print(target.name, target.stat().st_size, "bytes", flush=True)


if __name__ == "__main__":
    main()
