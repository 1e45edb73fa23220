"""The ladder: selects the next action by the verified outcomes of the earlier acts.

| outcome of the last act | next action |
| --- | --- |
| no act yet | the narrowest action that has a target |
| ended | the same action again, because the rule fires for new work |
| unfreed | the next wider action that has a target; none after the widest |
| refused, or unknown | the same action again: this is safe, and nothing shows that the action was too narrow |
| not verified yet | none |

If the receipts of an act contradict each other, the same action follows, because one of them may be forged. A warning
that did not end the finding is `unfreed`. The fuse's cool-down separates two acts.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkfuse_native_analytics.fuse_controller.act_registry import UNFREED, Act
from sparkfuse_rules.rule import ACTIONS


def next_action(actions: Sequence[str], acts: Sequence[Act]) -> str | None:
    """Return the next action; None if the ladder does not advance.

    ``actions`` are the actions of the policy that have a target, narrowest first. ``acts`` are the earlier acts of this
    rule on this target, oldest first.
    """
    if not acts:
        return actions[0] if actions else None
    last = acts[-1]
    if not last.outcome:
        return None
    if last.outcome != UNFREED or last.contested:
        return last.action if last.action in actions else None
    width = ACTIONS.index(last.action)
    return next((action for action in actions if ACTIONS.index(action) > width), None)
