"""The policy of the fuse controller, reloaded when sparkfuse.yaml changes, so that a hold takes effect immediately.

If the file is deleted or becomes invalid, every rule is set to shadow mode: a typing error in a hold must not leave the
fuse armed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.act_registry import ACT_MODE, OFF_MODE, SHADOW_MODE, WARN_MODE
from sparkfuse_native_analytics.fuse_controller.patterns import matches
from sparkfuse_native_analytics.fuse_controller.safeguards import Safeguards, read_safeguards
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.conditions import scope_of_view
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.policies import policy_hash, policy_line
from sparkfuse_rules.rule import Rule

SIGNING_MODES = (WARN_MODE, ACT_MODE)
_log = logging.getLogger("sparkfuse.fuse_controller")


@dataclass(frozen=True, eq=False)
class Variant:
    """A rule with a fuse, as configured for some jobs.

    ``policy_hash`` identifies the policy of the variant for the hook.
    """

    rule: Rule
    policy_hash: str


@dataclass(frozen=True)
class RuleVariants:
    """The variants of one rule: by patterns of the job key, in the order of the file, and for all other jobs.

    A variant of None means that the rule is disabled for these jobs.
    """

    by_job: tuple[tuple[str, Variant | None], ...]
    otherwise: Variant | None

    def for_job(self, job_key: str) -> Variant | None:
        """Return the variant for a job; the first pattern that matches applies."""
        for pattern, variant in self.by_job:
            if matches(pattern, job_key):
                return variant
        return self.otherwise

    def all(self) -> list[Variant]:
        """Return the variants that are enabled."""
        return [each for each in (self.otherwise, *(variant for _, variant in self.by_job)) if each is not None]


@dataclass(frozen=True)
class ControllerPolicy:
    """Rules with a fuse, the default mode, and the safeguards.

    ``error`` is the reason why sparkfuse.yaml is not valid, or empty.
    """

    rules: Mapping[str, RuleVariants]
    default_mode: str
    safeguards: Safeguards = field(default_factory=Safeguards)
    error: str = ""

    def mode(self, rule: Rule) -> str:
        """Return the mode of the rule, or the default mode; if sparkfuse.yaml is not valid, at most shadow."""
        mode = (rule.fuse.mode if rule.fuse else None) or self.default_mode
        return SHADOW_MODE if self.error and mode in SIGNING_MODES else mode

    def watched(self) -> list[Variant]:
        """Return the variants of rules whose fuse is not off."""
        return [each for rule in self.rules.values() for each in rule.all() if self.mode(each.rule) != OFF_MODE]

    def scopes(self) -> Mapping[str, str]:
        """Return the scope of each rule's policy: task, stage, query or application."""
        rules = {rule_id: found[0].rule.view for rule_id, each in self.rules.items() if (found := each.all())}
        return {rule_id: scope for rule_id, view in rules.items() if (scope := scope_of_view(view)) is not None}

    def for_job(self, rule_id: str, job_key: str) -> Variant | None:
        """Return the variant of a rule for a job; None if the rule has no fuse, or is off for the job."""
        variants = self.rules.get(rule_id)
        found = variants.for_job(job_key) if variants else None
        return found if found is not None and self.mode(found.rule) != OFF_MODE else None


def read_policies(settings: Settings, catalog: Path | None = None) -> ControllerPolicy:
    """Read the rules with a fuse, the default mode and the safeguards.

    Raises RuleError for errors in the rules or sparkfuse.yaml.
    """
    rules = load_catalog(catalog, settings.config_file).with_fuse()
    variants = {rule.id: _variants(rule) for rule in rules}
    return ControllerPolicy(variants, settings.fuse_mode, read_safeguards(settings.config_file))


def read_controller_policy(settings: Settings, catalog: Path | None = None) -> ControllerPolicy:
    """Read the policies, and check that a signing key exists if a mode needs one.

    Raises RuleError for errors in the rules or sparkfuse.yaml, and if a mode needs signed signals, but no signing key
    is set.
    """
    policy = read_policies(settings, catalog)
    signing = [each.rule for each in policy.watched() if policy.mode(each.rule) in SIGNING_MODES]
    if signing and settings.signing_key_file is None:
        names = ", ".join(dict.fromkeys(rule.id for rule in signing))
        raise RuleError(
            f"the fuse of {names} is in mode {policy.mode(signing[0])}, which needs signed signals, "
            "but SPARKFUSE_SIGNING_KEY names no private key (`sparkfuse up` creates one)"
        )
    return policy


def _variants(rule: Rule) -> RuleVariants:
    return RuleVariants(
        tuple((pattern, _variant(variant)) for pattern, variant in rule.variants),
        _variant(rule) if rule.enabled else None,
    )


def _variant(rule: Rule | None) -> Variant | None:
    if rule is None:
        return None
    alone = replace(rule, variants=())
    return Variant(alone, policy_hash(policy_line(alone)))


class PolicyReloader:
    """The current policy, which is read again when sparkfuse.yaml changes."""

    def __init__(self, settings: Settings, catalog: Path | None = None) -> None:
        """Read the policy. Raises RuleError if it is not valid."""
        self._settings, self._catalog = settings, catalog
        self._stamp = self._file_stamp()
        self.policy = read_controller_policy(settings, catalog)

    def reload(self) -> ControllerPolicy | None:
        """Return the new policy if the file changed; for an invalid file, the old policy, limited to shadow mode."""
        stamp = self._file_stamp()
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            self.policy = self._read(stamp)
        except RuleError as error:
            _log.error("sparkfuse.yaml is not valid, so every rule is in shadow mode: %s", error)
            self.policy = replace(self.policy, error=str(error))
        else:
            _log.info("reloaded %s", self._settings.config_file)
        return self.policy

    def _read(self, stamp: tuple[int, int] | None) -> ControllerPolicy:
        if stamp is None:
            raise RuleError(f"{self._settings.config_file} cannot be read")
        return read_controller_policy(self._settings, self._catalog)

    def _file_stamp(self) -> tuple[int, int] | None:
        path = self._settings.config_file
        try:
            status = path.stat() if path else None
        except OSError:
            return None
        return (status.st_mtime_ns, status.st_size) if status else None
