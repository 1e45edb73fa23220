"""The rendered Kubernetes manifests, and the pods that they describe."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "deploy" / "kubernetes"
Manifest = dict[str, Any]


@dataclass(frozen=True)
class Pod:
    """One kind of pod: its labels, its annotations and its specification as Kubernetes gets it."""

    name: str
    flink: bool
    labels: dict[str, str]
    spec: Manifest

    @property
    def container(self) -> Manifest:
        """The only container."""
        (container,) = self.spec["containers"]
        assert isinstance(container, dict)
        return container

    @property
    def values(self) -> dict[str, str]:
        """The variables of the container with a value in the manifest, without those of its ConfigMaps."""
        return {each["name"]: each["value"] for each in self.container["env"] if "value" in each}

    @property
    def ports(self) -> dict[str, int]:
        """The named ports of the container."""
        return {each["name"]: each["containerPort"] for each in self.container["ports"]}


def environments() -> list[str]:
    """Return the names of the overlays."""
    return sorted(path.name for path in (FOLDER / "overlays").iterdir())


def manifests(environment: str, *kinds: str) -> list[Manifest]:
    """Return the rendered objects of an environment, of all kinds or of ``kinds``."""
    return [each for each in _documents(environment) if not kinds or each["kind"] in kinds]


@lru_cache
def _documents(environment: str) -> list[Manifest]:
    return list(yaml.safe_load_all((FOLDER / "rendered" / f"{environment}.yaml").read_text()))


@lru_cache
def pods(environment: str) -> list[Pod]:
    """Return one pod of each Deployment, and one job manager and one task manager of each FlinkDeployment."""
    return [*_processes(environment), *_flink_pods(environment)]


def _processes(environment: str) -> Iterator[Pod]:
    for each in manifests(environment, "Deployment"):
        template = each["spec"]["template"]
        yield Pod(each["metadata"]["name"], False, template["metadata"]["labels"], template["spec"])


def _flink_pods(environment: str) -> Iterator[Pod]:
    for each in manifests(environment, "FlinkDeployment"):
        spec, name = each["spec"], each["metadata"]["name"]
        # The operator's other way to merge replaces the first variable by the one of the layer.
        assert spec["flinkConfiguration"]["kubernetes.operator.pod-template.merge-arrays-by-name"] == "true"
        for role in ("jobManager", "taskManager"):
            merged = pod_template(each, role)
            # Flink adds these values.
            merged["spec"]["serviceAccountName"] = spec["serviceAccount"]
            merged["spec"]["containers"][0]["image"] = spec["image"]
            labels = {"app": name, "component": role.lower(), **merged["metadata"]["labels"]}
            yield Pod(f"{name}-{role.lower()}", True, labels, merged["spec"])


def pod_template(deployment: Manifest, role: str) -> Manifest:
    """Return the pod template that the operator gives to Flink for ``role``: jobManager or taskManager."""
    merged = merged_by_name(deployment["spec"]["podTemplate"], deployment["spec"][role]["podTemplate"])
    assert isinstance(merged, dict)
    return merged


def merged_by_name(under: Any, over: Any) -> Any:
    """Return a pod template with another template on top of it; elements of lists are merged by their names."""
    if isinstance(under, dict) and isinstance(over, dict):
        both = {key: merged_by_name(under[key], over[key]) for key in under.keys() & over.keys()}
        return copy.deepcopy({**under, **over, **both})
    if isinstance(under, list) and isinstance(over, list) and under and isinstance(under[0], dict):
        named = {each["name"]: each for each in under}
        for each in over:
            named[each["name"]] = merged_by_name(named.get(each["name"], each), each)
        return list(named.values())
    return copy.deepcopy(over)


def selects(selector: Manifest, labels: dict[str, str]) -> bool:
    """Whether a selector with ``matchLabels`` only selects a pod with ``labels``."""
    assert selector.keys() == {"matchLabels"}
    return selector["matchLabels"].items() <= labels.items()
