"""An S3-compatible server for the state of Flink jobs."""

from __future__ import annotations

import contextlib
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from sparkfuse.stack.layout import free_ports
from tests.waiting import wait_for

START_SECONDS = 120


@contextlib.contextmanager
def s3_server(build: Path, log: Path, bucket: str) -> Iterator[dict[str, str]]:
    """Run an S3-compatible server with a bucket, and yield the Flink options for access to it."""
    [port] = free_ports(1)
    address = f"http://127.0.0.1:{port}"
    command = [str(build / "envs" / "s3" / "bin" / "moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        wait_for(lambda: put(f"{address}/{bucket}"), START_SECONDS, f"the bucket; see {log}")
        yield {
            "fs.s3a.endpoint": address,
            "fs.s3a.path.style.access": "true",
            "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
            "fs.s3a.access.key": "test",
            "fs.s3a.secret.key": "test",
        }
        with urllib.request.urlopen(f"{address}/{bucket}?list-type=2", timeout=10) as answer:
            assert "_metadata" in answer.read().decode(), "no checkpoint is in the bucket"
    finally:
        server.terminate()
        server.wait(30)


def put(address: str) -> bool:
    """Send a PUT request without content, and return whether the server accepted it."""
    with contextlib.suppress(OSError):
        urllib.request.urlopen(urllib.request.Request(address, method="PUT"), timeout=5).close()
        return True
    return False
