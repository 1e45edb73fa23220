"""Render the configuration of Alertmanager and Prometheus for one machine.

`alertmanager.yml` and `prometheus.yml` are the sources. The addresses in these files are replaced by those of this
machine, and receivers without an address or key are removed. `python -m sparkfuse_alertmanager.render --help` shows the
command.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from sparkfuse_contracts.assets import asset
from sparkfuse_rules.runbooks import runbook_page_url

PACKAGE = "sparkfuse_alertmanager"


# Not in alertmanager.yml, because Alertmanager before 0.28 rejects a file with this receiver.
TEAMS_RECEIVERS = ("team", "pager")
TEAMS = {
    "send_resolved": True,
    "title": '{{ template "sparkfuse.title" . }}',
    "text": '{{ template "sparkfuse.teams" . }}',
}
_MAIL_ADDRESS = re.compile(r"[^@\s,]+@[^@\s,]+")


class DestinationError(ValueError):
    """An address or file for notifications is invalid; the message names it and a valid value."""


@dataclass(frozen=True)
class Mail:
    """Recipients of e-mail, separated by commas, and the mail server ``host:port``; TLS is required by default."""

    recipients: str
    sender: str
    server: str
    user: str = ""
    password_file: Path | None = None
    tls: bool = True

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Mail | None:
        """Read SPARKFUSE_EMAIL_TO, SPARKFUSE_EMAIL_FROM and SPARKFUSE_SMTP_*; None without a recipient."""
        recipients = environment.get("SPARKFUSE_EMAIL_TO", "").strip()
        if not recipients:
            return None
        password = environment.get("SPARKFUSE_SMTP_PASSWORD_FILE")
        return cls(
            recipients,
            environment.get("SPARKFUSE_EMAIL_FROM", "").strip() or recipients.split(",")[0].strip(),
            environment.get("SPARKFUSE_SMTP_SERVER", "").strip(),
            environment.get("SPARKFUSE_SMTP_USER", "").strip(),
            Path(password) if password else None,
            tls=environment.get("SPARKFUSE_SMTP_TLS", "").strip().lower() not in {"false", "no", "off", "0"},
        )

    def check(self) -> None:
        """Raise DestinationError for the first invalid value."""
        host, _, port = self.server.rpartition(":")
        if not host or not port.isdecimal():
            raise DestinationError(f"SPARKFUSE_SMTP_SERVER={self.server!r} must be host:port, like mail.company:587")
        for address in (*self.recipients.split(","), self.sender):
            if not _MAIL_ADDRESS.fullmatch(address.strip()):
                raise DestinationError(f"{address.strip()!r} is no e-mail address")
        if self.password_file is not None and not self.password_file.is_file():
            raise DestinationError(
                f"the file with the password of the mail server does not exist: {self.password_file}"
            )

    def settings(self) -> dict[str, Any]:
        """Return the options of Alertmanager for the mail server."""
        login = {"smtp_auth_username": self.user} if self.user else {}
        if self.password_file is not None:
            login["smtp_auth_password_file"] = str(self.password_file.resolve())
        return {"smtp_smarthost": self.server, "smtp_from": self.sender, "smtp_require_tls": self.tls, **login}


@dataclass(frozen=True)
class Destinations:
    """The destinations of notifications; a destination that is None gets no receiver.

    The addresses of Slack and Teams and the key of the pager are secrets, so they are in files that Alertmanager reads.
    Teams needs Alertmanager 0.28 or later.
    """

    webhook_url: str | None = None
    slack_url_file: Path | None = None
    pager_key_file: Path | None = None
    heartbeat_url: str | None = None
    mail: Mail | None = None
    teams_url_file: Path | None = None

    @classmethod
    def from_folder(cls, secrets: Path, given: Destinations) -> Destinations:
        """Return ``given`` with the files ``slack_url``, ``teams_url`` and ``pager_key`` of a folder, if they exist."""
        names = ("slack_url", "teams_url", "pager_key")
        found = {name: secrets / name for name in names if (secrets / name).is_file()}
        return replace(
            given,
            slack_url_file=given.slack_url_file or found.get("slack_url"),
            pager_key_file=given.pager_key_file or found.get("pager_key"),
            teams_url_file=given.teams_url_file or found.get("teams_url"),
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Destinations:
        """Read the variables of docs/alerting.md. Raises DestinationError if the mail server is missing."""
        slack, pager = environment.get("SPARKFUSE_SLACK_URL_FILE"), environment.get("SPARKFUSE_PAGER_KEY_FILE")
        teams = environment.get("SPARKFUSE_TEAMS_URL_FILE")
        return cls(
            webhook_url=environment.get("SPARKFUSE_WEBHOOK_URL") or None,
            slack_url_file=Path(slack) if slack else None,
            pager_key_file=Path(pager) if pager else None,
            heartbeat_url=environment.get("SPARKFUSE_HEARTBEAT_URL") or None,
            mail=Mail.from_environment(environment),
            teams_url_file=Path(teams) if teams else None,
        )

    def check(self) -> None:
        """Raise DestinationError for the first invalid value."""
        for name, url in (("webhook", self.webhook_url), ("heartbeat", self.heartbeat_url)):
            if url is not None and not (url.startswith(("http://", "https://")) and urlsplit(url).hostname):
                raise DestinationError(f"the {name} address {url!r} must be like http://host:port/path")
        files = (
            ("Slack's address", self.slack_url_file),
            ("the address of Teams", self.teams_url_file),
            ("the pager's key", self.pager_key_file),
        )
        for name, path in files:
            if path is not None and not path.is_file():
                raise DestinationError(f"the file with {name} does not exist: {path}")
        if self.mail is not None:
            self.mail.check()


def write_alertmanager(folder: Path, destinations: Destinations) -> Path:
    """Write ``folder/alertmanager.yml`` for these destinations, and return its path. Raises DestinationError."""
    destinations.check()
    content = yaml.safe_load(asset(PACKAGE, "alertmanager.yml").read_text())
    # A copy, because Alertmanager may run in another container.
    shutil.copytree(asset(PACKAGE, "templates"), folder / "templates", dirs_exist_ok=True)
    content["global"] = destinations.mail.settings() if destinations.mail else {}
    for receiver in content["receivers"]:
        if destinations.teams_url_file is not None and receiver["name"] in TEAMS_RECEIVERS:
            receiver["msteamsv2_configs"] = [{**TEAMS, "webhook_url_file": _absolute(destinations.teams_url_file)}]
        _fill(receiver, "email_configs", "to", destinations.mail.recipients if destinations.mail else None)
        hook = destinations.heartbeat_url if receiver["name"] == "heartbeat" else destinations.webhook_url
        _fill(receiver, "webhook_configs", "url", hook)
        _fill(receiver, "slack_configs", "api_url_file", _absolute(destinations.slack_url_file))
        _fill(receiver, "pagerduty_configs", "routing_key_file", _absolute(destinations.pager_key_file))
    return _write(folder / "alertmanager.yml", content)


def write_prometheus(
    folder: Path,
    processes: Mapping[str, str],
    alertmanagers: Sequence[str],
    rules: Sequence[Path] = (),
    runbook_url: str | None = None,
) -> Path:
    """Write ``folder/prometheus.yml`` and its targets and return its path.

    Args:
        folder: the folder of the files; it is created.
        processes: ``host:port`` of each process's metrics, by process name.
        alertmanagers: ``host:port`` or URL of each Alertmanager.
        rules: rule files to use instead of the built-in ones.
        runbook_url: address where the folder ``docs`` is published; default: the one in the rule files.
    """
    content = yaml.safe_load(asset(PACKAGE, "prometheus.yml").read_text())
    chosen = list(rules) or [asset(PACKAGE, "prometheus_rules", Path(name).name) for name in content["rule_files"]]
    if runbook_url is not None:
        chosen = [_with_runbooks(path, folder, runbook_url) for path in chosen]
    content["rule_files"] = [str(path.resolve()) for path in chosen]
    targets = [{"targets": [address], "labels": {"process": name}} for name, address in processes.items()]
    _write(folder / "targets" / "processes.yml", targets)
    _write(folder / "targets" / "alertmanagers.yml", [{"targets": [_host_and_port(url) for url in alertmanagers]}])
    return _write(folder / "prometheus.yml", content)


def _with_runbooks(rules: Path, folder: Path, base: str) -> Path:
    """Write a copy of a rule file whose runbook links start with ``base``, and return its path."""
    content = yaml.safe_load(rules.read_text())
    for rule in (rule for group in content["groups"] for rule in group["rules"]):
        if "runbook_url" in rule.get("annotations", {}):
            rule["annotations"]["runbook_url"] = runbook_page_url(base, rules.stem, rule["alert"])
    return _write(folder / "prometheus_rules" / rules.name, content)


def _fill(receiver: dict[str, Any], kind: str, key: str, value: str | None) -> None:
    if kind not in receiver:
        return
    if value is None:
        del receiver[kind]
    else:
        receiver[kind] = [{**entry, key: value} for entry in receiver[kind]]


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.resolve())


def _host_and_port(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] if "//" in url else url


class _NoAliases(yaml.SafeDumper):
    """A YAML writer that repeats shared parts in full instead of writing references."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(yaml.dump(content, Dumper=_NoAliases, sort_keys=False, allow_unicode=True))
    temporary.replace(path)
    return path


def main(arguments: list[str] | None = None) -> int:
    """Write both configurations to a folder and print their paths."""
    given = _parser().parse_args(arguments)
    processes = dict(pair.split("=", 1) for pair in given.process if "=" in pair)
    if len(processes) != len(given.process):
        print("--process must be NAME=HOST:PORT, and each NAME may be given only once", file=sys.stderr)
        return 2
    try:
        print(write_alertmanager(given.folder, _destinations(given)))
    except DestinationError as error:
        print(error, file=sys.stderr)
        return 2
    print(write_prometheus(given.folder, processes, given.alertmanager))
    return 0


def _destinations(given: argparse.Namespace) -> Destinations:
    mail = Mail.from_environment(os.environ)
    named = Destinations(
        given.webhook_url, given.slack_url_file, given.pager_key_file, given.heartbeat_url, mail, given.teams_url_file
    )
    return named if given.secrets is None else Destinations.from_folder(given.secrets, named)


def _parser() -> argparse.ArgumentParser:
    defaults = Destinations.from_environment(os.environ)
    parser = argparse.ArgumentParser(prog="sparkfuse_alertmanager.render", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder for alertmanager.yml, prometheus.yml and targets")
    parser.add_argument(
        "--webhook-url", default=defaults.webhook_url, help="address of the webhook (default: SPARKFUSE_WEBHOOK_URL)"
    )
    parser.add_argument(
        "--heartbeat-url",
        default=defaults.heartbeat_url,
        help="address of the dead man's switch (default: SPARKFUSE_HEARTBEAT_URL)",
    )
    parser.add_argument(
        "--slack-url-file",
        type=Path,
        default=defaults.slack_url_file,
        help="file with Slack's webhook address (default: SPARKFUSE_SLACK_URL_FILE)",
    )
    parser.add_argument(
        "--pager-key-file",
        type=Path,
        default=defaults.pager_key_file,
        help="file with the pager's routing key (default: SPARKFUSE_PAGER_KEY_FILE)",
    )
    parser.add_argument(
        "--teams-url-file",
        type=Path,
        default=defaults.teams_url_file,
        help="file with the address of a workflow of Microsoft Teams (default: SPARKFUSE_TEAMS_URL_FILE)",
    )
    parser.add_argument(
        "--secrets", type=Path, help="folder that may contain the files slack_url, teams_url and pager_key"
    )
    parser.add_argument("--process", action="append", default=[], metavar="NAME=HOST:PORT", help="may be repeated")
    parser.add_argument("--alertmanager", action="append", default=[], metavar="HOST:PORT", help="may be repeated")
    return parser


if __name__ == "__main__":
    sys.exit(main())
