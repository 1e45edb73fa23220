"""Map jobs to their owner and team from sparkfuse.yaml, for jobs whose own settings do not name them."""

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
    """The owner and team of jobs whose key matches ``job`` (``*``, ``?``, ``[…]``, case-sensitive)."""

    job: str
    owner: str | None
    team: str | None


@dataclass(frozen=True)
class Owners:
    """The entries of the mapping, in the order of the file."""

    entries: tuple[OwnerEntry, ...] = ()

    def of(self, job_key: str) -> tuple[str | None, str | None]:
        """Return the owner and the team of a job.

        The owner comes from the first matching entry that sets an owner, the team from the first one that sets a team.
        """
        matching = [entry for entry in self.entries if fnmatch.fnmatchcase(job_key, entry.job)]
        owner = next((entry.owner for entry in matching if entry.owner), None)
        team = next((entry.team for entry in matching if entry.team), None)
        return owner, team


def read_owners(path: Path | None) -> Owners:
    """Return the section ``owners`` of sparkfuse.yaml; no entries if there is no file. Raises RuleError."""
    return Owners(tuple(_entries(f"{path}: {SECTION}", read_list(path, SECTION)))) if path else Owners()


def _entries(place: str, content: Sequence[Any]) -> list[OwnerEntry]:
    return [_entry(f"{place}[{number}]", entry) for number, entry in enumerate(content)]


def _entry(place: str, entry: object) -> OwnerEntry:
    content = strict_yaml.mapping(place, entry, _KEYS)
    if "job" not in content or not content.keys() & {"owner", "team"}:
        raise RuleError(f"{place}: needs job, and owner or team or both, but is {entry!r}")
    texts = {key: strict_yaml.text(f"{place}.{key}", value) for key, value in content.items()}
    return OwnerEntry(texts["job"], texts.get("owner"), texts.get("team"))
