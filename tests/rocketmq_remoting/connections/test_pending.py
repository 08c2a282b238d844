"""A request under way ends for whoever waits, whatever else stands still."""

import time

import pytest

from rocketmq_remoting.connections.pending import Pending
from rocketmq_remoting.errors import RequestTimeout


def test_without_a_limit_of_its_own_a_wait_ends_as_the_request_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a long stop of the process: nobody has noticed yet that the time of the request is over."""
    monkeypatch.setattr("rocketmq_remoting.connections.pending._EXPIRY_SLACK", 0.0)
    with pytest.raises(RequestTimeout, match="it may or may not have taken effect"):
        Pending(lambda frame: frame, time.monotonic() - 1, "send").result()


def test_what_changes_nothing_leaves_nobody_in_doubt() -> None:
    pull = Pending(lambda frame: frame, time.monotonic() - 1, "pull from t/b/0", asks=True)
    assert str(pull.late()) == "pull from t/b/0: no answer in time"
    assert str(pull.lost("reset")) == "pull from t/b/0: the connection was lost before the answer (reset)"


def test_a_limit_of_the_one_who_waits_leaves_the_request_under_way() -> None:
    pending = Pending(lambda frame: frame, time.monotonic() + 60, "send")
    with pytest.raises(TimeoutError, match="still under way"):
        pending.result(timeout=0)
    assert not pending.done()
