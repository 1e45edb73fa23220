"""Serves the console in a thread of the test, over real HTTP, and finds parts of its pages."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import threading
from collections.abc import Iterator

import requests
import uvicorn

from sparkfuse_console.application import application
from sparkfuse_console.server import address_of, open_listener
from sparkfuse_contracts.settings import Settings


@dataclasses.dataclass(frozen=True)
class RunningConsole:
    """A console that answers at ``url``."""

    url: str

    def get(self, path: str, **headers: str) -> requests.Response:
        """Return the reply to a request; redirects are followed."""
        return requests.get(f"{self.url}{path}", headers=headers, timeout=60)


@contextlib.contextmanager
def serving(
    clickhouse_url: str, console_url: str = "http://127.0.0.1:19080", **environment: str
) -> Iterator[RunningConsole]:
    """Serve the console until the block ends; ``environment`` has further variables of SPARKFUSE."""
    settings = dataclasses.replace(
        Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": clickhouse_url, **environment}), console_url=console_url
    )
    with open_listener("127.0.0.1", 0) as listener:
        server = uvicorn.Server(
            uvicorn.Config(application(settings), log_config=None, lifespan="on", proxy_headers=False)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield RunningConsole(address_of(listener))
        finally:
            server.should_exit = True
            thread.join(30)


def part(text: str, heading: str) -> str:
    """Return the text of a page from one heading of level 2 to the next."""
    found = re.search(rf'<h2 id="{heading}">(.*?)(?=<h2|</main>)', text, re.DOTALL)
    return found[1] if found else ""
