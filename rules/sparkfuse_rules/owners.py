"""Who is asked about a job and which team it belongs to, where its own settings do not say: from sparkfuse.yaml."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkfuse_rules import strict_yaml
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.overrides import read_list

SECTION = "owners"
_KEYS = ("job", "owner", "team")


@dataclass(frozen=True)
class OwnerEntry:
    """Jobs whose key matches the pattern ``job`` (``*``, ``?``, ``[…]``, case told apart) have this owner and team."""

    job: str
    owner: str | None
    team: str | None


@dataclass(frozen=True)
class Owners:
    """The mapping, in the order of the file."""

    entries: tuple[OwnerEntry, ...] = ()

    def of(self, job_key: str) -> tuple[str | None, str | None]:
        """Owner and team of a job, each from the first entry that matches and says it."""
        matching = [entry for entry in self.entries if fnmatch.fnmatchcase(job_key, entry.job)]
        owner = next((entry.owner for entry in matching if entry.owner), None)
        team = next((entry.team for entry in matching if entry.team), None)
        return owner, team


def read_owners(path: Path | None) -> Owners:
    """The section ``owners`` of a sparkfuse.yaml; without a file nobody owns anything. Raises RuleError."""
    return Owners(tuple(_entries(f"{path}: {SECTION}", read_list(path, SECTION)))) if path else Owners()


def _entries(place: str, content: Sequence[Any]) -> list[OwnerEntry]:
    return [_entry(f"{place}[{number}]", entry) for number, entry in enumerate(content)]


def _entry(place: str, entry: object) -> OwnerEntry:
    said = strict_yaml.mapping(place, entry, _KEYS)
    if "job" not in said or not said.keys() & {"owner", "team"}:
        raise RuleError(f"{place}: must say job, and owner or team or both, is {entry!r}")
    texts = {key: strict_yaml.text(f"{place}.{key}", value) for key, value in said.items()}
    return OwnerEntry(texts["job"], texts.get("owner"), texts.get("team"))
