"""Runs programs with the code of the Flink Kubernetes operator on the rendered Flink deployments."""

from __future__ import annotations

import copy
import json
import subprocess
import tempfile
from collections.abc import Iterable
from typing import Any

from tests.kubernetes_manifests import ROOT, Manifest

OPERATOR = ROOT / "build" / "flink-operator"
PROGRAMS = ROOT / "build_support" / "flink_operator"
# The operator in Maven Central was published before Flink 2.3.
NEWEST_KNOWN_FLINK = "v1_18"


def operator_output(program: str, *arguments: str, text: str = "") -> list[str]:
    """Run a program of build_support/flink_operator, and return the lines of its output."""
    with tempfile.TemporaryDirectory() as folder:  # for the pod templates that the operator writes
        java = ["java", f"-Djava.io.tmpdir={folder}", "-cp", (OPERATOR / "classpath").read_text()]
        command = [*java, str(PROGRAMS / f"{program}.java"), *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=240)
    return done.stdout.splitlines()


def with_known_version(deployment: Manifest) -> Manifest:
    """Return a copy of a deployment with the newest version of Flink that the operator knows."""
    changed = copy.deepcopy(deployment)
    if changed["spec"]["flinkVersion"] == "v2_3":
        changed["spec"]["flinkVersion"] = NEWEST_KNOWN_FLINK
    return changed


def effective_options(deployments: Iterable[Manifest]) -> list[dict[str, Any]]:
    """Return the Flink options that the operator gives to the job manager of each deployment."""
    lines = [json.dumps(with_known_version(each)) for each in deployments]
    return [json.loads(line) for line in operator_output("OperatorOptions", text="\n".join(lines))]
