"""Connects to ClickHouse: to a server, a cluster or the embedded store."""

from __future__ import annotations

import logging

from clickhouse_connect import get_client
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from sparkfuse_contracts.settings import Settings

CONNECT_SECONDS = 5
# The time limit of a statement: inserts of full batches take seconds, but queries over the whole history can take
# minutes.
ANSWER_SECONDS = 300


class StoreUnavailableError(RuntimeError):
    """No ClickHouse answers at the address; the message is one sentence."""


def connect(settings: Settings | None = None, *, answer_seconds: int = ANSWER_SECONDS) -> Client:
    """Return a client for the ClickHouse at SPARKFUSE_CLICKHOUSE_URL; the URL may contain user, password and database.

    The client has no session, so threads may share it. ``answer_seconds`` is the time limit of a statement.

    Raises StoreUnavailableError.
    """
    url = (settings or Settings.from_environment()).clickhouse_url
    # The driver's log is disabled, because the driver also raises the errors that it logs.
    logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)
    try:
        return get_client(
            dsn=url,
            autogenerate_session_id=False,
            compress=False,
            connect_timeout=CONNECT_SECONDS,
            send_receive_timeout=answer_seconds,
            query_limit=0,
        )
    except (ClickHouseError, OSError) as error:
        raise StoreUnavailableError(f"no ClickHouse answers at {_without_password(url)}: {cause(error)}") from error


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def cause(error: BaseException) -> str:
    """Return the operating system's reason, such as "Connection refused"; else the first line of the error."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.args:
            return str(inner.strerror or inner.args[-1])  # name resolution errors have no strerror
        inner = inner.__cause__ or inner.__context__
    return (str(error) or type(error).__name__).splitlines()[0][:200]
