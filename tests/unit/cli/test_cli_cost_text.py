"""Tests the text of `sparkfuse advise JOB --outcomes` and `sparkfuse digest`, and the notes of `sparkfuse cost`."""

from __future__ import annotations

import dataclasses

from sparkfuse.commands.advise import outcome_lines
from sparkfuse.commands.cost import notes
from sparkfuse.commands.digest import digest_lines
from sparkfuse_native_analytics.advice.advice_outcomes import outcomes
from sparkfuse_native_analytics.queries import CostRow, Costs, JobOutcomes, Waste
from sparkfuse_native_analytics.queries.team_digest import JobSaving, TeamDigest, verified_saving
from tests.unit.native_analytics.test_native_analytics_advice_outcomes import BEFORE, ended, numbered, of_idle

NOTHING = Waste(0.0, None)
TOTAL = CostRow("", "", 9, 0, 2, 1.0, 1.0, None, NOTHING, None, NOTHING, NOTHING, NOTHING, 0)


def lines(*groups: list) -> str:
    runs = numbered(*groups)
    return "\n".join(outcome_lines(JobOutcomes("nightly", len(runs), 1, "USD", outcomes(runs, of_idle))))


def test_outcomes_print_state_prediction_effect_and_saving() -> None:
    """A verified entry has its setting, the predicted and measured change with intervals, and the saving."""
    shown = lines(BEFORE, ended(5, 11, "2", cores=22))

    assert "verified: fewer executors" in shown
    assert "set      spark.executor.instances=2 (before 8)" in shown
    assert "predict  -75% core time (between -82% and -68%), from 5 runs" in shown
    assert "measured -75% core time for the same input size (between -76% and -74%), as predicted" in shown
    assert "saved    0.66 USD per run, 3.31 USD in all" in shown
    assert "Left out: 1 run(s) of event logs" in shown


def test_outcomes_print_why_an_effect_is_open() -> None:
    """An applied entry says what is missing; a job without outcomes has one sentence."""
    shown = lines(BEFORE, ended(2, 11, "2", usable=False), BEFORE[:1])

    assert "applied: fewer executors" in shown
    assert "2 with the setting, 2 of them failed or incomplete" in shown
    assert "there are 0" in shown
    assert "the newest run does not have it" in shown
    assert "No advice is proposed" in lines(BEFORE[:2])


def test_notes_say_what_money_does_not_contain() -> None:
    """Prices that are off, runs without a price and rows that are not shown are sentences, not zeros."""
    off = notes(Costs("team", 0, "", None, None, TOTAL, [], 3))
    priced = notes(Costs("team", 0, "", "USD", "list prices of aws", TOTAL, [], 0))

    assert "Money is unknown" in off[0]
    assert off[1].startswith("2 of 9 runs are in no sum of money")
    assert off[2] == "3 more are not shown; use --limit."
    assert priced[0] == "Money is an estimate from list prices of aws."


def test_digest_prints_costs_savings_and_findings() -> None:
    """A digest has cost and waste, the jobs, applied advice with its saving, and the number of findings."""
    waste = Waste(0.5, 2.5)
    row = dataclasses.replace(TOTAL, name="nightly", cost=10.0, waste=waste, waste_share=0.5, unpriced_runs=0)
    (applied,) = outcomes(numbered(BEFORE, ended(5, 11, "2", cores=22)), of_idle, proposals=False)
    full = TeamDigest("data", 0, "USD", "test", row, [row], [JobSaving("nightly", applied)], 3.3, 4, [])
    empty = TeamDigest("nobody", 0, None, None, TOTAL, [], [], None, 0, [])

    assert "Cost 10.00 USD, waste 2.50 USD (50% of the core-hours)." in digest_lines(full)
    assert "  nightly: cost 10.00 USD, waste 2.50 USD (50% of the core-hours)" in digest_lines(full)
    assert "Applied advice, verified savings 3.30 USD:" in digest_lines(full)
    assert "  nightly: verified, spark.executor.instances=2, saved 3.31 USD" in digest_lines(full)
    assert "Firing findings: 4; 0 of them started before the period." in digest_lines(full)
    many = dataclasses.replace(full, firing_findings=5000)
    assert "Firing findings: 5000; 0 of the 200 most severe ones started before the period." in digest_lines(many)
    assert "Cost unknown, waste unknown." in digest_lines(empty)


def test_saving_of_one_change_counts_once() -> None:
    """If one run applied several pieces of advice, each has the saving of the whole change; the sum has it once."""
    (applied,) = outcomes(numbered(BEFORE, ended(5, 11, "2", cores=22)), of_idle, proposals=False)
    other = dataclasses.replace(applied, applied_app_id="app-99", saved_cost=1.5)
    unverified = dataclasses.replace(applied, state="no_gain", applied_app_id="app-98")
    saving = applied.saved_cost

    assert saving is not None
    assert verified_saving([JobSaving("a", applied), JobSaving("a", applied), JobSaving("a", other)]) == saving + 1.5
    assert verified_saving([JobSaving("a", applied), JobSaving("b", applied)]) == 2 * saving
    assert verified_saving([JobSaving("a", unverified)]) is None
