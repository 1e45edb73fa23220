"""Requests that the detect process runs one Python step as a thread, and waits until that step ends.

Flink starts a process for each Python step. In the mini cluster, the process of a step only sends one message. To send
this message, PyFlink's own script loads all of Apache Beam, which takes 4 s of CPU time for each of six steps. This
module sends the message and only needs gRPC. The message is Beam's StartWorkerRequest (beam_fn_api.proto): worker_id 1,
provision_endpoint.url 5.1, params 10.
"""

from __future__ import annotations

import argparse
import os
import shlex
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

METHOD = "/org.apache.beam.model.fn_execution.v1.BeamFnExternalWorkerPool/StartWorker"
ADDRESS = "PYTHON_LOOPBACK_SERVER_ADDRESS"
_REPLACED = "pyflink.fn_execution.beam.beam_boot"


def write_starter(path: Path) -> Path:
    """Write a replacement for the Python executable that starts a step with this module, and return ``path``."""
    python, module = shlex.quote(sys.executable), shlex.quote(str(Path(__file__).resolve()))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "#!/bin/sh\n"
        f'if [ -n "${ADDRESS}" ] && [ "$1 $2" = "-m {_REPLACED}" ]; then shift 2; exec {python} {module} "$@"; fi\n'
        f'exec {python} "$@"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def request(worker_id: str, provision_endpoint: str, params: Mapping[str, str]) -> bytes:
    """Return the encoded message."""
    entries = b"".join(_field(10, _text(1, key) + _text(2, value)) for key, value in params.items())
    return _text(1, worker_id) + _field(5, _text(1, provision_endpoint)) + entries


def main() -> int:
    """Start the step that Flink passes in the arguments; return when the step ends."""
    import grpc  # type: ignore[import-untyped]  # grpcio has no stubs

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--id", required=True)
    parser.add_argument("--provision_endpoint", required=True)
    parser.add_argument("--semi_persist_dir", default="")
    given = parser.parse_known_args()[0]
    params = {**os.environ, "SEMI_PERSISTENT_DIRECTORY": given.semi_persist_dir}
    with grpc.insecure_channel(os.environ[ADDRESS]) as channel:
        answer = channel.unary_unary(METHOD)(request(given.id, given.provision_endpoint, params))
    if answer:  # the answer has only one field, an error message
        print(f"cannot start the Python step: {answer.decode(errors='replace')}", file=sys.stderr)
        return 1
    return 0


def _text(number: int, value: str) -> bytes:
    return _field(number, value.encode("utf-8", "replace"))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


if __name__ == "__main__":
    sys.exit(main())
