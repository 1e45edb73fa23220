"""Whether somebody has silenced a finding's alert: who does not want the page does not want the act."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

ANSWER_SECONDS = 3.0


class AlertmanagerSilentError(RuntimeError):
    """No Alertmanager answered, so nobody knows whether the alert is silenced."""


def silenced(alertmanager_urls: Sequence[str], finding_id: str) -> bool:
    """Ask the Alertmanagers whether the alert of ``finding_id`` is silenced; one yes is a yes.

    Raises AlertmanagerSilentError when none answers.
    """
    query = urlencode({"filter": f'finding_id="{finding_id}"', "silenced": "true", "inhibited": "true"})
    answers = [_alerts(f"{url}/api/v2/alerts?{query}") for url in alertmanager_urls]
    heard = [alerts for alerts in answers if alerts is not None]
    if not heard:
        raise AlertmanagerSilentError(f"none of {', '.join(alertmanager_urls)} answers")
    return any(alert["status"]["silencedBy"] for alerts in heard for alert in alerts)


def _alerts(address: str) -> list[dict[str, Any]] | None:
    try:
        with urlopen(address, timeout=ANSWER_SECONDS) as reply:  # noqa: S310  http or https: settings check it
            content = json.load(reply)
    except (OSError, HTTPException, ValueError):
        return None
    return content if isinstance(content, list) else None
