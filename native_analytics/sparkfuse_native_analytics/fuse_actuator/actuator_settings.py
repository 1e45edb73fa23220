"""The configuration file of the external actuator.

By default, the actuator stops nothing: the mode is shadow, and no jobs are listed.

Only the actuator reads this file, so a person who can change sparkfuse.yaml cannot let the actuator stop more jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sparkfuse_contracts.assets import asset
from sparkfuse_native_analytics.fuse_actuator.cluster_manager import ClusterManager
from sparkfuse_native_analytics.fuse_actuator.databricks import Databricks
from sparkfuse_native_analytics.fuse_actuator.kubernetes import Kubernetes
from sparkfuse_native_analytics.fuse_actuator.manager_http import Address, ManagerHttp
from sparkfuse_native_analytics.fuse_actuator.standalone import Standalone
from sparkfuse_native_analytics.fuse_actuator.yarn import Yarn
from sparkfuse_rules import strict_yaml
from sparkfuse_rules.errors import RuleError, unknown_name

SHADOW, ACT = "shadow", "act"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ADDRESS_KEYS = ("url", "token_file", "ca_file")
_KEYS = ("cluster", "mode", "jobs", "policies", "state_file", "budget", "wait", "start_tolerance")


@dataclass(frozen=True)
class OwnBudget:
    """Largest number of stops in an hour, even if the controller asks for more."""

    job_per_hour: int = 1
    total_per_hour: int = 5


@dataclass(frozen=True)
class ActuatorSettings:
    """What the actuator may stop.

    ``cluster``: the name of the cluster in signals; signals for other clusters are ignored. ``jobs``: patterns of the
    job keys that may be stopped from outside. ``wait_ms``: time from the request until the application must have ended.
    ``start_tolerance_ms``: largest difference between the start of the application and the start that the manager
    reports.
    """

    cluster: str
    state_file: Path
    policies: Path
    mode: str = SHADOW
    jobs: tuple[str, ...] = ()
    budget: OwnBudget = OwnBudget()
    wait_ms: int = 60_000
    start_tolerance_ms: int = 1_800_000


def read_actuator_settings(path: Path, backend: str) -> tuple[ActuatorSettings, ClusterManager]:
    """Return the settings and the cluster manager of ``backend``. Raises RuleError for the first invalid value."""
    if backend not in BACKENDS:
        raise unknown_name("--backend", "backend", backend, BACKENDS)
    content = strict_yaml.mapping(str(path), strict_yaml.read_mapping(path), (*_KEYS, *BACKENDS))
    for key in ("cluster", "state_file", backend):
        if key not in content:
            raise RuleError(f"{path}: key {key!r} is missing")
    mode = content.get("mode", SHADOW)
    if mode not in (SHADOW, ACT):
        raise unknown_name(f"{path}: mode", "mode", str(mode), (SHADOW, ACT))
    default = ActuatorSettings("", path, path)
    settings = ActuatorSettings(
        cluster=strict_yaml.text(f"{path}: cluster", content["cluster"]),
        state_file=_path(path, "state_file", content["state_file"]),
        policies=_path(path, "policies", content["policies"]) if "policies" in content else _shipped_policies(),
        mode=mode,
        jobs=_texts(f"{path}: jobs", content.get("jobs", [])),
        budget=_budget(f"{path}: budget", content.get("budget", {})),
        wait_ms=_duration(f"{path}: wait", content.get("wait"), default.wait_ms),
        start_tolerance_ms=_duration(
            f"{path}: start_tolerance", content.get("start_tolerance"), default.start_tolerance_ms
        ),
    )
    return settings, BACKENDS[backend](f"{path}: {backend}", path, content[backend])


def _kubernetes(place: str, path: Path, value: object) -> ClusterManager:
    section = strict_yaml.mapping(place, value, (*_ADDRESS_KEYS, "namespaces"))
    namespaces = _texts(f"{place}.namespaces", section.get("namespaces"))
    if not namespaces:
        raise RuleError(f"{place}.namespaces: must name at least one namespace")
    return Kubernetes(_http(place, path, section), namespaces)


def _yarn(place: str, path: Path, value: object) -> ClusterManager:
    section = strict_yaml.mapping(place, value, (*_ADDRESS_KEYS, "user"))
    user = strict_yaml.text(f"{place}.user", section["user"]) if "user" in section else ""
    return Yarn(_http(place, path, section), user)


def _databricks(place: str, path: Path, value: object) -> ClusterManager:
    return Databricks(_http(place, path, strict_yaml.mapping(place, value, _ADDRESS_KEYS)))


def _standalone(place: str, path: Path, value: object) -> ClusterManager:
    return Standalone(_http(place, path, strict_yaml.mapping(place, value, _ADDRESS_KEYS)))


BACKENDS: Mapping[str, Callable[[str, Path, object], ClusterManager]] = {
    "kubernetes": _kubernetes,
    "yarn": _yarn,
    "databricks": _databricks,
    "standalone": _standalone,
}


def _http(place: str, path: Path, section: Mapping[str, Any]) -> ManagerHttp:
    url = strict_yaml.text(f"{place}.url", section.get("url")).rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
        raise RuleError(f"{place}.url: must be an address like https://kubernetes.default.svc, but is {url!r}")
    files = {name: _path(path, name, section[name]) for name in ("token_file", "ca_file") if name in section}
    for name, file in files.items():
        if not file.is_file():
            raise RuleError(f"{place}.{name}: {file} is no file")
    if "token_file" in files and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise RuleError(f"{place}.url: a token must not be sent without TLS; use https")
    return ManagerHttp(Address(url, files.get("token_file"), files.get("ca_file")))


def _shipped_policies() -> Path:
    return Path(str(asset("sparkfuse_rules", "generated", "fuse_policies.jsonl")))


def _path(path: Path, name: str, value: object) -> Path:
    """Return a path that the file names; a relative path is relative to the folder of the file."""
    return path.parent / strict_yaml.text(f"{path}: {name}", value)


def _texts(place: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise RuleError(f"{place}: must be a list of strings, but is {value!r}")
    return tuple(strict_yaml.text(place, each) for each in value)


def _budget(place: str, value: object) -> OwnBudget:
    content = strict_yaml.mapping(place, value, ("job_per_hour", "total_per_hour"))
    counts = {name: strict_yaml.number(f"{place}.{name}", each) for name, each in content.items()}
    for name, count in counts.items():
        if not isinstance(count, int) or count < 0:
            raise RuleError(f"{place}.{name}: must be a whole number, 0 or more, but is {count!r}")
    return OwnBudget(**{name: int(count) for name, count in counts.items()})


def _duration(place: str, value: object, default: int) -> int:
    return default if value is None else strict_yaml.duration_ms(place, value)
