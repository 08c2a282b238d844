"""Until when a worker's lease runs, and whom it asks."""

from services.executor.worker.lease import WorkerLease


def joined(sent: float = 100.0) -> WorkerLease:
    lease = WorkerLease()
    lease.joined(sent, 8.0, 1.5)
    return lease


def test_it_counts_from_when_the_question_was_sent() -> None:
    lease = joined(100.0)
    assert lease.until == 108.0
    assert lease.holds(107.9)
    assert not lease.holds(108.0)


def test_an_answer_that_comes_after_a_later_one_shortens_nothing() -> None:
    lease = joined(100.0)
    lease.answered(104.0, 8.0)
    lease.confirmed(102.0, 8.0)
    assert lease.until == 112.0


def test_the_cluster_service_can_make_it_longer_or_shorter() -> None:
    lease = joined(100.0)
    lease.answered(104.0, 2.0)
    assert lease.until == 108.0
    assert lease.pause == 0.5
    lease.answered(107.0, 20.0)
    assert lease.until == 127.0
    assert lease.pause == 1.5


def test_others_are_needed_when_half_of_it_has_passed_since_the_cluster_service_was_heard() -> None:
    lease = joined(100.0)
    assert not lease.needs_others(103.9)
    assert lease.needs_others(104.0)
    lease.confirmed(104.0, 8.0)
    assert lease.needs_others(105.0), "that somebody else confirms is no word of the cluster service"
    lease.answered(105.0, 8.0)
    assert not lease.needs_others(106.0)


def test_a_call_that_is_stuck_leaves_half_of_it_for_others_and_may_take_its_time_once_they_are_asked() -> None:
    lease = joined(100.0)
    assert lease.patience(101.0) == 3.0
    assert lease.patience(103.5) == 2.0
    assert lease.patience(104.0) == 4.0
