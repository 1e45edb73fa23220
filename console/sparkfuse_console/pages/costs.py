"""The page with the costs and the waste of teams, or of the jobs of a team."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console import parameters
from sparkfuse_console.parameters import PAGE_SIZE
from sparkfuse_console.site import Site
from sparkfuse_native_analytics import queries

DAY_MS = 24 * 3_600_000
GROUPINGS = ("team", "job")
PERIODS = {"30d": 30, "1d": 1, "7d": 7, "90d": 90}


def show(site: Site, request: Request) -> Response:
    """Show what teams cost and wasted in a period, or jobs, optionally of one team; the largest waste first."""
    chosen = {
        "by": parameters.choice(request, "by", GROUPINGS),
        "team": parameters.text(request, "team"),
        "period": parameters.choice(request, "period", tuple(PERIODS)),
    }
    since_ms = time.time_ns() // 1_000_000 - PERIODS[chosen["period"]] * DAY_MS
    found = site.store.ask(
        lambda client: queries.costs(client, site.prices, chosen["by"], since_ms, team=chosen["team"], limit=PAGE_SIZE)
    )
    teams = [(each, _jobs_of(each.name, chosen["period"])) for each in found.rows]
    return site.page(
        request, "costs.html", found=found, rows=teams, chosen=chosen, groupings=GROUPINGS, periods=PERIODS
    )


def _jobs_of(team: str, period: str) -> str:
    """Return the address of the most wasteful jobs of a team."""
    return parameters.address("/costs", {"by": "job", "team": team, "period": period})
