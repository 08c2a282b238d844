"""Times as people write them who look back."""

from datetime import UTC, datetime, timedelta

import pytest

from rocketconnect_cli.api import ApiError
from rocketconnect_cli.moments import moment


def test_a_time_is_a_moment_or_so_long_ago() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert moment("90m", now) == now - timedelta(minutes=90)
    assert moment("2026-01-01", now) == now - timedelta(days=1)
    for wrong in ("soon", "99999999999d"):
        with pytest.raises(ApiError, match="--since"):
            moment(wrong, now)


def test_a_date_of_digits_is_no_duration_and_a_time_without_a_zone_may_be_that_of_the_reader() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert moment("20260101", now) == now - timedelta(days=1)
    assert moment("2026-01-01T10:00", now, zone=None) == datetime(2026, 1, 1, 10).astimezone()
    with pytest.raises(ApiError, match="--since"):
        moment("90", now)
