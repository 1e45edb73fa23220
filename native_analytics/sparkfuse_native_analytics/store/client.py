"""One kind of client for every ClickHouse: a server, a cluster, or the embedded store."""

from __future__ import annotations

import logging

from clickhouse_connect import get_client
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from sparkfuse_contracts.settings import Settings

CONNECT_SECONDS = 5
# An insert of a full batch takes a second or two; a fleet query over history may take a while.
ANSWER_SECONDS = 300


class StoreUnavailableError(RuntimeError):
    """Nothing that speaks ClickHouse's HTTP interface answers at the address; the text is one sentence."""


def connect(settings: Settings | None = None) -> Client:
    """A client of the ClickHouse at SPARKFUSE_CLICKHOUSE_URL (user, password and database may stand in the address).

    It keeps no session, so threads may share it.

    Raises StoreUnavailableError.
    """
    url = (settings or Settings.from_environment()).clickhouse_url
    # What the driver logs as an error it also raises, and whoever asked tells it in a sentence.
    logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)
    try:
        return get_client(
            dsn=url,
            autogenerate_session_id=False,
            compress=False,
            connect_timeout=CONNECT_SECONDS,
            send_receive_timeout=ANSWER_SECONDS,
            query_limit=0,
        )
    except (ClickHouseError, OSError) as error:
        raise StoreUnavailableError(
            f"no ClickHouse answers at {_without_password(url)}: {_first_line(error)}"
        ) from error


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
