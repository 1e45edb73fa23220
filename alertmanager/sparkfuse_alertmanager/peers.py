"""Post alerts to every Alertmanager peer, as the documentation of Alertmanager requires.

Alertmanager peers share their notification log, not their alerts. If alerts were posted only to one peer or to a load
balancer, they would be lost when that peer fails.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

import requests

from sparkfuse_alertmanager.alert import Alert, alerts_to_post
from sparkfuse_alertmanager.inhibition import align_ends
from sparkfuse_alertmanager.metrics import Metrics
from sparkfuse_rules.catalog_inhibitions import related_rules

log = logging.getLogger(__name__)
# Seconds to connect, and seconds to wait for an answer. An unreachable peer delays each batch by these times.
TIMEOUT = (1.0, 5.0)
# The largest number of ids in one request, so that its URL stays far below the length limits of proxies.
IDS_PER_REQUEST = 100


class PeerError(OSError):
    """A peer did not accept the alerts; a retry may succeed."""


class NoPeerAcceptedError(OSError):
    """No peer accepted the alerts; retry later."""


@dataclass(frozen=True)
class RejectedAlert:
    """An alert that Alertmanager rejects permanently, and the reason."""

    finding_id: str
    reason: str


class Peer:
    """One Alertmanager peer, whose URL may contain a password; ``name``, used in logs and metrics, contains none."""

    def __init__(self, url: str, metrics: Metrics) -> None:
        parts = urlsplit(url)
        self.name = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
        self._alerts = f"{url.rstrip('/')}/api/v2/alerts"
        self._metrics = metrics
        self._session = requests.Session()
        # A proxy in the environment is for external hosts, so requests to peers bypass the proxy.
        self._session.trust_env = False
        self._session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or True
        self._up = True

    def send(self, alerts: Sequence[Alert], now_ms: int) -> list[RejectedAlert]:
        """Post the alerts, and end the alerts that they replace; return the alerts that the peer permanently rejects.

        Raises PeerError if the peer cannot be reached or does not accept alerts now.
        """
        try:
            rejected = self._post(self._with_held(alerts, now_ms))
        except requests.RequestException as error:
            self._metrics.requested(self.name, "failed")
            self._set_up(up=False, why=str(error))
            raise PeerError(f"{self.name}: {error}") from error
        except PeerError as error:
            self._set_up(up=False, why=str(error))
            raise
        self._set_up(up=True)
        return rejected

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def _with_held(self, alerts: Sequence[Alert], now_ms: int) -> list[Alert]:
        try:
            aligned = align_ends(alerts, self._related(alerts, now_ms), now_ms)
            return alerts_to_post(aligned, self._held([alert.finding_id for alert in aligned]), now_ms)
        except (PeerError, requests.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            # Post the new alerts anyway: superseded alerts expire within minutes, and the post fails if this is not an
            # Alertmanager.
            log.warning("cannot read the alerts of Alertmanager %s: %s", self.name, error)
            return list(alerts)

    def _held(self, finding_ids: Sequence[str]) -> Iterator[Alert]:
        for start in range(0, len(finding_ids), IDS_PER_REQUEST):
            wanted = "|".join(
                finding_ids[start : start + IDS_PER_REQUEST]
            )  # finding ids contain no special characters of regular expressions
            answer = self._session.get(self._alerts, params={"filter": f'finding_id=~"{wanted}"'}, timeout=TIMEOUT)
            if not answer.ok:
                raise PeerError(f"{self.name}: {_reason(answer)}")
            yield from (Alert.from_json(held) for held in answer.json())

    def _related(self, alerts: Sequence[Alert], now_ms: int) -> list[Alert]:
        """Return the peer's alerts whose rules inhibit or are inhibited; empty if none of these alerts has ended."""
        if not any(alert.ends_ms <= now_ms and alert.labels["rule"] in related_rules() for alert in alerts):
            return []
        rules = "|".join(sorted(related_rules()))
        answer = self._session.get(self._alerts, params={"filter": f'rule=~"{rules}"'}, timeout=TIMEOUT)
        if not answer.ok:
            raise PeerError(f"{self.name}: {_reason(answer)}")
        return [Alert.from_json(held) for held in answer.json()]

    def _post(self, alerts: Sequence[Alert]) -> list[RejectedAlert]:
        answer = self._session.post(self._alerts, json=[alert.to_json() for alert in alerts], timeout=TIMEOUT)
        self._metrics.requested(self.name, str(answer.status_code))
        if answer.ok:
            return []
        if answer.status_code != requests.codes.bad_request:
            raise PeerError(f"{self.name}: {_reason(answer)}")
        if len(alerts) == 1:
            return [RejectedAlert(alerts[0].finding_id, f"Alertmanager rejected it: {_reason(answer)}")]
        # If one alert is invalid, the whole request fails with status 400. So the alerts are posted one by one.
        return [rejected for alert in alerts for rejected in self._post([alert])]

    def _set_up(self, *, up: bool, why: str = "") -> None:
        self._metrics.peer_up(self.name, up=up)
        if up != self._up:
            log.warning(
                "Alertmanager %s %s", self.name, "accepts alerts again" if up else f"does not accept alerts: {why}"
            )
        self._up = up


class Peers:
    """All Alertmanager peers; alerts are sent to them in parallel."""

    def __init__(self, urls: Sequence[str], metrics: Metrics) -> None:
        self._peers = [Peer(url, metrics) for url in urls]
        self._threads = ThreadPoolExecutor(max_workers=len(self._peers), thread_name_prefix="sparkfuse-peer")

    @property
    def names(self) -> list[str]:
        """Host and port of each peer, used in logs and metrics."""
        return [peer.name for peer in self._peers]

    def send(self, alerts: Sequence[Alert], now_ms: int) -> list[RejectedAlert]:
        """Send the alerts to every peer; return the permanently rejected ones.

        It is enough if one peer accepts the alerts.

        The other peers receive the alerts with the next repetition, a minute later. Raises NoPeerAcceptedError if no
        peer accepts the alerts.
        """
        answers = list(self._threads.map(lambda peer: _answer(peer, alerts, now_ms), self._peers))
        accepted = [answer for answer in answers if not isinstance(answer, PeerError)]
        if not accepted:
            raise NoPeerAcceptedError("; ".join(str(answer) for answer in answers))
        return list({rejected.finding_id: rejected for answer in accepted for rejected in answer}.values())

    def close(self) -> None:
        """Stop the threads and close the connections."""
        self._threads.shutdown()
        for peer in self._peers:
            peer.close()


def _answer(peer: Peer, alerts: Sequence[Alert], now_ms: int) -> list[RejectedAlert] | PeerError:
    try:
        return peer.send(alerts, now_ms)
    except PeerError as error:
        return error


def _reason(answer: requests.Response) -> str:
    return f"{answer.status_code} {answer.text[:300]}".strip()
