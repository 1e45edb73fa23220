"""The policy of the fuse controller, reloaded when sparkfuse.yaml changes so that a hold takes effect at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.safeguards import Safeguards, read_safeguards
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.rule import Rule

OFF = "off"
SIGNING_MODES = ("warn", "act")
_log = logging.getLogger("sparkfuse.fuse_controller")


@dataclass(frozen=True)
class ControllerPolicy:
    """Rules with a fuse, the default mode, and the safeguards, from the catalog, sparkfuse.yaml and the settings."""

    rules: Mapping[str, Rule]
    default_mode: str
    safeguards: Safeguards

    def mode(self, rule: Rule) -> str:
        """Return off, shadow, warn or act: the mode of the rule, or the default."""
        return (rule.fuse.mode if rule.fuse else None) or self.default_mode

    def watched(self) -> list[Rule]:
        """The variants of rules whose fuse is not off."""
        return [variant for variant in self.variants() if self.mode(variant) != OFF]

    def variants(self) -> list[Rule]:
        """Each rule with a fuse, for all jobs and for each group of jobs with other parameters; ids may repeat."""
        return [
            _without_variants(variant)
            for rule in self.rules.values()
            for variant in (rule if rule.enabled else None, *(variant for _, variant in rule.variants))
            if variant is not None
        ]

    def for_job(self, rule_id: str, job_key: str) -> Rule | None:
        """The variant of the rule for a job; None if the rule is off for it."""
        variant = self.rules[rule_id].for_job(job_key)
        return None if variant is None else _without_variants(variant)


def _without_variants(rule: Rule) -> Rule:
    return replace(rule, variants=())


def read_controller_policy(settings: Settings, catalog: Path | None = None) -> ControllerPolicy:
    """Read the rules with a fuse, the default mode and the safeguards.

    Raises RuleError for errors in the rules or sparkfuse.yaml, and if a mode that signs has no key.
    """
    rules = load_catalog(catalog, settings.config_file)
    with_fuse = {rule.id: rule for rule in rules.with_fuse()}
    policy = ControllerPolicy(with_fuse, settings.fuse_mode, read_safeguards(settings.config_file))
    signing = [rule for rule in policy.variants() if policy.mode(rule) in SIGNING_MODES]
    if signing and settings.signing_key_file is None:
        names = ", ".join(dict.fromkeys(rule.id for rule in signing))
        raise RuleError(
            f"the fuse of {names} is in mode {policy.mode(signing[0])}, which signs, "
            "but SPARKFUSE_SIGNING_KEY names no private key (sparkfuse up makes one)"
        )
    return policy


class PolicyReloader:
    """Holds the latest valid policy, and reads it again when the file changes."""

    def __init__(self, settings: Settings, catalog: Path | None = None) -> None:
        """Raises RuleError if the policy is not valid at the start."""
        self._settings, self._catalog = settings, catalog
        self._stamp = self._file_stamp()
        self.policy = read_controller_policy(settings, catalog)

    def reload(self) -> ControllerPolicy | None:
        """Return the new policy if the file changed. An invalid file is logged, and the old policy stays in force."""
        stamp = self._file_stamp()
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            self.policy = read_controller_policy(self._settings, self._catalog)
        except RuleError as error:
            _log.error("sparkfuse.yaml is not valid, the old policy stays in force: %s", error)
            return None
        _log.info("reloaded %s", self._settings.config_file)
        return self.policy

    def _file_stamp(self) -> tuple[int, int] | None:
        path = self._settings.config_file
        try:
            status = path.stat() if path else None
        except OSError:  # the file is being replaced; the next call reads the new one
            return self._stamp
        return (status.st_mtime_ns, status.st_size) if status else None
