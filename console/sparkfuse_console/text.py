"""Formats values for the pages: the filters and the last check of all text."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from sparkfuse_contracts import links
from sparkfuse_native_analytics.queries import FindingRun
from sparkfuse_rules.describe import readable_bytes, readable_duration
from sparkfuse_rules.knowledge.money import readable_money
from sparkfuse_rules.plain_text import plain

MAX_TEXT = 2_000
ABSENT = "-"


def clean(value: object) -> object:
    """Return a value as a page shows it: text of jobs without hidden characters and secrets, absent values as a dash.

    The template engine passes every expression of a template through this function before it escapes the result.
    """
    if isinstance(value, Markup):
        return value
    if value is None:
        return ABSENT
    return plain(str(value), MAX_TEXT) if isinstance(value, str) else value


def moment(milliseconds: int | None) -> Markup | None:
    """Return ms since the epoch as a time element in UTC, because readers and clusters are in several time zones."""
    if milliseconds is None:
        return None
    try:
        at = dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return Markup('<time datetime="{}">{}</time>').format(
        at.strftime("%Y-%m-%dT%H:%M:%SZ"), at.strftime("%Y-%m-%d %H:%M:%S UTC")
    )


def duration(milliseconds: float | None) -> str | None:
    """Format a duration in ms."""
    return None if milliseconds is None or not math.isfinite(milliseconds) else readable_duration(milliseconds)


def difference(milliseconds: int) -> str:
    """Format a difference between two durations in ms, with its sign."""
    return ("+" if milliseconds > 0 else "") + readable_duration(milliseconds)


def size(count: float | None) -> str | None:
    """Format a number of bytes."""
    return None if count is None or not math.isfinite(count) else readable_bytes(count)


def share(ratio: float | None) -> str | None:
    """Format a completeness as a percentage, rounded down so that 100 % means complete."""
    return None if ratio is None or not math.isfinite(ratio) else f"{int(ratio * 1000) / 10:g} %"


def money(amount: float | None, currency: str | None) -> str | None:
    """Format an amount with its currency; None if the amount is unknown."""
    return None if amount is None else readable_money(amount, currency or "")


def cost_of_runs(runs: Sequence[FindingRun], currency: str | None) -> str | None:
    """Format the cost so far of the applications of a finding; None if the cost is unknown.

    Findings about tasks and stages of one application share the application's cost, so each application counts once.
    """
    by_application = {(each.app_id, each.app_attempt): each.cost for each in runs if each.cost is not None}
    return money(sum(by_application.values()), currency) if by_application else None


def web_address(url: str | None) -> Markup | None:
    """Return an address that a page may link to; None for any other scheme, such as a script."""
    return escape(url) if url and url.startswith(("https://", "http://")) else None


def run_link(app_id: str) -> Markup:
    """Return the path of the page of an application."""
    return escape(links.run_url("", app_id))


def job_link(job_key: str) -> Markup:
    """Return the path of the page of a job."""
    return escape(links.job_url("", job_key))


def host_link(host: str) -> Markup:
    """Return the path of the page of a host."""
    return escape(links.host_url("", host))


def finding_link(finding_id: str) -> Markup:
    """Return the path of the page of a finding."""
    return escape(links.finding_url("", finding_id))


def grafana_link(app_id: str, grafana_url: str) -> Markup:
    """Return the address of Grafana's dashboard of an application."""
    return escape(links.running_job_url(grafana_url, app_id))


FILTERS = {each.__name__: each for each in (moment, duration, difference, size, share, money, web_address, run_link,
                                            job_link, host_link, finding_link, grafana_link, cost_of_runs)}  # fmt: skip
