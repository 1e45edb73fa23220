"""Provides a broker in each relevant state: up, refusing, silent, dropping, slow, and failing authentication."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

STATES = ("up", "refused", "silent", "dropping", "slow", "auth-fail")
SLOW_SECONDS = 0.3
"""Delay of each piece of data in each direction."""

_SASL = """\
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="spark" password="wrong";
"""


@contextlib.contextmanager
def broker_in_state(state: str, bootstrap: str, folder: Path) -> Iterator[Mapping[str, str]]:
    """Yield the plugin's settings for a broker in a state.

    Args:
        state: one of `STATES`.
        bootstrap: address of a real broker, for the states that have one.
        folder: where the properties file of the client is written.
    """
    key = "spark.sparkfuse.kafka.bootstrap"
    if state == "up":
        yield {key: bootstrap}
    elif state == "refused":
        yield {key: f"127.0.0.1:{closed_port()}"}
    elif state == "auth-fail":
        file = folder / "client.properties"
        # All classes of the client are relocated in the plugin's jar.
        file.write_text(_SASL.replace("org.apache.kafka", "io.sparkfuse.shaded.kafka"))
        yield {key: bootstrap, "spark.sparkfuse.kafka.configFile": str(file)}
    elif state == "slow":
        with SlowProxy(bootstrap) as address:
            yield {key: address}
    else:
        with silent(full=state == "dropping") as address:
            yield {key: address}


@contextlib.contextmanager
def silent(full: bool) -> Iterator[str]:
    """Yield an address that accepts connections and never answers; if `full`, it drops the first packets.

    The kernel drops packets while the accept queue is full.
    """
    with contextlib.ExitStack() as open_sockets:
        listener = open_sockets.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(1 if full else 100)
        while full:
            one_more = open_sockets.enter_context(socket.socket())
            one_more.settimeout(0.3)
            try:
                one_more.connect(listener.getsockname())
            except TimeoutError:
                break
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def closed_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class SlowProxy:
    """Forwards bytes to a broker and back with a delay.

    The broker sends its own address to its clients, so the proxy replaces the port in responses. The four bytes of a
    port follow the host name only in metadata responses.
    """

    def __init__(self, target: str) -> None:
        self._host, port = target.rsplit(":", 1)
        self._port = int(port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        ).result(10)
        self._own_port = self._server.sockets[0].getsockname()[1]
        return f"127.0.0.1:{self._own_port}"

    def __exit__(self, *_: object) -> None:
        async def end() -> None:
            self._server.close()
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.close()
            return
        address = self._host.encode()
        there = self._port.to_bytes(4, "big")
        here = self._own_port.to_bytes(4, "big")
        await asyncio.gather(
            self._pass(reader, far_writer, b"", b""),
            self._pass(far_reader, writer, address + there, address + here),
        )

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, before: bytes, after: bytes
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(1 << 16):
                await asyncio.sleep(SLOW_SECONDS)
                writer.write(piece.replace(before, after) if before else piece)
                await writer.drain()
        writer.close()
