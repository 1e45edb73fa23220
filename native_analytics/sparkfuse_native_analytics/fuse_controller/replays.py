"""How many probes the replay of stored rows replaces that is part of an arming.

The person who arms a rule signs the result of the replay with the arming. So the result is forged, revoked and expired
together with the arming. It counts only for the policy that was replayed, and only for some time.
"""

from __future__ import annotations

from collections.abc import Iterable

from sparkfuse_contracts.generated.control_pb2 import Control

# Stored rows describe the jobs of the past, so an old replay counts nothing.
LIFE_MS = 90 * 24 * 3_600_000
# Tolerated difference between the clock of the person's computer and the broker's.
MAX_AHEAD_MS = 10 * 60_000
# A larger number is not plausible for a store of 90 days.
MOST_DIGITS = 6


def replayed_runs(armings: Iterable[Control], policy_hash: str, now_ms: int) -> int:
    """Return the largest number of healthy runs that a replay in one of the armings counted for exactly this policy.

    A replay that is older than 90 days, from the future, or not a number counts nothing. ``now_ms`` is the broker's
    time.
    """
    return max((_counted(each, policy_hash, now_ms) for each in armings), default=0)


def _counted(arming: Control, policy_hash: str, now_ms: int) -> int:
    count = arming.replayed_runs.get(policy_hash, "")
    valid = count.isascii() and count.isdigit() and len(count) <= MOST_DIGITS
    recent = -MAX_AHEAD_MS <= now_ms - arming.replayed_ms < LIFE_MS
    return int(count) if valid and recent else 0
