"""Asks Alertmanager whether a finding's alert is silenced. A silenced finding never leads to an act."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

ANSWER_SECONDS = 3.0


class SilenceUnknownError(RuntimeError):
    """No Alertmanager answered, so it is unknown whether the alert is silenced."""


def silenced(alertmanager_urls: Sequence[str], finding_id: str) -> bool:
    """Whether at least one Alertmanager has silenced the alert of ``finding_id``.

    Raises SilenceUnknownError if none answers.
    """
    query = urlencode({"filter": f'finding_id="{finding_id}"', "silenced": "true", "inhibited": "true"})
    answers = [_alerts(f"{url}/api/v2/alerts?{query}") for url in alertmanager_urls]
    received = [alerts for alerts in answers if alerts is not None]
    if not received:
        raise SilenceUnknownError(f"no Alertmanager answers at {', '.join(alertmanager_urls)}")
    return any(alert["status"]["silencedBy"] for alerts in received for alert in alerts)


def _alerts(address: str) -> list[dict[str, Any]] | None:
    try:
        with urlopen(address, timeout=ANSWER_SECONDS) as reply:  # noqa: S310  http or https: settings check it
            content = json.load(reply)
    except (OSError, HTTPException, ValueError):
        return None
    return content if isinstance(content, list) else None
