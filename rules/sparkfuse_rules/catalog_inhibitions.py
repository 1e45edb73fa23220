"""The inhibitions of the rule catalog, read from the generated file."""

from __future__ import annotations

import json
from functools import cache

from sparkfuse_contracts.assets import asset
from sparkfuse_rules.inhibition import Inhibition, from_data

HOST = "host"


@cache
def catalog_inhibitions() -> tuple[Inhibition, ...]:
    """Return the inhibitions of the catalog."""
    return from_data(json.loads(asset("sparkfuse_rules", "generated", "inhibitions.json").read_text()))


@cache
def related_rules() -> frozenset[str]:
    """Return the ids of all rules that inhibit another rule or are inhibited by one."""
    return frozenset(name for each in catalog_inhibitions() for name in (each.cause, *each.silences))


@cache
def rules_with_host_label() -> frozenset[str]:
    """Return the ids of the rules whose alerts need the label ``host``.

    A rule needs the label if it inhibits other rules on the same host, or if another rule on the same host inhibits it.
    """
    return frozenset(
        name for each in catalog_inhibitions() if HOST in each.equal for name in (each.cause, *each.silences)
    )
