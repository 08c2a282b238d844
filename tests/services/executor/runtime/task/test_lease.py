"""The lease as tasks see it."""

import time

import pytest

from rocketconnect_kit.clock import boot_seconds
from rocketconnect_sdk.errors import SystemAway
from services.executor.runtime.task.lease import Lease
from tests.suspended import suspend


def lasting(seconds: float) -> Lease:
    lease = Lease()
    lease.renew(boot_seconds() + seconds)
    return lease


def test_it_begins_expired_and_a_late_renewal_does_not_shorten_it() -> None:
    assert not Lease().valid()
    lease = lasting(60)
    lease.renew(boot_seconds() - 1)
    assert lease.valid()


def test_without_it_nothing_is_begun_and_the_reason_is_told() -> None:
    lease = lasting(-1)
    with pytest.raises(SystemAway, match="lease of this worker has run out"):
        lease.check()
    with pytest.raises(SystemAway, match="lease of this worker has run out"):
        lease.begin_change()
    assert not lease.outlived(0)


def test_a_change_that_began_in_it_outlives_it_after_the_grace() -> None:
    lease = lasting(0.05)
    lease.begin_change()
    assert not lease.outlived(0)
    time.sleep(0.06)
    assert lease.outlived(0)
    assert not lease.outlived(60)
    lease.end_change()
    assert not lease.outlived(0)


def test_of_several_changes_the_last_one_counts() -> None:
    lease = lasting(0.05)
    lease.begin_change()
    lease.begin_change()
    lease.end_change()
    time.sleep(0.06)
    assert lease.outlived(0)


def test_it_ends_while_the_machine_is_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = lasting(60)
    lease.begin_change()
    suspend(monkeypatch, 59)
    assert lease.valid()
    suspend(monkeypatch, 2)
    assert not lease.valid()
    with pytest.raises(SystemAway, match="lease of this worker has run out"):
        lease.check()
    assert lease.outlived(0)
    assert not lease.outlived(30)
