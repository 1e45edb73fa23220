"""Alertmanager's and Prometheus's configuration for one machine, made from the room's own valid files.

`alertmanager.yml` and `prometheus.yml` are the only sources; here their addresses become this machine's, and receivers
that it has no address or key for are left out. Run `python -m sparkfuse_alertmanager.render --help` for the command.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from sparkfuse_contracts.assets import asset

PACKAGE = "sparkfuse_alertmanager"


class DestinationRefused(ValueError):
    """An address or a file for notifications cannot be used; the text says which and what would be right."""


@dataclass(frozen=True)
class Destinations:
    """Where notifications go. What is None has no receiver.

    The addresses of Slack and the pager are secrets, so they are given as files that Alertmanager reads by itself.
    """

    webhook_url: str | None = None
    slack_url_file: Path | None = None
    pager_key_file: Path | None = None
    heartbeat_url: str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Destinations:
        """Read SPARKFUSE_WEBHOOK_URL, SPARKFUSE_HEARTBEAT_URL, SPARKFUSE_SLACK_URL_FILE, SPARKFUSE_PAGER_KEY_FILE."""
        slack, pager = environment.get("SPARKFUSE_SLACK_URL_FILE"), environment.get("SPARKFUSE_PAGER_KEY_FILE")
        return cls(
            webhook_url=environment.get("SPARKFUSE_WEBHOOK_URL") or None,
            slack_url_file=Path(slack) if slack else None,
            pager_key_file=Path(pager) if pager else None,
            heartbeat_url=environment.get("SPARKFUSE_HEARTBEAT_URL") or None,
        )

    def check(self) -> None:
        """Raise DestinationRefused for the first value that Alertmanager could not use."""
        for name, url in (("webhook", self.webhook_url), ("heartbeat", self.heartbeat_url)):
            if url is not None and not (url.startswith(("http://", "https://")) and urlsplit(url).hostname):
                raise DestinationRefused(f"the {name} address {url!r} must be like http://host:port/path")
        for name, path in (("Slack's address", self.slack_url_file), ("the pager's key", self.pager_key_file)):
            if path is not None and not path.is_file():
                raise DestinationRefused(f"the file with {name}, {path}, is not there")


def write_alertmanager(folder: Path, destinations: Destinations) -> Path:
    """Write ``folder/alertmanager.yml`` for these destinations, and give its path. Raises DestinationRefused."""
    destinations.check()
    content = yaml.safe_load(asset(PACKAGE, "alertmanager.yml").read_text())
    content["templates"] = [str(asset(PACKAGE, "templates").resolve() / "*.tmpl")]
    for receiver in content["receivers"]:
        hook = destinations.heartbeat_url if receiver["name"] == "heartbeat" else destinations.webhook_url
        _fill(receiver, "webhook_configs", "url", hook)
        _fill(receiver, "slack_configs", "api_url_file", _absolute(destinations.slack_url_file))
        _fill(receiver, "pagerduty_configs", "routing_key_file", _absolute(destinations.pager_key_file))
        for pager in receiver.get("pagerduty_configs", []):
            del pager["url"]  # the stand-in's: with a key it is the pager's own
    return _write(folder / "alertmanager.yml", content)


def write_prometheus(
    folder: Path, processes: Mapping[str, str], alertmanagers: Sequence[str], rules: Sequence[Path] = ()
) -> Path:
    """Write ``folder/prometheus.yml`` and its targets, and give its path.

    Args:
        folder: where the files go; it is made.
        processes: ``host:port`` of each process's metrics, by the process's name.
        alertmanagers: ``host:port`` or address of each Alertmanager.
        rules: rule files to use instead of the room's own.
    """
    content = yaml.safe_load(asset(PACKAGE, "prometheus.yml").read_text())
    chosen = list(rules) or [asset(PACKAGE, "prometheus_rules", Path(name).name) for name in content["rule_files"]]
    content["rule_files"] = [str(path.resolve()) for path in chosen]
    targets = [{"targets": [address], "labels": {"process": name}} for name, address in processes.items()]
    _write(folder / "targets" / "processes.yml", targets)
    _write(folder / "targets" / "alertmanagers.yml", [{"targets": [_host_and_port(url) for url in alertmanagers]}])
    return _write(folder / "prometheus.yml", content)


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
    """Writes shared parts out in full: a person who reads the file should not follow references."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(yaml.dump(content, Dumper=_NoAliases, sort_keys=False, allow_unicode=True))
    temporary.replace(path)
    return path


def main(arguments: list[str] | None = None) -> int:
    """Write both configurations into a folder and print their paths."""
    given = _parser().parse_args(arguments)
    processes = dict(pair.split("=", 1) for pair in given.process if "=" in pair)
    if len(processes) != len(given.process):
        print("--process takes NAME=HOST:PORT, each name once", file=sys.stderr)
        return 2
    try:
        print(write_alertmanager(given.folder, _destinations(given)))
    except DestinationRefused as error:
        print(error, file=sys.stderr)
        return 2
    print(write_prometheus(given.folder, processes, given.alertmanager))
    return 0


def _destinations(given: argparse.Namespace) -> Destinations:
    return Destinations(given.webhook_url, given.slack_url_file, given.pager_key_file, given.heartbeat_url)


def _parser() -> argparse.ArgumentParser:
    known = Destinations.from_environment(os.environ)
    parser = argparse.ArgumentParser(prog="sparkfuse_alertmanager.render", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder to write alertmanager.yml, prometheus.yml and targets into")
    parser.add_argument("--webhook-url", default=known.webhook_url, help="or SPARKFUSE_WEBHOOK_URL")
    parser.add_argument("--heartbeat-url", default=known.heartbeat_url, help="or SPARKFUSE_HEARTBEAT_URL")
    parser.add_argument("--slack-url-file", type=Path, default=known.slack_url_file, help="or SPARKFUSE_SLACK_URL_FILE")
    parser.add_argument("--pager-key-file", type=Path, default=known.pager_key_file, help="or SPARKFUSE_PAGER_KEY_FILE")
    parser.add_argument("--process", action="append", default=[], metavar="NAME=HOST:PORT", help="may be repeated")
    parser.add_argument("--alertmanager", action="append", default=[], metavar="HOST:PORT", help="may be repeated")
    return parser


if __name__ == "__main__":
    sys.exit(main())
