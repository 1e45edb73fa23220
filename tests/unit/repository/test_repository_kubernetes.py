import copy
import hashlib
import importlib.util
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import typer.main
import yaml

from sparkfuse.commands.application import application
from sparkfuse_contracts.settings import DEFAULTS, Settings
from sparkfuse_native_analytics.fuse_controller.keys import key_id, load_private_key, read_key_ring
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.knowledge.scrubbing import scrub
from tests.kubernetes_manifests import ROOT, Manifest, Pod, environments, manifests, pods, selects

# The oldest version that the chart accepts, and the newest whose schemas the validator has.
VERSIONS = ("1.25", "1.37")
# Objects that Kubernetes itself knows; the operator's own test validates the others.
KINDS = (
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "Deployment",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "Role",
    "RoleBinding",
    "Service",
    "ServiceAccount",
)
SECRET_SETTINGS = {"SPARKFUSE_CLICKHOUSE_URL", "SPARKFUSE_SIGNING_KEY", "SPARKFUSE_APPROVE_KEY"}
PODS = [pytest.param(env, pod, id=f"{env}-{pod.name}") for env in environments() for pod in pods(env)]
PROCESSES = [param for param in PODS if not param.values[1].flink]
each_environment = pytest.mark.parametrize("environment", environments())
each_pod = pytest.mark.parametrize(("environment", "pod"), PODS)
each_process = pytest.mark.parametrize(("environment", "pod"), PROCESSES)


def as_object(pod: Pod) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod.name, "labels": pod.labels},
        "spec": pod.spec,
    }


def named(environment: str, kind: str) -> set[str]:
    return {each["metadata"]["name"] for each in manifests(environment, kind)}


def test_rendered_manifests_are_of_the_present_sources():
    """The digests of the chart and its overlays are those of the files that were rendered."""
    folder = ROOT / "deploy" / "kubernetes"
    files = [each for name in ("sparkfuse", "overlays") for each in (folder / name).rglob("*")]
    sources = [each for each in files if each.is_file() and "charts" not in each.relative_to(folder).parts]
    actual = {str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest() for each in sources}
    lines = (folder / "rendered" / "sources.sha256").read_text().splitlines()
    rendered = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}

    assert actual == rendered, "run `make generate-kubernetes`"


@pytest.mark.parametrize("version", VERSIONS)
@each_environment
def test_objects_match_the_schemas_of_kubernetes(environment: str, version: str):
    """Each object conforms to the schema of its kind, without unknown fields."""
    for each in [*manifests(environment, *KINDS), *map(as_object, pods(environment))]:
        assert kubernetes_validate.validate(each, version, strict=True) == version


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda spec: spec.update(replicas="one"), id="type"),
        pytest.param(lambda spec: spec.update(replica=1), id="field"),
        pytest.param(lambda spec: spec.pop("selector"), id="required"),
        pytest.param(lambda spec: spec["template"]["spec"].update(hostNet=True), id="field-of-pod"),
    ],
)
def test_schemas_reject_mistakes(change: Callable[[Manifest], Any]):
    """The schemas reject an unknown field, a wrong type and a missing field."""
    deployment = copy.deepcopy(manifests("production", "Deployment")[0])
    change(deployment["spec"])

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, VERSIONS[-1], strict=True)


def test_no_object_of_another_kind():
    """Every object is of a kind that a test validates; none is a Secret."""
    kinds = {each["kind"] for environment in environments() for each in manifests(environment)}

    assert kinds == {*KINDS, "FlinkDeployment"}


@each_environment
def test_no_secret_in_a_manifest(environment: str):
    """No text has the shape of a secret, and settings that contain secrets are files or refer to a Secret."""
    for text in texts(manifests(environment)):
        assert scrub(text) == text
    for each in manifests(environment, "ConfigMap"):
        assert not each["data"].keys() & SECRET_SETTINGS
    for pod in pods(environment):
        given = {name: value for name, value in pod.values.items() if name in SECRET_SETTINGS}
        assert all(value.startswith("/etc/sparkfuse/") for value in given.values())


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


@each_pod
def test_pods_are_restricted(environment: str, pod: Pod):
    """A pod runs as a user other than root, with a read-only root file system and without privileges."""
    user = {key: pod.spec["securityContext"][key] for key in ("runAsNonRoot", "runAsUser", "runAsGroup")}

    assert user == {"runAsNonRoot": True, "runAsUser": 10001, "runAsGroup": 10001}
    assert pod.spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod.container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not pod.spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
    assert all("hostPath" not in volume for volume in pod.spec["volumes"])


@each_process
def test_only_the_pod_watcher_gets_a_token(environment: str, pod: Pod):
    """Of the processes, only the pod watcher may call the API of Kubernetes."""
    assert pod.spec["automountServiceAccountToken"] is (pod.name == "sparkfuse-pod-watcher")


@each_environment
def test_pod_watcher_may_only_read_pods_and_nodes(environment: str):
    """The only role for the whole cluster belongs to the pod watcher, and allows what its watches need."""
    (role,), (binding,) = manifests(environment, "ClusterRole"), manifests(environment, "ClusterRoleBinding")
    (subject,) = binding["subjects"]

    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list", "watch"]}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert subject["name"] == "sparkfuse-pod-watcher"


@each_pod
def test_working_folders_are_writable(environment: str, pod: Pod):
    """The folders that a process writes to are volumes, because the root file system is read-only."""
    volumes = {each["name"]: each for each in pod.spec["volumes"]}
    writable = {mount["mountPath"] for mount in pod.container["volumeMounts"] if "emptyDir" in volumes[mount["name"]]}

    assert all("sizeLimit" in each["emptyDir"] for each in volumes.values() if "emptyDir" in each)
    assert writable == ({"/tmp", "/opt/flink/log"} if pod.flink else {"/tmp"})
    assert pod.values["HOME"] == "/tmp"
    assert pod.values["SPARKFUSE_HOME"].startswith("/tmp/")


@each_pod
def test_references_exist(environment: str, pod: Pod):
    """Each ConfigMap and account of a pod is in the manifests, and each mount has a volume."""
    volumes = {each["name"]: each for each in pod.spec["volumes"]}
    maps = {each["configMap"]["name"] for each in volumes.values() if "configMap" in each}
    maps |= {each["configMapRef"]["name"] for each in pod.container["envFrom"]}

    assert maps <= named(environment, "ConfigMap")
    assert pod.spec["serviceAccountName"] in named(environment, "ServiceAccount")
    assert {mount["name"] for mount in pod.container["volumeMounts"]} == volumes.keys()


@each_pod
def test_settings_are_known_and_valid(environment: str, pod: Pod, tmp_path: Path):
    """Each variable is a setting of our processes, and a process accepts the values."""
    (settings,) = (
        each for each in manifests(environment, "ConfigMap") if each["metadata"]["name"].endswith("settings")
    )
    given = {**settings["data"], **{key: value for key, value in pod.values.items() if key.startswith("SPARKFUSE_")}}
    by_secret = {each["name"] for each in pod.container["env"] if "valueFrom" in each}
    assert given.pop("SPARKFUSE_SOURCE", "us") == "us"
    if sources := given.pop("SPARKFUSE_SOURCES", ""):
        assert sources == "us=/etc/sparkfuse/source/client.properties"
        assert {"name": "source", "mountPath": "/etc/sparkfuse/source", "readOnly": True} in pod.container[
            "volumeMounts"
        ]
    files = {key: value for key, value in given.items() if value.startswith("/etc/")}
    mounted = tuple(mount["mountPath"] for mount in pod.container["volumeMounts"])
    for value in files.values():
        (tmp_path / Path(value).name).write_text("")
        assert value.startswith(mounted)

    assert given.keys() | by_secret <= DEFAULTS.keys()
    read = Settings.from_environment({**given, **{key: str(tmp_path / Path(path).name) for key, path in files.items()}})
    assert read.metrics_address == "0.0.0.0"
    assert read.fuse_mode == "shadow"


@each_environment
def test_mounted_configuration_is_valid(environment: str, tmp_path: Path):
    """The file sparkfuse.yaml of an environment changes only rules that exist."""
    for each in manifests(environment, "ConfigMap"):
        if text := each["data"].get("sparkfuse.yaml"):
            path = tmp_path / "sparkfuse.yaml"
            path.write_text(text)
            assert load_catalog(overrides=path).keys() < load_catalog().keys()


@each_process
def test_commands_can_run(environment: str, pod: Pod):
    """The command of a process is a module that can be run, or a command of ours with valid options."""
    command = pod.container["command"]
    if command[:2] == ["python", "-m"]:
        assert len(command) == 3
        assert can_be_run(command[2])
        return
    assert command[0] == "sparkfuse"
    known: Any = typer.main.get_command(application)
    context = known.commands[command[1]].make_context(command[1], command[2:])
    expected = {
        "canary": ("every", 60),
        "serve": ("port", 19080),
        "ship": ("places", ["/var/log/spark-events"]),
        "watch-pods": ("cluster", command[-1]),
    }
    name, value = expected[command[1]]
    assert context.params[name] == value


def can_be_run(module: str) -> bool:
    found = importlib.util.find_spec(module)
    package = found is not None and found.submodule_search_locations is not None
    return found is not None and (not package or importlib.util.find_spec(f"{module}.__main__") is not None)


@each_process
def test_probes_ask_the_metrics_port(environment: str, pod: Pod):
    """Each probe requests the page and port that the process serves."""
    if pod.name.endswith("-console"):
        page = {"path": "/healthz", "port": "http", "httpHeaders": [{"name": "Host", "value": "localhost"}]}
        assert (pod.ports, pod.container["livenessProbe"]["httpGet"]) == ({"http": 19080}, page)
        return
    assert pod.ports == {"metrics": int(pod.values["SPARKFUSE_METRICS_PORT"])}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert pod.container[probe]["httpGet"] == {"path": "/metrics", "port": "metrics"}


@each_environment
def test_metrics_ports_are_those_of_the_containers(environment: str):
    """A process has the same metrics port in Compose and in Kubernetes."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for pod in pods(environment):
        service = services.get(pod.name.removeprefix("sparkfuse-").removesuffix("-jobmanager"), {})
        if port := service.get("environment", {}).get("SPARKFUSE_METRICS_PORT"):
            assert pod.ports["metrics"] == int(port)


@each_environment
def test_disruption_budgets_allow_one_pod(environment: str):
    """A budget selects pods that exist, and lets a node drain take one of them at a time."""
    pods_here = pods(environment)
    replicas = {each["metadata"]["name"]: each["spec"]["replicas"] for each in manifests(environment, "Deployment")}
    parallelism = {
        f"{each['metadata']['name']}-taskmanager": each["spec"]["job"]["parallelism"]
        for each in manifests(environment, "FlinkDeployment")
    }
    covered = set()
    for each in manifests(environment, "PodDisruptionBudget"):
        (pod,) = (pod for pod in pods_here if selects(each["spec"]["selector"], pod.labels))
        covered.add(pod.name)
        if pod.flink:
            assert each["spec"]["minAvailable"] == parallelism[pod.name] - 1
        else:
            assert each["spec"]["maxUnavailable"] == 1

    assert covered == {name for name, count in {**replicas, **parallelism}.items() if count > 1}


@each_environment
def test_no_job_has_more_instances_than_partitions(environment: str):
    """The parallelism of a job is at most the number of partitions that its topic is created with."""
    topics = yaml.safe_load((ROOT / "contracts" / "topics.yaml").read_text())
    sources = {"sparkfuse-windows": "facts", "sparkfuse-detect": "live"}
    for each in manifests(environment, "FlinkDeployment"):
        job = each["metadata"]["name"].removesuffix("-us")
        assert each["spec"]["job"]["parallelism"] <= topics[sources[job]]["partitions"]


@each_environment
def test_processes_that_run_once_are_recreated(environment: str):
    """A process with one replica is stopped before its successor starts; only the sender may have several."""
    for each in manifests(environment, "Deployment"):
        spec = each["spec"]
        assert spec["strategy"]["type"] == ("Recreate" if spec["replicas"] == 1 else "RollingUpdate")
        assert spec["replicas"] == 1 or each["metadata"]["name"] == "sparkfuse-sender"


@each_environment
def test_network_policies_cover_every_pod(environment: str):
    """A policy for both directions selects each pod, so what no policy allows is denied."""
    policies = manifests(environment, "NetworkPolicy")
    names = {name for pod in pods(environment) for name in pod.ports}
    for pod in pods(environment):
        chosen = [each["spec"] for each in policies if selects(each["spec"]["podSelector"], pod.labels)]
        assert any(set(spec["policyTypes"]) == {"Ingress", "Egress"} for spec in chosen)
    for spec in (policy["spec"] for policy in policies):
        assert any(selects(spec["podSelector"], pod.labels) for pod in pods(environment))
        ports = [port["port"] for rule in spec.get("ingress", []) for port in rule.get("ports", [])]
        assert {port for port in ports if isinstance(port, str)} <= names
        assert all("from" in rule for rule in spec.get("ingress", []))


@each_environment
def test_only_connections_of_a_process_are_open(environment: str):
    """The loader and the console reach the store, the sender Alertmanager, Flink the object store and Kubernetes.

    The pod watcher may reach the API of Kubernetes.
    """
    everywhere = {53, *kafka_ports(environment)}
    expected = {
        "sparkfuse-loader": {8123, 8443},
        "sparkfuse-console": {8123, 8443},
        "sparkfuse-sender": {9093},
        "sparkfuse-pod-watcher": {443, 6443},
        "sparkfuse-windows-jobmanager": {443, 6443},
        "sparkfuse-windows-taskmanager": {443, 6443},
        "sparkfuse-detect-jobmanager": {443, 6443},
        "sparkfuse-detect-taskmanager": {443, 6443},
    }
    for pod in pods(environment):
        opened = set()
        for policy in manifests(environment, "NetworkPolicy"):
            if selects(policy["spec"]["podSelector"], pod.labels):
                rules = policy["spec"].get("egress", [])
                opened |= {port["port"] for rule in rules for port in rule.get("ports", [])}
        assert opened - everywhere <= expected.get(pod.name.replace("-us-", "-"), set())
        assert everywhere <= opened


@each_environment
def test_only_a_proxy_reaches_the_console(environment: str):
    """The console has no login, so its policy names the pods that may connect, and its service selects its pod."""
    (pod,) = (each for each in pods(environment) if each.name == "sparkfuse-console")
    rules = [
        rule
        for policy in manifests(environment, "NetworkPolicy")
        if selects(policy["spec"]["podSelector"], pod.labels)
        for rule in policy["spec"].get("ingress", [])
        if {"protocol": "TCP", "port": "http"} in rule["ports"]
    ]
    (service,) = (each for each in manifests(environment, "Service") if each["metadata"]["name"] == pod.name)

    assert [bool(rule["from"]) for rule in rules] == [True]
    assert service["spec"]["selector"].items() <= pod.labels.items()


def kafka_ports(environment: str) -> set[int]:
    (settings,) = (
        each for each in manifests(environment, "ConfigMap") if each["metadata"]["name"].endswith("settings")
    )
    return {int(each.rpartition(":")[2]) for each in settings["data"]["SPARKFUSE_KAFKA_BOOTSTRAP"].split(",")}


def test_source_has_both_jobs_with_their_own_state():
    """The jobs of a source select it, and share neither names, storage nor labels with those of the home cluster."""
    of_source = {pod.name: pod.values for pod in pods("production") if pod.values.get("SPARKFUSE_SOURCE") == "us"}
    jobs = manifests("production", "FlinkDeployment")
    folders = [each["spec"]["flinkConfiguration"]["execution.checkpointing.dir"] for each in jobs]

    assert {name.rpartition("-")[0] for name in of_source} == {"sparkfuse-windows-us", "sparkfuse-detect-us"}
    assert len(set(folders)) == len(jobs) == 4


def test_secrets_are_documented():
    """The page about Kubernetes lists each Secret that a pod of production needs."""
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    needed = set()
    for pod in pods("production"):
        needed |= {each["secret"]["secretName"] for each in pod.spec["volumes"] if "secret" in each}
        needed |= {each["valueFrom"]["secretKeyRef"]["name"] for each in pod.container["env"] if "valueFrom" in each}

    assert len(needed) == 11
    assert {name for name in needed if f"`{name}`" not in page} == set()


def test_documented_commands_create_a_signing_key(tmp_path: Path):
    """The commands of the page about Kubernetes create a key that the fuse controller and the hook accept."""
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    commands = next(block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "openssl genpkey" in block)
    done = subprocess.run(["bash", "-euc", commands], cwd=tmp_path, capture_output=True, text=True, check=True)

    (key,) = read_key_ring(done.stdout).values()
    assert key.purpose == "act"
    assert key.key_id == key_id(load_private_key(tmp_path / "private.pem").public_key())
