"""The whole pipeline ends hung and zombie applications on a real standalone master, and no other application.

The rows, findings and signals are those of the pipeline. Only the thresholds are smaller than in the catalog; the
minimum ages of the policies are not, so the test takes twenty minutes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from sparkfuse.stack.job_properties import policy_lines
from sparkfuse.stack.layout import free_ports
from sparkfuse.stack.process import Process
from sparkfuse_contracts.settings import Settings
from tests.e2e.conftest import RunningStack, running_stack
from tests.integration.collectors.standalone import application_states, driver_of, standalone_master
from tests.waiting import wait_for

JOBS = Path(__file__).parent / "jobs"
CASES = {"hung": "application_stalled", "zombie": "application_zombie", "zombie_task": "zombie_task"}
PARAMS = {
    "application_stalled": {"min_stalled_ms": 10_000, "page_stalled_ms": 20_000, "min_driver_silent_ms": 15_000},
    "application_zombie": {"min_outlived_ms": 10_000, "page_outlived_ms": 20_000},
    "zombie_task": {"min_outlived_ms": 10_000, "page_outlived_ms": 20_000},
}
# Three of four applications are affected at once, which would otherwise stop the fuse.
CONFIGURATION = yaml.safe_dump(
    {
        "rules": {rule: {"fuse": {"mode": "act"}, "params": params} for rule, params in PARAMS.items()},
        "fuse": {"arming": {"probes": 0}, "big_picture": {"share": 1, "applications": 99}},
    }
)


class Cluster:
    """A standalone master, and the jobs that the test starts on it."""

    def __init__(self, address: str, url: str, pipe: Path) -> None:
        self.url, self._address, self._pipe = url, address, pipe
        self.jobs: dict[str, Process] = {}

    def start(self, stack: RunningStack, case: str) -> None:
        """Start the job of a case."""
        settings = {"spark.master": self._address, "spark.cores.max": "1", "spark.executor.memory": "500m",
                    "spark.sparkfuse.fuse": "act"}  # fmt: skip
        self.jobs[case] = stack.start_job(case, JOBS / "external_cases.py", (case, str(self._pipe)), **settings)

    def state(self, app_id: str) -> str:
        """Return the state of an application as the master reports it."""
        return application_states(self.url)[app_id]

    def line(self, case: str, word: str) -> str:
        """Wait for a line of a job's output that begins with a word; return the rest of the line."""

        def find() -> str | None:
            assert self.jobs[case].exit_code() is None, self.jobs[case].last_lines(40)
            lines = self.jobs[case].last_lines(500).splitlines()
            found = [line.removeprefix(word).strip() or word for line in lines if line.startswith(word)]
            return found[0] if found else None

        return wait_for(find, 300, f"{word} of {case}")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Start a master and a worker for four applications."""
    (port,), pipe = free_ports(1), tmp_path / "pipe"
    os.mkfifo(pipe)
    with standalone_master("spark35", tmp_path, port, cores=4, memory="4g") as address:
        started = Cluster(address, f"http://127.0.0.1:{port}", pipe)
        try:
            yield started
        finally:
            for job in started.jobs.values():
                for child in psutil.Process(job.pid).children(recursive=True) if psutil.pid_exists(job.pid) else ():
                    child.send_signal(signal.SIGCONT)
                job.stop()


@pytest.fixture
def stack(tmp_path: Path, cluster: Cluster) -> Iterator[RunningStack]:
    """Start a stack with the external actuator; each rule is armed for the job of its case only."""
    file, policies = tmp_path / "actuator.yaml", tmp_path / "policies.jsonl"
    (tmp_path / "rules.yaml").write_text(CONFIGURATION)
    policies.write_text(policy_lines(Settings.from_environment({"SPARKFUSE_CONFIG": str(tmp_path / "rules.yaml")})))
    content = {"cluster": "default", "mode": "act", "jobs": [*CASES, "healthy"], "policies": str(policies),
               "state_file": str(tmp_path / "actuator.json"), "standalone": {"url": cluster.url}}  # fmt: skip
    file.write_text(yaml.safe_dump(content))
    with running_stack(tmp_path, CONFIGURATION, (), "--actuator", f"standalone={file}") as running:
        for case, rule in CASES.items():
            running.arm(rule, "external_stop", case)
        yield running


def steps(stack: RunningStack, app_id: str) -> list[tuple[str, str, str]]:
    """Return rule, step and outcome of each step about an application, oldest first."""
    found = stack.ask("fuse", "why", app_id, "--home", str(stack.home))
    return [(each["rule"], each["step"], each["outcome"]) for each in reversed(found)]


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_hung_and_zombie_applications_are_ended(cluster: Cluster, stack: RunningStack) -> None:
    """Each of three applications is ended by its own rule, one of them with an approval; the healthy one continues."""
    for case in (*CASES, "healthy"):
        cluster.start(stack, case)
    ids = {case: cluster.line(case, "APPLICATION") for case in cluster.jobs}
    for case in ("zombie", "zombie_task"):
        cluster.line(case, "ENDED")
    driver_of(cluster.jobs["hung"].pid).send_signal(signal.SIGSTOP)

    for case in ("zombie", "zombie_task"):
        wait_for(lambda case=case: cluster.state(ids[case]) == "KILLED", 1_500, f"the end of {case}")
        assert [each for each in steps(stack, ids[case]) if each[1] == "sent"] == [(CASES[case], "sent", None)]
    home = ("--home", str(stack.home))
    [request] = wait_for(
        lambda: stack.ask("fuse", "status", *home)["approvals_requested"], 1_500, "the request for an approval"
    )
    assert (request["app_id"], request["rule"]) == (ids["hung"], "application_stalled")
    assert cluster.state(ids["hung"]) == "RUNNING"
    assert stack.command("fuse", "approve", request["digest"], *home).returncode == 0
    wait_for(lambda: cluster.state(ids["hung"]) == "KILLED", 300, "the end of the hung application")

    ended = {
        case: wait_for(
            lambda case=case: [each for each in steps(stack, ids[case]) if each[1] == "verified"],
            300,
            f"the outcome of {case}",
        )
        for case in CASES
    }
    assert ended == {case: [(rule, "verified", "ended")] for case, rule in CASES.items()}
    assert cluster.state(ids["healthy"]) == "RUNNING"
    assert cluster.jobs["healthy"].exit_code() is None
    assert not [each for each in steps(stack, ids["healthy"]) if each[1] in ("sent", "would_act")]
