"""Tests the webhook receiver of the tests, and the search for installed programs."""

import pytest
import requests

from sparkfuse_alertmanager.processes import ProgramMissingError, alertmanager_command, prometheus_command
from sparkfuse_alertmanager.receiver import Receiver


def test_deliveries_are_recorded_in_order():
    """The receiver records each delivery with its number, path and time."""
    with Receiver() as receiver:
        for url, number in ((receiver.url, 1), (receiver.slack_url, 2), (receiver.url, 3), (receiver.heartbeat_url, 4)):
            assert requests.post(url, json={"number": number}, timeout=60).ok
        over_http = requests.get(f"{receiver.address}/deliveries?after=1", timeout=60).json()

    assert [delivery.payload["number"] for delivery in receiver.deliveries] == [1, 3]
    assert [(each["number"], each["path"]) for each in over_http] == [(2, "/webhook"), (3, "/heartbeat")]
    assert receiver.deliveries[0].received_ms <= receiver.deliveries[1].received_ms


def test_receiver_can_simulate_failures():
    """If a test makes a delivery fail, the receiver does not record this delivery, but records later ones."""
    with Receiver() as receiver:
        receiver.fail_next([503, 500])
        statuses = [requests.post(receiver.url, json={}, timeout=60).status_code for _ in range(3)]

    assert statuses == [503, 500, 200]
    assert len(receiver.deliveries) == 1


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/webhook", b"{", 400),
        ("/webhook", b"[1]", 400),
        ("/webhook", b"[" * 100_000, 400),
        ("/elsewhere", b"{}", 404),
    ],
)
def test_invalid_post_is_rejected(path, body, status):
    """The receiver answers an invalid post with an error and does not record it."""
    with Receiver() as receiver:
        answer = requests.post(receiver.address + path, data=body, timeout=60)

        assert answer.status_code == status
        assert requests.post(receiver.url, json={}, timeout=60).ok


def test_missing_program_names_its_package(monkeypatch, tmp_path):
    """If a program is missing, the error says which package to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramMissingError, match="apt-get install prometheus-alertmanager`"):
        alertmanager_command(tmp_path / "a.yml", tmp_path / "a", 1)
    with pytest.raises(ProgramMissingError, match="apt-get install prometheus`"):
        prometheus_command(tmp_path / "p.yml", tmp_path / "p", 1)
