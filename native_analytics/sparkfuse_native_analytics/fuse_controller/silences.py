"""Silences of Alertmanager, evaluated on the labels of a finding, so that they apply even before the alert exists."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.compute as pc

ANSWER_SECONDS = 3.0
_ACTIVE = "active"


class SilencesUnknownError(RuntimeError):
    """The silences are not known, so the fuse must not act; the message is the reason."""


@dataclass(frozen=True)
class Matcher:
    """One matcher of a silence; a missing label counts as an empty string, as in Alertmanager."""

    name: str
    value: str
    is_regex: bool
    is_equal: bool

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels match. Raises SilencesUnknownError if the regular expression is not valid."""
        text = labels.get(self.name, "")
        if not self.is_regex:
            return (text == self.value) is self.is_equal
        try:
            # Arrow uses RE2, whose syntax is that of Alertmanager; Python gives some expressions another meaning.
            found = pc.match_substring_regex(pa.scalar(text), f"^(?:{self.value})$").as_py()
        except pa.ArrowInvalid as error:
            raise SilencesUnknownError(f"the silence with {self.name}=~{self.value!r} cannot be evaluated") from error
        return found is self.is_equal


@dataclass(frozen=True)
class Silence:
    """One active silence: it applies if all matchers match."""

    silence_id: str
    comment: str
    matchers: tuple[Matcher, ...]


def silence_of(silences: Sequence[Silence], labels: Mapping[str, str]) -> Silence | None:
    """Return the first silence that matches the labels of an alert. Raises SilencesUnknownError."""
    return next((each for each in silences if all(matcher.matches(labels) for matcher in each.matchers)), None)


def active_silences(alertmanager_urls: Sequence[str]) -> list[Silence]:
    """Return the active silences of all Alertmanagers.

    Raises SilencesUnknownError if one of them does not answer, because only that one may know a silence, or if an
    answer is not a list of silences.
    """
    return [silence for url in alertmanager_urls for silence in _silences(f"{url}/api/v2/silences")]


def _silences(address: str) -> list[Silence]:
    try:
        with urlopen(address, timeout=ANSWER_SECONDS) as reply:  # noqa: S310  http or https: settings check it
            content = json.load(reply)
    except (OSError, HTTPException, ValueError) as error:
        raise SilencesUnknownError(f"the Alertmanager at {address} does not answer: {error}") from error
    try:
        return [_silence(each) for each in content if each["status"]["state"] == _ACTIVE]
    except (KeyError, TypeError) as error:
        raise SilencesUnknownError(f"{address} did not return a list of Alertmanager silences: {error!r}") from error


def _silence(content: Mapping[str, Any]) -> Silence:
    matchers = (
        Matcher(str(each["name"]), str(each["value"]), bool(each["isRegex"]), bool(each.get("isEqual", True)))
        for each in content["matchers"]
    )
    return Silence(str(content["id"]), str(content.get("comment", "")), tuple(matchers))
