"""The clock by which positions of what is gone are forgotten."""

import pytest

from rocketconnect_sdk.files import gone

HOUR = 3600.0


class GoneClock:
    """Stands still, until it is moved.

    Args:
        monkeypatch: Puts it in the place of the right one until the end of the test.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(gone, "time", self)

    def monotonic(self) -> float:
        """As that of `time`."""
        return self.now
