"""What waits for another one to stop has the longer limit, from a task's last write to the end of everything."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from rocketconnect_cli.instance import running as instance
from rocketconnect_cli.instance import topology
from services.executor.contract.stop_limits import EXECUTOR_SECONDS, StopLimits
from services.executor.runtime.task.control import TaskControl
from services.executor.worker import membership, worker
from services.executor.worker.lifecycle import Policy

COMPOSE = Path(__file__).parents[4] / "deploy/compose/compose.yaml"


@pytest.mark.parametrize("total", [0.5, 2.0, 10.0, EXECUTOR_SECONDS, topology.EXECUTOR_DRAIN_SECONDS, 3600.0])
def test_each_limit_is_longer_than_the_one_before_it(total: float) -> None:
    limits = StopLimits.within(total)
    parts = [0.0, limits.drain, limits.commit, limits.stop, limits.kill, limits.gone, limits.total]
    assert all(early < late for early, late in pairwise(parts))
    assert limits.total == total
    policy = Policy.within(limits)
    assert (policy.stop, policy.stop + policy.fence, policy.gone) == pytest.approx((limits.stop, limits.kill, limits.gone))


def test_most_of_the_time_is_for_what_is_still_to_be_written_and_the_last_words_fit_in() -> None:
    limits = StopLimits.within(EXECUTOR_SECONDS)
    assert limits.drain > 30
    assert limits.total - limits.gone >= worker._LAST_WORD_SECONDS + membership._LEAVE_SECONDS


def test_who_kills_an_executor_waits_longer_than_it_has() -> None:
    assert topology.EXECUTOR_SECONDS < topology.EXECUTOR_DRAIN_SECONDS
    (grace,) = re.findall(r"stop_grace_period: (\d+)s", COMPOSE.read_text())
    assert int(grace) > EXECUTOR_SECONDS
    stages = [
        topology.EXECUTOR_DRAIN_SECONDS,
        *[topology.SERVICE_DRAIN_SECONDS] * 3,
        topology.BROKER_SECONDS,
        topology.NAME_SERVER_SECONDS,
    ]
    assert sum(stages) < instance.STOP_SECONDS


def test_a_task_that_sees_late_that_it_is_to_stop_has_no_more_time() -> None:
    control = TaskControl()
    assert control.after_stop(5) < control.after_stop(6)
    control.stop()
    until = control.after_stop(5)
    control.stop()
    assert control.after_stop(5) == until
