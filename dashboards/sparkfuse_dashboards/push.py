"""``python -m sparkfuse_dashboards.push``: uploads the dashboards to Grafana through its API."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from grafana_client import GrafanaApi, TokenAuth
from grafana_client.client import GrafanaClientError, GrafanaException

from sparkfuse_contracts.assets import asset

FOLDER_UID = "sparkfuse"
FOLDER_TITLE = "Sparkfuse"
TIMEOUT_SECONDS = 10


class PushError(RuntimeError):
    """Grafana did not accept the dashboards; the message contains the reason."""


def dashboards() -> Mapping[str, dict[str, Any]]:
    """Return the generated dashboards by file name."""
    folder = asset("sparkfuse_dashboards", "generated")
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def push(url: str, token: str) -> list[str]:
    """Upload all dashboards to the folder Sparkfuse, replacing older versions, and return their addresses.

    Raises PushError if Grafana is unreachable, or rejects the token or a dashboard.
    """
    api = GrafanaApi.from_url(url, credential=TokenAuth(token), timeout=TIMEOUT_SECONDS)
    try:
        _make_folder(api)
        return [f"{url}{_update(api, content)}" for content in dashboards().values()]
    except GrafanaException as error:
        raise PushError(f"Grafana at {url} answered {error.status_code}: {error.message}") from error
    except OSError as error:  # all network errors of the client are OSErrors
        raise PushError(f"Grafana at {url} cannot be reached: is it running, and is the address right?") from error


def _make_folder(api: GrafanaApi) -> None:
    try:
        api.folder.get_folder(FOLDER_UID)
    except GrafanaClientError as error:
        if error.status_code != HTTPStatus.NOT_FOUND:
            raise
        api.folder.create_folder(FOLDER_TITLE, FOLDER_UID)


def _update(api: GrafanaApi, content: dict[str, Any]) -> str:
    request = {"dashboard": content, "folderUid": FOLDER_UID, "overwrite": True, "message": "sparkfuse_dashboards.push"}
    return str(api.dashboard.update_dashboard(request)["url"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Upload the dashboards; return 0, 2 for invalid arguments, 3 if Grafana is unreachable or rejects them."""
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_dashboards.push", description=__doc__)
    default = os.environ.get("SPARKFUSE_DASHBOARD_URL", "http://127.0.0.1:3000")
    parser.add_argument("--url", default=default, help=f"Grafana's address (default: {default})")
    url = parser.parse_args(arguments).url.rstrip("/")
    token = os.environ.get("SPARKFUSE_GRAFANA_TOKEN", "")
    if not token or urlsplit(url).scheme not in {"http", "https"}:
        print("set SPARKFUSE_GRAFANA_TOKEN to a service account's token, and --url to an address like http://…",
              file=sys.stderr)  # fmt: skip
        return 2
    try:
        for address in push(url, token):
            print(address)
    except PushError as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
