"""Tests the cleaning of strings that come from jobs."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_alertmanager.text import address
from sparkfuse_rules.plain_text import label, plain


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        pytest.param("task 3 is stuck", "task 3 is stuck", id="text stays"),
        pytest.param("größe 数据 🔥", "größe 数据 🔥", id="all scripts stay"),
        pytest.param("two\nlines\tand  spaces", "two lines and spaces", id="one line"),
        pytest.param("bell\x07 escape\x1b[31m del\x7f c1\x9b", "bell escape[31m del c1", id="no controls"),
        pytest.param("abc\u202ecba\u2066x\u2069\u200f", "abccbax", id="no marks of direction"),
        pytest.param("in\u200bvisible\ufeff \U000e0041tag", "invisible tag", id="nothing invisible"),
        pytest.param("half \ud83d pair", "half pair", id="no lone surrogates"),
        pytest.param("<!channel> & <https://evil|x>", "<!channel> & <https://evil|x>", id="escaping is not its work"),
        pytest.param("", "", id="empty"),
    ],
)
def test_hidden_characters_are_removed(given_text, shown):
    """A cleaned text is one line without control, directional or invisible characters."""
    assert plain(given_text, 100) == shown


@given(st.text(alphabet=st.characters()), st.integers(min_value=0, max_value=50))
def test_plain_text_is_bounded(text, limit):
    """No cleaned text exceeds its limit or contains a control character."""
    shown = plain(text, limit)

    assert len(shown) <= limit
    assert not any(unicodedata.category(letter) in {"Cc", "Cs"} for letter in shown)


def test_truncated_text_ends_with_an_ellipsis():
    """A truncated text ends with an ellipsis."""
    assert plain("0123456789", 5) == "0123…"


def test_labels_have_no_markup():
    """Labels contain no markup, because templates of other teams may show labels without escaping."""
    assert label("orders <!channel> & co") == "orders _!channel_ _ co"


def test_long_labels_stay_different():
    """Two long names that differ only at their end give different labels of at most 200 characters."""
    one, two = label("x" * 300 + "1"), label("x" * 300 + "2")

    assert one != two
    assert (len(one), len(two)) == (200, 200)


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("https://docs.sparkfuse.example/rules/stage_skew.md#runbook", True),
        ("http://127.0.0.1:3000/d/x?var-app_id=a%20b&to=now", True),
        ("javascript:alert(1)", False),
        ("https://evil|x", False),
        ("https://a/> <!channel>", False),
        ("https://", False),
        ("https://a/\u202eb", False),
        ("https://[half", False),
        ("https://a/" + "x" * 1000, False),
        ("", False),
    ],
)
def test_only_plain_http_addresses_are_links(text, accepted):
    """A link has a host and no markup; any other text is not used as a link."""
    assert address(text) == (text if accepted else "")


def test_secrets_are_removed():
    """A secret is removed from a text even if an invisible character splits the secret's name."""
    assert plain("cannot open jdbc:x?pass\u200bword=hunter2&y=1 as https://me:pw@db/x", 200) == (
        "cannot open jdbc:x?password=***&y=1 as https://***@db/x"
    )
    assert label("load token=hunter2") == "load token=***"
