"""Tests the real fuse controller and the real hook in random schedules of a deterministic world.

A failed test prints its seed; ``SEED=n pytest -k replay`` repeats the schedule.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.controller_policy import read_controller_policy
from sparkfuse_rules.policies import policy_line
from tests.integration.fuse_simulation.digest_keys import DigestKeys
from tests.integration.fuse_simulation.hooks import HookProcess, class_path
from tests.integration.fuse_simulation.parts import ACTIONS
from tests.integration.fuse_simulation.schedule import STEPS, run
from tests.integration.fuse_simulation.world import World
from tests.unit.fuse_controller.scene import Keys

SCHEDULES = int(os.environ.get("FUSE_SCHEDULES", "10000"))
# Schedules of one test, so that two processes can share a long run.
BLOCK = 10_000
# One of this many schedules uses real signatures; in the others, a signature is a digest.
REAL_SIGNATURES = 20
# If a gate is removed, one of this many schedules must violate an invariant.
MUTANT_SCHEDULES = 3_000
# Gates whose removal leads to a violation in this world. The faults that other gates prevent (incomplete evidence,
# expired keys, approvals, shared drivers) do not occur in it; these gates have tests in tests/unit and HookTest.
HOOK_MUTANTS = ("identity", "lifetime", "generation", "hold", "armed", "blind", "predicate")
CONTROLLER_MUTANTS = ("budget",)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HookProcess]:
    process = HookProcess(class_path(tmp_path_factory.mktemp("hooks")))
    yield process
    process.close()


@pytest.fixture(scope="module")
def build(hooks: HookProcess, tmp_path_factory: pytest.TempPathFactory):
    """Return a function that builds the world of a seed."""
    key = tmp_path_factory.mktemp("key") / "key.pem"
    key.touch()
    policy = read_controller_policy(
        Settings.from_environment({"SPARKFUSE_FUSE_MODE": "act", "SPARKFUSE_SIGNING_KEY": str(key)})
    )
    policy = replace(policy, rules={rule: policy.rules[rule] for rule in ACTIONS})
    variants = [policy.rules[rule].otherwise for rule in ACTIONS]
    real, digests = Keys(), DigestKeys()
    lines = [policy_line(variant.rule) for variant in variants if variant is not None]
    return lambda seed, **changes: World(
        seed, hooks, real if seed % REAL_SIGNATURES == 0 else digests, policy, lines, **changes
    )


@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("first", range(0, SCHEDULES, BLOCK))
def test_no_schedule_violates_an_invariant(build, first):
    """No invariant is violated, even if records are lost, repeated or delayed and processes restart.

    No act happens without the hook, an arming and a budget, and none during a hold.
    """
    acts, signals, actions, began = 0, 0, set(), time.monotonic()
    for seed in range(first, first + min(BLOCK, SCHEDULES)):
        world = build(seed)
        run(world)
        acts, signals = acts + len(world.acts), signals + len(world.kafka.of("signals"))
        actions |= {act["action"] for act in world.acts}
        assert world.violations == [], f"seed {seed}"
    print(
        f"seeds {first} to {seed}: {(seed + 1 - first) * STEPS} steps, {signals} signals, {acts} acts, "
        f"0 violations, {time.monotonic() - began:.0f} s"
    )

    assert acts > (seed + 1 - first) / 10, "schedules in which nothing is stopped show nothing"
    assert actions == set(ACTIONS.values())


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("gate", HOOK_MUTANTS)
def test_removed_gate_of_the_hook_is_found(build, gate):
    """If a gate of the hook is removed, some schedule violates an invariant."""
    assert any(_violates(build(seed, without_hook_gate=gate)) for seed in range(MUTANT_SCHEDULES))


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("gate", CONTROLLER_MUTANTS)
def test_removed_gate_of_the_controller_is_found(build, gate):
    """If a gate of the controller is removed, some schedule violates an invariant.

    Gates of the controller that the hook also has are excluded.
    """
    assert any(_violates(build(seed, without_gate=gate)) for seed in range(MUTANT_SCHEDULES))


@pytest.mark.skipif("SEED" not in os.environ, reason="repeats the schedule of the environment variable SEED")
def test_replay(build):
    """The schedule of the seed in SEED violates no invariant."""
    world = build(int(os.environ["SEED"]))
    run(world)

    assert world.violations == []


def _violates(world: World) -> bool:
    run(world)
    return bool(world.violations)
