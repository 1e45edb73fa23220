"""Which rules silence which, as the catalog says it."""

from __future__ import annotations

import json
from functools import cache

from sparkfuse_contracts.assets import asset
from sparkfuse_rules.inhibition import Inhibition, from_data

HOST = "host"


@cache
def known() -> tuple[Inhibition, ...]:
    """The inhibitions of the catalog."""
    return from_data(json.loads(asset("sparkfuse_rules", "generated", "inhibitions.json").read_text()))


@cache
def concerned() -> frozenset[str]:
    """The rules that silence or are silenced."""
    return frozenset(name for each in known() for name in (each.cause, *each.silences))


@cache
def hosted() -> frozenset[str]:
    """The rules whose alerts say the host, because a page about a host silences them there or is one."""
    return frozenset(name for each in known() if HOST in each.equal for name in (each.cause, *each.silences))
