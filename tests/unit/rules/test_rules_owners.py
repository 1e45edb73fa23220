"""Tests owners and teams of jobs, from sparkfuse.yaml."""

from __future__ import annotations

import pytest

from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.owners import Owners, read_owners

MAPPING = """\
owners:
  - {job: "airflow/sales.*", team: sales}
  - {job: "airflow/*", team: airflow, owner: airflow@example.com}
  - {job: "[a-m]*", owner: first-half@example.com}
rules: {}
"""


@pytest.mark.parametrize(
    ("job_key", "expected"),
    [
        ("airflow/sales.load", ("airflow@example.com", "sales")),
        ("airflow/orders.load", ("airflow@example.com", "airflow")),
        ("billing", ("first-half@example.com", None)),
        ("Billing", (None, None)),
        ("zoo", (None, None)),
    ],
)
def test_first_matching_entry_applies(tmp_path, job_key, expected):
    """Owner and team of a job each come from the first matching entry that has one; patterns are case-sensitive."""
    path = tmp_path / "sparkfuse.yaml"
    path.write_text(MAPPING)

    assert read_owners(path).of(job_key) == expected


def test_owners_are_optional(tmp_path):
    """If sparkfuse.yaml or its section is missing, jobs have no owners."""
    path = tmp_path / "sparkfuse.yaml"
    path.write_text("rules: {}\n")

    assert read_owners(None) == read_owners(path) == Owners()


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("{job: a}", "needs job, and owner or team"),
        ("{team: a}", "needs job, and owner or team"),
        ("{job: a, teem: b}", "team"),
        ("{job: a, team: 7}", "must be a string"),
        ("orders", "must be a mapping"),
    ],
)
def test_invalid_entry_is_rejected_with_its_place(tmp_path, entry, expected):
    """The error for an invalid entry of the section owners names the file, the section and the number of the entry."""
    path = tmp_path / "sparkfuse.yaml"
    path.write_text(f"owners:\n  - {entry}\n")

    with pytest.raises(RuleError, match=r"sparkfuse.yaml: owners\[0\]") as refused:
        read_owners(path)
    assert expected in str(refused.value)
