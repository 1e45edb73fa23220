"""The topics: their names without prefix, messages, keys and required settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import yaml

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.settings import Settings

_KEYS = {
    "none": (),
    # A record's key contains only fields that the record has. If two records lack the same field and agree in the
    # others, their keys are equal, so the newer record replaces the older one.
    "cluster, tenant, job_key and stage_fingerprint": ("cluster", "tenant", "job_key", "stage_fingerprint"),
    "finding_id and person": ("finding_id", "person"),
    "shipper and log": ("shipper", "log"),
}


@dataclass(frozen=True)
class Topic:
    """One topic; ``key`` lists the fields that form a record's key, ``encoding`` is protobuf or json."""

    name: str
    partitions: int
    message: str
    encoding: str
    key: tuple[str, ...]
    config: Mapping[str, str]


@cache
def topics() -> Mapping[str, Topic]:
    """Return all topics of contracts/topics.yaml by topic name without the prefix."""
    entries = yaml.safe_load(asset("sparkfuse_contracts", "topics.yaml").read_text())
    return MappingProxyType({name: _topic(name, entry) for name, entry in entries.items()})


def _topic(name: str, entry: Mapping[str, object]) -> Topic:
    key, config = str(entry["key"]), entry["config"]
    assert isinstance(config, dict)
    return Topic(
        name=name,
        partitions=int(str(entry["partitions"])),
        message=str(entry["message"]),
        encoding=str(entry["encoding"]),
        key=_KEYS.get(key, (key,)),
        config=MappingProxyType({str(setting): str(value) for setting, value in config.items()}),
    )


def topic_name(name: str, prefix: str | None = None) -> str:
    """Return the full name of a topic: ``topic_name("facts")`` is ``sparkfuse.facts`` with the default prefix.

    Raises KeyError for a name that is not in contracts/topics.yaml.
    """
    topic = topics()[name]
    return f"{Settings.from_environment().topic_prefix if prefix is None else prefix}.{topic.name}"
