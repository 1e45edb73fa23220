"""The one scrubber of Python: secrets go, what explains stays, and time stays linear."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.failures import classify
from sparkfuse_rules.knowledge.scrubbing import MOST_BYTES, MOST_CHARS, MOST_LOOKED_AT, scrub, scrub_query, shortened

# The same cases that SecretScrubberTest runs: two scrubbers, one answer.
CASES = json.loads((Path(__file__).parents[3] / "rules" / "scrubbing_cases.json").read_text())
LENGTHS = (MOST_BYTES, 2 * MOST_BYTES, 1_000_000)


def _named(kind: str) -> list[object]:
    return [pytest.param(case["text"], case["kept"], id=case["case"]) for case in CASES[kind]]


@pytest.mark.parametrize(("text", "kept"), _named("scrub"))
def test_secrets_are_masked(text: str, kept: str) -> None:
    """What looks like a secret is three stars, the words around it stay, and a second gate changes nothing more."""
    assert scrub(text) == kept
    assert scrub(kept) == kept


@pytest.mark.parametrize(("text", "kept"), _named("cut"))
def test_what_a_cut_left_without_its_end_is_masked(text: str, kept: str) -> None:
    """Behind a key that takes all the room that is looked at, so that the cut's end is in what is kept."""
    begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----\n"
    room = MOST_CHARS - len(text) - len(begin) - len(end)

    assert scrub(f"{begin}{'a' * room}{end}{text}hunter2 and more") == f"***\n{kept}"
    assert scrub(f"{begin}{'a' * room}{end}{text}") == f"***\n{kept}"


def test_what_is_too_far_behind_ends_with_a_whole_word() -> None:
    """Frames that fall out leave room for half an address, which does not look as if it was cut."""
    frames, address = "\tat a.B(C.scala:1)\n" * 3440, "to https://me:hunter2"
    first = "a" * (MOST_LOOKED_AT - len(frames) - len(address) - 1)

    assert scrub(f"{first}\n{frames}{address}hunter2@host/x").endswith("(C.scala:1)\nto")


@pytest.mark.parametrize("text", CASES["stays"])
def test_what_is_no_secret_stays(text: str) -> None:
    """Ordinary words, ports, ids, hashes and names of files are not touched."""
    assert scrub(text) == text


@pytest.mark.parametrize(("text", "kept"), _named("scrub_query"))
def test_literals_of_queries_go(text: str, kept: str) -> None:
    """A query keeps its shape and loses what was asked for, however it is quoted and wherever it is cut."""
    assert scrub_query(text) == kept
    assert scrub_query(kept) == kept


@pytest.mark.parametrize("unit", [pytest.param(case["unit"], id=case["case"]) for case in CASES["hostile"]])
def test_a_hostile_text_comes_to_an_end(unit: str) -> None:
    """What begins a pattern again and again up to a megabyte, as one line and as the last of two; the cap holds."""
    for length in LENGTHS:
        text = (unit * (length // len(unit) + 1))[:length]

        assert len(scrub_query(text).encode()) <= MOST_BYTES
        assert len(scrub(f"a.Error:\n{text}").encode()) <= MOST_BYTES


@pytest.mark.parametrize("chars", range(20, 70, 7))
def test_a_cut_does_not_part_a_secret_from_what_tells_it(chars: int) -> None:
    """Wherever it is cut, nothing of the password is in it; a text that fits is left to the gate."""
    text = "connect to https://hunter2hunter2hunter2hunter2hunter2@db.example/orders"

    assert "hunter" not in shortened(text, chars)
    assert shortened("password=hunter2", 512) == "password=hunter2"


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
