"""A standalone Flink cluster on the loopback interface, from the distribution that our image contains.

ZooKeeper, job manager and task managers are processes with folders and addresses of their own. They share only the
folders or the bucket for checkpoints and for high availability.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sparkfuse.stack.layout import free_ports
from sparkfuse_contracts.assets import asset
from tests.waiting import wait_for

ROOT = Path(__file__).parents[1]
START_SECONDS = 900
REPORTER = "org.apache.flink.metrics.prometheus.PrometheusReporterFactory"


class FlinkCluster:
    """Starts, kills and restarts the processes of the cluster, and submits jobs to it."""

    def __init__(
        self, folder: Path, flink_libs: Path, options: Mapping[str, str] | None = None, plugins: Path | None = None
    ) -> None:
        """Prepare the folders. ``plugins`` contains further plugins of Flink, such as a file system."""
        self._folder = folder
        self._home = folder / "flink"
        self._home.mkdir(parents=True)
        given = {**os.environ, "PYTHON": sys.executable, "SPARKFUSE_FLINK_LIBS": str(flink_libs.resolve())}
        subprocess.run([str(ROOT / "deploy" / "flink_home.sh"), str(self._home)], env=given, check=True)
        for plugin in plugins.iterdir() if plugins else ():
            (self._home / "plugins" / plugin.name).symlink_to(plugin.resolve())
        self._rpc_port, self.rest_port, self._zookeeper_port, *self._quorum_ports = free_ports(5)
        self.checkpoints = folder / "shared" / "checkpoints"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._metrics_ports: dict[str, int] = {}
        self._options = {
            **yaml.safe_load((self._home / "conf" / "config.yaml").read_text()),
            **self._deployment(),
            **self._of_this_machine(),
            **(options or {}),
        }

    def _deployment(self) -> dict[str, str]:
        """Return the options that a deployment decides."""
        return {
            **yaml.safe_load(asset("sparkfuse_stream_jobs", "flink.yaml").read_text()),
            "high-availability.storageDir": (self._folder / "shared" / "ha").as_uri(),
            "execution.checkpointing.dir": self.checkpoints.as_uri(),
            "parallelism.default": "2",
            "python.executable": sys.executable,
            "python.client.executable": sys.executable,
            "jobmanager.memory.process.size": "1200m",
            "taskmanager.memory.process.size": "2400m",
            "taskmanager.numberOfTaskSlots": "2",
            # By default, Flink may put all tasks of a job on one task manager.
            "taskmanager.load-balance.mode": "SLOTS",
            "metrics.reporters": "prometheus",
            "metrics.reporter.prometheus.factory.class": REPORTER,
        }

    def _of_this_machine(self) -> dict[str, str]:
        """Return the addresses of the processes, and short intervals."""
        return {
            "jobmanager.rpc.address": "127.0.0.1",
            "jobmanager.rpc.port": str(self._rpc_port),
            "rest.address": "127.0.0.1",
            "rest.port": str(self.rest_port),
            "rest.bind-port": str(self.rest_port),
            "high-availability.type": "zookeeper",
            "high-availability.zookeeper.quorum": f"127.0.0.1:{self._zookeeper_port}",
            "high-availability.jobmanager.port": str(self._rpc_port),
            "execution.checkpointing.interval": "1 s",
            # By default, Flink fails requests for missing slots from this time on.
            "slot.request.timeout": "30 s",
            # A killed task manager must be detected within seconds.
            "heartbeat.interval": "1000",
            "heartbeat.timeout": "8000",
        }

    def start(self) -> None:
        """Start all processes, and wait until both task managers offer their slots."""
        self.start_zookeeper()
        self.start_job_manager()
        for number in (1, 2):
            self.start_task_manager(number)
        wait_for(lambda: self._slots() == 4, START_SECONDS, f"four slots; see {self._folder}")

    def start_zookeeper(self) -> None:
        """Start ZooKeeper, which stores the leader and the jobs."""
        quorum, election = self._quorum_ports
        conf = self._configuration("zookeeper", "127.0.0.1")
        (conf / "zoo.cfg").write_text(
            f"tickTime=1000\ninitLimit=10\nsyncLimit=5\ndataDir={self._folder / 'zookeeper' / 'data'}\n"
            f"clientPort={self._zookeeper_port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
            f"server.1=127.0.0.1:{quorum}:{election}\n"
        )
        self._start("zookeeper", "zookeeper.sh", "start-foreground", "1")

    def start_job_manager(self) -> None:
        """Start the job manager."""
        self._configuration("jobmanager", "127.0.0.1")
        self._start("jobmanager", "jobmanager.sh", "start-foreground")

    def start_task_manager(self, number: int) -> None:
        """Start a task manager with a loopback address of its own."""
        address = f"127.0.0.{number + 1}"
        name = f"taskmanager-{number}"
        self._configuration(name, address, {"taskmanager.host": address, "taskmanager.bind-host": address})
        self._start(name, "taskmanager.sh", "start-foreground")

    def submit(self, module: str, environment: Mapping[str, str], *options: str) -> str:
        """Submit the program ``module`` as a user does, and return the job's id after all its tasks run."""
        before = self.jobs()
        self._configuration("client", "127.0.0.1")
        self._flink("run", "--detached", *options, "-pym", module, environment=environment)
        [job] = self.jobs() - before
        self.wait_until_running(job)
        return job

    def stop_with_savepoint(self, job: str) -> str:
        """Stop a job as a user does, and return the address of its savepoint."""
        folder = self._folder / "shared" / "savepoints"
        answer = self._flink("stop", "--savepointPath", folder.as_uri(), job)
        found = re.search(r"Path: (\S+)", answer)
        assert found, answer
        return found[1]

    def cancel(self, job: str) -> None:
        """Cancel a job, and wait until it has ended."""
        self._flink("cancel", job)
        wait_for(lambda: (self._answer(f"/jobs/{job}") or {}).get("state") == "CANCELED", START_SECONDS, "the end")

    def wait_until_running(self, job: str) -> None:
        """Wait until all tasks of a job run."""
        wait_for(lambda: self._runs(job), START_SECONDS, f"job {job} to run; see {self._folder}")

    def jobs(self) -> set[str]:
        """Return the ids of the jobs that the job manager knows."""
        return {job["jid"] for job in (self._answer("/jobs/overview") or {}).get("jobs", [])}

    def checkpoints_of(self, job: str) -> dict[str, Any]:
        """Return Flink's statistics about the checkpoints of a job."""
        found: dict[str, Any] = self._answer(f"/jobs/{job}/checkpoints") or {}
        return found

    def wait_for_checkpoint(self, job: str) -> None:
        """Wait for a checkpoint that was triggered after this call."""
        before = self.newest_checkpoint(job)
        wait_for(lambda: self.newest_checkpoint(job) > before + 1, START_SECONDS, f"a checkpoint of {job}")

    def newest_checkpoint(self, job: str) -> int:
        """Return the id of the newest completed checkpoint of a job, 0 if there is none."""
        return self._checkpoint(job, "completed")

    def restored_checkpoint(self, job: str) -> int:
        """Return the id of the checkpoint from which a job was restored last, 0 if it was not."""
        return self._checkpoint(job, "restored")

    def restarts(self, job: str) -> int:
        """Return how often Flink restarted a job."""
        [metric] = self._answer(f"/jobs/{job}/metrics?get=numRestarts") or [{"value": "0"}]
        return int(metric["value"])

    def parallelism(self, job: str) -> set[int]:
        """Return the parallelisms of the tasks of a job."""
        return {vertex["parallelism"] for vertex in (self._answer(f"/jobs/{job}") or {}).get("vertices", [])}

    def largest_shares(self, job: str) -> dict[str, float]:
        """Return the largest share of one instance in the records of each step; a source is counted by its output.

        Steps with less than one record in a hundred are left out.
        """
        found: dict[str, list[int]] = {}
        for vertex in (self._answer(f"/jobs/{job}") or {}).get("vertices", []):
            answer = self._answer(f"/jobs/{job}/vertices/{vertex['id']}") or {}
            metrics = [each["metrics"] for each in answer.get("subtasks", [])]
            found[vertex["name"]] = [int(each["read-records"] or each["write-records"]) for each in metrics]
        most = max(map(sum, found.values()), default=0)
        return {step: max(each) / sum(each) for step, each in found.items() if 0 < most <= 100 * sum(each)}

    def task_managers_of(self, job: str) -> set[str]:
        """Return the addresses on which the tasks of a job run."""
        found: set[str] = set()
        for vertex in (self._answer(f"/jobs/{job}") or {}).get("vertices", []):
            answer = self._answer(f"/jobs/{job}/vertices/{vertex['id']}") or {}
            found |= {task["endpoint"].partition(":")[0] for task in answer.get("subtasks", [])}
        return found

    def metrics(self) -> str:
        """Return what Prometheus would read from the job manager and both task managers."""
        found = []
        for name in ("jobmanager", "taskmanager-1", "taskmanager-2"):
            with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics_ports[name]}/metrics", timeout=10) as answer:
                found.append(answer.read().decode())
        return "".join(found)

    def process_id(self, name: str) -> int:
        """Return the id of a process."""
        return self._processes[name].pid

    def kill(self, name: str) -> None:
        """Kill one process with SIGKILL, like a crash of its machine; the processes that it started end too."""
        process = self._processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)

    def stop(self) -> None:
        """End all processes."""
        for name in list(self._processes):
            self.kill(name)

    def _configuration(self, name: str, address: str, more: Mapping[str, str] | None = None) -> Path:
        folder = self._folder / name
        conf = folder / "conf"
        if not conf.exists():
            shutil.copytree(self._home / "conf", conf)
        self._metrics_ports.setdefault(name, *free_ports(1))
        own = {
            "jobmanager.bind-host": address,
            "io.tmp.dirs": str(folder / "tmp"),
            "metrics.reporter.prometheus.port": str(self._metrics_ports[name]),
            **(more or {}),
        }
        (folder / "tmp").mkdir(exist_ok=True)
        (conf / "config.yaml").write_text(yaml.safe_dump({**self._options, **own}))
        return conf

    def _environment(self, name: str) -> dict[str, str]:
        folder = self._folder / name
        return {
            **os.environ,
            "FLINK_HOME": str(self._home),
            "FLINK_CONF_DIR": str(folder / "conf"),
            "FLINK_LOG_DIR": str(folder),
            "FLINK_PID_DIR": str(folder),
            "MALLOC_ARENA_MAX": "2",
        }

    def output(self, name: str) -> str:
        """Return what a process has written to its output since the first start."""
        return (self._folder / name / "output.log").read_text(errors="replace")

    def _start(self, name: str, script: str, *arguments: str, variables: Mapping[str, str] | None = None) -> None:
        with (self._folder / name / "output.log").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                [str(self._home / "bin" / script), *arguments],
                env={**self._environment(name), **(variables or {})},
                cwd=self._folder / name,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _flink(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Run Flink's command line, and return its output."""
        command = [str(self._home / "bin" / "flink"), *arguments]
        given = {**self._environment("client"), **(environment or {})}
        done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=START_SECONDS, check=False)
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        return done.stdout

    def _runs(self, job: str) -> bool:
        found = self._answer(f"/jobs/{job}") or {}
        states = [vertex["status"] for vertex in found.get("vertices", [])]
        return found.get("state") == "RUNNING" and bool(states) and set(states) == {"RUNNING"}

    def _checkpoint(self, job: str, kind: str) -> int:
        return int(((self.checkpoints_of(job).get("latest") or {}).get(kind) or {}).get("id", 0))

    def _slots(self) -> int:
        return int((self._answer("/overview") or {}).get("slots-total", 0))

    def _answer(self, path: str) -> Any:
        """Return the answer of the job manager, or None while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.rest_port}{path}", timeout=5) as reply:
                return json.loads(reply.read())
        except OSError:
            return None
