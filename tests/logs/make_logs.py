"""Record the small event logs of tests/logs/real again: ``python tests/logs/make_logs.py [NAME…]``.

The script runs the jobs of ``jobs.py`` with the Spark environments of this checkout, about half a minute per log.
Spark runs in a folder with a fixed name, so that a log contains no path of the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.logs.history_server import HistoryServer  # noqa: E402
from tests.oracle.containers import unpack  # noqa: E402  a script, run by path from anywhere
from tests.oracle.find import find_logs  # noqa: E402
from tests.waiting import wait_for  # noqa: E402

REAL = Path(__file__).parent / "real"
STAGE = Path("/tmp/spark-logs")
"""The folder is equal on every machine, because the logs contain its path."""
JOB_SECONDS = 300
ENOUGH_TASK_ENDS = 45
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "600m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.warehouse.dir": str(STAGE / "warehouse"),
    "spark.local.dir": str(STAGE / "local"),
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.logStageExecutorMetrics": "true",
    "spark.executor.metrics.pollingInterval": "200ms",
}
CLUSTER = {
    "spark.master": "local-cluster[2,1,512]",
    "spark.executor.memory": "512m",
    "spark.executor.instances": "2",
}


@dataclass(frozen=True)
class Log:
    """One log to record: its job, Spark environment, codec and settings."""

    scenario: str
    environment: str = "spark35"
    codec: str | None = None
    settings: dict[str, str] = field(default_factory=dict)

    def all_settings(self, folder: Path) -> dict[str, str]:
        """Return all settings of the run."""
        codec = {} if self.codec is None else {
            "spark.eventLog.compress": "true",
            "spark.eventLog.compression.codec": self.codec,
        }  # fmt: skip
        return SETTINGS | self.settings | codec | {"spark.eventLog.dir": f"file://{folder}"}


FORCED_SPILL = {"spark.shuffle.spill.numElementsForceSpillThreshold": "4000"}
TWO_HOSTS = "a cluster of two hosts"
SPECULATION = {
    "spark.master": TWO_HOSTS,
    "spark.executor.memory": "512m",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.minTaskRuntime": "100ms",
}
ROLLING = {"spark.eventLog.rolling.enabled": "true", "spark.eventLog.rolling.maxFileSize": "10m"}
SMALL_BUFFER = {"spark.eventLog.buffer.kb": "1k"}

LOGS = {
    "queries-35": Log("queries", codec="zstd"),
    "queries-4": Log("queries", "spark4", codec="zstd"),
    "queries-4-lz4": Log("queries", "spark4", codec="lz4"),
    "failures-35": Log("failures", settings={"spark.master": "local[2,3]"}),
    "failures-4-snappy": Log("failures", "spark4", codec="snappy", settings={"spark.master": "local[2,3]"}),
    "lost-executor-35-lzf": Log("lost_executor", codec="lzf", settings=CLUSTER),
    "lost-executor-4": Log("lost_executor", "spark4", codec="zstd", settings=CLUSTER),
    "speculation-35": Log("speculation", codec="lz4", settings=SPECULATION),
    "spill-35-snappy": Log("spill", codec="snappy", settings=FORCED_SPILL),
    "spill-4-lzf": Log("spill", "spark4", codec="lzf", settings=FORCED_SPILL),
    "streaming-4": Log("streaming", "spark4", codec="zstd"),
    "killed-35": Log("killed", settings=SMALL_BUFFER),
    "killed-4-zstd": Log("killed", "spark4", codec="zstd", settings=SMALL_BUFFER),
    "barrier-4": Log("barrier", "spark4", codec="zstd"),
    "rolling-35": Log("rolling", settings=ROLLING),
}


def main() -> None:
    """Record the named logs, or all logs if none is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*LOGS, []], help="logs to record; all by default")
    parser.add_argument("--into", type=Path, default=REAL, help="folder for the logs")
    options = parser.parse_args()
    for name in options.names or LOGS:
        recorded = run(LOGS[name], STAGE / "events" / name)
        if LOGS[name].scenario == "rolling":
            compact(recorded)
            compress(recorded)
        target = options.into / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(recorded, target, ignore=shutil.ignore_patterns("*.crc"))
        print(name, sum(path.stat().st_size for path in target.rglob("*") if path.is_file()), "bytes", flush=True)


def run(log: Log, folder: Path) -> Path:
    """Run the job and return the folder with its log."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("jobs.py"), STAGE / "jobs.py")
    output = folder.parent / f"{folder.name}.log"
    with output.open("w") as stream, contextlib.ExitStack() as processes:
        settings = log.all_settings(folder)
        if settings["spark.master"] == TWO_HOSTS:
            settings["spark.master"] = two_hosts(log.environment, stream, processes)
        command = ["spark-submit", *configuration(settings), "jobs.py", log.scenario]
        job = start(log.environment, command, stream, processes)
        if log.scenario == "killed":
            kill_in_the_middle(output, folder)
        code = job.wait(JOB_SECONDS)
    if code and log.scenario != "killed":
        raise SystemExit(f"{log.scenario} ended with {code}:\n{output.read_text()[-4000:]}")
    return folder


def compact(folder: Path) -> None:
    """Let the History Server compact all files of a rolling log except the last two."""
    settings = {
        # Otherwise Spark 4's server compresses the compacted file, but does not change its name.
        "spark.eventLog.compress": "false",
        "spark.history.fs.eventLog.rolling.maxFilesToRetain": "2",
        "spark.history.fs.eventLog.rolling.compaction.score.threshold": "0.0",
    }
    with HistoryServer(folder, settings=settings):
        # The compacted file appears first, then the files that it replaces are deleted.
        wait_for(lambda: list(folder.rglob("*.compact")), JOB_SECONDS, "a compacted file")
        wait_for(lambda: len(list(folder.rglob("events_*"))) == 3, JOB_SECONDS, "the replaced files to be deleted")


def compress(folder: Path) -> None:
    """Compress each file of a rolling log with Spark's own zstd stream, and name it as Spark would."""
    program = Path(__file__).with_name("Compress.java")
    for plain in list(folder.rglob("events_*")):
        name, compacted, _ = plain.name.partition(".compact")
        packed = plain.with_name(f"{name}.zstd{compacted}")
        jars = spark_home("spark35") / "jars" / "*"
        subprocess.run(["java", "-cp", str(jars), str(program), str(plain), f"zstd={packed}"], check=True)
        plain.unlink()


def start(name: str, command: list[str], output: TextIO, processes: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    """Start a program of Spark's bin folder; the exit stack ends it."""
    program = ["bash", str(spark_home(name) / "bin" / command[0]), *command[1:]]
    process = subprocess.Popen(program, cwd=STAGE, env=environment(name), stdout=output, stderr=output)
    processes.callback(process.wait)
    processes.callback(process.kill)
    return process


def two_hosts(name: str, output: TextIO, processes: contextlib.ExitStack) -> str:
    """Start a master and workers on two addresses.

    Spark does not start a speculative attempt on the host of the first attempt.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    deploy = "org.apache.spark.deploy"
    master = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    start(name, ["spark-class", f"{deploy}.master.Master", *master], output, processes)
    wait_for(lambda: answers(port), JOB_SECONDS, "the master")
    for host in ("127.0.0.1", "127.0.0.2"):
        worker = ["--host", host, "--cores", "1", "--memory", "600m", "--webui-port", "0", f"spark://127.0.0.1:{port}"]
        start(name, ["spark-class", f"{deploy}.worker.Worker", *worker], output, processes)
    return f"spark://127.0.0.1:{port}"


def answers(port: int) -> bool:
    """Return whether a process listens on the port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def kill_in_the_middle(output: Path, folder: Path) -> None:
    """Kill the job's JVM with SIGKILL when the log has some task ends of the last stage."""

    def process() -> int:
        words = [line.split() for line in output.read_text().splitlines() if line.startswith("JVM ")]
        return int(words[0][1]) if words else 0

    def task_ends() -> int:
        return sum(
            unpack(path.read_bytes()).data.count(b"TaskEnd") for _, paths in find_logs([folder]) for path in paths
        )

    jvm = wait_for(process, JOB_SECONDS, "the job's JVM")
    try:
        wait_for(lambda: task_ends() >= ENOUGH_TASK_ENDS, JOB_SECONDS, "task ends in the log")
    finally:
        os.kill(jvm, signal.SIGKILL)


def spark_home(name: str) -> Path:
    """Return the Spark home of an environment, as a path that is equal on every machine."""
    home = STAGE / name
    home.parent.mkdir(parents=True, exist_ok=True)
    real = next((ROOT / "build" / "envs" / name / "lib").glob("python*/site-packages/pyspark"))
    if not home.exists():
        home.unlink(missing_ok=True)  # the link of a deleted checkout
        home.symlink_to(real)
    return home


def configuration(settings: dict[str, str]) -> list[str]:
    """Return the settings as arguments of spark-submit."""
    return [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]


def environment(name: str) -> dict[str, str]:
    """Return the environment of the job's processes, without names and settings of the machine and its user."""
    home = spark_home(name)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(STAGE),
        "LANG": "C.UTF-8",
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_HOSTNAME": "localhost",
        "PYSPARK_PYTHON": str(ROOT / "build" / "envs" / name / "bin" / "python"),
        "PYTHONPATH": str(home / "python"),
    }


if __name__ == "__main__":
    main()
