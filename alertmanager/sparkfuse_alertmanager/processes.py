"""Build the command lines of Alertmanager and Prometheus for this machine.

Nothing is started here: `sparkfuse up` and the tests run the command lines.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
# Debian's alertmanager needs this file of its package to start.
DEBIAN_TEMPLATE = Path("/usr/share/prometheus/alertmanager/default.tmpl")


class ProgramMissingError(FileNotFoundError):
    """A program is not installed; the message names the package."""


def alertmanager_command(
    configuration: Path, storage: Path, port: int, cluster_port: int | None = None, peers: Sequence[str] = ()
) -> list[str]:
    """Return the command line of an Alertmanager on loopback that stores its silences in ``storage``.

    With ``cluster_port`` it joins ``peers`` (``host:cluster_port``); without it, it runs alone.
    It is ready when ``GET /-/ready`` answers. Raises ProgramMissingError.
    """
    storage.mkdir(parents=True, exist_ok=True)
    return [
        _alertmanager(),
        f"--config.file={configuration}",
        f"--storage.path={storage}",
        f"--web.listen-address={LOOPBACK}:{port}",
        # For links in messages: the default, the machine's own name, often cannot be resolved.
        f"--web.external-url=http://{LOOPBACK}:{port}",
        f"--cluster.listen-address={f'{LOOPBACK}:{cluster_port}' if cluster_port else ''}",
        *(f"--cluster.peer={peer}" for peer in peers),
        "--log.level=warn",
    ]


def prometheus_command(configuration: Path, storage: Path, port: int) -> list[str]:
    """Return the command line of a Prometheus on loopback that stores at most 512 MB of series in ``storage``.

    It is ready when ``GET /-/ready`` answers. Raises ProgramMissingError.
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
        # An alert posted before Alertmanager is discovered is lost until it is posted again; the default is 1 m.
        "--rules.alert.resend-delay=15s",
        "--log.level=warn",
    ]


def _alertmanager() -> str:
    # Debian's name first, because `alertmanager` may be another program.
    program = _program(("prometheus-alertmanager", "alertmanager"), "prometheus-alertmanager")
    if Path(program).name == "prometheus-alertmanager" and not DEBIAN_TEMPLATE.is_file():
        raise ProgramMissingError(
            f"{program} is Debian's, but its file {DEBIAN_TEMPLATE} is missing: "
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
