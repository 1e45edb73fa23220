import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import clickhouse_connect
import pytest

from sparkfuse.stack.topics import ensure_topics
from tests.kafka import settings_of
from tests.kubernetes_manifests import Pod, manifests, pods
from tests.waiting import wait_for

# Needs root, for a mount namespace.
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
PROCESSES = [pod for pod in pods("production") if not pod.flink]
START_SECONDS = 120
# The root file system becomes read-only, with an empty /tmp, and the process loses all privileges of root.
RESTRICT = """
mount --make-rprivate /
mount -t tmpfs tmpfs /var/log
mkdir /var/log/spark-events
mount -o remount,ro /var/log
mount -t tmpfs tmpfs /tmp
mount -o remount,ro,bind /
touch /not-writable 2>/dev/null && exit 97
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"
"""


@pytest.fixture
def database(store_url: str) -> str:
    """Return the address of a new database of the store."""
    name = f"read_only_{uuid.uuid4().hex[:8]}"
    clickhouse_connect.get_client(dsn=store_url).command(f"CREATE DATABASE {name}")
    return f"{store_url}/{name}"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[list[str], dict[str, str]], Path]]:
    """Return a function that runs a command without write access except to /tmp, and returns its log."""
    started = []

    def run(command: list[str], environment: dict[str, str]) -> Path:
        log = tmp_path / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["unshare", "--mount", "bash", "-euc", RESTRICT, "restrict", *command],
                env={**os.environ, **environment},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started.append(process)
        return log

    yield run
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2) as reply:
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError):
        return False


@pytest.mark.parametrize("pod", PROCESSES, ids=[pod.name for pod in PROCESSES])
def test_process_serves_metrics_on_a_read_only_root(
    pod: Pod,
    kafka_bootstrap: str,
    topic_prefix: str,
    database: str,
    free_port: Callable[[], int],
    start: Callable[[list[str], dict[str, str]], Path],
):
    """Each process starts with the command of its manifest, writes only to /tmp, and answers its probes."""
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    (settings,) = [
        each for each in manifests("production", "ConfigMap") if each["metadata"]["name"].endswith("settings")
    ]
    port = free_port()
    given = {
        **settings["data"],
        "HOME": pod.values["HOME"],
        "SPARKFUSE_HOME": pod.values["SPARKFUSE_HOME"],
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": topic_prefix,
        "SPARKFUSE_CLICKHOUSE_URL": database,
        "SPARKFUSE_METRICS_PORT": str(port),
    }
    program = shutil.which(pod.container["command"][0], path=str(Path(sys.executable).parent))
    assert program is not None
    log = start([program, *pod.container["command"][1:]], given)

    wait_for(lambda: answers(port) or "error" in log.read_text().lower(), START_SECONDS, "the metrics of the process")
    assert answers(port), log.read_text()
    assert "read-only" not in log.read_text().lower()
