"""Tests e-mail with the real Alertmanager and a mail server."""

from __future__ import annotations

import requests

from sparkfuse_alertmanager.alert import alert_of
from sparkfuse_alertmanager.links import Links
from sparkfuse_alertmanager.processes import alertmanager_command
from sparkfuse_alertmanager.render import Destinations, Mail, write_alertmanager
from tests.integration.alertmanager.findings import finding, now_ms
from tests.integration.alertmanager.mail_server import mail_server
from tests.waiting import wait_for


def test_finding_is_sent_by_mail(part, free_port, tmp_path):
    """The mail has the title as its subject, the first step and all links; text of users appears without markup."""
    hostile = '<img src="https://evil"> & more'
    found = finding(description=hostile, job_key="nightly <b>")
    links = Links("http://console.example", "http://grafana.example")
    with mail_server() as server:
        mail = Mail("a@example.com, b@example.com", "sparkfuse@example.com", server.address, tls=False)
        port = free_port()
        configuration = write_alertmanager(tmp_path, Destinations(mail=mail))
        part(
            "alertmanager",
            alertmanager_command(configuration, tmp_path / "data", port),
            f"http://127.0.0.1:{port}/-/ready",
        ).start()
        posted = alert_of(found, now_ms(), links, {"stage_skew": "Look at the keys."}).to_json()
        assert requests.post(f"http://127.0.0.1:{port}/api/v2/alerts", json=[posted], timeout=30).ok
        wait_for(lambda: server.messages, 120, "a mail")

        [message] = server.messages

    body = message.get_body(("html",))
    assert body is not None
    text = body.get_content()
    assert (message["To"], message["From"]) == ("a@example.com, b@example.com", "sparkfuse@example.com")
    assert message["Subject"] == "[FIRING:1] SparkfuseStageSkew in nightly _b_"
    assert "&lt;img src=&#34;https://evil&#34;&gt; &amp; more" in text
    assert "<img" not in text
    assert "First step: Look at the keys." in text
    for link in (f"http://console.example/findings/{found.finding_id}", "/rules/stage_skew.md#runbook", "silences/new"):
        assert link in text, link
