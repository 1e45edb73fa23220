"""How Alertmanager and Prometheus are started on this machine: the programs and their command lines.

Nothing is started here; who supervises processes (`sparkfuse up`, the tests) runs the command lines.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
# Debian's alertmanager reads its texts from this file of its package and does not start without it.
DEBIAN_TEMPLATE = Path("/usr/share/prometheus/alertmanager/default.tmpl")


class ProgramMissingError(FileNotFoundError):
    """A program is not installed; the text says how to get it."""


def alertmanager_command(
    configuration: Path, storage: Path, port: int, cluster_port: int | None = None, peers: Sequence[str] = ()
) -> list[str]:
    """The command line of an Alertmanager on loopback that keeps its silences in ``storage``.

    Without ``cluster_port`` it stands alone; with it, it joins ``peers`` (``host:cluster_port``).
    It is ready when ``GET /-/ready`` answers. Raises ProgramMissingError.
    """
    storage.mkdir(parents=True, exist_ok=True)
    return [
        _alertmanager(),
        f"--config.file={configuration}",
        f"--storage.path={storage}",
        f"--web.listen-address={LOOPBACK}:{port}",
        # Links in messages: the machine's own name, the default, often cannot be resolved.
        f"--web.external-url=http://{LOOPBACK}:{port}",
        f"--cluster.listen-address={f'{LOOPBACK}:{cluster_port}' if cluster_port else ''}",
        *(f"--cluster.peer={peer}" for peer in peers),
        "--log.level=warn",
    ]


def prometheus_command(configuration: Path, storage: Path, port: int) -> list[str]:
    """The command line of a Prometheus on loopback that keeps its series in ``storage``, at most 512 MB of them.

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
        # An alert that was posted before Alertmanager was known is lost until it is posted again; the default is 1 m.
        "--rules.alert.resend-delay=15s",
        "--log.level=warn",
    ]


def _alertmanager() -> str:
    # Debian's name comes first: `alertmanager` may be anything.
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
        f"or put the program of its release on PATH as {' or '.join(names)}"
    )
