"""Creates the checked-in logs of this folder with real Spark: ``make_logs.py [VARIANT ...]``."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import zstandard

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[3]
PYTHON = CHECKOUT / "build/envs/spark35/bin/python"
VARIANTS = (
    "usual", "usual_again", "more_data", "fewer_cores", "other_join", "skewed_key", "failing_tasks", "one_partition",
    "slower_code", "broadcast_query", "merge_query",
)  # fmt: skip


def main(variants: list[str]) -> None:
    """Record one run per variant; Spark's log becomes logs/<variant>.zstd."""
    (HERE / "logs").mkdir(exist_ok=True)
    for variant in variants or VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            job = shutil.copy(HERE / "job.py", folder)
            subprocess.run([PYTHON, job, variant, folder], check=True, cwd=folder)
            (made,) = Path(folder).glob("*.zstd")
            with zstandard.open(made, "rt", encoding="utf-8") as lines:
                kept = "".join(without_machine(line, folder) for line in lines)
            packed = zstandard.ZstdCompressor(level=19).compress(kept.encode())
            (HERE / "logs" / f"{variant}.zstd").write_bytes(packed)


def without_machine(line: str, folder: str) -> str:
    """Return the line without paths and the machine's name, and with only the environment that was set on purpose."""
    for path, name in ((folder, "/jobs"), (str(CHECKOUT), "/opt"), (sys.base_prefix, "/usr")):
        line = line.replace(path, name)
    line = line.replace(socket.gethostname(), "node-a")
    if '"SparkListenerEnvironmentUpdate"' not in line:
        return line
    event = json.loads(line)
    properties = event["Spark Properties"]
    kept = {name: value for name, value in properties.items() if "/" not in value}
    sections = {"JVM Information": {}, "Spark Properties": kept, "System Properties": {}, "Classpath Entries": {}}
    return json.dumps({"Event": event["Event"], **sections}) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
