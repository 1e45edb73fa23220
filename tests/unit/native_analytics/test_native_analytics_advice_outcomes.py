"""Tests what becomes of advice: the states, the measured effect, and when it cannot be measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_native_analytics.advice import Advice, advise
from sparkfuse_native_analytics.advice.advice_outcomes import MAX_CHANGES, AdviceOutcome, ConfiguredRun, outcomes
from sparkfuse_native_analytics.advice.effect import Measured, NotComparableError, effect
from tests.unit.native_analytics.test_native_analytics_advice import BUSY, COLLECTING, IDLE

MINUTE, GB = 60_000, 10**9
NOISE = (1.0, 1.04, 0.97, 1.02, 0.99)


def ended(count: int, minutes: float, instances: str = "8", cores: float = 88, **more) -> list[ConfiguredRun]:
    """Return runs with some noise; ``cores`` is the core time in minutes, which costs a cent a minute."""
    noise = [NOISE[number % len(NOISE)] for number in range(count)]
    run = ConfiguredRun("", 0, True, {"spark.executor.instances": instances}, None, None, GB, None)
    return [
        dataclasses.replace(
            run,
            elapsed_ms=round(minutes * MINUTE * each),
            core_ms=round(cores * MINUTE * each),
            cost=cores * each / 100,
            **more,
        )
        for each in noise
    ]


def numbered(*groups: Sequence[ConfiguredRun]) -> list[ConfiguredRun]:
    """Return runs one day after another."""
    runs = [each for group in groups for each in group]
    return [dataclasses.replace(each, app_id=f"app-{n}", started_ms=n * 86_400_000) for n, each in enumerate(runs)]


def of_idle(runs: Sequence[ConfiguredRun]) -> Sequence[Advice]:
    """Return the advice of a job with unused executors, which asks for 2 instead of 8; none without five runs of it."""
    eight = [each for each in runs if each.configuration["spark.executor.instances"] == "8"]
    return advise(IDLE) if len(eight) >= 5 else []


def states(*groups: Sequence[ConfiguredRun]) -> list[str]:
    return [each.state for each in outcomes(numbered(*groups), of_idle)]


def applied(*groups: Sequence[ConfiguredRun]) -> AdviceOutcome:
    (found,) = [each for each in outcomes(numbered(*groups), of_idle) if each.state != "proposed"]
    return found


BEFORE = ended(5, 11)


def test_advice_passes_through_its_states() -> None:
    """Advice is proposed, applied with the first run that has the setting, and verified after five of them."""
    cheaper = ended(5, 11, "2", cores=22)

    assert states() == []
    assert states(BEFORE[:4]) == []
    assert states(BEFORE) == ["proposed"]
    assert states(BEFORE, cheaper[:1]) == ["applied"]
    assert states(BEFORE, cheaper[:4]) == ["applied"]
    assert states(BEFORE, cheaper) == ["verified"]
    assert "there are 4" in str(applied(BEFORE, cheaper[:4]).reason)


def test_verified_advice_has_its_effect_and_saving() -> None:
    """The measured ratio has an interval, is compared with the prediction, and gives money for each run and in all."""
    found = applied(BEFORE, ended(6, 11, "2", cores=22))

    assert (found.applied_app_id, found.runs_after, found.active, found.goal) == ("app-5", 6, True, "core_time")
    assert found.measured_low < found.measured_ratio < found.measured_high < 1
    assert found.measured_ratio == pytest.approx(0.25, rel=0.05)
    assert found.predicted_ratio == pytest.approx(0.25)
    assert found.as_predicted
    assert found.saved_cost_per_run == pytest.approx(0.66, rel=0.05)
    assert found.saved_cost == pytest.approx(6 * found.saved_cost_per_run)
    assert found.saved_ms_per_run == pytest.approx(0, abs=MINUTE)


def test_change_without_a_gain_is_recorded() -> None:
    """If the core time stays, the state is no_gain and not as predicted; the saving is negative if the cost grew."""
    found = applied(BEFORE, ended(5, 50, "2", cores=100))

    assert (found.state, found.as_predicted) == ("no_gain", False)
    assert found.measured_high > 1
    assert found.saved_cost < 0
    assert found.saved_ms_per_run == pytest.approx(-39 * MINUTE, rel=0.1)


@pytest.mark.parametrize(
    ("advice", "setting", "value"),
    [
        pytest.param(BUSY, "spark.executor.instances", "16", id="more executors"),
        pytest.param(COLLECTING, "spark.executor.memory", "6144m", id="memory"),
        pytest.param(COLLECTING, "spark.executor.memory", "6g", id="same memory in another unit"),
    ],
)
def test_advice_for_speed_is_verified_by_the_duration(advice: list, setting: str, value: str) -> None:
    """More executors and more memory are to make runs faster, whatever their core time is."""
    after = [
        dataclasses.replace(each, configuration={**each.configuration, setting: value})
        for each in ended(5, 6, cores=99)
    ]
    runs = numbered(BEFORE, after)
    known = advise(advice)
    entries = outcomes(runs, lambda asked: known if asked[0].app_id == "app-0" else [])

    assert [(each.goal, each.state) for each in entries] == [("duration", "verified")]


def test_other_values_and_runs_without_evidence_are_no_application() -> None:
    """Another value than the advised one, a change after fewer than five runs, and other settings are left out."""
    other = [dataclasses.replace(each, configuration={**each.configuration, "spark.sql.x": "1"}) for each in BEFORE]

    assert states(BEFORE, ended(5, 11, "4", cores=44)) == []
    assert states(BEFORE[:4], ended(5, 11, "2", cores=22)) == []
    assert states(BEFORE, other) == ["proposed"]


def test_setting_that_was_taken_back_is_not_active() -> None:
    """Going back to the earlier configuration proposes the advice again, and the applied one is not active."""
    entries = outcomes(numbered(BEFORE, ended(5, 11, "2", cores=22), BEFORE[:1]), of_idle)

    assert [(each.state, each.active) for each in entries] == [("proposed", False), ("verified", False)]


def test_failed_runs_and_other_changes_are_named() -> None:
    """Runs that failed with the setting are counted, and settings that changed in the same run are listed."""
    both = {"spark.executor.instances": "2", "spark.executor.memory": "8g"}
    failed = ended(2, 1, "2", usable=False)
    found = applied(BEFORE, [dataclasses.replace(each, configuration=both) for each in failed])

    assert (found.state, found.runs_after, found.unusable_after) == ("applied", 2, 2)
    assert found.also_changed == ("spark.executor.memory",)


def test_only_the_newest_changes_are_examined() -> None:
    """A job whose configuration changes often asks for advice a limited number of times, from five runs or more."""
    asked: list[Sequence[ConfiguredRun]] = []

    def advice_of(before: Sequence[ConfiguredRun]) -> Sequence[Advice]:
        asked.append(before)
        return []

    outcomes(numbered(*[ended(5, 11, str(number)) for number in range(9)], ended(1, 11, "9")), advice_of)

    assert [len(each) for each in asked] == [5] * MAX_CHANGES


def measured(sizes: Sequence[float], factor: float = 1.0, power: float = 1.0) -> list[Measured]:
    """Return durations that grow with a power of the input size."""
    return [
        Measured(factor * 1000 * size**power * NOISE[number % 5], round(size * GB)) for number, size in enumerate(sizes)
    ]


def test_effect_is_measured_for_the_same_input_size() -> None:
    """More data after the change is no loss, and less data is no gain, if the job grows with its data."""
    before = measured([1, 1.5, 2, 2.5, 3, 1.2, 1.8])
    larger, smaller = effect(before, measured([4] * 5, 0.7)), effect(before, measured([0.8] * 5, 1.0))

    assert larger.high < 1
    assert larger.ratio == pytest.approx(0.7, rel=0.1)
    assert smaller.low < 1 < smaller.high


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        pytest.param([1] * 5, [2] * 5, "changed by more than a fifth", id="size never varied"),
        pytest.param([1, 1.5, 2, 2.5, 3], [20] * 5, "four times larger", id="far from all sizes"),
        pytest.param([1] * 5, [1] * 4, "there are 4", id="too few runs"),
    ],
)
def test_effect_that_cannot_be_measured_has_a_reason(before: list, after: list, reason: str) -> None:
    """If the runs before do not show what the size changes, no effect is claimed."""
    with pytest.raises(NotComparableError, match=reason):
        effect(measured(before), measured(after))


def test_size_that_is_known_on_one_side_is_not_comparable() -> None:
    """A size that is known only before the change is an error; without any size, durations are compared as they are."""
    without = [Measured(each.value, None) for each in measured([1] * 5)]

    with pytest.raises(NotComparableError, match=r"with the setting .* are known; there are 0"):
        effect(measured([1] * 5), without)
    with pytest.raises(NotComparableError, match=r"before the change .* are known; there are 0"):
        effect(without, measured([1] * 5))
    assert effect(without, without).ratio == 1


def test_run_without_a_size_does_not_hide_that_the_size_changed() -> None:
    """Less data is no gain, also if the size of one run is unknown; that run is left out."""
    before = [*measured([1] * 9), Measured(1000, None)]

    with pytest.raises(NotComparableError, match="changed by more than a fifth"):
        effect(before, measured([0.1] * 5))
    assert effect(before, measured([1] * 5, 0.5)).ratio == pytest.approx(0.5, rel=0.1)


def test_interval_has_the_ranks_of_the_table_of_mann_and_whitney() -> None:
    """For five and five runs, the critical value of U at 5 % is 2, so the bounds are the third ratio from each end."""
    before, after = ([Measured(2.0 ** (step * each), None) for each in range(5)] for step in (1, 5))
    ratios = sorted(one.value / other.value for one in after for other in before)
    found = effect(before, after)

    assert (found.low, found.high) == pytest.approx((ratios[2], ratios[-3]))


@given(
    st.lists(st.floats(1, 1e9), min_size=5, max_size=12),
    st.lists(st.floats(1, 1e9), min_size=5, max_size=12),
    st.floats(0.01, 100),
)
def test_interval_covers_the_ratio_and_follows_the_scale(before: list, after: list, factor: float) -> None:
    """The interval contains the ratio, and longer runs after the change give a larger ratio."""
    one = effect([Measured(each, None) for each in before], [Measured(each, None) for each in after])
    other = effect([Measured(each, None) for each in before], [Measured(each * factor, None) for each in after])

    assert one.low <= one.ratio <= one.high
    assert other.ratio == pytest.approx(one.ratio * factor, rel=1e-6)
