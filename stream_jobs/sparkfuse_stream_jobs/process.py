"""Runs one Flink job as one process: in a mini cluster of its own, or as the program of a Flink cluster.

In the mini cluster, a lock prevents a second process of the job, and the JVM ends with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from sparkfuse_contracts.kafka_access import KafkaUnavailableError
from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_stream_jobs.errors import MissingPartError, StartError
from sparkfuse_stream_jobs.placement import on_cluster, runs_beside_job
from sparkfuse_stream_jobs.state_refusal import is_refusal, refusal_message

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.5
JVM_STOP_SECONDS = 10.0
JOB_STOP_SECONDS = 15.0
KAFKA_RETRY_SECONDS = 10.0
# How often in succession a job manager may fail to report the status of the job, such as during an overload.
MAX_FAILED_REQUESTS = 120
# Flink ends the mini cluster with its job, and then answers only requests for the result of the job.
MINI_CLUSTER_ENDED = "MiniCluster is not yet running or has already been shut down"
Submit = Callable[[Settings], contextlib.AbstractContextManager[Any]]


def run_job(name: str, submit: Submit) -> int:
    """Run the job ``name`` until SIGTERM or SIGINT, and return the exit code of the process.

    If `flink run` started this program, it returns after the job was submitted to the cluster. In application mode, it
    waits for the broker instead of exit code 3.
    ``submit`` is a context that starts the job and yields PyFlink's JobClient.
    Exit codes: 0 after a signal; 1 if the job or its JVM ended by itself; 2 and 3 if it could not start.
    """
    _log_to_stderr()
    stop = threading.Event()
    started = threading.Event()
    _stop_on_signals(stop, started)
    try:
        settings = Settings.from_environment()
        name = settings.job_name(name)
        if on_cluster():
            return _run_on_cluster(name, submit, settings, stop, started)
        with _job_lock(name, settings.home) as lock, submit(settings) as job:
            jvm = _store_jvm_id(lock)
            started.set()
            LOG.info("%s is running; process id of its JVM: %d", name, jvm)
            try:
                return _watch(name, job, stop, settings)
            finally:
                # py4j logs errors about the JVM that is ended here on purpose.
                logging.disable(logging.ERROR)
                _end_process(jvm)
    except KafkaUnavailableError as error:
        print(f"sparkfuse {name}: {error}", file=sys.stderr)
        return MissingPartError.exit_code
    except (StartError, SettingError) as error:
        print(f"sparkfuse {name}: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, StartError) else StartError.exit_code
    except Exception as error:
        # Flink checks the checkpoint before it starts the job, and its message is a long Java stack trace.
        if not is_refusal(str(error)):
            raise
        print(f"sparkfuse {name}: {refusal_message(name, settings.home)}", file=sys.stderr)
        return StartError.exit_code


def _log_to_stderr() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("sparkfuse_stream_jobs").setLevel(logging.INFO)
    # PyFlink loads Beam, which logs warnings about cloud file systems.
    logging.getLogger("apache_beam").setLevel(logging.ERROR)


def _stop_on_signals(stop: threading.Event, started: threading.Event) -> None:
    def handle(number: int, _frame: object) -> None:
        stop.set()
        if not started.is_set():
            # The job does not run yet, so it needs no orderly stop; the JVM ends with this process.
            raise SystemExit(128 + number if number != signal.SIGTERM else 0)

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)


def _run_on_cluster(
    name: str, submit: Submit, settings: Settings, stop: threading.Event, started: threading.Event
) -> int:
    """Run the program on a cluster. In application mode, it waits until the broker and its topics are available.

    If the program failed there, Flink would end the job that a new job manager restores, and delete its metadata.
    """
    while True:
        try:
            with submit(settings) as job:
                started.set()
                return _watch(name, job, stop, settings) if runs_beside_job() else _report(name, job)
        except KafkaUnavailableError as error:
            if not runs_beside_job():
                raise
            LOG.error("%s waits for Kafka, next attempt in %.0f s: %s", name, KAFKA_RETRY_SECONDS, error)
        stop.wait(KAFKA_RETRY_SECONDS)


def _report(name: str, job: Any) -> int:
    LOG.info("%s is submitted; its job id is %s", name, job.get_job_id())
    return 0


def _watch(name: str, job: Any, stop: threading.Event, settings: Settings) -> int:
    failures = 0
    while not stop.wait(POLL_SECONDS):
        try:
            status = _status(job)
        except Exception as error:  # the JVM ended or does not answer; the supervisor restarts this process
            if MINI_CLUSTER_ENDED in str(error):
                return _explain_end(name, "FAILED", job, settings)
            failures += 1
            # If the program failed on a cluster, Flink would end the job and delete its metadata.
            if on_cluster() and _is_answer(error) and failures < MAX_FAILED_REQUESTS:
                continue
            LOG.error("%s: the JVM does not answer: %s", name, _first_line(error))
            return 1
        failures = 0
        if status in {"FAILED", "FINISHED", "CANCELED", "SUSPENDED"}:
            return _explain_end(name, status, job, settings)
    LOG.info("%s is stopping", name)
    cancelling = threading.Thread(target=_cancel, args=(job,), daemon=True)
    cancelling.start()
    cancelling.join(JOB_STOP_SECONDS)
    return 0


def _status(job: Any) -> str:
    try:
        return str(job.get_job_status().result().name)
    except KeyError as error:
        # PyFlink 2.3 does not know INITIALIZING, the status of a job that a new job manager restores.
        return str(error.args[0])


def _is_answer(error: Exception) -> bool:
    """Return whether the JVM answered with this error; otherwise it has ended."""
    from py4j.protocol import Py4JJavaError

    return isinstance(error, Py4JJavaError)


def _cancel(job: Any) -> None:
    try:
        job.cancel().result()
    except Exception as error:  # the JVM ends anyway, and the job restarts from its checkpoint
        LOG.warning("the job could not be cancelled: %s", _first_line(error))


def _explain_end(name: str, status: str, job: Any, settings: Settings) -> int:
    """Log why the job ended by itself, and return the exit code."""
    error = _error_of(job)
    if error and is_refusal(error):
        LOG.error("%s: %s", name, refusal_message(name, settings.home))
        return StartError.exit_code
    logs = settings.home / "logs"
    LOG.error("%s: the job is %s: %s; details are in %s", name, status, _last_cause(error), logs)
    return 1


def _error_of(job: Any) -> str:
    """Return the text of the error that ended the job, or an empty string if its input has ended."""
    try:
        job.get_job_execution_result().result()
    except Exception as error:  # the text of this error is the answer
        return str(error) or type(error).__name__
    return ""


def _last_cause(error: str) -> str:
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by:").strip() for line in lines if line.startswith("Caused by:")]
    return [*(lines[:1] or ["its input has ended"]), *causes][-1][:500]


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


@contextlib.contextmanager
def _job_lock(name: str, home: Path) -> Iterator[IO[str]]:
    """Hold the lock of the job, and end the JVM of an earlier process that was killed."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{name}.lock"
    with path.open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise MissingPartError(f"the job is already running: another process holds {path}") from error
        lock.seek(0)
        previous = lock.read().strip()
        if previous.isdigit() and _is_sparkfuse_jvm(int(previous)):
            LOG.warning("ending JVM %s of an earlier process that was killed", previous)
            _end_process(int(previous))
        yield lock


def _store_jvm_id(lock: IO[str]) -> int:
    from pyflink.java_gateway import get_gateway

    number = int(get_gateway().jvm.java.lang.ProcessHandle.current().pid())
    lock.seek(0)
    lock.truncate()
    lock.write(str(number))
    lock.flush()
    return number


def _is_sparkfuse_jvm(number: int) -> bool:
    try:
        command = Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False
    return b"-Dsparkfuse.job=" in command


def _end_process(number: int) -> None:
    """End the JVM and wait until it has exited, because the next one uses the same files."""
    for order in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, order)
        deadline = time.monotonic() + JVM_STOP_SECONDS
        while time.monotonic() < deadline:
            if _is_gone(number):
                return
            time.sleep(0.05)


def _is_gone(number: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(number, os.WNOHANG)[0] == number
    return not Path(f"/proc/{number}").exists()
