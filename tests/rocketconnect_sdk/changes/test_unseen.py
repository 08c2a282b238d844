"""Changes that a log does not have."""

import logging

import pytest

from rocketconnect_sdk.changes.unseen import Unseen


def test_a_table_is_told_at_once_and_then_once_a_minute_with_how_often(caplog: pytest.LogCaptureFixture) -> None:
    moment = 0.0
    unseen = Unseen(logging.getLogger("rocketconnect.task"), "shop", lambda: moment)
    unseen.tell("d.t", "INSERT", "at log.1:4")
    unseen.tell("d.u", "INSERT", "at log.1:5")
    unseen.tell("d.t", "INSERT", "at log.1:6")
    unseen.tell("d.t", "INSERT", "at log.1:7")
    unseen.flush()
    assert [record.getMessage()[:23] for record in caplog.records] == ["d.t: INSERT, at log.1:4", "d.u: INSERT, at log.1:5"]
    moment = 60.0
    unseen.flush()
    unseen.flush()
    (_, _, third) = caplog.records
    assert third.getMessage().startswith(
        "d.t: INSERT, at log.1:7, and 1 times before: the log does not tell which rows that changed."
    )
    assert third.getMessage().endswith("`rocketconnect connector signal shop execute-snapshot tables=d.t`")
    unseen.tell("d.*", "DROP DATABASE", "")
    assert caplog.messages[-1].endswith("with `rocketconnect verify shop --repair`")
