import copy
import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.flink_operator import OPERATOR, operator_output, with_known_version
from tests.kubernetes_manifests import ROOT, Manifest, environments, manifests

PROGRAM = "ValidateFlinkDeployments"
DEFINITION = "META-INF/fabric8/flinkdeployments.flink.apache.org-v1.yml"
# The operator in Maven Central is built with Flink 1.17, which knows these options by their former names.
FORMER_NAMES = {
    "execution.checkpointing.dir": "state.checkpoints.dir",
    "execution.checkpointing.savepoint-dir": "state.savepoints.dir",
}
DEPLOYMENTS = [each for environment in environments() for each in manifests(environment, "FlinkDeployment")]


def verdicts(deployments: list[Manifest]) -> list[str]:
    lines = [json.dumps(for_validator(each)) for each in deployments]
    output = operator_output(PROGRAM, text="\n".join(lines))
    return [line.removeprefix("result ") for line in output if line.startswith("result ")]


def for_validator(deployment: Manifest) -> Manifest:
    changed = with_known_version(deployment)
    options = changed["spec"]["flinkConfiguration"]
    changed["spec"]["flinkConfiguration"] = {FORMER_NAMES.get(name, name): value for name, value in options.items()}
    return changed


def without(deployment: Manifest, *path: str) -> Manifest:
    changed = copy.deepcopy(deployment)
    parent = changed
    for key in path[:-1]:
        parent = parent[key]
    del parent[path[-1]]
    return changed


@pytest.fixture(scope="module")
def schema() -> Manifest:
    """Return the schema of FlinkDeployment from the operator's jar, in which unknown fields are errors."""
    with zipfile.ZipFile(OPERATOR / "flink-kubernetes-operator-api.jar") as jar:
        definition = yaml.safe_load(jar.read(DEFINITION))
    (version,) = [each for each in definition["spec"]["versions"] if each["name"] == "v1beta1"]
    assert version["served"]
    return strict(version["schema"]["openAPIV3Schema"])


def strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        closed = {"type": ["integer", "string"]}
    elif isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        closed["additionalProperties"] = False
    return closed


def errors(schema: Manifest, deployment: Manifest) -> set[str]:
    # Kubernetes validates these three fields itself.
    rest = {key: value for key, value in deployment.items() if key not in ("apiVersion", "kind", "metadata")}
    found = jsonschema.Draft202012Validator(schema).iter_errors(rest)
    return {f"{'.'.join(map(str, error.path))} {error.validator}" for error in found}


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_deployments_match_the_operators_definition(deployment: Manifest, schema: Manifest):
    """The schema of operator 1.10, the newest in Maven Central, accepts everything except the newer Flink version."""
    assert deployment["apiVersion"] == "flink.apache.org/v1beta1"
    assert errors(schema, deployment) == {"spec.flinkVersion enum"}


def test_definition_has_the_fields_for_a_rollback(schema: Manifest):
    """The operator's schema has the fields that start a job again from a chosen savepoint, or restart it."""
    deployment = copy.deepcopy(DEPLOYMENTS[0])
    deployment["spec"]["restartNonce"] = 1
    deployment["spec"]["job"] |= {"initialSavepointPath": "s3a://bucket/savepoint-1", "savepointRedeployNonce": 1}

    assert errors(schema, deployment) == {"spec.flinkVersion enum"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            lambda spec: spec["job"].update(upgradeMod="savepoint"), "spec.job additionalProperties", id="field"
        ),
        pytest.param(
            lambda spec: spec["job"].update(upgradeMode="none"), "spec.job.upgradeMode enum", id="upgrade-mode"
        ),
        pytest.param(lambda spec: spec["job"].update(parallelism="two"), "spec.job.parallelism type", id="parallelism"),
        pytest.param(
            lambda spec: spec["podTemplate"]["spec"].update(volume=[]),
            "spec.podTemplate.spec additionalProperties",
            id="field-of-pod",
        ),
    ],
)
def test_definition_rejects_mistakes(change: Callable[[Manifest], None], expected: str, schema: Manifest):
    """The operator's schema rejects misspelled fields, unknown values and wrong types."""
    deployment = copy.deepcopy(DEPLOYMENTS[0])
    change(deployment["spec"])

    assert errors(schema, deployment) == {"spec.flinkVersion enum", expected}


def test_validator_of_the_operator():
    """The operator's validator accepts every deployment, and rejects deployments with mistakes."""
    first = copy.deepcopy(DEPLOYMENTS[0])
    first["spec"]["job"]["upgradeMode"] = "savepoint"
    replicated = copy.deepcopy(without(first, "spec", "flinkConfiguration", "high-availability.type"))
    replicated["spec"]["jobManager"]["replicas"] = 2
    named = copy.deepcopy(first)
    named["spec"]["flinkConfiguration"]["kubernetes.cluster-id"] = "mine"
    options = ("spec", "flinkConfiguration")
    mistakes = {
        "Checkpoint directory": without(first, *options, "execution.checkpointing.dir"),
        "Job could not be upgraded with savepoint": without(first, *options, "execution.checkpointing.savepoint-dir"),
        "High availability should be enabled": replicated,
        "Forbidden Flink config key": named,
        "JobManager resource memory": without(first, "spec", "jobManager", "resource"),
    }
    results = verdicts([*DEPLOYMENTS, *mistakes.values()])

    assert results[: len(DEPLOYMENTS)] == [""] * len(DEPLOYMENTS)
    for expected, result in zip(mistakes, results[len(DEPLOYMENTS) :], strict=True):
        assert expected in result


def test_options_of_the_operator_exist():
    """Each option for the operator exists, because the operator ignores a misspelled one."""
    known = set(operator_output(PROGRAM, "--options"))
    used = {name for each in DEPLOYMENTS for name in each["spec"]["flinkConfiguration"]}

    ours = {name for name in used if name.startswith("kubernetes.operator.")}
    assert len(ours) >= 4
    assert ours <= known


def test_jar_of_python_jobs_is_in_the_image(tmp_path: Path):
    """The script that lays out Flink in the image provides the jar that the manifests name, and Flink's scripts."""
    home = tmp_path / "flink"
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHON": str(ROOT / ".venv" / "bin" / "python"),
        "SPARKFUSE_FLINK_LIBS": str(ROOT / "build" / "flink-libs"),
    }
    subprocess.run([ROOT / "deploy" / "flink_home.sh", home], env=environment, check=True, timeout=60)

    for each in DEPLOYMENTS:
        jar = each["spec"]["job"]["jarURI"].removeprefix("local:///opt/flink/")
        assert (home / jar).is_file()
    for script in ("kubernetes-jobmanager.sh", "kubernetes-taskmanager.sh"):
        assert (home / "bin" / script).is_file()
    assert {"lib/sparkfuse-flink-functions.jar", "plugins/metrics-prometheus"} <= {
        str(path.relative_to(home)) for path in [*home.glob("lib/*.jar"), *home.glob("plugins/*")]
    }
