"""Flink clusters in application mode, with the options, arguments and variables of our Kubernetes manifests.

The operator's own code turns a FlinkDeployment into options. The test replaces what Kubernetes, S3 and the image
provide there: addresses, the service for leaders, credentials, and the paths of Python and of mounted files.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sparkfuse.stack.layout import free_ports
from tests.flink_cluster import FlinkCluster
from tests.flink_operator import effective_options
from tests.kubernetes_manifests import Manifest, manifests, pod_template

IMAGE_PYTHON = "/usr/local/bin/python"
MOUNTS = "/etc/sparkfuse/"
PROGRAM_CLASS = "$internal.application.main"
PROGRAM_ARGUMENTS = "$internal.application.program-args"


@dataclass(frozen=True)
class Deployment:
    """What the operator and Kubernetes give to the processes of one Flink job."""

    name: str
    module: str
    options: Mapping[str, str]
    main_class: str
    arguments: tuple[str, ...]
    variables: Mapping[str, Mapping[str, str]]

    @property
    def job_id(self) -> str:
        """Return a job id that is the same after each start; the operator stores such an id in the status."""
        return hashlib.md5(self.name.encode(), usedforsecurity=False).hexdigest()


def deployments(environment: str) -> list[Deployment]:
    """Return the Flink deployments of an environment that read its own Kafka cluster."""
    found = manifests(environment, "FlinkDeployment")
    [settings] = [
        each["data"] for each in manifests(environment, "ConfigMap") if "SPARKFUSE_KAFKA_BOOTSTRAP" in each["data"]
    ]
    jobs = [_deployment(each, options, settings) for each, options in zip(found, effective_options(found), strict=True)]
    return [each for each in jobs if "SPARKFUSE_SOURCE" not in each.variables["jobManager"]]


def _deployment(manifest: Manifest, options: dict[str, str], settings: Mapping[str, str]) -> Deployment:
    arguments = [each.replace(IMAGE_PYTHON, sys.executable) for each in options.pop(PROGRAM_ARGUMENTS).split(";")]
    main_class = options.pop(PROGRAM_CLASS)
    return Deployment(
        name=manifest["metadata"]["name"],
        module=arguments[-1],
        options={name: value.replace(IMAGE_PYTHON, sys.executable) for name, value in options.items()},
        main_class=main_class,
        arguments=tuple(arguments),
        variables={role: _variables(manifest, role, settings) for role in ("jobManager", "taskManager")},
    )


def _variables(manifest: Manifest, role: str, settings: Mapping[str, str]) -> dict[str, str]:
    (container,) = pod_template(manifest, role)["spec"]["containers"]
    return {**settings, **{each["name"]: each["value"] for each in container["env"]}}


class ApplicationCluster(FlinkCluster):
    """Starts, kills and restarts the job manager that runs a program, its task managers, and ZooKeeper."""

    def __init__(
        self,
        folder: Path,
        flink_libs: Path,
        deployment: Deployment,
        variables: Mapping[str, str],
        options: Mapping[str, str],
        plugins: Path | None = None,
    ) -> None:
        """Prepare the folders. ``variables`` and ``options`` replace those of the deployment, or are added."""
        self._job, self.job = deployment, deployment.job_id
        super().__init__(folder, flink_libs, options, plugins)
        self._replaced = {"HOME": str(folder), "SPARKFUSE_HOME": str(folder / "unused"), **variables}
        self._metrics_port = str(*free_ports(1))
        self._mounted = folder / "mounted"
        for name, content in (
            ("kafka/client.properties", "security.protocol=PLAINTEXT\n"),
            ("config/sparkfuse.yaml", ""),
        ):
            (self._mounted / name).parent.mkdir(parents=True)
            (self._mounted / name).write_text(content)

    def start(self) -> None:
        """Start all processes, without waiting for the job."""
        self.start_zookeeper()
        self.start_job_manager()
        # On Kubernetes, the job manager starts as many task managers as its job needs.
        slots = int(self._options["taskmanager.numberOfTaskSlots"])
        for number in range(int(self._options["parallelism.default"]) // slots):
            self.start_task_manager(number + 1)

    def start_job_manager(self, **variables: str) -> None:
        """Start the job manager, which runs the program of the job. ``variables`` are for this start only."""
        self._configuration("jobmanager", "127.0.0.1")
        program = ["--job-classname", self._job.main_class, "--job-id", self.job]
        arguments = ("start-foreground", *program, *self._job.arguments)
        self._start("jobmanager", "standalone-job.sh", *arguments, variables=variables)

    def _deployment(self) -> dict[str, str]:
        return dict(self._job.options)

    def _environment(self, name: str) -> dict[str, str]:
        role = "jobManager" if name == "jobmanager" else "taskManager"
        found = {each: value.replace(MOUNTS, f"{self._mounted}/") for each, value in self._job.variables[role].items()}
        if "SPARKFUSE_METRICS_PORT" in found:
            found["SPARKFUSE_METRICS_PORT"] = self._metrics_port
        return {**super()._environment(name), **found, **self._replaced}
