from __future__ import annotations

import pytest

from tests.waiting import wait_for


@pytest.mark.timeout(600)
def test_must_do_06_it_steps_back_while_the_drivers_heap_is_full(run_job, facts, topics, kafka_bootstrap, tmp_path):
    """Tasks are passed over and told so, jobs are still told; with room again everything is collected."""
    free, flag = tmp_path / "free", tmp_path / "flag"
    job = run_job(
        "spark35",
        "full_heap_job.py",
        kafka_bootstrap,
        topics,
        spark__test__free=str(free),
        spark__test__flag=str(flag),
        spark__sparkfuse__health__interval="500ms",
        spark__sparkfuse__breaker__pause="1s",
        # Room enough that a collection of a nearly full heap ends: what is left over is no emergency of Spark's own.
        spark__driver__memory="1g",
    )
    job.said("FULL")

    def health():
        return facts.of("collector_health")[-1]

    wait_for(lambda: (health().breaker, health().breaker_reason) == ("open", "heap"), 120, "the breaker to open")
    jobs = len(facts.of("job_ended"))
    passed_over = health().passed_over
    wait_for(lambda: health().passed_over > passed_over + 50, 60, "passed-over tasks")
    wait_for(lambda: len(facts.of("job_ended")) > jobs + 2, 60, "jobs that are still told")
    free.touch()
    job.said("FREE")
    wait_for(lambda: health().breaker == "closed", 240, "the breaker to close")
    ended = len(facts.of("task_ended"))
    wait_for(lambda: len(facts.of("task_ended")) > ended + 10, 60, "tasks that are told again")
    flag.touch()
    job.said("STOPPED")

    assert job.ended() == 0
    assert job.said("SUM") == "499500"
    assert {each.breaker for each in facts.of("collector_health")} >= {"closed", "open", "half-open"}
    assert health().faults == 0
    assert len(facts.of("application_ended")) == 1
