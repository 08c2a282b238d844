from services.cluster.decisions.leases import Leases, Timing

TIMING = Timing(lease=5, heartbeat_interval=1, send_deadline=2)


def test_a_worker_is_alive_for_the_lease_and_over_only_after_the_send_deadline() -> None:
    leases = Leases(TIMING)
    leases.renew("a", 100)
    assert leases.is_alive("a", 104.9)
    assert not leases.is_alive("a", 105)
    assert leases.over(106.9) == []
    assert leases.over(107) == ["a"]


def test_a_lease_that_is_cut_ends_now_and_never_later_than_it_did() -> None:
    leases = Leases(TIMING)
    leases.renew("a", 100)
    leases.cut("a", 101)
    leases.cut("a", 102)
    leases.cut("b", 102)
    assert not leases.is_alive("a", 101)
    assert leases.over(102.9) == []
    assert leases.over(103) == ["a"]


def test_a_worker_without_a_lease_is_not_alive() -> None:
    assert not Leases(TIMING).is_alive("a", 0)


def test_the_next_event_is_the_end_of_a_lease_and_then_its_judgement() -> None:
    leases = Leases(TIMING)
    assert leases.next_event(0) == float("inf")
    leases.renew("a", 100)
    leases.renew("b", 101)
    assert leases.next_event(100) == 105
    assert leases.next_event(105) == 106
    assert leases.next_event(106) == 107


def test_a_restart_gives_everybody_a_full_lease() -> None:
    leases = Leases(TIMING)
    leases.renew("a", 100)
    leases.restart(["a", "b"], 200)
    assert leases.until("a") == leases.until("b") == 205
    leases.forget("a")
    assert leases.until("a") is None
