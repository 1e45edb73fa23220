"""One Flink job as one process: started once, stopped cleanly, never outlived by its JVM."""

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

from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_stream_jobs.checkpoints import checkpoint_directory
from sparkfuse_stream_jobs.errors import MissingPartError, StartError

LOG = logging.getLogger(__name__)
LOOK_EVERY_SECONDS = 0.5
JVM_STOP_SECONDS = 10.0
JOB_STOP_SECONDS = 15.0
Submit = Callable[[Settings], contextlib.AbstractContextManager[Any]]


def run_job(name: str, submit: Submit) -> int:
    """Run the job ``name`` until it is told to stop, and give the exit code of the process.

    ``submit`` starts the job in a context and yields PyFlink's JobClient; leaving the context ends what runs beside it.
    0: stopped by SIGTERM or SIGINT; 1: the job or its JVM ended by itself; 2 and 3: it could not start.
    """
    _log_to_stderr()
    stop = threading.Event()
    started = threading.Event()
    _stop_on_signals(stop, started)
    try:
        settings = Settings.from_environment()
        with _only_one(name, settings.home) as lock, submit(settings) as job:
            jvm = _remember_jvm(lock)
            started.set()
            LOG.info("%s runs, its JVM is %d", name, jvm)
            try:
                return _watch(name, job, stop, settings)
            finally:
                # What py4j says of a JVM that we end ourselves helps nobody.
                logging.disable(logging.ERROR)
                _end(jvm)
    except (StartError, SettingError) as error:
        print(f"sparkfuse {name}: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, StartError) else StartError.exit_code
    except Exception as error:
        # Flink looks at the checkpoint before it runs anything, and what it says then is a page of Java.
        if not is_unfitting_checkpoint(str(error)):
            raise
        print(f"sparkfuse {name}: {_of_another_version(name, settings)}", file=sys.stderr)
        return StartError.exit_code


def _log_to_stderr() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("sparkfuse_stream_jobs").setLevel(logging.INFO)
    # PyFlink loads Beam, which complains about clouds that nobody asked for.
    logging.getLogger("apache_beam").setLevel(logging.ERROR)


def _stop_on_signals(stop: threading.Event, started: threading.Event) -> None:
    def handle(number: int, _frame: object) -> None:
        stop.set()
        if not started.is_set():
            # Nothing runs yet that would have to be stopped in order; the JVM ends with its parent.
            raise SystemExit(128 + number if number != signal.SIGTERM else 0)

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)


def _watch(name: str, job: Any, stop: threading.Event, settings: Settings) -> int:
    while not stop.wait(LOOK_EVERY_SECONDS):
        try:
            status = str(job.get_job_status().result().name)
        except Exception as error:  # the JVM is gone or cannot answer: whatever it is, the supervisor starts us again
            LOG.error("%s: its JVM does not answer: %s", name, _last_line(error))
            return 1
        if status in {"FAILED", "FINISHED", "CANCELED", "SUSPENDED"}:
            LOG.error("%s: the job is %s: %s", name, status, _told(name, _reason(job), settings))
            return 1
    LOG.info("%s stops", name)
    cancelling = threading.Thread(target=_cancel, args=(job,), daemon=True)
    cancelling.start()
    cancelling.join(JOB_STOP_SECONDS)
    return 0


def _cancel(job: Any) -> None:
    try:
        job.cancel().result()
    except Exception as error:  # the JVM is ended next, and the checkpoint is what counts
        LOG.warning("the job could not be cancelled: %s", _last_line(error))


def _told(name: str, reason: str, settings: Settings) -> str:
    """The reason with what can be done about it."""
    if not is_unfitting_checkpoint(reason):
        return f"{reason}; more in {settings.home / 'logs'}"
    return _of_another_version(name, settings)


def _of_another_version(name: str, settings: Settings) -> str:
    directory = checkpoint_directory(settings.home, name)
    return f"its checkpoint is of another version of the job; remove {directory} to begin without what it remembers"


def is_unfitting_checkpoint(reason: str) -> bool:
    """Whether a job ended because the steps of its checkpoint are not those that it has, as Flink says it."""
    return "Cannot map checkpoint/savepoint state for operator" in reason


def _reason(job: Any) -> str:
    try:
        job.get_job_execution_result().result()
    except Exception as error:  # only its text is of use here
        causes = [line.strip() for line in str(error).splitlines() if line.strip().startswith("Caused by:")]
        return (causes[-1].removeprefix("Caused by:").strip() if causes else _last_line(error))[:500]
    return "it has nothing more to read"


def _last_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


@contextlib.contextmanager
def _only_one(name: str, home: Path) -> Iterator[IO[str]]:
    """Hold the job's lock; a JVM that a killed process left behind is ended before the job is started again."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{name}.lock"
    with path.open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise MissingPartError(f"the job runs already: {path} is held by another process") from error
        lock.seek(0)
        left = lock.read().strip()
        if left.isdigit() and _is_our_jvm(int(left)):
            LOG.warning("ending the JVM %s that an earlier process left behind", left)
            _end(int(left))
        yield lock


def _remember_jvm(lock: IO[str]) -> int:
    from pyflink.java_gateway import get_gateway

    number = int(get_gateway().jvm.java.lang.ProcessHandle.current().pid())
    lock.seek(0)
    lock.truncate()
    lock.write(str(number))
    lock.flush()
    return number


def _is_our_jvm(number: int) -> bool:
    try:
        command = Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False
    return b"-Dsparkfuse.job=" in command


def _end(number: int) -> None:
    """End the JVM and wait until it is gone: its successor must not find it writing."""
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
