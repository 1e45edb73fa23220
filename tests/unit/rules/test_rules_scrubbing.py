"""The one scrubber of Python: secrets go, what explains stays, and time stays linear."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.failures import classify
from sparkfuse_rules.knowledge.scrubbing import MOST_BYTES, scrub, scrub_query

SECRETS = {
    "password": ("password=hunter2 next", "password=*** next"),
    "json": ('{"api_key": "abc def"}', '{"api_key": ***}'),
    "user info": ("jdbc:postgresql://me:pw@host/db", "jdbc:postgresql://***@host/db"),
    "query": ("https://x/y?sig=abc%2F&se=1", "https://x/y?sig=***&se=1"),
    "bearer": ("Authorization: Bearer abcdefgh12", "Authorization: Bearer ***"),
    "aws": ("key AKIAIOSFODNN7EXAMPLE end", "key *** end"),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc", "***"),
    "account key": ("fs.azure.account.key.x.blob=Zm9v", "fs.azure.account.key.x.blob=***"),
    "pem": ("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb", "a ***\nb"),
}


@pytest.mark.parametrize(("text", "kept"), SECRETS.values(), ids=SECRETS)
def test_secrets_are_masked(text: str, kept: str) -> None:
    """What looks like a secret is three stars, and the words around it stay."""
    assert scrub(text) == kept


@pytest.mark.parametrize("text", ["Job aborted due to stage failure: Task 0", "count at jobs.py:12", "", "FetchFailed"])
def test_what_is_no_secret_stays(text: str) -> None:
    """Ordinary words are not touched."""
    assert scrub(text) == text


def test_literals_of_queries_go() -> None:
    """A query keeps its shape and loses what was asked for."""
    assert scrub_query("SELECT * FROM t WHERE name = 'Miller' AND card = 4111 1111 1111 1111") == (
        "SELECT * FROM t WHERE name = '?' AND card = ?"
    )


@given(st.text(max_size=6000))
def test_is_capped_and_never_fails(text: str) -> None:
    """Any text, also one that is no valid Unicode, gives at most 2,048 bytes of UTF-8; twice is as good as once."""
    found = scrub(text)

    assert len(found.encode()) <= MOST_BYTES
    assert len(scrub("é" * 5000).encode()) <= MOST_BYTES
    assert scrub("\ud800x") == "?x"


def test_the_last_cause_of_a_long_stack_stays() -> None:
    """Most frames go, so that the cause behind a hundred of them still fits; SecretScrubberTest has the same text."""
    frames = "".join(
        f"\tat org.apache.spark.deep.Inside$.step{number}(Inside.scala:{number})\n" for number in range(60)
    )
    text = f"a.Outer: failed\n{frames}Caused by: b.Inner: password=hunter2 is wrong\n{frames}\t... 12 more\n"
    first_two = "".join(frames.splitlines(keepends=True)[:2])

    assert scrub(text) == f"a.Outer: failed\n{first_two}Caused by: b.Inner: password=*** is wrong\n{first_two}"
    assert scrub(scrub(text)) == scrub(text)


def test_who_was_at_the_other_end_of_a_socket_stays() -> None:
    """A killed Python worker resets its socket: only its runner's frame tells that from a broken network."""
    frames = "".join(f"\tat java.base/sun.nio.ch.Socket{number}.read(S.java:1)\n" for number in range(30))
    runner = "\tat org.apache.spark.api.python.PythonRunner$$anon$3.read(PythonRunner.scala:774)\n"
    first_two = "".join(frames.splitlines(keepends=True)[:2])
    scrubbed = scrub(f"java.net.SocketException: Connection reset\n{frames}{runner}{runner}{frames}")

    assert scrubbed == f"java.net.SocketException: Connection reset\n{first_two}{runner}"
    assert classify(None, scrubbed).reason == "python_crashed"
