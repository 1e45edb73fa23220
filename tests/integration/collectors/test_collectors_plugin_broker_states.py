from __future__ import annotations

from collections import Counter

import pytest

from tests.integration.collectors.broker_states import STATES, broker_in_state
from tests.integration.collectors.spark_runs import CLIENT_STOP_SECONDS


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "state", [pytest.param(each, marks=() if each == "refused" else pytest.mark.long) for each in STATES]
)
def test_guarantee_05_and_14_job_succeeds_in_each_broker_state(
    run_job, facts, topics, kafka_bootstrap, tmp_path, state
):
    """In each state of the broker, the job succeeds and stops within the time limit.

    The plugin logs the records that were not sent.
    """
    with broker_in_state(state, kafka_bootstrap, tmp_path) as settings:
        job = run_job(
            "spark35",
            "small_job.py",
            settings["spark.sparkfuse.kafka.bootstrap"],
            topics,
            **{key.replace(".", "__"): value for key, value in settings.items()},
        )
        stopped = float(job.wait_for_line("STOPPED"))

        assert job.ended() == 0
    assert job.wait_for_line("SUM") == "9900"
    assert stopped < CLIENT_STOP_SECONDS
    kinds = Counter(fact.WhichOneof("kind") for fact in facts.all())
    if state == "up":
        assert kinds["application_ended"] == 1
        assert "were not sent to Kafka" not in job.text()
    elif state == "slow":
        assert kinds["job_ended"] > 0, "a slow broker still receives facts"
    else:
        assert not kinds
        assert "records were not sent to Kafka" in job.text()
