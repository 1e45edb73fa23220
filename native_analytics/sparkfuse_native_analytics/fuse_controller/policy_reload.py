"""Reads the policy of the fuse controller, and reloads it when the file changes so that holds take effect at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.policy import Policy, read_policy
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.rule import Rule

OFF = "off"
SIGNING_MODES = ("warn", "act")
_log = logging.getLogger("sparkfuse.fuse_controller")


@dataclass(frozen=True)
class ControllerPolicy:
    """What sparkfuse.yaml and the settings say: rules with a fuse, how far it may go by default, and the policy."""

    rules: Mapping[str, Rule]
    default_mode: str
    policy: Policy

    def mode(self, rule: Rule) -> str:
        """off, shadow, warn or act: the rule's own, or the default."""
        return (rule.fuse.mode if rule.fuse else None) or self.default_mode

    def watched(self) -> list[Rule]:
        """The rules whose fuse is not off, each as it holds for all jobs and as it holds for some."""
        return [setting for setting in self.settings() if self.mode(setting) != OFF]

    def settings(self) -> list[Rule]:
        """Every way in which a rules with a fuse is set; several may have one id."""
        return [
            _alone(setting)
            for rule in self.rules.values()
            for setting in (rule if rule.enabled else None, *(variant for _, variant in rule.variants))
            if setting is not None
        ]

    def for_job(self, rule_id: str, job_key: str) -> Rule | None:
        """The rule as it is set for a job; None where it is off."""
        setting = self.rules[rule_id].for_job(job_key)
        return None if setting is None else _alone(setting)


def _alone(rule: Rule) -> Rule:
    """The rule as it stands, without what holds for some jobs."""
    return replace(rule, variants=())


def read_controller_policy(settings: Settings, catalog: Path | None = None) -> ControllerPolicy:
    """The rules with a fuse, the default mode and the policy.

    Raises RuleError for what is wrong in the rules or in sparkfuse.yaml, and when a mode that signs has no key.
    """
    rules = load_catalog(catalog, settings.config_file)
    armed = {rule.id: rule for rule in rules.with_fuse()}
    orders = ControllerPolicy(armed, settings.fuse_mode, read_policy(settings.config_file))
    signing = [rule for rule in orders.settings() if orders.mode(rule) in SIGNING_MODES]
    if signing and settings.signing_key_file is None:
        names = ", ".join(dict.fromkeys(rule.id for rule in signing))
        raise RuleError(
            f"the fuse of {names} is in mode {orders.mode(signing[0])}, which signs, "
            "but SPARKFUSE_SIGNING_KEY names no private key (sparkfuse up makes one)"
        )
    return orders


class PolicyFile:
    """The orders, as the file on disk has them now."""

    def __init__(self, settings: Settings, catalog: Path | None = None) -> None:
        """Raises RuleError when the orders cannot be read at the start."""
        self._settings, self._catalog = settings, catalog
        self._stamp = self._now()
        self.orders = read_controller_policy(settings, catalog)

    def changed(self) -> ControllerPolicy | None:
        """New orders when the file has changed and can be read; what cannot be read is said, and the old ones hold."""
        stamp = self._now()
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            self.orders = read_controller_policy(self._settings, self._catalog)
        except RuleError as error:
            _log.error("the old orders hold: %s", error)
            return None
        _log.info("%s was read again", self._settings.config_file)
        return self.orders

    def _now(self) -> tuple[int, int] | None:
        path = self._settings.config_file
        try:
            status = path.stat() if path else None
        except OSError:  # it is being replaced; the next look sees the new one
            return self._stamp
        return (status.st_mtime_ns, status.st_size) if status else None
