"""What a replay of stored live rows says about arming a rule.

A replay can prevent an arming. It has rows of the windows job instead of the hook's counters, so it replaces at most as
many probes as the platform allows (``fuse.arming.replayed``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sparkfuse_native_analytics.backtest import PolicyReplay

# Largest number of applications that a refusal names.
MOST_NAMED = 5


@dataclass(frozen=True)
class ReplayEvidence:
    """``text`` goes into the arming and the audit log; ``refusal`` is why the rule must not be armed, or None.

    ``runs`` is the number of healthy runs that count as evidence, by the hash of the policy.
    """

    text: str
    refusal: str | None = None
    runs: Mapping[str, int] = field(default_factory=dict)


def replay_evidence(
    found: Sequence[PolicyReplay], since: str, needed: int, probed: Collection[str] = ()
) -> ReplayEvidence:
    """Judge the replay of all policies of a rule over the time ``since``, such as 60d.

    The rule must not be armed if one of its policies would have acted on a run that ended well. If a policy has
    conditions that stored rows cannot show, this is not certain, so it is only stated. ``needed`` is the number of
    probes that an arming requires: if it is 0, no stored run is required either. ``probed`` contains the ids of
    applications that were probed, which must not count twice.
    """
    healthy, failed = sum(len(each.healthy_runs) for each in found), sum(len(each.failed_runs) for each in found)
    false, right = sum(len(each.false_runs) for each in found), sum(len(each.right_runs) for each in found)
    text = f"{since}: would act on {false} of {healthy} healthy runs and on {right} of {failed} failed runs"
    if left_out := list(dict.fromkeys(name for each in found for name in each.left_out)):
        text += f"; not checked: {', '.join(left_out)}"
    wrong = [app_id for each in found if not each.left_out for app_id in each.false_runs]
    if wrong:
        named = ", ".join(wrong[:MOST_NAMED]) + (" and others" if len(wrong) > MOST_NAMED else "")
        return ReplayEvidence(text, f"the policy would have acted on {named}, although these runs succeeded")
    if not healthy and needed:
        return ReplayEvidence(
            text, f"the store has no healthy run of the last {since} with rows that the rule can read"
        )
    runs = {each.policy_hash: sorted(set(each.conclusive_runs) - set(probed)) for each in found if not each.false_runs}
    if counted := [app_id for of_policy in runs.values() for app_id in of_policy]:
        digest = hashlib.sha256("\n".join(counted).encode()).hexdigest()[:16]
        text += f"; {len(counted)} runs that were not probed, sha256 {digest}"
    return ReplayEvidence(text, runs={policy: len(of_policy) for policy, of_policy in runs.items()})
