"""A real Spark job is watched, notified about and stopped, with all real parts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sparkfuse.stack.process import Process
from tests.e2e.conftest import Jobs, RunningStack
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(1_800)
# A background process of a shell ignores SIGINT, and so do its children; a user at a terminal has the default.
IN_A_TERMINAL = ("env", "--default-signal=INT")


def test_hung_task_pages_once_and_runaway_is_stopped(stack: RunningStack, jobs: Jobs) -> None:
    """A user's script that hangs causes one notification per severity: a warning, and after five minutes a page.

    Meanwhile the fuse stops a runaway sort; the job's code receives the reason, and the audit log has the verified
    outcome.
    """
    hung, runaway = jobs.hung, jobs.runaway
    try:
        wait_for_the_fuse(stack, runaway)
        assert runaway.exit_code() == 0, runaway.last_lines(40)
        assert "stage_runaway_spill" in runaway.last_lines(40)
        assert "the session is usable: 10 rows" in runaway.last_lines(40)

        wait_for(lambda: stack.pages("own_job", "task_stuck"), 300, "the page about the hung task")
        # Detection restarts with the new rules: firing findings continue and are not notified twice.
        assert stack.command("rules", "apply", "--home", str(stack.home)).returncode == 0
        (sent,) = of(stack.ask("fuse", "audit", "--home", str(stack.home)), step="sent")
        steps = stack.ask("fuse", "why", sent["app_id"], "--home", str(stack.home))
        stuck = {"rule": "task_stuck", "job_key": "own_job"}
        found = wait_for(lambda: of(stack.ask("findings"), **stuck), 120, "the finding in the store")
        runs = wait_for(lambda: ended(stack.ask("runs"), "runaway_sort"), 120, "the ended run in the store")
        wait_for(lambda: stack.pages("runaway_sort", "stage_runaway_spill"), 120, "the page about the runaway")

        assert [step["actor"] for step in of(steps, step="ended")] == ["hook"]
        assert [step["outcome"] for step in of(steps, step="verified")] == ["ended"]
        assert sent["rule"] == "stage_runaway_spill"
        assert len(found) == 1
        notified = [alert["labels"] for alert in stack.pages("own_job", "task_stuck")]
        assert len({labels["finding_id"] for labels in notified}) == 1, notified
        assert len({labels["severity"] for labels in notified}) == len(notified), notified
        assert len(stack.pages("runaway_sort", "stage_runaway_spill")) == 1
        assert runs[0]["completeness"] == 1.0
        checks = stack.ask("doctor", "--home", str(stack.home))
        assert [check for check in checks if check["state"] == "failed"] == []
    finally:
        for job in (hung, runaway):
            job.stop()
    wait_for(lambda: stack.pages("own_job", "task_stuck", "resolved"), 240, "the end of the page")


def wait_for_the_fuse(stack: RunningStack, runaway: Process) -> None:
    """Wait up to ten minutes until the runaway is stopped; on failure report the state of the stack."""
    try:
        # On two shared cores the sort needs minutes to spill 2.5 GB.
        wait_for(lambda: runaway.exit_code() is not None, 600, "the fuse")
    except TimeoutError as late:
        account = {what: stack.ask(what) for what in ("runs", "findings")}
        raise AssertionError(f"{late}; {account}; {runaway.last_lines(20)}") from late


def of(rows: list[dict[str, Any]], **wanted: object) -> list[dict[str, Any]]:
    """Return the rows that have all these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def ended(runs: list[dict[str, Any]], job_key: str) -> list[dict[str, Any]]:
    """Return the ended runs of a job, successful or not."""
    return [run for run in of(runs, job_key=job_key) if run["status"] != "running"]


def test_ctrl_c_stops_all_processes(tmp_path: Path) -> None:
    """Ctrl-C stops every process of the stack, even while the stack is still starting."""
    home = tmp_path / "home"
    up = subprocess.Popen(
        [*IN_A_TERMINAL, sys.executable, "-m", "sparkfuse.main", "up", "--home", str(home), "--free-ports"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: len(of_home(home)) >= 2, 120, "the first processes")
    finally:
        up.send_signal(signal.SIGINT)
        up.wait(120)

    assert of_home(home) == []


def of_home(home: Path) -> list[str]:
    """Return the command lines of other processes that have the home folder in their command line or environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if int(folder.name) != os.getpid() and str(home) in f"{line} {environment}":
            found.append(line)
    return found
