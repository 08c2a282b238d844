import pytest

from services.cluster.assignment.model import Intake
from services.cluster.decisions.arrivals import Arrivals


@pytest.fixture
def arrivals() -> Arrivals:
    return Arrivals(delay=10.0, memory=600.0, new=["there"])


def test_a_worker_that_was_never_there_takes_its_part_at_once_and_once(arrivals: Arrivals) -> None:
    arrivals.joined("a", 5.0)
    assert arrivals.intake("a", 5.0) is Intake.JOINING
    arrivals.taken_in(5.0)
    assert arrivals.intake("a", 5.0) is Intake.JOINED


def test_a_worker_that_was_gone_has_to_stay_longer_each_time_up_to_a_limit(arrivals: Arrivals) -> None:
    now = 0.0
    for waits in (10.0, 20.0, 40.0, 60.0, 60.0):
        arrivals.left("a", now)
        arrivals.joined("a", now + 1)
        arrivals.taken_in(now + waits)
        assert arrivals.intake("a", now + waits) is Intake.RETURNING
        assert arrivals.intake("a", now + 1 + waits) is Intake.JOINING
        now += 70


def test_a_worker_that_has_stayed_for_long_is_as_one_that_was_never_gone(arrivals: Arrivals) -> None:
    arrivals.left("a", 0.0)
    arrivals.joined("a", 601.0)
    assert arrivals.intake("a", 601.0) is Intake.JOINING


def test_after_a_start_of_the_service_those_who_hold_nothing_take_their_part(arrivals: Arrivals) -> None:
    assert arrivals.intake("there", 0.0) is Intake.JOINING
    assert arrivals.intake("other", 0.0) is Intake.JOINED
