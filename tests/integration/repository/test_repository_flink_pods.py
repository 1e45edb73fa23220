import json
import subprocess
from pathlib import Path

import kubernetes_validate
import pyflink
import pytest

from tests.kubernetes_manifests import ROOT, Manifest, environments, manifests, pod_template

FLINK = Path(pyflink.__file__).parent
PROGRAM = ROOT / "build_support" / "flink_operator" / "FlinkPods.java"
# Options that Flink's classes do not list: of the operator, of reporters by name, and of the plugin for S3.
OTHER_OPTIONS = ("kubernetes.operator.", "metrics.reporter.", "fs.s3a.")
DEPLOYMENTS = [each for environment in environments() for each in manifests(environment, "FlinkDeployment")]
NAMES = [f"{each['metadata']['namespace']}-{each['metadata']['name']}" for each in DEPLOYMENTS]
MISTAKES = {"high-availability.storagedir": "s3a://bucket/ha", "execution.checkpointing.interval": "often"}
SCRIPTS = {
    "jobManager": "kubernetes-jobmanager.sh kubernetes-application",
    "taskManager": "kubernetes-taskmanager.sh",
}


def options(deployment: Manifest) -> dict[str, str]:
    """Return the options of a deployment, with those that the operator and Flink's client add."""
    spec, metadata = deployment["spec"], deployment["metadata"]
    return {
        **spec["flinkConfiguration"],
        "execution.target": "kubernetes-application",
        "kubernetes.cluster-id": metadata["name"],
        "kubernetes.namespace": metadata["namespace"],
        "kubernetes.container.image.ref": spec["image"],
        "kubernetes.service-account": spec["serviceAccount"],
        "jobmanager.memory.process.size": spec["jobManager"]["resource"]["memory"],
        "taskmanager.memory.process.size": spec["taskManager"]["resource"]["memory"],
        "parallelism.default": str(spec["job"]["parallelism"]),
        "blob.server.port": "6124",
        "taskmanager.rpc.port": "6122",
    }


def question(deployment: Manifest, changed: dict[str, str]) -> str:
    templates = {role: pod_template(deployment, role) for role in SCRIPTS}
    return json.dumps({"options": {**options(deployment), **changed}, **templates})


@pytest.fixture(scope="module")
def answers() -> list[Manifest]:
    """Return what Flink builds from each deployment, and from a deployment with each of two mistakes."""
    (python_jar,) = (FLINK / "opt").glob("flink-python-*.jar")
    mistakes = [question(DEPLOYMENTS[0], {name: value}) for name, value in MISTAKES.items()]
    done = subprocess.run(
        ["java", "-cp", f"{FLINK}/lib/*:{python_jar}", PROGRAM, FLINK / "conf"],
        input="\n".join([*(question(each, {}) for each in DEPLOYMENTS), *mistakes]),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("number", range(len(DEPLOYMENTS)), ids=NAMES)
def test_flink_builds_restricted_pods(number: int, answers: list[Manifest]):
    """Flink knows each option, and its own code builds valid pods that keep what the manifests require."""
    deployment, built = DEPLOYMENTS[number], answers[number]

    assert [name for name in built["unknown"] if not name.startswith(OTHER_OPTIONS)] == []
    for role, script in SCRIPTS.items():
        template, pod = pod_template(deployment, role), built[role]
        as_object = {"apiVersion": "v1", "kind": "Pod", "metadata": {**pod["metadata"], "name": "flink"}}
        kubernetes_validate.validate({**as_object, "spec": pod["spec"]}, "1.37", strict=True)
        (container,), (wanted,) = pod["spec"]["containers"], template["spec"]["containers"]

        assert pod["spec"]["securityContext"] == template["spec"]["securityContext"]
        assert container["securityContext"] == wanted["securityContext"]
        assert all(variable in container["env"] for variable in wanted["env"])
        assert all(volume in pod["spec"]["volumes"] for volume in template["spec"]["volumes"])
        assert pod["spec"]["serviceAccountName"] == deployment["spec"]["serviceAccount"]
        assert container["command"] == ["/usr/bin/env"]
        assert container["args"][:2] == ["bash", "-c"]
        assert container["args"][2].startswith(script)
        # The network policies and budgets select pods by these labels.
        labels = {"app": deployment["metadata"]["name"], "component": role.lower()}
        assert {**labels, **template["metadata"]["labels"]}.items() <= pod["metadata"]["labels"].items()
        memory = deployment["spec"][role]["resource"]["memory"]
        assert container["resources"]["limits"]["memory"] == memory.replace("m", "Mi")


def test_mistakes_in_options_are_found(answers: list[Manifest]):
    """A misspelled option is reported, and an invalid value is an error."""
    misspelled, invalid = answers[len(DEPLOYMENTS) :]

    assert "high-availability.storagedir" in misspelled["unknown"]
    assert "execution.checkpointing.interval" in invalid["error"]
