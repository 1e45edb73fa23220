"""The edge to Alertmanager: every peer is asked what it holds and is told everything, as its documentation demands.

Peers share notifications, not alerts, so a post to one of them or to a load balancer loses alerts when that one dies.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

import requests

from sparkfuse_alertmanager.alert import Alert, to_post
from sparkfuse_alertmanager.causes import concerned
from sparkfuse_alertmanager.inhibition import together
from sparkfuse_alertmanager.metrics import Metrics

log = logging.getLogger(__name__)
# Seconds to connect and to wait for an answer: a peer that is cut off may hold up a batch by this much.
TIMEOUT = (1.0, 5.0)
# Ids in one question, so that its address stays far below the limits of proxies.
IDS_ASKED = 100


class PeerFailed(OSError):
    """A peer did not take the alerts; it may do so later."""


class NobodyAccepted(OSError):
    """No peer took the alerts: try again."""


@dataclass(frozen=True)
class Refusal:
    """An alert that Alertmanager will never take, and its reason."""

    finding_id: str
    reason: str


class Peer:
    """One Alertmanager. Its address may carry a user and a password; its name for logs and metrics does not."""

    def __init__(self, url: str, metrics: Metrics) -> None:
        parts = urlsplit(url)
        self.name = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
        self._alerts = f"{url.rstrip('/')}/api/v2/alerts"
        self._metrics = metrics
        self._session = requests.Session()
        # Alertmanager is a neighbour: a proxy that is set for the outside world must not stand between.
        self._session.trust_env = False
        self._session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or True
        self._up = True

    def tell(self, alerts: Sequence[Alert], now_ms: int) -> list[Refusal]:
        """Post the alerts, and the end of those they supersede. Gives those that the peer refuses for good.

        Raises PeerFailed when the peer cannot be reached or cannot take alerts now.
        """
        try:
            refusals = self._post(self._with_held(alerts, now_ms))
        except requests.RequestException as error:
            self._metrics.requested(self.name, "failed")
            self._now_up(up=False, why=str(error))
            raise PeerFailed(f"{self.name}: {error}") from error
        except PeerFailed as error:
            self._now_up(up=False, why=str(error))
            raise
        self._now_up(up=True)
        return refusals

    def close(self) -> None:
        """Let go of the connections."""
        self._session.close()

    def _with_held(self, alerts: Sequence[Alert], now_ms: int) -> list[Alert]:
        try:
            together_told = together(alerts, self._related(alerts, now_ms), now_ms)
            return to_post(together_told, self._held([alert.finding_id for alert in together_told]), now_ms)
        except (PeerFailed, requests.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            # Telling comes first: what is superseded ends by itself within minutes, and the post finds out whether
            # this is an Alertmanager at all.
            log.warning("Alertmanager %s does not say what it holds: %s", self.name, error)
            return list(alerts)

    def _held(self, finding_ids: Sequence[str]) -> Iterator[Alert]:
        for start in range(0, len(finding_ids), IDS_ASKED):
            wanted = "|".join(finding_ids[start : start + IDS_ASKED])  # an id has nothing that a pattern could read
            answer = self._session.get(self._alerts, params={"filter": f'finding_id=~"{wanted}"'}, timeout=TIMEOUT)
            if not answer.ok:
                raise PeerFailed(f"{self.name}: {_reason(answer)}")
            yield from (Alert.from_json(held) for held in answer.json())

    def _related(self, alerts: Sequence[Alert], now_ms: int) -> list[Alert]:
        """What it holds of rules that silence or are silenced; asked only when such an alert ends."""
        if not any(alert.ends_ms <= now_ms and alert.labels["rule"] in concerned() for alert in alerts):
            return []
        rules = "|".join(sorted(concerned()))
        answer = self._session.get(self._alerts, params={"filter": f'rule=~"{rules}"'}, timeout=TIMEOUT)
        if not answer.ok:
            raise PeerFailed(f"{self.name}: {_reason(answer)}")
        return [Alert.from_json(held) for held in answer.json()]

    def _post(self, alerts: Sequence[Alert]) -> list[Refusal]:
        answer = self._session.post(self._alerts, json=[alert.to_json() for alert in alerts], timeout=TIMEOUT)
        self._metrics.requested(self.name, str(answer.status_code))
        if answer.ok:
            return []
        if answer.status_code != requests.codes.bad_request:
            raise PeerFailed(f"{self.name}: {_reason(answer)}")
        if len(alerts) == 1:
            return [Refusal(alerts[0].finding_id, f"Alertmanager refuses it: {_reason(answer)}")]
        # One bad alert has the whole post answered with 400: find it, and let the others pass.
        return [refusal for alert in alerts for refusal in self._post([alert])]

    def _now_up(self, *, up: bool, why: str = "") -> None:
        self._metrics.peer_up(self.name, up=up)
        if up != self._up:
            log.warning("Alertmanager %s %s", self.name, "takes alerts again" if up else f"takes no alerts: {why}")
        self._up = up


class Peers:
    """All Alertmanagers, told at the same time."""

    def __init__(self, urls: Sequence[str], metrics: Metrics) -> None:
        self._peers = [Peer(url, metrics) for url in urls]
        self._threads = ThreadPoolExecutor(max_workers=len(self._peers), thread_name_prefix="sparkfuse-peer")

    @property
    def names(self) -> list[str]:
        """Host and port of each peer."""
        return [peer.name for peer in self._peers]

    def tell(self, alerts: Sequence[Alert], now_ms: int) -> list[Refusal]:
        """Tell every peer; one that takes the alerts is enough. Gives those that a peer refuses for good.

        The others hear them with the next re-send, a minute later. Raises NobodyAccepted.
        """
        answers = list(self._threads.map(lambda peer: _answer(peer, alerts, now_ms), self._peers))
        accepted = [answer for answer in answers if not isinstance(answer, PeerFailed)]
        if not accepted:
            raise NobodyAccepted("; ".join(str(answer) for answer in answers))
        return list({refusal.finding_id: refusal for answer in accepted for refusal in answer}.values())

    def close(self) -> None:
        """Let go of threads and connections."""
        self._threads.shutdown()
        for peer in self._peers:
            peer.close()


def _answer(peer: Peer, alerts: Sequence[Alert], now_ms: int) -> list[Refusal] | PeerFailed:
    try:
        return peer.tell(alerts, now_ms)
    except PeerFailed as error:
        return error


def _reason(answer: requests.Response) -> str:
    return f"{answer.status_code} {answer.text[:300]}".strip()
