"""What tests of the executor's questions share."""

import pytest

from services.executor.host.jobs import newest


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does other things may need more than the seconds that a person waits."""
    monkeypatch.setattr(newest, "SECONDS", 60.0)
    monkeypatch.setattr(newest, "PULLING", 30.0)
    monkeypatch.setattr(newest, "READING", 48.0)
