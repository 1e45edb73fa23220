"""Tests that the ids of runs are sent in requests of a limited length."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from sparkfuse_native_analytics.queries import RunPlace
from sparkfuse_native_analytics.queries.run_pages import MOST_BYTES, groups


@pytest.mark.parametrize("app_id", ["application_1795226400_0000042", "<\u202e>" * 60, "x" * 5_000])
def test_places_are_sent_in_groups_that_fit(app_id: str) -> None:
    """Each place is in one group, in its order, and a group of several places is not too long."""
    places = [RunPlace(1_795_226_400_000 + number, app_id, 1) for number in range(201)]
    found = list(groups(places))

    assert [place for group in found for place in group] == places
    assert len(found) > 1
    assert all(len(group) == 1 or sum(len(quote(place.app_id)) for place in group) <= MOST_BYTES for group in found)


def test_no_places_need_no_request() -> None:
    """Without places there is no group."""
    assert list(groups([])) == []
