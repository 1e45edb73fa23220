"""Asks the query core; the connection is opened with the first question and again after an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.queries import Client
from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect

Answer = TypeVar("Answer")
ANSWER_SECONDS = 30
"""The time limit of one query; a reader does not wait longer for a page."""


class StoreReader:
    """Reads the store at SPARKFUSE_CLICKHOUSE_URL; threads may share it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: Client | None = None

    def ask(self, question: Callable[[Client], Answer]) -> Answer:
        """Return the answer of a function of the query core.

        Raises StoreUnavailableError if the store does not answer, and StoreEmptyError if it has no tables yet.
        """
        client = self._client or connect(self._settings, answer_seconds=ANSWER_SECONDS)
        try:
            answer = question(client)
        except StoreUnavailableError:
            self._client = None
            raise
        self._client = client
        return answer
