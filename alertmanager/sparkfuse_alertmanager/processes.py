"""Build the command lines of Alertmanager and Prometheus for this machine.

This module starts no process: `sparkfuse up` and the tests run the command lines.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
# The alertmanager of Debian's package does not start without this file.
DEBIAN_TEMPLATE = Path("/usr/share/prometheus/alertmanager/default.tmpl")


class ProgramMissingError(FileNotFoundError):
    """A program is not installed; the message names the package."""


def alertmanager_command(
    configuration: Path, storage: Path, port: int, cluster_port: int | None = None, peers: Sequence[str] = ()
) -> list[str]:
    """Return the command line of an Alertmanager on loopback that stores its silences in ``storage``.

    With ``cluster_port``, the Alertmanager joins ``peers`` (``host:cluster_port``); without it, it runs alone. The
    Alertmanager is ready when ``GET /-/ready`` answers. Raises ProgramMissingError.
    """
    storage.mkdir(parents=True, exist_ok=True)
    return [
        _alertmanager(),
        f"--config.file={configuration}",
        f"--storage.path={storage}",
        f"--web.listen-address={LOOPBACK}:{port}",
        # The address of links in messages. By default, Alertmanager uses the machine's host name, but DNS often cannot
        # resolve this name.
        f"--web.external-url=http://{LOOPBACK}:{port}",
        f"--cluster.listen-address={f'{LOOPBACK}:{cluster_port}' if cluster_port else ''}",
        *(f"--cluster.peer={peer}" for peer in peers),
        "--log.level=warn",
    ]


def prometheus_command(configuration: Path, storage: Path, port: int) -> list[str]:
    """Return the command line of a Prometheus on loopback that stores at most 512 MB of series in ``storage``.

    Prometheus is ready when ``GET /-/ready`` answers. Raises ProgramMissingError.
    """
    storage.mkdir(parents=True, exist_ok=True)
    return [
        _program(("prometheus",), "prometheus"),
        f"--config.file={configuration}",
        f"--storage.tsdb.path={storage}",
        "--storage.tsdb.retention.time=7d",
        "--storage.tsdb.retention.size=512MB",
        f"--web.listen-address={LOOPBACK}:{port}",
        f"--web.external-url=http://{LOOPBACK}:{port}",
        # If Prometheus posts an alert before it has discovered Alertmanager, the alert is lost until it is posted
        # again. A lost alert would wait for the default interval of one minute, which is too long.
        "--rules.alert.resend-delay=15s",
        "--log.level=warn",
    ]


def _alertmanager() -> str:
    # Debian's name is tried first, because a program named `alertmanager` may be something else.
    program = _program(("prometheus-alertmanager", "alertmanager"), "prometheus-alertmanager")
    if Path(program).name == "prometheus-alertmanager" and not DEBIAN_TEMPLATE.is_file():
        raise ProgramMissingError(
            f"{program} is from Debian's package, but the package's file {DEBIAN_TEMPLATE} is missing: "
            "run `apt-get install --reinstall prometheus-alertmanager`"
        )
    return program


def _program(names: Sequence[str], package: str) -> str:
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    raise ProgramMissingError(
        f"{names[-1]} is not installed: run `apt-get install {package}`, "
        f"or put the program on PATH as {' or '.join(names)}"
    )
