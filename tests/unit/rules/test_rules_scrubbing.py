"""Tests the scrubber of secrets: what it removes, what it keeps, and that its time is limited."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.generated.scrubbing import MOST_BYTES, MOST_CHARS, MOST_SEARCHED
from sparkfuse_rules.knowledge.failures import classify
from sparkfuse_rules.knowledge.scrubbing import scrub, scrub_query, shortened

# The cases that SecretScrubberTest runs too, so that both scrubbers give the same result.
CASES = json.loads(asset("sparkfuse_contracts", "shared", "scrubbing_cases.json").read_text())
LENGTHS = (MOST_BYTES, 2 * MOST_BYTES, 1_000_000)


def _named(kind: str) -> list[object]:
    return [pytest.param(case["text"], case["kept"], id=case["case"]) for case in CASES[kind]]


@pytest.mark.parametrize(("text", "kept"), _named("scrub"))
def test_secrets_are_masked(text: str, kept: str) -> None:
    """A secret is replaced by three asterisks, the words around it are kept, and scrubbing again changes nothing."""
    assert scrub(text) == kept
    assert scrub(kept) == kept


@pytest.mark.parametrize(("text", "kept"), _named("cut"))
def test_truncated_secrets_are_masked(text: str, kept: str) -> None:
    """A secret is masked even if the text was truncated within the secret."""
    begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----\n"
    room = MOST_CHARS - len(text) - len(begin) - len(end)

    assert scrub(f"{begin}{'a' * room}{end}{text}hunter2 and more") == f"***\n{kept}"
    assert scrub(f"{begin}{'a' * room}{end}{text}") == f"***\n{kept}"


def test_long_text_ends_with_a_whole_word() -> None:
    """A shortened text ends with a whole word, so half of a secret address cannot stay at the end."""
    frames, address = "\tat a.B(C.scala:1)\n" * 3440, "to https://me:hunter2"
    first = "a" * (MOST_SEARCHED - len(frames) - len(address) - 1)

    assert scrub(f"{first}\n{frames}{address}hunter2@host/x").endswith("(C.scala:1)\nto")


@pytest.mark.parametrize("text", CASES["stays"])
def test_ordinary_text_stays(text: str) -> None:
    """Words, ports, ids, hashes and file names are not changed."""
    assert scrub(text) == text


@pytest.mark.parametrize(("text", "kept"), _named("scrub_query"))
def test_literals_are_removed_from_queries(text: str, kept: str) -> None:
    """The literals of a query are removed, whatever the quoting and wherever the text was truncated.

    The structure of the query is kept.
    """
    assert scrub_query(text) == kept
    assert scrub_query(kept) == kept


@pytest.mark.parametrize("unit", [pytest.param(case["unit"], id=case["case"]) for case in CASES["hostile"]])
def test_hostile_text_is_scrubbed_in_time(unit: str) -> None:
    """A megabyte of repeated pattern prefixes is scrubbed within the time limit and truncated."""
    for length in LENGTHS:
        text = (unit * (length // len(unit) + 1))[:length]

        assert len(scrub_query(text).encode()) <= MOST_BYTES
        assert len(scrub(f"a.Error:\n{text}").encode()) <= MOST_BYTES


@pytest.mark.parametrize("chars", range(20, 70, 7))
def test_shortening_never_exposes_a_secret(chars: int) -> None:
    """Whatever the length limit, no part of the password is left in the text."""
    text = "connect to https://hunter2hunter2hunter2hunter2hunter2@db.example/orders"

    assert "hunter" not in shortened(text, chars)
    assert shortened("password=hunter2", 512) == "password=hunter2"


@given(st.text(max_size=6000))
def test_any_text_is_limited_to_2048_bytes(text: str) -> None:
    """For any text, even invalid Unicode, the result has a limited length, and scrubbing it again changes nothing."""
    found = scrub(text)

    assert len(found.encode()) <= MOST_BYTES
    assert len(scrub("é" * 5000).encode()) <= MOST_BYTES
    assert scrub("\ud800x") == "?x"


def test_last_cause_of_a_long_stack_stays() -> None:
    """When a long stack is shortened, most frames are dropped and the last cause is kept.

    The Java test SecretScrubberTest uses the same stack.
    """
    frames = "".join(
        f"\tat org.apache.spark.deep.Inside$.step{number}(Inside.scala:{number})\n" for number in range(60)
    )
    text = f"a.Outer: failed\n{frames}Caused by: b.Inner: password=hunter2 is wrong\n{frames}\t... 12 more\n"
    first_two = "".join(frames.splitlines(keepends=True)[:2])

    assert scrub(text) == f"a.Outer: failed\n{first_two}Caused by: b.Inner: password=*** is wrong\n{first_two}"
    assert scrub(scrub(text)) == scrub(text)


def test_frame_of_the_python_runner_stays() -> None:
    """When a stack is shortened, the frame of the Python runner is kept.

    Only the frame of the Python runner distinguishes a killed Python worker from a network error.
    """
    frames = "".join(f"\tat java.base/sun.nio.ch.Socket{number}.read(S.java:1)\n" for number in range(30))
    runner = "\tat org.apache.spark.api.python.PythonRunner$$anon$3.read(PythonRunner.scala:774)\n"
    first_two = "".join(frames.splitlines(keepends=True)[:2])
    scrubbed = scrub(f"java.net.SocketException: Connection reset\n{frames}{runner}{runner}{frames}")

    assert scrubbed == f"java.net.SocketException: Connection reset\n{first_two}{runner}"
    assert classify(None, scrubbed).reason == "python_crashed"
